//! Masks as numbers, and values that the optimiser must not see through.

use super::X86;
use crate::emit::function::Emitter;
use crate::emit::types;
use crate::error::LlvmError;
use crate::runtime::CPU_V4;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::values::{BasicValueEnum, IntValue, VectorValue};
use sched_ir::lir::{Scalar, Ty, Value};

impl<'ctx> Emitter<'_, 'ctx> {
    /// A mask as numbers 0 and 1, by a select where masks have registers of their own: the addition that uses
    /// the numbers then takes the mask as its own operand. For a select of the constant 1 LLVM would emit
    /// three instructions instead, so the 1 is hidden from it.
    pub(super) fn counted_mask(
        &mut self,
        x86: &X86,
        mask: Value,
        ty: Ty,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        let is_mask = self.ty(mask)?.scalar == Scalar::I1 && ty.lanes > 1;
        if !is_mask || x86.needs & CPU_V4 == 0 {
            return Ok(None);
        }
        let (mask, ones) = (self.vector(mask)?, self.opaque_ones(ty)?);
        let zeros = self.vector_type(ty)?.const_zero();
        Ok(Some(self.builder.build_select(mask, ones, zeros, "")?))
    }

    /// Ones that the optimiser cannot tell from other numbers, made once for each function.
    fn opaque_ones(&mut self, ty: Ty) -> Result<VectorValue<'ctx>, LlvmError> {
        if let Some(ones) = self.frame.opaque_ones.get(&ty) {
            return Ok(*ones);
        }
        let element = types::int(self.context, ty.scalar)
            .ok_or_else(|| LlvmError::ill_formed(format_args!("a mask as {ty}")))?;
        let word = self.context.i32_type();
        let outside = std::mem::replace(&mut self.builder, self.frame.at_entry(self.context));
        let ones = self.hidden(word.const_int(1, false)).and_then(|one| {
            let one = self.builder.build_int_z_extend_or_bit_cast(one, self.context.i64_type(), "")?;
            let one = self.builder.build_int_truncate_or_bit_cast(one, element, "")?;
            self.broadcast(one.into(), ty)
        });
        self.builder = outside;
        let ones = ones?;
        self.frame.opaque_ones.insert(ty, ones);
        Ok(ones)
    }

    /// An integer whose origin is hidden from the optimiser: assembly without instructions,
    /// whose operand comes and goes in one register, and which has no other effect.
    pub(super) fn hidden(&self, value: IntValue<'ctx>) -> Result<IntValue<'ctx>, LlvmError> {
        let function = value.get_type().fn_type(&[value.get_type().into()], false);
        let (code, constraints) = (String::new(), "=r,0".to_string());
        let hide = self.context.create_inline_asm(function, code, constraints, false, false, None, false);
        let hidden = self.builder.build_indirect_call(function, hide, &[value.into()], "hidden")?;
        // Two with one operand are one: it touches no memory.
        let memory = Attribute::get_named_enum_kind_id("memory");
        hidden.add_attribute(AttributeLoc::Function, self.context.create_enum_attribute(memory, 0));
        match hidden.try_as_basic_value().basic() {
            Some(BasicValueEnum::IntValue(hidden)) => Ok(hidden),
            _ => Err(LlvmError::ill_formed("assembly returns no number")),
        }
    }
}
