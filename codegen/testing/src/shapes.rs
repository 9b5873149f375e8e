//! Forests whose trees are all alike, as tests of code that depends only on their shape.

use sched_forest::{Forest, ForestParts, Inner, Leaf, NodeRef, Predicate, Tree, TreeTarget};

/// Number of distinct thresholds of a feature: small enough for bins of one byte.
const THRESHOLDS: u32 = 100;

/// Shape of the subtrees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SubtreeShape {
    /// Both children are inner nodes down to the last level.
    Complete,
    /// The left child is a leaf.
    Chain,
    /// Both children are inner nodes, and all nodes of a level make the same test.
    Oblivious,
}

/// `trees` trees in which all leaves have the same depth.
pub fn complete(trees: u32, depth: u32, features: u32) -> Forest {
    alike(trees, (SubtreeShape::Complete, depth), features)
}

/// `trees` trees with one inner node and one leaf on each level.
pub fn chains(trees: u32, depth: u32, features: u32) -> Forest {
    alike(trees, (SubtreeShape::Chain, depth), features)
}

/// `trees` oblivious trees: all nodes of a level make the same test.
pub fn oblivious(trees: u32, depth: u32, features: u32) -> Forest {
    alike(trees, (SubtreeShape::Oblivious, depth), features)
}

fn alike(trees: u32, (shape, depth): (SubtreeShape, u32), features: u32) -> Forest {
    let tree = |source| {
        let mut tree = Tree {
            root: NodeRef::Leaf(0),
            inner: Vec::new(),
            leaves: Vec::new(),
            target: TreeTarget::One(0),
            source,
        };
        tree.root = grow(&mut tree, (shape, depth), features, depth);
        tree
    };
    let parts = ForestParts {
        trees: (0..trees).map(tree).collect(),
        num_features: features as usize,
        num_margins: 1,
        base: vec![0.5],
        objective: "reg:squarederror".to_string(),
        ..ForestParts::default()
    };
    Forest::new(parts).expect("trees that are alike keep the promises of a forest")
}

/// Adds a node with its subtree of `levels` levels to a tree of `depth` levels.
fn grow(tree: &mut Tree, (shape, depth): (SubtreeShape, u32), features: u32, levels: u32) -> NodeRef {
    if levels == 0 {
        let number = tree.leaves.len() as u32;
        let value = f64::from(number % 7) / 8.0;
        tree.leaves.push(Leaf { source: number, values: std::iter::once(value).collect() });
        return NodeRef::Leaf(number);
    }
    let number = tree.inner.len() as u32;
    let test = match shape {
        SubtreeShape::Oblivious => tree.source * depth + levels,
        SubtreeShape::Complete | SubtreeShape::Chain => tree.source * 31 + number * 7,
    };
    let threshold = f64::from(test / features % THRESHOLDS);
    tree.inner.push(Inner {
        feature: test % features,
        predicate: Predicate::Numeric { threshold },
        missing_left: true,
        left: NodeRef::Leaf(0),
        right: NodeRef::Leaf(0),
    });
    let left_levels = if shape == SubtreeShape::Chain { 0 } else { levels - 1 };
    let left_child = grow(tree, (shape, depth), features, left_levels);
    let right_child = grow(tree, (shape, depth), features, levels - 1);
    if let Some(node) = tree.inner.get_mut(number as usize) {
        (node.left, node.right) = (left_child, right_child);
    }
    NodeRef::Inner(number)
}
