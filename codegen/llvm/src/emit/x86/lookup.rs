//! Lookups in tables that are in registers.
//!
//! A shuffle takes elements of one register, or of two, by the numbers in another. Where shuffles of bytes
//! stay within parts of 128 bits, every part holds a copy of the table; a long table of bytes is looked up as
//! 16-bit elements instead, whose shuffles reach across parts. A table that takes more registers is looked up
//! in each of them, and the higher bits of the index choose among the results.

use super::X86;
use super::permute::Permute;
use crate::emit::function::Emitter;
use crate::emit::vector::as_vector;
use crate::error::LlvmError;
use crate::runtime::{CPU_V2, CPU_V3, CPU_V4, CPU_VBMI};
use inkwell::IntPredicate;
use inkwell::values::{BasicValueEnum, VectorValue};
use sched_ir::lir::{Scalar, Ty, Value};

/// The most registers that a table may take. A larger one is looked up in memory, which is faster.
const MAX_REGISTERS: u32 = 16;

/// Tables of at least this many bytes are shuffled as two registers of 16-bit elements rather than as eight
/// registers whose parts hold copies.
const LONG_TABLE: u16 = 128;

/// Tables of 64-bit elements that are longer, and fit [`MAX_REGISTERS`], are looked up in halves: a register holds the halves of
/// twice as many elements, and finds those of twice as many indices.
const SHORT_TABLE: u16 = 16;

/// The highest bit of a byte.
const HIGHEST_OF_BYTE: u64 = 1 << 7;

/// How a lookup is done in registers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LookupPlan {
    permute: Permute,
    /// The element of the table in registers.
    element: Scalar,
    /// The element of the index while it is used; as wide as the table's, or wider.
    index: Scalar,
}

/// The indices of a lookup, and what is known of them.
#[derive(Clone)]
struct Index<'ctx> {
    value: VectorValue<'ctx>,
    /// Whether all are below [`HIGHEST_OF_BYTE`].
    small: bool,
    /// Masks that say where bits are set, from the lowest bit on, as far as they have been computed already.
    bits: Vec<VectorValue<'ctx>>,
}

impl LookupPlan {
    /// The best way for a processor with these `CPU_*` features, if there is one in registers.
    fn of(needs: u64, table: Ty, index: Ty) -> Option<LookupPlan> {
        let float = table.scalar.is_float();
        if (table.scalar, index.scalar) == (Scalar::I8, Scalar::I8) && needs & CPU_VBMI == 0 {
            return LookupPlan::in_parts(needs, table, index);
        }
        let (register, element) = match table.scalar {
            Scalar::I1 => return None,
            Scalar::I8 if needs & CPU_VBMI != 0 => (512, Scalar::I8),
            // A shuffle of 16-bit elements costs more than one of 32-bit elements, which take twice as many
            // registers.
            Scalar::I16 if needs & CPU_V4 != 0 && (table.lanes > 32 || index.scalar == Scalar::I16) => {
                (512, Scalar::I16)
            }
            Scalar::I8 | Scalar::I16 if needs & CPU_V4 != 0 => (512, Scalar::I32),
            other if needs & CPU_V4 != 0 => (512, other),
            Scalar::F32 => (256, Scalar::F32),
            Scalar::I8 | Scalar::I16 | Scalar::I32 => (256, Scalar::I32),
            Scalar::I64 | Scalar::F64 => return None,
        };
        let same_size = if float { int_of(element) } else { wider(index.scalar, element) };
        // With registers of 256 bits, only elements of 32 bits have a shuffle.
        let by = if needs & CPU_V4 == 0 { Scalar::I32 } else { same_size };
        let register = if element.bytes() > 2 { register } else { shortest(table, index.with(by)) };
        let permute = Permute { register, bits: element.bytes() * 8, float, in_parts: false };
        let parts = u32::from(table.lanes).div_ceil(permute.entries());
        let available = needs & (CPU_V3 | CPU_V4) != 0;
        // Without shuffles of two registers, choosing among many parts takes longer than memory.
        let limit = if permute.has_two() { MAX_REGISTERS } else { 4 };
        (available && parts <= limit).then_some(LookupPlan { permute, element, index: by })
    }

