//! Preorder of a tree's nodes.

use sched_forest::{NodeRef, Tree};

/// An inner node with its leaf range.
pub(super) struct OrderedNode {
    pub(super) inner: u32,
    /// Leftmost leaf of the node.
    pub(super) first_leaf: u32,
    /// Leftmost leaf of its right subtree.
    pub(super) right_leaf: u32,
}

/// Inner nodes of a tree in preorder, and leaves from left to right.
pub(super) fn in_order(tree: &Tree) -> (Vec<OrderedNode>, Vec<u32>) {
    let (mut nodes, mut leaves) = (Vec::new(), Vec::new());
    // Subtrees to visit; a right subtree comes with the index of its parent.
    let mut open: Vec<(NodeRef, Option<usize>)> = vec![(tree.root, None)];
    while let Some((node, above)) = open.pop() {
        if let Some(above) = above.and_then(|above: usize| nodes.get_mut(above)) {
            let above: &mut OrderedNode = above;
            above.right_leaf = leaves.len() as u32;
        }
        match node {
            NodeRef::Leaf(leaf) => leaves.push(leaf),
            NodeRef::Inner(inner) => {
                let this = nodes.len();
                nodes.push(OrderedNode { inner, first_leaf: leaves.len() as u32, right_leaf: 0 });
                let node = &tree.inner[inner as usize];
                open.extend([(node.right, Some(this)), (node.left, None)]);
            }
        }
    }
    (nodes, leaves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_forest::{Inner, Leaf, Predicate, TreeTarget};

    #[test]
    fn nodes_hold_their_leaf_positions() {
        let inner = |left, right| Inner {
            feature: 0,
            predicate: Predicate::Numeric { threshold: 0.0 },
            missing_left: false,
            left,
            right,
        };
        let leaf = |source| Leaf { source, values: [1.0].into() };
        let (node, end) = (NodeRef::Inner, NodeRef::Leaf);
        // The storage order differs from the preorder.
        let tree = Tree {
            root: node(2),
            inner: vec![inner(end(3), end(0)), inner(end(1), end(2)), inner(node(1), node(0))],
            leaves: (0..4).map(leaf).collect(),
            target: TreeTarget::One(0),
            source: 0,
        };
        let (nodes, leaves) = in_order(&tree);
        let nodes: Vec<_> =
            nodes.into_iter().map(|node| (node.inner, node.first_leaf, node.right_leaf)).collect();
        assert_eq!(nodes, [(2, 0, 2), (1, 0, 1), (0, 2, 3)]);
        assert_eq!(leaves, [1, 2, 3, 0]);
    }
}
