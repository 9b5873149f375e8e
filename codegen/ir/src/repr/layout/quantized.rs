//! The quantized layout: the levels layout with threshold bins instead of thresholds, for quantized
//! rows.
//!
//! Nodes are numbered as in the array layout: the root is 1, the children of `n` are `2n` and `2n + 1`.
//! A node is a threshold bin and the column of the bins that it is compared with ([`BinMap`]).
//! Threshold bins and columns have separate tables, indexed by node number, so that a few registers
//! hold a level. For vectors of trees, and for levels that are too long for look-ups, nodes are also stored
//! as words that hold both.
//!
//! A single row whose bins fit a register needs no steps: it makes all tests of a tree at once
//! ([`TestMask`]). For vectors of rows, the plan selects a fetch strategy for each level
//! ([`FetchStrategy`]).
//!
//! Walks must be straight-line down to the leaf, so every tree is padded to one depth.

mod bin_pairs;

use crate::error::CompileError;
use crate::lir::{Bin, Builder, Cast, Cmp, Keep, Scalar, Ty, Value};
use crate::quantize::BinMap;
use crate::quantize::fetch::{FetchStrategy, MOST_LOOKUP_NODES};
use crate::quantize::offsets::ColumnOffsets;
use crate::repr::complete::{CompleteTrees, LEAST_ENTRIES, NodeSlot, PaddedDepths};
use crate::repr::cursor::{Cursor, Step};
use crate::repr::format_traits::{RowVectorTraversal, TestMasks, TransposedBins};
use crate::repr::layout::{FormatInfo, Formats, WalkAxis, Walking};
use crate::repr::leaves::Leaves;
use crate::repr::records::TableNames;
use crate::repr::representation::{Representation, WalkEnd};
use crate::repr::request::LayoutRequest;
use crate::repr::schema::{Field, Schema, TableBytes};
use crate::repr::spans::TreeSpans;
use crate::repr::test::{Test, TestOperand, bin_goes_right};
use crate::repr::traverse::Lane;
use crate::repr::traverse::speculate::{LevelOrder, NodeTest};
use crate::repr::traverse::test_mask::{TestBits, TestMask, TestVectors, WORD, mask};
use crate::repr::tree::{Buffers, TreeExtra, TreeState, WalkShape};
use crate::repr::tree_tables::InOrder;
use crate::rows::RowAddress;
use bin_pairs::BinPairs;
use sched_forest::Forest;
use sched_nest::Layout;
use std::sync::Arc;

/// Trees as tables of threshold bins, columns and leaves.
pub struct Quantized {
    schema: Schema,
    bins: Arc<BinMap>,
    test: Test,
    trees: CompleteTrees,
    /// Whether threshold bins and columns have separate tables.
    has_tables: bool,
    /// Whether nodes are also stored as words, for levels without look-up.
    has_words: bool,
    /// Field with threshold bin and column of a node.
    word: Field,
    threshold_bin: Field,
    column: Field,
    /// Table of the offsets of the columns that the first nodes of each tree test ([`ColumnOffsets`]).
    offset: Field,
    offsets: ColumnOffsets,
}

/// Index of the format with threshold bin and column of a node packed into 32 bits.
const BIN_WORDS: usize = 0;
/// Index of the format with a table of threshold bins and one of columns.
const BIN_TABLES: usize = 1;
/// Index of the format with nodes of 16 bits, for threads of a GPU.
const BIN_PAIRS: usize = 2;

/// The formats of the layout.
pub const FORMATS: Formats = Formats {
    all: &[
        FormatInfo::new("complete trees in level order, threshold bins and columns in words", |request| {
            Ok(Box::new(Quantized::words(request)?))
        }),
        FormatInfo {
            row_vectors: Some(RowVectorTraversal::LevelLookup),
            test_masks: TestMasks::SmallTrees,
            packs_rows: true,
            transposed_bins: TransposedBins::Always,
            for_shared_rows: Some(BIN_PAIRS),
            ..FormatInfo::new(
                "complete trees in level order, threshold bins and columns in tables",
                |request| Ok(Box::new(Quantized::tables(request)?)),
            )
        },
        FormatInfo {
            fallback: Some((BinPairs::fits, BIN_TABLES)),
            packs_rows: true,
            ..FormatInfo::new(
                "complete trees in level order, threshold bins and columns in 16 bits",
                |request| Ok(Box::new(BinPairs::new(request)?)),
            )
        },
    ],
    for_access: |walking| match walking {
        Walking::Vectors(WalkAxis::Tree) => BIN_WORDS,
        Walking::Single(_) | Walking::Vectors(WalkAxis::Row) => BIN_TABLES,
    },
};

