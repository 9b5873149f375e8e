//! Forms of operations for NVIDIA's GPUs: arithmetic of 32-bit words (`words.rs`).

mod words;

use super::isa::{Isa, OwnForm};
use super::memory::Memory;
use super::operands::OperandReader;
use sched_ir::lir::{Op, Scalar, Ty, Value};
use words::EarlierWordOps;

/// The forms of operations for NVIDIA's GPUs, and the earlier operations of a kernel on which they depend.
#[derive(Default)]
pub(super) struct Nvptx {
    words: EarlierWordOps,
}

impl Isa for Nvptx {
    fn emit_own_form<'ctx>(
        &mut self,
        operands: &mut OperandReader<'_, 'ctx>,
        _: &Memory<'_, 'ctx>,
        result: Value,
        op: &Op,
    ) -> OwnForm<'ctx> {
        let ty = operands.ty(result)?;
        let own = if ty == Ty::of(Scalar::I32) { self.words.find(op) } else { None };
        self.words.note((result, ty), op);
        own.map(|instruction| instruction.emit(operands)).transpose()
    }
}
