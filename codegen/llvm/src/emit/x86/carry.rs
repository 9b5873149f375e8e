//! Additions with carry.
//!
//! A walk over a word of test outcomes takes `2 * node` and the bit of the word that the node names. A test
//! that leaves the bit in the carry and an addition with it take one instruction and one cycle less than what
//! becomes of a shift, a mask and a sum.

use crate::emit::function::Emitter;
use crate::error::LlvmError;
use inkwell::values::BasicValueEnum;
use sched_ir::lir::{Bin, Op, Ty, Value};
use std::collections::HashMap;

use BasicValueEnum::{IntValue, StructValue};

/// Arithmetic of 64-bit integers that has been seen, by its result.
#[derive(Default)]
pub(super) struct Sums {
    seen: HashMap<Value, Op>,
}

/// `2 * doubled` and bit `place mod 64` of `word`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BitAdded {
    doubled: Value,
    word: Value,
    place: Value,
}

impl Sums {
    /// Remembers an operation.
    pub(super) fn note(&mut self, (value, ty): (Value, Ty), op: &Op) {
        if ty == Ty::I64 && matches!(op, Op::Bin(Bin::Add | Bin::And | Bin::Shr, ..) | Op::Int(_)) {
            self.seen.insert(value, op.clone());
        }
    }

    /// What an operation is, if it adds a bit to a doubled value.
    pub(super) fn bit_added(&self, op: &Op) -> Option<BitAdded> {
        let Op::Bin(Bin::Add, sum, bit) = *op else { return None };
        let (shifted, one) = self.operands(Bin::And, bit)?;
        let (word, place) = self.operands(Bin::Shr, shifted)?;
        // Of a constant, the sum is one, too.
        let doubled = match (self.constant(sum), self.constant(place)) {
            (Some(sum), Some(half)) => (Some(sum) == half.checked_mul(2)).then_some(place)?,
            _ => self.operands(Bin::Add, sum).filter(|(a, b)| a == b)?.0,
        };
        (self.constant(one) == Some(1)).then_some(BitAdded { doubled, word, place })
    }

    fn constant(&self, value: Value) -> Option<i64> {
        match self.seen.get(&value) {
            Some(Op::Int(n)) => Some(*n),
            _ => None,
        }
    }

    fn operands(&self, bin: Bin, value: Value) -> Option<(Value, Value)> {
        match self.seen.get(&value) {
            Some(Op::Bin(op, a, b)) if *op == bin => Some((*a, *b)),
            _ => None,
        }
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// A doubled value and a bit.
    pub(super) fn add_with_carry(&self, sum: BitAdded) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let BitAdded { doubled, word, place } = sum;
        let (IntValue(word), IntValue(doubled), IntValue(place)) =
            (self.frame.value(word)?, self.frame.value(doubled)?, self.frame.value(place)?)
        else {
            return Err(LlvmError::ill_formed("integers expected"));
        };
        let (long, byte) = (word.get_type(), self.context.i8_type());
        let place = self.builder.build_and(place, long.const_int(63, false), "")?;
        let bit = self.builder.build_right_shift(word, place, false, "")?;
        let bit = self.builder.build_and(bit, long.const_int(1, false), "")?;
        let carry = self.builder.build_int_truncate(bit, byte, "")?;
        let arguments = [carry.into(), doubled.into(), doubled.into()];
        let call = self.intrinsic("llvm.x86.addcarry.64", &[], &arguments)?;
        match call.try_as_basic_value().basic() {
            Some(StructValue(sum)) => Ok(self.builder.build_extract_value(sum, 1, "")?),
            _ => Err(LlvmError::ill_formed("llvm.x86.addcarry.64 returns no pair")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bit_added_to_a_doubled_value_is_one() {
        let [word, node, other, one, twice, shifted, bit] = [0, 1, 2, 3, 4, 5, 6].map(Value);
        let seen = |twice_of: (Value, Value), mask: Value| {
            let mut sums = Sums::default();
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
        let found = BitAdded { doubled: node, word, place: node };
        assert_eq!(seen((node, node), one).bit_added(&add), Some(found));
        assert_eq!(seen((node, other), one).bit_added(&add), None);
        assert_eq!(seen((node, node), other).bit_added(&add), None);
        assert_eq!(seen((node, node), one).bit_added(&Op::Bin(Bin::Sub, twice, bit)), None);
        let mut constant = seen((node, node), one);
        constant.note((node, Ty::I64), &Op::Int(5));
        constant.note((twice, Ty::I64), &Op::Int(10));
        assert_eq!(constant.bit_added(&add), Some(found));
        constant.note((twice, Ty::I64), &Op::Int(11));
        assert_eq!(constant.bit_added(&add), None);
        let mut narrow = Sums::default();
        narrow.note((twice, Ty::of(sched_ir::lir::Scalar::I32)), &Op::Bin(Bin::Add, node, node));
        assert!(narrow.seen.is_empty());
    }
}
