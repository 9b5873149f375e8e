//! Tables in registers that are looked up through memory: the form that every machine has.

use super::function::Emitter;
use super::memory::{TABLE_ALIGNMENT, instruction};
use super::types;
use super::vector::as_vector;
use crate::error::LlvmError;
use inkwell::builder::Builder;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, InstructionOpcode, PointerValue, VectorValue};
use sched_ir::lir::{Scalar, Ty, Value};
use sched_ir::verify::MAX_LOOKUP;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Elements of a table, by number.
    pub(super) fn lookup(
        &mut self,
        ty: Ty,
        table: Value,
        index: Value,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (from, at) = (self.ty(table)?, self.ty(index)?);
        if from.lanes == 1 {
            let element = self.resized(self.frame.value(table)?, from, Ty::of(ty.scalar))?;
            return Ok(self.broadcast(element, ty)?.into());
        }
        let numbers = self.vector(index)?;
        self.in_memory(ty, (table, from), (numbers, at))
    }

    /// An integer of another width, cut or widened with zeros; floats are left alone.
    pub(super) fn resized(
        &self,
        value: BasicValueEnum<'ctx>,
        from: Ty,
        to: Ty,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        if from.scalar.is_float() || from == to {
            return Ok(value);
        }
        let widens = from.scalar.bytes() < to.scalar.bytes();
        Ok(match (value, types::basic(self.context, to)?) {
            (BasicValueEnum::IntValue(v), BasicTypeEnum::IntType(to)) => match widens {
                true => self.builder.build_int_z_extend(v, to, "")?.into(),
                false => self.builder.build_int_truncate(v, to, "")?.into(),
            },
            (BasicValueEnum::VectorValue(v), BasicTypeEnum::VectorType(to)) => match widens {
                true => self.builder.build_int_z_extend(v, to, "")?.into(),
                false => self.builder.build_int_truncate(v, to, "")?.into(),
            },
            _ => return Err(LlvmError::ill_formed("an integer is resized to something else")),
        })
    }

    pub(super) fn resized_vector(
        &self,
        value: VectorValue<'ctx>,
        from: Ty,
        to: Ty,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        as_vector(self.resized(value.into(), from, to)?)
    }

    /// A lookup through memory.
    fn in_memory(
        &mut self,
        ty: Ty,
        (table, table_ty): (Value, Ty),
        (index, index_ty): (VectorValue<'ctx>, Ty),
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let memory = match self.in_place(table, ty.scalar)? {
            Some(memory) => memory,
            None => self.copied(table, ty.scalar)?,
        };
        let last = as_vector(self.int(index_ty, i64::from(table_ty.lanes) - 1)?)?;
        let index = self.builder.build_and(index, last, "")?;
        let index = self.resized_vector(index, index_ty, index_ty.with(Scalar::I32))?;
        self.gather_elements((memory, ty.scalar.bytes()), index, ty)
    }

    /// Where a table with such elements lies already.
    fn in_place(&self, table: Value, element: Scalar) -> Result<Option<PointerValue<'ctx>>, LlvmError> {
        let loaded = self.frame.loaded.get(&self.frame.value(table)?);
        Ok(loaded.copied().filter(|_| self.ty(table).is_ok_and(|ty| ty.scalar == element)))
    }

    /// A copy of a table on the stack.
    fn copied(&mut self, table: Value, element: Scalar) -> Result<PointerValue<'ctx>, LlvmError> {
        if let Some(memory) = self.stored(table, element)? {
            return Ok(memory);
        }
        let memory = self.scratch()?;
        self.store_table(table, element, memory)?;
        Ok(memory)
    }

    /// A table in memory of its own, written where the table is defined, so that loops around its lookups
    /// need not write it again. None if it would take too much of the stack.
    fn stored(&mut self, table: Value, element: Scalar) -> Result<Option<PointerValue<'ctx>>, LlvmError> {
        if let Some(memory) = self.frame.stored.get(&(table, element)) {
            return Ok(Some(*memory));
        }
        let bytes = self.ty(table)?.with(element).bytes().next_multiple_of(TABLE_ALIGNMENT);
        if !self.frame.take_stack(bytes.into()) {
            return Ok(None);
        }
        let memory = self.reserve(bytes)?;
        let behind = self.behind(self.frame.value(table)?, memory)?;
        let here = std::mem::replace(&mut self.builder, behind);
        let stored = self.store_table(table, element, memory);
        self.builder = here;
        stored?;
        self.frame.stored.insert((table, element), memory);
        Ok(Some(memory))
    }

    /// A builder behind the definition of a value and of the memory that it goes to.
    fn behind(
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
        let builder = self.context.create_builder();
        match (next, definition.get_parent()) {
            (Some(next), _) => builder.position_before(&next),
            (None, Some(block)) => builder.position_at_end(block),
            (None, None) => return Err(LlvmError::ill_formed("a table outside all blocks")),
        }
        Ok(builder)
    }

    /// Writes a table with elements of the width that lookups return.
    fn store_table(
        &self,
        table: Value,
        element: Scalar,
        memory: PointerValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let (elements, from) = (self.vector(table)?, self.ty(table)?);
        let elements = self.resized_vector(elements, from, from.with(element))?;
        let store = self.builder.build_store(memory, elements)?;
        // By itself a long vector would be aligned to its size.
        store.set_alignment(TABLE_ALIGNMENT).map_err(LlvmError::ill_formed)
    }

    /// Memory for the largest table, made once for each function.
    fn scratch(&mut self) -> Result<PointerValue<'ctx>, LlvmError> {
        if let Some(memory) = self.frame.scratch {
            return Ok(memory);
        }
        let memory = self.reserve(u32::from(MAX_LOOKUP) * Scalar::I64.bytes())?;
        self.frame.scratch = Some(memory);
        Ok(memory)
    }

    fn reserve(&self, bytes: u32) -> Result<PointerValue<'ctx>, LlvmError> {
        let array = self.context.i8_type().array_type(bytes);
        let memory = self.frame.at_entry(self.context).build_alloca(array, "lookup")?;
        instruction(memory.into())?.set_alignment(TABLE_ALIGNMENT).map_err(LlvmError::ill_formed)?;
        Ok(memory)
    }
}
