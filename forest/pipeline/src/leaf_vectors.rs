//! The pass *leaf vectors*: trees that differ in their leaves' values alone become one tree.
//!
//! A leaf of an ONNX file has one number, so that a forest of classes has each tree once for each class. One
//! walk finds the leaves of all of them. Each margin still adds the same numbers in the same order.

use crate::pipeline::{Pipeline, Stage};
use sched_forest::{Forest, Leaf, ModelError, Target, Tree};

/// Merges the trees of each group that follow each other, one for each margin, with equal tests. A forest
/// with any other tree stays as it is.
///
/// # Errors
/// A [`ModelError`] if a forest with the merged trees is not valid.
pub fn leaf_vectors(pipeline: Pipeline) -> Result<Pipeline, ModelError> {
    let merge = |stage: Stage| {
        let Stage::Forest { name, forest, tested } = stage;
        let forest = Box::new(merged(*forest)?);
        Ok(Stage::Forest { name, forest, tested })
    };
    let stages = pipeline.stages.into_iter().map(merge).collect::<Result<_, ModelError>>()?;
    Ok(Pipeline { stages, ..pipeline })
}

fn merged(forest: Forest) -> Result<Forest, ModelError> {
    let margins = forest.num_margins;
    let is_mergeable = margins > 1
        && forest.trees.len().is_multiple_of(margins)
        && !forest.has_linear_leaves()
        && forest.iteration_starts == [0, forest.trees.len()]
        && forest.trees.chunks_exact(margins).all(is_group);
    if !is_mergeable {
        return Ok(forest);
    }
    let trees: Vec<Tree> = (0..).zip(forest.trees.chunks_exact(margins)).map(one_tree).collect();
    let mut parts = forest.into_parts();
    parts.iteration_starts = vec![0, trees.len()];
    parts.trees = trees;
    Forest::new(parts)
}

/// Whether trees have equal tests, and each adds to a margin of its own, in order.
fn is_group(trees: &[Tree]) -> bool {
    let first = &trees[0];
    let fits = |(margin, tree): (u32, &Tree)| {
        tree.target == Target::One(margin)
            && (tree.root, &tree.inner) == (first.root, &first.inner)
            && tree.leaves.len() == first.leaves.len()
    };
    (0..).zip(trees).all(fits)
}

fn one_tree((source, trees): (u32, &[Tree])) -> Tree {
    let leaf = |(number, leaf): (usize, &Leaf)| Leaf {
        source: leaf.source,
        values: trees.iter().map(|tree| tree.leaves[number].values[0]).collect(),
    };
    let first = &trees[0];
    Tree {
        leaves: first.leaves.iter().enumerate().map(leaf).collect(),
        target: Target::All,
        source,
        root: first.root,
        inner: first.inner.clone(),
    }
}
