//! Remarks on legal operations.

use super::DirectiveIndex;
use crate::obligation::Obligation;
use sched_nest::LoopId;

/// A remark on a legal operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Remark {
    /// The operation.
    pub step: DirectiveIndex,
    /// The loop of the operation.
    pub index: LoopId,
    /// Kind of the remark.
    pub kind: RemarkKind,
}

/// Kinds of remarks.
#[derive(Clone, Debug, PartialEq)]
pub enum RemarkKind {
    /// An obligation that needs a model.
    Unverified(Obligation),
    /// A tile size that does not divide the extent of its loop. Holds the extent and the size, in index
    /// values.
    PartialTile(i64, i64),
    /// A tile size above the extent of its loop. Holds the extent and the size, in index values.
    TileBeyond(i64, i64),
    /// A tile size of one iteration.
    TileOfOne,
}

/// Remarks on legal operations that [`Remarks::take`] has not returned yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Remarks(Vec<Remark>);

impl Remarks {
    /// Adds a remark of an operation on a loop.
    pub fn add(&mut self, step: DirectiveIndex, index: LoopId, kind: RemarkKind) {
        self.0.push(Remark { step, index, kind });
    }

    /// Adds an obligation that needs a model.
    pub fn add_unverified(&mut self, step: DirectiveIndex, index: LoopId, obligation: Obligation) {
        self.add(step, index, RemarkKind::Unverified(obligation));
    }

    /// Removes and returns all remarks.
    pub fn take(&mut self) -> Vec<Remark> {
        std::mem::take(&mut self.0)
    }
}