/// Entries of a tree: `size` entries from node `first` on.
#[derive(Clone, Copy)]
struct EntryRange {
    base: Value,
    first: u64,
    size: u64,
}

/// A tree and a vector of rows, whose bins for the tree's nodes are loaded.
#[derive(Clone, Copy)]
struct BinAccess<'a> {
    buffers: &'a Buffers,
    state: &'a TreeState,
    row: &'a RowAddress,
    /// Number of rows of the vector.
    width: u16,
    /// Whether loaded columns may be kept in registers, and for how long.
    keep: Keep,
}

/// A vector of nodes of a level with `size` nodes.
#[derive(Clone, Copy)]
struct LevelNodes {
    node: Value,
    size: u64,
}

const NAMES: TableNames = TableNames {
    nodes: "quantized_leaves",
    trees: "quantized_trees",
    leaf_indices: "quantized_leaf_indices",
};

/// Bits of a word that hold the threshold bin.
const BIN_BITS: u32 = 16;

impl Quantized {
    /// The layout with threshold bins and columns in tables.
    pub fn tables(request: &LayoutRequest) -> Result<Quantized, CompileError> {
        Quantized::new(request, true)
    }

    /// The layout with threshold bins and columns in words.
    pub fn words(request: &LayoutRequest) -> Result<Quantized, CompileError> {
        Quantized::new(request, false)
    }

    /// The layout for a forest whose used trees are complete. With `has_tables`, threshold bins and columns
    /// have tables; otherwise nodes are words.
    fn new(request: &LayoutRequest, has_tables: bool) -> Result<Quantized, CompileError> {
        let Some(bins) = request.bins else { return Err(BinMap::no_bins_error()) };
        let nodes =
            if has_tables { FetchStrategy::first_size_not_by_node(request.fetch, bins.columns()) } else { 0 };
        let depths = PaddedDepths::of(request);
        let starts = depths.tree_starts()?;
        let column = if bins.columns() > 1 << 8 { Scalar::I16 } else { Scalar::I8 };
        let offsets = ColumnOffsets::new(request.forest.trees.len(), nodes, bins.columns());
        let has_words =
            !has_tables || 1u64 << depths.max_depth().saturating_sub(1).min(40) > MOST_LOOKUP_NODES;
        let entries = |wanted: bool| if wanted { starts.count() } else { 0 };
        let mut schema = Schema::default();
        let word = schema.add_number_table("quantized_nodes", Scalar::I32, entries(has_words));
        let threshold_bin = schema.add_number_table("quantized_bins", bins.element(), entries(has_tables));
        let column = schema.add_number_table("quantized_columns", column, entries(has_tables));
        let near = if has_tables { vec![threshold_bin, column] } else { vec![word] };
        near.into_iter().for_each(|field| schema.prefetch_with_trees(field.table()));
        schema.declare_records_of_trees(word.table());
        let offset = schema.add_number_table("quantized_offsets", ColumnOffsets::ELEMENT, offsets.count());
        Ok(Quantized {
            bins: Arc::clone(bins),
            test: Test::of(request, Layout::Quantized),
            trees: CompleteTrees::declare(request, &mut schema, NAMES, depths, starts),
            has_tables,
            has_words,
            word,
            threshold_bin,
            column,
            offset,
            offsets,
            schema,
        })
    }

    /// Loads a tree's first entries of a field. Vectors of walks look up in them for several levels.
    fn load_first_entries(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        field: Field,
        base: Value,
        walks: WalkShape,
    ) -> Value {
        let together = if walks.lanes < 16 { 8 } else { shuffle_entries(field) };
        let all = LEAST_ENTRIES.max(1 << walks.steps.min(30));
        load_entries(b, buffers, field, EntryRange { base, first: 0, size: together.min(all) })
    }

    /// Looks up a field for a vector of nodes: in the first entries of the tree, or in those of the nodes'
    /// level.
    fn look_up(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        base: Value,
        field: Field,
        nodes: LevelNodes,
        first: Value,
    ) -> Value {
        let LevelNodes { node, size } = nodes;
        if size < u64::from(b.ty(first).lanes) {
            return b.lookup(first, node);
        }
        // Loads the level in pieces that one shuffle can look up, since dividing a wider load would take
        // shuffles.
        let piece = size.min(shuffle_entries(field));
        let mut level: Vec<Value> = (size..2 * size)
            .step_by(piece as usize)
            .map(|first| load_entries(b, buffers, field, EntryRange { base, first, size: piece }))
            .collect();
        while level.len() > 1 {
            level = level.chunks_exact(2).map(|pair| b.concat(pair[0], pair[1])).collect();
        }
        b.lookup(level[0], node)
    }

