//! The choice of a form for each operation.

use super::permute::extract_half_of_two_registers;
use super::processor::X86;
use crate::emit::isa::{Isa, LaneElements, OwnForm};
use crate::emit::memory::Memory;
use crate::emit::operands::OperandReader;
use sched_ir::lir::{Cast, Op, Ty, Value};

impl Isa for X86 {
    fn emit_own_form<'ctx>(
        &mut self,
        operands: &mut OperandReader<'_, 'ctx>,
        memory: &Memory<'_, 'ctx>,
        result: Value,
        op: &Op,
    ) -> OwnForm<'ctx> {
        let ty = operands.ty(result)?;
        let own = match op {
            Op::Lookup(table, index) => self.lookup(operands, ty, (*table, *index))?,
            Op::ExtractHalf(vector, number) => {
                extract_half_of_two_registers(&operands.ir, operands.vector(*vector)?, *number)?
            }
            Op::Gather(gather) => self.gather_lane_by_lane(operands, memory, (result, ty), gather)?,
            Op::Cast(Cast::ZExt, mask) => self.mask_as_numbers(operands, *mask, ty)?,
            Op::Bin(..) => match self.sums.bit_added(op) {
                Some(sum) => Some(sum.emit(operands)?),
                None => None,
            },
            _ => None,
        };
        let types = &operands.source.types;
        self.known.note((result, ty), op, |from| types.get(from.0 as usize).copied());
        self.sums.note((result, ty), op);
        Ok(own)
    }

    fn emit_own_gather<'ctx>(
        &self,
        operands: &mut OperandReader<'_, 'ctx>,
        memory: &Memory<'_, 'ctx>,
        elements: &LaneElements<'_, 'ctx>,
        ty: Ty,
    ) -> OwnForm<'ctx> {
        self.gather_under_kept_mask(operands, memory, elements, ty)
    }
}
