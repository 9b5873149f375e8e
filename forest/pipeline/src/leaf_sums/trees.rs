//! Trees whose leaves hold the products of one or several sums.

use super::group::LeafSum;
use super::leaves::LeafTree;
use sched_columns::{ColumnId, ColumnTree, ColumnTrees, Columns, SharedTreeProperties, TreeNode, TreeTest};
use sched_forest::grow::{Slot, TreeBuilder};
use sched_forest::{Float, Leaf, ModelError, Predicate, Tree, TreeTarget};
use std::collections::HashMap;
use std::sync::Arc;

/// Trees with a result for each of some sums over the same trees, and the columns that they test. `None` if
/// the trees are too large.
pub(super) fn sum_trees(
    columns: &Columns,
    sums: &[LeafSum],
    sum_type: Float,
) -> Option<(Arc<[ColumnId]>, Arc<ColumnTrees>)> {
    let trees = sums.first()?.trees();
    let tests = LeafTree::of(columns, *trees.first()?)?.tests();
    let (mut of, mut places) = (Vec::new(), HashMap::new());
    let mut made = Vec::with_capacity(trees.len());
    for (number, column) in trees.iter().enumerate() {
        let source = LeafTree::of(columns, *column)?;
        let mut place = |operand: ColumnId| {
            *places.entry(operand).or_insert_with(|| {
                of.push(operand);
                of.len() as u32 - 1
            })
        };
        let test = |test: &TreeTest| TreeTest { operand: place(source.of[test.operand as usize]), ..*test };
        let tests = source.tree.tests.iter().map(test).collect();
        let entries: Vec<Vec<f64>> = sums.iter().map(|sum| sum.groups[number].entries()).collect();
        let values = (0..source.leaves()).flat_map(|leaf| entries.iter().map(move |of_sum| of_sum[leaf]));
        made.push(ColumnTree { root: source.tree.root, tests, values: values.collect() });
    }
    let shared = SharedTreeProperties {
        operands: of.len() as u32,
        results: sums.len() as u32,
        operand_type: tests.operand_type,
        sum_type,
        ties: tests.ties,
    };
    Some((of.into(), Arc::new(ColumnTrees::new(shared, made)?)))
}

/// The tree of a forest whose leaves hold these values. `numbers` has the features that hold the tested
/// columns.
///
/// # Errors
/// `M0014` for trees that are too deep for a forest.
pub(super) fn forest_tree(
    source: LeafTree<'_>,
    target: TreeTarget,
    values: &[f64],
    numbers: &HashMap<ColumnId, u32>,
) -> Result<Tree, ModelError> {
    let mut out = TreeBuilder::new(target, 0);
    let mut todo = vec![(Slot::ROOT, source.tree.root)];
    while let Some((slot, node)) = todo.pop() {
        match node {
            TreeNode::Leaf(leaf) => {
                out.leaf(slot, Leaf { source: leaf, values: [values[leaf as usize]].into() });
            }
            TreeNode::Test(test) => {
                let test = &source.tree.tests[test as usize];
                let feature = numbers[&source.of[test.operand as usize]];
                let predicate = Predicate::Numeric { threshold: test.threshold };
                let (left, right) = out.inner(slot, feature, predicate, test.missing_left)?;
                todo.extend([(right, test.right), (left, test.left)]);
            }
        }
    }
    Ok(out.done())
}