    /// Loads the column of one node of the tree.
    fn column_of(&self, b: &mut Builder, buffers: &Buffers, base: Value, node: u64) -> Value {
        let at = b.address_after(self.column.address(buffers, base), node as i64);
        b.load_index(self.column.scalar, at)
    }

    /// Loads threshold bin and column of nodes from their words, or of a single node from the tables.
    fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        let node = b.to_index(node);
        if !self.has_words {
            let mut load = |field: Field| {
                let value = field.load(b, buffers, state, node);
                b.to_index(value)
            };
            return (load(self.threshold_bin), load(self.column));
        }
        let word = self.word.load(b, buffers, state, node);
        let word = b.to_index(word);
        (b.extract_bits(word, 0, BIN_BITS), b.extract_bits(word, BIN_BITS, 32 - BIN_BITS))
    }

    /// Bins that a vector of adjacent rows compares at their nodes of a level. Loads the column of each of
    /// the level's nodes below `node`, and selects by the remaining decisions as soon as both operands are
    /// loaded.
    fn bins_by_node(&self, b: &mut Builder, access: BinAccess, node: u64, decisions: &[Value]) -> Value {
        let Some((decision, decisions)) = decisions.split_first() else {
            let BinAccess { buffers, state, row, width, keep } = access;
            if let TreeExtra::Tables { offsets: Some(first), .. } = state.extra
                && let Some(bins) =
                    self.offsets.load(b, row, self.offset.address(buffers, first), node, width, keep)
            {
                return bins;
            }
            let column = self.column_of(b, buffers, state.base, node);
            return row.load_column(b, column, width);
        };
        let left = self.bins_by_node(b, access, 2 * node, decisions);
        let right = self.bins_by_node(b, access, 2 * node + 1, decisions);
        b.select(*decision, right, left)
    }

    /// Bins of adjacent rows by column number: loads all columns and selects by the bits of the
    /// numbers.
    fn bins_by_column(&self, b: &mut Builder, access: BinAccess, columns: Value) -> Value {
        let ty = b.ty(columns);
        let last = self.bins.columns().saturating_sub(1);
        let zero = b.int_of(ty, 0);
        let bits: Vec<Value> = (0..u32::BITS - last.leading_zeros())
            .map(|bit| {
                let this = b.int_of(ty, 1 << bit);
                let this = b.bin(Bin::And, columns, this);
                b.cmp(Cmp::Ne, this, zero)
            })
            .collect();
        // Columns in registers across levels and trees would make everything else spill. Reloading is almost
        // free, since selects take operands from memory.
        let keep = b.reload();
        self.select_column(b, BinAccess { keep, ..access }, 0, &bits)
    }

    /// Bins of the columns from `first` on, selected by the bits of the column numbers, lowest bit
    /// first.
    fn select_column(&self, b: &mut Builder, access: BinAccess, first: u32, bits: &[Value]) -> Value {
        let Some((highest, bits)) = bits.split_last() else {
            let column = b.int(first.into());
            return access.row.load_column_with_reuse(b, access.keep, column, access.width);
        };
        let left = self.select_column(b, access, first, bits);
        let half = first + (1 << bits.len());
        if half >= self.bins.columns() {
            return left;
        }
        let right = self.select_column(b, access, half, bits);
        b.select(*highest, right, left)
    }

    /// Threshold bin and bin for a vector of nodes of a level, by the plan's fetch strategy.
    fn look_up_level(
        &self,
        b: &mut Builder,
        access: BinAccess,
        at: &Cursor,
        level: u32,
        fetch: FetchStrategy,
    ) -> (Value, Value) {
        let BinAccess { buffers, state, row, .. } = access;
        let node = at.node;
        let ty = b.ty(node);
        let TreeExtra::Tables { operands, features, .. } = state.extra else {
            return self.gather_nodes(b, buffers, state, row, node);
        };
        if fetch == FetchStrategy::GatherNodes {
            return self.gather_nodes(b, buffers, state, row, node);
        }
        let nodes = LevelNodes { node, size: 1u64 << level };
        let threshold_bin = self.look_up(b, buffers, state.base, self.threshold_bin, nodes, operands);
        let bin = match fetch {
            FetchStrategy::ByNode => self.bins_by_node(b, access, 1, &at.decisions),
            FetchStrategy::ByColumn => {
                let columns = self.look_up(b, buffers, state.base, self.column, nodes, features);
                self.bins_by_column(b, access, columns)
            }
            FetchStrategy::Gather | FetchStrategy::GatherNodes => {
                // A look-up returns elements as wide as its index.
                let wide = ty.with(Scalar::I32);
                let bytes = self.column.scalar == Scalar::I8;
                let node = if bytes { node } else { b.cast(Cast::ZExt, node, wide) };
                let nodes = LevelNodes { node, ..nodes };
                let columns = self.look_up(b, buffers, state.base, self.column, nodes, features);
                let columns = b.cast(Cast::ZExt, columns, wide);
                row.load(b, columns)
            }
        };
        (b.cast(Cast::ZExt, threshold_bin, ty), self.as_node(b, bin, ty))
    }

    /// Gathers threshold bin and bin for a vector of nodes.
    fn gather_nodes(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &RowAddress,
        node: Value,
    ) -> (Value, Value) {
        let ty = b.ty(node);
        let (threshold_bin, column) = self.load(b, buffers, state, node);
        let bin = row.load(b, column);
        (b.cast(Cast::Trunc, threshold_bin, ty), b.cast(Cast::Trunc, bin, ty))
    }

    /// Converts a bin to the type of nodes.
    fn as_node(&self, b: &mut Builder, bin: Value, ty: Ty) -> Value {
        let widens = b.ty(bin).scalar.bytes() < ty.scalar.bytes();
        b.cast(if widens { Cast::ZExt } else { Cast::Trunc }, bin, ty)
    }
}

