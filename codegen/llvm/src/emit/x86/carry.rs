//! Additions with carry.
//!
//! A walk over a word of test results computes `2 * node` plus the bit of the word that the node names. A bit
//! test that sets the carry flag and an addition with carry take one instruction and one cycle less than a
//! shift, a mask and a sum.

use crate::emit::earlier::EarlierOps;
use crate::emit::operands::OperandReader;
use crate::error::LlvmError;
use inkwell::values::BasicValueEnum;
use sched_ir::lir::{Bin, Op, Ty, Value};

use BasicValueEnum::{IntValue, StructValue};

/// Earlier arithmetic of 64-bit integers.
pub(super) struct EarlierI64Ops(EarlierOps);

impl Default for EarlierI64Ops {
    fn default() -> EarlierI64Ops {
        EarlierI64Ops(EarlierOps::of(Ty::I64))
    }
}

/// The sum of `2 * doubled` and bit `position mod 64` of `word`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BitAddition {
    doubled: Value,
    word: Value,
    position: Value,
}

impl EarlierI64Ops {
    /// Remembers an operation.
    pub(super) fn note(&mut self, result: (Value, Ty), op: &Op) {
        self.0.note(result, op);
    }

    /// The operands of an operation that adds a bit to a doubled value.
    pub(super) fn bit_added(&self, op: &Op) -> Option<BitAddition> {
        let Op::Bin(Bin::Add, sum, bit) = *op else { return None };
        let (shifted, one) = self.0.operands(Bin::And, bit)?;
        let (word, position) = self.0.operands(Bin::Shr, shifted)?;
        // LIR already has the double of a constant as a constant.
        let doubled = match (self.0.constant(sum), self.0.constant(position)) {
            (Some(sum), Some(half)) => (Some(sum) == half.checked_mul(2)).then_some(position)?,
            _ => self.0.operands(Bin::Add, sum).filter(|(a, b)| a == b)?.0,
        };
        (self.0.constant(one) == Some(1)).then_some(BitAddition { doubled, word, position })
    }
}

impl BitAddition {
    /// Emits the addition with carry.
    pub(super) fn emit<'ctx>(
        self,
        operands: &OperandReader<'_, 'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let BitAddition { doubled, word, position } = self;
        let ir = &operands.ir;
        let (IntValue(word), IntValue(doubled), IntValue(position)) =
            (operands.value(word)?, operands.value(doubled)?, operands.value(position)?)
        else {
            return Err(LlvmError::ill_formed("integers expected"));
        };
        let (long, byte) = (word.get_type(), ir.context.i8_type());
        let position = ir.builder.build_and(position, long.const_int(63, false), "")?;
        let bit = ir.builder.build_right_shift(word, position, false, "")?;
        let bit = ir.builder.build_and(bit, long.const_int(1, false), "")?;
        let carry = ir.builder.build_int_truncate(bit, byte, "")?;
        let arguments = [carry.into(), doubled.into(), doubled.into()];
        let call = ir.intrinsic("llvm.x86.addcarry.64", &[], &arguments)?;
        match call.try_as_basic_value().basic() {
            Some(StructValue(sum)) => Ok(ir.builder.build_extract_value(sum, 1, "")?),
            _ => Err(LlvmError::ill_formed("llvm.x86.addcarry.64 returns no pair")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bit_added_to_a_doubled_value_is_found() {
        let [word, node, other, one, twice, shifted, bit] = [0, 1, 2, 3, 4, 5, 6].map(Value);
        let seen = |twice_of: (Value, Value), mask: Value| {
            let mut sums = EarlierI64Ops::default();
            for (value, op) in [
                (one, Op::Int(1)),
                (twice, Op::Bin(Bin::Add, twice_of.0, twice_of.1)),
                (shifted, Op::Bin(Bin::Shr, word, node)),
                (bit, Op::Bin(Bin::And, shifted, mask)),
            ] {
                sums.note((value, Ty::I64), &op);
            }
            sums
        };
        let add = Op::Bin(Bin::Add, twice, bit);
        let sum = BitAddition { doubled: node, word, position: node };
        assert_eq!(seen((node, node), one).bit_added(&add), Some(sum));
        assert_eq!(seen((node, other), one).bit_added(&add), None);
        assert_eq!(seen((node, node), other).bit_added(&add), None);
        assert_eq!(seen((node, node), one).bit_added(&Op::Bin(Bin::Sub, twice, bit)), None);
        let mut constant = seen((node, node), one);
        constant.note((node, Ty::I64), &Op::Int(5));
        constant.note((twice, Ty::I64), &Op::Int(10));
        assert_eq!(constant.bit_added(&add), Some(sum));
        constant.note((twice, Ty::I64), &Op::Int(11));
        assert_eq!(constant.bit_added(&add), None);
    }
}
