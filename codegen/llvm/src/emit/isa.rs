//! Machine-specific forms of operations.

use super::memory::Memory;
use super::operands::OperandReader;
use crate::error::LlvmError;
use inkwell::values::{BasicValueEnum, PointerValue, VectorValue};
use sched_ir::lir::{Address, Op, Ty, Value};

/// The value of an operation in its machine-specific form; none if it has no such form.
pub(super) type OwnForm<'ctx> = Result<Option<BasicValueEnum<'ctx>>, LlvmError>;

/// The instructions of a kind of machine, for one kernel. Every operation has a form that LLVM translates for
/// all machines; a machine with a better instruction replaces it.
pub(super) trait Isa {
    /// Emits an operation in its machine-specific form, if it has one. The emitter calls this for each
    /// operation, in order, so that implementations may remember earlier ones.
    fn emit_own_form<'ctx>(
        &mut self,
        _: &mut OperandReader<'_, 'ctx>,
        _: &Memory<'_, 'ctx>,
        _: Value,
        _: &Op,
    ) -> OwnForm<'ctx> {
        Ok(None)
    }

    /// Emits a gather without a mask in its machine-specific form, if it has one.
    fn emit_own_gather<'ctx>(
        &self,
        _: &mut OperandReader<'_, 'ctx>,
        _: &Memory<'_, 'ctx>,
        _: &LaneElements<'_, 'ctx>,
        _: Ty,
    ) -> OwnForm<'ctx> {
        Ok(None)
    }
}

/// Elements in memory, one for each lane.
pub(super) struct LaneElements<'a, 'ctx> {
    /// Address of element 0.
    pub(super) start: PointerValue<'ctx>,
    /// Bytes of a unit of `index`.
    pub(super) scale: u32,
    /// Positions of the elements, in units.
    pub(super) index: VectorValue<'ctx>,
    /// Alignment of each element, in bytes.
    pub(super) alignment: u32,
    /// The access to a buffer; none for tables in registers that were written to memory.
    pub(super) at: Option<&'a Address>,
}

/// A machine without machine-specific forms.
pub(super) struct Portable;

impl Isa for Portable {}
