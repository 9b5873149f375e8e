//! Operands of LIR as values of LLVM: types, defined values and buffers of the function under construction.

use super::frame::Frame;
use super::ir::IrBuilder;
use super::vector::as_vector;
use crate::error::LlvmError;
use inkwell::types::BasicType;
use inkwell::values::{BasicValueEnum, IntValue, PointerValue, VectorValue};
use sched_ir::lir::{self, Address, Space, Ty, Value};
use std::collections::BTreeSet;

/// Reads operands of one LIR function.
pub(super) struct OperandReader<'a, 'ctx> {
    pub(super) ir: IrBuilder<'a, 'ctx>,
    pub(super) source: &'a lir::Function,
    /// Values that some operation uses as a whole, and not only lane by lane.
    pub(super) whole_values: BTreeSet<Value>,
    pub(super) frame: Frame<'ctx>,
}

impl<'a, 'ctx> OperandReader<'a, 'ctx> {
    /// The type of a value.
    pub(super) fn ty(&self, value: Value) -> Result<Ty, LlvmError> {
        let ty = self.source.types.get(value.0 as usize);
        ty.copied().ok_or_else(|| LlvmError::ill_formed(format_args!("%{} has no type", value.0)))
    }

    /// A value.
    pub(super) fn value(&self, value: Value) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        self.frame.value(value)
    }

    /// A vector.
    pub(super) fn vector(&self, value: Value) -> Result<VectorValue<'ctx>, LlvmError> {
        as_vector(self.frame.value(value)?)
    }

    /// A number of an element or of an iteration, as wide as the function's indices.
    pub(super) fn index(&self, value: Value) -> Result<IntValue<'ctx>, LlvmError> {
        match (self.ty(value)?, self.frame.value(value)?) {
            (ty, BasicValueEnum::IntValue(index)) if ty == Ty::of(self.source.index) => Ok(index),
            (ty, _) => Err(LlvmError::ill_formed(format_args!("an index is {ty}"))),
        }
    }

    /// A condition.
    pub(super) fn condition(&self, value: Value) -> Result<IntValue<'ctx>, LlvmError> {
        match (self.ty(value)?, self.frame.value(value)?) {
            (Ty::I1, BasicValueEnum::IntValue(cond)) => Ok(cond),
            (ty, _) => Err(LlvmError::ill_formed(format_args!("a condition is {ty}"))),
        }
    }

    /// The kind of memory that an address points to.
    pub(super) fn space(&self, at: &Address) -> Result<Space, LlvmError> {
        let buffer = self.source.buffers.get(at.buffer.0 as usize);
        let missing = || LlvmError::ill_formed(format_args!("there is no buffer {}", at.buffer.0));
        buffer.map(|b| b.space).ok_or_else(missing)
    }

    /// Reserves stack memory in the function's entry block, so that loops reserve none.
    pub(super) fn reserve_stack(
        &self,
        ty: impl BasicType<'ctx>,
        name: &str,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        Ok(self.frame.entry_builder(self.ir.context).build_alloca(ty, name)?)
    }

    /// A builder at the start of the function's entry block.
    pub(super) fn entry_builder(&self) -> IrBuilder<'a, 'ctx> {
        self.ir.at(self.frame.entry_builder(self.ir.context))
    }
}
