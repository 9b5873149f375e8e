//! Severities of diagnostics.

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Hint,
    /// Legal, but probably unintended.
    Warning,
    /// An error: the input cannot be used.
    Error,
}

impl Severity {
    /// `error`, `warning` or `hint`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Hint => "hint",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}
