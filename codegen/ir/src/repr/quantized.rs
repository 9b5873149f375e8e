//! The quantized layout: the levels layout with ranks in place of thresholds, for rows that are coded alike.
//!
//! Nodes are numbered as in the array layout: the root is 1, the children of `n` are `2n` and `2n + 1`. A node is the
//! rank of its threshold and the column of the codes that it compares with ([`Codes`]). Where vectors of rows walk, ranks
//! and columns lie in tables of their own, each tree's at its node numbers, so that one or two registers hold a level.
//! For all others, and for levels too long to be looked up, a node is one word with both.
//!
//! Walks must be straight-line down to the leaf, so every tree is padded to one depth.

use super::codes::Codes;
use super::packed::level_order;
use super::payload::Payload;
use super::record::write_int;
use super::test::Test;
use super::{
    Buffers, Hop, LeafValue, LevelOrder, Node, Place, Representation, Request, Row, TreeLanes, TreeState,
    index_type,
};
use crate::error::CompileError;
use crate::lir::{Address, Build, Builder, Cast, Cmp, Gather, Scalar, Table, Ty, Value};
use crate::mir::Walkers;
use sched_forest::{Forest, NodeRef};
use sched_lang::nest::Layout;
use std::ops::Range;
use std::sync::Arc;

/// Trees as ranks, columns and leaves.
pub struct Quantized {
    codes: Arc<Codes>,
    test: Test,
    leaf: Payload,
    /// The depth of each used tree; none for others.
    depths: Vec<Option<u32>>,
    /// The first entry of each tree in every table, and one past the last tree's.
    starts: Vec<u64>,
    leaf_numbers: bool,
    /// Whether there are tables to look up.
    lookups: bool,
}

const WORDS: usize = 0;
const LEAVES: usize = 1;
const STARTS: usize = 2;
const RANKS: usize = 3;
const COLUMNS: usize = 4;

/// Bits of a word that hold the rank.
const RANK_BITS: u32 = 16;
/// Entries of a tree at least.
const SMALLEST: u64 = 16;
/// Levels with more nodes are gathered: a look-up in more registers costs more.
const LARGEST: u64 = 128;
/// Levels in which whole columns of codes are read.
const IN_COLUMNS: u32 = 3;
/// The same for vectors whose nodes are bytes: reading a column for one of them is cheaper by far than a gather.
const MANY_IN_COLUMNS: u32 = 6;
/// Lanes from which on nodes are bytes.
const MANY: u16 = 32;

impl Quantized {
    /// The layout for a forest whose used trees are complete.
    pub fn new(request: &Request, walkers: Walkers) -> Result<Quantized, CompileError> {
        let Some(codes) = request.codes else {
            return Err(CompileError::new(
                CompileError::SYMBOLIC,
                "the model's features have no codes",
                "this is a mistake in the compiler: please report it together with the schedule",
            ));
        };
        let mut starts = vec![0u64];
        let mut depths = Vec::new();
        let mut next = 0u64;
        for (at, used) in request.used.iter().enumerate() {
            let depth = request.depths[at].0;
            if *used {
                next = next.saturating_add(1u64.checked_shl(depth).unwrap_or(u64::MAX).max(SMALLEST));
            }
            depths.push(used.then_some(depth));
            starts.push(next);
        }
        if i32::try_from(next).is_err() {
            return Err(CompileError::new(
                CompileError::LAYOUT_BUDGET,
                format!("the layout needs {next} entries, more than 31 bits count"),
                "use representation(sparse), which stores only nodes that exist",
            ));
        }
        Ok(Quantized {
            codes: Arc::clone(codes),
            test: Test::of(request, Layout::Quantized),
            leaf: Payload::of(request.forest),
            depths,
            starts,
            leaf_numbers: request.leaf_numbers,
            lookups: walkers == Walkers::Vectors,
        })
    }

    fn entries(&self) -> usize {
        self.starts.last().copied().unwrap_or(0) as usize
    }

    fn rank(&self) -> Scalar {
        self.codes.element()
    }

