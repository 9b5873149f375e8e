//! Look-ups in tables that are in registers.
//!
//! A shuffle selects elements of one register, or of two, by the numbers in another. On processors whose
//! shuffles of bytes stay within parts of 128 bits, every part holds a copy of the table. A long table of
//! bytes is looked up as 16-bit elements instead, whose shuffles reach across parts. A table that takes more
//! registers is looked up in each of them, and the higher bits of the index select among the results.

use super::plan::LookupPlan;
use super::processor::X86;
use crate::emit::ir::IrBuilder;
use crate::emit::operands::OperandReader;
use crate::emit::vector::as_vector;
use crate::error::LlvmError;
use inkwell::IntPredicate;
use inkwell::values::{BasicValueEnum, VectorValue};
use sched_ir::lir::{Scalar, Ty, Value};

/// The highest bit of a byte.
const HIGHEST_BIT_OF_BYTE: u64 = 1 << 7;

/// The indices of a look-up, with their known bits.
#[derive(Clone)]
struct LookupIndices<'ctx> {
    value: VectorValue<'ctx>,
    /// Whether all are below [`HIGHEST_BIT_OF_BYTE`].
    small: bool,
    /// For each bit from the lowest on, the mask of the lanes in which it is set; only those that exist
    /// already.
    bits: Vec<VectorValue<'ctx>>,
}

impl X86 {
    /// Elements of a table by shuffles of registers, if the processor has shuffles that are faster than
    /// memory.
    pub(super) fn lookup<'ctx>(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        ty: Ty,
        (table, index): (Value, Value),
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        let (from, at) = (operands.ty(table)?, operands.ty(index)?);
        let plan = |plan| RegisterLookup { ir: &operands.ir, plan };
        if let Some(halves) = LookupPlan::of_halves(self.cpu_needs, from, at) {
            let (table, index) = ((operands.vector(table)?, from), (self.indices(operands, index)?, at));
            return Ok(Some(plan(halves).lookup_in_halves(table, index)?));
        }
        let Some(whole) = LookupPlan::of(self.cpu_needs, from, at).filter(|_| from.lanes > 1) else {
            return Ok(None);
        };
        let index = self.indices(operands, index)?;
        Ok(Some(plan(whole).lookup_by_registers(ty, (operands.vector(table)?, from), (index, at))?))
    }

    /// Indices with their known bits.
    fn indices<'ctx>(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        index: Value,
    ) -> Result<LookupIndices<'ctx>, LlvmError> {
        let small = self.known.is_below(index, HIGHEST_BIT_OF_BYTE);
        let masks = self.known.bits(index).iter().map_while(|mask| operands.vector(*mask).ok());
        Ok(LookupIndices { value: operands.vector(index)?, small, bits: masks.collect() })
    }
}

/// Emits one look-up by a plan.
struct RegisterLookup<'s, 'a, 'ctx> {
    ir: &'s IrBuilder<'a, 'ctx>,
    plan: LookupPlan,
}

