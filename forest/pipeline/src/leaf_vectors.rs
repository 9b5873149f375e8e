//! The pass *leaf vectors*: trees that differ only in the values of their leaves become one tree with leaf
//! vectors.
//!
//! A leaf in an ONNX file has one number, so a random forest for several classes has each tree once for each
//! class. After the pass, one walk finds the leaves for all classes. Each margin still adds the same numbers
//! in the same order. Margins to which no merged tree adds get -0.0, which leaves sums unchanged.

use crate::pipeline::{Pipeline, Stage};
use sched_forest::{Forest, Leaf, LinearLeaf, ModelError, Target, Tree};

/// Maximum number of values that a row adds from leaf vectors, per tree before the pass. Beyond it, the
/// additions cost as much as the saved walks.
const MOST_ADDED: usize = 8;

/// A tree with its linear leaves, if any.
type WholeTree<'f> = (&'f Tree, &'f [LinearLeaf]);

/// Merges each group of consecutive trees with equal tests that add to consecutive margins. If more than half
/// of the trees would remain, the forest stays unchanged.
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

/// The forest with merged trees, or the forest itself if merging does not pay.
///
/// # Errors
/// A [`ModelError`] if the forest with merged trees is not valid.
pub(crate) fn merged(forest: Forest) -> Result<Forest, ModelError> {
    let margins = forest.num_margins;
    let linear = forest.linear.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
    let trees: Vec<WholeTree> = forest.trees.iter().zip(linear).collect();
    let groups: Vec<&[WholeTree]> = trees.chunk_by(is_next).collect();
    let sums = trees.iter().filter(|(_, linear)| !linear.is_empty()).count();
    let (before, after) = (trees.len() - sums, groups.len() - sums);
    let pays = after < before && 2 * after <= before && after * margins <= MOST_ADDED * before;
    if !pays || forest.iteration_starts != [0, forest.trees.len()] {
        return Ok(forest);
    }
    let tree = |(source, group): (u32, &&[WholeTree])| match group {
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

/// Whether two trees have equal tests and no linear leaves, and the second one adds to the next margin.
fn is_next((one, its_linear): &WholeTree, (next, linear): &WholeTree) -> bool {
    let (Target::One(margin), Target::One(next_margin)) = (one.target, next.target) else { return false };
    next_margin == margin + 1
        && its_linear.is_empty()
        && linear.is_empty()
        && (one.root, &one.inner) == (next.root, &next.inner)
        && one.leaves.len() == next.leaves.len()
}

/// The merged tree of a group. Its leaf vectors have -0.0 for margins to which the group does not add.
fn one_tree(source: u32, group: &[WholeTree], margins: usize) -> Tree {
    let first = group[0].0;
    let leaf = |(number, leaf): (usize, &Leaf)| {
        let mut values = vec![-0.0; margins];
        for (tree, _) in group {
            if let Target::One(margin) = tree.target {
                values[margin as usize] = tree.leaves[number].values[0];
            }
        }
        Leaf { source: leaf.source, values: values.into() }
    };
    Tree {
        leaves: first.leaves.iter().enumerate().map(leaf).collect(),
        target: Target::All,
        source,
        root: first.root,
        inner: first.inner.clone(),
    }
}
