//! Builds trees in depth-first order from nodes that refer to each other by number.

use crate::codes;
use crate::compare::{NumericTest, unify_comparisons};
use crate::error::ModelError;
use crate::forest::{Comparison, Float, Inner, Leaf, LeafValues, NodeRef, Predicate, Tree, TreeTarget};

/// Comparison of a node, as ONNX's tree operators name it (`BRANCH_LEQ` and others).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NodeMode {
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    Equal,
    NotEqual,
    Member,
}

/// The test of an inner node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum InnerTest {
    Numeric(NumericTest),
    /// Equality with a value.
    Equal(f64),
    /// Membership in the set of this number.
    Member(u32),
}

/// A node of a model file. Children are node numbers of the file.
#[derive(Clone, Debug)]
pub(super) enum EnsembleNode {
    Leaf { source: u32, values: LeafValues },
    Inner(InnerNode),
}

/// An inner node of a model file, with children for true and false.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnerNode {
    pub feature: u32,
    pub split: InnerTest,
    /// Whether the children are exchanged: the child for true becomes the right one.
    pub is_swapped: bool,
    /// Whether a missing value passes the test of the operator.
    pub missing_true: bool,
    pub children: [u32; 2],
}

impl InnerNode {
    /// A node with the operator's comparison. A missing value passes if `tracks_true` is set.
    pub fn new(mode: NodeMode, value: f64, set: u32, tracks_true: bool) -> InnerNode {
        let numeric = |comparison| InnerTest::Numeric(NumericTest { comparison, threshold: value });
        let (split, is_swapped) = match mode {
            NodeMode::LessOrEqual => (numeric(Comparison::LessOrEqual), false),
            NodeMode::Less => (numeric(Comparison::Less), false),
            // `>=` is the opposite of `<`, so the children are exchanged.
            NodeMode::GreaterOrEqual => (numeric(Comparison::Less), true),
            NodeMode::Greater => (numeric(Comparison::LessOrEqual), true),
            NodeMode::Equal => (InnerTest::Equal(value), false),
            NodeMode::NotEqual => (InnerTest::Equal(value), true),
            NodeMode::Member => (InnerTest::Member(set), false),
        };
        // NaN passes `!=` and no other comparison.
        let missing_true = tracks_true || mode == NodeMode::NotEqual;
        InnerNode { feature: 0, split, is_swapped, missing_true, children: [0, 0] }
    }
}

/// The trees built so far, and the tests of their numeric nodes in the same order.
#[derive(Debug)]
pub(super) struct ConvertedTrees {
    pub trees: Vec<Tree>,
    tests: Vec<NumericTest>,
}

impl ConvertedTrees {
    pub fn with_capacity(trees: usize) -> ConvertedTrees {
        ConvertedTrees { trees: Vec::with_capacity(trees), tests: Vec::new() }
    }

    /// Builds a tree whose root has the number `root`. Calls `node` for each node in depth-first order.
    pub fn add(
        &mut self,
        root: u32,
        target: TreeTarget,
        mut node: impl FnMut(u32) -> Result<EnsembleNode, ModelError>,
    ) -> Result<(), ModelError> {
        let source = self.trees.len() as u32;
        let mut tree = Tree { root: NodeRef::Leaf(0), inner: Vec::new(), leaves: Vec::new(), target, source };
        let mut todo: Vec<(Option<(usize, bool)>, u32)> = vec![(None, root)];
        while let Some((parent, number)) = todo.pop() {
            let reference = match node(number)? {
                EnsembleNode::Leaf { source, values } => {
                    tree.leaves.push(Leaf { source, values });
                    NodeRef::Leaf(tree.leaves.len() as u32 - 1)
                }
                EnsembleNode::Inner(inner) => {
                    let place = tree.inner.len();
                    let [left, right] = match (inner.is_swapped, inner.children) {
                        (false, children) => children,
                        (true, [if_true, if_false]) => [if_false, if_true],
                    };
                    todo.push((Some((place, false)), right));
                    todo.push((Some((place, true)), left));
                    tree.inner.push(Inner {
                        feature: inner.feature,
                        predicate: self.predicate(inner.split),
                        missing_left: inner.missing_true != inner.is_swapped,
                        left: NodeRef::Leaf(0),
                        right: NodeRef::Leaf(0),
                    });
                    NodeRef::Inner(place as u32)
                }
            };
            match parent {
                None => tree.root = reference,
                Some((parent, true)) => tree.inner[parent].left = reference,
                Some((parent, false)) => tree.inner[parent].right = reference,
            }
        }
        tree.inner.shrink_to_fit();
        tree.leaves.shrink_to_fit();
        self.trees.push(tree);
        Ok(())
    }

    fn predicate(&mut self, split: InnerTest) -> Predicate {
        match split {
            InnerTest::Numeric(test) => {
                self.tests.push(test);
                Predicate::Numeric { threshold: test.threshold }
            }
            InnerTest::Equal(value) => Predicate::Equal { value },
            InnerTest::Member(set) => Predicate::Member { set },
        }
    }

    /// The trees, whose tests all have the returned comparison.
    pub fn finish(mut self, threshold: Float) -> Result<(Vec<Tree>, Comparison), ModelError> {
        let comparison = unify_comparisons(self.tests.iter_mut(), threshold)?;
        let mut tests = self.tests.iter();
        for inner in self.trees.iter_mut().flat_map(|tree| &mut tree.inner) {
            if let Predicate::Numeric { threshold } = &mut inner.predicate
                && let Some(test) = tests.next()
            {
                *threshold = test.threshold;
            }
        }
        Ok((self.trees, comparison))
    }
}

/// The nodes visited so far, to detect nodes with two parents.
#[derive(Debug)]
pub(super) struct NodeMarks(Vec<bool>);

impl NodeMarks {
    pub fn new(nodes: usize) -> NodeMarks {
        NodeMarks(vec![false; nodes])
    }

    /// Whether a node was visited.
    pub fn is_marked(&self, node: usize) -> bool {
        self.0.get(node) == Some(&true)
    }

    /// Marks a node as visited.
    ///
    /// # Errors
    /// `M0012` if the node was visited before.
    pub fn mark(&mut self, node: usize) -> Result<(), ModelError> {
        match self.0.get_mut(node) {
            Some(met) if !*met => {
                *met = true;
                Ok(())
            }
            _ => Err(ModelError::new(
                codes::NOT_A_TREE,
                "a node is reached twice, so the nodes do not form a tree",
            )),
        }
    }
}
