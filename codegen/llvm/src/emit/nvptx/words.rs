//! Operations on words for which NVIDIA's GPUs have one instruction, and which LLVM would take for comparisons and shifts.
//!
//! The sign of a difference, added to a doubled number, is a funnel shift: it moves the highest bit of one word into the
//! lowest of another. A byte of a word is a permutation of bytes.

use crate::emit::function::Emitter;
use crate::error::LlvmError;
use inkwell::values::BasicValueEnum;
use sched_ir::lir::{Bin, Op, Scalar, Ty, Value};
use std::collections::HashMap;

/// The type of a word.
const WORD: Ty = Ty::of(Scalar::I32);
/// Selects a byte that is zero, for the three highest bytes of a word.
const ZEROS: u32 = 0x4440;
/// Multiplied by a byte's number, selects it four times.
const EACH: u32 = 0x1111;

/// Arithmetic of words that has been seen, by its result.
#[derive(Default)]
pub(super) struct Words {
    seen: HashMap<Value, Op>,
}

/// What one instruction does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// `2 * doubled` and the highest bit of `word`.
    SignAdded {
        /// A number, or half of a constant.
        doubled: Doubled,
        /// Whose highest bit is added.
        word: Value,
    },
    /// A byte of a word, with zeros above it.
    Byte(ByteOf),
    /// A byte of a word, four times.
    Splat(ByteOf),
}

/// A byte of a word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ByteOf {
    word: Value,
    /// The lowest byte is number 0.
    number: u32,
}

/// What is doubled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Doubled {
    Value(Value),
    Constant(i64),
}

impl Words {
    /// Remembers an operation.
    pub(super) fn note(&mut self, (value, ty): (Value, Ty), op: &Op) {
        if ty == WORD && matches!(op, Op::Bin(Bin::Add | Bin::And | Bin::Shr, ..) | Op::Int(_)) {
            self.seen.insert(value, op.clone());
        }
    }

    /// What an operation on words is, if it is one of those.
    pub(super) fn find(&self, op: &Op) -> Option<Found> {
        match *op {
            Op::Bin(Bin::Add, sum, bit) => self.sign_added(sum, bit),
            Op::Bin(Bin::And, word, mask) => self.byte(word, mask).map(Found::Byte),
            Op::Bin(Bin::Mul, byte, each) if self.constant(each) == Some(0x0101_0101) => {
                let highest = self.operands(Bin::Shr, byte).filter(|(_, by)| self.constant(*by) == Some(24));
                let highest = highest.map(|(word, _)| ByteOf { word, number: 3 });
                let masked = || self.operands(Bin::And, byte).and_then(|(word, mask)| self.byte(word, mask));
                highest.or_else(masked).map(Found::Splat)
            }
            _ => None,
        }
    }

    /// The byte of a word that a mask leaves.
    fn byte(&self, word: Value, mask: Value) -> Option<ByteOf> {
        let shifted = self.operands(Bin::Shr, word);
        let of_byte = shifted.and_then(|(word, by)| Some((word, self.constant(by)?)));
        let of_byte = of_byte.filter(|(_, bits)| [8, 16].contains(bits));
        let (word, bits) = of_byte.unwrap_or((word, 0));
        (self.constant(mask) == Some(0xff)).then_some(ByteOf { word, number: bits as u32 / 8 })
    }

    fn sign_added(&self, sum: Value, bit: Value) -> Option<Found> {
        let (word, distance) = self.operands(Bin::Shr, bit)?;
        let doubled = match self.constant(sum) {
            Some(sum) => Doubled::Constant((sum % 2 == 0).then_some(sum / 2)?),
            None => Doubled::Value(self.operands(Bin::Add, sum).filter(|(a, b)| a == b)?.0),
        };
        (self.constant(distance) == Some(31)).then_some(Found::SignAdded { doubled, word })
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
    /// The one instruction.
    pub(super) fn word(&self, found: Found) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let number = |n: u32| self.context.i32_type().const_int(n.into(), false);
        let call = match found {
            Found::SignAdded { doubled, word } => {
                let doubled = match doubled {
                    Doubled::Value(value) => self.frame.value(value)?,
                    Doubled::Constant(n) => self.int(WORD, n)?,
                };
                let arguments = [doubled.into(), self.frame.value(word)?.into(), number(1).into()];
                self.intrinsic("llvm.fshl", &[self.context.i32_type().into()], &arguments)?
            }
            Found::Byte(ByteOf { word, number: byte }) => {
                let arguments =
                    [self.frame.value(word)?.into(), number(0).into(), number(ZEROS | byte).into()];
                self.intrinsic("llvm.nvvm.prmt", &[], &arguments)?
            }
            Found::Splat(ByteOf { word, number: byte }) => {
                let arguments =
                    [self.frame.value(word)?.into(), number(0).into(), number(EACH * byte).into()];
                self.intrinsic("llvm.nvvm.prmt", &[], &arguments)?
            }
        };
        let value = call.try_as_basic_value().basic();
        value.ok_or_else(|| LlvmError::ill_formed("an operation on words has no value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_one_instruction_does_is_found() {
        let [word, node, other, sign, byte, twice, bit, shifted] = [0, 1, 2, 3, 4, 5, 6, 7].map(Value);
        let mask = Value(8);
        let seen = |twice_of: (Value, Value), distance: i64, ty: Ty| {
            let mut words = Words::default();
            for (value, op) in [
                (sign, Op::Int(distance)),
                (byte, Op::Int(16)),
                (mask, Op::Int(0xff)),
                (twice, Op::Bin(Bin::Add, twice_of.0, twice_of.1)),
                (bit, Op::Bin(Bin::Shr, word, sign)),
                (shifted, Op::Bin(Bin::Shr, word, byte)),
            ] {
                words.note((value, ty), &op);
            }
            words
        };
        let add = Op::Bin(Bin::Add, twice, bit);
        let found = Found::SignAdded { doubled: Doubled::Value(node), word };
        assert_eq!(seen((node, node), 31, WORD).find(&add), Some(found));
        assert_eq!(seen((node, other), 31, WORD).find(&add), None);
        assert_eq!(seen((node, node), 30, WORD).find(&add), None);
        assert_eq!(seen((node, node), 31, Ty::I64).find(&add), None);
        assert_eq!(seen((node, node), 31, WORD).find(&Op::Bin(Bin::Sub, twice, bit)), None);
        let words = seen((node, node), 31, WORD);
        let and = |value| words.find(&Op::Bin(Bin::And, value, mask));
        assert_eq!(and(shifted), Some(Found::Byte(ByteOf { word, number: 2 })));
        assert_eq!(and(bit), Some(Found::Byte(ByteOf { word: bit, number: 0 })));
        let mut four = seen((node, node), 31, WORD);
        let (one, each) = (Value(9), Value(10));
        four.note((one, WORD), &Op::Bin(Bin::And, shifted, mask));
        four.note((each, WORD), &Op::Int(0x0101_0101));
        let splat = |value| four.find(&Op::Bin(Bin::Mul, value, each));
        assert_eq!(splat(one), Some(Found::Splat(ByteOf { word, number: 2 })));
        assert_eq!(splat(shifted), None);
        assert_eq!(words.find(&Op::Bin(Bin::And, word, byte)), None);
        let mut constant = seen((node, node), 31, WORD);
        constant.note((twice, WORD), &Op::Int(2));
        let found = Found::SignAdded { doubled: Doubled::Constant(1), word };
        assert_eq!(constant.find(&add), Some(found));
        constant.note((twice, WORD), &Op::Int(3));
        assert_eq!(constant.find(&add), None);
    }
}
