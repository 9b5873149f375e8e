//! Representations: how trees lie in memory, and the code that walks them there.
//!
//! A representation is one module behind [`Representation`]. Lowering asks it to load a tree's state (once per tree),
//! to take a step for a group of lanes, to tell whether a lane has arrived, and to read the leaf; it knows nothing of
//! records, offsets or widths. Adding a layout touches its own file and [`of_layout`].

mod array;
mod packed;
mod record;
mod sparse;

use crate::error::CompileError;
use crate::lir::{BufferId, Builder, Scalar, Table, Value};
use sched_forest::{Forest, Inner, Predicate};
use sched_lang::nest::Layout;

pub(crate) use record::{narrowest, scalar, write_float, write_int};

/// Where a lane's row lies: element `index` of `buffer`, `offset` bytes further.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The buffer of rows.
    pub buffer: BufferId,
    /// The first element of the row, an `i64`.
    pub index: Value,
    /// Bytes to add, a multiple of the element's size.
    pub offset: u32,
    /// The element.
    pub element: Scalar,
}

/// A tree that is being walked: whatever its representation loads once per tree.
#[derive(Clone, Copy, Debug)]
pub struct TreeState {
    /// The tree's first record, an `i64`.
    pub base: Value,
}

/// What a leaf holds.
#[derive(Clone, Copy, Debug)]
pub enum LeafValue {
    /// The value itself, in the accumulator's type.
    Scalar(Value),
    /// The first element of the leaf's vector in the forest's table of leaf vectors, an `i64`.
    Vector(Value),
}

/// The buffers of a function that hold a representation's tables, in the order of [`Representation::tables`].
pub type Buffers = [BufferId];

/// A layout of trees in memory and the code that walks it.
pub trait Representation {
    /// Bytes of all tables together, known before any is built.
    fn footprint(&self) -> u64;

    /// Names and elements of the tables, in the order of [`encode`](Self::encode).
    fn tables(&self) -> Vec<(&'static str, Scalar)>;

    /// Builds the tables. `forest` is the one that the representation was made for.
    fn encode(&self, forest: &Forest) -> Vec<Table>;

    /// Loads what is needed once per tree.
    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value) -> TreeState;

    /// The root's node number.
    fn root(&self, b: &mut Builder) -> Value;

    /// One hop: the child that the lane's row leads to. With `hold` a leaf stays where it is, else the node must not be
    /// a leaf.
    fn step(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        node: Value,
        hold: bool,
    ) -> Value;

    /// Whether the node is a leaf, an `i1`.
    fn done(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value;

    /// What the leaf holds.
    fn leaf(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> LeafValue;

    /// The leaf's number in the model, an `i32`.
    fn leaf_number(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value;

    /// Brings a tree near.
    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value);
}

/// What representations are made for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The padded forest.
    pub forest: &'a Forest,
    /// Edges to the deepest leaf of each tree.
    pub depths: &'a [(u32, u32)],
    /// Which trees are walked in this layout.
    pub used: &'a [bool],
    /// Whether leaf numbers are wanted.
    pub leaf_numbers: bool,
}

/// The representation of a layout for a forest.
///
/// # Errors
///
/// When the layout cannot hold the forest's predicates or needs wider indices than there are.
pub fn of_layout(
    layout: Layout,
    request: &Request,
) -> Result<Box<dyn Representation + Send + Sync>, CompileError> {
    only_numeric(request)?;
    Ok(match layout {
        Layout::Array => Box::new(array::Array::new(request)?),
        Layout::Sparse => Box::new(sparse::Sparse::new(request)?),
    })
}

/// Where missing values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Left,
    Right,
    /// Each node says.
    Mixed,
}

impl Missing {
    fn of<'a>(nodes: impl Iterator<Item = &'a Inner>) -> Missing {
        let (mut left, mut right) = (false, false);
        for node in nodes {
            left |= node.missing_left;
            right |= !node.missing_left;
        }
        match (left, right) {
            (true, true) => Missing::Mixed,
            (true, false) => Missing::Left,
            (false, _) => Missing::Right,
        }
    }
}

fn only_numeric(request: &Request) -> Result<(), CompileError> {
    let mut nodes = request.forest.trees.iter().flat_map(|tree| &tree.inner);
    if nodes.all(|node| matches!(node.predicate, Predicate::Numeric { .. })) {
        return Ok(());
    }
    Err(CompileError::new(
        CompileError::CATEGORY,
        "the model has category splits, which no representation holds yet",
        "train with numeric or one-hot features",
    ))
}