    /// Tables with a byte each of the columns' numbers, the lowest first.
    fn column_tables(&self) -> Range<usize> {
        let bytes = if self.codes.columns() > 1 << 8 { 2 } else { 1 };
        if self.lookups { COLUMNS..COLUMNS + bytes } else { RANKS..RANKS }
    }

    fn leaf_number_table(&self) -> usize {
        self.column_tables().end
    }

    fn deepest(&self) -> u32 {
        self.depths.iter().flatten().max().copied().unwrap_or(0)
    }

    /// Whether the nodes of a vector are bytes: many lanes, and nodes that bytes tell apart.
    fn in_bytes(&self, lanes: u16) -> bool {
        self.lookups && lanes >= MANY && self.rank() == Scalar::I8 && self.deepest() <= u8::BITS
    }

    /// So many entries of a table, from node `first` of a tree on.
    fn table(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        table: usize,
        (base, first, size): (Value, u64, u64),
    ) -> Value {
        let scalar = if table == RANKS { self.rank() } else { Scalar::I8 };
        let index = b.add_int(base, first as i64);
        let at = Address { buffer: buffers[table], index, stride: scalar.bytes(), offset: 0 };
        b.load(Ty::vector(scalar, size as u16), at)
    }

    /// The entries of a table that vectors of walks look several levels up in.
    fn first_table(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        (table, base): (usize, Value),
        (lanes, hops): (u16, u32),
    ) -> Value {
        let register = if table == RANKS { 64 / u64::from(self.rank().bytes()) } else { 64 };
        let together = if lanes < 16 { 8 } else { register };
        self.table(b, buffers, table, (base, 0, together.min(SMALLEST.max(1 << hops.min(30)))))
    }

    /// What a table holds for a vector of nodes: from its first entries, or from those of the nodes' level.
    fn look_up(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        (table, node, size): (usize, Value, u64),
    ) -> Value {
        let first = state.loaded[table - RANKS];
        if size < u64::from(b.ty(first).lanes) {
            return b.lookup(first, node);
        }
        let level = self.table(b, buffers, table, (state.base, size, size));
        b.lookup(level, node)
    }

    /// The columns of a vector of nodes, in lanes of 32 bits.
    fn look_up_columns(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        (node, size): (Value, u64),
    ) -> Value {
        let ty = b.ty(node).with(Scalar::I32);
        let mut columns = None;
        for (byte, table) in self.column_tables().enumerate() {
            let found = self.look_up(b, buffers, state, (table, node, size));
            let found = b.cast(Cast::ZExt, found, ty);
            let factor = b.int_of(ty, 1 << (8 * byte));
            columns = Some(match columns {
                None => found,
                Some(low) => {
                    let high = b.mul(found, factor);
                    b.add(low, high)
                }
            });
        }
        columns.unwrap_or_else(|| b.int_of(ty, 0))
    }

