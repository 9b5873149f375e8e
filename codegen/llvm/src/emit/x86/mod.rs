//! The forms that x86 has of its own for operations of LIR.
//!
//! Short tables are looked up by shuffles of registers (`lookup.rs`, `permute.rs`), halves of lanes are taken
//! out of two registers at once, a test of a bit and a sum become an addition with carry (`carry.rs`), masks
//! become numbers by a choice (`mask.rs`), and gathers wait for no mask, or are single loads where they are slow (`gather.rs`).

mod carry;
mod gather;
mod known_bits;
mod lookup;
mod mask;
mod permute;

use super::function::Emitter;
use super::isa::{Elements, Isa};
use crate::error::LlvmError;
use carry::Sums;
use inkwell::values::BasicValueEnum;
use known_bits::KnownBits;
use sched_ir::lir::{Cast, Op, Ty, Value};

/// An x86 processor, and what has been seen of a kernel.
pub(super) struct X86 {
    /// `CPU_*` bits of the runtime: the instruction sets that code may use.
    needs: u64,
    /// Whether gathers wait for each other, so that loading lane by lane is no slower.
    gathers_slowly: bool,
    known: KnownBits,
    sums: Sums,
}

impl X86 {
    /// A processor with these instruction sets.
    pub(super) fn new(needs: u64, gathers_slowly: bool) -> X86 {
        X86 { needs, gathers_slowly, known: KnownBits::default(), sums: Sums::default() }
    }
}

impl Isa for X86 {
    fn operation<'ctx>(
        &mut self,
        emitter: &mut Emitter<'_, 'ctx>,
        result: Value,
        op: &Op,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        let ty = emitter.ty(result)?;
        let own = match op {
            Op::Lookup(table, index) => emitter.lookup_in_registers(self, ty, (*table, *index))?,
            Op::ExtractHalf(vector, number) => emitter.half_of_two(*vector, *number)?,
            Op::Gather(gather) => emitter.gather_lane_by_lane(self, (result, ty), gather)?,
            Op::Cast(Cast::ZExt, mask) => emitter.counted_mask(self, *mask, ty)?,
            Op::Bin(..) => match self.sums.bit_added(op) {
                Some(bit) => Some(emitter.add_with_carry(bit)?),
                None => None,
            },
            _ => None,
        };
        let types = &emitter.source.types;
        self.known.note((result, ty), op, |from| types.get(from.0 as usize).copied());
        self.sums.note((result, ty), op);
        Ok(own)
    }

    fn gather<'ctx>(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        elements: &Elements<'_, 'ctx>,
        ty: Ty,
    ) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
        emitter.gather_under_kept_mask(self, elements, ty)
    }
}
