//! What a kind of machine does in its own way.

use super::function::Emitter;
use crate::error::LlvmError;
use inkwell::values::{BasicValueEnum, PointerValue, VectorValue};
use sched_ir::lir::{Address, Op, Ty, Value};

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

    /// One load for each lane, all of them, in the machine's own form, if it has one.
    fn gather<'ctx>(
        &self,
        _: &mut Emitter<'_, 'ctx>,
        _: &Elements<'_, 'ctx>,
        _: Ty,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        Ok(None)
    }
}

/// Elements in memory, one for each lane.
pub(super) struct Elements<'a, 'ctx> {
    /// Where they begin.
    pub(super) start: PointerValue<'ctx>,
    /// Bytes from one to the next.
    pub(super) scale: u32,
    /// Their numbers.
    pub(super) index: VectorValue<'ctx>,
    /// What they are aligned to, in bytes.
    pub(super) alignment: u32,
    /// What is accessed, if it is a buffer.
    pub(super) at: Option<&'a Address>,
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
