//! The hybrid layout: complete top levels in level order, and existing nodes depth first below them.
//!
//! The top levels are numbered as in the array layout: the root is 1, the children of `n` are `2n` and
//! `2n + 1`. A node there is one number ([`BinNodes`]), and a step over it is straight-line. A table of
//! *subtrees* follows, with one entry for each position below these levels: the walk's number at the
//! subtree's root in the preorder layout ([`Preorder`]), or at a leaf. Then the walk takes that layout's
//! steps. All trees have the same number of complete levels ([`complete_levels`]). A leaf above has the
//! positions of all leaves below its number.
//!
//! The nodes in preorder include those of the top levels, which no walk reads: nodes and leaves share one
//! index of records.

use super::preorder::{Preorder, PreorderNames, PreorderWalks};
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::{Builder, Cast, Scalar, Value};
use crate::repr::bin_nodes::BinNodes;
use crate::repr::complete::{CompleteNode, LEAST_ENTRIES, for_each_node};
use crate::repr::cursor::{Cursor, Step};
use crate::repr::format_traits::TransposedBins;
use crate::repr::layout::{FormatInfo, Formats};
use crate::repr::leaves::Leaves;
use crate::repr::records::TableNames;
use crate::repr::representation::{Representation, WalkEnd};
use crate::repr::request::LayoutRequest;
use crate::repr::schema::{Field, Schema, TableBytes};
use crate::repr::spans::{RecordSpan, TreeSpans};
use crate::repr::starts::too_many_records;
use crate::repr::test::Test;
use crate::repr::traverse::Lane;
use crate::repr::traverse::speculate::{LevelOrder, NodeTest};
use crate::repr::tree::{Buffers, TreeExtra, TreeLanes, TreeState, WalkShape};
use crate::repr::tree_tables::InOrder;
use sched_forest::Forest;
use sched_nest::Layout;
use sched_nest::footprint::top_levels;

/// Trees as complete top levels, and nodes in preorder.
pub struct Hybrid {
    schema: Schema,
    below: Preorder,
    /// Number of complete levels.
    levels: u32,
    top: BinNodes,
    /// Numbers of walks below the complete levels.
    subtree: Field,
}

/// The formats of the layout.
pub const FORMATS: Formats = Formats {
    all: &[FormatInfo {
        packs_rows: true,
        transposed_bins: TransposedBins::RowVectors,
        ..FormatInfo::new("complete top levels in level order, nodes below depth first", |request| {
            Ok(Box::new(Hybrid::new(request)?))
        })
    }],
    for_access: |_| 0,
};

const NAMES: PreorderNames = PreorderNames {
    nodes: "hybrid_nodes",
    positions: "hybrid_places",
    leaves: TableNames { nodes: "hybrid_leaves", trees: "hybrid_trees", leaf_indices: "hybrid_leaf_indices" },
};

/// Number of complete levels of the used trees.
fn complete_levels(request: &LayoutRequest) -> u32 {
    let used = request.forest.trees.iter().zip(request.used).filter(|(_, used)| **used);
    let (trees, leaves) =
        used.fold((0, 0), |(trees, leaves), (tree, _)| (trees + 1, leaves + tree.leaves.len() as u64));
    top_levels(trees, leaves)
}

impl Hybrid {
    /// The layout for a forest's used trees.
    ///
    /// # Errors
    ///
    /// If there are too many leaves or nodes, or if the forest has no bins.
    pub fn new(request: &LayoutRequest) -> Result<Hybrid, CompileError> {
        let below = Preorder::new(request, Layout::Hybrid, &NAMES, PreorderWalks::Steps)?;
        let levels = complete_levels(request);
        let mut schema = below.tables().clone();
        let entries = Hybrid::entries(levels).saturating_mul(request.forest.trees.len() as u64);
        if i32::try_from(entries).is_err() {
            return Err(too_many_records(entries, "entries"));
        }
        let top = BinNodes::declare(&mut schema, "hybrid_tops", request, entries);
        let subtree = schema.add_number_table("hybrid_subtrees", Scalar::I32, entries);
        Ok(Hybrid { schema, below, levels, top, subtree })
    }

