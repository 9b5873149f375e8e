//! Operations: in their machine-specific form if there is one, else in the general form.

use super::function::Emitter;
use super::gather::ElementReader;
use super::types;
use crate::error::LlvmError;
use inkwell::values::BasicValueEnum;
use sched_ir::lir::{GpuAxis, GpuDimension, GpuLevel, Op, Scalar, Ty, Value};

impl<'a, 'ctx> Emitter<'a, 'ctx> {
    /// The result of an operation.
    pub(super) fn op(&mut self, result: Value, op: &Op) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        if let Some(own) = self.isa.emit_own_form(&mut self.operands, &self.memory, result, op)? {
            return Ok(own);
        }
        let ty = self.operands.ty(result)?;
        match op {
            Op::RowCount => self.n_rows(),
            Op::Id(dimension) => self.id(*dimension, ty),
            Op::Load(at, keep) => self.memory.load(&mut self.operands, ty, at, *keep),
            Op::LoadMasked(at, mask) => self.memory.load_masked(&self.operands, ty, at, *mask),
            Op::Gather(gather) => self.element_reader().gather(ty, gather),
            Op::Lookup(table, index) => self.element_reader().lookup(ty, *table, *index),
            Op::Math(math, value) => {
                let argument = (self.operands.value(*value)?, ty);
                self.ir().math(self.device.as_deref(), *math, argument)
            }
            _ => self.emit_pure(ty, op),
        }
    }

    /// The result of an operation that depends on nothing but its operands.
    fn emit_pure(&self, ty: Ty, op: &Op) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (operands, ir) = (&self.operands, self.ir());
        match op {
            Op::Int(n) => ir.int(ty, *n),
            Op::Float(x) => ir.float(ty, *x),
            Op::Bin(bin, a, b) => ir.binary(*bin, ty, (operands.value(*a)?, operands.value(*b)?)),
            Op::Cmp(cmp, a, b) => {
                ir.compare(*cmp, operands.ty(*a)?, (operands.value(*a)?, operands.value(*b)?))
            }
            Op::Select(cond, a, b) => {
                ir.select(operands.value(*cond)?, operands.value(*a)?, operands.value(*b)?)
            }
            Op::Cast(cast, value) => ir.cast(*cast, (operands.value(*value)?, operands.ty(*value)?), ty),
            Op::Splat(scalar) => Ok(ir.broadcast(operands.value(*scalar)?, ty)?.into()),
            Op::Iota => ir.iota(ty),
            Op::Extract(vector, lane) => ir.extract(operands.vector(*vector)?, *lane),
            Op::ExtractHalf(vector, number) => ir.extract_half(operands.vector(*vector)?, *number),
            Op::BitcastNarrow(vector) => {
                let to = types::basic(ir.context, ty)?;
                Ok(ir.builder.build_bit_cast(operands.value(*vector)?, to, "")?)
            }
            Op::Concat(a, b) => ir.concat(ty, operands.value(*a)?, operands.value(*b)?),
            Op::TransposeStep(a, b, size, number) => {
                ir.transpose_step(ty, (operands.vector(*a)?, operands.vector(*b)?), (*size, *number))
            }
            Op::LaneShift(vector, distance) => ir.lane_shift(operands.vector(*vector)?, *distance),
            Op::Any(mask) => ir.any_lane(operands.vector(*mask)?),
            Op::PopCount(bits) => ir.count_ones(operands.value(*bits)?),
            Op::Fma(a, b, c) => ir.fma(operands.value(*a)?, operands.value(*b)?, operands.value(*c)?),
            Op::SquareRoot(x) => ir.square_root(operands.value(*x)?),
            Op::Round(rounding, x) => ir.round(*rounding, operands.value(*x)?),
            Op::MaskBits(mask) => ir.mask_bits(operands.vector(*mask)?),
            Op::RowCount
            | Op::Id(_)
            | Op::Load(..)
            | Op::LoadMasked(..)
            | Op::Gather(_)
            | Op::Lookup(..)
            | Op::Math(..) => Err(LlvmError::ill_formed("an operation needs more than its operands")),
        }
    }

    /// A reader of elements of memory, which prefers machine-specific forms.
    fn element_reader(&mut self) -> ElementReader<'_, 'a, 'ctx> {
        ElementReader { operands: &mut self.operands, memory: &self.memory, isa: &*self.isa }
    }

    /// The number of a thread in its block, or of a block in the whole grid.
    fn id(&self, dimension: GpuDimension, ty: Ty) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let id = self.device()?.id(self.ir(), dimension)?;
        let id = self.add_first_block(dimension, id)?;
        self.ir().resize(id, Ty::of(Scalar::I32), ty)
    }

    /// Adds the number of the launch's first block to a block's number in the launch.
    fn add_first_block(
        &self,
        dimension: GpuDimension,
        id: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let Some([y, z]) = self.first_blocks.filter(|_| dimension.level == GpuLevel::Grid) else {
            return Ok(id);
        };
        let first = match dimension.axis {
            GpuAxis::X => return Ok(id),
            GpuAxis::Y => y,
            GpuAxis::Z => z,
        };
        Ok(self.ir().builder.build_int_add(id.into_int_value(), first, "")?.into())
    }
}
