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

/// A barrier of a block's threads that orders their accesses to memory. It is text, because LLVM's C
/// interface cannot build fences for one block. LLVM inlines the body into each call.
const BARRIER_IR: &str = "\
define void @schedc_barrier() alwaysinline convergent nounwind {
  fence syncscope(\"workgroup\") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope(\"workgroup\") acquire
  ret void
}
declare void @llvm.amdgcn.s.barrier() convergent nounwind willreturn
\0";

/// Symbol of [`BARRIER_IR`].
const BARRIER_SYMBOL: &str = "schedc_barrier";

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

impl Device for AmdGpu {
    fn id<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        dimension: GpuDimension,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        read_id_register(ir, ID_INTRINSICS, dimension)
    }

    fn barrier(&self, ir: &IrBuilder) -> Result<(), LlvmError> {
        if ir.module.get_function(BARRIER_SYMBOL).is_none() {
            let text = MemoryBuffer::create_from_memory_range_copy(BARRIER_IR.as_bytes(), "barrier");
            let refused = |message: inkwell::support::LLVMString| LlvmError::ill_formed(message.to_string());
            let barrier = ir.context.create_module_from_ir(text).map_err(refused)?;
            barrier.set_triple(&ir.module.get_triple());
            barrier.set_data_layout(&ir.module.get_data_layout());
            ir.module.link_in_module(barrier).map_err(refused)?;
        }
        let barrier = ir.module.get_function(BARRIER_SYMBOL);
        let barrier = barrier.ok_or_else(|| LlvmError::ill_formed("the barrier is not there"))?;
        barrier.set_linkage(Linkage::Internal);
        ir.builder.build_call(barrier, &[], "")?;
        Ok(())
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
