//! Launches on NVIDIA's GPUs: numbers of blocks and threads, barriers, shared memory and attributes of
//! kernels.

use super::{Device, KernelInterface, SHARED_SPACE, declare_with_convention, read_id_register};
use crate::emit::annotations::TABLE_ALIGNMENT;
use crate::emit::ir::IrBuilder;
use crate::error::LlvmError;
use inkwell::AddressSpace;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{BasicValueEnum, FloatValue, FunctionValue, PointerValue};
use sched_ir::lir::{GpuDimension, WARP};
use sched_machines::GPUS;
use std::cell::Cell;

/// Intrinsics that read the numbers of a block and of a thread.
const ID_INTRINSICS: [&str; 2] = ["llvm.nvvm.read.ptx.sreg.ctaid", "llvm.nvvm.read.ptx.sreg.tid"];

/// Intrinsic that adds products of double precision to the sums of a tile.
const MULTIPLY_INTRINSIC: &str = "llvm.nvvm.mma.m8n8k4.row.col.f64";

/// The first compute capability with [`MULTIPLY_INTRINSIC`].
const TENSOR_CAPABILITY: u32 = 80;

/// The calling convention of kernels, as LLVM numbers it.
const PTX_KERNEL: u32 = 71;

/// Symbol of a block's shared memory. The host requests its size at the launch, so that it may be as large as
/// the device allows; a size in the code may not exceed 48 KiB.
const SHARED_MEMORY_SYMBOL: &str = "schedc_shared";

/// Blocks that a multiprocessor of every supported GPU can run at a time.
const MOST_BLOCKS: u32 = 16;

/// A fence that releases and acquires for all threads of the device.
const FENCE: &str = "fence.acq_rel.gpu;";

/// The first compute capability with [`FENCE`]. Older devices have only `membar`, which is slower on newer
/// ones.
const FENCE_CAPABILITY: u32 = 70;

/// A GPU of NVIDIA.
pub(crate) struct NvidiaGpu {
    /// Bytes of shared memory that have been reserved.
    shared: Cell<u64>,
    has_fences: bool,
    has_tensor_cores: bool,
    /// Most threads that a multiprocessor runs at a time.
    most_threads: u32,
}

/// Most threads that a multiprocessor of every GPU runs at a time.
const LEAST_MOST_THREADS: u32 = 1024;

impl NvidiaGpu {
    /// A GPU with LLVM's name for its compute capability, such as `sm_80`.
    pub(crate) fn new(llvm_name: &str) -> NvidiaGpu {
        let digits = llvm_name.trim_start_matches("sm_").trim_end_matches('a');
        let capability: Option<u32> = digits.parse().ok();
        let has = |least: u32| capability.is_some_and(|capability| capability >= least);
        let sheets =
            GPUS.iter().filter(|gpu| gpu.llvm_name == llvm_name).filter_map(|gpu| gpu.sheet.as_ref());
        let most_threads = sheets.map(|sheet| sheet.warps * WARP as u32);
        NvidiaGpu {
            shared: Cell::new(0),
            has_fences: has(FENCE_CAPABILITY),
            has_tensor_cores: has(TENSOR_CAPABILITY),
            most_threads: most_threads.min().unwrap_or(LEAST_MOST_THREADS),
        }
    }
}

/// Registers of a multiprocessor.
const REGISTERS: u32 = 1 << 16;

/// Blocks of a kernel that a multiprocessor can run at a time if each thread has the registers that it needs;
/// `None` leaves the number to `ptxas`, which then often prefers more blocks to registers, and spills values.
fn fewest_blocks(kernel: &KernelInterface, most_threads: u32) -> Option<u32> {
    let threads = kernel.block.iter().product::<u32>().next_multiple_of(WARP as u32).max(1);
    let by_registers = REGISTERS / (kernel.registers? * threads).max(1);
    Some(by_registers.min(most_threads / threads).clamp(1, MOST_BLOCKS))
}

impl Device for NvidiaGpu {
    fn id<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        dimension: GpuDimension,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        read_id_register(ir, ID_INTRINSICS, dimension)
    }

    fn barrier(&self, ir: &IrBuilder) -> Result<(), LlvmError> {
        ir.intrinsic("llvm.nvvm.barrier0", &[], &[])?;
        Ok(())
    }

    fn fence(&self, ir: &IrBuilder) -> Result<(), LlvmError> {
        if !self.has_fences {
            ir.intrinsic("llvm.nvvm.membar.gl", &[], &[])?;
            return Ok(());
        }
        let ty = ir.context.void_type().fn_type(&[], false);
        let (text, clobbers) = (FENCE.to_string(), "~{memory}".to_string());
        let fence = ir.context.create_inline_asm(ty, text, clobbers, true, false, None, false);
        ir.builder.build_indirect_call(ty, fence, &[], "")?;
        Ok(())
    }

    fn has_tensor_cores(&self) -> bool {
        self.has_tensor_cores
    }

    fn join_warp(&self, ir: &IrBuilder) -> Result<(), LlvmError> {
        let all = ir.context.i32_type().const_all_ones();
        ir.intrinsic("llvm.nvvm.bar.warp.sync", &[], &[all.into()])?;
        Ok(())
    }

    fn multiply_tiles<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        constant: FloatValue<'ctx>,
        operand: FloatValue<'ctx>,
        sums: [FloatValue<'ctx>; 2],
    ) -> Result<[FloatValue<'ctx>; 2], LlvmError> {
        let [first, second] = sums;
        let arguments = [constant.into(), operand.into(), first.into(), second.into()];
        let call = ir.intrinsic(MULTIPLY_INTRINSIC, &[], &arguments)?;
        let Some(BasicValueEnum::StructValue(both)) = call.try_as_basic_value().basic() else {
            return Err(LlvmError::ill_formed("a product of tiles has no two results"));
        };
        let sum = |number| -> Result<FloatValue<'ctx>, LlvmError> {
            Ok(ir.builder.build_extract_value(both, number, "")?.into_float_value())
        };
        Ok([sum(0)?, sum(1)?])
    }

    fn reserve_shared<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        _: &str,
        bytes: u64,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let offset = self.shared.get();
        self.shared.set(offset + bytes);
        let byte = ir.context.i8_type();
        let all = ir.module.get_global(SHARED_MEMORY_SYMBOL).unwrap_or_else(|| {
            let space = AddressSpace::from(SHARED_SPACE);
            let all = ir.module.add_global(byte.array_type(0), Some(space), SHARED_MEMORY_SYMBOL);
            all.set_alignment(TABLE_ALIGNMENT);
            all
        });
        let offset = ir.context.i32_type().const_int(offset, false);
        // SAFETY: the host requests the bytes that `shared_bytes` returns.
        Ok(unsafe { ir.builder.build_in_bounds_gep(byte, all.as_pointer_value(), &[offset], "")? })
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
        let llvm = declare_with_convention(context, module, kernel, PTX_KERNEL);
        let number = |n: u32| context.i32_type().const_int(n.into(), false).into();
        let words = ["maxntidx", "maxntidy", "maxntidz"];
        let annotations = [("kernel", 1)].into_iter().chain(words.into_iter().zip(kernel.block));
        let annotations =
            annotations.chain(fewest_blocks(kernel, self.most_threads).map(|blocks| ("minctasm", blocks)));
        for (word, value) in annotations {
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
