//! Access to nested statements, for passes that treat all statements alike.

use super::{Block, Stmt};

impl Stmt {
    /// Blocks directly inside, in the order in which they run.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Stmt::For(stmt) => vec![&stmt.body],
            Stmt::While(stmt) => vec![&stmt.test, &stmt.body],
            Stmt::If(stmt) => vec![&stmt.then, &stmt.otherwise],
            Stmt::Parallel(stmt) => vec![&stmt.body],
            Stmt::Alloc(stmt) => vec![&stmt.body],
            Stmt::Launch(stmt) => vec![&stmt.body],
            Stmt::Let(..)
            | Stmt::Store(..)
            | Stmt::StoreMasked(..)
            | Stmt::AtomicAdd(..)
            | Stmt::Prefetch(_)
            | Stmt::Barrier
            | Stmt::Fence
            | Stmt::Ticket(_)
            | Stmt::Product(_) => Vec::new(),
        }
    }

    /// Mutable blocks directly inside, in the order in which they run.
    pub fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            Stmt::For(stmt) => vec![&mut stmt.body],
            Stmt::While(stmt) => vec![&mut stmt.test, &mut stmt.body],
            Stmt::If(stmt) => vec![&mut stmt.then, &mut stmt.otherwise],
            Stmt::Parallel(stmt) => vec![&mut stmt.body],
            Stmt::Alloc(stmt) => vec![&mut stmt.body],
            Stmt::Launch(stmt) => vec![&mut stmt.body],
            Stmt::Let(..)
            | Stmt::Store(..)
            | Stmt::StoreMasked(..)
            | Stmt::AtomicAdd(..)
            | Stmt::Prefetch(_)
            | Stmt::Barrier
            | Stmt::Fence
            | Stmt::Ticket(_)
            | Stmt::Product(_) => Vec::new(),
        }
    }

    /// Calls `see` with each statement of a block and of the blocks inside. Outer statements come first,
    /// without recursion, so that deep nests do not overflow the stack.
    pub fn visit_all<'s>(block: &'s [Stmt], mut see: impl FnMut(&'s Stmt)) {
        let mut left = vec![block];
        while let Some(block) = left.pop() {
            for stmt in block {
                see(stmt);
                left.extend(stmt.blocks().into_iter().map(Vec::as_slice));
            }
        }
    }
}
