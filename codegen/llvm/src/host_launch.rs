//! Launches as functions of this machine's processor, for tests without a GPU: the same kernels, emitted by the same code
//! as those of GPUs. Whoever runs them calls a kernel once for each thread of each block. The threads of a block meet at
//! barriers, so each needs a stack of its own, such as that of a fiber.

use crate::emit::{EmittedLaunch, emit_launches};
use crate::error::LlvmError;
use crate::orc::Orc;
use crate::passes;
use crate::session::Session;
use crate::target::Machine;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::FileType;
use sched_ir::lir;
use std::ffi::c_void;

/// One thread of a launch. Its layout is that of C.
#[repr(C)]
pub struct HostThread {
    /// The numbers of its block in the directions x, y and z.
    pub block: [u32; 3],
    /// Its own numbers in the block.
    pub thread: [u32; 3],
    /// The memory that its block shares, aligned to 64 bytes.
    pub shared: *mut u8,
    /// What a barrier calls. It returns when all threads of the block have called it.
    pub barrier: unsafe extern "C" fn(*mut c_void),
    /// What the barrier is given.
    pub fiber: *mut c_void,
}

/// A kernel: it runs one thread. Its parameters are given as the driver of CUDA takes them, by pointers to each: first
/// the buffers' addresses, then values of the host.
pub type HostKernelFn = unsafe extern "C" fn(*const HostThread, *const *const c_void);

/// A kernel for this machine.
#[derive(Clone, Debug)]
pub struct HostKernel {
    /// Its name, which is also that of the kernel for GPUs.
    pub name: String,
    /// Bytes of memory that a block shares.
    pub shared_bytes: usize,
    /// The buffers whose addresses it takes, and then the values of the host, by their numbers in LIR.
    pub buffers: Vec<lir::BufferId>,
    /// These values.
    pub values: Vec<lir::Value>,
    /// Whether it then takes the first block in the directions y and z, 32 bits each.
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
    /// When code cannot be run here, and when LLVM fails.
    pub fn compile(module: &lir::Module) -> Result<HostLaunches, LlvmError> {
        let (object, emitted) = object(module)?;
        let code = Orc::load(object, &[])?;
        let kernel = |EmittedLaunch { name, shared_bytes, buffers, values, is_split }: EmittedLaunch| {
            // SAFETY: the symbol is a function emitted with this signature.
            let function = unsafe { std::mem::transmute::<*const (), HostKernelFn>(code.address(&name)?) };
            Ok(HostKernel { name, shared_bytes: shared_bytes as usize, buffers, values, is_split, function })
        };
        let kernels: Result<Vec<HostKernel>, LlvmError> = emitted.into_iter().map(kernel).collect();
        Ok(HostLaunches { kernels: kernels?, _code: code })
    }

    /// All kernels. Their code lives as long as this value.
    pub fn kernels(&self) -> &[HostKernel] {
        &self.kernels
    }

    /// The kernel of a name.
    pub fn kernel(&self, name: &str) -> Option<&HostKernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// All launches of a module as an object file for this machine, to be linked by a test. It has a [`HostKernelFn`] for
/// each. A block shares at most as much memory as one of a GPU.
///
/// # Errors
/// When code cannot be run here, and when LLVM fails.
pub fn host_launch_object(module: &lir::Module) -> Result<Vec<u8>, LlvmError> {
    Ok(object(module)?.0.as_slice().to_vec())
}

fn object(module: &lir::Module) -> Result<(MemoryBuffer<'static>, Vec<EmittedLaunch>), LlvmError> {
    let session = Session::new();
    let machine = Machine::of_host_launches()?;
    let (emitted, launches) = emit_launches(&session, &machine, module)?;
    passes::verify(&emitted)?;
    passes::optimise(&emitted, &machine)?;
    Ok((passes::generate(&session, emitted, &machine, FileType::Object)?, launches))
}
