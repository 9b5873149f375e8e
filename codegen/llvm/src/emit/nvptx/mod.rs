//! Operations in the own form of NVIDIA's GPUs: words (`words.rs`).

mod words;

use super::function::Emitter;
use super::isa::Isa;
use crate::error::LlvmError;
use inkwell::values::BasicValueEnum;
use sched_ir::lir::{Op, Scalar, Ty, Value};
use words::Words;

/// What has been seen of a kernel.
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
        found.map(|found| emitter.word(found)).transpose()
    }
}
