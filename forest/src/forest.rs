//! The validated forest. Every reader of a format returns one, and all later stages start from it.
//!
//! A [`Forest`] defines the computation. For each row, a walk leads through each tree from its root to a
//! leaf. The leaf's values are added to the row's margins **in tree order, starting from the base values, in
//! the accumulator's type**. The [`Output`] turns margins into the prediction that the trainer reports.

use crate::category::CategorySet;
use crate::computed::ComputedColumns;
use crate::output::Output;
use sched_categories::Names;
use sched_columns::CategoryRule;
use smallvec::SmallVec;
use std::ops::{Deref, DerefMut};

pub use crate::types::{Float, Types};

/// The comparison that sends a row to the left child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `x < t` (XGBoost).
    Less,
    /// `x <= t` (LightGBM, scikit-learn).
    LessOrEqual,
}

/// The test at an inner node. Only the reference walker and `sched-pipeline`, which replaces other tests by
/// columns, handle all kinds: later stages have numeric tests only.
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
    /// The feature tested, or a computed column. These are numbered after all features.
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
    /// Whether both nodes make the same test and send missing values to the same side.
    fn tests_as(&self, other: &Inner) -> bool {
        self.feature == other.feature
            && self.predicate == other.predicate
            && self.missing_left == other.missing_left
    }
}

/// A leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The leaf index: the model file's own number of this node, which `--output leaf` reports.
    pub source: u32,
    /// One value per output of the tree's [`TreeTarget`], in the accumulator's type, widened.
    pub values: LeafValues,
}

/// The linear function of a leaf: the constant plus each term, in order. Each product and each sum is
/// rounded to the accumulator's type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinearLeaf {
    /// The constant.
    pub constant: f64,
    /// Features, or computed columns, with their coefficients.
    pub terms: Vec<(u32, f64)>,
}

/// The sum of a linear leaf for a row that lacks one of its features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinearMissing {
    /// The leaf's value in place of the sum (linear trees of LightGBM).
    #[default]
    LeafValue,
    /// NaN, as arithmetic has it (linear models).
    Nan,
}

/// The values of a leaf. A single value, the common case, needs no allocation, since forests have millions of
/// leaves.
pub type LeafValues = SmallVec<[f64; 1]>;

/// The margins to which a tree adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeTarget {
    /// The tree adds one value to this margin.
    One(u32),
    /// The tree adds a vector with one value for each margin.
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
    /// The margins to which it adds.
    pub target: TreeTarget,
    /// The tree's position in the model file. `--output leaf` and the order of accumulation `exact` refer to
    /// it.
    pub source: u32,
}

/// The contents of a [`Forest`], before or after they are checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestParts {
    /// Trees in the model's order.
    pub trees: Vec<Tree>,
    /// Features of a row, at least one.
    pub num_features: usize,
    /// Margins per row, at least one.
    pub num_margins: usize,
    /// The margins before the first tree, in the accumulator's type, widened; one per margin.
    pub base: Vec<f64>,
    /// The test of numeric predicates.
    pub comparison: Comparison,
    /// Float types of rows, thresholds, sums and predictions.
    pub types: Types,
    /// For each margin, whether its sum is rounded to single precision after each addition, as the trainer of
    /// its trees adds. Empty if no sum is rounded; only for forests that add in double precision. The rounded
    /// sum equals the sum in single precision, since a double has more than twice the digits.
    pub single_margins: Vec<bool>,
    /// The sets of categories that nodes test, each stored once.
    pub sets: Vec<CategorySet>,
    /// The rule that turns a feature value into a category, for all tests of sets.
    pub category_rule: CategoryRule,
    /// The linear function of each leaf, by tree. Empty for a forest without linear trees, and for a tree
    /// without linear leaves.
    pub linear: Vec<Vec<LinearLeaf>>,
    /// The result of a linear leaf for a row that lacks one of its features.
    pub linear_missing: LinearMissing,
    /// Columns that trees read beside the features of a row.
    pub computed: ComputedColumns,
    /// The steps from sums to results.
    pub output: Output,
    /// The trainer's name of the objective, such as `binary:logistic`.
    pub objective: String,
    /// Names of the features; empty if the model has no names.
    pub feature_names: Vec<String>,
    /// The names of each feature's categories. A numeric feature has no names, nor has a feature that no step
    /// of a pipeline reads. The list is empty if all features are numeric and read.
    pub categories: Vec<Names>,
    /// For each boosting iteration, the index of its first tree, and at the end the number of trees.
    /// [`Forest::new`] replaces an empty list by that of one tree per iteration.
    pub iteration_starts: Vec<usize>,
    /// The iteration of the best score in early stopping, if the model records it.
    pub best_iteration: Option<usize>,
}

