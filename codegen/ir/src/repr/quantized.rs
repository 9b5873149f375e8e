//! The quantized layout: the levels layout with ranks in place of thresholds, for rows that are quantized alike.
//!
//! Nodes are numbered as in the array layout: the root is 1, the children of `n` are `2n` and `2n + 1`. A node is the
//! rank of its threshold and the column of the bins that it compares with ([`BinMap`]). Ranks and columns lie in tables of
//! their own, each tree's at its node numbers, so that a few registers hold a level. For vectors of trees, and for levels too
//! long to be looked up, a node is one word with both.
//!
//! A single row whose bins fit a register needs no steps: all tests of a tree are made at once ([`TestMask`]). How a vector of
//! rows fetches its bins is said by the plan, level by level ([`FetchStrategy`]).
//!
//! Walks must be straight-line down to the leaf, so every tree is padded to one depth.

use super::complete::{Complete, SMALLEST, Spot};
use super::cursor::{Cursor, Step, index_type};
use super::representation::{Buffers, LeafValue, Representation, named};
use super::request::Request;
use super::test::Test;
use super::traverse::speculate::{LevelOrder, Node};
use super::traverse::test_mask::{TestBits, TestMask, Tests, WORD, mask};
use super::tree::{At, Loaded, TreeLanes, TreeState, WalkShape};
use crate::bytes::write_int;
use crate::error::CompileError;
use crate::lir::{Address, Bin, Builder, Cast, Cmp, Scalar, Table, Ty, Value};
use crate::quantize::BinMap;
use crate::quantize::fetch::{FetchStrategy, LARGEST};
use crate::quantize::offsets::Offsets;
use crate::rows::Row;
use sched_forest::Forest;
use sched_lang::nest::Layout;
use std::sync::Arc;

/// Trees as ranks, columns and leaves.
pub struct Quantized {
    bins: Arc<BinMap>,
    test: Test,
    trees: Complete,
    /// Whether ranks and columns have tables of their own.
    apart: bool,
    /// Where the columns of the nodes are that are read as a whole.
    offsets: Offsets,
}

const WORDS: usize = 0;
const RANKS: usize = 1;
const COLUMNS: usize = 2;
const OFFSETS: usize = 3;
const NODE_TABLES: usize = 4;

/// Bits of a word that hold the rank.
const RANK_BITS: u32 = 16;

impl Quantized {
    /// The layout for a forest whose used trees are complete, with ranks and columns `apart` in tables, or in words.
    pub fn new(request: &Request, apart: bool) -> Result<Quantized, CompileError> {
        let Some(bins) = request.bins else { return Err(BinMap::missing()) };
        let nodes = if apart { FetchStrategy::first_without_nodes(bins.columns()) } else { 0 };
        Ok(Quantized {
            bins: Arc::clone(bins),
            test: Test::of(request, Layout::Quantized),
            trees: Complete::new(request, NODE_TABLES)?,
            apart,
            offsets: Offsets::new(request.forest.trees.len(), nodes, bins.columns()),
        })
    }

    /// Whether ranks and columns lie in tables, as all tests of a tree at once want them.
    pub fn has_tables(&self) -> bool {
        self.apart
    }

    fn rank(&self) -> Scalar {
        self.bins.element()
    }

    fn column(&self) -> Scalar {
        if self.bins.columns() > 1 << 8 { Scalar::I16 } else { Scalar::I8 }
    }

    /// Whether nodes are also words: where they are not looked up, or not in all levels.
    fn words(&self) -> bool {
        !self.apart || 1u64 << self.trees.deepest().saturating_sub(1).min(40) > LARGEST
    }

    /// Bytes of each table of nodes.
    fn lengths(&self) -> [u64; NODE_TABLES] {
        let entries = self.trees.count();
        let each = [(self.words(), Scalar::I32), (self.apart, self.rank()), (self.apart, self.column())];
        let [words, ranks, columns] = each
            .map(|(wanted, element)| if wanted { entries.saturating_mul(element.bytes().into()) } else { 0 });
        [words, ranks, columns, self.offsets.bytes()]
    }