    /// The way for the halves of 64-bit elements, where that takes fewer shuffles than whole ones: two for each half and 16
    /// indices, and as many to join what they find, where whole ones take as many for 8.
    fn of_halves(needs: u64, table: Ty, index: Ty) -> Option<LookupPlan> {
        let fits = table.lanes > SHORT_TABLE && u32::from(table.lanes) <= 8 * MAX_REGISTERS;
        let wide = matches!(table.scalar, Scalar::F64 | Scalar::I64) && index.lanes >= SHORT_TABLE;
        let plan = || LookupPlan::of(needs, table.with(Scalar::I32), index);
        if needs & CPU_V4 != 0 && fits && wide { plan() } else { None }
    }

    /// The way of processors that shuffle bytes only within parts of registers: each part of the table is in
    /// all parts of a register.
    fn in_parts(needs: u64, table: Ty, index: Ty) -> Option<LookupPlan> {
        let (element, index_bits) = (Scalar::I8, u32::from(index.lanes) * 8);
        if needs & CPU_V4 != 0 && table.lanes >= LONG_TABLE && index_bits >= 512 {
            let permute = Permute { register: 512, bits: 16, float: false, in_parts: false };
            return Some(LookupPlan { permute, element, index: element });
        }
        let widest = match needs {
            needs if needs & CPU_V4 != 0 => 512,
            needs if needs & CPU_V3 != 0 => 256,
            needs if needs & CPU_V2 != 0 => 128,
            _ => return None,
        };
        let register = index_bits.next_power_of_two().clamp(128, widest);
        let permute = Permute { register, bits: 8, float: false, in_parts: true };
        let parts = u32::from(table.lanes).div_ceil(permute.entries());
        (parts <= MAX_REGISTERS).then_some(LookupPlan { permute, element, index: element })
    }

    /// Whether each word that is shuffled holds two elements.
    fn in_pairs(self) -> bool {
        self.permute.bits == 2 * 8 * self.element.bytes()
    }

    /// Elements that an index chooses from in one register.
    fn entries(self) -> u32 {
        if self.in_pairs() { 2 * self.permute.entries() } else { self.permute.entries() }
    }

    /// Lanes of the index that fit in a register.
    fn lanes(self) -> u16 {
        (self.permute.register / (self.index.bytes() * 8)) as u16
    }
}

/// The integer as wide as a scalar.
fn int_of(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::F32 => Scalar::I32,
        Scalar::F64 => Scalar::I64,
        other => other,
    }
}

/// Bits of the shortest register that holds a table, and all indices. Where there are few of both, shuffles of shorter registers are
/// done sooner.
fn shortest(table: Ty, index: Ty) -> u32 {
    let bits = 8 * table.bytes().max(index.bytes());
    bits.next_power_of_two().clamp(128, 512)
}

