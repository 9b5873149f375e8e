//! A traversal over a layout.

use super::speculate::{LevelOrder, NodeTest};
use super::steps;
use super::sweep::{self, Sweep};
use super::test_mask::TestMask;
use super::{Lane, Steps, Traversal};
use crate::lir::{Builder, Value};
use crate::quantize::fetch::FetchStrategy;
use crate::repr::representation::Representation;
use crate::repr::tree::{Buffers, TreeState};

/// A traversal over a layout, ready to emit code.
pub struct Walker<'a> {
    layout: &'a dyn Representation,
    buffers: &'a Buffers,
    code: Code<'a>,
    top: Option<&'a dyn LevelOrder>,
    steps: Steps,
    /// Whether four walks are of rows that share a word.
    packed: bool,
}

/// What a traversal needs of a layout.
enum Code<'a> {
    /// Steps; of levels that are looked up, each has a strategy.
    Steps {
        bytes: bool,
        fetch: &'a [FetchStrategy],
    },
    Sweep(&'a dyn Sweep),
    TestMask(&'a dyn TestMask),
}

impl<'a> Walker<'a> {
    /// The traversal of a layout whose tables are in these buffers. None if the layout does not carry it.
    pub fn new(
        layout: &'a dyn Representation,
        buffers: &'a Buffers,
        traversal: &'a Traversal,
        steps: Steps,
    ) -> Option<Walker<'a>> {
        let code = match traversal {
            Traversal::PointerChase | Traversal::PackedRows | Traversal::TreeLanes | Traversal::NodeTiles => {
                Code::Steps { bytes: false, fetch: &[] }
            }
            Traversal::LevelTests { bytes } => Code::Steps { bytes: *bytes, fetch: &[] },
            Traversal::LevelLookup { bytes, fetch } => Code::Steps { bytes: *bytes, fetch },
            Traversal::NodeSweep => Code::Sweep(layout.sweep()?),
            Traversal::TestMask => Code::TestMask(layout.test_mask()?),
        };
        let top = if steps.speculated > 0 { Some(layout.level_order()?) } else { None };
        let packed = *traversal == Traversal::PackedRows;
        Some(Walker { layout, buffers, code, top, steps, packed })
    }

    /// The nodes of a tree that walks evaluate whatever way they take, level by level. Rows of one word load them where they
    /// test them.
    pub fn top(&self, b: &mut Builder, state: &TreeState) -> Vec<NodeTest> {
        let Some(layout) = self.top.filter(|_| !self.packed) else { return Vec::new() };
        let end = 1u64 << self.steps.speculated;
        (1..end).map(|number| layout.node(b, self.buffers, state, number)).collect()
    }

    /// Takes every lane from the root to its leaf, and returns the leaves' numbers. `bins` are those of the
    /// row as a table, where all tests of a tree are made at once. Single walks that vectors leave over take
    /// steps.
    pub fn walk(&self, b: &mut Builder, lanes: &[&Lane], bins: Option<Value>) -> Vec<Value> {
        let vectors = lanes.first().is_some_and(|lane| lane.width > 1);
        let (bytes, fetch) = match (&self.code, bins) {
            (Code::Sweep(layout), _) if vectors => return sweep::walk(b, *layout, self.buffers, lanes),
            (Code::TestMask(layout), Some(bins)) => {
                let leaf =
                    |lane: &&Lane| layout.leaf_of(b, self.buffers, &lane.state, bins, self.steps.straight);
                return lanes.iter().map(leaf).collect();
            }
            (Code::Steps { bytes, fetch }, _) if vectors => (*bytes, *fetch),
            _ => (false, &[][..]),
        };
        let walk = steps::Walk {
            layout: self.layout,
            top: self.top,
            buffers: self.buffers,
            steps: self.steps,
            bytes,
            packed: self.packed,
            fetch,
            lanes,
        };
        walk.to_leaves(b)
    }
}
