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
use super::record::{narrowest, write_int};
use super::{Buffers, Hop, LeafValue, Place, Representation, Request, Row, TreeLanes, TreeState, choose};
use crate::error::CompileError;
use crate::lir::{Address, Build, Builder, Cast, Cmp, Gather, Scalar, Table, Ty, Value};
use crate::mir::Walkers;
use sched_forest::{Forest, NodeRef};
use std::sync::Arc;

/// Trees as ranks, columns and leaves.
pub struct Quantized {
    codes: Arc<Codes>,
    column: Scalar,
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
            column: narrowest(u64::from(codes.columns().saturating_sub(1))).unwrap_or(Scalar::I16),
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

    fn leaf_number_table(&self) -> usize {
        if self.lookups { COLUMNS + 1 } else { STARTS + 1 }
    }

    fn rank(&self) -> Scalar {
        self.codes.element()
    }

    /// The element of a table that is looked up.
    fn element(&self, table: usize) -> Scalar {
        if table == RANKS { self.rank() } else { self.column }
    }

    /// So many entries of a table, from node `first` of a tree on.
    fn table(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        table: usize,
        base: Value,
        (first, size): (u64, u64),
    ) -> Value {
        let scalar = self.element(table);
        let index = b.add_int(base, first as i64);
        let at = Address { buffer: buffers[table], index, stride: scalar.bytes(), offset: 0 };
        b.load(Ty::vector(scalar, size as u16), at)
    }

    /// The entries that vectors of walks look several levels up in.
    fn first_table(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        table: usize,
        base: Value,
        walks: (u16, u32),
    ) -> Value {
        let (lanes, hops) = walks;
        let together = if lanes < 16 { 8 } else { 64 / u64::from(self.element(table).bytes()) };
        self.table(b, buffers, table, base, (0, together.min(SMALLEST.max(1 << hops.min(30)))))
    }

    /// Rank and column of a vector of nodes at a level: from the first tables, the level's own, or gathered where the
    /// level is too long.
    fn look_up(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        (node, level): (Value, Option<u32>),
    ) -> (Value, Value) {
        let size = level.map(|level| 1u64 << level.min(40)).filter(|size| *size <= LARGEST);
        let (Some(size), [ranks, columns]) = (size, state.loaded.as_slice()) else {
            return self.load(b, buffers, state, node);
        };
        let mut from = |first: Value, table: usize| {
            let table = if size < u64::from(b.ty(first).lanes) {
                first
            } else {
                self.table(b, buffers, table, state.base, (size, size))
            };
            b.lookup(table, node)
        };
        (from(*ranks, RANKS), from(*columns, COLUMNS))
    }

    /// Rank and column from the words of nodes.
    fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        let word = state.load(b, buffers[WORDS], Scalar::I32, node, (4, 0));
        let word = if b.ty(node).lanes == 1 { b.cast(Cast::ZExt, word, Ty::I64) } else { word };
        (b.bits(word, 0, RANK_BITS), b.bits(word, RANK_BITS, 32 - RANK_BITS))
    }

    /// The codes that the nodes of one of the first levels compare with, for adjacent rows: the columns of all of the
    /// level's nodes, chosen by the turns taken.
    fn columns(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        place: &Place,
    ) -> Value {
        let nodes = 1i64 << place.turns.len()..2 << place.turns.len();
        let width = b.ty(place.node).lanes;
        let mut column = |number: i64| {
            let index = b.add_int(state.base, number);
            let at = Address { buffer: buffers[COLUMNS], index, stride: self.column.bytes(), offset: 0 };
            let column = b.load_index(self.column, at);
            row.load_column(b, column, width)
        };
        let columns = nodes.map(&mut column).collect();
        let codes = choose(b, columns, &place.turns);
        b.cast(Cast::ZExt, codes, Ty::vector(Scalar::I32, width))
    }

    /// The state from which leaves are reached by node numbers.
    fn leaves(&self, b: &mut Builder, state: &TreeState, hops: Option<u32>) -> TreeState {
        let deepest = self.depths.iter().flatten().max().copied().unwrap_or(0);
        let first = 1i64 << hops.unwrap_or(deepest).min(40);
        TreeState { base: b.add_int(state.base, -first), ..state.clone() }
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
            tables.extend([("quantized_ranks", self.rank()), ("quantized_columns", self.column)]);
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
                            write(&mut bytes[COLUMNS], entry, self.column, column);
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
            loaded.extend([RANKS, COLUMNS].map(|table| self.first_table(b, buffers, table, base, walks)));
        }
        TreeState { base, lanes: None, loaded }
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let (base, index) = (tree, lanes.distance);
        let starts = Gather { buffer: buffers[STARTS], base, index, stride: 4, offset: 0, mask: None };
        let lanes = b.gather(Scalar::I32, starts);
        TreeState { base: b.int(0), lanes: Some(lanes), loaded: Vec::new() }
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
        let (rank, column) = match b.ty(place.node).lanes {
            1 => self.load(b, buffers, state, place.node),
            _ => self.look_up(b, buffers, state, (place.node, level)),
        };
        let adjacent = row.lanes.is_some_and(|lanes| lanes.adjacent) && self.lookups;
        let code = match level {
            Some(level) if level < IN_COLUMNS && adjacent => self.columns(b, buffers, state, row, place),
            _ => row.load(b, column),
        };
        let right = b.cmp(Cmp::Lt, rank, code);
        place.turned(b, right)
    }

    fn leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        hops: Option<u32>,
    ) -> LeafValue {
        let state = self.leaves(b, state, hops);
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
        let state = self.leaves(b, state, hops);
        state.load(b, buffers[self.leaf_number_table()], Scalar::I32, node, (4, 0))
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        const LINE: i64 = 64;
        let first = self.load_tree(b, buffers, tree, (1, 0));
        let next = b.add_int(tree, 1);
        let end = self.load_tree(b, buffers, next, (1, 0));
        let nodes = if self.lookups { [RANKS, COLUMNS] } else { [WORDS, WORDS] };
        let tables = self.tables();
        let mut wanted = vec![LEAVES];
        wanted.extend(nodes);
        wanted.dedup();
        for table in wanted {
            let bytes = i64::from(tables[table].1.bytes());
            let range = (b.mul_int(first.base, bytes), b.mul_int(end.base, bytes), LINE);
            b.for_loop(range, &[], |b, index, _| {
                b.prefetch(Address { buffer: buffers[table], index, stride: 1, offset: 0 });
                Vec::new()
            });
        }
    }
}
