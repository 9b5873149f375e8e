//! Which schedules are chosen where none is given: the layouts, by the form of the trees and by where tables are destination.

use sched_ir::quantize::QuantizedRows;
use sched_lang::Target;
use sched_nest::ModelInfo;

use schedc_driver::defaults::{Chosen, CodeDestination, Processor, gpu};

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

/// The layouts of the chosen schedules, those for the smallest calls first.
fn layouts(model: &ModelInfo, columns: u32, bits: u32, destination: CodeDestination) -> Vec<String> {
    let processor = Processor { lookup_bits: bits, gathers_slowly: true };
    let chosen = Chosen::new(model, Some(&QuantizedRows { columns, in_bytes: true }), processor, destination);
    let layout = |text: &String| {
        let (_, after) = text.split_once("representation(").unwrap_or(("", "none)"));
        after.split(')').next().unwrap_or_default().to_string()
    };
    chosen.variants.iter().map(|(_, text)| layout(text)).collect()
}

#[test]
fn nodes_in_preorder_join_complete_trees_where_there_is_room() {
    let (sparse, half, full) = (model(8, 80), model(8, 120), model(8, 250));
    for (trees, destination) in [
        (&sparse, CodeDestination::Memory),
        (&sparse, CodeDestination::Artefact),
        (&half, CodeDestination::Memory),
    ] {
        assert_eq!(layouts(trees, 54, 512, destination), ["levels", "quantized", "quantized", "preorder"]);
    }
    assert_eq!(layouts(&half, 54, 512, CodeDestination::Artefact), ["levels", "quantized", "quantized"]);
    assert_eq!(layouts(&full, 54, 512, CodeDestination::Memory), ["levels", "quantized", "quantized"]);
    // Few levels are looked up faster than nodes are tested, even if half of them are missing.
    let shallow = model(6, 28);
    assert_eq!(layouts(&shallow, 16, 512, CodeDestination::Memory), ["quantized", "quantized", "quantized"]);
    assert_eq!(layouts(&shallow, 100, 512, CodeDestination::Artefact), ["levels", "quantized", "quantized"]);
}

#[test]
fn leaf_wise_trees_have_one_layout_if_rows_are_short() {
    let deep = model(30, 200);
    for bits in [256, 512] {
        assert_eq!(layouts(&deep, 100, bits, CodeDestination::Artefact), ["preorder", "preorder"]);
        assert_eq!(layouts(&deep, 180, bits, CodeDestination::Artefact), ["sparse", "preorder"]);
    }
}

#[test]
fn blocks_of_long_rows_leave_room_in_the_second_level_cache() {
    let wide = |num_features| ModelInfo { num_features, num_trees: 400, ..model(8, 250) };
    let main = |features, gathers_slowly| {
        let processor = Processor { lookup_bits: 512, gathers_slowly };
        Chosen::new(&wide(features), None, processor, CodeDestination::Artefact).variants.rest().clone()
    };
    let has = |text: &str, block: u32, vectors: u32| {
        text.contains(&format!("tile(batch, b0, b1, {block})"))
            && text.contains(&format!("interleave(b1, {vectors})"))
            && text.contains("cache(b0)")
    };
    assert!(has(&main(1024, true), 64, 4), "{}", main(1024, true));
    assert!(has(&main(1025, true), 32, 2), "{}", main(1025, true));
    assert!(has(&main(2000, false), 64, 4), "{}", main(2000, false));
}

#[test]
fn short_walks_of_coded_rows_advance_by_four() {
    let processor = Processor { lookup_bits: 512, gathers_slowly: true };
    let vectors = |depth: u32, num_classes: u32, destination| {
        let model = ModelInfo { num_classes, ..model(depth, 1 << depth) };
        let codes = QuantizedRows { columns: 20, in_bytes: true };
        let chosen = Chosen::new(&model, Some(&codes), processor, destination);
        let main = chosen.variants.rest();
        main.lines().find(|line| line.starts_with("interleave")).unwrap_or_default().to_string()
    };
    assert_eq!(vectors(6, 1, CodeDestination::Memory), "interleave(b1, 4)");
    assert_eq!(vectors(6, 9, CodeDestination::Artefact), "interleave(b1, 4)");
    assert_eq!(vectors(6, 9, CodeDestination::Memory), "interleave(b1, 2)");
    assert_eq!(vectors(7, 1, CodeDestination::Artefact), "interleave(b1, 2)");
}

