//! Node orders: the number of each node of a tree, independent of tables and code.

use sched_forest::{NodeRef, Tree};

/// A node with its number.
#[derive(Clone, Copy, Debug)]
pub struct NumberedNode {
    /// Number in the tree.
    pub number: u64,
    /// The node.
    pub node: NodeRef,
    /// Number of the left child; 0 for a leaf.
    pub child: u64,
}

/// Nodes of a tree breadth first. The root has the number `root`, and `children` returns the numbers of
/// a node's children.
pub fn level_order(tree: &Tree, root: u64, mut children: impl FnMut(u64) -> (u64, u64)) -> Vec<NumberedNode> {
    let mut order = vec![NumberedNode { number: root, node: tree.root, child: 0 }];
    let mut at = 0;
    while at < order.len() {
        let NumberedNode { number, node, .. } = order[at];
        if let NodeRef::Inner(inner) = node {
            let inner = &tree.inner[inner as usize];
            let (left, right) = children(number);
            order[at].child = left;
            order.push(NumberedNode { number: left, node: inner.left, child: 0 });
            order.push(NumberedNode { number: right, node: inner.right, child: 0 });
        }
        at += 1;
    }
    order
}

/// Nodes of a complete tree: the root is 1, the children of `n` are `2n` and `2n + 1`.
pub fn complete(tree: &Tree) -> Vec<NumberedNode> {
    level_order(tree, 1, |n| (2 * n, 2 * n + 1))
}

/// Existing nodes: the root is 0, and siblings have consecutive numbers.
pub fn existing(tree: &Tree) -> Vec<NumberedNode> {
    let mut next = 1;
    level_order(tree, 0, |_| {
        next += 2;
        (next - 2, next - 1)
    })
}

/// Number of existing nodes of a tree.
pub fn size(tree: &Tree) -> u64 {
    (tree.inner.len() + tree.leaves.len()) as u64
}
