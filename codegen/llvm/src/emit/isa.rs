//! What a kind of machine does in its own way.

use super::function::Emitter;
use crate::error::LlvmError;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{BasicValueEnum, FunctionValue};
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

    /// Whether hints to the cache are worth an instruction.
    fn prefetches(&self) -> bool {
        true
    }

    /// Says that a function is launched by the host, with so many threads in a block. Only GPUs have such functions.
    fn describe_kernel<'ctx>(
        &self,
        _: &'ctx Context,
        _: &Module<'ctx>,
        _: FunctionValue<'ctx>,
        _: [u32; 3],
    ) -> Result<(), LlvmError> {
        Err(LlvmError::ill_formed("a launch in code for a processor"))
    }

    /// A barrier of the threads of a block. Only GPUs have blocks.
    fn barrier(&mut self, _: &mut Emitter) -> Result<(), LlvmError> {
        Err(LlvmError::ill_formed("a barrier in code for a processor"))
    }
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
