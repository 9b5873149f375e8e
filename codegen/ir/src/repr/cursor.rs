//! Positions of walks in a tree.

use crate::lir::{Builder, Cast, Value};
use crate::quantize::fetch::FetchStrategy;

/// Position of a walk, or of each walk of a vector.
#[derive(Clone, Debug)]
pub struct Cursor {
    /// Number of the current node.
    pub node: Value,
    /// For each straight-line step so far whether it led right; empty if steps are not counted.
    pub decisions: Vec<Value>,
    /// Node before each of these steps.
    pub path: Vec<Value>,
}

impl Cursor {
    /// A position without recorded steps.
    pub fn of(node: Value) -> Cursor {
        Cursor { node, decisions: Vec::new(), path: Vec::new() }
    }

    /// The child of a node whose children are numbered `2n` and `2n + 1`.
    pub fn descend(&self, b: &mut Builder, right: Value) -> Cursor {
        let decision = b.cast(Cast::ZExt, right, b.ty(self.node));
        let left = b.add(self.node, self.node);
        let decisions = self.decisions.iter().copied().chain([right]).collect();
        let path = self.path.iter().copied().chain([self.node]).collect();
        Cursor { node: b.add(left, decision), decisions, path }
    }
}

/// Selects, per lane, the value of the node that the decisions lead to. `values` holds one value per
/// node of the level.
pub fn choose(b: &mut Builder, mut values: Vec<Value>, decisions: &[Value]) -> Value {
    for decision in decisions.iter().rev() {
        values = values.chunks(2).map(|pair| b.select(*decision, pair[1], pair[0])).collect();
    }
    values[0]
}

/// Kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A step from a known level, before any walk has arrived at a leaf.
    Level {
        /// Steps before this one.
        level: u32,
        /// Fetch strategy for the level's operands, if its nodes are looked up.
        fetch: Option<FetchStrategy>,
        /// Whether some level loads all columns, so that no register is free to keep the values of this level
        /// for other trees.
        reloads: bool,
    },
    /// A step from an unknown level; no walk has arrived.
    Unmasked,
    /// A step from an unknown level; walks that have arrived stay at their leaf.
    Masked,
}
