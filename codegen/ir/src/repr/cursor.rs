//! Where walks stand in a tree.

use crate::lir::{Builder, Cast, Value};
use crate::quantize::fetch::FetchStrategy;

/// Where a walk, or a vector of walks, stands.
#[derive(Clone, Debug)]
pub struct Cursor {
    /// The node's number.
    pub node: Value,
    /// For each straight-line step so far whether it led to the right; forgotten where steps are not counted.
    pub decisions: Vec<Value>,
    /// The nodes that those steps began at.
    pub path: Vec<Value>,
}

impl Cursor {
    /// A node, however walks have come to it.
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

/// Selects, per lane, the value of the node that the decisions so far lead to. `values` are those of all
/// nodes of the level.
pub fn choose(b: &mut Builder, mut values: Vec<Value>, decisions: &[Value]) -> Value {
    for decision in decisions.iter().rev() {
        values = values.chunks(2).map(|pair| b.select(*decision, pair[1], pair[0])).collect();
    }
    values[0]
}

/// Which step of a walk is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The one from this level; no walk has arrived. Where the level's nodes are looked up, `fetch` says how
    /// the values or bins that they test are.
    Level {
        /// Steps that lie behind.
        level: u32,
        /// How values are fetched.
        fetch: Option<FetchStrategy>,
        /// Whether deeper levels reload all columns, so that there is no register for what other trees need, too.
        reloads: bool,
    },
    /// Any; no walk has arrived.
    Unmasked,
    /// Any; walks that have arrived stay where they are.
    Masked,
}
