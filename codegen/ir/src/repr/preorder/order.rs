//! Nodes in the order in which they are visited.

use sched_forest::{NodeRef, Tree};

/// An inner node in its place.
pub(super) struct Ordered {
    pub(super) inner: u32,
    /// Its leftmost leaf.
    pub(super) here: u32,
    /// The leftmost leaf of its right subtree.
    pub(super) right: u32,
}

/// The inner nodes of a tree in preorder, and its leaves from left to right.
pub(super) fn in_order(tree: &Tree) -> (Vec<Ordered>, Vec<u32>) {
    let (mut nodes, mut leaves) = (Vec::new(), Vec::new());
    // Subtrees to come, each with the node whose right one it is.
    let mut open: Vec<(NodeRef, Option<usize>)> = vec![(tree.root, None)];
    while let Some((node, above)) = open.pop() {
        if let Some(above) = above.and_then(|above: usize| nodes.get_mut(above)) {
            let above: &mut Ordered = above;
            above.right = leaves.len() as u32;
        }
        match node {
            NodeRef::Leaf(leaf) => leaves.push(leaf),
            NodeRef::Inner(inner) => {
                let this = nodes.len();
                nodes.push(Ordered { inner, here: leaves.len() as u32, right: 0 });
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
    use sched_forest::{Inner, Leaf, Predicate, Target};

    #[test]
    fn nodes_know_the_leaves_that_they_lead_to() {
        let inner = |left, right| Inner {
            feature: 0,
            predicate: Predicate::Numeric { threshold: 0.0 },
            missing_left: false,
            left,
            right,
        };
        let leaf = |source| Leaf { source, values: [1.0].into() };
        let (node, end) = (NodeRef::Inner, NodeRef::Leaf);
        // Stored in another order than they are visited in.
        let tree = Tree {
            root: node(2),
            inner: vec![inner(end(3), end(0)), inner(end(1), end(2)), inner(node(1), node(0))],
            leaves: (0..4).map(leaf).collect(),
            target: Target::One(0),
            source: 0,
        };
        let (nodes, leaves) = in_order(&tree);
        let nodes: Vec<_> = nodes.into_iter().map(|node| (node.inner, node.here, node.right)).collect();
        assert_eq!(nodes, [(2, 0, 2), (1, 0, 1), (0, 2, 3)]);
        assert_eq!(leaves, [1, 2, 3, 0]);
    }
}
