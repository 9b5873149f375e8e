//! Chooses the traversal of each leaf loop.

use super::{CopyPlan, RowTable};
use crate::budget::FetchCosts;
use crate::lir::Scalar;
use crate::mir::Walks;
use crate::quantize::encode::TAIL;
use crate::quantize::fetch::{FetchStrategy, MOST_LOOKUP_NODES};
use crate::repr::traverse::{StepCounts, Traversal, packed_rows};
use crate::repr::{FormatInfo, NodeFormat, Representation, RowVectorTraversal, TestMasks};
use sched_nest::Axis;
use std::ops::Range;

/// Bytes of the longest row that is looked up as a table: four registers of 512 bits.
const MOST_ROW_TABLE_BYTES: i64 = 256;
/// Bins of the longest row that a test mask looks up: one register of 64 bytes.
const MOST_MASK_BINS: i64 = 64;
/// Number of top levels that packed rows walk together, unless `speculateWalk` gives a number. Deeper levels
/// have more nodes than a word has rows.
const DEFAULT_PACKED_LEVELS: u32 = 3;
/// Fewest lanes of a vector for which node numbers are bytes: 16 bytes fill the shortest vector register.
pub const LEAST_BYTE_LANES: u32 = 16;
/// Depth, in steps, of the deepest trees for which a test mask is used. The number of tests doubles with each
/// step.
const MOST_MASK_STEPS: u32 = 8;

/// The form of the rows that a leaf loop reads.
#[derive(Clone, Copy, Debug)]
pub struct RowForm {
    /// Type of a value or bin.
    pub element: Scalar,
    /// Number of values or bins of a row.
    pub columns: i64,
    /// The copy that the rows are read from; the default if they are the call's.
    pub copy: CopyPlan,
}

/// The properties of a leaf loop on which its traversal depends.
#[derive(Clone, Copy)]
pub struct WalkInfo<'a> {
    /// The leaf loop.
    pub walks: &'a Walks,
    /// The form of the rows that the loop reads.
    pub rows: RowForm,
    /// Format of the trees that the loop walks.
    pub format: NodeFormat,
    /// Whether the loop runs in a thread of a GPU, which has no look-ups in registers.
    pub in_launch: bool,
    /// If all trees are single linear leaves, the columns of [`Traversal::Dense`].
    pub dense_columns: Option<&'a Option<Vec<Range<u32>>>>,
    /// The costs of fetching operands on the machine.
    pub fetch: &'a FetchCosts,
    /// Edges from the root to the deepest leaf of all trees in the loop's storage.
    pub deepest: u32,
}

