//! The pass *leaf sums*: sums over one-hot encoded leaf indices become trees whose leaves hold the weights.
//!
//! A model can read the leaves of trees as categories: of the columns that encode a tree, that of the row's
//! leaf is 1, and all others are 0. A weighted sum over these columns adds one weight for each tree. The pass
//! puts the weights into the leaves, so that the sum is a forest, and no column is computed. Sums of a layer
//! of a net become [`Expr::Trees`](sched_columns::Expr::Trees), which have a result for each unit.
//!
//! A sum keeps its bits. Products of a [group] are adjacent, in each leaf at most one is not 0, and adding 0
//! rounds nothing. Only -0 + 0 changes a bit, so a leaf holds -0 if all its products are -0.
//!
//! A sum of a forest may begin with other products, since a linear leaf adds these before the trees. If other
//! products follow, or if a column is the sum, the trees become a column that begins the sum.

mod begun;
mod group;
mod layers;
mod leaves;
mod stage;
mod trees;

use crate::pipeline::{Pipeline, PipelineStage};
use leaves::LeafColumns;
use sched_columns::ColumnId;
use sched_forest::ModelError;
use stage::impossible;
use std::collections::HashSet;

/// A pipeline after the pass, with the features that trees replace.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafSums {
    /// The pipeline. Each stage has its old columns, and then columns that trees test.
    pub pipeline: Pipeline,
    /// For each stage, the features that it no longer reads, since leaves hold their products.
    pub replaced: Vec<HashSet<u32>>,
}

/// Replaces sums of products over one-hot encoded leaf indices by trees.
///
/// # Errors
/// A [`ModelError`] if a forest with the new trees is not valid.
pub fn leaf_sums(pipeline: Pipeline) -> Result<LeafSums, ModelError> {
    let Pipeline { inputs, mut columns, mut stages } = pipeline;
    let tested: Vec<ColumnId> = stages.iter().flat_map(PipelineStage::tested).copied().collect();
    let leaf_columns = LeafColumns::of(&columns, &tested);
    let mut replaced = vec![HashSet::new(); stages.len()];
    if !leaf_columns.is_empty() {
        for (stage, replaced) in stages.iter_mut().zip(&mut replaced) {
            *replaced = stage::with_trees(stage, &mut columns, &leaf_columns)?;
        }
        let tested: Vec<ColumnId> = stages.iter().flat_map(PipelineStage::tested).copied().collect();
        let numbers = layers::with_trees(&tested, &mut columns, &leaf_columns).map_err(impossible)?;
        stages = stages.into_iter().map(|stage| stage.with_tested(|column| numbers[&column])).collect();
    }
    Ok(LeafSums { pipeline: Pipeline { inputs, columns, stages }, replaced })
}
