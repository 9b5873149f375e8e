//! Conflicts: pairs of accesses to one byte that may happen at the same time, one of which changes it.

use super::error::AccessKind;
use crate::lir::{Launch, Parallel, Stmt};

/// Statement whose iterations or threads are concurrent.
#[derive(Clone, Copy)]
pub(super) enum Concurrent<'f> {
    /// The iterations of a loop.
    Parallel(&'f Parallel),
    /// The threads of a launch.
    Launch(&'f Launch),
}

impl Concurrent<'_> {
    /// The statement without its body.
    pub fn head(&self) -> Stmt {
        match *self {
            Concurrent::Parallel(p) => Stmt::Parallel(Box::new(Parallel { body: Vec::new(), ..*p })),
            Concurrent::Launch(l) => {
                let Launch { name, grid, block, registers, .. } = l;
                Stmt::Launch(Box::new(Launch {
                    name: name.clone(),
                    grid: *grid,
                    block: *block,
                    registers: *registers,
                    body: Vec::new(),
                }))
            }
        }
    }
}

/// Two iterations of one loop, or threads of one launch, whose accesses conflict.
pub(super) struct Conflict<'f> {
    pub loop_or_launch: Concurrent<'f>,
    pub iteration: i64,
    pub other_iteration: i64,
    pub other_kind: AccessKind,
}
