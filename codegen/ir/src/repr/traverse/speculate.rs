//! Speculation: all nodes of the top levels are tested at once, and their decisions then select the
//! path. No test waits for another, and all rows load the same nodes and features. The price is tests
//! of nodes that are not on the path.

use crate::fault::{Fault, seeded};
use crate::lir::{Builder, Cast, Scalar, Ty, Value};
use crate::repr::cursor::{Cursor, choose};
use crate::repr::test::Test;
use crate::repr::tree::{Buffers, TreeState};
use crate::rows::RowAddress;

/// Test of an inner node: scalars for a node of one tree, vectors for one node of each lane's tree.
#[derive(Clone, Copy, Debug)]
pub struct NodeTest {
    /// Operand of the comparison.
    pub operand: Value,
    /// Number of the feature.
    pub feature: Value,
    /// Whether missing values go left, if that depends on the node.
    pub missing_left: Option<Value>,
}

/// A layout that numbers nodes level by level, from the root's number on, as long as no leaf is above them.
pub trait LevelOrder {
    /// Comparison at inner nodes.
    fn test(&self) -> &Test;

    /// Loads the inner node of a number, counted from 1 at the root. There must be no leaf above it or
    /// in its level.
    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest;
}

impl NodeTest {
    /// Whether the row, or each row of a vector of `lanes` walks, goes right.
    fn goes_right(&self, b: &mut Builder, test: &Test, row: &RowAddress, lanes: u16) -> Value {
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

/// Cursor of a walk after all levels of `nodes`, which are complete and in level order from the root.
/// Layouts number such nodes in this order from the root's number on.
pub fn speculate(b: &mut Builder, test: &Test, row: &RowAddress, nodes: &[NodeTest], root: Value) -> Cursor {
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
