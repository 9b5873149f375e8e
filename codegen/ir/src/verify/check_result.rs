//! Result and message helpers of the checks.

use crate::lir::Value;

/// Success, or an error in one sentence.
pub(super) type CheckResult = Result<(), String>;

/// Fails with `otherwise` unless `holds`.
pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> CheckResult {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Name of a value in messages.
pub(super) fn value_name(value: Value) -> String {
    format!("%{}", value.0)
}
