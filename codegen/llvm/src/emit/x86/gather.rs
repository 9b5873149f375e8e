//! Gathers: where they are slow, and where a constant mask makes them slow.

use super::X86;
use crate::emit::function::Emitter;
use crate::emit::isa::Elements;
use crate::emit::memory::instruction;
use crate::emit::types;
use crate::emit::vector::as_vector;
use crate::error::LlvmError;
use crate::runtime::CPU_V4;
use inkwell::values::{BasicValueEnum, IntValue, PointerValue, VectorValue};
use sched_ir::lir::{Address, Gather, Ty, Value};

/// Bytes of the longest register.
const REGISTER: u32 = 64;
/// Lanes of the shortest gathers that are one instruction.
const LEAST_LANES: u32 = 4;

impl<'ctx> Emitter<'_, 'ctx> {
    /// A gather of all lanes where masks have registers of their own. A constant mask would be made anew for each gather, by an
    /// instruction that waits for the mask that was made last, whatever it was for: each gather would wait for the comparisons
    /// before it. So the mask is kept, and LLVM does not know what it is.
    pub(super) fn gather_under_kept_mask(
        &mut self,
        x86: &X86,
        elements: &Elements<'_, 'ctx>,
        ty: Ty,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        let (bytes, lanes) = (ty.scalar.bytes(), u32::from(ty.lanes));
        if x86.needs & CPU_V4 == 0
            || !matches!(bytes, 4 | 8)
            || lanes < LEAST_LANES
            || !lanes.is_power_of_two()
        {
            return Ok(None);
        }
        let part = (REGISTER / bytes).min(lanes);
        let part_ty = Ty::vector(ty.scalar, part as u16);
        let mask = self.kept_mask(part as u16)?;
        let mut found = Vec::new();
        for first in (0..lanes).step_by(part as usize) {
            let index = match part == lanes {
                true => elements.index,
                false => self.pick(elements.index, (first..first + part).map(Some))?,
            };
            let elements = Elements { index, ..*elements };
            found.push(as_vector(self.gather_under(&elements, mask, part_ty)?)?);
        }
        while found.len() > 1 {
            let joined = found.chunks(2).map(|pair| match *pair {
                [a, b] => self.shuffle((a, b), (0..2 * a.get_type().get_size()).map(Some)),
                _ => Err(LlvmError::ill_formed("a gather of a number of registers that is no power of two")),
            });
            found = joined.collect::<Result<_, _>>()?;
        }
        Ok(found.pop().map(Into::into))
    }

    /// A mask whose lanes all hold, made once for each function.
    fn kept_mask(&mut self, lanes: u16) -> Result<VectorValue<'ctx>, LlvmError> {
        if let Some(mask) = self.frame.opaque_lanes.get(&lanes) {
            return Ok(*mask);
        }
        let bits = self.context.i32_type().const_all_ones();
        let outside = std::mem::replace(&mut self.builder, self.frame.at_entry(self.context));
        let mask = self.hidden(bits).and_then(|bits| {
            let mask = self.context.bool_type().vec_type(u32::BITS);
            let mask = as_vector(self.builder.build_bit_cast(bits, mask, "")?)?;
            self.pick(mask, (0..lanes.into()).map(Some))
        });
        self.builder = outside;
        let mask = mask?;
        self.frame.opaque_lanes.insert(lanes, mask);
        Ok(mask)
    }

    /// A gather as one load per lane, each an instruction of its own, where that is no slower.
    pub(super) fn gather_lane_by_lane(
        &self,
        x86: &X86,
        (result, ty): (Value, Ty),
        gather: &Gather,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        // A gather of 64-bit elements takes two registers of indices for one of elements, which is twice the
        // time. Lanes that are used one by one need not be put into a register at all.
        let each_is_better = ty.scalar.bytes() == 8 || !self.whole.contains(&result);
        if !x86.gathers_slowly || !each_is_better || gather.mask.is_some() {
            return Ok(None);
        }
        let (at, start, scale, index) = self.gathered(gather)?;
        Ok(Some(self.lane_by_lane((start, scale), index, (ty, &at))?))
    }

    /// One load per lane, each an instruction of its own.
    fn lane_by_lane(
        &self,
        (start, scale): (PointerValue<'ctx>, u32),
        index: VectorValue<'ctx>,
        (ty, at): (Ty, &Address),
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (unit, element) =
            (self.context.i8_type().array_type(scale), types::basic(self.context, Ty::of(ty.scalar))?);
        let mut found = self.vector_type(ty)?.get_poison();
        for (lane, number) in (0u64..).zip(self.numbers(index)?) {
            let lane = self.context.i32_type().const_int(lane, false);
            // SAFETY: the pointer and the number are values of the module that the builder stands in.
            let pointer = unsafe { self.builder.build_gep(unit, start, &[number], "")? };
            let value = self.builder.build_load(element, pointer, "")?;
            let load = instruction(value)?;
            load.set_alignment(self.alignment(at, ty.scalar)?).map_err(LlvmError::ill_formed)?;
            self.describe_scope(at, load)?;
            found = self.builder.build_insert_element(found, value, lane, "")?;
        }
        Ok(found.into())
    }

    /// The lanes of a vector of integers, as wide as addresses. Two of 32 bits are taken out of a register
    /// together: only one unit of a processor does that. LLVM must not know, since it would take out each for
    /// itself.
    fn numbers(&self, index: VectorValue<'ctx>) -> Result<Vec<IntValue<'ctx>>, LlvmError> {
        let (long, half) = (self.context.i64_type(), self.context.i32_type());
        let lanes = index.get_type().get_size();
        let lane = |number: u32| half.const_int(number.into(), false);
        if index.get_type().get_element_type() != half.into() || !lanes.is_multiple_of(2) {
            let number = |at| Ok(self.builder.build_extract_element(index, lane(at), "")?.into_int_value());
            return (0..lanes).map(number).collect();
        }
        let pairs = as_vector(self.builder.build_bit_cast(index, long.vec_type(lanes / 2), "")?)?;
        let mut numbers = Vec::with_capacity(lanes as usize);
        for at in 0..lanes / 2 {
            let pair = self.builder.build_extract_element(pairs, lane(at), "")?.into_int_value();
            let pair = self.hidden(pair)?;
            let low = self.builder.build_int_truncate(pair, half, "")?;
            numbers.push(self.builder.build_int_s_extend(low, long, "")?);
            numbers.push(self.builder.build_right_shift(pair, long.const_int(32, false), true, "")?);
        }
        Ok(numbers)
    }
}
