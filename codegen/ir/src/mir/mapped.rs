//! Loops that run as blocks or threads of a GPU.

use super::{Mode, Stmt};

/// Whether some loop is mapped.
pub fn any_mapped(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::Loop(this) => matches!(this.mode, Mode::Mapped(_)) || any_mapped(&this.body),
        Stmt::Case(_, arms) => arms.iter().any(|(_, body)| any_mapped(body)),
        Stmt::CacheRows(cache) => any_mapped(&cache.body),
        Stmt::Private(private) => any_mapped(&private.body),
        Stmt::When(_, body) => any_mapped(body),
        Stmt::ThreadSums(sums) => any_mapped(&sums.body),
        Stmt::ShareTrees(copy) => any_mapped(&copy.body),
        Stmt::Launch(_) => true,
        Stmt::Walks(_)
        | Stmt::Base(_)
        | Stmt::CacheTrees(_)
        | Stmt::Zero(..)
        | Stmt::ZeroAll(_)
        | Stmt::Fold(_) => false,
    })
}
