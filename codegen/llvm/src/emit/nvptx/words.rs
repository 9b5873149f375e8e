//! Operations on words that take one instruction on NVIDIA's GPUs. LLVM alone would emit comparisons and
//! shifts.
//!
//! A funnel shift adds the sign of a difference to a doubled number: it moves the highest bit of one word
//! into the lowest bit of another. A permutation of bytes extracts a byte of a word.

use crate::emit::earlier::EarlierOps;
use crate::emit::operands::OperandReader;
use crate::error::LlvmError;
use inkwell::values::BasicValueEnum;
use sched_ir::lir::{Bin, Op, Scalar, Ty, Value};

/// The type of a word.
const WORD_TYPE: Ty = Ty::of(Scalar::I32);
/// Selector of `prmt` that makes the three highest bytes zero.
const PRMT_ZERO_EXTEND: u32 = 0x4440;
/// Selector of `prmt` that, multiplied by a byte's number, repeats the byte four times.
const PRMT_SPLAT: u32 = 0x1111;

/// Earlier arithmetic of words.
pub(super) struct EarlierWordOps(EarlierOps);

impl Default for EarlierWordOps {
    fn default() -> EarlierWordOps {
        EarlierWordOps(EarlierOps::of(WORD_TYPE))
    }
}

/// An operation on words that takes one instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WordInstruction {
    /// The sum of `2 * doubled` and the highest bit of `word`.
    AddSign {
        /// The number that is doubled.
        doubled: DoubledNumber,
        /// The word whose highest bit is added.
        word: Value,
    },
    /// A byte of a word, with zeros above it.
    Byte(WordByte),
    /// A byte of a word, repeated in all four bytes.
    Splat(WordByte),
}

/// A byte of a word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WordByte {
    word: Value,
    /// Number of the byte, 0 for the lowest.
    number: u32,
}

/// A number that an instruction doubles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum DoubledNumber {
    /// A variable.
    Value(Value),
    /// A constant, before it is doubled.
    Constant(i64),
}

impl EarlierWordOps {
    /// Remembers an operation.
    pub(super) fn note(&mut self, result: (Value, Ty), op: &Op) {
        self.0.note(result, op);
    }

    /// The instruction for an operation on words, if there is one.
    pub(super) fn find(&self, op: &Op) -> Option<WordInstruction> {
        match *op {
            Op::Bin(Bin::Add, sum, bit) => self.sign_added(sum, bit),
            Op::Bin(Bin::And, word, mask) => self.byte(word, mask).map(WordInstruction::Byte),
            Op::Bin(Bin::Mul, byte, each) if self.0.constant(each) == Some(0x0101_0101) => {
                let highest =
                    self.0.operands(Bin::Shr, byte).filter(|(_, by)| self.0.constant(*by) == Some(24));
                let highest = highest.map(|(word, _)| WordByte { word, number: 3 });
                let masked =
                    || self.0.operands(Bin::And, byte).and_then(|(word, mask)| self.byte(word, mask));
                highest.or_else(masked).map(WordInstruction::Splat)
            }
            _ => None,
        }
    }

    /// The byte of a word that a mask extracts.
    fn byte(&self, word: Value, mask: Value) -> Option<WordByte> {
        let shifted = self.0.operands(Bin::Shr, word);
        let of_byte = shifted.and_then(|(word, by)| Some((word, self.0.constant(by)?)));
        let of_byte = of_byte.filter(|(_, bits)| [8, 16].contains(bits));
        let (word, bits) = of_byte.unwrap_or((word, 0));
        (self.0.constant(mask) == Some(0xff)).then_some(WordByte { word, number: bits as u32 / 8 })
    }