    /// Rank and column from the words of nodes.
    fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        let lanes = b.ty(node).lanes;
        let node = b.cast(Cast::ZExt, node, index_type(lanes));
        let word = state.load(b, buffers[WORDS], Scalar::I32, node, (4, 0));
        let word = b.cast(Cast::ZExt, word, index_type(lanes));
        (b.bits(word, 0, RANK_BITS), b.bits(word, RANK_BITS, 32 - RANK_BITS))
    }

    /// The codes that the nodes of one of the first levels compare with, for adjacent rows: the columns of all nodes of
    /// the level that can be reached from `node`, chosen by the turns after it. Each is chosen as soon as it is there.
    fn columns(
        &self,
        b: &mut Builder,
        (buffers, base): (&Buffers, Value),
        row: &Row,
        (node, width): (i64, u16),
        turns: &[Value],
    ) -> Value {
        let Some((turn, turns)) = turns.split_first() else {
            let index = b.add_int(base, node);
            let at = Address { buffer: buffers[WORDS], index, stride: 4, offset: RANK_BITS / 8 };
            let column = b.load_index(Scalar::I16, at);
            return row.load_column(b, column, width);
        };
        let left = self.columns(b, (buffers, base), row, (2 * node, width), turns);
        let right = self.columns(b, (buffers, base), row, (2 * node + 1, width), turns);
        b.select(*turn, right, left)
    }

    /// Rank and code of a vector of nodes.
    fn of_vector(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        (place, level): (&Place, Option<u32>),
    ) -> (Value, Value) {
        let node = place.node;
        let ty = b.ty(node);
        let size = level.map(|level| 1u64 << level.min(40)).filter(|size| *size <= LARGEST);
        let (Some(level), Some(size), false) = (level, size, state.loaded.is_empty()) else {
            let (rank, column) = self.load(b, buffers, state, node);
            let code = row.load(b, column);
            return (b.cast(Cast::Trunc, rank, ty), b.cast(Cast::Trunc, code, ty));
        };
        let rank = self.look_up(b, buffers, state, (RANKS, node, size));
        let adjacent = row.lanes.is_some_and(|lanes| lanes.adjacent);
        if adjacent && level < if ty.scalar == Scalar::I8 { MANY_IN_COLUMNS } else { IN_COLUMNS } {
            let code = self.columns(b, (buffers, state.base), row, (1, ty.lanes), &place.turns);
            return (rank, b.cast(Cast::ZExt, code, ty));
        }
        let column = self.look_up_columns(b, buffers, state, (node, size));
        let code = row.load(b, column);
        (rank, b.cast(Cast::Trunc, code, ty))
    }

    /// The state from which leaves are reached by node numbers, and these.
    fn leaves(
        &self,
        b: &mut Builder,
        state: &TreeState,
        node: Value,
        hops: Option<u32>,
    ) -> (TreeState, Value) {
        let ty = b.ty(node);
        let hops = hops.unwrap_or_else(|| self.deepest());
        // A byte has lost the highest bit of the last level's numbers.
        let first = if ty.scalar == Scalar::I8 && hops >= u8::BITS { 0 } else { 1i64 << hops.min(40) };
        let state = TreeState { base: b.add_int(state.base, -first), ..state.clone() };
        (state, b.cast(Cast::ZExt, node, index_type(ty.lanes)))
    }
}

impl Representation for Quantized {
    fn footprint(&self) -> u64 {
        let entry: u32 = self.tables().iter().map(|(_, element)| element.bytes()).sum();
        let entries = self.starts.last().copied().unwrap_or(0);
        entries.saturating_mul(u64::from(entry - 4)).saturating_add(self.starts.len() as u64 * 4)
    }

    fn tables(&self) -> Vec<(&'static str, Scalar)> {
        let mut tables = vec![
            ("quantized_nodes", Scalar::I32),
            ("quantized_leaves", self.leaf.element()),
            ("quantized_trees", Scalar::I32),
        ];
        if self.lookups {
            tables.push(("quantized_ranks", self.rank()));
            let names = ["quantized_columns", "quantized_columns_high"];
            tables.extend(self.column_tables().zip(names).map(|(_, name)| (name, Scalar::I8)));
        }
        if self.leaf_numbers {
            tables.push(("quantized_leaf_numbers", Scalar::I32));
        }
        tables
    }

