//! What walks hold of a tree, or of the trees of a vector.

use crate::lir::{Address, BufferId, Builder, Gather, Scalar, Ty, Value};
use std::ops::Index;

/// The buffers of a function that hold a layout's tables, in the order of its schema.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    tables: Vec<BufferId>,
    /// The first record of each table that has a tree's records at the same places, where only some trees are there.
    pub first: Option<Value>,
}

impl Buffers {
    /// Those of whole tables.
    pub fn new(tables: Vec<BufferId>) -> Buffers {
        Buffers { tables, first: None }
    }

    /// The same with copies of some tables, from a record on.
    pub fn copied(&self, copies: impl IntoIterator<Item = (usize, BufferId)>, first: Value) -> Buffers {
        let mut tables = self.tables.clone();
        for (number, buffer) in copies {
            tables[number] = buffer;
        }
        Buffers { tables, first: Some(first) }
    }
}

impl Index<usize> for Buffers {
    type Output = BufferId;

    fn index(&self, number: usize) -> &BufferId {
        &self.tables[number]
    }
}

/// A tree, or a vector of trees, that is being walked: whatever its layout loads once per tree.
#[derive(Clone, Copy, Debug)]
pub struct TreeState {
    /// The first record of the (first) tree, an index.
    pub base: Value,
    /// For a vector of trees, the distance of each tree's first record from there, a vector of `i32`.
    pub lanes: Option<Value>,
    /// What else is loaded once per tree.
    pub loaded: Loaded,
}

/// What layouts load once per tree beside its beginning.
#[derive(Clone, Copy, Debug)]
pub enum Loaded {
    /// Nothing.
    Nothing,
    /// The entries that vectors of rows look the first levels up in.
    Tables {
        /// Thresholds, or their bins.
        operands: Value,
        /// The features or columns that nodes test.
        features: Value,
        /// The tree's first entry in the table of column offsets, if there is one.
        offsets: Option<Value>,
    },
    /// The leaves of trees that are apart from their nodes.
    Leaves {
        /// The first leaf of the (first) tree, an index.
        first: Value,
        /// For a vector of trees, each tree's distance from there.
        lanes: Option<Value>,
        /// Where the top nodes of the vector begin, if they lie lane by lane.
        tops: Option<Value>,
    },
    /// How many nodes the tree has, an index.
    Nodes(Value),
    /// The tests of the levels of trees, which are apart from their leaves.
    Tests {
        /// The first test of the (first) tree, an index.
        first: Value,
        /// For a vector of trees, each tree's distance from there.
        lanes: Option<Value>,
    },
}

/// The trees of a vector of walks.
#[derive(Clone, Copy, Debug)]
pub struct TreeLanes {
    /// Each lane's distance from the first tree in trees, a vector of `i32`.
    pub distance: Value,
    /// Whether the distances are 0, 1, 2 and so on and the first tree's number is a multiple of the number of
    /// lanes. Lanes beyond the last tree may lead to any tree then.
    pub aligned: bool,
}

/// The walks that a tree is loaded for.
#[derive(Clone, Copy, Debug)]
pub struct WalkShape {
    /// Lanes of their vectors; 1 where they are single. Vectors may leave single walks over.
    pub lanes: u16,
    /// Straight-line steps that they take.
    pub steps: u32,
}

impl WalkShape {
    /// A single walk that takes no counted step.
    pub const SINGLE: WalkShape = WalkShape { lanes: 1, steps: 0 };
}

/// Where a value lies in an element of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Bytes of an element.
    pub stride: u32,
    /// Bytes from the element's start to the value.
    pub offset: u32,
}

impl At {
    /// The value that an element begins with.
    pub fn start(stride: u32) -> At {
        At { stride, offset: 0 }
    }
}

impl TreeState {
    /// A tree of which nothing is loaded but its beginning.
    pub fn at(base: Value) -> TreeState {
        TreeState { base, lanes: None, loaded: Loaded::Nothing }
    }

    /// Trees that begin at these distances from the table's start.
    pub fn of_lanes(b: &mut Builder, lanes: Value) -> TreeState {
        TreeState { base: b.int(0), lanes: Some(lanes), loaded: Loaded::Nothing }
    }

    /// The same where numbers begin with `first`, which leads to the first record.
    pub fn counted_from(&self, b: &mut Builder, first: i64) -> TreeState {
        TreeState { base: b.add_int(self.base, -first), ..*self }
    }

    /// Loads `scalar` from the element of a node. A vector of node numbers gives a vector.
    pub fn load(&self, b: &mut Builder, buffer: BufferId, scalar: Scalar, node: Value, at: At) -> Value {
        let At { stride, offset } = at;
        if b.ty(node).lanes == 1 {
            let index = b.add(self.base, node);
            return b.load(Ty::of(scalar), Address { buffer, index, stride, offset });
        }
        let index = self.lanes.map_or(node, |lanes| b.add(lanes, node));
        b.gather(scalar, Gather { buffer, base: self.base, index, stride, offset, mask: None })
    }

    /// A node's number as walks of this tree, or of these trees, count.
    pub fn number(&self, b: &mut Builder, number: u64) -> Value {
        let lanes = self.lanes.map_or(1, |lanes| b.ty(lanes).lanes);
        b.int_of(b.index_type(lanes), number as i64)
    }
}
