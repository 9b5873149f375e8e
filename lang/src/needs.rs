//! What is asked for and is not there, as parts of problems.

use crate::lineage::DirectiveIndex;

/// Something kept in a GPU's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// What asks for it.
    pub step: DirectiveIndex,
    /// Bytes that it takes.
    pub bytes: u64,
}

/// What the trees of a loop need to be walked together where rows are few.
#[derive(Clone, Debug, PartialEq)]
pub enum UnrollAndJamNeeds {
    /// One leaf loop over rows and nothing else inside.
    Rows {
        /// The leaf loops over rows that are farther in.
        leaves: Vec<String>,
    },
    /// A leaf loop that is neither parallel nor expanded and whose rows are not copied one by one.
    Whole {
        /// The leaf loop.
        leaf: String,
        /// What makes it so.
        by: DirectiveIndex,
    },
    /// A leaf loop over adjacent rows.
    Adjacent {
        /// The leaf loop.
        leaf: String,
        /// The distance between its rows.
        stride: i64,
    },
    /// Several vectors of rows that advance together.
    Vectors {
        /// The leaf loop.
        leaf: String,
        /// Whether it has vectors.
        vectors: bool,
        /// Whether several walks advance together.
        several: bool,
    },
}
