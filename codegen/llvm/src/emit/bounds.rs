//! What integers are at most, as far as their operations tell. Shuffles of bytes want the highest bit of an index clear,
//! and heed only the low ones otherwise: an index that is small enough needs nothing done to it.

use super::function::Emitter;
use crate::error::LlvmError;
use sched_ir::lir::{Bin, Cast, Op, Scalar, Ty, Value};

impl Emitter<'_, '_> {
    /// Remembers the most that a value is in any lane, if its operation tells.
    pub(super) fn note_bound(&mut self, value: Value, op: &Op) -> Result<(), LlvmError> {
        let most = |value: &Value| self.bounds.get(value).copied();
        let bound = match op {
            Op::Int(n) => u64::try_from(*n).ok(),
            Op::Cast(Cast::ZExt, from) if self.ty(*from)?.scalar == Scalar::I1 => Some(1),
            Op::Cast(Cast::ZExt, from) | Op::Splat(from) => most(from),
            Op::Bin(Bin::Add, a, b) => most(a).zip(most(b)).and_then(|(a, b)| a.checked_add(b)),
            Op::Bin(Bin::And, a, b) => most(a).into_iter().chain(most(b)).min(),
            Op::Select(_, a, b) => most(a).zip(most(b)).map(|(a, b)| a.max(b)),
            _ => None,
        };
        let ty = self.ty(value)?;
        if let Some(bound) = bound.filter(|bound| *bound <= largest(ty)) {
            self.bounds.insert(value, bound);
        }
        Ok(())
    }

    /// Whether no lane of a value has any bit from this one on.
    pub(super) fn is_below(&self, value: Value, limit: u64) -> bool {
        self.bounds.get(&value).is_some_and(|bound| *bound < limit)
    }
}

/// The largest number that lanes of a type hold. Beyond it an operation has lost bits, and says nothing.
fn largest(ty: Ty) -> u64 {
    match ty.scalar {
        Scalar::I1 => 1,
        scalar if scalar.is_float() => 0,
        scalar => u64::MAX >> (u64::BITS - 8 * scalar.bytes()),
    }
}
