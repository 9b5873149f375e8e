//! What a kind of machine does in its own way.

use super::function::Emitter;
use crate::error::LlvmError;
use inkwell::values::BasicValueEnum;
use sched_ir::lir::{Op, Value};

/// The instructions of a kind of machine, for one kernel. Every operation has a form that LLVM translates for
/// all machines; a machine that knows better gives its own.
pub(super) trait Isa {
    /// An operation in the machine's own form, if it has one. It is asked for each operation, in order, and
    /// may remember what it has seen.
    fn operation<'ctx>(
        &mut self,
        emitter: &mut Emitter<'_, 'ctx>,
        result: Value,
        op: &Op,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError>;
}

/// A machine without forms of its own.
pub(super) struct Portable;

impl Isa for Portable {
    fn operation<'ctx>(
        &mut self,
        _: &mut Emitter<'_, 'ctx>,
        _: Value,
        _: &Op,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        Ok(None)
    }
}
