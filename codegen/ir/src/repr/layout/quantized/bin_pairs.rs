//! The quantized layout of GPUs: complete trees in level order with nodes of 16 bits ([`BinNodes`]).

use crate::error::CompileError;
use crate::lir::{Builder, Value};
use crate::quantize::BinMap;
use crate::repr::bin_nodes::{BinNodes, bins_fit_bytes};
use crate::repr::complete::{CompleteTrees, NodeSlot, PaddedDepths};
use crate::repr::cursor::{Cursor, Step};
use crate::repr::leaves::Leaves;
use crate::repr::records::TableNames;
use crate::repr::representation::{Representation, WalkEnd};
use crate::repr::request::LayoutRequest;
use crate::repr::schema::{Schema, TableBytes};
use crate::repr::spans::TreeSpans;
use crate::repr::test::Test;
use crate::repr::traverse::Lane;
use crate::repr::traverse::speculate::{LevelOrder, NodeTest};
use crate::repr::tree::{Buffers, TreeState};
use crate::repr::tree_tables::InOrder;
use sched_forest::Forest;
use sched_nest::Layout;

/// Trees as tables of 16-bit nodes and of leaves.
pub struct BinPairs {
    schema: Schema,
    test: Test,
    trees: CompleteTrees,
    nodes: BinNodes,
}

const NAMES: TableNames =
    TableNames { nodes: "pair_leaves", trees: "pair_trees", leaf_indices: "pair_leaf_indices" };

impl BinPairs {
    /// The layout for a forest whose used trees are complete.
    ///
    /// # Errors
    ///
    /// If there are too many nodes, or if the forest has no bins.
    pub fn new(request: &LayoutRequest) -> Result<BinPairs, CompileError> {
        if request.bins.is_none() {
            return Err(BinMap::no_bins_error());
        }
        let depths = PaddedDepths::of(request);
        let starts = depths.tree_starts()?;
        let mut schema = Schema::default();
        let nodes = BinNodes::declare(&mut schema, "pair_nodes", request, starts.count());
        schema.prefetch_with_trees(nodes.field().table());
        let test = Test::of(request, Layout::Quantized);
        let trees = CompleteTrees::declare(request, &mut schema, NAMES, depths, starts);
        Ok(BinPairs { schema, test, trees, nodes })
    }

    /// Whether threshold bins and columns fit a byte each.
    pub fn fits(request: &LayoutRequest) -> bool {
        bins_fit_bytes(request)
    }
}

impl Representation for BinPairs {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        self.trees.fill(forest, bytes, |bytes, NodeSlot { entry, .. }, inner| {
            self.nodes.write(bytes, entry, &self.test, inner);
        });
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, _: Step) -> Cursor {
        self.nodes.step(b, buffers, &lane.state, &lane.row, at)
    }

    fn leaf_record(&self, b: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        let WalkEnd { node, steps } = end;
        (state.numbered_from(b, self.trees.first_leaf(steps)), node)
    }

    fn leaves(&self) -> &Leaves {
        &self.trees.leaves
    }
}

impl InOrder for BinPairs {
    fn tree_spans(&self) -> TreeSpans<'_> {
        self.trees.spans(&self.schema)
    }
}

impl LevelOrder for BinPairs {
    fn test(&self) -> &Test {
        &self.test
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest {
        self.nodes.node(b, buffers, state, number)
    }
}
