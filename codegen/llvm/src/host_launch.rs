//! Launches as functions of this machine's processor, for tests without a GPU. The code that emits kernels
//! for GPUs also emits these. The test calls a kernel once for each thread of each block. The threads of a
//! block wait for each other at barriers, so each needs a separate stack, such as that of a fiber.

use crate::emit::{LaunchKernel, emit_launches};
use crate::error::LlvmError;
use crate::host_thread::HostThread;
use crate::orc::Orc;
use crate::passes;
use crate::session::Session;
use crate::target::LlvmMachine;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::FileType;
use sched_ir::lir;
use std::ffi::c_void;

/// A kernel, which runs one thread. Its second argument has a pointer to each parameter, as CUDA's driver
/// takes them: first the buffers' addresses, then values of the host.
pub type HostKernelFn = unsafe extern "C" fn(*const HostThread, *const *const c_void);

/// A kernel for this machine.
#[derive(Clone, Debug)]
pub struct HostKernel {
    /// Its name, the same as on GPUs.
    pub name: String,
    /// Bytes of shared memory of a block.
    pub shared_bytes: usize,
    /// The buffers whose addresses are its first parameters, by their numbers in LIR.
    pub buffers: Vec<lir::BufferId>,
    /// The values of the host that are its next parameters, by their numbers in LIR.
    pub values: Vec<lir::Value>,
    /// Whether its last two parameters are the numbers of the launch's first block in the directions y and z,
    /// of 32 bits each.
    pub is_split: bool,
    /// Its code.
    pub function: HostKernelFn,
}

/// All launches of a module as code in this process, which is unloaded when dropped.
pub struct HostLaunches {
    kernels: Vec<HostKernel>,
    _code: Orc,
}

impl HostLaunches {
    /// Compiles all launches of a module for this machine.
    ///
    /// # Errors
    /// When this machine cannot run the code, and when LLVM fails.
    pub fn compile(module: &lir::Module) -> Result<HostLaunches, LlvmError> {
        let (object, emitted) = object(module)?;
        let code = Orc::load(object, &[])?;
        let kernel = |LaunchKernel { name, shared_bytes, buffers, values, is_split }: LaunchKernel| {
            // SAFETY: the symbol is a function emitted with this signature.
            let function = unsafe { std::mem::transmute::<*const (), HostKernelFn>(code.address(&name)?) };
            Ok(HostKernel { name, shared_bytes: shared_bytes as usize, buffers, values, is_split, function })
        };
        let kernels: Result<Vec<HostKernel>, LlvmError> = emitted.into_iter().map(kernel).collect();
        Ok(HostLaunches { kernels: kernels?, _code: code })
    }

    /// Returns all kernels. Their code lives as long as this value.
    pub fn kernels(&self) -> &[HostKernel] {
        &self.kernels
    }

    /// Returns the kernel of a name.
    pub fn kernel(&self, name: &str) -> Option<&HostKernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// Compiles all launches of a module to an object file for this machine, for a test to link. It has a
/// [`HostKernelFn`] for each launch. A block needs no more shared memory than it would need on a GPU.
///
/// # Errors
/// When this machine cannot run the code, and when LLVM fails.
pub fn host_launch_object(module: &lir::Module) -> Result<Vec<u8>, LlvmError> {
    Ok(object(module)?.0.as_slice().to_vec())
}

fn object(module: &lir::Module) -> Result<(MemoryBuffer<'static>, Vec<LaunchKernel>), LlvmError> {
    let session = Session::new();
    let machine = LlvmMachine::of_host_launches()?;
    let (emitted, launches) = emit_launches(&session, &machine, module)?;
    passes::verify(&emitted)?;
    passes::optimise(&emitted, &machine)?;
    Ok((passes::generate_code(&session, emitted, &machine, FileType::Object)?, launches))
}
