//! Complete trees: code shared by layouts that number nodes level by level and whose leaves all have
//! one depth.
//!
//! The root is 1, the children of `n` are `2n` and `2n + 1`. A node's entry is its number.

use super::entries::{LeafEntry, TreeEntries};
use super::records::TableNames;
use super::representation::WalkEnd;
use super::request::LayoutRequest;
use super::schema::{Schema, TableBytes};
use super::starts::TreeStarts;
use super::tree::TreeState;
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::{Builder, Scalar, Value};
use sched_forest::{Forest, Inner, NodeRef, Tree};
use std::ops::{Deref, Range};

/// Fewest entries of a tree in a table: the length of the shortest table in which vectors of bytes look up.
pub const LEAST_ENTRIES: u64 = 16;

/// Tables of the leaves of complete trees, and the depths of these trees.
pub struct CompleteTrees {
    entries: TreeEntries,
    depths: PaddedDepths,
}

/// Depth of each tree; `None` for unused trees.
pub struct PaddedDepths(Vec<Option<u32>>);

impl Deref for CompleteTrees {
    type Target = TreeEntries;

    fn deref(&self) -> &TreeEntries {
        &self.entries
    }
}

impl CompleteTrees {
    /// Number of leaves that a vector of walks looks up in registers. `None` if its node numbers are not
    /// bytes.
    pub fn leaves_looked_up(b: &Builder, end: WalkEnd) -> Option<u64> {
        let steps = end.steps.filter(|_| b.ty(end.node).scalar == Scalar::I8)?;
        Some(1 << steps.min(40))
    }

    /// Number of records of a tree with `leaves` leaves.
    pub fn records(b: &mut Builder, leaves: u64) -> Value {
        b.int(LEAST_ENTRIES.max(leaves) as i64)
    }
}

impl PaddedDepths {
    /// Depths of the used trees.
    pub fn of(request: &LayoutRequest) -> PaddedDepths {
        PaddedDepths(request.depths_of_used())
    }

    /// Edges to the deepest leaf.
    pub fn max_depth(&self) -> u32 {
        self.0.iter().flatten().max().copied().unwrap_or(0)
    }

    /// First entries of the trees.
    ///
    /// # Errors
    ///
    /// If 31 bits cannot number the entries.
    pub fn tree_starts(&self) -> Result<TreeStarts, CompileError> {
        let size = |depth: u32| 1u64.checked_shl(depth).unwrap_or(u64::MAX).max(LEAST_ENTRIES);
        TreeStarts::new(self.0.iter().map(|depth| depth.map_or(0, size))).check_count("entries")
    }
}

impl CompleteTrees {
    /// Adds the tables of used trees to a schema, behind the tables of nodes.
    pub fn declare(
        request: &LayoutRequest,
        schema: &mut Schema,
        names: TableNames,
        depths: PaddedDepths,
        starts: TreeStarts,
    ) -> CompleteTrees {
        CompleteTrees { entries: TreeEntries::declare(request, schema, names, starts), depths }
    }

    /// Writes the tables of leaves, and calls `write` with each inner node and its slot.
    pub fn fill(
        &self,
        forest: &Forest,
        bytes: &mut TableBytes,
        mut write: impl FnMut(&mut TableBytes, NodeSlot, &Inner),
    ) {
        self.entries.fill(forest, bytes, |bytes, tree, at, start| {
            let mut leaves = Vec::with_capacity(tree.leaves.len());
            for_each_node(tree, self.depths.0[at].unwrap_or(0), |part| match part {
                CompleteNode::Node(number, inner) => {
                    write(bytes, NodeSlot { tree: at, number, entry: start + number as usize }, inner);
                }
                CompleteNode::Leaf(places, leaf) => {
                    let entry = |place: u64| LeafEntry { entry: start + place as usize, leaf };
                    leaves.extend(places.map(entry));
                }
                // No leaf is deeper than its tree.
                CompleteNode::Subtree(..) => {}
            });
            leaves
        });
    }

    /// Base and record number of a walk's leaf. The base is moved so that the leaf's node number serves as
    /// record number.
    pub fn leaf_record(&self, b: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        let WalkEnd { node, steps } = end;
        let (ty, first) = (b.ty(node), self.first_leaf(steps));
        // A byte holds only the low 8 bits of the numbers in the last level.
        let lost = ty.scalar == Scalar::I8 && first >= 1 << u8::BITS;
        let leaf = b.to_index(node);
        (state.numbered_from(b, if lost { 0 } else { first }), leaf)
    }

    /// Number of the first leaf, which is `steps` steps below the root if that is known.
    pub fn first_leaf(&self, steps: Option<u32>) -> i64 {
        1i64 << steps.unwrap_or_else(|| self.depths.max_depth()).min(40)
    }
}

/// Position of a node in the tables.
pub struct NodeSlot {
    /// Index of its tree.
    pub tree: usize,
    /// Number of the node in the tree.
    pub number: u64,
    /// Index of its entry in tables of nodes.
    pub entry: usize,
}

/// An inner node or a leaf of a tree that is treated as complete.
pub enum CompleteNode<'t> {
    /// An inner node with its number.
    Node(u64, &'t Inner),
    /// A leaf with its positions among the leaves of the complete tree. A shallow leaf takes the
    /// positions of all leaves below its number. The nodes in between are not stored, and their tests
    /// do not matter.
    Leaf(Range<u64>, u32),
    /// An inner node below all levels, with its position among the leaves of the complete tree.
    Subtree(u64, u32),
}

/// Calls `visit` with all nodes and leaves of a tree that is treated as complete with `depth` levels. A node
/// below these levels is visited as a subtree.
pub fn for_each_node<'t>(tree: &'t Tree, depth: u32, mut visit: impl FnMut(CompleteNode<'t>)) {
    let lost = seeded(Fault::PadLosesLeaf);
    let mut todo = vec![(1u64, depth, tree.root)];
    while let Some((mut number, mut below, mut node)) = todo.pop() {
        while let NodeRef::Inner(inner) = node {
            if below == 0 {
                visit(CompleteNode::Subtree(number - (1 << depth), inner));
                break;
            }
            let inner = &tree.inner[inner as usize];
            visit(CompleteNode::Node(number, inner));
            (number, below) = (2 * number, below - 1);
            todo.push((number + 1, below, inner.right));
            node = inner.left;
        }
        if let NodeRef::Leaf(leaf) = node {
            let first = (number << below) - (1 << depth);
            let last = if lost { first + 1 } else { first + (1 << below) };
            visit(CompleteNode::Leaf(first..last, leaf));
        }
    }
}
