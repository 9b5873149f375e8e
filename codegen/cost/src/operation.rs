//! Instructions of an operation, by kind.

use sched_ir::lir::{Bin, Cast, Function, Op, Scalar, Ty, Value};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A kind of instruction. A machine has the cost of each kind on one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Kind {
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
        /// Bytes of an index.
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

impl Display for Kind {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Kind::Lookup { element, entries, index } => write!(f, "lookup {entries} x {element} by {index}"),
            Kind::Gather { element } => write!(f, "gather {element}"),
            other => f.write_str(&format!("{other:?}").to_lowercase()),
        }
    }
}

impl From<Kind> for String {
    fn from(kind: Kind) -> String {
        kind.to_string()
    }
}

impl TryFrom<String> for Kind {
    type Error = String;

    fn try_from(text: String) -> Result<Kind, String> {
        text.parse()
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        let plain = [
            Kind::Scalar,
            Kind::Vector,
            Kind::Compare,
            Kind::Float,
            Kind::Multiply,
            Kind::Convert,
            Kind::Expand,
            Kind::Mask,
            Kind::Shuffle,
            Kind::Load,
            Kind::Store,
            Kind::Math,
        ];
        let words: Vec<&str> = text.split(' ').collect();
        let number = |text: &str| text.parse::<u16>().ok();
        let byte = |text: &str| text.parse::<u8>().ok();
        match words.as_slice() {
            ["gather", element] => byte(element).map(|element| Kind::Gather { element }),
            ["lookup", entries, "x", element, "by", index] => (|| {
                Some(Kind::Lookup { element: byte(element)?, entries: number(entries)?, index: byte(index)? })
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
    pub kind: Kind,
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
        1 if !ty.scalar.is_float() => amount(Kind::Scalar, 1.0),
        _ => amount(vector, registers(ty)),
    };
    match op {
        Op::Int(_) | Op::Float(_) | Op::Rows | Op::Id(_) | Op::Iota | Op::BitcastNarrow(_) => None,
        Op::Bin(Bin::IDiv, ..) => amount(Kind::Scalar, 3.0),
        Op::Bin(Bin::Div, ..) => amount(Kind::Float, 4.0 * registers(ty).max(1.0)),
        Op::Bin(..) if ty.scalar == Scalar::I1 => amount(Kind::Scalar, 1.0),
        Op::Bin(Bin::Mul, ..) if ty.scalar.is_float() => simple(Kind::Multiply, ty),
        Op::Bin(..) if ty.scalar.is_float() => simple(Kind::Float, ty),
        Op::Bin(..) => simple(Kind::Vector, ty),
        Op::Cmp(_, a, _) => simple(Kind::Compare, of(a)),
        Op::Select(..) => simple(Kind::Vector, ty),
        Op::Cast(Cast::Bits, _) => None,
        Op::Cast(_, v) if of(v).scalar == Scalar::I1 => simple(Kind::Expand, ty),
        Op::Cast(_, v) => {
            let wider = if of(v).bytes() > ty.bytes() { of(v) } else { ty };
            if ty.lanes == 1 { None } else { amount(Kind::Convert, registers(wider)) }
        }
        Op::Fma(..) => amount(Kind::Multiply, registers(ty).max(1.0)),
        Op::Round(..) => amount(Kind::Float, registers(ty).max(1.0)),
        // Square roots occupy the divider, as divisions do.
        Op::SquareRoot(..) => amount(Kind::Float, 4.0 * registers(ty).max(1.0)),
        Op::Math(..) => amount(Kind::Math, f64::from(ty.lanes)),
        Op::Load(..) | Op::LoadMasked(..) => amount(Kind::Load, registers(ty)),
        Op::Gather(gather) => {
            let words = f64::from(of(&gather.index).bytes()) / register;
            amount(Kind::Gather { element: ty.scalar.bytes() as u8 }, words)
        }
        Op::Splat(_) => amount(Kind::Vector, 1.0),
        Op::Extract(..) => amount(Kind::Shuffle, 1.0),
        Op::ExtractHalf(v, _) => amount(Kind::Convert, registers(of(v))),
        Op::Concat(..) | Op::TransposeStep(..) | Op::LaneShift(..) => amount(Kind::Shuffle, registers(ty)),
        Op::Lookup(table, index) => {
            let (table, index) = (of(table), of(index));
            let kind = Kind::Lookup {
                element: table.scalar.bytes() as u8,
                entries: table.lanes,
                index: index.scalar.bytes() as u8,
            };
            amount(kind, registers(index))
        }
        Op::Any(_) | Op::MaskBits(_) => amount(Kind::Mask, 1.0),
        Op::PopCount(_) => amount(Kind::Scalar, 1.0),
    }
}