impl Default for ForestParts {
    /// No trees, one feature, one margin that starts at zero, and XGBoost's types and comparison.
    fn default() -> ForestParts {
        ForestParts {
            trees: Vec::new(),
            num_features: 1,
            num_margins: 1,
            base: vec![0.0],
            comparison: Comparison::Less,
            types: Types::all(Float::F32),
            single_margins: Vec::new(),
            sets: Vec::new(),
            category_rule: CategoryRule::Truncated,
            linear: Vec::new(),
            linear_missing: LinearMissing::LeafValue,
            computed: ComputedColumns::default(),
            output: Output::default(),
            objective: String::from("reg:squarederror"),
            feature_names: Vec::new(),
            categories: Vec::new(),
            iteration_starts: Vec::new(),
            best_iteration: None,
        }
    }
}

/// A validated forest: children are in range and without cycles, every feature is below
/// [`Forest::num_values`], every target below `num_margins`, and depths are within
/// [`MAX_DEPTH`](crate::MAX_DEPTH). Thresholds, leaves and base values are not NaN. Only [`Forest::new`]
/// makes a forest, and checks all this. To change one, take it apart with [`Forest::into_parts`] and check it
/// again. A forest may have no trees; its margins are then the base values.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest(pub(crate) ForestParts);

impl Forest {
    /// Takes the forest apart, to change it and check it again with [`Forest::new`].
    pub fn into_parts(self) -> ForestParts {
        self.0
    }
}

impl Deref for Forest {
    type Target = ForestParts;

    fn deref(&self) -> &ForestParts {
        &self.0
    }
}

impl DerefMut for Forest {
    fn deref_mut(&mut self) -> &mut ForestParts {
        &mut self.0
    }
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

    /// One inner node of each level, if the tree is oblivious: all leaves have the same depth, and all nodes
    /// of a level make the same test.
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

    /// Whether all leaves have the same depth and all nodes of a level make the same test.
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
    pub fn value_columns(&self) -> usize {
        self.output.columns(self.num_margins)
    }

    /// Class numbers per row: one, or one for each margin or each result of an expression.
    pub fn num_class_numbers(&self) -> usize {
        self.output.num_classes(self.num_margins)
    }

    /// Whether some leaf is linear.
    pub fn has_linear_leaves(&self) -> bool {
        self.linear.iter().any(|leaves| !leaves.is_empty())
    }

    /// Whether some tree has leaves with a value for each margin.
    pub fn has_leaf_vectors(&self) -> bool {
        self.trees.iter().any(|tree| tree.target == TreeTarget::All)
    }

    /// Whether trees add to several margins in turn: tree `i` to margin `i` modulo their number.
    pub fn takes_margins_in_turn(&self) -> bool {
        let in_turn = (0..self.num_margins as u32).cycle().map(TreeTarget::One);
        self.num_margins > 1 && self.trees.iter().zip(in_turn).all(|(tree, target)| tree.target == target)
    }

    /// The value that a leaf adds to a margin in every row. -0.0, which leaves sums unchanged, for leaves
    /// with linear terms and for margins to which the tree does not add.
    pub fn leaf_constant(&self, tree: usize, leaf: usize, margin: usize) -> f64 {
        let values = &self.trees[tree].leaves[leaf].values;
        let linear = self.linear.get(tree).and_then(|leaves| leaves.get(leaf));
        match (self.trees[tree].target, linear) {
            (TreeTarget::All, _) => values[margin],
            (TreeTarget::One(one), _) if one as usize != margin => -0.0,
            (TreeTarget::One(_), None) => values[0],
            (TreeTarget::One(_), Some(linear)) if linear.terms.is_empty() => linear.constant,
            (TreeTarget::One(_), Some(_)) => -0.0,
        }
    }

    /// Whether the model predicts classes.
    pub fn is_classifier(&self) -> bool {
        self.output.classes.is_some()
    }
}