    /// The addition of a sign to a doubled number.
    fn sign_added(&self, sum: Value, bit: Value) -> Option<WordInstruction> {
        let (word, distance) = self.0.operands(Bin::Shr, bit)?;
        let doubled = match self.0.constant(sum) {
            Some(sum) => DoubledNumber::Constant((sum % 2 == 0).then_some(sum / 2)?),
            None => DoubledNumber::Value(self.0.operands(Bin::Add, sum).filter(|(a, b)| a == b)?.0),
        };
        (self.0.constant(distance) == Some(31)).then_some(WordInstruction::AddSign { doubled, word })
    }
}

impl WordInstruction {
    /// Emits the instruction.
    pub(super) fn emit<'ctx>(
        self,
        operands: &OperandReader<'_, 'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let ir = &operands.ir;
        let number = |n: u32| ir.context.i32_type().const_int(n.into(), false);
        let call = match self {
            WordInstruction::AddSign { doubled, word } => {
                let doubled = match doubled {
                    DoubledNumber::Value(value) => operands.value(value)?,
                    DoubledNumber::Constant(n) => ir.int(WORD_TYPE, n)?,
                };
                let arguments = [doubled.into(), operands.value(word)?.into(), number(1).into()];
                ir.intrinsic("llvm.fshl", &[ir.context.i32_type().into()], &arguments)?
            }
            WordInstruction::Byte(WordByte { word, number: byte }) => {
                let arguments =
                    [operands.value(word)?.into(), number(0).into(), number(PRMT_ZERO_EXTEND | byte).into()];
                ir.intrinsic("llvm.nvvm.prmt", &[], &arguments)?
            }
            WordInstruction::Splat(WordByte { word, number: byte }) => {
                let arguments =
                    [operands.value(word)?.into(), number(0).into(), number(PRMT_SPLAT * byte).into()];
                ir.intrinsic("llvm.nvvm.prmt", &[], &arguments)?
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
    fn operations_of_one_instruction_are_found() {
        let [word, node, other, sign, byte, twice, bit, shifted] = [0, 1, 2, 3, 4, 5, 6, 7].map(Value);
        let mask = Value(8);
        let seen = |twice_of: (Value, Value), distance: i64, ty: Ty| {
            let mut words = EarlierWordOps::default();
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
        let instruction = WordInstruction::AddSign { doubled: DoubledNumber::Value(node), word };
        assert_eq!(seen((node, node), 31, WORD_TYPE).find(&add), Some(instruction));
        assert_eq!(seen((node, other), 31, WORD_TYPE).find(&add), None);
        assert_eq!(seen((node, node), 30, WORD_TYPE).find(&add), None);
        assert_eq!(seen((node, node), 31, Ty::I64).find(&add), None);
        assert_eq!(seen((node, node), 31, WORD_TYPE).find(&Op::Bin(Bin::Sub, twice, bit)), None);
        let words = seen((node, node), 31, WORD_TYPE);
        let and = |value| words.find(&Op::Bin(Bin::And, value, mask));
        assert_eq!(and(shifted), Some(WordInstruction::Byte(WordByte { word, number: 2 })));
        assert_eq!(and(bit), Some(WordInstruction::Byte(WordByte { word: bit, number: 0 })));
        let mut four = seen((node, node), 31, WORD_TYPE);
        let (one, each) = (Value(9), Value(10));
        four.note((one, WORD_TYPE), &Op::Bin(Bin::And, shifted, mask));
        four.note((each, WORD_TYPE), &Op::Int(0x0101_0101));
        let splat = |value| four.find(&Op::Bin(Bin::Mul, value, each));
        assert_eq!(splat(one), Some(WordInstruction::Splat(WordByte { word, number: 2 })));
        assert_eq!(splat(shifted), None);
        assert_eq!(words.find(&Op::Bin(Bin::And, word, byte)), None);
        let mut constant = seen((node, node), 31, WORD_TYPE);
        constant.note((twice, WORD_TYPE), &Op::Int(2));
        let instruction = WordInstruction::AddSign { doubled: DoubledNumber::Constant(1), word };
        assert_eq!(constant.find(&add), Some(instruction));
        constant.note((twice, WORD_TYPE), &Op::Int(3));
        assert_eq!(constant.find(&add), None);
    }
}
