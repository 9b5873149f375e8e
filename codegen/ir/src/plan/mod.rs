//! The plan: which algorithm runs, and on which bytes.
//!
//! MIR says what is computed in which order; LIR is the code. Between them the plan decides, once and as
//! plain data, all that a machine cares about and a result does not: how trees are stored ([`Stored`]), how
//! each leaf loop walks them ([`WalkPlan`]), and how copies of rows lie ([`CopyPlan`]). [`build()`] makes it.
//! Lowering obeys and asks nobody.
//!
//! The decisions are taken in this order, each from those before it:
//!
//! 1. `copies`: which copies of rows are transposed, and which have their sums beside them.
//! 2. `storage`: the storage that the leaf loops want, and the one that they get where trees do not fit it.
//! 3. `traversal`: how each leaf loop walks its storage, how bins are fetched, whether the row is a table.
//! 4. `sums`: how leaves are added up, and how many trees are walked together where rows are few.
//! 5. `transfer`: whether rows travel to a device as bins.
//! 6. `margins`: whether leaf vectors are added margin by margin.

mod build;
mod copies;
mod margins;
mod print;
mod shared_trees;
mod storage;
mod sums;
mod transfer;
mod traversal;

pub use build::build;
pub use transfer::of_all as common_transfer;

use crate::lir::{BinTransfer, Scalar};
use crate::mir::{CacheId, ThreadSumsId, WalkId, WalkRange};
use crate::repr::traverse::{Steps, Traversal};
use crate::repr::{Format, Layout, Storage};
use crate::rows::features::FeatureSubset;
use std::collections::BTreeMap;

/// The plan of one nest.
pub struct Plan {
    /// How trees are stored.
    pub storages: BTreeMap<Storage, Stored>,
    /// The leaf loops.
    pub walks: BTreeMap<WalkId, WalkPlan>,
    /// The copies of rows.
    pub copies: BTreeMap<CacheId, CopyPlan>,
    /// The sums of a thread that it keeps; others are in memory.
    pub thread_sums: BTreeMap<ThreadSumsId, KeptRows>,
    /// The features of transposed copies, if there are any: one set for all, so that a storage serves all of
    /// them.
    pub subset: Option<FeatureSubset>,
    /// Whether rows of the host travel to a device as bins. Where there are several variants, it is what those that read bins
    /// have in common.
    pub transfer: Option<BinTransfer>,
    /// Whether the rows of a call may be columns: all that reads them is copies, which are filled from either.
    pub takes_columns: bool,
    /// A call must be cut into runs of at most this many rows.
    pub rows_per_run: Option<i64>,
    /// The type of indices.
    pub index: Scalar,
    /// Columns of a row that stand for one set of categories each.
    pub set_columns: u64,
}

/// Sums that a thread keeps in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptRows {
    /// Rows, one after the other.
    pub rows: i64,
}

/// Trees that are stored in one way.
pub struct Stored {
    /// Which trees.
    pub trees: Vec<bool>,
    /// The format that their leaf loops wanted, if that does not hold the trees.
    pub instead_of: Option<Format>,
    /// Their tables and code.
    pub layout: Layout,
    /// Bytes of the tables.
    pub bytes: u64,
}

/// How a leaf loop runs.
#[derive(Clone, Debug, PartialEq)]
pub struct WalkPlan {
    /// The loop's name in the schedule.
    pub name: String,
    /// How its trees are stored.
    pub storage: Storage,
    /// How they are walked.
    pub traversal: Traversal,
    /// The steps of walks that take steps.
    pub steps: Steps,
    /// Whether the one row of a vector of trees, or of a tile's tests, is looked up as a table.
    pub row_table: Option<RowTable>,
    /// How leaves are added up.
    pub sums: SumAccess,
    /// Where rows are few: how many vectors of several trees advance together. 1 for those of one tree.
    pub unroll_and_jam: u32,
}

/// A row as a table that is looked up by the numbers of features or columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTable {
    /// Its entries, a power of two.
    pub length: u16,
    /// Whether it reaches beyond what can be read of the row.
    pub masked: bool,
}

/// How leaves are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumAccess {
    /// In a register: one row, one margin, or all margins where leaves are vectors.
    Register,
    /// A vector of rows at a time: their sums are one piece of memory. What is left of a loop is a vector
    /// with a mask. Leaf vectors are added margin by margin.
    Vector,
    /// A leaf vector at a time, to all margins of its row.
    Margins,
    /// One by one.
    Each,
}

/// How a copy of rows lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyPlan {
    /// Rows of a block, within which the copy lies feature by feature; rows lie one after the other if there
    /// is none.
    pub blocks: Option<u32>,
    /// Whether the sums of the rows are copied too, in the same blocks, and written back at the end.
    pub sums: bool,
    /// Whether the threads of a block share it. It lies feature by feature then, all rows in one piece.
    pub shared: bool,
    /// Whether neighbouring rows are in words of their own, so that threads read different banks of shared memory. Else
    /// the bins of neighbouring rows are neighbouring bytes.
    pub spread: bool,
}

impl Plan {
    /// The storages of some leaf loops, each once.
    pub fn storages_of(&self, walks: &WalkRange) -> Vec<Storage> {
        let mut storages = Vec::new();
        for storage in walks.ids().filter_map(|walk| Some(self.walks.get(&walk)?.storage)) {
            if !storages.contains(&storage) {
                storages.push(storage);
            }
        }
        storages
    }
}
