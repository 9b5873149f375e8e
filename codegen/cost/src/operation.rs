//! Instructions of an operation, by kind.

use sched_ir::lir::{Bin, Cast, Function, Op, Scalar, Ty, Value};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A kind of instruction. A machine has the cost of each kind on one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum InstructionKind {
    /// Arithmetic on a scalar integer.
    Scalar,
    /// Arithmetic on a vector of integers, and selects between vectors.
    Vector,
    /// A comparison of vectors into a mask.
    Compare,
    /// Arithmetic on floats, except multiplications.
    Float,
    /// A multiplication of floats, also with an addition in one instruction.
    Multiply,
    /// A conversion of elements to wider or narrower ones.
    Convert,
    /// A conversion of a mask to a vector.
    Expand,
    /// A move of a mask to a scalar register, or a test of it.
    Mask,
    /// A permutation of lanes that is known at compile time.
    Shuffle,
    /// A look-up in a table in registers.
    Lookup {
        /// Bytes of an element of the table.
        element: u8,
        /// Elements of the table.
        entries: u16,
        /// Bytes of each lane's index into the table.
        index: u8,
    },
    /// One load for each lane.
    Gather {
        /// Bytes of an element.
        element: u8,
    },
    /// A load of a register, or a scalar.
    Load,
    /// A store of a register, or a scalar.
    Store,
    /// A call of the C library.
    Math,
}

impl Display for InstructionKind {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            InstructionKind::Lookup { element, entries, index } => {
                write!(f, "lookup {entries} x {element} by {index}")
            }
            InstructionKind::Gather { element } => write!(f, "gather {element}"),
            other => f.write_str(&format!("{other:?}").to_lowercase()),
        }
    }
}

impl From<InstructionKind> for String {
    fn from(kind: InstructionKind) -> String {
        kind.to_string()
    }
}

impl TryFrom<String> for InstructionKind {
    type Error = String;

    fn try_from(text: String) -> Result<InstructionKind, String> {
        text.parse()
    }
}

impl FromStr for InstructionKind {
    type Err = String;

    fn from_str(text: &str) -> Result<InstructionKind, String> {
        let plain = [
            InstructionKind::Scalar,
            InstructionKind::Vector,
            InstructionKind::Compare,
            InstructionKind::Float,
            InstructionKind::Multiply,
            InstructionKind::Convert,
            InstructionKind::Expand,
            InstructionKind::Mask,
            InstructionKind::Shuffle,
            InstructionKind::Load,
            InstructionKind::Store,
            InstructionKind::Math,
        ];
        let words: Vec<&str> = text.split(' ').collect();
        let number = |text: &str| text.parse::<u16>().ok();
        let byte = |text: &str| text.parse::<u8>().ok();
        match words.as_slice() {
            ["gather", element] => byte(element).map(|element| InstructionKind::Gather { element }),
            ["lookup", entries, "x", element, "by", index] => (|| {
                Some(InstructionKind::Lookup {
                    element: byte(element)?,
                    entries: number(entries)?,
                    index: byte(index)?,
                })
            })(),
            _ => plain.into_iter().find(|kind| kind.to_string() == text),
        }
        .ok_or_else(|| format!("there is no kind of instruction `{text}`"))
    }
}

/// Instructions of one kind, counted in registers. A value narrower than a register counts as a fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// The kind.
    pub kind: InstructionKind,
    /// Number of registers.
    pub registers: f64,
}

/// The instructions of an operation with a result of type `ty`, on registers of `register_bits` bits. `None`
/// if the operation needs no instruction by itself.
pub fn instructions(function: &Function, op: &Op, ty: Ty, register_bits: u32) -> Option<Amount> {
    let register = f64::from(register_bits / 8);
    let registers = |ty: Ty| match f64::from(ty.bytes()) / register {
        fraction if fraction < 1.0 => fraction,
        several => several.ceil(),
    };
    let of = |value: &Value| function.ty(*value);
    let amount = |kind, registers| Some(Amount { kind, registers });
    let simple = |vector, ty: Ty| match ty.lanes {
        1 if !ty.scalar.is_float() => amount(InstructionKind::Scalar, 1.0),
        _ => amount(vector, registers(ty)),
    };
    match op {
        Op::Int(_) | Op::Float(_) | Op::RowCount | Op::Id(_) | Op::Iota | Op::BitcastNarrow(_) => None,
        Op::Bin(Bin::IDiv, ..) => amount(InstructionKind::Scalar, 3.0),
        Op::Bin(Bin::Div, ..) => amount(InstructionKind::Float, 4.0 * registers(ty).max(1.0)),
        Op::Bin(..) if ty.scalar == Scalar::I1 => amount(InstructionKind::Scalar, 1.0),
        Op::Bin(Bin::Mul, ..) if ty.scalar.is_float() => simple(InstructionKind::Multiply, ty),
        Op::Bin(..) if ty.scalar.is_float() => simple(InstructionKind::Float, ty),
        Op::Bin(..) => simple(InstructionKind::Vector, ty),
        Op::Cmp(_, a, _) => simple(InstructionKind::Compare, of(a)),
        Op::Select(..) => simple(InstructionKind::Vector, ty),
        Op::Cast(Cast::Bits, _) => None,
        Op::Cast(_, v) if of(v).scalar == Scalar::I1 => simple(InstructionKind::Expand, ty),
        Op::Cast(_, v) => {
            let wider = if of(v).bytes() > ty.bytes() { of(v) } else { ty };
            if ty.lanes == 1 { None } else { amount(InstructionKind::Convert, registers(wider)) }
        }
        Op::Fma(..) => amount(InstructionKind::Multiply, registers(ty).max(1.0)),
        Op::Round(..) => amount(InstructionKind::Float, registers(ty).max(1.0)),
        // Square roots occupy the divider, as divisions do.
        Op::SquareRoot(..) => amount(InstructionKind::Float, 4.0 * registers(ty).max(1.0)),
        Op::Math(..) => amount(InstructionKind::Math, f64::from(ty.lanes)),
        Op::Load(..) | Op::LoadMasked(..) => amount(InstructionKind::Load, registers(ty)),
        Op::Gather(gather) => {
            let words = f64::from(of(&gather.index).bytes()) / register;
            amount(InstructionKind::Gather { element: ty.scalar.bytes() as u8 }, words)
        }
        Op::Splat(_) => amount(InstructionKind::Vector, 1.0),
        Op::Extract(..) => amount(InstructionKind::Shuffle, 1.0),
        Op::ExtractHalf(v, _) => amount(InstructionKind::Convert, registers(of(v))),
        Op::Concat(..) | Op::TransposeStep(..) | Op::LaneShift(..) => {
            amount(InstructionKind::Shuffle, registers(ty))
        }
        Op::Lookup(table, index) => {
            let (table, index) = (of(table), of(index));
            let kind = InstructionKind::Lookup {
                element: table.scalar.bytes() as u8,
                entries: table.lanes,
                index: index.scalar.bytes() as u8,
            };
            amount(kind, registers(index))
        }
        Op::Any(_) | Op::MaskBits(_) => amount(InstructionKind::Mask, 1.0),
        Op::PopCount(_) => amount(InstructionKind::Scalar, 1.0),
    }
}
