//! Representations: how trees lie in memory, and the code that walks them there.
//!
//! A representation is one module behind [`Representation`]. Lowering asks it to load a tree's state (once per tree),
//! to take a step for a group of lanes, to tell whether a lane has arrived, and to read the leaf; it knows nothing of
//! records, offsets or widths. Adding a layout touches its own file and [`of_layout`].

mod abreast;
mod array;
pub mod codes;
mod columns;
mod complete;
mod entries;
mod levels;
mod numbers;
mod offsets;
mod outcomes;
mod packed;
mod payload;
mod preorder;
mod quantized;
mod record;
mod sparse;
mod speculate;
mod sweep;
mod test;
mod tiled;
mod way;
mod words;

use crate::error::CompileError;
use crate::lir::{Address, BufferId, Builder, Cast, Gather, Keep, Scalar, Table, Ty, Value};
use crate::mir::{Storage, Walkers};
use crate::tiles::Tiling;
use sched_forest::{Forest, Predicate};
use sched_nest::Layout;
use std::sync::Arc;

pub use columns::Columns;
pub(crate) use record::{narrowest, scalar, write_float, write_int};
pub use speculate::{LevelOrder, Node, speculate};
pub use sweep::{Sweep, Swept};
pub use test::Test;

/// Where the row of a walk, or the rows of a vector of walks, lie: the value of feature `f` is element
/// `index + f * stride` of `buffer`, `offset` bytes further.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The buffer of rows.
    pub buffer: BufferId,
    /// The element of feature 0 of the first row, an `i64`.
    pub index: Value,
    /// Bytes to add, a multiple of the element's size.
    pub offset: u32,
    /// The element.
    pub element: Scalar,
    /// Elements from one feature to the next.
    pub stride: u32,
    /// The rows of a vector; none for a single walk.
    pub lanes: Option<RowLanes>,
    /// All values of the row as a table to look up by number, where all lanes walk one row.
    pub table: Option<Value>,
}

/// The rows of a vector of walks.
#[derive(Clone, Copy, Debug)]
pub struct RowLanes {
    /// Each lane's distance from the first row in elements, a vector of `i32`; none if all lanes walk one row.
    pub distance: Option<Value>,
    /// Whether the distances are 0, 1, 2 and so on: a feature of all lanes is one piece of memory.
    pub adjacent: bool,
    /// Which lanes have a row; all, if there is none.
    pub mask: Option<Value>,
}

impl Row {
    /// The values of a feature: an `i64` for a single row, a vector of `i32` for a vector of walks. Codes are widened to
    /// these types with zeros.
    fn load(&self, b: &mut Builder, feature: Value) -> Value {
        let Some(lanes) = self.lanes else {
            let feature = b.mul_int(feature, i64::from(self.stride));
            let index = b.add(self.index, feature);
            let at =
                Address { buffer: self.buffer, index, stride: self.element.bytes(), offset: self.offset };
            let value = b.load(Ty::of(self.element), at);
            return if self.element.is_float() { value } else { b.cast(Cast::ZExt, value, Ty::I64) };
        };
        if let Some(table) = self.table {
            return b.lookup(table, feature);
        }
        let ty = b.ty(feature);
        let stride = b.int_of(ty, i64::from(self.stride));
        let feature = if self.stride == 1 { feature } else { b.mul(feature, stride) };
        let index = lanes.distance.map_or(feature, |distance| b.add(feature, distance));
        let gather = Gather {
            buffer: self.buffer,
            base: self.index,
            index,
            stride: self.element.bytes(),
            offset: self.offset,
            mask: lanes.mask,
        };
        if self.element.is_float() {
            return b.gather(self.element, gather);
        }
        // There are gathers of whole words only.
        let word = b.gather(Scalar::I32, gather);
        b.bits(word, 0, 8 * self.element.bytes())
    }

    /// The values of one feature for all lanes, where they are one piece of memory. The feature is an `i64`.
    fn load_column(&self, b: &mut Builder, feature: Value, width: u16) -> Value {
        self.load_column_and(b, Keep::Invariant, feature, width)
    }

    /// The same, kept in some way.
    fn load_column_and(&self, b: &mut Builder, keep: Keep, feature: Value, width: u16) -> Value {
        let distance = b.mul_int(feature, i64::from(self.stride));
        self.load_rows(b, keep, distance, width)
    }

    /// The values for all lanes that begin so many elements behind the first row's.
    fn load_rows(&self, b: &mut Builder, keep: Keep, distance: Value, width: u16) -> Value {
        let stride = self.element.bytes();
        let first = Address { buffer: self.buffer, index: self.index, stride, offset: self.offset };
        let at = match b.as_int(distance) {
            Some(elements) => b.beyond(first, elements),
            None => Address { index: b.add(self.index, distance), ..first },
        };
        b.load_and(keep, Ty::vector(self.element, width), at)
    }
}

