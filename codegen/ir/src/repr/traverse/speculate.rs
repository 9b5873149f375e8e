//! Walks that begin with all nodes of the top levels at once: every node's test is made, whether the row
//! comes there or not, and the answers choose the path. Nothing waits for the node before it, the nodes are
//! the same for all rows, and so are the features that they test; the price is tests whose answers nobody
//! needs.

use crate::fault::{Fault, seeded};
use crate::lir::{Builder, Cast, Scalar, Ty, Value};
use crate::repr::cursor::{Cursor, choose};
use crate::repr::test::Test;
use crate::repr::tree::{Buffers, TreeState};
use crate::rows::Row;

/// What an inner node tests. Single values if it is a node of one tree, vectors if it is one of each lane's
/// tree.
#[derive(Clone, Copy, Debug)]
pub struct NodeTest {
    /// What the feature is compared with.
    pub operand: Value,
    /// The feature's number.
    pub feature: Value,
    /// Whether missing values go left, where each node says.
    pub missing_left: Option<Value>,
}

/// A layout that numbers nodes level by level from the root's number on, as far as there are no leaves above
/// them.
pub trait LevelOrder {
    /// How inner nodes compare.
    fn test(&self) -> &Test;

    /// The inner node of a number, counted from 1 at the root; there are no leaves above it or beside it.
    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest;
}

impl NodeTest {
    /// Whether the row, or each row of a vector of `lanes` walks, goes right.
    fn goes_right(&self, b: &mut Builder, test: &Test, row: &Row, lanes: u16) -> Value {
        if b.ty(self.operand).lanes == lanes {
            let x = row.load(b, self.feature);
            return test.goes_right(b, x, self.operand, self.missing_left);
        }
        let x = if row.is_adjacent() {
            row.load_column(b, self.feature, lanes)
        } else {
            let feature = b.cast(Cast::Trunc, self.feature, Ty::of(Scalar::I32));
            let feature = b.splat(feature, lanes);
            row.load(b, feature)
        };
        let operand = b.splat(self.operand, lanes);
        let missing_left = self.missing_left.map(|flag| b.splat(flag, lanes));
        test.goes_right(b, x, operand, missing_left)
    }
}

/// Where a walk stands after all levels of `nodes`, which are complete and stand level by level from the root
/// on. Layouts number such nodes in this order from the root's number on.
pub fn speculate(b: &mut Builder, test: &Test, row: &Row, nodes: &[NodeTest], root: Value) -> Cursor {
    let ty = b.ty(root);
    let answers: Vec<Value> = nodes.iter().map(|node| node.goes_right(b, test, row, ty.lanes)).collect();
    let mut decisions = Vec::new();
    let mut rest = answers.as_slice();
    while !rest.is_empty() {
        let (level, below) = rest.split_at(rest.len().min(1 << decisions.len()));
        let decision = choose(b, level.to_vec(), &decisions);
        decisions.push(decision);
        rest = below;
    }
    let above = b.int_of(ty, nodes.len() as i64);
    let mut node = b.add(root, above);
    let mut path = None;
    let mut order = decisions.clone();
    if seeded(Fault::DecisionsSwapped) {
        order.reverse();
    }
    for decision in &order {
        let decision = b.cast(Cast::ZExt, *decision, ty);
        path = Some(path.map_or(decision, |path| {
            let double = b.add(path, path);
            b.add(double, decision)
        }));
    }
    if let Some(path) = path {
        node = b.add(node, path);
    }
    Cursor { decisions, ..Cursor::of(node) }
}
