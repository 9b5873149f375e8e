//! Gathers, and masked loads and stores.

use super::function::Emitter;
use super::intrinsics::returned;
use super::isa::{Elements, Portable};
use super::vector::as_vector;
use crate::error::LlvmError;
use inkwell::llvm_sys::core::LLVMBuildGEP2;
use inkwell::types::{AsTypeRef, BasicType};
use inkwell::values::{AsValueRef, BasicValueEnum, CallSiteValue, PointerValue, VectorValue};
use sched_ir::lir::{Address, Gather, Scalar, Space, Ty, Value};

/// Distances between elements that a gather instruction can scale its index by, in bytes.
const SCALES: [u32; 4] = [8, 4, 2, 1];

/// Tables up to this size have element offsets that fit into 32 bits with a sign.
const NEAR_BYTES: usize = i32::MAX as usize;

impl<'ctx> Emitter<'_, 'ctx> {
    /// A load of the active lanes; the others are zero.
    pub(super) fn load_masked(
        &mut self,
        ty: Ty,
        at: &Address,
        mask: Value,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (pointer, mask) = (self.pointer(at, false)?, self.vector(mask)?);
        let zeros = self.vector_type(ty)?.const_zero();
        let call = self.masked_load(pointer, self.alignment(at, ty.scalar)?, mask, zeros)?;
        self.describe_call(at, call)?;
        Ok(returned(call)?.into())
    }

    /// A store of the active lanes.
    pub(super) fn store_masked(&mut self, to: &Address, value: Value, mask: Value) -> Result<(), LlvmError> {
        let ty = self.ty(value)?;
        self.check_writable(to)?;
        let (pointer, value, mask) = (self.pointer(to, false)?, self.vector(value)?, self.vector(mask)?);
        let call = self.masked_store(value, pointer, self.alignment(to, ty.scalar)?, mask)?;
        self.describe_call(to, call)
    }

    /// One load per lane.
    pub(super) fn gather(&mut self, ty: Ty, gather: &Gather) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (at, start, scale, index) = self.gathered(gather)?;
        let alignment = self.alignment(&at, ty.scalar)?;
        let elements = Elements { start, scale, index, alignment, at: Some(&at) };
        match gather.mask {
            Some(mask) => self.gather_under(&elements, self.vector(mask)?, ty),
            None => self.gather_all(&elements, ty),
        }
    }

    /// Elements of all lanes.
    fn gather_all(
        &mut self,
        elements: &Elements<'_, 'ctx>,
        ty: Ty,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let isa = std::mem::replace(&mut self.isa, Box::new(Portable));
        let own = isa.gather(self, elements, ty);
        self.isa = isa;
        match own? {
            Some(own) => Ok(own),
            None => self.gather_under(elements, self.all_lanes(ty.lanes), ty),
        }
    }

    /// Elements of the lanes of a mask, and zeros: no gather waits for what its register held before.
    pub(super) fn gather_under(
        &self,
        elements: &Elements<'_, 'ctx>,
        mask: VectorValue<'ctx>,
        ty: Ty,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let pointers = self.pointers(elements.start, elements.scale, elements.index)?;
        let zeros = self.vector_type(ty)?.const_zero();
        let call = self.masked_gather(pointers, elements.alignment, mask, zeros)?;
        if let Some(at) = elements.at {
            self.describe_call(at, call)?;
        }
        Ok(returned(call)?.into())
    }

    /// Where a gather starts, the size of its unit in bytes, and its index in units.
    pub(super) fn gathered(
        &self,
        gather: &Gather,
    ) -> Result<(Address, PointerValue<'ctx>, u32, VectorValue<'ctx>), LlvmError> {
        let Gather { buffer, base, stride, offset, .. } = *gather;
        let at = Address { buffer, index: base, stride, offset };
        // Only the sum of base and index need be in the buffer.
        let start = self.pointer(&at, false)?;
        let (scale, index) = self.scaled(gather)?;
        Ok((at, start, scale, index))
    }

    /// Elements of an array in memory, by number.
    pub(super) fn gather_elements(
        &mut self,
        (start, scale): (PointerValue<'ctx>, u32),
        index: VectorValue<'ctx>,
        ty: Ty,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        self.gather_all(&Elements { start, scale, index, alignment: scale, at: None }, ty)
    }

    /// A gather's index in units that one instruction can scale, and the unit's size in bytes.
    fn scaled(&self, gather: &Gather) -> Result<(u32, VectorValue<'ctx>), LlvmError> {
        let index = self.vector(gather.index)?;
        let scale = SCALES.into_iter().find(|scale| gather.stride.is_multiple_of(*scale)).unwrap_or(1);
        let factor = gather.stride / scale;
        if factor == 1 {
            return Ok((scale, index));
        }
        let lanes = index.get_type().get_size() as u16;
        // Offsets in a table from its start fit into 32 bits if the table is small. Those of inactive lanes
        // need not.
        let near = self.is_near(gather);
        let ty = Ty::vector(if near { Scalar::I32 } else { Scalar::I64 }, lanes);
        let wide = self.vector_type(ty)?;
        let index = if near { index } else { self.builder.build_int_s_extend(index, wide, "")? };
        let factor = as_vector(self.int(ty, factor.into())?)?;
        Ok((scale, self.builder.build_int_mul(index, factor, "")?))
    }

    fn is_near(&self, gather: &Gather) -> bool {
        let base = self.frame.value(gather.base);
        let from_start = matches!(base, Ok(BasicValueEnum::IntValue(base)) if base.is_null());
        let table = match self.source.buffers.get(gather.buffer.0 as usize).map(|buffer| buffer.space) {
            Some(Space::Model(n)) => self.model.tables.get(n as usize),
            _ => None,
        };
        from_start && table.is_some_and(|table| table.bytes.len() <= NEAR_BYTES)
    }

    /// Pointers to elements of `scale` bytes. One scalar start and a scaled index are what gather
    /// instructions take.
    fn pointers(
        &self,
        start: PointerValue<'ctx>,
        scale: u32,
        index: VectorValue<'ctx>,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let element = self.context.i8_type().array_type(scale).as_basic_type_enum();
        // SAFETY: the builder stands in a block, and the pointer and the index are values of its module. A
        // scalar pointer and a vector of indices make a vector of pointers.
        let pointers = unsafe {
            let mut indices = [index.as_value_ref()];
            let (builder, element) = (self.builder.as_mut_ptr(), element.as_type_ref());
            VectorValue::new(LLVMBuildGEP2(
                builder,
                element,
                start.as_value_ref(),
                indices.as_mut_ptr(),
                1,
                c"".as_ptr(),
            ))
        };
        Ok(pointers)
    }

    /// What is known of a call that accesses a buffer.
    fn describe_call(&self, at: &Address, call: CallSiteValue<'ctx>) -> Result<(), LlvmError> {
        let call = call.try_as_basic_value();
        let instruction = match call.basic() {
            Some(value) => super::memory::instruction(value)?,
            None => call.instruction().ok_or_else(|| LlvmError::ill_formed("a call is no instruction"))?,
        };
        self.describe_scope(at, instruction)
    }
}