/// A tree, or a vector of trees, that is being walked: whatever its representation loads once per tree.
#[derive(Clone, Debug)]
pub struct TreeState {
    /// The first record of the (first) tree, an `i64`.
    pub base: Value,
    /// For a vector of trees, the distance of each tree's first record from there, a vector of `i32`.
    pub lanes: Option<Value>,
    /// What else the representation has loaded, for its own use.
    pub loaded: Vec<Value>,
}

/// The trees of a vector of walks.
#[derive(Clone, Copy, Debug)]
pub struct TreeLanes {
    /// Each lane's distance from the first tree in trees, a vector of `i32`.
    pub distance: Value,
    /// Whether the distances are 0, 1, 2 and so on and the first tree's number is a multiple of the number of lanes.
    /// Lanes beyond the last tree may lead to any tree then.
    pub aligned: bool,
}

/// Where a walk, or a vector of walks, stands.
#[derive(Clone, Debug)]
pub struct Place {
    /// The node's number.
    pub node: Value,
    /// For each straight-line hop so far whether it led to the right; forgotten where hops are not counted.
    pub turns: Vec<Value>,
    /// The nodes that those hops began at.
    pub passed: Vec<Value>,
}

impl Place {
    /// A node, however walks have come to it.
    pub fn of(node: Value) -> Place {
        Place { node, turns: Vec::new(), passed: Vec::new() }
    }

    /// The child of a node whose children are numbered `2n` and `2n + 1`.
    fn turned(&self, b: &mut Builder, right: Value) -> Place {
        let turn = b.cast(Cast::ZExt, right, b.ty(self.node));
        let left = b.add(self.node, self.node);
        let turns = self.turns.iter().copied().chain([right]).collect();
        let passed = self.passed.iter().copied().chain([self.node]).collect();
        Place { node: b.add(left, turn), turns, passed }
    }
}

/// Of the values of all nodes of a level those of the nodes that the turns from the root have led to.
fn choose(b: &mut Builder, mut values: Vec<Value>, turns: &[Value]) -> Value {
    for turn in turns.iter().rev() {
        values = values.chunks(2).map(|pair| b.select(*turn, pair[1], pair[0])).collect();
    }
    values[0]
}

impl TreeState {
    /// Loads `scalar` from the element of a node, `offset` bytes into it. A vector of node numbers gives a vector.
    fn load(&self, b: &mut Builder, buffer: BufferId, scalar: Scalar, node: Value, at: (u32, u32)) -> Value {
        let (stride, offset) = at;
        if b.ty(node).lanes == 1 {
            let index = b.add(self.base, node);
            return b.load(Ty::of(scalar), Address { buffer, index, stride, offset });
        }
        let index = self.lanes.map_or(node, |lanes| b.add(lanes, node));
        b.gather(scalar, Gather { buffer, base: self.base, index, stride, offset, mask: None })
    }
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

/// Which hop of a walk is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// The one after so many hops; no walk has arrived.
    Number(u32),
    /// Any; no walk has arrived.
    Open,
    /// Any; walks that have arrived stay where they are.
    Hold,
}

/// A layout of trees in memory and the code that walks it.
pub trait Representation {
    /// Bytes of all tables together, known before any is built.
    fn footprint(&self) -> u64;

    /// Names and elements of the tables, in the order of [`encode`](Self::encode).
    fn tables(&self) -> Vec<(&'static str, Scalar)>;

    /// Builds the tables. `forest` is the one that the representation was made for.
    fn encode(&self, forest: &Forest) -> Vec<Table>;

    /// Loads what is needed once per tree by walks in vectors of so many lanes that take so many hops that are counted,
    /// and by single walks.
    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, walks: (u16, u32)) -> TreeState;

    /// The same for a vector of trees of which `tree` is the first.
    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState;

    /// The root's node number: an `i64`, or a vector of `i32` for several lanes. It is 1 where the children of `n` are
    /// `2n` and `2n + 1`.
    fn root(&self, b: &mut Builder, lanes: u16) -> Value {
        b.int_of(index_type(lanes), 1)
    }

    /// One hop: the child that the row leads to. A vector of nodes makes a vector of walks take the hop. `hop` is the
    /// number of hops that lie behind, where all walks have taken the same number. With `hold` a leaf stays where it
    /// is, else the node must not be a leaf.
    fn step(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        place: &Place,
        hop: Hop,
    ) -> Place;

