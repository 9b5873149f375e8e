//! The words of the checks.

use crate::lir::Value;

/// Nothing, or what is wrong in one sentence.
pub(super) type Checked = Result<(), String>;

/// An error unless something holds.
pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// The name of a value in messages.
pub(super) fn name(value: Value) -> String {
    format!("%{}", value.0)
}
