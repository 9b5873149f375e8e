//! The processor of the host as a machine that runs launches, for tests. Each thread of a launch is a fiber,
//! and a barrier switches to the next fiber. A [`HostThread`] has the numbers and addresses of a thread.

use super::{Device, KernelInterface};
use crate::emit::ir::IrBuilder;
use crate::emit::types;
use crate::error::LlvmError;
use crate::host_thread::HostThread;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, FunctionValue, PointerValue};
use inkwell::{AddressSpace, AtomicOrdering};
use sched_ir::lir::{GpuAxis, GpuDimension, GpuLevel};
use std::cell::Cell;
use std::mem::offset_of;

/// The host, for one kernel.
#[derive(Default)]
pub(crate) struct HostDevice {
    /// Bytes of shared memory that have been reserved.
    shared: Cell<u64>,
}

impl HostDevice {
    /// Loads a field of the kernel's thread, which never changes.
    fn field<'ctx>(
        ir: &IrBuilder<'_, 'ctx>,
        offset: usize,
        ty: BasicTypeEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let thread = pointer_argument(ir, 0)?;
        let offset = ir.context.i64_type().const_int(offset as u64, false);
        // SAFETY: a thread has a field at this offset.
        let at = unsafe { ir.builder.build_in_bounds_gep(ir.context.i8_type(), thread, &[offset], "")? };
        let loaded = ir.builder.build_load(ty, at, "")?;
        ir.mark_invariant(loaded)?;
        Ok(loaded)
    }

    fn pointer_field<'ctx>(ir: &IrBuilder<'_, 'ctx>, offset: usize) -> Result<PointerValue<'ctx>, LlvmError> {
        match HostDevice::field(ir, offset, types::pointer(ir.context).into())? {
            BasicValueEnum::PointerValue(pointer) => Ok(pointer),
            _ => Err(LlvmError::ill_formed("a pointer is loaded as something else")),
        }
    }
}

impl Device for HostDevice {
    fn id<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
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
        HostDevice::field(ir, first + 4 * axis, ir.context.i32_type().into())
    }

    fn barrier(&self, ir: &IrBuilder) -> Result<(), LlvmError> {
        let function = HostDevice::pointer_field(ir, offset_of!(HostThread, barrier))?;
        let fiber = HostDevice::pointer_field(ir, offset_of!(HostThread, fiber))?;
        let pointer = types::pointer(ir.context);
        let ty = ir.context.void_type().fn_type(&[pointer.into()], false);
        ir.builder.build_indirect_call(ty, function, &[fiber.into()], "")?;
        Ok(())
    }

    /// Threads of a launch are fibers of one thread, which sees its own accesses in order.
    fn fence(&self, ir: &IrBuilder) -> Result<(), LlvmError> {
        ir.builder.build_fence(AtomicOrdering::AcquireRelease, true, "")?;
        Ok(())
    }

    fn global_space(&self) -> AddressSpace {
        AddressSpace::default()
    }

    fn reserve_shared<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        _: &str,
        bytes: u64,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let offset = self.shared.get();
        self.shared.set(offset + bytes);
        let memory = HostDevice::pointer_field(ir, offset_of!(HostThread, shared))?;
        let offset = ir.context.i64_type().const_int(offset, false);
        // SAFETY: the caller gives each block the bytes that `shared_bytes` returns.
        let at = unsafe { ir.builder.build_in_bounds_gep(ir.context.i8_type(), memory, &[offset], "")? };
        Ok(at)
    }

    fn shared_bytes(&self) -> u64 {
        self.shared.get()
    }

    fn declare_kernel<'ctx>(
        &self,
        context: &'ctx Context,
        module: &Module<'ctx>,
        kernel: &KernelInterface<'_, 'ctx>,
    ) -> Result<FunctionValue<'ctx>, LlvmError> {
        let pointer = types::pointer(context);
        let signature = context.void_type().fn_type(&[pointer.into(), pointer.into()], false);
        Ok(module.add_function(kernel.name, signature, None))
    }

    /// Loads a parameter through the second argument: an array of pointers, as CUDA's `cuLaunchKernel` takes
    /// it.
    fn parameter<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        number: u32,
        ty: BasicTypeEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let at = ir.load_pointer(pointer_argument(ir, 1)?, number, "")?;
        Ok(ir.builder.build_load(ty, at, "")?)
    }
}

/// Returns a pointer that the kernel takes: the thread first, the parameters second.
fn pointer_argument<'ctx>(ir: &IrBuilder<'_, 'ctx>, number: u32) -> Result<PointerValue<'ctx>, LlvmError> {
    match ir.function()?.get_nth_param(number) {
        Some(BasicValueEnum::PointerValue(pointer)) => Ok(pointer),
        _ => Err(LlvmError::ill_formed("a kernel of the host takes two pointers")),
    }
}
