//! NVIDIA's GPUs: numbers of blocks and threads, barriers, and what a kernel says of itself.

use super::{Device, Kernel, SHARED, from_register, with_parameters};
use crate::emit::function::Emitter;
use crate::emit::memory::TABLE_ALIGNMENT;
use crate::error::LlvmError;
use inkwell::AddressSpace;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{BasicValueEnum, FunctionValue, PointerValue};
use sched_ir::lir::GpuDimension;
use std::cell::Cell;

/// The registers of a block's and of a thread's number.
const NUMBERS: [&str; 2] = ["llvm.nvvm.read.ptx.sreg.ctaid", "llvm.nvvm.read.ptx.sreg.tid"];

/// The calling convention of functions that the host launches.
const PTX_KERNEL: u32 = 71;

/// What the memory of a block is called, whose size the host says when it launches a kernel: so it may be as large as
/// the device allows.
const SHARED_MEMORY: &str = "schedc_shared";

/// A GPU of NVIDIA.
#[derive(Default)]
pub(super) struct Nvptx {
    /// Bytes of shared memory so far.
    shared: Cell<u64>,
}

impl Device for Nvptx {
    fn id<'ctx>(
        &self,
        emitter: &Emitter<'_, 'ctx>,
        dimension: GpuDimension,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        from_register(emitter, NUMBERS, dimension)
    }

    fn barrier(&self, emitter: &Emitter) -> Result<(), LlvmError> {
        emitter.intrinsic("llvm.nvvm.barrier0", &[], &[])?;
        Ok(())
    }

    fn shared<'ctx>(
        &self,
        emitter: &Emitter<'_, 'ctx>,
        _: &str,
        bytes: u64,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let offset = self.shared.get();
        self.shared.set(offset + bytes);
        let byte = emitter.context.i8_type();
        let all = emitter.module.get_global(SHARED_MEMORY).unwrap_or_else(|| {
            let space = AddressSpace::from(SHARED);
            let all = emitter.module.add_global(byte.array_type(0), Some(space), SHARED_MEMORY);
            all.set_alignment(TABLE_ALIGNMENT);
            all
        });
        let offset = emitter.context.i32_type().const_int(offset, false);
        // SAFETY: a block's memory has as many bytes as `shared_bytes` says in the end.
        Ok(unsafe { emitter.builder.build_in_bounds_gep(byte, all.as_pointer_value(), &[offset], "")? })
    }

    fn shared_bytes(&self) -> u64 {
        self.shared.get()
    }

    fn declare<'ctx>(
        &self,
        context: &'ctx Context,
        module: &Module<'ctx>,
        kernel: &Kernel<'_, 'ctx>,
    ) -> Result<FunctionValue<'ctx>, LlvmError> {
        let llvm = with_parameters(context, module, kernel, PTX_KERNEL);
        let number = |n: u32| context.i32_type().const_int(n.into(), false).into();
        let words = ["maxntidx", "maxntidy", "maxntidz"];
        let said = [("kernel", 1)].into_iter().chain(words.into_iter().zip(kernel.block));
        for (word, value) in said {
            let function = llvm.as_global_value().as_pointer_value().into();
            let node =
                context.metadata_node(&[function, context.metadata_string(word).into(), number(value)]);
            module
                .add_global_metadata("nvvm.annotations", &node)
                .map_err(|message| LlvmError::ill_formed(message.to_string()))?;
        }
        Ok(llvm)
    }
}