    /// `size` entries of a table, from node `first` of a tree on.
    fn table(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        table: usize,
        (base, first, size): (Value, u64, u64),
    ) -> Value {
        let scalar = self.element(table);
        let at = Address { buffer: buffers[table], index: base, stride: scalar.bytes(), offset: 0 };
        let at = b.beyond(at, first as i64);
        b.load(Ty::vector(scalar, size as u16), at)
    }

    /// The type of a table's entries.
    fn element(&self, table: usize) -> Scalar {
        if table == RANKS { self.rank() } else { self.column() }
    }

    /// Entries of a table that are looked up by one shuffle. Those of bytes are within parts of registers.
    fn shuffled(&self, table: usize) -> u64 {
        if self.element(table) == Scalar::I8 { 16 } else { 32 }
    }

    /// The entries of a table that vectors of walks look several levels up in.
    fn first_table(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        (table, base): (usize, Value),
        walks: WalkShape,
    ) -> Value {
        let together = if walks.lanes < 16 { 8 } else { self.shuffled(table) };
        self.table(b, buffers, table, (base, 0, together.min(SMALLEST.max(1 << walks.steps.min(30)))))
    }

    /// What a table holds for a vector of nodes: from its first entries, or from those of the nodes' level.
    fn look_up(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        (table, node, size): (usize, Value, u64),
        first: Value,
    ) -> Value {
        if size < u64::from(b.ty(first).lanes) {
            return b.lookup(first, node);
        }
        // Registers are filled with one piece after the other, which takes no shuffle if it is what was loaded.
        let piece = size.min(self.shuffled(table));
        let mut level: Vec<Value> = (size..2 * size)
            .step_by(piece as usize)
            .map(|first| self.table(b, buffers, table, (state.base, first, piece)))
            .collect();
        while level.len() > 1 {
            level = level.chunks_exact(2).map(|pair| b.concat(pair[0], pair[1])).collect();
        }
        b.lookup(level[0], node)
    }

    /// The column of one node of the tree.
    fn column_of(&self, b: &mut Builder, (buffers, base): (&Buffers, Value), node: u64) -> Value {
        let element = self.column();
        let first = Address { buffer: buffers[COLUMNS], index: base, stride: element.bytes(), offset: 0 };
        let at = b.beyond(first, node as i64);
        b.load_index(element, at)
    }

