//! Loops that run as blocks or threads of a GPU.

use super::{LoopMode, MirStmt};

/// Whether some loop is mapped.
pub fn any_mapped(stmts: &[MirStmt]) -> bool {
    stmts.iter().any(|stmt| match stmt {
        MirStmt::Launch(_) => true,
        MirStmt::Loop(this) if matches!(this.mode, LoopMode::Mapped(_)) => true,
        other => other.inside().into_iter().any(any_mapped),
    })
}
