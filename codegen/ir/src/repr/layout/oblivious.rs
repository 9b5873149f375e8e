//! The oblivious layout: one test for each level of a tree, which all nodes of the level make.
//!
//! A test is a threshold bin and the column of the bins that it is compared with ([`BinMap`]). Every
//! tree has as many levels as the deepest one; tests of missing levels lead left. Node numbers are
//! those of a complete tree: the root is 1, the children of `n` are `2n` and `2n + 1`. The leaf is
//! looked up by the number; nothing else depends on a walk's position.

use crate::codes;
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::{Builder, Cast, Scalar, Ty, Value};
use crate::quantize::BinMap;
use crate::repr::complete::{CompleteTrees, PaddedDepths};
use crate::repr::cursor::{Cursor, Step};
use crate::repr::format_traits::{RowVectorTraversal, TransposedBins};
use crate::repr::layout::{FormatInfo, Formats};
use crate::repr::leaves::Leaves;
use crate::repr::records::TableNames;
use crate::repr::representation::{Representation, WalkEnd};
use crate::repr::request::LayoutRequest;
use crate::repr::schema::{Field, Schema, TableBytes};
use crate::repr::spans::{RecordSpan, TreeSpans};
use crate::repr::test::{Test, bin_goes_right};
use crate::repr::traverse::Lane;
use crate::repr::tree::{Buffers, TreeExtra, TreeLanes, TreeState, WalkShape};
use crate::repr::tree_tables::InOrder;
use crate::rows::RowAddress;
use sched_forest::Forest;
use sched_nest::Layout;

/// Trees as one test per level, and leaves.
pub struct Oblivious {
    schema: Schema,
    test: Test,
    trees: CompleteTrees,
    /// Tests per tree.
    levels: u64,
    threshold_bin: Field,
    column: Field,
}

/// The formats of the layout.
pub const FORMATS: Formats = Formats {
    all: &[FormatInfo {
        row_vectors: Some(RowVectorTraversal::LevelTests),
        transposed_bins: TransposedBins::RowVectors,
        ..FormatInfo::new("one test for each level, threshold bins and columns in tables", |request| {
            Ok(Box::new(Oblivious::new(request)?))
        })
    }],
    for_access: |_| 0,
};

/// Bits of a test that hold the threshold bin.
const BIN_BITS: u32 = 16;

const NAMES: TableNames = TableNames {
    nodes: "oblivious_leaves",
    trees: "oblivious_trees",
    leaf_indices: "oblivious_leaf_indices",
};

impl Oblivious {
    /// The layout for a forest whose used trees are oblivious.
    ///
    /// # Errors
    ///
    /// If a tree is not oblivious, if there are too many leaves, or if the forest has no bins.
    pub fn new(request: &LayoutRequest) -> Result<Oblivious, CompileError> {
        let Some(bins) = request.bins else { return Err(BinMap::no_bins_error()) };
        let mut used = request.forest.trees.iter().zip(request.used).filter(|(_, used)| **used);
        if let Some((tree, _)) = used.find(|(tree, _)| !tree.is_oblivious()) {
            return Err(not_oblivious(tree.source));
        }
        let depths = PaddedDepths::of(request);
        let levels = u64::from(depths.max_depth());
        let starts = depths.tree_starts()?;
        let tests = levels.saturating_mul(request.forest.trees.len() as u64);
        let mut schema = Schema::default();
        let table = schema.add_table("oblivious_tests", Scalar::I32, 4, tests);
        let threshold_bin = schema.add_field(table, "bin", bins.element(), 0);
        let column = schema.add_field(table, "column", Scalar::I16, BIN_BITS / 8);
        let test = Test::of(request, Layout::Oblivious);
        let trees = CompleteTrees::declare(request, &mut schema, NAMES, depths, starts);
        Ok(Oblivious { schema, test, trees, levels, threshold_bin, column })
    }

    /// Whether each row goes right at a level of its tree.
    fn rows_go_right(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        tests: &TreeState,
        row: &RowAddress,
        (level, width): (u32, u16),
    ) -> Value {
        let level = b.int(level.into());
        let threshold_bin = self.threshold_bin.load(b, buffers, tests, level);
        let column = self.column.load(b, buffers, tests, level);
        let (bin, ty) = if row.is_adjacent() {
            let column = b.to_index(column);
            (row.load_column(b, column, width), Ty::of(self.threshold_bin.scalar))
        } else if width > 1 {
            let column = b.cast(Cast::ZExt, column, Ty::of(Scalar::I32));
            let column = b.splat(column, width);
            (row.load(b, column), Ty::of(Scalar::I32))
        } else {
            let column = b.to_index(column);
            (row.load(b, column), b.index())
        };
        let threshold_bin = b.cast(Cast::ZExt, threshold_bin, ty);
        let threshold_bin = b.splat(threshold_bin, width);
        bin_goes_right(b, bin, threshold_bin)
    }

