//! Forests of trees that are all alike: for tests of what depends on their form alone.

use sched_forest::{Forest, ForestParts, Inner, Leaf, NodeRef, Predicate, Target, Tree};

/// Different thresholds of a feature: as many as fit bytes.
const THRESHOLDS: u32 = 100;

/// What the children of a node are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Both go on to the last level.
    Complete,
    /// The left one is a leaf.
    Chain,
    /// Both go on, and all nodes of a level make the same test.
    Oblivious,
}

/// So many trees in which all leaves have the same depth.
pub fn complete(trees: u32, depth: u32, features: u32) -> Forest {
    alike(trees, (Shape::Complete, depth), features)
}

/// So many trees of which each level has one node and one leaf.
pub fn chains(trees: u32, depth: u32, features: u32) -> Forest {
    alike(trees, (Shape::Chain, depth), features)
}

/// So many trees of which each level makes one test.
pub fn oblivious(trees: u32, depth: u32, features: u32) -> Forest {
    alike(trees, (Shape::Oblivious, depth), features)
}

fn alike(trees: u32, (shape, depth): (Shape, u32), features: u32) -> Forest {
    let tree = |source| {
        let mut tree = Tree {
            root: NodeRef::Leaf(0),
            inner: Vec::new(),
            leaves: Vec::new(),
            target: Target::One(0),
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

/// A node with all that is below it, which has so many levels.
fn grow(tree: &mut Tree, (shape, depth): (Shape, u32), features: u32, left: u32) -> NodeRef {
    if left == 0 {
        let number = tree.leaves.len() as u32;
        let value = f64::from(number % 7) / 8.0;
        tree.leaves.push(Leaf { source: number, values: std::iter::once(value).collect() });
        return NodeRef::Leaf(number);
    }
    let number = tree.inner.len() as u32;
    let test = match shape {
        Shape::Oblivious => tree.source * depth + left,
        Shape::Complete | Shape::Chain => tree.source * 31 + number * 7,
    };
    let threshold = f64::from(test / features % THRESHOLDS);
    tree.inner.push(Inner {
        feature: test % features,
        predicate: Predicate::Numeric { threshold },
        missing_left: true,
        left: NodeRef::Leaf(0),
        right: NodeRef::Leaf(0),
    });
    let on_the_left = if shape == Shape::Chain { 0 } else { left - 1 };
    let left_child = grow(tree, (shape, depth), features, on_the_left);
    let right_child = grow(tree, (shape, depth), features, left - 1);
    if let Some(node) = tree.inner.get_mut(number as usize) {
        (node.left, node.right) = (left_child, right_child);
    }
    NodeRef::Inner(number)
}
