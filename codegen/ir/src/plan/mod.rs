//! The plan: the algorithm of each loop, and the bytes that it works on.
//!
//! MIR fixes the computation and its order, and LIR is the code. The plan is between them. It takes, once and
//! as plain data, the decisions that change speed and not results: the storage of trees ([`Stored`]), the
//! traversal of each leaf loop ([`WalkPlan`]), and the arrangement of copies of rows ([`CopyPlan`]).
//! [`build()`] makes it. Nothing changes it afterwards, and lowering takes no such decision.
//!
//! The decisions are taken in this order, each from the earlier ones:
//!
//! 1. `copies`: which copies of rows are transposed, and which have their sums beside them. `margins` decides
//!    for these whether leaf vectors are added margin by margin.
//! 2. `transfer`: whether rows travel to a device as bins. `outline` has this and the copies; the transfer is
//!    agreed on by all variants before the plan of any is built.
//! 3. `storage`: the storage that the leaf loops ask for, and a fallback if it does not hold their trees.
//! 4. `traversal`: how each leaf loop walks its storage, how bins are fetched, whether the row is a table.
//! 5. `sums`: how leaves are added up, and how many trees are walked together if rows are few.

mod build;
mod copies;
mod dense;
mod margins;
mod outline;
mod print;
mod stages;
mod storage;
mod sums;
mod transfer;
mod traversal;

pub use build::{Setting, build};
pub use outline::common_transfer;

use crate::columns::arrangement::Arrangement;
use crate::lir::{BinTransfer, Scalar};
use crate::mir::{CacheId, ThreadSumsId, WalkId, WalkRange};
use crate::repr::traverse::{Steps, Traversal};
use crate::repr::{Format, Layout, Storage};
use crate::rows::features::FeatureSubset;
use std::collections::BTreeMap;

/// The plan of one nest.
pub struct Plan {
    /// The storages of trees.
    pub storages: BTreeMap<Storage, Stored>,
    /// The leaf loops.
    pub walks: BTreeMap<WalkId, WalkPlan>,
    /// The copies of rows.
    pub copies: BTreeMap<CacheId, CopyPlan>,
    /// The sums that threads keep in registers; others are in memory.
    pub thread_sums: BTreeMap<ThreadSumsId, KeptRows>,
    /// The features of transposed copies, if there are any. All copies have the same features, so that they
    /// share storages.
    pub subset: Option<FeatureSubset>,
    /// The transfer of host rows to a device as bins, if they travel as bins. All variants that take part
    /// have the same.
    pub transfer: Option<BinTransfer>,
    /// Whether the rows of a call may be columns: only copies read them, which can be filled from columns.
    pub takes_columns: bool,
    /// Most rows of a run; longer calls are cut into several runs.
    pub rows_per_run: Option<i64>,
    /// The type of indices.
    pub index: Scalar,
    /// Number of columns of a row that each stand for one set of categories.
    pub set_columns: u64,
    /// The arrangement of each layer of columns, in the order of layers; `None` if no stage of the schedule
    /// arranges it, so that register tiles compute it. Empty without columns.
    pub arrangements: Vec<Option<Arrangement>>,
    /// Bytes of a vector register of the host.
    pub register: u32,
}

/// Sums that a thread keeps in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptRows {
    /// Number of adjacent rows.
    pub rows: i64,
}

/// Trees that share a storage.
pub struct Stored {
    /// Whether each tree is among them.
    pub trees: Vec<bool>,
    /// The format that their leaf loops asked for, if it does not hold the trees.
    pub instead_of: Option<Format>,
    /// Tables of the trees, and the code that reads them.
    pub layout: Layout,
    /// Bytes of the tables.
    pub bytes: u64,
    /// The key of the tables among those of the forest.
    pub key: String,
}

/// The plan of a leaf loop.
#[derive(Clone, Debug, PartialEq)]
pub struct WalkPlan {
    /// Name of the loop in the schedule.
    pub name: String,
    /// Storage of the trees that the loop walks.
    pub storage: Storage,
    /// The traversal of the storage.
    pub traversal: Traversal,
    /// The steps of walks, unless the traversal visits all nodes.
    pub steps: Steps,
    /// The table of the single row of a vector of trees or of a tile's tests, if the row is looked up as one.
    pub row_table: Option<RowTable>,
    /// The access to the sums that leaves are added to.
    pub sums: SumAccess,
    /// Vectors, of several trees, that advance together if rows are few. 1 if there are none of several
    /// trees.
    pub unroll_and_jam: u32,
}

impl WalkPlan {
    /// Whether walks add the terms of trees of one leaf together.
    pub fn is_dense(&self) -> bool {
        matches!(self.traversal, Traversal::Dense { .. })
    }
}

/// A row as a look-up table, indexed by feature or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTable {
    /// Number of entries, a power of two.
    pub length: u16,
    /// Whether the table is longer than the readable part of the row.
    pub masked: bool,
}

/// The access to sums that leaves are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumAccess {
    /// In a register: one row with one margin, or with all margins if leaves are vectors.
    Register,
    /// A vector of rows at a time, whose sums are adjacent in memory. The remainder of a loop is a masked
    /// vector. Leaf vectors are added margin by margin.
    Vector,
    /// One leaf vector at a time, to all margins of its row.
    Margins,
    /// One value at a time.
    Each,
}

/// The arrangement of a copy of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyPlan {
    /// Rows of a transposed block. `None` if the copy is row-major.
    pub blocks: Option<u32>,
    /// Whether the sums of the rows are copied, too, in the same blocks, and written back at the end.
    pub sums: bool,
    /// Whether the threads of a block share it. It is then column-major over all its rows.
    pub shared: bool,
    /// Whether each row has words of its own, so that neighbouring threads read different banks of shared
    /// memory. Otherwise the bins of neighbouring rows are neighbouring bytes.
    pub spread: bool,
}

impl Plan {
    /// The distinct storages of a range of leaf loops.
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
