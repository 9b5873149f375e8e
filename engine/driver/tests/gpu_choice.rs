//! Which schedules are chosen for GPUs: how trees and rows become blocks and threads, by the form of the
//! model.

use sched_ir::quantize::QuantizedRows;
use sched_lang::Target;
use sched_nest::ModelInfo;

use schedc_driver::choice::gpu;

/// A hundred trees that are alike.
fn model(depth: u32, leaves: u32) -> ModelInfo {
    let leaves_by_depth: Vec<u32> = (0..=depth).map(|at| if at == depth { leaves } else { 0 }).collect();
    ModelInfo {
        num_trees: 100,
        num_features: 20,
        num_classes: 1,
        depths: vec![depth; 100].into(),
        leaves: vec![leaves_by_depth; 100],
        ..ModelInfo::default()
    }
}

/// The schedules for a GPU, with the most rows that each is for.
fn on_gpu(model: &ModelInfo, target: &str) -> Vec<(Option<u32>, String)> {
    let target = target.parse().unwrap_or_else(|()| Target::gpu());
    let bins = QuantizedRows { columns: model.num_features, in_bytes: true };
    gpu::chosen(model, Some(&bins), &target).iter().map(|(rows, text)| (rows, text.clone())).collect()
}

#[test]
fn groups_of_trees_are_blocks_where_rows_alone_are_too_few() {
    // 33 tiles of 32 rows and four groups of 25 trees are 132 blocks: one for each multiprocessor.
    let all = on_gpu(&model(8, 256), "gpu(sm_90)");
    let bounds: Vec<_> = all.iter().map(|(rows, _)| *rows).collect();
    assert_eq!(bounds, [Some(32 * 32), Some(132 * 128), Some(132 * 1024), None]);
    assert!(all[1].1.contains("tile(tree, t0, t1, 25)") && all[1].1.contains("gpuDimension(t0, grid.y)"));
    let on_sm_80: Vec<_> = on_gpu(&model(8, 256), "gpu(sm_80)").iter().map(|(rows, _)| *rows).collect();
    assert_eq!(on_sm_80, [Some(26 * 32), Some(108 * 128), Some(108 * 1024), None]);
}

#[test]
fn few_trees_are_one_group_whose_block_adds_them_up() {
    let few = ModelInfo { num_trees: 20, depths: vec![8; 20].into(), ..model(8, 256) };
    let all = on_gpu(&few, "gpu(sm_90)");
    let group = &all[1].1;
    assert!(group.contains("gpuDimension(tree, block.y)") && group.contains("sharedReduce(tree)"), "{group}");
    assert!(!group.contains("grid.y"), "{group}");
}

#[test]
fn rows_of_which_walks_read_little_are_not_copied_for_groups() {
    let wide = ModelInfo { num_features: 2000, ..model(8, 256) };
    assert!(on_gpu(&wide, "gpu(sm_90)").iter().all(|(_, text)| !text.contains("grid.y")));
}

/// Slots of a hundred thousand trees are so large that a run has few rows; still those give all
/// multiprocessors blocks.
#[test]
fn many_trees_are_groups_for_all_small_calls() {
    let many = ModelInfo {
        num_trees: 100_000,
        depths: vec![8; 100_000].into(),
        leaves: vec![vec![256]; 100_000],
        ..model(8, 256)
    };
    let all = on_gpu(&many, "gpu(sm_90)");
    assert!(all[0].1.contains("grid.y"), "{all:?}");
    // Slots of 2000 classes leave no run enough rows, so no candidate has any.
    let classes = ModelInfo { num_classes: 2000, ..model(8, 256) };
    assert!(on_gpu(&classes, "gpu(sm_90)").iter().all(|(_, text)| !text.contains("grid.y")));
}
