//! Loads and stores of vectors: masked ones, and gathers, which load an element for each lane.

use super::annotations::instruction;
use super::intrinsics::vector_of;
use super::isa::{Isa, LaneElements};
use super::memory::Memory;
use super::operands::OperandReader;
use super::vector::as_vector;
use crate::error::LlvmError;
use inkwell::llvm_sys::core::LLVMBuildGEP2;
use inkwell::types::{AsTypeRef, BasicType};
use inkwell::values::{AsValueRef, BasicValueEnum, CallSiteValue, PointerValue, VectorValue};
use sched_ir::lir::{Address, Gather, Scalar, Space, Ty, Value};

/// Bytes by which a gather instruction can scale its index.
const INDEX_SCALES: [u32; 4] = [8, 4, 2, 1];

/// Bytes of the largest table whose offsets fit signed integers of 32 bits.
const MAX_NEAR_TABLE_BYTES: usize = i32::MAX as usize;

impl<'ctx> Memory<'_, 'ctx> {
    /// A load of the active lanes; inactive lanes are zero.
    pub(super) fn load_masked(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        ty: Ty,
        at: &Address,
        mask: Value,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (pointer, mask) = (self.pointer(operands, at, false)?, operands.vector(mask)?);
        let zeros = operands.ir.vector_type(ty)?.const_zero();
        let call =
            operands.ir.masked_load(pointer, Memory::alignment(operands, at, ty.scalar)?, mask, zeros)?;
        self.describe_call(operands, at, call)?;
        Ok(vector_of(call)?.into())
    }

    /// A store of the active lanes.
    pub(super) fn store_masked(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        to: &Address,
        (value, mask): (Value, Value),
    ) -> Result<(), LlvmError> {
        let ty = operands.ty(value)?;
        Memory::check_writable(operands, to)?;
        let pointer = self.pointer(operands, to, false)?;
        let (value, mask) = (operands.vector(value)?, operands.vector(mask)?);
        let call =
            operands.ir.masked_store(value, pointer, Memory::alignment(operands, to, ty.scalar)?, mask)?;
        self.describe_call(operands, to, call)
    }

    /// Elements of the active lanes; inactive lanes are zero, so that no gather waits for the old value of
    /// its register.
    pub(super) fn gather_masked(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        elements: &LaneElements<'_, 'ctx>,
        mask: VectorValue<'ctx>,
        ty: Ty,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let pointers = pointers(operands, elements.start, elements.scale, elements.index)?;
        let zeros = operands.ir.vector_type(ty)?.const_zero();
        let call = operands.ir.masked_gather(pointers, elements.alignment, mask, zeros)?;
        if let Some(at) = elements.at {
            self.describe_call(operands, at, call)?;
        }
        Ok(vector_of(call)?.into())
    }

    /// The start of a gather, as an address of LIR and as a pointer of LLVM; then the unit of its index in
    /// bytes, and the index in units.
    pub(super) fn start_of_gather(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        gather: &Gather,
    ) -> Result<(Address, PointerValue<'ctx>, u32, VectorValue<'ctx>), LlvmError> {
        let Gather { buffer, base, stride, offset, .. } = *gather;
        let at = Address { buffer, index: base, stride, offset };
        // The start may be outside the buffer: LIR guarantees only that the sum of base and index is inside.
        let start = self.pointer(operands, &at, false)?;
        let (scale, index) = self.scale_index(operands, gather)?;
        Ok((at, start, scale, index))
    }

    /// The bytes of a unit by which one instruction can scale an index, and a gather's index in such units.
    fn scale_index(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        gather: &Gather,
    ) -> Result<(u32, VectorValue<'ctx>), LlvmError> {
        let ir = &operands.ir;
        let index = operands.vector(gather.index)?;
        let scale = INDEX_SCALES.into_iter().find(|scale| gather.stride.is_multiple_of(*scale)).unwrap_or(1);
        let factor = gather.stride / scale;
        if factor == 1 {
            return Ok((scale, index));
        }
        let lanes = index.get_type().get_size() as u16;
        // In a small table, offsets from the start fit into 32 bits. Offsets of inactive lanes need not fit.
        let near = self.has_32_bit_offsets(operands, gather);
        let ty = Ty::vector(if near { Scalar::I32 } else { Scalar::I64 }, lanes);
        let wide = ir.vector_type(ty)?;
        let index = if near { index } else { ir.builder.build_int_s_extend(index, wide, "")? };
        let factor = as_vector(ir.int(ty, factor.into())?)?;
        Ok((scale, ir.builder.build_int_mul(index, factor, "")?))
    }

    /// Whether a gather's offsets fit signed integers of 32 bits.
    fn has_32_bit_offsets(&self, operands: &OperandReader, gather: &Gather) -> bool {
        let base = operands.frame.value(gather.base);
        let from_start = matches!(base, Ok(BasicValueEnum::IntValue(base)) if base.is_null());
        let table = match operands.source.buffers.get(gather.buffer.0 as usize).map(|buffer| buffer.space) {
            Some(Space::ModelTable(n)) => self.tables.get(n as usize),
            _ => None,
        };
        from_start && table.is_some_and(|table| table.bytes.len() <= MAX_NEAR_TABLE_BYTES)
    }

    /// Declares which memory a call accesses.
    fn describe_call(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        at: &Address,
        call: CallSiteValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let call = call.try_as_basic_value();
        let access = match call.basic() {
            Some(value) => instruction(value)?,
            None => call.instruction().ok_or_else(|| LlvmError::ill_formed("a call is no instruction"))?,
        };
        self.describe_scope(operands, at, access)
    }
}

