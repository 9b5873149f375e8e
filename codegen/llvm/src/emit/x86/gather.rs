//! Gathers without a mask: with a mask of all lanes that stays in a register, or as single loads on
//! processors with slow gathers.

use super::mask::{make_opaque, opaque_mask};
use super::processor::X86;
use crate::emit::annotations::instruction;
use crate::emit::ir::IrBuilder;
use crate::emit::isa::LaneElements;
use crate::emit::memory::Memory;
use crate::emit::operands::OperandReader;
use crate::emit::types;
use crate::emit::vector::as_vector;
use crate::error::LlvmError;
use inkwell::values::{BasicValueEnum, IntValue, VectorValue};
use sched_ir::lir::{Gather, Ty, Value};
use sched_machines::Level;

/// Bytes of the longest register.
const REGISTER_BYTES: u32 = 64;
/// Lanes of the shortest gather that is one instruction.
const MIN_GATHER_LANES: u32 = 4;

impl X86 {
    /// A gather of all lanes on processors with mask registers. LLVM would make a constant mask again for
    /// each gather, by an instruction that waits for the previous value of the mask register. Each gather
    /// would then wait for earlier comparisons. The mask is therefore made once and hidden from LLVM.
    pub(super) fn gather_under_kept_mask<'ctx>(
        &self,
        operands: &mut OperandReader<'_, 'ctx>,
        memory: &Memory<'_, 'ctx>,
        elements: &LaneElements<'_, 'ctx>,
        ty: Ty,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        let (bytes, lanes) = (ty.scalar.bytes(), u32::from(ty.lanes));
        if self.cpu_needs & Level::V4.bit() == 0
            || !matches!(bytes, 4 | 8)
            || lanes < MIN_GATHER_LANES
            || !lanes.is_power_of_two()
        {
            return Ok(None);
        }
        let part = (REGISTER_BYTES / bytes).min(lanes);
        let part_ty = Ty::vector(ty.scalar, part as u16);
        let mask = opaque_mask(operands, part as u16)?;
        let mut gathered = Vec::new();
        for first in (0..lanes).step_by(part as usize) {
            let index = match part == lanes {
                true => elements.index,
                false => operands.ir.shuffle_one(elements.index, (first..first + part).map(Some))?,
            };
            let elements = LaneElements { index, ..*elements };
            gathered.push(as_vector(memory.gather_masked(operands, &elements, mask, part_ty)?)?);
        }
        while gathered.len() > 1 {
            let joined = gathered.chunks(2).map(|pair| match *pair {
                [a, b] => operands.ir.shuffle((a, b), (0..2 * a.get_type().get_size()).map(Some)),
                _ => Err(LlvmError::ill_formed("a gather of a number of registers that is no power of two")),
            });
            gathered = joined.collect::<Result<_, _>>()?;
        }
        Ok(gathered.pop().map(Into::into))
    }

    /// A gather as single loads, one for each lane, if that is no slower.
    pub(super) fn gather_lane_by_lane<'ctx>(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        memory: &Memory<'_, 'ctx>,
        (result, ty): (Value, Ty),
        gather: &Gather,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        // A register holds half as many 64-bit elements, so that gathers of them take twice the time. Lanes
        // that are used one by one need not be collected in a register.
        let each_is_better = ty.scalar.bytes() == 8 || !operands.whole_values.contains(&result);
        if !self.gathers_slowly || !each_is_better || gather.mask.is_some() {
            return Ok(None);
        }
        let (at, start, scale, index) = memory.start_of_gather(operands, gather)?;
        let ir = &operands.ir;
        let (unit, element) =
            (ir.context.i8_type().array_type(scale), types::basic(ir.context, Ty::of(ty.scalar))?);
        let mut elements = ir.vector_type(ty)?.get_poison();
        for (lane, number) in (0u64..).zip(index_lanes(ir, index)?) {
            let lane = ir.context.i32_type().const_int(lane, false);
            // SAFETY: the pointer and the number are values of the builder's module.
            let pointer = unsafe { ir.builder.build_gep(unit, start, &[number], "")? };
            let value = ir.builder.build_load(element, pointer, "")?;
            let load = instruction(value)?;
            load.set_alignment(Memory::alignment(operands, &at, ty.scalar)?)
                .map_err(LlvmError::ill_formed)?;
            memory.describe_scope(operands, &at, load)?;
            elements = ir.builder.build_insert_element(elements, value, lane, "")?;
        }
        Ok(Some(elements.into()))
    }
}

/// The lanes of a vector of integers, extended to the 64 bits of addresses. Lanes of 32 bits are moved out of
/// the vector register in pairs, because only one execution port does such moves. The pair is hidden from
/// LLVM, which would move each lane by itself.
fn index_lanes<'ctx>(
    ir: &IrBuilder<'_, 'ctx>,
    index: VectorValue<'ctx>,
) -> Result<Vec<IntValue<'ctx>>, LlvmError> {
    let (long, half) = (ir.context.i64_type(), ir.context.i32_type());
    let lanes = index.get_type().get_size();
    let lane = |number: u32| half.const_int(number.into(), false);
    if index.get_type().get_element_type() != half.into() || !lanes.is_multiple_of(2) {
        let number = |at| Ok(ir.builder.build_extract_element(index, lane(at), "")?.into_int_value());
        return (0..lanes).map(number).collect();
    }
    let pairs = as_vector(ir.builder.build_bit_cast(index, long.vec_type(lanes / 2), "")?)?;
    let mut numbers = Vec::with_capacity(lanes as usize);
    for at in 0..lanes / 2 {
        let pair = ir.builder.build_extract_element(pairs, lane(at), "")?.into_int_value();
        let pair = make_opaque(ir, pair)?;
        let low = ir.builder.build_int_truncate(pair, half, "")?;
        numbers.push(ir.builder.build_int_s_extend(low, long, "")?);
        numbers.push(ir.builder.build_right_shift(pair, long.const_int(32, false), true, "")?);
    }
    Ok(numbers)
}
