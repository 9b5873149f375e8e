//! Bits of integers that follow from the operations that made them.
//!
//! Shuffles of bytes within parts use the low bits of an index and its highest bit: an index that is known to
//! be small needs no mask. Higher bits select among the registers of a longer table. If the index is a node's
//! number, these bits are the decisions that led to the node, for which masks exist already.

use sched_ir::lir::{Bin, Cast, Op, Scalar, Ty, Value};
use std::collections::HashMap;

/// Bounds and bits of the integers defined so far.
#[derive(Default)]
pub(super) struct KnownBits {
    /// Upper bound of all lanes.
    upper_bounds: HashMap<Value, u64>,
    /// For a mask extended to numbers, the mask.
    masks: HashMap<Value, Value>,
    /// For the sum of a value with itself, the value.
    doubled: HashMap<Value, Value>,
    /// For each bit from the lowest on, the mask of the lanes in which it is set; only those that exist.
    bits: HashMap<Value, Vec<Value>>,
}

impl KnownBits {
    /// Remembers the result of an operation; `type_of` returns the type of an operand.
    pub(super) fn note(&mut self, (value, ty): (Value, Ty), op: &Op, type_of: impl Fn(Value) -> Option<Ty>) {
        if let Some(most) = self.upper_bound_of(op, &type_of).filter(|most| *most <= largest_value(ty)) {
            self.upper_bounds.insert(value, most);
        }
        match *op {
            Op::Cast(Cast::ZExt, mask) if is_mask(&type_of, mask) => {
                self.masks.insert(value, mask);
            }
            Op::Bin(Bin::Add, a, b) if a == b => {
                self.doubled.insert(value, a);
            }
            Op::Bin(Bin::Add, a, b) => {
                if let (Some(half), Some(mask)) = (self.doubled.get(&a), self.masks.get(&b)) {
                    let above = self.bits.get(half).into_iter().flatten();
                    let bits = std::iter::once(mask).chain(above).copied().collect();
                    self.bits.insert(value, bits);
                }
            }
            _ => {}
        }
    }

    /// Upper bound of an operation's result, unless it overflows.
    fn upper_bound_of(&self, op: &Op, type_of: &impl Fn(Value) -> Option<Ty>) -> Option<u64> {
        let most = |value: &Value| self.upper_bounds.get(value).copied();
        match op {
            Op::Int(n) => u64::try_from(*n).ok(),
            Op::Cast(Cast::ZExt, value) if is_mask(type_of, *value) => Some(1),
            Op::Cast(Cast::ZExt, value) | Op::Splat(value) => most(value),
            Op::Bin(Bin::Add, a, b) => most(a)?.checked_add(most(b)?),
            Op::Bin(Bin::And, a, b) => most(a).into_iter().chain(most(b)).min(),
            Op::Select(_, a, b) => Some(most(a)?.max(most(b)?)),
            _ => None,
        }
    }

    /// Whether all lanes of a value are known to be below a limit.
    pub(super) fn is_below(&self, value: Value, limit: u64) -> bool {
        self.upper_bounds.get(&value).is_some_and(|most| *most < limit)
    }

    /// The masks of a value's bits, from the lowest bit on.
    pub(super) fn bits(&self, value: Value) -> &[Value] {
        self.bits.get(&value).map_or(&[], Vec::as_slice)
    }
}

fn is_mask(ty: &impl Fn(Value) -> Option<Ty>, value: Value) -> bool {
    ty(value).is_some_and(|ty| ty.scalar == Scalar::I1)
}

/// The largest number that a lane of a type holds. An operation with a higher bound may have overflowed.
fn largest_value(ty: Ty) -> u64 {
    match ty.scalar {
        Scalar::I1 => 1,
        scalar if scalar.is_float() => 0,
        scalar => u64::MAX >> (u64::BITS - 8 * scalar.bytes()),
    }
}
