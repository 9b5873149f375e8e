//! Orders of nodes: which number each node of a tree has. Nothing here knows tables or code.

use sched_forest::{NodeRef, Tree};

/// A node in its place.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Its number in its tree.
    pub number: u64,
    /// The node.
    pub node: NodeRef,
    /// The number of its left child; 0 for a leaf.
    pub child: u64,
}

/// A tree's nodes breadth first, numbered from `root` as `children` numbers the children of a node.
pub fn level_order(tree: &Tree, root: u64, mut children: impl FnMut(u64) -> (u64, u64)) -> Vec<Placed> {
    let mut order = vec![Placed { number: root, node: tree.root, child: 0 }];
    let mut at = 0;
    while at < order.len() {
        let Placed { number, node, .. } = order[at];
        if let NodeRef::Inner(inner) = node {
            let inner = &tree.inner[inner as usize];
            let (left, right) = children(number);
            order[at].child = left;
            order.push(Placed { number: left, node: inner.left, child: 0 });
            order.push(Placed { number: right, node: inner.right, child: 0 });
        }
        at += 1;
    }
    order
}

/// Nodes of a complete tree: the root is 1, the children of `n` are `2n` and `2n + 1`.
pub fn complete(tree: &Tree) -> Vec<Placed> {
    level_order(tree, 1, |n| (2 * n, 2 * n + 1))
}

/// Existing nodes: the root is 0, and the children of a node stand side by side.
pub fn existing(tree: &Tree) -> Vec<Placed> {
    let mut next = 1;
    level_order(tree, 0, |_| {
        next += 2;
        (next - 2, next - 1)
    })
}

/// Nodes of a tree that exist.
pub fn size(tree: &Tree) -> u64 {
    (tree.inner.len() + tree.leaves.len()) as u64
}