fn wider(a: Scalar, b: Scalar) -> Scalar {
    if a.bytes() > b.bytes() { a } else { b }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Elements of a table by shuffles of registers, if there are shuffles for it that are worth it.
    pub(super) fn lookup_in_registers(
        &self,
        x86: &X86,
        ty: Ty,
        (table, index): (Value, Value),
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        let (from, at) = (self.ty(table)?, self.ty(index)?);
        if let Some(plan) = LookupPlan::of_halves(x86.needs, from, at) {
            let (table, index) = ((self.vector(table)?, from), (self.index_of(x86, index)?, at));
            return Ok(Some(self.in_halves(plan, table, index)?));
        }
        let Some(plan) = LookupPlan::of(x86.needs, from, at).filter(|_| from.lanes > 1) else {
            return Ok(None);
        };
        let index = self.index_of(x86, index)?;
        Ok(Some(self.in_registers(plan, ty, (self.vector(table)?, from), (index, at))?))
    }

    /// Indices and what is known of them.
    fn index_of(&self, x86: &X86, index: Value) -> Result<Index<'ctx>, LlvmError> {
        let small = x86.known.is_below(index, HIGHEST_OF_BYTE);
        let masks = x86.known.bits(index).iter().map_while(|mask| self.vector(*mask).ok());
        Ok(Index { value: self.vector(index)?, small, bits: masks.collect() })
    }

    /// A lookup of 64-bit elements as two of their halves, which are joined.
    fn in_halves(
        &self,
        plan: LookupPlan,
        (table, from): (VectorValue<'ctx>, Ty),
        (index, at): (Index<'ctx>, Ty),
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (elements, lanes) = (u32::from(from.lanes), u32::from(at.lanes));
        let words = self.bits(table, Ty::vector(Scalar::I32, 2 * from.lanes))?;
        let half = |which: u32| {
            let table = self.pick(words, (0..elements).map(|n| Some(2 * n + which)))?;
            let table = (table, from.with(Scalar::I32));
            as_vector(self.in_registers(plan, at.with(Scalar::I32), table, (index.clone(), at))?)
        };
        let (low, high) = (half(0)?, half(1)?);
        let pairs = (0..2 * lanes).map(|n| Some(if n % 2 == 0 { n / 2 } else { lanes + n / 2 }));
        let found = self.shuffle((low, high), pairs)?;
        Ok(self.bits(found, Ty::vector(from.scalar, at.lanes))?.into())
    }

    /// A lookup by shuffles, a register of indices at a time.
    fn in_registers(
        &self,
        plan: LookupPlan,
        ty: Ty,
        (table, table_ty): (VectorValue<'ctx>, Ty),
        (index, index_ty): (Index<'ctx>, Ty),
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let table = self.resized_vector(table, table_ty, table_ty.with(plan.element))?;
        let value = self.resized_vector(index.value, index_ty, index_ty.with(plan.index))?;
        let registers = self.registers(plan, table, table_ty.lanes)?;
        let (lanes, each) = (u32::from(index_ty.lanes), u32::from(plan.lanes()));
        let mut found = Vec::new();
        for first in (0..lanes).step_by(each as usize) {
            let part = match lanes == each {
                true => Index { value, small: index.small, bits: index.bits.clone() },
                // To part masks takes as long as to test bits.
                false => Index {
                    value: self.pick(value, (first..first + each).map(|n| (n < lanes).then_some(n)))?,
                    small: index.small,
                    bits: Vec::new(),
                },
            };
            found.push(self.part(plan, &registers, &part)?);
        }
        let found = self.joined(found, lanes)?;
        let found_ty = ty.with(if plan.element.is_float() { plan.element } else { plan.index });
        self.resized(found.into(), found_ty, ty)
    }

    /// A table as full registers. A short one is repeated, so that the hardware's modulus is a multiple of
    /// its length.
    fn registers(
        &self,
        plan: LookupPlan,
        table: VectorValue<'ctx>,
        length: u16,
    ) -> Result<Vec<VectorValue<'ctx>>, LlvmError> {
        let (length, entries) = (u32::from(length), plan.entries());
        let lanes = plan.permute.register / (plan.element.bytes() * 8);
        if length == lanes && lanes == entries {
            return Ok(vec![table]);
        }
        (0..length.div_ceil(entries))
            .map(|part| self.pick(table, (0..lanes).map(|n| Some((part * entries + n % entries) % length))))
            .collect()
    }

    /// Looks one register of indices up.
    fn part(
        &self,
        plan: LookupPlan,
        registers: &[VectorValue<'ctx>],
        known: &Index<'ctx>,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let (entries, index) = (plan.entries(), known.value);
        let narrow = plan.element.bytes() < plan.index.bytes();
        // The low part of each index is an index of narrower elements; what its other parts find is cut off
        // below.
        let by = match narrow {
            true => self.bits(index, Ty::vector(plan.element, entries as u16))?,
            // Shuffles within parts use the low bits, unless the highest bit says that there is nothing to be
            // found.
            false if plan.permute.in_parts && !known.small => {
                let ty = Ty::vector(plan.index, index.get_type().get_size() as u16);
                let last = as_vector(self.int(ty, i64::from(entries) - 1)?)?;
                self.builder.build_and(index, last, "")?
            }
            false => index,
        };
        let tables_at_a_time = if plan.permute.has_two() { 2 } else { 1 };
        let mut found = Vec::new();
        for tables in registers.chunks(tables_at_a_time) {
            found.push(if plan.in_pairs() {
                self.of_pairs(plan, tables, known)?
            } else {
                let values = self.permute(plan.permute, tables, by)?;
                if narrow { self.bits(values, Ty::vector(plan.index, plan.lanes()))? } else { values }
            });
        }
        let mut bit = u64::from(entries) * registers.len().min(tables_at_a_time) as u64;
        while found.len() > 1 {
            let high = self.has_bit(known, plan.index, bit)?;
            let choose = |pair: &[VectorValue<'ctx>]| match pair {
                [a, b] => as_vector(self.builder.build_select(high, *b, *a, "")?),
                _ => Err(LlvmError::ill_formed("a table's parts are no power of two")),
            };
            found = found.chunks(2).map(choose).collect::<Result<_, _>>()?;
            bit *= 2;
        }
        let found = found.pop().ok_or_else(|| LlvmError::ill_formed("a table without elements"))?;
        if !narrow {
            return Ok(found);
        }
        let low = (1_i64 << (plan.element.bytes() * 8)) - 1;
        let low = as_vector(self.int(Ty::vector(plan.index, plan.lanes()), low)?)?;
        Ok(self.builder.build_and(found, low, "")?)
    }

    /// Bytes of two registers by the shuffle of words that hold two each: once for the even and once for the
    /// odd lanes of the index.
    fn of_pairs(
        &self,
        plan: LookupPlan,
        tables: &[VectorValue<'ctx>],
        known: &Index<'ctx>,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let (bytes, words) =
            (Ty::vector(plan.index, plan.lanes()), Ty::vector(Scalar::I16, plan.lanes() / 2));
        let tables = tables.iter().map(|table| self.bits(*table, words)).collect::<Result<Vec<_>, _>>()?;
        let index = self.bits(known.value, words)?;
        let by = |bits: i64| as_vector(self.int(words, bits)?);
        // The shuffle takes indices modulo the number of elements, so the bits above a byte's place do not
        // matter.
        let pairs = |distance: i64| {
            let number = self.builder.build_right_shift(index, by(distance)?, false, "")?;
            self.permute(plan.permute, &tables, number)
        };
        let (even, odd) = (pairs(1)?, pairs(1 + 8)?);
        let second_of_even = self.builder.build_right_shift(even, by(8)?, false, "")?;
        let first_of_odd = self.builder.build_left_shift(odd, by(8)?, "")?;
        let interleaved = |even: VectorValue<'ctx>, odd: VectorValue<'ctx>| {
            let lanes = u32::from(plan.lanes());
            let numbers = (0..lanes).map(|lane| Some(if lane % 2 == 0 { lane } else { lanes + lane }));
            self.shuffle((self.bits(even, bytes)?, self.bits(odd, bytes)?), numbers)
        };
        let (first, second) = (interleaved(even, first_of_odd)?, interleaved(second_of_even, odd)?);
        let is_second = self.has_bit(known, plan.index, 1)?;
        as_vector(self.builder.build_select(is_second, second, first, "")?)
    }

    /// The bits of a vector as one of another element.
    fn bits(&self, vector: VectorValue<'ctx>, ty: Ty) -> Result<VectorValue<'ctx>, LlvmError> {
        as_vector(self.builder.build_bit_cast(vector, self.vector_type(ty)?, "")?)
    }

    /// Where an index has a bit.
    fn has_bit(&self, index: &Index<'ctx>, scalar: Scalar, bit: u64) -> Result<VectorValue<'ctx>, LlvmError> {
        if let Some(mask) = index.bits.get(bit.ilog2() as usize) {
            return Ok(*mask);
        }
        let index = index.value;
        let ty = Ty::vector(scalar, index.get_type().get_size() as u16);
        let bit = self.builder.build_and(index, as_vector(self.int(ty, bit as i64)?)?, "")?;
        let none = self.vector_type(ty)?.const_zero();
        Ok(self.builder.build_int_compare(IntPredicate::NE, bit, none, "")?)
    }

    /// The first `lanes` lanes of vectors one after the other.
    fn joined(&self, mut parts: Vec<VectorValue<'ctx>>, lanes: u32) -> Result<VectorValue<'ctx>, LlvmError> {
        while parts.len() > 1 {
            let join = |pair: &[VectorValue<'ctx>]| match pair {
                [a, b] => self.shuffle((*a, *b), (0..2 * a.get_type().get_size()).map(Some)),
                [a] => self.pick(*a, (0..2 * a.get_type().get_size()).map(Some)),
                _ => Err(LlvmError::ill_formed("nothing to join")),
            };
            parts = parts.chunks(2).map(join).collect::<Result<_, _>>()?;
        }
        match parts.pop() {
            Some(all) if all.get_type().get_size() == lanes => Ok(all),
            Some(all) => self.pick(all, (0..lanes).map(Some)),
            None => Err(LlvmError::ill_formed("nothing to join")),
        }
    }
}
