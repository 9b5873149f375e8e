//! Metadata with the properties of an access that LLVM may assume.

use super::ir::IrBuilder;
use crate::error::LlvmError;
use inkwell::values::{BasicValueEnum, InstructionValue, MetadataValue, PointerValue};

/// Bytes to which the model's tables and temporary memory are aligned: a cache line, and the longest
/// register.
pub(super) const TABLE_ALIGNMENT: u32 = 64;

impl<'ctx> IrBuilder<'_, 'ctx> {
    /// Declares that the memory from which a value was loaded does not change during a run.
    pub(super) fn mark_invariant(&self, loaded: BasicValueEnum<'ctx>) -> Result<(), LlvmError> {
        self.annotate(instruction(loaded)?, "invariant.load", self.context.metadata_node(&[]))
    }

    /// Declares that a loaded pointer points to an aligned table of `bytes` readable bytes; 0 if nothing is
    /// known about them.
    pub(super) fn describe_table(&self, base: PointerValue<'ctx>, bytes: usize) -> Result<(), LlvmError> {
        let number =
            |n: u64| self.context.metadata_node(&[self.context.i64_type().const_int(n, false).into()]);
        let load = instruction(base.into())?;
        self.annotate(load, "nonnull", self.context.metadata_node(&[]))?;
        self.annotate(load, "align", number(TABLE_ALIGNMENT.into()))?;
        if bytes > 0 {
            self.annotate(load, "dereferenceable", number(bytes as u64))?;
        }
        Ok(())
    }

    /// Attaches metadata of a kind to an instruction.
    pub(super) fn annotate(
        &self,
        instruction: InstructionValue<'ctx>,
        kind: &str,
        node: MetadataValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let attached = instruction.set_metadata(node, self.context.get_kind_id(kind));
        attached.map_err(|_| LlvmError::ill_formed("metadata on an instruction is a node"))
    }
}

/// Returns the instruction that makes a value.
pub(super) fn instruction(value: BasicValueEnum) -> Result<InstructionValue, LlvmError> {
    let instruction = match value {
        BasicValueEnum::IntValue(v) => v.as_instruction(),
        BasicValueEnum::FloatValue(v) => v.as_instruction(),
        BasicValueEnum::VectorValue(v) => v.as_instruction(),
        BasicValueEnum::PointerValue(v) => v.as_instruction(),
        _ => None,
    };
    instruction.ok_or_else(|| LlvmError::ill_formed("an access is no instruction"))
}
