//! Launches on AMD's GPUs: numbers of blocks and threads, barriers, shared memory and attributes of kernels.

use super::{Device, KernelInterface, SHARED_SPACE, declare_with_convention, read_id_register};
use crate::emit::annotations::TABLE_ALIGNMENT;
use crate::emit::ir::IrBuilder;
use crate::error::LlvmError;
use inkwell::AddressSpace;
use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module};
use inkwell::values::{BasicValueEnum, FunctionValue, PointerValue};
use sched_ir::lir::GpuDimension;

/// Intrinsics that read the numbers of a block and of a thread.
const ID_INTRINSICS: [&str; 2] = ["llvm.amdgcn.workgroup.id", "llvm.amdgcn.workitem.id"];

/// The calling convention of kernels, as LLVM numbers it.
const AMDGPU_KERNEL: u32 = 91;

/// A barrier of a block's threads that orders their accesses to memory, and a fence for all threads of the
/// device. They are text, because LLVM's C interface cannot build fences for a part of the system. LLVM
/// inlines the bodies into each call.
const ORDER_IR: &str = "\
define void @schedc_barrier() alwaysinline convergent nounwind {
  fence syncscope(\"workgroup\") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope(\"workgroup\") acquire
  ret void
}
declare void @llvm.amdgcn.s.barrier() convergent nounwind willreturn
define void @schedc_fence() alwaysinline convergent nounwind {
  fence syncscope(\"agent\") acq_rel
  ret void
}
\0";

/// Symbols of [`ORDER_IR`].
const BARRIER_SYMBOL: &str = "schedc_barrier";
const FENCE_SYMBOL: &str = "schedc_fence";

/// Attributes of kernels that take no implicit parameters from the host.
const UNUSED_IMPLICIT_PARAMETERS: [&str; 9] = [
    "amdgpu-no-completion-action",
    "amdgpu-no-default-queue",
    "amdgpu-no-dispatch-id",
    "amdgpu-no-dispatch-ptr",
    "amdgpu-no-heap-ptr",
    "amdgpu-no-hostcall-ptr",
    "amdgpu-no-implicitarg-ptr",
    "amdgpu-no-multigrid-sync-arg",
    "amdgpu-no-queue-ptr",
];

/// A GPU of AMD.
pub(crate) struct AmdGpu;

/// Calls a function of [`ORDER_IR`].
fn call_order(ir: &IrBuilder, symbol: &str) -> Result<(), LlvmError> {
    if ir.module.get_function(symbol).is_none() {
        let text = MemoryBuffer::create_from_memory_range_copy(ORDER_IR.as_bytes(), "order");
        let refused = |message: inkwell::support::LLVMString| LlvmError::ill_formed(message.to_string());
        let functions = ir.context.create_module_from_ir(text).map_err(refused)?;
        functions.set_triple(&ir.module.get_triple());
        functions.set_data_layout(&ir.module.get_data_layout());
        ir.module.link_in_module(functions).map_err(refused)?;
    }
    for symbol in [BARRIER_SYMBOL, FENCE_SYMBOL] {
        let function = ir.module.get_function(symbol);
        function.inspect(|function| function.set_linkage(Linkage::Internal));
    }
    let function = ir.module.get_function(symbol);
    let function = function.ok_or_else(|| LlvmError::ill_formed(format_args!("`{symbol}` is not there")))?;
    ir.builder.build_call(function, &[], "")?;
    Ok(())
}

impl Device for AmdGpu {
    fn id<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        dimension: GpuDimension,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        read_id_register(ir, ID_INTRINSICS, dimension)
    }

    fn barrier(&self, ir: &IrBuilder) -> Result<(), LlvmError> {
        call_order(ir, BARRIER_SYMBOL)
    }

    fn fence(&self, ir: &IrBuilder) -> Result<(), LlvmError> {
        call_order(ir, FENCE_SYMBOL)
    }

    fn reserve_shared<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        name: &str,
        bytes: u64,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let array = ir.context.i8_type().array_type(bytes as u32);
        let memory = ir.module.add_global(array, Some(AddressSpace::from(SHARED_SPACE)), name);
        memory.set_initializer(&array.get_undef());
        memory.set_linkage(Linkage::Internal);
        memory.set_alignment(TABLE_ALIGNMENT);
        Ok(memory.as_pointer_value())
    }

    fn declare_kernel<'ctx>(
        &self,
        context: &'ctx Context,
        module: &Module<'ctx>,
        kernel: &KernelInterface<'_, 'ctx>,
    ) -> Result<FunctionValue<'ctx>, LlvmError> {
        let llvm = declare_with_convention(context, module, kernel, AMDGPU_KERNEL);
        let threads = kernel.block.iter().fold(1u32, |all, extent| all.saturating_mul(*extent));
        let attributes = [
            ("amdgpu-flat-work-group-size", format!("{threads},{threads}")),
            // All blocks have their full number of threads.
            ("uniform-work-group-size", "true".to_string()),
        ];
        for (word, value) in attributes {
            llvm.add_attribute(AttributeLoc::Function, context.create_string_attribute(word, &value));
        }
        for unused in UNUSED_IMPLICIT_PARAMETERS {
            llvm.add_attribute(AttributeLoc::Function, context.create_string_attribute(unused, ""));
        }
        let extents = kernel.block.map(|n| context.i32_type().const_int(n.into(), false).into());
        let extents = context.metadata_node(&extents);
        llvm.as_global_value().set_metadata(extents, context.get_kind_id("reqd_work_group_size"));
        Ok(llvm)
    }
}
