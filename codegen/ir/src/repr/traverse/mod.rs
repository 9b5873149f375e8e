//! Traversals: ways of walking from the roots to the leaves, independent of the bytes of nodes.
//!
//! [`Traversal`] describes one as data. A [`WalkEmitter`] is a traversal over a layout, ready to emit code.

pub mod packed_rows;
pub mod speculate;
pub mod steps;
pub mod sweep;
pub mod test_mask;
mod walk_emitter;

pub use walk_emitter::WalkEmitter;

use self::speculate::NodeTest;
use super::tree::TreeState;
use crate::quantize::fetch::FetchStrategy;
use crate::rows::RowAddress;
use std::ops::Range;

/// Way of walking from the roots to the leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traversal {
    /// Step by step, from a node to the child that its test leads to.
    PointerChase,
    /// Step by step. Four neighbouring rows, whose bins are the bytes of a word, share the instructions
    /// of the first levels.
    PackedRows,
    /// Step by step, for vectors of rows, which look up the nodes of each level in registers.
    LevelLookup {
        /// Whether node numbers are bytes.
        bytes: bool,
        /// Fetch strategy of each straight-line step.
        fetch: Vec<FetchStrategy>,
    },
    /// Step by step, with one test for all nodes of a level.
    LevelTests {
        /// Whether node numbers are bytes.
        bytes: bool,
    },
    /// One row down several trees, one in each lane.
    TreeLanes,
    /// Vectors of rows test all nodes of a tree one after the other. For each row, only the nodes on its path
    /// count.
    NodeSweep,
    /// One row makes all tests of a tree at once; the leaf follows from their bits.
    TestMask,
    /// From tile to tile, with all tests of a tile at once.
    NodeTiles,
    /// No steps, for trees that are single linear leaves. Every walk of a group adds a term before any adds
    /// the next one, so that loaded coefficients and values serve several walks.
    Dense {
        /// Columns whose values all trees add, in order, as ranges of adjacent columns. `None` if trees add
        /// different columns, or if there are more than 8 ranges: then a table has each tree's columns.
        columns: Option<Vec<Range<u32>>>,
    },
}

/// Number of steps of each kind that walks take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepCounts {
    /// Straight-line steps without leaf test; no leaf is above this depth.
    pub straight: u32,
    /// Number of top levels, part of the straight-line steps, whose nodes are all tested before a path is
    /// selected.
    pub speculated: u32,
    /// Straight-line steps, each after a leaf test.
    pub masked: u32,
    /// Whether leaves may be deeper, which takes a loop.
    pub has_loop: bool,
}

impl StepCounts {
    /// The steps of walks that take at least `levels` straight-line steps, in trees of which the deepest has
    /// `deepest` levels.
    pub fn with_straight(self, levels: u32, deepest: u32) -> StepCounts {
        let straight = self.straight.max(levels);
        let masked = (self.straight + self.masked).saturating_sub(straight);
        StepCounts { straight, masked, has_loop: deepest > straight + masked, ..self }
    }

    /// Steps to the leaf, if all walks take the same number.
    pub fn to_leaf(self) -> Option<u32> {
        (self.masked == 0 && !self.has_loop).then_some(self.straight)
    }
}

/// One walk of a group, or one vector of walks.
pub struct Lane {
    /// State of the tree, or of the trees.
    pub state: TreeState,
    /// Tests of all nodes of the speculated levels, in level order.
    pub top: Vec<NodeTest>,
    /// Address of the row, or of the rows.
    pub row: RowAddress,
    /// Number of walks: 1, or the lanes of the vector.
    pub width: u16,
}
