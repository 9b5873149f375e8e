//! Properties of storage formats on which the plan depends.

use super::layout::Format;

/// Traversal of a format by vectors of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowVectorTraversal {
    /// All nodes of a tree are tested, one after the other.
    NodeSweep,
    /// Nodes of each level are looked up in registers.
    LevelLookup,
    /// All nodes of a level share one test.
    LevelTests,
}

/// Trees of a format whose tests one row makes all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestMasks {
    /// No trees: the format stores no masks.
    NoTrees,
    /// Trees with few nodes and columns.
    SmallTrees,
    /// All trees: others are not stored in the format.
    AllTrees,
}

/// Vectors of rows for which bins are transposed, so that those of one feature are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransposedBins {
    /// Never: the format compares no bins, or walks read rows.
    Never,
    /// For walks of vectors of rows.
    RowVectors,
    /// For all walks.
    Always,
}

/// Properties of a storage format on which the plan depends.
#[derive(Clone, Copy, Debug)]
pub struct FormatTraits {
    /// Traversal by vectors of rows. `None` if each lane walks as a single row does.
    pub row_vectors: Option<RowVectorTraversal>,
    /// Trees whose tests one row makes all at once.
    pub test_masks: TestMasks,
    /// Whether four rows whose bins share a word walk the first levels together.
    pub packs_rows: bool,
    /// Vectors of rows for which bins are transposed.
    pub transposed_bins: TransposedBins,
    /// Format that replaces this one if threads of a GPU share a copy of rows.
    pub for_shared_rows: Option<Format>,
    /// Format that replaces this one if trees are stored as tiles of nodes.
    pub for_tiles: Option<Format>,
    /// Whether records are tiles of nodes.
    pub holds_tiles: bool,
    /// Whether tables depend on the number of trees in a vector of walks.
    pub depends_on_lanes: bool,
}

impl FormatTraits {
    /// Properties of a format that is walked step by step, by any vectors.
    pub const PLAIN: FormatTraits = FormatTraits {
        row_vectors: None,
        test_masks: TestMasks::NoTrees,
        packs_rows: false,
        transposed_bins: TransposedBins::Never,
        for_shared_rows: None,
        for_tiles: None,
        holds_tiles: false,
        depends_on_lanes: false,
    };
}