    /// Entries of a tree in the tables of top nodes and of subtrees.
    fn entries(levels: u32) -> u64 {
        LEAST_ENTRIES.max(1 << levels)
    }

    /// Records of a tree's top levels.
    fn top_state(state: &TreeState) -> TreeState {
        match state.extra {
            TreeExtra::Tops { first, lanes } => TreeState { base: first, lanes, extra: TreeExtra::Nothing },
            _ => *state,
        }
    }
}

impl Representation for Hybrid {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        self.below.fill(forest, bytes);
        let entries = Hybrid::entries(self.levels) as usize;
        for (at, tree) in forest.trees.iter().enumerate().filter(|(at, _)| self.below.has_tree(*at)) {
            let (first, numbers) = (at * entries, Preorder::walk_numbers(tree));
            for_each_node(tree, self.levels, |part| match part {
                CompleteNode::Node(number, inner) => {
                    self.top.write(bytes, first + number as usize, self.below.test(), inner);
                }
                CompleteNode::Subtree(place, inner) => {
                    self.subtree.write(bytes, first + place as usize, numbers.of_nodes[inner as usize]);
                }
                CompleteNode::Leaf(places, leaf) => places.for_each(|place| {
                    self.subtree.write(bytes, first + place as usize, numbers.of_leaves[leaf as usize]);
                }),
            });
        }
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
    }

    fn complete_levels(&self) -> Option<u32> {
        Some(self.levels)
    }

    fn enter_subtree(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        let first = if seeded(Fault::SubtreesShifted) { (1 << self.levels) - 1 } else { 1 << self.levels };
        let state = Hybrid::top_state(state).numbered_from(b, first);
        let number = self.subtree.load(b, buffers, &state, node);
        let ty = b.number_type(b.ty(node).lanes);
        b.cast(Cast::ZExt, number, ty)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        match step {
            Step::Level { level, .. } if level < self.levels => {
                self.top.step(b, buffers, &Hybrid::top_state(&lane.state), &lane.row, at)
            }
            _ => self.below.step(b, buffers, lane, at, step),
        }
    }

    fn is_leaf(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        self.below.is_leaf(b, buffers, state, node)
    }

    fn leaf_record(&self, b: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        self.below.leaf_record(b, state, end)
    }

    fn leaves(&self) -> &Leaves {
        self.below.leaves()
    }
}

impl InOrder for Hybrid {
    fn tree_spans(&self) -> TreeSpans<'_> {
        self.below.spans(&self.schema)
    }

    fn spans_beside(&self, trees: u64) -> Option<Vec<RecordSpan>> {
        let entries = Hybrid::entries(self.levels);
        let tables = [self.top.field(), self.subtree];
        Some(
            tables
                .into_iter()
                .filter_map(|field| RecordSpan::of_equal(&self.schema, field.table(), entries, trees))
                .collect(),
        )
    }

    fn load_extra(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        tree: Value,
        _: Value,
        _: WalkShape,
    ) -> TreeExtra {
        let tree = buffers.index_of_tree(b, tree);
        TreeExtra::Tops { first: b.mul_int(tree, Hybrid::entries(self.levels) as i64), lanes: None }
    }

    fn load_extra_of_trees(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        tree: Value,
        lanes: TreeLanes,
    ) -> TreeExtra {
        let tree = buffers.index_of_tree(b, tree);
        let entries = Hybrid::entries(self.levels) as i64;
        let first = b.mul_int(tree, entries);
        let entries = b.int_of(b.ty(lanes.distance), entries);
        TreeExtra::Tops { first, lanes: Some(b.mul(lanes.distance, entries)) }
    }
}

impl LevelOrder for Hybrid {
    fn test(&self) -> &Test {
        self.below.test()
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest {
        self.top.node(b, buffers, &Hybrid::top_state(state), number)
    }
}
