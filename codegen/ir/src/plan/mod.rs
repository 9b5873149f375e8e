//! The plan: the algorithm of each loop, and the bytes that it works on.
//!
//! MIR fixes the computation and its order, and LIR is the code. The plan is between them. It takes, once and
//! as plain data, the decisions that change speed and not results: the storage of trees ([`StoredTrees`]),
//! the traversal of each leaf loop ([`WalkPlan`]), and the arrangement of copies of rows ([`CopyPlan`]).
//! [`build()`] makes it. Nothing changes it afterwards, and lowering takes no such decision.
//!
//! The decisions are taken in this order, each from the earlier ones:
//!
//! 1. `copies`: which copies of rows are transposed, and which also copy the rows' sums. For these, `margins`
//!    decides whether leaf vectors are added margin by margin.
//! 2. `subset`: which features copies hold. Shared copies of values hold those that some walk reads, if these
//!    are not all.
//! 3. `transfer`: whether the host sends rows to a device as bins. `outline` holds this decision and those of
//!    `copies` for each variant. One transfer for all variants is fixed before any plan is built.
//! 4. `storage`: the storage that suits the leaf loops, and a fallback if it does not hold their trees.
//! 5. `traversal`: how each leaf loop walks its storage, how vectors of rows fetch bins, and whether a row
//!    becomes a look-up table in registers.
//! 6. `sums`: how leaf values are added up, and how many vectors are interleaved for remainder rows.

mod build;
mod copies;
mod dense;
mod margins;
mod outline;
mod print;
mod stages;
mod storage;
mod subset;
mod sums;
mod transfer;
mod traversal;

pub use build::{Setting, build};
pub use outline::common_transfer;

use crate::columns::stage::ColumnStage;
use crate::lir::{BinTransfer, Scalar};
use crate::mir::{CacheId, ThreadSumsId, WalkId, WalkRange};
use crate::repr::traverse::{StepCounts, Traversal};
use crate::repr::{BoxedLayout, NodeFormat, Storage};
use crate::rows::features::FeatureSubset;
use std::collections::BTreeMap;

/// The plan of one nest.
pub struct Plan {
    /// The storages of trees that the nest's leaf loops walk.
    pub storages: BTreeMap<Storage, StoredTrees>,
    /// The leaf loops.
    pub walks: BTreeMap<WalkId, WalkPlan>,
    /// The copies of rows.
    pub copies: BTreeMap<CacheId, CopyPlan>,
    /// Rows of each [`crate::mir::ThreadSums`] whose sums its thread keeps in registers. Other sums are in
    /// memory.
    pub thread_sums: BTreeMap<ThreadSumsId, ThreadRegisterSums>,
    /// The features of copies that do not hold all features, if there are such copies. All of them have the
    /// same features, so that they share storages.
    pub subset: Option<FeatureSubset>,
    /// The transfer of host rows to a device as bins, if the host quantizes them. It is the same in all
    /// variants that transfer bins.
    pub transfer: Option<BinTransfer>,
    /// Whether a call may pass its rows as input columns: only copies of rows read the input, and they can be
    /// filled from columns.
    pub takes_columns: bool,
    /// Largest number of rows of a run; calls of more rows are cut into several runs.
    pub rows_per_run: Option<i64>,
    /// The type of indices.
    pub index: Scalar,
    /// Number of columns that say, for a set of categories, whether a row's category is in it.
    pub set_columns: u64,
    /// The stages whose results are columns, in the order in which a row passes them. Empty without columns.
    pub column_stages: Vec<ColumnStage>,
    /// Bytes of a vector register of the host.
    pub register_bytes: u32,
}

/// Sums that a thread keeps in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadRegisterSums {
    /// Number of adjacent rows.
    pub rows: i64,
}

/// Trees that share a storage.
pub struct StoredTrees {
    /// For each tree of the forest, whether the storage has it.
    pub has_tree: Vec<bool>,
    /// The format that suits the leaf loops, if it cannot hold the trees and this storage replaces it.
    pub rejected_format: Option<NodeFormat>,
    /// Encodes the trees as tables, and emits the code that reads them.
    pub layout: BoxedLayout,
    /// Bytes of the tables.
    pub bytes: u64,
    /// Identifies the tables: storages of one forest with the same key have the same tables.
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
    /// The steps of walks; unused by traversals that visit all nodes.
    pub steps: StepCounts,
    /// The row as a look-up table in registers, if all lanes of a vector read one row that is short enough.
    pub row_table: Option<RowTable>,
    /// Whether sums are in a register, and otherwise how many leaf values are added at a time.
    pub sums: SumAccess,
    /// Number of vectors whose walks are interleaved if rows fill fewer vectors than a group has: vectors of
    /// several trees make up the number (`unrollAndJam`). 1 without `unrollAndJam`.
    pub unroll_and_jam: u32,
}

impl WalkPlan {
    /// Whether the trees are single linear leaves, whose terms are added as one sum of products.
    pub fn is_dense(&self) -> bool {
        matches!(self.traversal, Traversal::Dense { .. })
    }
}

/// A row as a look-up table in vector registers, indexed by feature or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTable {
    /// Number of entries, a power of two.
    pub length: u16,
    /// Whether a mask must limit the load, since the table is longer than the readable part of the row.
    pub needs_mask: bool,
}

/// The way in which leaf values are added to sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumAccess {
    /// In a register: one row with one margin, or with all margins if leaves are vectors.
    Register,
    /// A vector of rows at a time, whose sums are adjacent in memory. The remainder of a loop is a masked
    /// vector. Leaf vectors are added margin by margin.
    RowVector,
    /// One leaf vector at a time, to all margins of its row.
    LeafVector,
    /// One value at a time.
    EachValue,
}

/// The arrangement of a copy of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyPlan {
    /// Rows of a transposed block. `None` if the copy has no blocks: it is then row-major, unless threads
    /// share it.
    pub block_rows: Option<u32>,
    /// Whether the sums of the rows are copied, too, in blocks of as many rows, and written back after the
    /// copy's last walk.
    pub copies_sums: bool,
    /// Whether the threads of a GPU block share the copy. It is then column-major over all its rows.
    pub is_shared: bool,
    /// Whether neighbouring rows of a shared copy of bins are in different words, so that neighbouring
    /// threads read different banks of shared memory. Otherwise the bins of neighbouring rows are adjacent
    /// bytes.
    pub spreads_rows: bool,
    /// Whether a shared copy of values holds the features of [`Plan::subset`] alone. Otherwise it holds all
    /// features, or columns that the block computes.
    pub holds_tested: bool,
}

impl CopyPlan {
    /// Whether a copy of values has the features of [`Plan::subset`] instead of all features.
    pub fn holds_subset(&self) -> bool {
        self.block_rows.is_some() || self.holds_tested
    }
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
