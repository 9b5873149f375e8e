//! Walks that begin with all nodes of the top levels at once: every node's test is made, whether the row comes there or
//! not, and the answers choose the path. Nothing waits for the node before it, the nodes are the same for all rows, and
//! so are the features that they test; the price is tests whose answers nobody needs.

use super::test::Test;
use super::{Place, Row, TreeState, choose, index_type};
use crate::fault::{Fault, seeded};
use crate::lir::{Builder, Cast, Scalar, Ty, Value};

/// What an inner node tests. Single values if it is a node of one tree, vectors if it is one of each lane's tree.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// What the feature is compared with.
    pub threshold: Value,
    /// The feature's number.
    pub feature: Value,
    /// Whether missing values go left, where each node says.
    pub missing_left: Option<Value>,
}

impl Node {
    /// Whether the row, or each row of a vector of so many walks, goes right.
    fn goes_right(&self, b: &mut Builder, test: &Test, row: &Row, lanes: u16) -> Value {
        if b.ty(self.threshold).lanes == lanes {
            let x = row.load(b, self.feature);
            return test.goes_right(b, x, self.threshold, self.missing_left);
        }
        let x = if row.lanes.is_some_and(|lanes| lanes.adjacent) {
            row.load_column(b, self.feature, lanes)
        } else {
            let feature = b.cast(Cast::Trunc, self.feature, Ty::of(Scalar::I32));
            let feature = b.splat(feature, lanes);
            row.load(b, feature)
        };
        let threshold = b.splat(self.threshold, lanes);
        let missing_left = self.missing_left.map(|flag| b.splat(flag, lanes));
        test.goes_right(b, x, threshold, missing_left)
    }
}

impl TreeState {
    /// A node's number as walks of this tree, or of these trees, count.
    pub(super) fn number(&self, b: &mut Builder, number: u64) -> Value {
        let lanes = self.lanes.map_or(1, |lanes| b.ty(lanes).lanes);
        b.int_of(index_type(lanes), number as i64)
    }
}

/// The place that a walk reaches after all levels of `nodes`, which are complete and stand level by level from the root
/// on. Layouts number such nodes in this order from the root's number on.
pub fn speculate(b: &mut Builder, test: &Test, row: &Row, nodes: &[Node], root: Value) -> Place {
    let ty = b.ty(root);
    let answers: Vec<Value> = nodes.iter().map(|node| node.goes_right(b, test, row, ty.lanes)).collect();
    let mut turns = Vec::new();
    let mut rest = answers.as_slice();
    while !rest.is_empty() {
        let (level, below) = rest.split_at(rest.len().min(1 << turns.len()));
        let turn = choose(b, level.to_vec(), &turns);
        turns.push(turn);
        rest = below;
    }
    let above = b.int_of(ty, nodes.len() as i64);
    let mut node = b.add(root, above);
    let mut path = None;
    let mut order = turns.clone();
    if seeded(Fault::TurnsSwapped) {
        order.reverse();
    }
    for turn in &order {
        let turn = b.cast(Cast::ZExt, *turn, ty);
        path = Some(path.map_or(turn, |path| {
            let double = b.add(path, path);
            b.add(double, turn)
        }));
    }
    if let Some(path) = path {
        node = b.add(node, path);
    }
    Place { node, turns }
}
