//! Unmet needs, as parts of problems.

use crate::lineage::DirectiveIndex;

/// A use of a GPU's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemoryUse {
    /// Directive that needs the memory.
    pub step: DirectiveIndex,
    /// Bytes used.
    pub bytes: u64,
}

/// Needs of `unrollAndJam`.
#[derive(Clone, Debug, PartialEq)]
pub enum UnrollAndJamNeeds {
    /// One leaf loop over rows and nothing else inside.
    Rows {
        /// Leaf loops over rows further inside.
        leaves: Vec<String>,
    },
    /// A leaf loop that is neither parallel nor expanded, and whose rows are not cached one by one.
    Whole {
        /// The leaf loop.
        leaf: String,
        /// Directive that divides the leaf loop's rows.
        by: DirectiveIndex,
    },
    /// A leaf loop over adjacent rows.
    Adjacent {
        /// The leaf loop.
        leaf: String,
        /// The distance between the loop's rows.
        stride: i64,
    },
    /// Several vectors of rows that advance together.
    Vectors {
        /// The leaf loop.
        leaf: String,
        /// Whether the leaf loop has vectors.
        has_vectors: bool,
        /// Whether several walks advance together.
        is_interleaved: bool,
    },
}

/// Reason why the terms of a stage's sums, or its trees, would be added in another order.
#[derive(Clone, Debug, PartialEq)]
pub enum TermOrderFault {
    /// The order of the loops of a tile.
    Tile {
        /// The loop that has to be outside.
        outer: String,
    },
    /// The directive.
    Directive,
    /// The lanes of a vector, which have a sum each, in a stage whose sums must keep their order.
    Ordered {
        /// The stage.
        stage: String,
        /// Number of terms of a sum, if sums in single precision with this number keep their order whatever
        /// later steps compute.
        long_sum: Option<u32>,
    },
    /// The lanes of a vector on a GPU, where tensor cores add up the terms of some stages.
    OnGpu(TensorFault),
}

/// Reason why tensor cores cannot add up the terms of a stage's sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorFault {
    /// The sums are in single precision, or add squared differences or trees, or there are too few.
    Sums,
    /// The vector has another number of terms than a step of tensor cores.
    Lanes,
    /// Other directives arrange the loops over units and terms, or concern them.
    Arranged {
        /// One of these directives, if known.
        other: Option<DirectiveIndex>,
    },
}

/// Fault of a vector in a stage of columns.
#[derive(Clone, Debug, PartialEq)]
pub enum StageLanesFault {
    /// Another loop of the stage is vectorized already.
    Second {
        /// The other loop.
        other: String,
    },
    /// The loop does not step through all its values one by one.
    Strided,
    /// A step of an outer loop over units is no multiple of the lanes.
    Unaligned {
        /// The outer loop.
        outer: String,
        /// The step of the outer loop.
        step: i64,
        /// Lanes of the vector.
        lanes: u32,
    },
}