    /// Rank and column of nodes: from their words, or for a single one from the tables.
    fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        let lanes = b.ty(node).lanes;
        let node = b.cast(Cast::ZExt, node, index_type(lanes));
        if !self.words() {
            let mut load = |table: usize, element: Scalar| {
                let value = state.load(b, buffers[table], element, node, At::start(element.bytes()));
                b.cast(Cast::ZExt, value, index_type(lanes))
            };
            return (load(RANKS, self.rank()), load(COLUMNS, self.column()));
        }
        let word = state.load(b, buffers[WORDS], Scalar::I32, node, At::start(4));
        let word = b.cast(Cast::ZExt, word, index_type(lanes));
        (b.bits(word, 0, RANK_BITS), b.bits(word, RANK_BITS, 32 - RANK_BITS))
    }

    /// The bins that the nodes of a level compare with, for adjacent rows: the columns of all nodes of the level that can
    /// be reached from `node`, chosen by the decisions after it. Each is chosen as soon as it is there.
    fn by_node(
        &self,
        b: &mut Builder,
        tree: (&Buffers, &TreeState),
        row: &Row,
        (node, width): (u64, u16),
        decisions: &[Value],
    ) -> Value {
        let Some((decision, decisions)) = decisions.split_first() else {
            let (buffers, state) = tree;
            if let Loaded::Tables { offsets: Some(first), .. } = state.loaded
                && let Some(bins) = self.offsets.load(b, row, (buffers[OFFSETS], first), (node, width))
            {
                return bins;
            }
            let column = self.column_of(b, (buffers, state.base), node);
            return row.load_column(b, column, width);
        };
        let left = self.by_node(b, tree, row, (2 * node, width), decisions);
        let right = self.by_node(b, tree, row, (2 * node + 1, width), decisions);
        b.select(*decision, right, left)
    }

    /// The same from all columns that there are, chosen by the bits of the looked-up numbers.
    fn by_column(&self, b: &mut Builder, row: &Row, columns: Value) -> Value {
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
        // Kept from level to level and from tree to tree, columns would drive all else out of the registers; that they are
        // read again costs next to nothing, since choices take their operands from memory.
        b.forget();
        self.among(b, row, (0, ty.lanes), &bits)
    }

    /// The bins of the columns from number `first` on that the bits tell apart, the highest last.
    fn among(&self, b: &mut Builder, row: &Row, (first, width): (u32, u16), bits: &[Value]) -> Value {
        let Some((highest, bits)) = bits.split_last() else {
            let column = b.int(first.into());
            return row.load_column(b, column, width);
        };
        let left = self.among(b, row, (first, width), bits);
        let half = first + (1 << bits.len());
        if half >= self.bins.columns() {
            return left;
        }
        let right = self.among(b, row, (half, width), bits);
        b.select(*highest, right, left)
    }

    /// Rank and bin of a vector of nodes of a level, as the plan says.
    fn of_vector(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        at: &Cursor,
        (level, fetch): (u32, FetchStrategy),
    ) -> (Value, Value) {
        let node = at.node;
        let ty = b.ty(node);
        let Loaded::Tables { operands, features, .. } = state.loaded else {
            return self.gathered(b, buffers, state, row, node);
        };
        if fetch == FetchStrategy::GatherNodes {
            return self.gathered(b, buffers, state, row, node);
        }
        let size = 1u64 << level;
        let rank = self.look_up(b, buffers, state, (RANKS, node, size), operands);
        let bin = match fetch {
            FetchStrategy::ByNode => self.by_node(b, (buffers, state), row, (1, ty.lanes), &at.decisions),
            FetchStrategy::ByColumn => {
                let columns = self.look_up(b, buffers, state, (COLUMNS, node, size), features);
                self.by_column(b, row, columns)
            }
            FetchStrategy::Gather | FetchStrategy::GatherNodes => {
                // What is found is as wide as the number that it is looked up by.
                let wide = ty.with(Scalar::I32);
                let by = if self.column() == Scalar::I8 { node } else { b.cast(Cast::ZExt, node, wide) };
                let columns = self.look_up(b, buffers, state, (COLUMNS, by, size), features);
                let columns = b.cast(Cast::ZExt, columns, wide);
                row.load(b, columns)
            }
        };
        (b.cast(Cast::ZExt, rank, ty), self.as_node(b, bin, ty))
    }

    /// Rank and bin of a vector of nodes that are gathered, as bins are.
    fn gathered(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        node: Value,
    ) -> (Value, Value) {
        let ty = b.ty(node);
        let (rank, column) = self.load(b, buffers, state, node);
        let bin = row.load(b, column);
        (b.cast(Cast::Trunc, rank, ty), b.cast(Cast::Trunc, bin, ty))
    }

    /// Leaves in the type of indices, and the number of the first one.
    fn leaves(&self, b: &mut Builder, node: Value, steps: Option<u32>) -> (Value, i64) {
        let (ty, first) = (b.ty(node), self.trees.first_leaf(steps));
        // A byte has lost the highest bit of the last level's numbers.
        let lost = ty.scalar == Scalar::I8 && first >= 1 << u8::BITS;
        (b.cast(Cast::ZExt, node, index_type(ty.lanes)), if lost { 0 } else { first })
    }

    /// A bin in the type of nodes.
    fn as_node(&self, b: &mut Builder, bin: Value, ty: Ty) -> Value {
        let widens = b.ty(bin).scalar.bytes() < ty.scalar.bytes();
        b.cast(if widens { Cast::ZExt } else { Cast::Trunc }, bin, ty)
    }
}

impl Representation for Quantized {
    fn footprint(&self) -> u64 {
        self.lengths().into_iter().fold(self.trees.footprint(), u64::saturating_add)
    }

