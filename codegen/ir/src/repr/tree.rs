//! State of walks that belongs to a tree, or to the trees of a vector.

use crate::fault::{Fault, seeded};
use crate::lir::{Address, BufferId, Builder, Gather, Scalar, Ty, Value};
use std::ops::Index;

/// Buffers with a layout's tables, in the order of its schema.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    tables: Vec<BufferId>,
    /// If the buffers of tables with records of trees are copies of only some trees, these trees.
    pub copied: Option<CopiedTrees>,
}

/// Consecutive trees in copies of tables.
#[derive(Clone, Copy, Debug)]
pub struct CopiedTrees {
    /// Number of the first tree.
    pub first_tree: Value,
    /// Number of the tree's first record in the whole tables, if a table lists first records.
    pub first_record: Option<Value>,
    /// Number of trees for which the copies have room.
    pub capacity: i64,
}

impl Buffers {
    /// Buffers of whole tables.
    pub fn new(tables: Vec<BufferId>) -> Buffers {
        Buffers { tables, copied: None }
    }

    /// Replaces the buffers of some tables by copies of some trees.
    pub fn with_copies(
        &self,
        copies: impl IntoIterator<Item = (usize, BufferId)>,
        trees: CopiedTrees,
    ) -> Buffers {
        let mut tables = self.tables.clone();
        for (number, buffer) in copies {
            tables[number] = buffer;
        }
        Buffers { tables, copied: Some(trees) }
    }

    /// Index of a tree among the trees in the buffers.
    pub fn index_of_tree(&self, b: &mut Builder, tree: Value) -> Value {
        let copied = self.copied.filter(|_| !seeded(Fault::CopiesKeepTreeNumbers));
        copied.map_or(tree, |copied| b.sub(tree, copied.first_tree))
    }

    /// Number, in the whole tables, of the first record in the buffers. `None` if the buffers are no copies,
    /// or no table lists first records.
    pub fn first_record(&self) -> Option<Value> {
        self.copied.and_then(|copied| copied.first_record)
    }
}

impl Index<usize> for Buffers {
    type Output = BufferId;

    fn index(&self, number: usize) -> &BufferId {
        &self.tables[number]
    }
}

/// A tree, or a vector of trees, with the values that its layout loads once per tree.
#[derive(Clone, Copy, Debug)]
pub struct TreeState {
    /// Index of the first record of the (first) tree.
    pub base: Value,
    /// For a vector of trees, the distance of each tree's first record from `base`, a vector of `i32`.
    pub lanes: Option<Value>,
    /// Other values that are loaded once per tree.
    pub extra: TreeExtra,
}

/// Entry of a tree in its layout's tables.
#[derive(Clone, Copy, Debug)]
pub struct TreeEntry<'a> {
    /// Buffers of the tables.
    pub buffers: &'a Buffers,
    /// State of the tree.
    pub state: &'a TreeState,
    /// Index of the entry in the tree.
    pub entry: Value,
}

/// Values that layouts load once per tree, besides its first record.
#[derive(Clone, Copy, Debug)]
pub enum TreeExtra {
    /// No further values.
    Nothing,
    /// First entries of tables, in which vectors of rows look up the first levels.
    Tables {
        /// Thresholds or threshold bins.
        operands: Value,
        /// Feature fields.
        features: Value,
        /// Index of the tree's first entry in the table of column offsets, if there is one.
        offsets: Option<Value>,
    },
    /// First leaves of trees, in layouts with separate tables of leaves.
    Leaves {
        /// Index of the first leaf of the (first) tree.
        first: Value,
        /// For a vector of trees, the distance of each tree's first leaf from `first`.
        lanes: Option<Value>,
        /// Index of the first top node of the vector, if top nodes are stored lane by lane.
        tops: Option<Value>,
    },
    /// Number of nodes of the tree, an index.
    Nodes(Value),
    /// Number of records from a node to the tree's next node, in layouts with the same node of several trees
    /// in adjacent records.
    SideBySide(i64),
    /// First top nodes of trees, in layouts with separate tables of complete top levels.
    Tops {
        /// Index of the first top node of the (first) tree.
        first: Value,
        /// For a vector of trees, the distance of each tree's first top node from `first`.
        lanes: Option<Value>,
    },
    /// First tests of trees, in layouts with one test per level.
    Tests {
        /// Index of the first test of the (first) tree.
        first: Value,
        /// For a vector of trees, the distance of each tree's first test from `first`.
        lanes: Option<Value>,
    },
}

/// Trees of a vector of walks.
#[derive(Clone, Copy, Debug)]
pub struct TreeLanes {
    /// Distance of each lane's tree from the first one in trees, a vector of `i32`.
    pub distance: Value,
    /// Whether the distances are 0, 1, 2 and so on, and the first tree's number is a multiple of the
    /// lanes. Lanes beyond the last tree may then lead to any tree.
    pub aligned: bool,
}

/// Shape of the walks for which a tree is loaded.
#[derive(Clone, Copy, Debug)]
pub struct WalkShape {
    /// Lanes per vector; 1 for single walks. A remainder of vectors may be single walks.
    pub lanes: u16,
    /// Number of straight-line steps.
    pub steps: u32,
}

impl WalkShape {
    /// A single walk without straight-line steps.
    pub const SINGLE: WalkShape = WalkShape { lanes: 1, steps: 0 };
}

/// Position of a value in an element of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldPosition {
    /// Bytes of an element.
    pub stride: u32,
    /// Offset of the value in bytes.
    pub offset: u32,
}

impl FieldPosition {
    /// Position at the start of an element.
    pub fn start(stride: u32) -> FieldPosition {
        FieldPosition { stride, offset: 0 }
    }
}

impl TreeState {
    /// A tree of which only its first record is known.
    pub fn at(base: Value) -> TreeState {
        TreeState { base, lanes: None, extra: TreeExtra::Nothing }
    }

    /// Trees that begin at these distances from the table's start.
    pub fn of_lanes(b: &mut Builder, lanes: Value) -> TreeState {
        TreeState { base: b.int(0), lanes: Some(lanes), extra: TreeExtra::Nothing }
    }

    /// The state with its base moved so that the node with number `first` has the first record.
    pub fn numbered_from(&self, b: &mut Builder, first: i64) -> TreeState {
        TreeState { base: b.add_int(self.base, -first), ..*self }
    }

    /// Loads `scalar` from the element of a node, or a vector from those of a vector of nodes.
    pub fn load(
        &self,
        b: &mut Builder,
        buffer: BufferId,
        scalar: Scalar,
        node: Value,
        at: FieldPosition,
    ) -> Value {
        let FieldPosition { stride, offset } = at;
        if b.ty(node).lanes == 1 {
            let index = b.add(self.base, node);
            return b.load(Ty::of(scalar), Address { buffer, index, stride, offset });
        }
        let index = self.lanes.map_or(node, |lanes| b.add(lanes, node));
        b.gather(scalar, Gather { buffer, base: self.base, index, stride, offset, mask: None })
    }

    /// A node number as a constant of the walks' type.
    pub fn number(&self, b: &mut Builder, number: u64) -> Value {
        let lanes = self.lanes.map_or(1, |lanes| b.ty(lanes).lanes);
        b.int_of(b.number_type(lanes), number as i64)
    }
}
