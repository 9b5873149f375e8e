//! The processor of the host as a machine that runs launches, for tests: each thread is a fiber, and a barrier hands
//! over to the next one. What a thread is told lies in a [`HostThread`].

use super::{Device, Kernel};
use crate::emit::function::{Emitter, first_pointer};
use crate::emit::types;
use crate::error::LlvmError;
use crate::host_launch::HostThread;
use inkwell::AddressSpace;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, FunctionValue, PointerValue};
use sched_ir::lir::{GpuAxis, GpuDimension, GpuLevel};
use std::cell::Cell;
use std::mem::offset_of;

/// The host, for one kernel.
#[derive(Default)]
pub(super) struct Host {
    /// Bytes of shared memory so far.
    shared: Cell<u64>,
}

impl Host {
    /// Loads a field of the thread that the kernel is called for; it never changes.
    fn field<'ctx>(
        emitter: &Emitter<'_, 'ctx>,
        offset: usize,
        ty: BasicTypeEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let thread = first_pointer(emitter.frame.llvm)?;
        let offset = emitter.context.i64_type().const_int(offset as u64, false);
        // SAFETY: a thread has such a field.
        let at =
            unsafe { emitter.builder.build_in_bounds_gep(emitter.context.i8_type(), thread, &[offset], "")? };
        let loaded = emitter.builder.build_load(ty, at, "")?;
        emitter.mark_invariant(loaded)?;
        Ok(loaded)
    }

    fn pointer_field<'ctx>(
        emitter: &Emitter<'_, 'ctx>,
        offset: usize,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        match Host::field(emitter, offset, types::pointer(emitter.context).into())? {
            BasicValueEnum::PointerValue(pointer) => Ok(pointer),
            _ => Err(LlvmError::ill_formed("a pointer is loaded as something else")),
        }
    }
}

impl Device for Host {
    fn id<'ctx>(
        &self,
        emitter: &Emitter<'_, 'ctx>,
        dimension: GpuDimension,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let first = match dimension.level {
            GpuLevel::Grid => offset_of!(HostThread, block),
            GpuLevel::Block => offset_of!(HostThread, thread),
        };
        let axis = match dimension.axis {
            GpuAxis::X => 0,
            GpuAxis::Y => 1,
            GpuAxis::Z => 2,
        };
        Host::field(emitter, first + 4 * axis, emitter.context.i32_type().into())
    }

    fn barrier(&self, emitter: &Emitter) -> Result<(), LlvmError> {
        let function = Host::pointer_field(emitter, offset_of!(HostThread, barrier))?;
        let fiber = Host::pointer_field(emitter, offset_of!(HostThread, fiber))?;
        let pointer = types::pointer(emitter.context);
        let ty = emitter.context.void_type().fn_type(&[pointer.into()], false);
        emitter.builder.build_indirect_call(ty, function, &[fiber.into()], "")?;
        Ok(())
    }

    fn global(&self) -> AddressSpace {
        AddressSpace::default()
    }

    fn shared<'ctx>(
        &self,
        emitter: &Emitter<'_, 'ctx>,
        _: &str,
        bytes: u64,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let offset = self.shared.get();
        self.shared.set(offset + bytes);
        let memory = Host::pointer_field(emitter, offset_of!(HostThread, shared))?;
        let offset = emitter.context.i64_type().const_int(offset, false);
        // SAFETY: a block's memory has as many bytes as `shared_bytes` says in the end.
        let at =
            unsafe { emitter.builder.build_in_bounds_gep(emitter.context.i8_type(), memory, &[offset], "")? };
        Ok(at)
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
        let pointer = types::pointer(context);
        let signature = context.void_type().fn_type(&[pointer.into(), pointer.into()], false);
        Ok(module.add_function(kernel.name, signature, None))
    }

    /// The second argument is an array of pointers to the parameters, as CUDA's `cuLaunchKernel` takes it.
    fn parameter<'ctx>(
        &self,
        emitter: &Emitter<'_, 'ctx>,
        number: u32,
        ty: BasicTypeEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let Some(BasicValueEnum::PointerValue(all)) = emitter.frame.llvm.get_nth_param(1) else {
            return Err(LlvmError::ill_formed("a kernel of the host takes a pointer second"));
        };
        let at = emitter.load_pointer(all, number, "")?;
        Ok(emitter.builder.build_load(ty, at, "")?)
    }
}
