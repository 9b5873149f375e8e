//! Tests of the choice of schedules for GPUs: the distribution of rows and trees over blocks and threads, by
//! the shape of the model's trees.

use sched_forest::{Float, Forest, predict_margins};
use sched_ir::interp::{CallMemory, run};
use sched_ir::lir::OutputKind;
use sched_ir::quantize::QuantizedRows;
use sched_ir::{Budget, Compiled, compile};
use sched_lang::{CheckOptions, CheckPurpose, Target, check};
use sched_llvm::{Gpu, KernelResources, Ptxas, ptx_text};
use sched_nest::{Accumulation, ModelInfo};
use sched_testing::{Rng, forests, in_parallel};
use std::collections::BTreeSet;
use std::sync::Arc;

use schedc_driver::choice::gpu;
use schedc_driver::choice::gpu::candidates::{Layouts, candidates};

/// A model of a hundred equal trees.
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
    let bins = QuantizedRows { columns: model.num_features, in_bytes: true, search_steps: 0 };
    gpu::chosen(model, Some(&bins), &target).iter().map(|(rows, text)| (rows, text.clone())).collect()
}

/// The schedule for calls of some rows.
fn for_rows(all: &[(Option<u32>, String)], rows: u32) -> &str {
    let covers = |(most, _): &&(Option<u32>, String)| most.is_none_or(|most| rows <= most);
    all.iter().find(covers).map_or("", |(_, text)| text)
}

/// Whether neighbouring threads walk different trees.
fn has_trees_in_threads(text: &str) -> bool {
    ["tree", "t1"].iter().any(|name| text.contains(&format!("gpuDimension({name}, block.x)")))
}

#[test]
fn threads_have_trees_in_small_calls_and_rows_in_large_ones() {
    let all = on_gpu(&model(8, 256), "gpu(sm_90)");
    let (few, many) = (for_rows(&all, 1), for_rows(&all, 1 << 20));
    assert!(has_trees_in_threads(few), "{few}");
    assert!(many.contains("gpuDimension(b1, block.x)") && many.contains("vectorize(b2, 4)"), "{many}");
    // A slot for each tree, whose number divides that of all trees, keeps the model's order.
    assert!(many.contains("sharedReduce(t1)") && many.contains("tile(tree, t0, t1, 10)"), "{many}");
}

/// A model of some trees of depth 6 whose trees add to some classes in turn.
fn in_turn(trees: u32, classes: u32) -> ModelInfo {
    ModelInfo {
        num_trees: trees,
        num_features: 54,
        tested_features: 54,
        num_classes: classes,
        depths: vec![6; trees as usize].into(),
        leaves: Vec::new(),
        value_bytes: 4,
        sum_bytes: 4,
        takes_margins_in_turn: true,
        ..model(6, 64)
    }
}

#[test]
fn threads_that_share_trees_have_one_class_each() {
    for (trees, classes) in [(700, 7), (707, 7), (800, 8), (1000, 10)] {
        let threads = |text: &str| -> Option<u32> {
            let line = text.lines().find_map(|line| line.strip_prefix("tile(tree, t0, t1, "))?;
            line.trim_end_matches(')').parse().ok().filter(|_| text.contains("sharedReduce(t1)"))
        };
        let all = on_gpu(&in_turn(trees, classes), "gpu(sm_90)");
        let shared: Vec<u32> = all.iter().filter_map(|(_, text)| threads(text)).collect();
        assert!(shared.iter().all(|threads| threads.is_multiple_of(classes)), "{shared:?}: {all:?}");
        // Threads select no sums, so sharing the trees pays in calls of all sizes.
        assert!(for_rows(&all, 1 << 20).contains("sharedReduce(t1)"), "{all:?}");
        let in_any_order = ModelInfo { takes_margins_in_turn: false, ..in_turn(trees, classes) };
        assert!(!for_rows(&on_gpu(&in_any_order, "gpu(sm_90)"), 1 << 20).contains("sharedReduce"));
    }
}

#[test]
fn smaller_devices_have_trees_in_threads_for_smaller_calls() {
    let most = |target: &str| {
        let all = on_gpu(&model(8, 256), target);
        let by_tree = all.iter().filter(|(_, text)| has_trees_in_threads(text));
        by_tree.filter_map(|(most, _)| *most).max().unwrap_or(0)
    };
    let (small, large) = (most("gpu(sm_87)"), most("gpu(sm_90)"));
    assert!(small < large, "16 multiprocessors: {small}, 132: {large}");
}

#[test]
fn gpus_without_figures_have_a_schedule() {
    let all = on_gpu(&model(8, 256), "gpu(gfx90a)");
    assert!(for_rows(&all, 1 << 20).contains("gpuDimension"), "{all:?}");
}

#[test]
fn rows_that_exceed_shared_memory_are_not_copied_in_large_blocks() {
    let wide = ModelInfo { num_features: 20_000, tested_features: 20_000, ..model(8, 256) };
    for (_, text) in on_gpu(&wide, "gpu(sm_90)") {
        let is_small = text.contains("tile(batch, b0, b1, 1)") || text.contains("tile(batch, b0, b1, 2)");
        assert!(!text.contains("cache(") || is_small || text.contains("cache(batch)"), "{text}");
    }
}

#[test]
fn deep_trees_are_not_completed() {
    let deep = ModelInfo { leaves: Vec::new(), ..model(24, 0) };
    for (_, text) in on_gpu(&deep, "gpu(sm_90)") {
        assert!(
            text.contains("representation(preorder)") || text.contains("representation(sparse)"),
            "{text}"
        );
    }
}

