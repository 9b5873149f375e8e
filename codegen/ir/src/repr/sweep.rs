//! Sweeps: vectors of rows that test all nodes of a tree one after the other, each row heeding those on its own path.
//!
//! Nothing is looked up or gathered on the way, so that a node costs a few instructions for a whole vector. That is less
//! than hopping where vectors are wide and trees small or deep.

use super::{Buffers, Row, TreeState};
use crate::lir::{Builder, Value};

/// A node that vectors of rows test.
#[derive(Clone, Copy, Debug)]
pub struct Swept {
    /// The place at which rows stand that have come to the node, in all lanes.
    pub here: Value,
    /// Where those stand afterwards that go right; others stay.
    pub right: Value,
    /// The rank of its threshold, in all lanes.
    pub rank: Value,
    /// The column of the codes that it compares with, an `i64`.
    pub column: Value,
}

/// A layout whose nodes stand in an order in which each comes before those below it.
pub trait Sweep {
    /// Where all rows stand at first.
    fn first_place(&self, b: &mut Builder, lanes: u16) -> Value;

    /// How many nodes are tested, an `i64`. Those behind the tree's own lead nowhere.
    fn nodes(&self, b: &mut Builder, state: &TreeState) -> Value;

    /// Loads a node of the tree for vectors of so many rows.
    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: (Value, u16)) -> Swept;

    /// Where rows stand after a node.
    fn pass(&self, b: &mut Builder, row: &Row, node: &Swept, place: Value) -> Value;
}
