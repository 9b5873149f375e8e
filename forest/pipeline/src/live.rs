//! The pass *live*: removes columns that no node tests and no tested column reads.

use crate::fault::{PassFault, seeded};
use crate::pipeline::{Pipeline, PipelineStage, needed_columns};
use sched_columns::{ColumnId, ColumnValue};

/// Removes columns that affect no result. In a stage, a constant replaces each column that is never tested.
#[must_use]
pub fn remove_unread_columns(pipeline: Pipeline) -> Pipeline {
    let Pipeline { inputs, columns, stages } = pipeline;
    let tested: Vec<ColumnId> = stages.iter().flat_map(tested_columns).flatten().collect();
    let (mut kept, numbers) = needed_columns(&columns, &tested);
    let mut live_stage = |stage: PipelineStage| {
        let live = tested_columns(&stage);
        let PipelineStage::Forest { name, forest, .. } = stage;
        let missing = ColumnValue::F64(f64::NAN);
        let column = |old: Option<ColumnId>| match old {
            Some(old) => numbers[&old],
            None => kept.constant(missing),
        };
        PipelineStage::Forest { name, forest, tested: live.into_iter().map(column).collect() }
    };
    let stages = stages.into_iter().map(&mut live_stage).collect();
    Pipeline { inputs, columns: kept, stages }
}

/// For each feature of a stage, its column if a node tests it or a sum reads it.
fn tested_columns(stage: &PipelineStage) -> Vec<Option<ColumnId>> {
    let PipelineStage::Forest { forest, tested, .. } = stage;
    let mut is_tested = vec![false; tested.len()];
    for inner in forest.trees.iter().flat_map(|tree| &tree.inner) {
        is_tested[inner.feature as usize] = true;
    }
    for (feature, _) in forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms) {
        is_tested[*feature as usize] = true;
    }
    if seeded(PassFault::LiveDropsColumn)
        && let Some(last) = is_tested.iter().rposition(|is_tested| *is_tested)
    {
        is_tested[last] = false;
    }
    tested.iter().zip(is_tested).map(|(column, is_tested)| is_tested.then_some(*column)).collect()
}
