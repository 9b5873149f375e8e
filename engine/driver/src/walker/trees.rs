//! Trees as the walker reads them: one array of nodes and one of leaf values.

use sched_columns::{Columns, Expr};
use sched_forest::{Comparison, Forest, NodeRef, Predicate, Real, Transform, Tree};
use sched_llvm::runtime::OutputKind;
use std::sync::Arc;

/// Bit of a child that is a leaf. The other bits are the leaf's index in its tree.
const LEAF_BIT: u32 = 1 << 31;

/// Rows that walk a tree in lock-step. One walk waits for each load; eight hide the latency of loads and
/// comparisons. Measured on Zen 5.
const LANES: usize = 8;

/// An inner node with a numeric test.
#[derive(Clone, Copy)]
struct WalkerNode {
    threshold: f64,
    feature: u32,
    missing_left: bool,
    /// The right child, then the left one: indices of nodes, or leaves.
    children: [u32; 2],
}

/// A tree.
struct TreeStart {
    /// The root: the index of a node, or a leaf. `None` if some test of the tree is not numeric.
    root: Option<u32>,
    /// Index of the first value of its leaves, which hold one value each or `num_margins`.
    values: usize,
}

/// Computation of an output from margins.
pub struct StepsAfterMargins {
    /// Number of results of a row.
    pub columns: usize,
    /// Steps from the margins to the results.
    pub steps: Vec<Transform>,
}

/// The trees of a forest.
pub struct WalkerTrees {
    /// Computations by the number of the output.
    pub after_margins: [StepsAfterMargins; OutputKind::ALL.len()],
    forest: Arc<Forest>,
    nodes: Vec<WalkerNode>,
    starts: Vec<TreeStart>,
    values: Vec<f64>,
    /// Whether features are compared by `<`; else by `<=`.
    is_less: bool,
}

impl WalkerTrees {
    /// The trees of a forest.
    pub fn new(forest: Arc<Forest>) -> WalkerTrees {
        let is_less = forest.comparison == Comparison::Less;
        let nodes = forest.trees.iter().map(|tree| tree.inner.len()).sum();
        let mut trees = WalkerTrees {
            after_margins: OutputKind::ALL.map(|kind| StepsAfterMargins {
                columns: forest.columns_of_output(kind),
                steps: forest.steps_after_margins(kind).unwrap_or_default(),
            }),
            nodes: Vec::with_capacity(nodes),
            starts: Vec::with_capacity(forest.trees.len()),
            values: Vec::new(),
            is_less,
            forest: Arc::clone(&forest),
        };
        for tree in &forest.trees {
            let values = trees.values.len();
            trees.values.extend(tree.leaves.iter().flat_map(|leaf| &leaf.values));
            let root = trees.add_nodes(tree);
            trees.starts.push(TreeStart { root, values });
        }
        trees
    }

    /// Adds the nodes of a tree, and returns its root. `None` if some test is not numeric, or there are too
    /// many nodes.
    fn add_nodes(&mut self, tree: &Tree) -> Option<u32> {
        let first = u32::try_from(self.nodes.len()).ok()?;
        let last = first.checked_add(u32::try_from(tree.inner.len().max(tree.leaves.len())).ok()?)?;
        let are_numeric = tree.inner.iter().all(|node| matches!(node.predicate, Predicate::Numeric { .. }));
        if last >= LEAF_BIT || !are_numeric {
            return None;
        }
        let child = |node| match node {
            NodeRef::Inner(index) => first + index,
            NodeRef::Leaf(leaf) => LEAF_BIT | leaf,
        };
        for inner in &tree.inner {
            let Predicate::Numeric { threshold } = inner.predicate else { continue };
            self.nodes.push(WalkerNode {
                threshold,
                feature: inner.feature,
                missing_left: inner.missing_left,
                children: [child(inner.right), child(inner.left)],
            });
        }
        Some(child(tree.root))
    }

    /// The forest.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// The index of the leaf that a row with its computed columns ends in.
    pub fn leaf<X: Real>(&self, tree: usize, row: &[X]) -> u32 {
        let [leaf] = match self.starts[tree].root {
            Some(root) if self.is_less => self.walk::<X, 1, true>(root, row),
            Some(root) => self.walk::<X, 1, false>(root, row),
            None => [self.forest.leaf_index(&self.forest.trees[tree], &self.forest.row_with_columns(row))],
        };
        leaf
    }

