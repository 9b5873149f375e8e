//! Sweeps: vectors of rows that test all nodes of a tree one after the other, each row heeding those on its
//! own path.
//!
//! Nothing is looked up or gathered on the way, so that a node costs a few instructions for a whole vector.
//! That is less than stepping from node to node where vectors are wide and trees small or deep.

use super::Lane;
use crate::lir::{Bin, Build, Builder, Value};
use crate::repr::tree::{Buffers, TreeState};
use crate::rows::Row;

/// A node that vectors of rows test.
#[derive(Clone, Copy, Debug)]
pub struct SweptNode {
    /// The leaf at which rows stand that have come to the node, in all lanes.
    pub here: Value,
    /// Where those stand afterwards that go right; others stay.
    pub right: Value,
    /// The bin of its threshold.
    pub threshold_bin: Value,
    /// The same in all lanes.
    pub threshold_bins: Value,
    /// The column of the bins that it compares with, an index.
    pub column: Value,
}

/// A layout whose nodes stand in an order in which each comes before those below it.
pub trait Sweep {
    /// Where all rows stand at first.
    fn first_leaf(&self, b: &mut Builder, lanes: u16) -> Value;

    /// How many nodes are tested, an index. Those behind the tree's own lead nowhere.
    fn nodes(&self, b: &mut Builder, state: &TreeState) -> Value;

    /// Loads node `number` of the tree for vectors of `lanes` rows.
    fn node(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        number: Value,
        lanes: u16,
    ) -> SweptNode;

    /// Where vectors of rows stand after a node.
    fn pass(&self, b: &mut Builder, buffers: &Buffers, node: &SweptNode, vectors: &[Standing]) -> Vec<Value>;
}

/// A vector of rows, and the leaves at which they stand.
#[derive(Clone, Copy)]
pub struct Standing<'a> {
    /// The rows.
    pub row: &'a Row,
    /// The leaves.
    pub leaf: Value,
}

/// The trees that lanes walk.
struct Trees<'l> {
    /// Each once.
    states: Vec<&'l TreeState>,
    /// Which of them is each lane's.
    of_lanes: Vec<usize>,
}

impl<'l> Trees<'l> {
    fn of(lanes: &[&'l Lane]) -> Trees<'l> {
        let mut states: Vec<&TreeState> = Vec::new();
        let mut of_lanes = Vec::new();
        for lane in lanes {
            let known = states.iter().position(|state| state.base == lane.state.base);
            of_lanes.push(known.unwrap_or(states.len()));
            if known.is_none() {
                states.push(&lane.state);
            }
        }
        Trees { states, of_lanes }
    }
}

/// Lanes that are shown nodes of their trees.
struct Pass<'a> {
    layout: &'a dyn Sweep,
    buffers: &'a Buffers,
    lanes: &'a [&'a Lane],
    trees: Trees<'a>,
}

/// Shows every lane all nodes of its tree, one after the other. Returns the leaves at which rows stand then.
pub fn walk(b: &mut Builder, layout: &dyn Sweep, buffers: &Buffers, lanes: &[&Lane]) -> Vec<Value> {
    let pass = Pass { layout, buffers, lanes, trees: Trees::of(lanes) };
    let counts: Vec<Value> = pass.trees.states.iter().map(|state| layout.nodes(b, state)).collect();
    let leaves: Vec<Value> = lanes.iter().map(|lane| layout.first_leaf(b, lane.width)).collect();
    let zero = b.int(0);
    let [first, rest @ ..] = counts.as_slice() else { return leaves };
    let least = rest.iter().fold(*first, |least, count| b.min(least, *count));
    let leaves = pass.nodes(b, zero, least, &[], &leaves);
    if rest.is_empty() {
        return leaves;
    }
    let most = rest.iter().fold(*first, |most, count| b.bin(Bin::Max, most, *count));
    pass.nodes(b, least, most, &counts, &leaves)
}

impl Pass<'_> {
    /// Shows every lane the nodes `from..to` of its tree. Where there are `ends`, trees may end before: the
    /// last entry of a tree leads nowhere, however often it is shown.
    fn nodes(&self, b: &mut Builder, from: Value, to: Value, ends: &[Value], leaves: &[Value]) -> Vec<Value> {
        let width = self.lanes.first().map_or(1, |lane| lane.width);
        b.for_loop((from, to, 1), leaves, |b, number, leaves| {
            let mut nodes = Vec::with_capacity(self.trees.states.len());
            for (at, state) in self.trees.states.iter().enumerate() {
                let number = ends.get(at).map_or(number, |end| {
                    let last = b.add_int(*end, -1);
                    b.min(number, last)
                });
                nodes.push(self.layout.node(b, self.buffers, state, number, width));
            }
            let mut leaves = leaves.to_vec();
            for (tree, node) in nodes.iter().enumerate() {
                let of_tree = |lane: &usize| self.trees.of_lanes[*lane] == tree;
                let lanes: Vec<usize> = (0..self.lanes.len()).filter(of_tree).collect();
                let standing = |lane: &usize| Standing { row: &self.lanes[*lane].row, leaf: leaves[*lane] };
                let vectors: Vec<Standing> = lanes.iter().map(standing).collect();
                let passed = self.layout.pass(b, self.buffers, node, &vectors);
                lanes.into_iter().zip(passed).for_each(|(lane, leaf)| leaves[lane] = leaf);
            }
            leaves
        })
    }
}
