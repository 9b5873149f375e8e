//! A traversal over a layout.

use super::speculate::{LevelOrder, NodeTest};
use super::steps;
use super::sweep::{self, Sweep};
use super::test_mask::TestMask;
use super::{Lane, StepCounts, Traversal};
use crate::lir::{Builder, Value};
use crate::quantize::fetch::FetchStrategy;
use crate::repr::representation::Representation;
use crate::repr::tree::{Buffers, TreeState};

/// A traversal over a layout, ready to emit code.
pub struct WalkEmitter<'a> {
    layout: &'a dyn Representation,
    buffers: &'a Buffers,
    code: TraversalCode<'a>,
    top: Option<&'a dyn LevelOrder>,
    steps: StepCounts,
    /// Whether one word with the bins of four rows passes the first levels at once.
    packed: bool,
}

/// Interface of the layout that the traversal uses.
enum TraversalCode<'a> {
    /// Steps, with a fetch strategy for each level that is looked up.
    Steps {
        bytes: bool,
        fetch: &'a [FetchStrategy],
    },
    Sweep(&'a dyn Sweep),
    TestMask(&'a dyn TestMask),
}

impl<'a> WalkEmitter<'a> {
    /// A traversal over a layout whose tables are in these buffers. `None` if the layout does not
    /// support it.
    pub fn new(
        layout: &'a dyn Representation,
        buffers: &'a Buffers,
        traversal: &'a Traversal,
        steps: StepCounts,
    ) -> Option<WalkEmitter<'a>> {
        let code = match traversal {
            Traversal::PointerChase
            | Traversal::PackedRows
            | Traversal::TreeLanes
            | Traversal::NodeTiles
            | Traversal::Dense { .. } => TraversalCode::Steps { bytes: false, fetch: &[] },
            Traversal::LevelTests { bytes } => TraversalCode::Steps { bytes: *bytes, fetch: &[] },
            Traversal::LevelLookup { bytes, fetch } => TraversalCode::Steps { bytes: *bytes, fetch },
            Traversal::NodeSweep => TraversalCode::Sweep(layout.sweep()?),
            Traversal::TestMask => TraversalCode::TestMask(layout.test_mask()?),
        };
        let top = if steps.speculated > 0 { Some(layout.level_order()?) } else { None };
        let packed = *traversal == Traversal::PackedRows;
        Some(WalkEmitter { layout, buffers, code, top, steps, packed })
    }

    /// Loads the nodes of a tree's speculated levels, in level order. Packed rows load these nodes later,
    /// when they test them.
    pub fn load_top_nodes(&self, b: &mut Builder, state: &TreeState) -> Vec<NodeTest> {
        let Some(layout) = self.top.filter(|_| !self.packed) else { return Vec::new() };
        let end = 1u64 << self.steps.speculated;
        (1..end).map(|number| layout.node(b, self.buffers, state, number)).collect()
    }

    /// Emits the walks of all lanes from the root to the leaf, and returns the leaves' node numbers. `bins`
    /// is the row's look-up table of bins, for test masks. Single walks of remainder rows take steps, even if
    /// vectors sweep.
    pub fn walk(&self, b: &mut Builder, lanes: &[&Lane], bins: Option<Value>) -> Vec<Value> {
        let vectors = lanes.first().is_some_and(|lane| lane.width > 1);
        let (bytes, fetch) = match (&self.code, bins) {
            (TraversalCode::Sweep(layout), _) if vectors => {
                return sweep::walk(b, *layout, self.buffers, lanes);
            }
            (TraversalCode::TestMask(layout), Some(bins)) => {
                let leaf =
                    |lane: &&Lane| layout.leaf_of(b, self.buffers, &lane.state, bins, self.steps.straight);
                return lanes.iter().map(leaf).collect();
            }
            (TraversalCode::Steps { bytes, fetch }, _) if vectors => (*bytes, *fetch),
            _ => (false, &[][..]),
        };
        let walk = steps::WalkGroup {
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