    fn encode(&self, forest: &Forest) -> Vec<Table> {
        let tables = self.tables();
        let mut bytes: Vec<Vec<u8>> =
            tables.iter().map(|(_, element)| vec![0; self.entries() * element.bytes() as usize]).collect();
        bytes[STARTS] = self.starts.iter().flat_map(|start| (*start as u32).to_le_bytes()).collect();
        let write = |table: &mut [u8], entry: usize, scalar: Scalar, value: u64| {
            write_int(&mut table[entry * scalar.bytes() as usize..], scalar, value);
        };
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            let start = self.starts[at] as usize;
            let placed = self.depths[at].map(|depth| (depth, level_order(tree, 1, |n| (2 * n, 2 * n + 1))));
            for (depth, (number, node, _)) in
                placed.into_iter().flat_map(|(depth, nodes)| nodes.into_iter().map(move |node| (depth, node)))
            {
                match node {
                    NodeRef::Inner(inner) => {
                        let entry = start + number as usize;
                        let (rank, column) = self.codes.of_node(&tree.inner[inner as usize]);
                        write(&mut bytes[WORDS], entry, Scalar::I32, rank | column << RANK_BITS);
                        if self.lookups {
                            write(&mut bytes[RANKS], entry, self.rank(), rank);
                            for (byte, table) in self.column_tables().enumerate() {
                                bytes[table][entry] = (column >> (8 * byte)) as u8;
                            }
                        }
                    }
                    NodeRef::Leaf(leaf) => {
                        let entry = start + (number - (1 << depth)) as usize;
                        let source = &tree.leaves[leaf as usize];
                        let size = self.leaf.bytes() as usize;
                        self.leaf.write(&mut bytes[LEAVES][entry * size..], source, first_leaf + leaf);
                        if self.leaf_numbers {
                            let numbers = &mut bytes[self.leaf_number_table()];
                            write(numbers, entry, Scalar::I32, u64::from(source.source));
                        }
                    }
                }
            }
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
        let named = tables.into_iter().zip(bytes);
        named.map(|((name, _), bytes)| Table { name: name.to_string(), bytes }).collect()
    }

    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, walks: (u16, u32)) -> TreeState {
        let at = Address { buffer: buffers[STARTS], index: tree, stride: 4, offset: 0 };
        let base = b.load_index(Scalar::I32, at);
        let mut loaded = Vec::new();
        if walks.0 > 1 && self.lookups {
            let tables = RANKS..self.column_tables().end;
            loaded.extend(tables.map(|table| self.first_table(b, buffers, (table, base), walks)));
        }
        TreeState { base, lanes: None, loaded }
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let (base, index) = (tree, lanes.distance);
        let starts = Gather { buffer: buffers[STARTS], base, index, stride: 4, offset: 0, mask: None };
        let lanes = b.gather(Scalar::I32, starts);
        TreeState { base: b.int(0), lanes: Some(lanes), loaded: Vec::new() }
    }

    fn root(&self, b: &mut Builder, lanes: u16) -> Value {
        let ty = index_type(lanes);
        b.int_of(if self.in_bytes(lanes) { ty.with(Scalar::I8) } else { ty }, 1)
    }

    fn step(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        place: &Place,
        hop: Hop,
    ) -> Place {
        let level = match hop {
            Hop::Number(level) => Some(level),
            Hop::Open | Hop::Hold => None,
        };
        let ty = b.ty(place.node);
        let (rank, code) = if ty.lanes == 1 {
            let (rank, column) = self.load(b, buffers, state, place.node);
            (rank, row.load(b, column))
        } else {
            self.of_vector(b, buffers, state, row, (place, level))
        };
        let right = b.cmp(if ty.scalar == Scalar::I8 { Cmp::Below } else { Cmp::Lt }, rank, code);
        place.turned(b, right)
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
    }

    fn leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        hops: Option<u32>,
    ) -> LeafValue {
        if let (Scalar::I8, Some(hops)) = (b.ty(node).scalar, hops) {
            let leaves = (state.base, 1u64 << hops.min(40));
            if let Some(found) = self.leaf.look_up(b, buffers[LEAVES], leaves, node) {
                return found;
            }
        }
        let (state, node) = self.leaves(b, state, node, hops);
        self.leaf.load(b, buffers[LEAVES], &state, node, self.leaf.bytes())
    }

    fn leaf_number(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        hops: Option<u32>,
    ) -> Value {
        let (state, node) = self.leaves(b, state, node, hops);
        state.load(b, buffers[self.leaf_number_table()], Scalar::I32, node, (4, 0))
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        const LINE: i64 = 64;
        let first = self.load_tree(b, buffers, tree, (1, 0));
        let next = b.add_int(tree, 1);
        let end = self.load_tree(b, buffers, next, (1, 0));
        let tables = self.tables();
        let nodes = if self.lookups { RANKS..self.column_tables().end } else { WORDS..WORDS + 1 };
        for table in nodes.chain([LEAVES]) {
            let bytes = i64::from(tables[table].1.bytes());
            let range = (b.mul_int(first.base, bytes), b.mul_int(end.base, bytes), LINE);
            b.for_loop(range, &[], |b, index, _| {
                b.prefetch(Address { buffer: buffers[table], index, stride: 1, offset: 0 });
                Vec::new()
            });
        }
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
