//! The validated forest: the one model type that every format is read into and everything else starts from.
//!
//! A [`Forest`] says *what* is computed: for each row, each tree is walked from its root to a leaf, the
//! leaf's values are added to the row's margins **in tree order, starting from the base values, in the
//! accumulator's type**, and the [`Output`] turns margins into the prediction that the trainer reports.

use crate::category::{CategoryRule, CategorySet};
use crate::output::{ClassRule, Output};
use sched_categories::Names;
use smallvec::SmallVec;

pub use crate::types::{Float, Types};

/// The comparison that sends a row to the left child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `x < t` (XGBoost).
    Less,
    /// `x <= t` (LightGBM, scikit-learn).
    LessOrEqual,
}

/// The test at an inner node. Opaque to everything but [`Prepared`](crate::Prepared) and walkers:
/// representations meet numeric tests only.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Compare the feature with a threshold, using the forest's [`Comparison`].
    /// The value is exactly representable in the forest's threshold type.
    Numeric {
        /// The threshold, widened.
        threshold: f64,
    },
    /// Compare as `Numeric` does, with values that are [nearly zero](crate::is_nearly_zero) as missing
    /// (LightGBM).
    NumericNotZero {
        /// The threshold, widened.
        threshold: f64,
    },
    /// The feature equals this value (ONNX).
    Equal {
        /// The value, widened, in the threshold type.
        value: f64,
    },
    /// The feature's category, as the forest's [`CategoryRule`] finds it, is a member of a set.
    Member {
        /// Index into [`Forest::sets`].
        set: u32,
    },
}

/// A child or the root of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeRef {
    /// Index into [`Tree::inner`].
    Inner(u32),
    /// Index into [`Tree::leaves`].
    Leaf(u32),
}

/// An inner node.
#[derive(Clone, Debug, PartialEq)]
pub struct Inner {
    /// The feature tested.
    pub feature: u32,
    /// The test; true goes left.
    pub predicate: Predicate,
    /// Whether a missing value goes left.
    pub missing_left: bool,
    /// The child for true.
    pub left: NodeRef,
    /// The child for false.
    pub right: NodeRef,
}

impl Inner {
    /// Whether both nodes lead every row to the same side.
    fn tests_as(&self, other: &Inner) -> bool {
        self.feature == other.feature
            && self.predicate == other.predicate
            && self.missing_left == other.missing_left
    }
}

/// A leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The model file's own number of this node, reported by `--output leaf`.
    pub source: u32,
    /// One value per output of the tree's [`Target`], in the accumulator's type, widened.
    pub values: LeafValues,
}

/// The linear function of a leaf (linear trees of LightGBM): it adds the constant and then each term, in
/// order, in the accumulator's type. If one of the features is missing, the leaf adds its value instead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinearLeaf {
    /// The constant.
    pub constant: f64,
    /// Features with their coefficients.
    pub terms: Vec<(u32, f64)>,
}

/// The values of a leaf. There is one as a rule, for which nothing is allocated: forests have millions of
/// leaves.
pub type LeafValues = SmallVec<[f64; 1]>;

/// Which margins a tree adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The tree adds its one value to this margin.
    One(u32),
    /// The tree adds a vector of as many values as there are margins.
    All,
}

/// One tree. Inner nodes are in depth-first order from the root: a child's index is above its parent's.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The first node of each walk; a leaf for a tree of one leaf.
    pub root: NodeRef,
    /// Inner nodes.
    pub inner: Vec<Inner>,
    /// Leaves, at least one.
    pub leaves: Vec<Leaf>,
    /// Which margins it adds to.
    pub target: Target,
    /// Its position in the model file, which `--output leaf` and `exact` order refer to.
    pub source: u32,
}