/// Entries of a field that one shuffle looks up. Shuffles of bytes stay within 128-bit parts of a
/// register.
fn shuffle_entries(field: Field) -> u64 {
    if field.scalar == Scalar::I8 { 16 } else { 32 }
}

/// Loads some entries of a tree.
fn load_entries(b: &mut Builder, buffers: &Buffers, field: Field, run: EntryRange) -> Value {
    let at = b.address_after(field.address(buffers, run.base), run.first as i64);
    b.load(Ty::vector(field.scalar, run.size as u16), at)
}

impl Representation for Quantized {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        self.trees.fill(forest, bytes, |bytes, NodeSlot { tree, number, entry }, inner| {
            let test = self.test.encode(inner, u32::BITS);
            if let Some(at) = self.offsets.entry(tree, number) {
                self.offset.write(bytes, at, self.offsets.of_column(test.feature));
            }
            if self.has_tables {
                self.threshold_bin.write_operand(bytes, entry, test.operand);
                self.column.write(bytes, entry, test.feature);
            }
            if let (true, TestOperand::Bin(threshold_bin)) = (self.has_words, test.operand) {
                self.word.write(bytes, entry, threshold_bin | test.feature << BIN_BITS);
            }
        });
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
    }

    fn test_mask(&self) -> Option<&dyn TestMask> {
        if self.has_tables { Some(self) } else { None }
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        let Lane { state, row, .. } = lane;
        let ty = b.ty(at.node);
        let (threshold_bin, bin) = match step {
            Step::Level { level, fetch: Some(fetch), reloads } => {
                let keep = if reloads { Keep::UntilReload } else { Keep::Invariant };
                let access = BinAccess { buffers, state, row, width: ty.lanes, keep };
                self.look_up_level(b, access, at, level, fetch)
            }
            _ if ty.lanes > 1 => self.gather_nodes(b, buffers, state, row, at.node),
            _ => {
                let (threshold_bin, column) = self.load(b, buffers, state, at.node);
                (threshold_bin, row.load(b, column))
            }
        };
        let right = bin_goes_right(b, bin, threshold_bin);
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

impl InOrder for Quantized {
    fn tree_spans(&self) -> TreeSpans<'_> {
        self.trees.spans(&self.schema)
    }

    fn load_extra(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        tree: Value,
        start: Value,
        walks: WalkShape,
    ) -> TreeExtra {
        if walks.lanes == 1 || !self.has_tables {
            return TreeExtra::Nothing;
        }
        TreeExtra::Tables {
            operands: self.load_first_entries(b, buffers, self.threshold_bin, start, walks),
            features: self.load_first_entries(b, buffers, self.column, start, walks),
            offsets: Some(self.offsets.first(b, tree)),
        }
    }
}

impl LevelOrder for Quantized {
    fn test(&self) -> &Test {
        &self.test
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest {
        let number = state.number(b, number);
        let (operand, feature) = self.load(b, buffers, state, number);
        NodeTest { operand, feature, missing_left: None }
    }
}

impl TestMask for Quantized {
    fn leaf_of(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        bins: Value,
        steps: u32,
    ) -> Value {
        let nodes = LEAST_ENTRIES.max(1 << steps);
        let size = nodes.min(WORD);
        let words = (0..nodes).step_by(size as usize).map(|first| {
            let of_tree = EntryRange { base: state.base, first, size };
            let columns = load_entries(b, buffers, self.column, of_tree);
            let threshold_bins = load_entries(b, buffers, self.threshold_bin, of_tree);
            mask(b, bins, TestVectors { columns, threshold_bins })
        });
        let words = TestBits(words.collect());
        words.follow(b, steps)
    }
}