    fn tables(&self) -> Vec<(&'static str, Scalar)> {
        let nodes = [
            ("quantized_nodes", Scalar::I32),
            ("quantized_ranks", self.rank()),
            ("quantized_columns", self.column()),
            ("quantized_offsets", Offsets::ELEMENT),
        ];
        let trees = self.trees.tables(["quantized_leaves", "quantized_trees", "quantized_leaf_numbers"]);
        nodes.into_iter().chain(trees).collect()
    }

    fn encode(&self, forest: &Forest) -> Vec<Table> {
        let mut nodes = self.lengths().map(|bytes| vec![0; bytes as usize]);
        let trees = self.trees.encode(forest, |Spot { tree, number, entry }, inner| {
            let (rank, column) = self.bins.of_node(inner);
            self.offsets.write(&mut nodes[OFFSETS], (tree, number), column);
            let word = rank | column << RANK_BITS;
            let values = [(Scalar::I32, word), (self.rank(), rank), (self.column(), column)];
            for (table, (element, value)) in
                nodes.iter_mut().zip(values).filter(|(table, _)| !table.is_empty())
            {
                write_int(&mut table[entry * element.bytes() as usize..], element, value);
            }
        });
        named(self.tables(), nodes.into_iter().chain(trees))
    }

    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, walks: WalkShape) -> TreeState {
        let base = self.trees.start(b, buffers, tree);
        if walks.lanes == 1 || !self.apart {
            return TreeState::at(base);
        }
        let loaded = Loaded::Tables {
            operands: self.first_table(b, buffers, (RANKS, base), walks),
            features: self.first_table(b, buffers, (COLUMNS, base), walks),
            offsets: Some(self.offsets.first(b, tree)),
        };
        TreeState { loaded, ..TreeState::at(base) }
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        self.trees.starts(b, buffers, tree, lanes)
    }

    fn step(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        at: &Cursor,
        step: Step,
    ) -> Cursor {
        let ty = b.ty(at.node);
        let (rank, bin) = match step {
            Step::Level { level, fetch: Some(fetch) } => {
                self.of_vector(b, buffers, state, row, at, (level, fetch))
            }
            _ if ty.lanes > 1 => self.gathered(b, buffers, state, row, at.node),
            _ => {
                let (rank, column) = self.load(b, buffers, state, at.node);
                (rank, row.load(b, column))
            }
        };
        let right = b.cmp(if ty.scalar == Scalar::I8 { Cmp::Below } else { Cmp::Lt }, rank, bin);
        at.descend(b, right)
    }

    fn leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        steps: Option<u32>,
    ) -> LeafValue {
        if let (Scalar::I8, Some(steps)) = (b.ty(node).scalar, steps) {
            let found = self.trees.look_up_leaf(b, buffers, state, (node, 1 << steps.min(40)));
            if let Some(found) = found {
                return found;
            }
        }
        let leaf = self.leaves(b, node, steps);
        self.trees.leaf(b, buffers, state, leaf)
    }

    fn leaf_number(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        steps: Option<u32>,
    ) -> Value {
        let leaf = self.leaves(b, node, steps);
        self.trees.leaf_number(b, buffers, state, leaf)
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        let all = [(WORDS, 4), (RANKS, self.rank().bytes()), (COLUMNS, self.column().bytes())];
        let nodes = if self.apart { &all[RANKS..] } else { &all[..RANKS] };
        self.trees.prefetch(b, buffers, tree, nodes);
    }
}

impl LevelOrder for Quantized {
    fn test(&self) -> &Test {
        &self.test
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> Node {
        let number = state.number(b, number);
        let (threshold, feature) = self.load(b, buffers, state, number);
        Node { threshold, feature, missing_left: None }
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
        let nodes = SMALLEST.max(1 << steps);
        let size = nodes.min(WORD);
        let words = (0..nodes).step_by(size as usize).map(|first| {
            let columns = self.table(b, buffers, COLUMNS, (state.base, first, size));
            let ranks = self.table(b, buffers, RANKS, (state.base, first, size));
            mask(b, bins, Tests { columns, ranks })
        });
        let words = TestBits(words.collect());
        words.follow(b, steps)
    }
}
