//! The pass *leaf vectors*: trees that differ only in the values of their leaves become one tree with leaf
//! vectors.
//!
//! A leaf in an ONNX file has one number, so a random forest for several classes has each tree once for each
//! class. After the pass, one walk finds the leaves for all classes. Each margin still adds the same numbers
//! in the same order. Margins to which no merged tree adds get -0.0, which leaves sums unchanged.

use crate::fault::{PassFault, seeded};
use crate::pipeline::{Pipeline, PipelineStage};
use sched_forest::{Forest, Leaf, LinearLeaf, ModelError, Tree, TreeTarget};

/// Number of values of leaf vectors whose addition costs as much as a step of a walk. Measured on Zen 4: 1.3
/// for trees of 4 levels, whose nodes registers hold, and 4.7 for trees of 8 levels.
const VALUES_PER_STEP: usize = 3;

/// A tree with its linear leaves, if any.
type TreeWithLinear<'f> = (&'f Tree, &'f [LinearLeaf]);

/// Merges each group of consecutive trees with equal tests that add to consecutive margins, if the walks that
/// this saves cost more than the additions of leaf vectors.
///
/// # Errors
/// A [`ModelError`] if a forest with the merged trees is not valid.
pub fn leaf_vectors(pipeline: Pipeline) -> Result<Pipeline, ModelError> {
    let merge = |stage: PipelineStage| {
        let PipelineStage::Forest { name, forest, tested } = stage;
        let forest = Box::new(merged(*forest)?);
        Ok(PipelineStage::Forest { name, forest, tested })
    };
    let stages = pipeline.stages.into_iter().map(merge).collect::<Result<_, ModelError>>()?;
    Ok(Pipeline { stages, ..pipeline })
}

/// The forest with merged trees, or the forest itself if merging does not pay.
///
/// # Errors
/// A [`ModelError`] if the forest with merged trees is not valid.
pub(crate) fn merged(forest: Forest) -> Result<Forest, ModelError> {
    let margins = forest.num_margins;
    let linear = forest.linear.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
    let trees: Vec<TreeWithLinear> = forest.trees.iter().zip(linear).collect();
    let groups: Vec<&[TreeWithLinear]> = trees.chunk_by(is_next).collect();
    let saved: usize = groups.iter().flat_map(|group| &group[1..]).map(|(tree, _)| steps(tree)).sum();
    let is_sum = |group: &&&[TreeWithLinear]| !group[0].1.is_empty();
    let sums = groups.iter().filter(is_sum).count();
    let added = margins * (groups.len() - sums);
    if saved == 0 || saved * VALUES_PER_STEP < added || forest.iteration_starts != [0, forest.trees.len()] {
        return Ok(forest);
    }
    let tree = |(source, group): (u32, &&[TreeWithLinear])| match group {
        [(tree, _)] => Tree { source, ..(*tree).clone() },
        _ => one_tree(source, group, margins),
    };
    let trees: Vec<Tree> = (0..).zip(&groups).map(tree).collect();
    let linear = groups.iter().map(|group| group[0].1.to_vec()).collect();
    let mut parts = forest.clone().into_parts();
    parts.iteration_starts = vec![0, trees.len()];
    parts.trees = trees;
    parts.linear = if sums > 0 { linear } else { Vec::new() };
    Forest::new(parts)
}

/// Number of steps of a walk through a tree, if rows reach all its leaves equally often.
fn steps(tree: &Tree) -> usize {
    tree.leaves.len().max(1).ilog2() as usize
}

/// Whether two trees have equal tests and no linear leaves, and the second one adds to the next margin.
fn is_next((one, its_linear): &TreeWithLinear, (next, linear): &TreeWithLinear) -> bool {
    let (TreeTarget::One(margin), TreeTarget::One(next_margin)) = (one.target, next.target) else {
        return false;
    };
    next_margin == margin + 1
        && its_linear.is_empty()
        && linear.is_empty()
        && (one.root, &one.inner) == (next.root, &next.inner)
        && one.leaves.len() == next.leaves.len()
}

/// The merged tree of a group. Its leaf vectors have -0.0 for margins to which the group does not add.
fn one_tree(source: u32, group: &[TreeWithLinear], margins: usize) -> Tree {
    let first = group[0].0;
    let leaf = |(number, leaf): (usize, &Leaf)| {
        let mut values = vec![-0.0; margins];
        for (tree, _) in group {
            if let TreeTarget::One(margin) = tree.target {
                let tree = if seeded(PassFault::VectorRepeatsValue) { first } else { tree };
                values[margin as usize] = tree.leaves[number].values[0];
            }
        }
        Leaf { source: leaf.source, values: values.into() }
    };
    Tree {
        leaves: first.leaves.iter().enumerate().map(leaf).collect(),
        target: TreeTarget::All,
        source,
        root: first.root,
        inner: first.inner.clone(),
    }
}
