//! Vectors: lanes, masks, and shuffles whose indices are constants.

use super::ir::IrBuilder;
use super::types;
use crate::error::LlvmError;
use inkwell::IntPredicate;
use inkwell::types::{BasicTypeEnum, VectorType};
use inkwell::values::{BasicValueEnum, IntValue, VectorValue};
use sched_ir::lir::{Scalar, Ty};
use std::num::NonZeroU32;

impl<'ctx> IrBuilder<'_, 'ctx> {
    /// LLVM's type for a vector.
    pub(super) fn vector_type(&self, ty: Ty) -> Result<VectorType<'ctx>, LlvmError> {
        match types::basic(self.context, ty)? {
            BasicTypeEnum::VectorType(vector) => Ok(vector),
            _ => Err(LlvmError::ill_formed(format_args!("{ty} is no vector"))),
        }
    }

    /// A mask of `lanes` lanes, all active.
    pub(super) fn all_active_mask(&self, lanes: u16) -> VectorValue<'ctx> {
        VectorType::const_vector(&vec![self.context.bool_type().const_all_ones(); lanes.into()])
    }

    /// A vector of elements of `a` and `b` by their indices; those of `b` follow those of `a`. `None` stands
    /// for any value.
    pub(super) fn shuffle(
        &self,
        (a, b): (VectorValue<'ctx>, VectorValue<'ctx>),
        indices: impl Iterator<Item = Option<u32>>,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let i32 = self.context.i32_type();
        let index = |n: Option<u32>| n.map_or(i32.get_undef(), |n| i32.const_int(n.into(), false));
        let indices: Vec<_> = indices.map(index).collect();
        Ok(self.builder.build_shuffle_vector(a, b, VectorType::const_vector(&indices), "")?)
    }

    /// A vector of elements of `from` by their indices. `None` stands for any value.
    pub(super) fn shuffle_one(
        &self,
        from: VectorValue<'ctx>,
        indices: impl Iterator<Item = Option<u32>>,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        self.shuffle((from, from.get_type().get_poison()), indices)
    }

    /// A scalar in every lane of a vector.
    pub(super) fn broadcast(
        &self,
        scalar: BasicValueEnum<'ctx>,
        ty: Ty,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let first = self.context.i32_type().const_zero();
        let nothing = self.vector_type(ty)?.get_poison();
        let one = self.builder.build_insert_element(nothing, scalar, first, "")?;
        self.shuffle_one(one, (0..ty.lanes).map(|_| Some(0)))
    }

    /// The vector 0, 1, 2 and so on.
    pub(super) fn iota(&self, ty: Ty) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let element = types::int(self.context, ty.scalar)
            .ok_or_else(|| LlvmError::ill_formed(format_args!("lane numbers of {ty}")))?;
        let numbers: Vec<_> = (0..ty.lanes).map(|lane| element.const_int(lane.into(), false)).collect();
        Ok(VectorType::const_vector(&numbers).into())
    }

    /// One lane.
    pub(super) fn extract(
        &self,
        vector: VectorValue<'ctx>,
        lane: u16,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let lane = self.context.i32_type().const_int(lane.into(), false);
        Ok(self.builder.build_extract_element(vector, lane, "")?)
    }

    /// The low half (0) or the high half (1) of each lane of 64 bits.
    pub(super) fn extract_half(
        &self,
        vector: VectorValue<'ctx>,
        number: u16,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let lanes = vector.get_type().get_size();
        let every_other = (0..lanes).map(|lane| Some(2 * lane + u32::from(number)));
        Ok(self.shuffle_one(self.as_half_lanes(vector)?, every_other)?.into())
    }

    /// Lanes of 64 bits as lanes of 32 bits, two for each.
    pub(super) fn as_half_lanes(&self, vector: VectorValue<'ctx>) -> Result<VectorValue<'ctx>, LlvmError> {
        let lanes = vector.get_type().get_size() as u16 * 2;
        let halves = self.vector_type(Ty { lanes, scalar: Scalar::I32 })?;
        as_vector(self.builder.build_bit_cast(vector, halves, "")?)
    }

    /// The lanes of two scalars or vectors one after the other.
    pub(super) fn concat(
        &self,
        ty: Ty,
        a: BasicValueEnum<'ctx>,
        b: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        if ty.lanes > 2 {
            let pair = (as_vector(a)?, as_vector(b)?);
            return Ok(self.shuffle(pair, (0..ty.lanes.into()).map(Some))?.into());
        }
        let mut both = self.vector_type(ty)?.get_poison();
        for (lane, value) in [a, b].into_iter().enumerate() {
            let lane = self.context.i32_type().const_int(lane as u64, false);
            both = self.builder.build_insert_element(both, value, lane, "")?;
        }
        Ok(both.into())
    }

    /// The even (number 0) or the odd (1) blocks of `size` lanes of two vectors, interleaved.
    pub(super) fn transpose_step(
        &self,
        ty: Ty,
        pair: (VectorValue<'ctx>, VectorValue<'ctx>),
        (size, number): (u16, u16),
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (lanes, size, number) = (u32::from(ty.lanes), u32::from(size), u32::from(number));
        // The numbers of the second vector's lanes follow those of the first.
        let from = |lane: u32| if lane & size == 0 { lane } else { lanes + lane - size };
        Ok(self.shuffle(pair, (0..lanes).map(|lane| Some(from(lane) + number * size)))?.into())
    }

    /// Lanes shifted down, with zeros above them.
    pub(super) fn lane_shift(
        &self,
        vector: VectorValue<'ctx>,
        distance: u16,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let zeros = vector.get_type().const_zero();
        let lanes = vector.get_type().get_size();
        let from = (0..lanes).map(|lane| Some(lane + u32::from(distance)));
        Ok(self.shuffle((vector, zeros), from)?.into())
    }

    /// Whether any lane of a mask holds.
    pub(super) fn any_lane(&self, mask: VectorValue<'ctx>) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let mask = self.pack_mask(mask)?;
        let none = mask.get_type().const_zero();
        Ok(self.builder.build_int_compare(IntPredicate::NE, mask, none, "")?.into())
    }

    /// The lanes of a mask as the low bits of an integer of 64 bits.
    pub(super) fn mask_bits(&self, mask: VectorValue<'ctx>) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let mask = self.pack_mask(mask)?;
        let wide = self.context.i64_type();
        if mask.get_type() == wide {
            return Ok(mask.into());
        }
        Ok(self.builder.build_int_z_extend(mask, wide, "")?.into())
    }

    /// The lanes of a mask as an integer with one bit for each.
    fn pack_mask(&self, mask: VectorValue<'ctx>) -> Result<IntValue<'ctx>, LlvmError> {
        let bits = NonZeroU32::new(mask.get_type().get_size());
        let bits = bits.and_then(|bits| self.context.custom_width_int_type(bits).ok());
        let bits = bits.ok_or_else(|| LlvmError::ill_formed("a mask of no lanes"))?;
        match self.builder.build_bit_cast(mask, bits, "")? {
            BasicValueEnum::IntValue(mask) => Ok(mask),
            _ => Err(LlvmError::ill_formed("a mask has no bits")),
        }
    }
}

/// A value that must be a vector.
pub(super) fn as_vector(value: BasicValueEnum) -> Result<VectorValue, LlvmError> {
    match value {
        BasicValueEnum::VectorValue(vector) => Ok(vector),
        _ => Err(LlvmError::ill_formed("a vector is expected")),
    }
}