    /// The indices of the leaves that rows end in. `rows` are packed, each with its computed columns.
    pub fn leaves<X: Real>(&self, tree: usize, rows: &[X], leaves: &mut [u32]) {
        let features = self.forest.num_values();
        let together = LANES * features;
        let (groups, rest) = leaves.as_chunks_mut::<LANES>();
        for (rows, leaves) in rows.chunks_exact(together).zip(&mut *groups) {
            match self.starts[tree].root {
                Some(root) if self.is_less => *leaves = self.walk::<X, LANES, true>(root, rows),
                Some(root) => *leaves = self.walk::<X, LANES, false>(root, rows),
                None => {
                    for (row, leaf) in rows.chunks_exact(features).zip(leaves) {
                        *leaf = self.leaf(tree, row);
                    }
                }
            }
        }
        let others = rows.get(groups.len() * together..).unwrap_or_default();
        for (row, leaf) in others.chunks_exact(features).zip(rest) {
            *leaf = self.leaf(tree, row);
        }
    }

    /// The leaves of `N` rows, which walk in lock-step without branches, so that their loads overlap.
    fn walk<X: Real, const N: usize, const LESS: bool>(&self, root: u32, rows: &[X]) -> [u32; N] {
        let features = self.forest.num_values();
        let mut at = [root; N];
        while at.iter().any(|at| *at < LEAF_BIT) {
            for (lane, at) in at.iter_mut().enumerate() {
                // A row that has reached its leaf tests the root again, without effect.
                let node = &self.nodes[if *at < LEAF_BIT { *at } else { root } as usize];
                let value = rows[lane * features + node.feature as usize].widen();
                let passes = if LESS { value < node.threshold } else { value <= node.threshold };
                let left = passes | (value.is_nan() & node.missing_left);
                let child = node.children[usize::from(left)];
                *at = if *at < LEAF_BIT { child } else { *at };
            }
        }
        at.map(|at| at & !LEAF_BIT)
    }

    /// The value that a leaf of a tree with one margin adds to a row with its computed columns, widened.
    pub fn value<X: Real>(&self, tree: usize, leaf: u32, row: &[X]) -> f64 {
        match self.forest.has_linear_leaves() {
            true => self.forest.leaf_value(tree, leaf as usize, &self.forest.row_with_columns(row)),
            false => self.values[self.starts[tree].values + leaf as usize],
        }
    }

    /// The values that a leaf of a tree adds to all margins.
    pub fn vector(&self, tree: usize, leaf: u32) -> &[f64] {
        let width = self.forest.num_margins;
        let first = self.starts[tree].values + leaf as usize * width;
        &self.values[first..first + width]
    }
}

/// Cost of a test that is not numeric, in steps of numeric tests: the reference walker makes it in some 8 ns,
/// against 2. Measured on Zen 5.
const OTHER_TEST_STEPS: usize = 4;
/// Cost of a term of a linear leaf, in steps: some 25 ns for four terms. Measured on Zen 5.
const LEAF_TERM_STEPS: usize = 3;
/// Cost of a term of a computed column, in steps: some 25 ns. Measured on Zen 4.
const COLUMN_TERM_STEPS: usize = 12;

/// Estimates the nodes that a row visits, by the depths of complete trees with the same numbers of leaves.
/// Other work counts as the nodes that take as long.
pub fn steps_of_a_row(forest: &Forest) -> usize {
    let steps = |(number, tree): (usize, &Tree)| {
        let depth = tree.leaves.len().max(1).ilog2() as usize + 1;
        let is_numeric = tree.inner.iter().all(|node| matches!(node.predicate, Predicate::Numeric { .. }));
        let leaves = forest.linear.get(number).map(Vec::as_slice).unwrap_or_default();
        let terms: usize = leaves.iter().map(|leaf| leaf.terms.len()).sum();
        // A row ends in one leaf.
        depth * if is_numeric { 1 } else { OTHER_TEST_STEPS }
            + terms.div_ceil(leaves.len().max(1)) * LEAF_TERM_STEPS
    };
    let behind = forest.output.raw.iter().chain(&forest.output.value).map(|step| match step {
        Transform::Columns(of) => steps_of_columns(&of.columns),
        _ => 0,
    });
    let before = steps_of_columns(&forest.computed.columns);
    forest.trees.iter().enumerate().map(steps).chain(behind).sum::<usize>() + before
}

/// Cost of computing all columns of a row, in steps.
fn steps_of_columns(columns: &Columns) -> usize {
    let steps = |column| match columns.expr(column) {
        Expr::Dot { terms, .. } => terms.len() * COLUMN_TERM_STEPS,
        Expr::SquaredDistance { of, .. } => of.len() * COLUMN_TERM_STEPS,
        Expr::Trees { trees, .. } => trees.steps() * OTHER_TEST_STEPS,
        _ => 0,
    };
    columns.all().map(|column| OTHER_TEST_STEPS + steps(column)).sum()
}
