//! NVIDIA's GPUs: numbers of blocks and threads, barriers, words (`words.rs`), and what a kernel says of itself.

mod words;

use super::function::Emitter;
use super::isa::Isa;
use crate::error::LlvmError;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{BasicValueEnum, FunctionValue};
use sched_ir::lir::{GpuAxis, GpuDimension, GpuLevel, Op, Scalar, Ty, Value};
use words::Words;

/// The calling convention of functions that the host launches.
const PTX_KERNEL: u32 = 71;

/// A GPU of NVIDIA, and what has been seen of a kernel.
#[derive(Default)]
pub(super) struct Nvptx {
    words: Words,
}

impl Isa for Nvptx {
    fn operation<'ctx>(
        &mut self,
        emitter: &mut Emitter<'_, 'ctx>,
        result: Value,
        op: &Op,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        let ty = emitter.ty(result)?;
        let found = if ty == Ty::of(Scalar::I32) { self.words.find(op) } else { None };
        self.words.note((result, ty), op);
        if let Some(found) = found {
            return emitter.word(found).map(Some);
        }
        let Op::Id(dimension) = op else { return Ok(None) };
        let call = emitter.intrinsic(register(*dimension), &[], &[])?;
        let id = call.try_as_basic_value().basic();
        id.map(Some).ok_or_else(|| LlvmError::ill_formed("a special register has no value"))
    }

    /// Threads hide latencies themselves.
    fn prefetches(&self) -> bool {
        false
    }

    fn describe_kernel<'ctx>(
        &self,
        context: &'ctx Context,
        module: &Module<'ctx>,
        kernel: FunctionValue<'ctx>,
        block: [u32; 3],
    ) -> Result<(), LlvmError> {
        kernel.set_call_conventions(PTX_KERNEL);
        let number = |n: u32| context.i32_type().const_int(n.into(), false).into();
        let words = ["maxntidx", "maxntidy", "maxntidz"];
        let said = [("kernel", 1)].into_iter().chain(words.into_iter().zip(block));
        for (word, value) in said {
            let function = kernel.as_global_value().as_pointer_value().into();
            let node =
                context.metadata_node(&[function, context.metadata_string(word).into(), number(value)]);
            module
                .add_global_metadata("nvvm.annotations", &node)
                .map_err(|message| LlvmError::ill_formed(message.to_string()))?;
        }
        Ok(())
    }

    fn barrier(&mut self, emitter: &mut Emitter) -> Result<(), LlvmError> {
        emitter.intrinsic("llvm.nvvm.barrier0", &[], &[])?;
        Ok(())
    }
}

/// The special register of a block's or a thread's number.
fn register(dimension: GpuDimension) -> &'static str {
    match (dimension.level, dimension.axis) {
        (GpuLevel::Grid, GpuAxis::X) => "llvm.nvvm.read.ptx.sreg.ctaid.x",
        (GpuLevel::Grid, GpuAxis::Y) => "llvm.nvvm.read.ptx.sreg.ctaid.y",
        (GpuLevel::Grid, GpuAxis::Z) => "llvm.nvvm.read.ptx.sreg.ctaid.z",
        (GpuLevel::Block, GpuAxis::X) => "llvm.nvvm.read.ptx.sreg.tid.x",
        (GpuLevel::Block, GpuAxis::Y) => "llvm.nvvm.read.ptx.sreg.tid.y",
        (GpuLevel::Block, GpuAxis::Z) => "llvm.nvvm.read.ptx.sreg.tid.z",
    }
}
