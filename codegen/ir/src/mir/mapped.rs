//! Loops that run as blocks or threads of a GPU.

use super::{LoopMode, MirStmt};

/// Whether some loop is mapped.
pub fn any_mapped(stmts: &[MirStmt]) -> bool {
    stmts.iter().any(|stmt| match stmt {
        MirStmt::Loop(this) => matches!(this.mode, LoopMode::Mapped(_)) || any_mapped(&this.body),
        MirStmt::Case(_, arms) => arms.iter().any(|(_, body)| any_mapped(body)),
        MirStmt::CacheRows(cache) => any_mapped(&cache.body),
        MirStmt::Private(private) => any_mapped(&private.body),
        MirStmt::When(_, body) => any_mapped(body),
        MirStmt::ThreadSums(sums) => any_mapped(&sums.body),
        MirStmt::ShareTrees(copy) => any_mapped(&copy.body),
        MirStmt::Launch(_) => true,
        MirStmt::Walks(_)
        | MirStmt::Base(_)
        | MirStmt::CacheTrees(_)
        | MirStmt::Zero(..)
        | MirStmt::ZeroAll(_)
        | MirStmt::Fold(_) => false,
    })
}
