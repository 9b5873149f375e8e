//! Properties of storage formats on which the plan depends.

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
