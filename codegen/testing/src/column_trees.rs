//! Random trees as columns: trees whose sums of leaves are computed columns.

use crate::forests::grid_value;
use crate::schedules::Rng;
use sched_columns::{ColumnTree, ColumnTrees, SharedTreeProperties, TreeNode, TreeTest};

/// Most tests on a path from a root to a leaf.
const MAX_PATH_TESTS: usize = 6;

/// Trees with these shared properties, some of them single leaves. Missing values go left, right, or to a
/// random side at each node.
pub fn column_trees(rng: &mut Rng, form: SharedTreeProperties) -> ColumnTrees {
    let missing = rng.below(3);
    let trees = (0..rng.below(11)).map(|_| {
        let mut growing = TreeGenerator { rng, form, missing, tests: Vec::new(), values: Vec::new() };
        let depth = growing.rng.below(MAX_PATH_TESTS + 1);
        let root = growing.node(depth);
        ColumnTree { root, tests: growing.tests, values: growing.values }
    });
    let trees = trees.collect();
    ColumnTrees::new(form, trees).expect("the generator keeps the promises of trees")
}

/// The state while a random tree is built.
struct TreeGenerator<'a> {
    rng: &'a mut Rng,
    form: SharedTreeProperties,
    missing: usize,
    tests: Vec<TreeTest>,
    values: Vec<f64>,
}

impl TreeGenerator<'_> {
    /// A node with at most `depth` tests on each path.
    fn node(&mut self, depth: usize) -> TreeNode {
        if depth == 0 || self.form.operands == 0 || self.rng.one_in(5) {
            let leaf = self.values.len() / self.form.results as usize;
            for _ in 0..self.form.results {
                self.values.push(grid_value(self.rng, self.form.sum_type));
            }
            return TreeNode::Leaf(leaf as u32);
        }
        let index = self.tests.len();
        let missing_left = self.missing == 0 || (self.missing == 2 && self.rng.one_in(2));
        let operand = self.rng.below(self.form.operands as usize) as u32;
        let threshold = grid_value(self.rng, self.form.operand_type);
        let (left, right) = (TreeNode::Leaf(0), TreeNode::Leaf(0));
        self.tests.push(TreeTest { operand, threshold, missing_left, left, right });
        self.tests[index].left = self.node(depth - 1);
        self.tests[index].right = self.node(depth - 1);
        TreeNode::Test(index as u32)
    }
}
