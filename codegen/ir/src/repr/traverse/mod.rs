//! Traversals: how walks get from the roots to the leaves, whatever the bytes of nodes are.
//!
//! [`Traversal`] names one, as data. A [`Walker`] is a traversal over a layout, ready to emit code.

pub mod packed_rows;
pub mod speculate;
pub mod steps;
pub mod sweep;
pub mod test_mask;
mod walker;

pub use walker::Walker;

use self::speculate::NodeTest;
use super::tree::TreeState;
use crate::quantize::fetch::FetchStrategy;
use crate::rows::Row;

/// How walks get from the roots to the leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traversal {
    /// From a node to the child that its test leads to.
    PointerChase,
    /// The same for four neighbouring rows, whose bins are the bytes of a word: the first levels for all four at once.
    PackedRows,
    /// The same for vectors of rows, which look the nodes of each level up in registers.
    LevelLookup {
        /// Whether node numbers are bytes.
        bytes: bool,
        /// For each straight-line step how the values or bins that the level's nodes test are fetched.
        fetch: Vec<FetchStrategy>,
    },
    /// The same where all nodes of a level make one test.
    LevelTests {
        /// Whether node numbers are bytes.
        bytes: bool,
    },
    /// One row down several trees, one in each lane.
    TreeLanes,
    /// Vectors of rows test all nodes of a tree one after the other; each row heeds those on its path.
    NodeSweep,
    /// All tests of a tree at once for one row, whose path is a matter of bits then.
    TestMask,
    /// From a tile of nodes to the next, all tests of a tile at once.
    NodeTiles,
}

/// How many steps walks take, and of which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Straight-line steps without leaf test: no leaf is above this depth.
    pub straight: u32,
    /// The first levels of those, whose nodes are all evaluated before a path is chosen.
    pub speculated: u32,
    /// Straight-line steps, each after a leaf test.
    pub checked: u32,
    /// Whether leaves may be deeper still.
    pub open: bool,
}

impl Steps {
    /// Steps to the leaf, where all walks take the same number.
    pub fn to_leaf(self) -> Option<u32> {
        (self.checked == 0 && !self.open).then_some(self.straight)
    }
}

/// One walk of a group, or one vector of walks.
pub struct Lane {
    /// The tree, or the trees.
    pub state: TreeState,
    /// The nodes that are all evaluated.
    pub top: Vec<NodeTest>,
    /// The row, or the rows.
    pub row: Row,
    /// Walks side by side.
    pub width: u16,
}
