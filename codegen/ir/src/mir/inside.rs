//! The statements inside of a statement.

use super::MirStmt;

impl MirStmt {
    /// The lists of statements inside of the statement.
    pub fn inside(&self) -> Vec<&[MirStmt]> {
        match self {
            MirStmt::Loop(this) => vec![&this.body],
            MirStmt::Case(_, arms) => arms.iter().map(|(_, body)| body.as_slice()).collect(),
            MirStmt::CacheRows(copy) => vec![&copy.body],
            MirStmt::Private(private) => vec![&private.body],
            MirStmt::When(_, body) => vec![body],
            MirStmt::ThreadSums(sums) => vec![&sums.body],
            MirStmt::ShareTrees(copy) => vec![&copy.body],
            MirStmt::Launch(launch) => vec![&launch.body],
            MirStmt::Walks(_)
            | MirStmt::Base(_)
            | MirStmt::CacheTrees(_)
            | MirStmt::Zero(..)
            | MirStmt::ZeroAll(_)
            | MirStmt::Fold(_) => Vec::new(),
        }
    }

    /// The lists of statements inside of the statement, to change them.
    pub fn inside_mut(&mut self) -> Vec<&mut Vec<MirStmt>> {
        match self {
            MirStmt::Loop(this) => vec![&mut this.body],
            MirStmt::Case(_, arms) => arms.iter_mut().map(|(_, body)| body).collect(),
            MirStmt::CacheRows(copy) => vec![&mut copy.body],
            MirStmt::Private(private) => vec![&mut private.body],
            MirStmt::When(_, body) => vec![body],
            MirStmt::ThreadSums(sums) => vec![&mut sums.body],
            MirStmt::ShareTrees(copy) => vec![&mut copy.body],
            MirStmt::Launch(launch) => vec![&mut launch.body],
            MirStmt::Walks(_)
            | MirStmt::Base(_)
            | MirStmt::CacheTrees(_)
            | MirStmt::Zero(..)
            | MirStmt::ZeroAll(_)
            | MirStmt::Fold(_) => Vec::new(),
        }
    }
}