impl WalkInfo<'_> {
    /// The traversal that the loop's format, vectors and rows allow.
    pub fn traversal(&self) -> Traversal {
        let vectors = self.walks.lanes > 1;
        let rows = self.walks.over == Axis::Row;
        if let Some(columns) = self.dense_columns.filter(|columns| self.adds_densely(columns.is_some())) {
            return Traversal::Dense { columns: columns.clone() };
        }
        let format = self.format.info();
        if format.holds_tiles {
            return Traversal::NodeTiles;
        }
        match format.row_vectors.filter(|_| vectors && rows) {
            Some(RowVectorTraversal::NodeSweep) => Traversal::NodeSweep,
            Some(RowVectorTraversal::LevelLookup) => self.level_lookup(),
            Some(RowVectorTraversal::LevelTests) => {
                Traversal::LevelTests { bytes: self.numbers_nodes_in_bytes() }
            }
            None if self.uses_test_mask(format) => Traversal::TestMask,
            None if vectors && !rows => Traversal::TreeLanes,
            None if format.packs_rows && self.packs_rows() => Traversal::PackedRows,
            None => Traversal::PointerChase,
        }
    }

    /// Whether the walks of a group add their linear leaves as one sum of products. Trees in the lanes of a
    /// vector must add the same columns.
    fn adds_densely(&self, shares_columns: bool) -> bool {
        let trees_in_lanes = self.walks.lanes > 1 && self.walks.over == Axis::Tree;
        !self.in_launch && (shares_columns || !trees_in_lanes)
    }

    /// Whether four neighbouring rows, whose bins are the bytes of a word, walk the first levels at once.
    fn packs_rows(&self) -> bool {
        let together = self.walks.packed_rows as usize == packed_rows::ROWS_PER_WORD;
        together && self.rows.copy.is_shared && self.rows.element == Scalar::I8
    }

    /// Whether all tests of a tree are made at once for one row.
    fn uses_test_mask(&self, format: &FormatInfo) -> bool {
        let fits = match format.test_masks {
            TestMasks::NoTrees => false,
            TestMasks::AllTrees => true,
            TestMasks::SmallTrees => {
                let bytes = self.rows.element == Scalar::I8 && self.rows.columns <= 1 << 8;
                bytes && self.walks.steps.to_leaf().is_some_and(|steps| steps <= MOST_MASK_STEPS)
            }
        };
        fits && self.walks.over == Axis::Tree && self.walks.lanes == 1 && self.bins_in_register()
    }

    /// Whether the bins of a row fit one register.
    fn bins_in_register(&self) -> bool {
        let RowForm { element, columns, .. } = self.rows;
        element == Scalar::I8 && columns <= MOST_MASK_BINS && self.fitting_row_table().is_some()
    }

    /// Whether vectors of rows keep their node numbers in bytes, as bins are.
    fn numbers_nodes_in_bytes(&self) -> bool {
        let wide = self.walks.lanes >= LEAST_BYTE_LANES;
        wide && self.rows.element == Scalar::I8 && self.deepest <= u8::BITS
    }

    fn level_lookup(&self) -> Traversal {
        let adjacent = self.rows.copy.block_rows == Some(self.walks.lanes);
        let bytes = self.numbers_nodes_in_bytes();
        let strategy = |level: u32| {
            let nodes = 1u64 << level.min(40);
            if nodes > MOST_LOOKUP_NODES {
                FetchStrategy::GatherNodes
            } else if adjacent && bytes {
                let (columns, lanes) = (self.rows.columns as u32, self.walks.lanes as u16);
                FetchStrategy::cheapest_for_bins(self.fetch, nodes, columns, lanes)
            } else if adjacent {
                FetchStrategy::cheapest_for_values(
                    self.fetch,
                    nodes,
                    self.walks.lanes as u16,
                    self.rows.element.bytes() as u16,
                )
            } else {
                FetchStrategy::Gather
            }
        };
        Traversal::LevelLookup { bytes, fetch: (0..self.walks.steps.straight).map(strategy).collect() }
    }

    /// The row as a table, if all lanes of a traversal read one row.
    pub fn row_table(&self, traversal: &Traversal) -> Option<RowTable> {
        let looks_up = match traversal {
            Traversal::TreeLanes | Traversal::TestMask | Traversal::NodeTiles => true,
            Traversal::PointerChase
            | Traversal::PackedRows
            | Traversal::LevelLookup { .. }
            | Traversal::LevelTests { .. }
            | Traversal::Dense { .. }
            | Traversal::NodeSweep => false,
        };
        if looks_up { self.fitting_row_table() } else { None }
    }

    /// The row as a table in registers. `None` on a GPU, without contiguous rows, or if the row has more than
    /// `MOST_ROW_TABLE_BYTES` bytes.
    fn fitting_row_table(&self) -> Option<RowTable> {
        let RowForm { element, columns, copy } = self.rows;
        if self.in_launch || copy.block_rows.is_some() {
            return None;
        }
        let length = (columns.max(2) as u64).next_power_of_two() as i64;
        if length * i64::from(element.bytes()) > MOST_ROW_TABLE_BYTES {
            return None;
        }
        // Bins can be read beyond the row's end.
        let needs_mask = length != columns && !(element == Scalar::I8 && length <= TAIL);
        Some(RowTable { length: length as u16, needs_mask })
    }

    /// The steps of walks. Speculation needs layouts that number nodes by level. Packed rows always speculate
    /// the first levels. All steps down complete levels are straight-line.
    pub fn steps(&self, traversal: &Traversal, layout: &dyn Representation) -> StepCounts {
        let level_order = layout.level_order().is_some();
        let steps = match layout.complete_levels() {
            Some(levels) => self.walks.steps.with_straight(levels, self.deepest),
            None => self.walks.steps,
        };
        let speculated = match (traversal, steps.speculated) {
            _ if !level_order => 0,
            (Traversal::PackedRows, 0) => DEFAULT_PACKED_LEVELS.min(steps.straight),
            (Traversal::PackedRows, requested) => requested.min(packed_rows::MOST_PACKED_LEVELS),
            (_, requested) => requested,
        };
        let most = layout.complete_levels().unwrap_or(u32::MAX);
        StepCounts { speculated: speculated.min(most), ..steps }
    }
}