impl<'ctx> RegisterLookup<'_, '_, 'ctx> {
    /// Looks up the two halves of 64-bit elements, and joins them.
    fn lookup_in_halves(
        &self,
        (table, from): (VectorValue<'ctx>, Ty),
        (index, at): (LookupIndices<'ctx>, Ty),
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (elements, lanes) = (u32::from(from.lanes), u32::from(at.lanes));
        let words = self.bitcast(table, Ty::vector(Scalar::I32, 2 * from.lanes))?;
        let half = |which: u32| {
            let table = self.ir.shuffle_one(words, (0..elements).map(|n| Some(2 * n + which)))?;
            let table = (table, from.with(Scalar::I32));
            as_vector(self.lookup_by_registers(at.with(Scalar::I32), table, (index.clone(), at))?)
        };
        let (low, high) = (half(0)?, half(1)?);
        let pairs = (0..2 * lanes).map(|n| Some(if n % 2 == 0 { n / 2 } else { lanes + n / 2 }));
        let joined = self.ir.shuffle((low, high), pairs)?;
        Ok(self.bitcast(joined, Ty::vector(from.scalar, at.lanes))?.into())
    }

    /// Looks up one register of indices after the other.
    fn lookup_by_registers(
        &self,
        ty: Ty,
        (table, table_ty): (VectorValue<'ctx>, Ty),
        (index, index_ty): (LookupIndices<'ctx>, Ty),
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let table = self.ir.resize_vector(table, table_ty, table_ty.with(self.plan.element))?;
        let value = self.ir.resize_vector(index.value, index_ty, index_ty.with(self.plan.index))?;
        let registers = self.table_registers(table, table_ty.lanes)?;
        let (lanes, each) = (u32::from(index_ty.lanes), u32::from(self.plan.lanes()));
        let mut parts = Vec::new();
        for first in (0..lanes).step_by(each as usize) {
            let part = match lanes == each {
                true => LookupIndices { value, small: index.small, bits: index.bits.clone() },
                // The bits' masks are not split, since that takes as long as testing the bits of the parts.
                false => LookupIndices {
                    value: self
                        .ir
                        .shuffle_one(value, (first..first + each).map(|n| (n < lanes).then_some(n)))?,
                    small: index.small,
                    bits: Vec::new(),
                },
            };
            parts.push(self.lookup_register(&registers, &part)?);
        }
        let joined = self.join(parts, lanes)?;
        let joined_ty =
            ty.with(if self.plan.element.is_float() { self.plan.element } else { self.plan.index });
        self.ir.resize(joined.into(), joined_ty, ty)
    }

    /// A table as full registers. A short table is repeated, so that the number of elements by which the
    /// hardware reduces indices is a multiple of its length.
    fn table_registers(
        &self,
        table: VectorValue<'ctx>,
        length: u16,
    ) -> Result<Vec<VectorValue<'ctx>>, LlvmError> {
        let (length, entries) = (u32::from(length), self.plan.entries());
        let lanes = self.plan.permute.register_bits / (self.plan.element.bytes() * 8);
        if length == lanes && lanes == entries {
            return Ok(vec![table]);
        }
        (0..length.div_ceil(entries))
            .map(|part| {
                self.ir.shuffle_one(table, (0..lanes).map(|n| Some((part * entries + n % entries) % length)))
            })
            .collect()
    }

    /// Looks up one register of indices.
    fn lookup_register(
        &self,
        registers: &[VectorValue<'ctx>],
        indices: &LookupIndices<'ctx>,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let (entries, index) = (self.plan.entries(), indices.value);
        let narrow = self.plan.element.bytes() < self.plan.index.bytes();
        // The low part of each index is an index of narrower elements. The results of its other parts are
        // masked off at the end.
        let by = match narrow {
            true => self.bitcast(index, Ty::vector(self.plan.element, entries as u16))?,
            // Shuffles within parts use the low bits of an index, and return 0 if its highest bit is set.
            false if self.plan.permute.in_parts && !indices.small => {
                let ty = Ty::vector(self.plan.index, index.get_type().get_size() as u16);
                let last = as_vector(self.ir.int(ty, i64::from(entries) - 1)?)?;
                self.ir.builder.build_and(index, last, "")?
            }
            false => index,
        };
        let tables_at_a_time = if self.plan.permute.has_two_register_form() { 2 } else { 1 };
        let mut results = Vec::new();
        for tables in registers.chunks(tables_at_a_time) {
            results.push(if self.plan.has_element_pairs() {
                self.lookup_byte_pairs(tables, indices)?
            } else {
                let values = self.plan.permute.emit(self.ir, tables, by)?;
                if narrow {
                    self.bitcast(values, Ty::vector(self.plan.index, self.plan.lanes()))?
                } else {
                    values
                }
            });
        }
        let mut bit = u64::from(entries) * registers.len().min(tables_at_a_time) as u64;
        while results.len() > 1 {
            let high = self.has_bit(indices, self.plan.index, bit)?;
            let choose = |pair: &[VectorValue<'ctx>]| match pair {
                [a, b] => as_vector(self.ir.builder.build_select(high, *b, *a, "")?),
                _ => Err(LlvmError::ill_formed("the registers of a table are no power of two")),
            };
            results = results.chunks(2).map(choose).collect::<Result<_, _>>()?;
            bit *= 2;
        }
        let result = results.pop().ok_or_else(|| LlvmError::ill_formed("a table without elements"))?;
        if !narrow {
            return Ok(result);
        }
        let low = (1_i64 << (self.plan.element.bytes() * 8)) - 1;
        let low = as_vector(self.ir.int(Ty::vector(self.plan.index, self.plan.lanes()), low)?)?;
        Ok(self.ir.builder.build_and(result, low, "")?)
    }

    /// Bytes of two registers by shuffles of words of two bytes each: one for the even lanes of the index,
    /// one for the odd.
    fn lookup_byte_pairs(
        &self,
        tables: &[VectorValue<'ctx>],
        indices: &LookupIndices<'ctx>,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let (bytes, words) =
            (Ty::vector(self.plan.index, self.plan.lanes()), Ty::vector(Scalar::I16, self.plan.lanes() / 2));
        let tables = tables.iter().map(|table| self.bitcast(*table, words)).collect::<Result<Vec<_>, _>>()?;
        let index = self.bitcast(indices.value, words)?;
        let by = |bits: i64| as_vector(self.ir.int(words, bits)?);
        // The shuffle takes indices modulo the number of elements, so higher bits do not matter.
        let pairs = |distance: i64| {
            let number = self.ir.builder.build_right_shift(index, by(distance)?, false, "")?;
            self.plan.permute.emit(self.ir, &tables, number)
        };
        let (even, odd) = (pairs(1)?, pairs(1 + 8)?);
        let second_of_even = self.ir.builder.build_right_shift(even, by(8)?, false, "")?;
        let first_of_odd = self.ir.builder.build_left_shift(odd, by(8)?, "")?;
        let interleaved = |even: VectorValue<'ctx>, odd: VectorValue<'ctx>| {
            let lanes = u32::from(self.plan.lanes());
            let numbers = (0..lanes).map(|lane| Some(if lane % 2 == 0 { lane } else { lanes + lane }));
            self.ir.shuffle((self.bitcast(even, bytes)?, self.bitcast(odd, bytes)?), numbers)
        };
        let (first, second) = (interleaved(even, first_of_odd)?, interleaved(second_of_even, odd)?);
        let is_second = self.has_bit(indices, self.plan.index, 1)?;
        as_vector(self.ir.builder.build_select(is_second, second, first, "")?)
    }

    /// The bits of a vector as a vector of another type.
    fn bitcast(&self, vector: VectorValue<'ctx>, ty: Ty) -> Result<VectorValue<'ctx>, LlvmError> {
        as_vector(self.ir.builder.build_bit_cast(vector, self.ir.vector_type(ty)?, "")?)
    }

    /// The mask of the lanes whose index has a bit.
    fn has_bit(
        &self,
        index: &LookupIndices<'ctx>,
        scalar: Scalar,
        bit: u64,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        if let Some(mask) = index.bits.get(bit.ilog2() as usize) {
            return Ok(*mask);
        }
        let index = index.value;
        let ty = Ty::vector(scalar, index.get_type().get_size() as u16);
        let bit = self.ir.builder.build_and(index, as_vector(self.ir.int(ty, bit as i64)?)?, "")?;
        let none = self.ir.vector_type(ty)?.const_zero();
        Ok(self.ir.builder.build_int_compare(IntPredicate::NE, bit, none, "")?)
    }

    /// Joins vectors, and returns the first `lanes` lanes.
    fn join(&self, mut parts: Vec<VectorValue<'ctx>>, lanes: u32) -> Result<VectorValue<'ctx>, LlvmError> {
        while parts.len() > 1 {
            let join = |pair: &[VectorValue<'ctx>]| match pair {
                [a, b] => self.ir.shuffle((*a, *b), (0..2 * a.get_type().get_size()).map(Some)),
                [a] => self.ir.shuffle_one(*a, (0..2 * a.get_type().get_size()).map(Some)),
                _ => Err(LlvmError::ill_formed("nothing to join")),
            };
            parts = parts.chunks(2).map(join).collect::<Result<_, _>>()?;
        }
        match parts.pop() {
            Some(all) if all.get_type().get_size() == lanes => Ok(all),
            Some(all) => self.ir.shuffle_one(all, (0..lanes).map(Some)),
            None => Err(LlvmError::ill_formed("nothing to join")),
        }
    }
}