    /// The layout as one whose nodes have the numbers of a complete tree as far as no leaf is above them, if it is one.
    fn level_order(&self) -> Option<&dyn LevelOrder> {
        None
    }

    /// The node that a row ends at, of which `codes` is a table to look up, found by making all tests of the tree at once;
    /// none if that costs more than hopping. `hops` is the number of hops to the leaf, where all walks take the same number.
    fn at_once(
        &self,
        _: &mut Builder,
        _: &Buffers,
        _: &TreeState,
        _codes: Value,
        _hops: Option<u32>,
    ) -> Option<Value> {
        None
    }

    /// The layout as one whose nodes vectors of rows test one after the other instead of hopping, if it is one.
    fn sweep(&self) -> Option<&dyn Sweep> {
        None
    }

    /// Whether the node is a leaf, an `i1`. Where all walks are straight-line to the leaf, nobody asks before it is.
    fn done(&self, b: &mut Builder, _: &Buffers, _: &TreeState, node: Value) -> Value {
        b.int_of(b.ty(node).with(Scalar::I1), 1)
    }

    /// What the leaf holds. `hops` is the number of hops to it, where all walks have taken the same number.
    fn leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        hops: Option<u32>,
    ) -> LeafValue;

    /// The leaf's number in the model, an `i32`.
    fn leaf_number(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        hops: Option<u32>,
    ) -> Value;

    /// Brings a tree near.
    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value);
}

/// What representations are made for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The forest, whose trees are padded unless only complete layouts hold them.
    pub forest: &'a Forest,
    /// Edges to the deepest and to the shallowest leaf of each tree when it is padded.
    pub depths: &'a [(u32, u32)],
    /// The tiles of nodes that walks hop over, where they do.
    pub tiles: Option<&'a Arc<Tiling>>,
    /// Which trees are walked in this layout.
    pub used: &'a [bool],
    /// Whether leaf numbers are wanted.
    pub leaf_numbers: bool,
    /// The columns that nodes name; features if none.
    pub columns: Option<&'a Columns>,
    /// The codes of the forest's features, if some trees are walked with them.
    pub codes: Option<&'a Arc<codes::Codes>>,
}

impl Request<'_> {
    /// Edges to the deepest leaf of each tree that is walked in this layout; none for others.
    fn depths_of_used(&self) -> Vec<Option<u32>> {
        self.used.iter().zip(self.depths).map(|(used, (deepest, _))| used.then_some(*deepest)).collect()
    }
}

/// The representation of a storage for a forest.
///
/// # Errors
///
/// When the layout cannot hold the forest's predicates or needs wider indices than there are.
pub fn of_layout(
    storage: Storage,
    request: &Request,
) -> Result<Box<dyn Representation + Send + Sync>, CompileError> {
    only_numeric(request)?;
    if let Some(tiling) = request.tiles {
        return Ok(Box::new(tiled::Tiled::new(request, storage, tiling)?));
    }
    Ok(match (storage.layout, storage.walkers) {
        (Layout::Array, _) => Box::new(array::Array::new(request)?),
        (Layout::Sparse, Walkers::Vectors) => match words::Words::new(request) {
            Some(words) => Box::new(words),
            None => Box::new(sparse::Sparse::new(request)?),
        },
        (Layout::Sparse, _) => Box::new(sparse::Sparse::new(request)?),
        (Layout::Levels, Walkers::Abreast(lanes)) => Box::new(abreast::Abreast::new(request, lanes)?),
        (Layout::Levels, _) => Box::new(levels::Levels::new(request)?),
        (Layout::Quantized, walkers) => Box::new(quantized::Quantized::new(request, walkers)?),
        (Layout::Preorder, walkers) => Box::new(preorder::Preorder::new(request, walkers)?),
        (Layout::Reorg, _) => return Err(not_lowered(storage.layout)),
    })
}

/// The checker refuses such layouts where code is to be made.
fn not_lowered(layout: Layout) -> CompileError {
    CompileError::new(
        CompileError::NOT_LOWERED,
        format!("the layout `{}` cannot be compiled yet", layout.word()),
        "use representation(sparse)",
    )
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

/// Tables by the names that a representation gives them.
fn named(names: Vec<(&'static str, Scalar)>, bytes: impl IntoIterator<Item = Vec<u8>>) -> Vec<Table> {
    names.into_iter().zip(bytes).map(|((name, _), bytes)| Table { name: name.to_string(), bytes }).collect()
}

/// The type of node numbers: wide for a single walk, whose number is an address, narrow in vectors.
fn index_type(lanes: u16) -> Ty {
    if lanes == 1 { Ty::I64 } else { Ty::vector(Scalar::I32, lanes) }
}