/// A validated forest: children in range, no cycles, every feature below `num_features`, every target below
/// `num_margins`, depths within [`MAX_DEPTH`](crate::MAX_DEPTH), numbers that are numbers (no NaN in
/// thresholds, leaves or base values). Only [`Forest::new`] makes one, which checks all this; read the fields
/// freely, and to change a forest take it apart with [`Forest::into_parts`] and check it again. A forest may
/// have no trees: its margins are the base values.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Forest {
    /// Trees in the model's order.
    pub trees: Vec<Tree>,
    /// Columns of a row.
    pub num_features: usize,
    /// Margins per row.
    pub num_margins: usize,
    /// The margins before the first tree, in the accumulator's type, widened; one per margin.
    pub base: Vec<f64>,
    /// The test of numeric predicates.
    pub comparison: Comparison,
    /// The types computed in.
    pub types: Types,
    /// The sets of categories that nodes test, each kept once.
    pub sets: Vec<CategorySet>,
    /// The rule that turns a feature value into a category.
    pub category_rule: CategoryRule,
    /// The linear function of each leaf, by tree. Empty for a forest without linear trees, and for a tree
    /// without linear leaves.
    pub linear: Vec<Vec<LinearLeaf>>,
    /// From sums to results.
    pub output: Output,
    /// The trainer's name of the objective, such as `binary:logistic`.
    pub objective: String,
    /// Names of the features, empty when the model has none.
    pub feature_names: Vec<String>,
    /// The names of each feature's categories: no names for a numeric feature, an empty list if all features
    /// are numeric.
    pub categories: Vec<Names>,
    /// For each boosting iteration, its first tree; one more entry closes the last.
    pub iteration_starts: Vec<usize>,
    /// The iteration at which early stopping found the best score, if the model says.
    pub best_iteration: Option<usize>,
}

impl Tree {
    /// Edges on the longest path from the root to a leaf.
    pub fn depth(&self) -> u32 {
        self.depths().0
    }

    /// Edges on the longest and on the shortest path from the root to a leaf.
    pub fn depths(&self) -> (u32, u32) {
        let mut range = None;
        self.for_each_leaf(|_, depth| {
            let (longest, shortest) = range.unwrap_or((depth, depth));
            range = Some((depth.max(longest), depth.min(shortest)));
        });
        range.unwrap_or_default()
    }

    /// One inner node of each level, if the tree is oblivious: all leaves have one depth, and the nodes of a
    /// level one test.
    pub fn level_tests(&self) -> Option<Vec<&Inner>> {
        let mut tests = Vec::new();
        let mut level = vec![self.root];
        while let Some(NodeRef::Inner(first)) = level.first().copied() {
            let first = &self.inner[first as usize];
            let mut below = Vec::with_capacity(2 * level.len());
            for node in level {
                let NodeRef::Inner(inner) = node else { return None };
                let inner = &self.inner[inner as usize];
                if !inner.tests_as(first) {
                    return None;
                }
                below.extend([inner.left, inner.right]);
            }
            tests.push(first);
            level = below;
        }
        level.iter().all(|node| matches!(node, NodeRef::Leaf(_))).then_some(tests)
    }

    /// Whether the tree is oblivious: all leaves are as deep, and all nodes of a level make one test.
    pub fn is_oblivious(&self) -> bool {
        self.level_tests().is_some()
    }

    /// The depth of each leaf, in the order of [`Tree::leaves`].
    pub fn leaf_depths(&self) -> Vec<u32> {
        let mut depths = vec![0; self.leaves.len()];
        self.for_each_leaf(|leaf, depth| depths[leaf as usize] = depth);
        depths
    }

    /// Calls `visit` with each leaf, from left to right, and its depth.
    pub fn for_each_leaf(&self, mut visit: impl FnMut(u32, u32)) {
        let mut todo = vec![(self.root, 0)];
        while let Some((mut node, mut depth)) = todo.pop() {
            while let NodeRef::Inner(inner) = node {
                let inner = &self.inner[inner as usize];
                depth += 1;
                todo.push((inner.right, depth));
                node = inner.left;
            }
            if let NodeRef::Leaf(leaf) = node {
                visit(leaf, depth);
            }
        }
    }
}

impl Forest {
    /// Values per row of a prediction.
    pub fn num_outputs(&self) -> usize {
        self.output.columns(self.num_margins)
    }

    /// Values per row of class output: one, or `num_margins` if each margin answers a question of its own.
    pub fn num_classes_out(&self) -> usize {
        match self.output.classes.as_ref().map(|classes| classes.rule) {
            Some(ClassRule::LargestMargin | ClassRule::LargestValue) => 1,
            _ => self.num_margins,
        }
    }

    /// Whether some leaf is linear.
    pub fn has_linear_leaves(&self) -> bool {
        self.linear.iter().any(|leaves| !leaves.is_empty())
    }

    /// Whether the model predicts classes.
    pub fn is_classifier(&self) -> bool {
        self.output.classes.is_some()
    }
}
