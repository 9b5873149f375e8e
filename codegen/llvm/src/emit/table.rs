//! Look-ups of vectors through memory: the general form, for all machines.

use super::annotations::{TABLE_ALIGNMENT, instruction};
use super::gather::ElementReader;
use super::ir::IrBuilder;
use super::operands::OperandReader;
use super::vector::as_vector;
use crate::error::LlvmError;
use inkwell::builder::Builder;
use inkwell::values::{BasicValueEnum, InstructionOpcode, PointerValue};
use sched_ir::lir::{Scalar, Ty, Value};
use sched_ir::verify::MAX_LOOKUP;

impl<'ctx> ElementReader<'_, '_, 'ctx> {
    /// Elements of a table by number: `index` has a number for each lane.
    pub(super) fn lookup(
        &mut self,
        ty: Ty,
        table: Value,
        index: Value,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (from, at) = (self.operands.ty(table)?, self.operands.ty(index)?);
        let ir = &self.operands.ir;
        if from.lanes == 1 {
            let element = ir.resize(self.operands.value(table)?, from, Ty::of(ty.scalar))?;
            return Ok(ir.broadcast(element, ty)?.into());
        }
        let numbers = self.operands.vector(index)?;
        let memory = match self.operands.table_address(table, ty.scalar)? {
            Some(memory) => memory,
            None => self.operands.copy_table(table, ty.scalar)?,
        };
        let ir = &self.operands.ir;
        let last = as_vector(ir.int(at, i64::from(from.lanes) - 1)?)?;
        let numbers = ir.builder.build_and(numbers, last, "")?;
        let numbers = ir.resize_vector(numbers, at, at.with(Scalar::I32))?;
        self.elements((memory, ty.scalar.bytes()), numbers, ty)
    }
}

impl<'ctx> OperandReader<'_, 'ctx> {
    /// The memory from which a table was loaded, if its elements there have the wanted type.
    fn table_address(&self, table: Value, element: Scalar) -> Result<Option<PointerValue<'ctx>>, LlvmError> {
        let loaded = self.frame.table_addresses.get(&self.value(table)?);
        Ok(loaded.copied().filter(|_| self.ty(table).is_ok_and(|ty| ty.scalar == element)))
    }

    /// A copy of a table on the stack.
    fn copy_table(&mut self, table: Value, element: Scalar) -> Result<PointerValue<'ctx>, LlvmError> {
        if let Some(memory) = self.copy_table_once(table, element)? {
            return Ok(memory);
        }
        let memory = self.scratch_memory()?;
        self.store_table(&self.ir, table, element, memory)?;
        Ok(memory)
    }

    /// A copy of a table in separate stack memory, written where the table is defined, so that loops around
    /// its look-ups do not write it again. None if too little of the stack is left.
    fn copy_table_once(
        &mut self,
        table: Value,
        element: Scalar,
    ) -> Result<Option<PointerValue<'ctx>>, LlvmError> {
        if let Some(memory) = self.frame.table_copies.get(&(table, element)) {
            return Ok(Some(*memory));
        }
        let bytes = self.ty(table)?.with(element).bytes().next_multiple_of(TABLE_ALIGNMENT);
        if !self.frame.take_stack(bytes.into()) {
            return Ok(None);
        }
        let memory = self.reserve_table(bytes)?;
        let behind = self.ir.at(self.builder_behind(self.value(table)?, memory)?);
        self.store_table(&behind, table, element, memory)?;
        self.frame.table_copies.insert((table, element), memory);
        Ok(Some(memory))
    }

    /// A builder after the definitions of a value and of the memory for it.
    fn builder_behind(
        &self,
        value: BasicValueEnum<'ctx>,
        memory: PointerValue<'ctx>,
    ) -> Result<Builder<'ctx>, LlvmError> {
        // A constant is defined everywhere.
        let definition = instruction(value).or_else(|_| instruction(memory.into()))?;
        let mut next = definition.get_next_instruction();
        while let Some(phi) = next.filter(|next| next.get_opcode() == InstructionOpcode::Phi) {
            next = phi.get_next_instruction();
        }
        let builder = self.ir.context.create_builder();
        match (next, definition.get_parent()) {
            (Some(next), _) => builder.position_before(&next),
            (None, Some(block)) => builder.position_at_end(block),
            (None, None) => return Err(LlvmError::ill_formed("a table outside all blocks")),
        }
        Ok(builder)
    }

    /// Writes a table with elements of the width that its look-ups return.
    fn store_table(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        table: Value,
        element: Scalar,
        memory: PointerValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let (elements, from) = (self.vector(table)?, self.ty(table)?);
        let elements = ir.resize_vector(elements, from, from.with(element))?;
        let store = ir.builder.build_store(memory, elements)?;
        // LLVM would align a long vector to its size.
        store.set_alignment(TABLE_ALIGNMENT).map_err(LlvmError::ill_formed)
    }

    /// Memory for the largest table, reserved once for each function.
    fn scratch_memory(&mut self) -> Result<PointerValue<'ctx>, LlvmError> {
        if let Some(memory) = self.frame.scratch {
            return Ok(memory);
        }
        let memory = self.reserve_table(u32::from(MAX_LOOKUP) * Scalar::I64.bytes())?;
        self.frame.scratch = Some(memory);
        Ok(memory)
    }

    /// Reserves stack memory for a table.
    fn reserve_table(&self, bytes: u32) -> Result<PointerValue<'ctx>, LlvmError> {
        let array = self.ir.context.i8_type().array_type(bytes);
        let memory = self.reserve_stack(array, "lookup")?;
        instruction(memory.into())?.set_alignment(TABLE_ALIGNMENT).map_err(LlvmError::ill_formed)?;
        Ok(memory)
    }
}
