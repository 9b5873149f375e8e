//! Masks as numbers, and values whose origin is hidden from the optimiser.

use super::processor::X86;
use crate::emit::ir::IrBuilder;
use crate::emit::operands::OperandReader;
use crate::emit::types;
use crate::emit::vector::as_vector;
use crate::error::LlvmError;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::values::{BasicValueEnum, IntValue, VectorValue};
use sched_ir::lir::{Scalar, Ty, Value};
use sched_machines::Level;

impl X86 {
    /// A mask as numbers 0 and 1, by a select on processors with mask registers. LLVM then folds the select
    /// into the addition that uses the numbers, which takes the mask as an operand. For a select of the
    /// constant 1, LLVM would emit three instructions instead, so the 1 is hidden from it.
    pub(super) fn mask_as_numbers<'ctx>(
        &self,
        operands: &mut OperandReader<'_, 'ctx>,
        mask: Value,
        ty: Ty,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        let is_mask = operands.ty(mask)?.scalar == Scalar::I1 && ty.lanes > 1;
        if !is_mask || self.cpu_needs & Level::V4.bit() == 0 {
            return Ok(None);
        }
        let (mask, ones) = (operands.vector(mask)?, opaque_ones(operands, ty)?);
        let zeros = operands.ir.vector_type(ty)?.const_zero();
        Ok(Some(operands.ir.builder.build_select(mask, ones, zeros, "")?))
    }
}

/// A vector of ones whose value is hidden from the optimiser, made once for each function.
fn opaque_ones<'ctx>(operands: &mut OperandReader<'_, 'ctx>, ty: Ty) -> Result<VectorValue<'ctx>, LlvmError> {
    if let Some(ones) = operands.frame.opaque_ones.get(&ty) {
        return Ok(*ones);
    }
    let entry = operands.entry_builder();
    let element = types::int(entry.context, ty.scalar)
        .ok_or_else(|| LlvmError::ill_formed(format_args!("a mask as {ty}")))?;
    let one = make_opaque(&entry, entry.context.i32_type().const_int(1, false))?;
    let one = entry.builder.build_int_z_extend_or_bit_cast(one, entry.context.i64_type(), "")?;
    let one = entry.builder.build_int_truncate_or_bit_cast(one, element, "")?;
    let ones = entry.broadcast(one.into(), ty)?;
    operands.frame.opaque_ones.insert(ty, ones);
    Ok(ones)
}

/// A mask with all lanes active whose value is hidden from the optimiser, made once for each function.
pub(super) fn opaque_mask<'ctx>(
    operands: &mut OperandReader<'_, 'ctx>,
    lanes: u16,
) -> Result<VectorValue<'ctx>, LlvmError> {
    if let Some(mask) = operands.frame.opaque_masks.get(&lanes) {
        return Ok(*mask);
    }
    let entry = operands.entry_builder();
    let bits = make_opaque(&entry, entry.context.i32_type().const_all_ones())?;
    let mask = entry.context.bool_type().vec_type(u32::BITS);
    let mask = as_vector(entry.builder.build_bit_cast(bits, mask, "")?)?;
    let mask = entry.shuffle_one(mask, (0..lanes.into()).map(Some))?;
    operands.frame.opaque_masks.insert(lanes, mask);
    Ok(mask)
}

/// An integer whose origin is hidden from the optimiser: assembly without instructions, whose operand stays
/// in its register, and which has no other effect.
pub(super) fn make_opaque<'ctx>(
    ir: &IrBuilder<'_, 'ctx>,
    value: IntValue<'ctx>,
) -> Result<IntValue<'ctx>, LlvmError> {
    let function = value.get_type().fn_type(&[value.get_type().into()], false);
    let (code, constraints) = (String::new(), "=r,0".to_string());
    let hide = ir.context.create_inline_asm(function, code, constraints, false, false, None, false);
    let hidden = ir.builder.build_indirect_call(function, hide, &[value.into()], "hidden")?;
    // The function touches no memory, so LLVM may merge two calls with one operand.
    let memory = Attribute::get_named_enum_kind_id("memory");
    hidden.add_attribute(AttributeLoc::Function, ir.context.create_enum_attribute(memory, 0));
    match hidden.try_as_basic_value().basic() {
        Some(BasicValueEnum::IntValue(hidden)) => Ok(hidden),
        _ => Err(LlvmError::ill_formed("assembly returns no number")),
    }
}