    /// Whether the row goes right at a level, for each tree of a vector.
    fn trees_go_right(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        tests: &TreeState,
        row: &RowAddress,
        level: u32,
    ) -> Value {
        let level = tests.number(b, level.into());
        let word = self.threshold_bin.with_scalar(Scalar::I32).load(b, buffers, tests, level);
        let (threshold_bin, column) =
            (b.extract_bits(word, 0, BIN_BITS), b.extract_bits(word, BIN_BITS, 32 - BIN_BITS));
        let bin = row.load(b, column);
        bin_goes_right(b, bin, threshold_bin)
    }
}

fn not_oblivious(tree: u32) -> CompileError {
    CompileError::new(
        codes::NOT_OBLIVIOUS,
        format!("tree {tree} makes several tests on one level, or its leaves are not as deep as each other"),
        "use representation(quantized), which holds any trees",
    )
}

impl Representation for Oblivious {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        self.trees.fill(forest, bytes, |_, _, _| {});
        for (at, tree) in forest.trees.iter().enumerate() {
            let mut tests = tree.level_tests().unwrap_or_default().into_iter();
            let first = at * self.levels as usize;
            for entry in first..first + self.levels as usize {
                match tests.next().map(|inner| self.test.encode(inner, u32::BITS)) {
                    Some(test) => {
                        self.threshold_bin.write_operand(bytes, entry, test.operand);
                        self.column.write(bytes, entry, test.feature);
                    }
                    // No bin exceeds the largest one, so every row goes left.
                    None => self.threshold_bin.write(bytes, entry, u64::MAX),
                }
            }
        }
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        // All walks are straight-line to the leaf.
        let Step::Level { level, .. } = step else { return at.clone() };
        let level = if seeded(Fault::LevelRepeated) { level.saturating_sub(1) } else { level };
        let TreeExtra::Tests { first, lanes } = lane.state.extra else { return at.clone() };
        let tests = TreeState { base: first, lanes, extra: TreeExtra::Nothing };
        let width = b.ty(at.node).lanes;
        let right = match lanes {
            None => self.rows_go_right(b, buffers, &tests, &lane.row, (level, width)),
            Some(_) => self.trees_go_right(b, buffers, &tests, &lane.row, level),
        };
        at.descend(b, right)
    }

    fn leaves_looked_up(&self, b: &Builder, end: WalkEnd) -> Option<u64> {
        CompleteTrees::leaves_looked_up(b, end)
    }

    fn records_of_tree(&self, b: &mut Builder, _: &TreeState, leaves: u64) -> Option<Value> {
        Some(CompleteTrees::records(b, leaves))
    }

    fn leaf_record(&self, b: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        self.trees.leaf_record(b, state, end)
    }

    fn leaves(&self) -> &Leaves {
        &self.trees.leaves
    }
}

impl InOrder for Oblivious {
    fn tree_spans(&self) -> TreeSpans<'_> {
        self.trees.spans(&self.schema)
    }

    fn spans_beside(&self, trees: u64) -> Option<Vec<RecordSpan>> {
        Some(
            RecordSpan::of_equal(&self.schema, self.threshold_bin.table(), self.levels, trees)
                .into_iter()
                .collect(),
        )
    }

    fn load_extra(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        tree: Value,
        _: Value,
        _: WalkShape,
    ) -> TreeExtra {
        let tree = buffers.index_of_tree(b, tree);
        TreeExtra::Tests { first: b.mul_int(tree, self.levels as i64), lanes: None }
    }

    fn load_extra_of_trees(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        tree: Value,
        lanes: TreeLanes,
    ) -> TreeExtra {
        let tree = buffers.index_of_tree(b, tree);
        let first = b.mul_int(tree, self.levels as i64);
        let levels = b.int_of(b.ty(lanes.distance), self.levels as i64);
        TreeExtra::Tests { first, lanes: Some(b.mul(lanes.distance, levels)) }
    }
}