#[test]
fn choices_for_gpus_have_at_most_seven_schedules() {
    for (trees, depth, classes) in [(1, 1, 1), (10, 3, 1), (3000, 6, 1), (800, 8, 8), (100, 8, 200)] {
        let model = ModelInfo {
            num_trees: trees,
            num_classes: classes,
            depths: vec![depth; trees as usize].into(),
            leaves: Vec::new(),
            ..model(depth, 1)
        };
        let all = on_gpu(&model, "gpu(sm_90)");
        assert!((1..=7).contains(&all.len()), "{trees} {depth} {classes}: {all:?}");
    }
}

/// The code of a forest under a schedule. `None` if the schedule is illegal, adds trees in another order than
/// the model, or has no code.
fn compiled(forest: &Arc<Forest>, info: &Arc<ModelInfo>, text: &str) -> Option<Compiled> {
    let options = CheckOptions {
        model: Some(Arc::clone(info)),
        target: Some(Target::gpu()),
        purpose: CheckPurpose::Compile,
        ..CheckOptions::default()
    };
    let nests = check(text, &options).nests?;
    let in_order = nests.iter().all(|(_, nest)| nest.accumulation == Accumulation::Exact);
    let compiled = compile(Arc::clone(forest), None, nests, &[OutputKind::Raw], &Budget::default());
    compiled.ok().filter(|_| in_order)
}

/// Margins of three rows as bytes: by the walker, and by the interpreter.
fn margins_of(forest: &Forest, compiled: &Compiled, text: &str) -> (Vec<u8>, Vec<u8>) {
    let types = forest.types;
    let bytes = |values: &[f64], float: Float| -> Vec<u8> {
        match float {
            Float::F32 => values.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
            Float::F64 => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        }
    };
    let rows = forests::rows_of(&mut Rng(forest.trees.len() as u64), forest, 3);
    let mut expected = vec![0.0; 3 * forest.num_margins];
    predict_margins(forest, &rows, &mut expected).expect("the walker takes the rows");
    let (input, expected) = (bytes(&rows, types.input), bytes(&expected, types.accumulator));
    let mut output = vec![0; expected.len()];
    let memory = CallMemory { rows: 3, input: &input, output: &mut output, tables: &compiled.lir.tables };
    let (_, kernel) = &compiled.lir.kernels[0];
    let fault = run(kernel, memory).err();
    assert!(fault.is_none(), "{text}: {fault:?}");
    (expected, output)
}

/// The legal candidates of a forest in the model's order, with their code.
fn compiled_candidates(forest: &Arc<Forest>) -> Vec<(String, Compiled)> {
    let takes_margins_in_turn = forest.takes_margins_in_turn();
    let info = Arc::new(ModelInfo { takes_margins_in_turn, ..forests::model_info(forest) });
    let bins = QuantizedRows { columns: info.num_features, in_bytes: true, search_steps: 0 };
    let texts: BTreeSet<String> = candidates(&info, &Layouts::of(&info, Some(&bins)))
        .iter()
        .map(|candidate| format!("target gpu\n{}", candidate.text()))
        .collect();
    let with_code = |text: String| {
        let compiled = compiled(forest, &info, &text)?;
        Some((text, compiled))
    };
    texts.into_iter().filter_map(with_code).collect()
}

/// No thread of a kernel for margins has more values than registers. Needs NVIDIA's assembler.
#[test]
fn candidates_assemble_without_spills() {
    let Some(ptxas) = Ptxas::find() else {
        println!("left out: ptxas is not in the search path, and PTXAS names none");
        return;
    };
    let seeds: Vec<u64> = (0..16).collect();
    let problems = in_parallel(&seeds, |seed| {
        let forest = Arc::new(forests::with_margins_in_turn(*seed, forests::forest(&mut Rng(*seed))));
        let gpu: Gpu = if seed % 2 == 0 { "sm_80" } else { "sm_90" }.parse().expect("a GPU");
        let mut problems = Vec::new();
        for (text, compiled) in compiled_candidates(&forest) {
            let ptx = ptx_text(&compiled.lir, gpu).expect("PTX");
            let cubin = ptxas.assemble(&ptx, gpu).expect("the assembler takes it");
            let most = 0;
            let spills =
                |kernel: &&KernelResources| kernel.spill_store_bytes.max(kernel.spill_load_bytes) > most;
            problems.extend(cubin.kernels.iter().filter(spills).map(|kernel| format!("{text}{kernel:?}")));
        }
        problems
    });
    assert!(problems.concat().is_empty(), "{}", problems.concat().join("\n"));
}

/// Every candidate in the model's order, and not the chosen ones alone, has the walker's bits.
#[test]
fn candidates_predict_what_the_walker_predicts() {
    let seeds: Vec<u64> = (0..24).collect();
    let compared = in_parallel(&seeds, |seed| {
        let forest = Arc::new(forests::with_margins_in_turn(*seed, forests::forest(&mut Rng(*seed))));
        let all = compiled_candidates(&forest);
        for (text, compiled) in &all {
            let (expected, found) = margins_of(&forest, compiled, text);
            assert_eq!(expected, found, "forest {seed}\n{text}");
        }
        all.len()
    });
    assert!(compared.iter().sum::<usize>() > 300, "{compared:?}");
}