/// Pointers to elements of `scale` bytes. Gather instructions take one scalar start and a scaled index.
fn pointers<'ctx>(
    operands: &OperandReader<'_, 'ctx>,
    start: PointerValue<'ctx>,
    scale: u32,
    index: VectorValue<'ctx>,
) -> Result<VectorValue<'ctx>, LlvmError> {
    let element = operands.ir.context.i8_type().array_type(scale).as_basic_type_enum();
    // SAFETY: the builder is positioned in a block, and the pointer and the index are values of its module. A
    // scalar pointer and a vector of indices make a vector of pointers.
    let pointers = unsafe {
        let mut indices = [index.as_value_ref()];
        let (builder, element) = (operands.ir.builder.as_mut_ptr(), element.as_type_ref());
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

/// Reads elements of memory by lane, in the machine-specific form if there is one.
pub(super) struct ElementReader<'s, 'a, 'ctx> {
    pub(super) operands: &'s mut OperandReader<'a, 'ctx>,
    pub(super) memory: &'s Memory<'a, 'ctx>,
    pub(super) isa: &'s dyn Isa,
}

impl<'ctx> ElementReader<'_, '_, 'ctx> {
    /// An element of a buffer for each lane.
    pub(super) fn gather(&mut self, ty: Ty, gather: &Gather) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (at, start, scale, index) = self.memory.start_of_gather(self.operands, gather)?;
        let alignment = Memory::alignment(self.operands, &at, ty.scalar)?;
        let elements = LaneElements { start, scale, index, alignment, at: Some(&at) };
        match gather.mask {
            Some(mask) => {
                self.memory.gather_masked(self.operands, &elements, self.operands.vector(mask)?, ty)
            }
            None => self.gather_all_lanes(&elements, ty),
        }
    }

    /// Elements of an array in memory, by number, for all lanes.
    pub(super) fn elements(
        &mut self,
        (start, scale): (PointerValue<'ctx>, u32),
        index: VectorValue<'ctx>,
        ty: Ty,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        self.gather_all_lanes(&LaneElements { start, scale, index, alignment: scale, at: None }, ty)
    }

    /// Elements for all lanes.
    fn gather_all_lanes(
        &mut self,
        elements: &LaneElements<'_, 'ctx>,
        ty: Ty,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        match self.isa.emit_own_gather(self.operands, self.memory, elements, ty)? {
            Some(own) => Ok(own),
            None => {
                let mask = self.operands.ir.all_active_mask(ty.lanes);
                self.memory.gather_masked(self.operands, elements, mask, ty)
            }
        }
    }
}