#[test]
fn trees_are_walked_together_for_few_rows_only_in_code_that_is_kept() {
    let processor = Processor { lookup_bits: 512, gathers_slowly: true };
    let asks = |facts: &ModelInfo, columns: Option<u32>, destination| {
        let bins = columns.map(|columns| QuantizedRows { columns, in_bytes: true });
        let chosen = Chosen::new(facts, bins.as_ref(), processor, destination);
        chosen.variants.iter().filter(|(_, text)| text.contains("unrollAndJam(tree)")).count()
    };
    let one = model(8, 250);
    // Long vectors of quantized rows, and short ones; values as they are.
    assert_eq!(asks(&one, Some(20), CodeDestination::Artefact), 2);
    assert_eq!(asks(&one, None, CodeDestination::Artefact), 1);
    assert_eq!(asks(&one, Some(20), CodeDestination::Memory), 0);
    // Sums of several outputs are added to in vectors only if they are copied, and each has leaves of its own.
    let several = ModelInfo { num_classes: 3, ..model(8, 250) };
    assert_eq!(asks(&several, None, CodeDestination::Artefact), 1);
    let wide = ModelInfo { num_features: 4000, ..several.clone() };
    assert_eq!(asks(&wide, None, CodeDestination::Artefact), 0);
    let vectors = ModelInfo { leaf_vectors: true, ..several };
    assert_eq!(asks(&vectors, Some(20), CodeDestination::Artefact), 0);
}

#[test]
fn oblivious_trees_have_their_layout() {
    let facts = |oblivious: bool| ModelInfo { oblivious: vec![oblivious; 250], ..model(6, 64) };
    let bins = QuantizedRows { columns: 20, in_bytes: true };
    for lookup_bits in [0, 128, 256, 512] {
        let processor = Processor { lookup_bits, gathers_slowly: true };
        for oblivious in [false, true] {
            let chosen = Chosen::new(&facts(oblivious), Some(&bins), processor, CodeDestination::Memory);
            let takes = chosen.variants.rest().contains("representation(oblivious)");
            assert_eq!(takes, oblivious && lookup_bits > 0, "{}", chosen.text());
        }
    }
}

#[test]
fn models_with_many_sets_have_the_layout_that_holds_them_in_calls_of_all_sizes() {
    let with_sets = |model| ModelInfo { category_features: 4, class_features: 4, ..model };
    for bits in [128, 256, 512] {
        for trees in [model(4, 16), model(8, 250), model(30, 200)] {
            let found = layouts(&with_sets(trees), 60, bits, CodeDestination::Artefact);
            assert_eq!(found, ["preorder", "preorder"], "{bits} bits");
        }
        // Where vectors of rows would test too many nodes, all rows are walked one by one.
        let large = layouts(&with_sets(model(30, 5000)), 60, bits, CodeDestination::Memory);
        assert_eq!(large, ["preorder"], "{bits} bits");
    }
    // A processor without look-ups walks one by one, too; leaves that 16 bits do not number, and few sets, get columns.
    let found = layouts(&with_sets(model(8, 250)), 60, 0, CodeDestination::Memory);
    assert_eq!(found, ["preorder"]);
    let found = layouts(&with_sets(model(30, 70_000)), 60, 0, CodeDestination::Memory);
    assert_eq!(found, ["none"]);
    let few = ModelInfo { category_features: 4, ..model(8, 250) };
    assert!(layouts(&few, 60, 512, CodeDestination::Memory).contains(&"quantized".to_string()));
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

/// Slots of a hundred thousand trees are so large that a run has few rows; still those give all multiprocessors blocks.
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
    // Where slots of many classes leave no run enough rows, there are none.
    let classes = ModelInfo { num_classes: 2000, ..model(8, 256) };
    assert!(on_gpu(&classes, "gpu(sm_90)").iter().all(|(_, text)| !text.contains("grid.y")));
}
