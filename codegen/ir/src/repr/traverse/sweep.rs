//! Node sweeps: vectors of rows test all nodes of a tree one after the other. For each row, only the nodes on
//! its path count.
//!
//! A sweep needs no look-ups or gathers, so a node costs a few instructions for a whole vector. It
//! beats stepping from node to node if vectors are wide, and trees small or deep.

use super::Lane;
use crate::lir::{Bin, BuildStmts, Builder, Value};
use crate::repr::tree::{Buffers, TreeEntry, TreeState};
use crate::rows::RowAddress;

/// Test of a node by vectors of rows.
#[derive(Clone, Copy, Debug)]
pub struct SweptNode {
    /// Leaf position of rows that have reached the node, in all lanes.
    pub first_leaf: Value,
    /// Leaf position of those rows after going right; other rows keep theirs.
    pub right_leaf: Value,
    /// Threshold bin, a scalar.
    pub threshold_bin: Value,
    /// Threshold bin in all lanes.
    pub threshold_bins: Value,
    /// Column of the bins that are compared with it, an index.
    pub column: Value,
}

/// A layout that stores nodes in an order in which parents come before children.
pub trait Sweep {
    /// Leaf position of all rows at the start.
    fn first_leaf(&self, b: &mut Builder, lanes: u16) -> Value;

    /// Number of nodes to test, an index. Entries behind the tree's nodes change no position.
    fn node_count(&self, b: &mut Builder, state: &TreeState) -> Value;

    /// Loads the node of an entry for vectors of `lanes` rows.
    fn node(&self, b: &mut Builder, at: TreeEntry, lanes: u16) -> SweptNode;

    /// Applies a node's test to vectors of rows. Returns their new leaf positions, one value per vector.
    fn apply(&self, b: &mut Builder, tables: &Buffers, node: &SweptNode, rows: &[SweepVector]) -> Vec<Value>;
}

/// A vector of rows with its current leaf positions.
#[derive(Clone, Copy)]
pub struct SweepVector<'a> {
    /// Address of the rows.
    pub row: &'a RowAddress,
    /// Leaf positions.
    pub leaf: Value,
}

/// Distinct trees that lanes walk.
struct SweptTrees<'l> {
    /// State of each tree, once.
    states: Vec<&'l TreeState>,
    /// Index in `states` for each lane.
    of_lanes: Vec<usize>,
}

impl<'l> SweptTrees<'l> {
    fn of(lanes: &[&'l Lane]) -> SweptTrees<'l> {
        let mut states: Vec<&TreeState> = Vec::new();
        let mut of_lanes = Vec::new();
        for lane in lanes {
            let known = states.iter().position(|state| state.base == lane.state.base);
            of_lanes.push(known.unwrap_or(states.len()));
            if known.is_none() {
                states.push(&lane.state);
            }
        }
        SweptTrees { states, of_lanes }
    }
}

/// Lanes that sweep over their trees.
struct Pass<'a> {
    layout: &'a dyn Sweep,
    buffers: &'a Buffers,
    lanes: &'a [&'a Lane],
    trees: SweptTrees<'a>,
}

/// Emits a sweep of every lane over its tree; returns the final leaf positions.
pub fn walk(b: &mut Builder, layout: &dyn Sweep, buffers: &Buffers, lanes: &[&Lane]) -> Vec<Value> {
    let pass = Pass { layout, buffers, lanes, trees: SweptTrees::of(lanes) };
    let counts: Vec<Value> = pass.trees.states.iter().map(|state| layout.node_count(b, state)).collect();
    let leaves: Vec<Value> = lanes.iter().map(|lane| layout.first_leaf(b, lane.width)).collect();
    let zero = b.int(0);
    let [first, rest @ ..] = counts.as_slice() else { return leaves };
    let least = rest.iter().fold(*first, |least, count| b.min(least, *count));
    let leaves = pass.apply_nodes(b, zero, least, &[], &leaves);
    if rest.is_empty() {
        return leaves;
    }
    let most = rest.iter().fold(*first, |most, count| b.bin(Bin::Max, most, *count));
    pass.apply_nodes(b, least, most, &counts, &leaves)
}

impl Pass<'_> {
    /// Applies the nodes `from..to` of each tree to its lanes. With `ends`, trees may end earlier. The
    /// last entry of a tree changes no position, so it stands in for the missing nodes.
    fn apply_nodes(
        &self,
        b: &mut Builder,
        from: Value,
        to: Value,
        ends: &[Value],
        leaves: &[Value],
    ) -> Vec<Value> {
        let width = self.lanes.first().map_or(1, |lane| lane.width);
        b.for_loop((from, to, 1), leaves, |b, number, leaves| {
            let mut nodes = Vec::with_capacity(self.trees.states.len());
            for (at, state) in self.trees.states.iter().enumerate() {
                let number = ends.get(at).map_or(number, |end| {
                    let last = b.add_int(*end, -1);
                    b.min(number, last)
                });
                let at = TreeEntry { buffers: self.buffers, state, entry: number };
                nodes.push(self.layout.node(b, at, width));
            }
            let mut leaves = leaves.to_vec();
            for (tree, node) in nodes.iter().enumerate() {
                let of_tree = |lane: &usize| self.trees.of_lanes[*lane] == tree;
                let lanes: Vec<usize> = (0..self.lanes.len()).filter(of_tree).collect();
                let vector_of =
                    |lane: &usize| SweepVector { row: &self.lanes[*lane].row, leaf: leaves[*lane] };
                let vectors: Vec<SweepVector> = lanes.iter().map(vector_of).collect();
                let passed = self.layout.apply(b, self.buffers, node, &vectors);
                lanes.into_iter().zip(passed).for_each(|(lane, leaf)| leaves[lane] = leaf);
            }
            leaves
        })
    }
}
