//! Ends of loops: those outside of tiles that are larger than their loop, and those over all rows of a small
//! call in a stage.

use crate::cases::nests;
use sched_forest::Forest;
use sched_ir::interp::{CallMemory, run};
use sched_ir::lir::OutputKind;
use sched_ir::{Budget, Compiled, KernelForests, compile};
use sched_nest::{ModelInfo, StageInfo};
use sched_testing::Rng;
use sched_testing::{computed, forests};

/// A tile of far more rows or trees than any call or forest has.
const FAR: &str = "200000000";

/// Rows of a call.
const ROWS: usize = 16;

/// A random forest, which may test computed columns, with rows and its properties for the checker.
fn forest(seed: u64) -> (Forest, Vec<f64>, ModelInfo) {
    let mut rng = Rng(seed);
    let forest = computed::with_computed_columns(seed, forests::forest(&mut rng));
    let rows = forests::rows_of(&mut rng, &forest, ROWS);
    let kernel_forests = KernelForests::from(forest.clone());
    let stages = StageInfo::of_model(kernel_forests.column_stages(), ("", forest.trees.len() as u32));
    let info = ModelInfo { stages, ..forests::model_info(&forest) };
    (forest, rows, info)
}

fn compiled(seed: u64, schedule: &str) -> Compiled {
    let (forest, _, info) = forest(seed);
    compile(forest, None, nests(schedule, info), &[OutputKind::Raw], &Budget::default()).unwrap()
}

/// The margins of the rows under a schedule.
fn margins(seed: u64, schedule: &str) -> Vec<u8> {
    let (forest, rows, _) = forest(seed);
    let compiled = compiled(seed, schedule);
    let input: Vec<u8> = match forest.types.input.bytes() {
        4 => rows.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
        _ => rows.iter().flat_map(|x| x.to_le_bytes()).collect(),
    };
    let mut output = vec![0; ROWS * forest.num_margins * forest.types.accumulator.bytes()];
    let tables = &compiled.lir.tables;
    let memory = CallMemory { rows: ROWS as i64, input: &input, output: &mut output, tables };
    run(&compiled.lir.kernels[0].1, memory).unwrap();
    output
}

#[test]
fn loops_outside_of_far_tiles_end_with_the_tiled_loop() {
    let plain = margins(3, "");
    for (axis, end) in [("tree", "4"), ("batch", "n_rows")] {
        let tiles = format!("tile({axis}, a, b, {FAR})\ntile(b, c, d, 40000)\ntile(d, e, f, 4)\n");
        let mir = compiled(3, &tiles).variants.rest().mir.to_string();
        for line in [
            format!("for c in 0..min({FAR}, {end} - a) step 40000 {{"),
            format!("for e in 0..min(40000, {end} - a - c) step 4 {{"),
        ] {
            assert!(mir.contains(&line), "{line}\n{mir}");
        }
        assert_eq!(margins(3, &tiles), plain, "{tiles}\n{mir}");
    }
}

#[test]
fn loops_outside_of_near_tiles_have_constant_ends() {
    let mir = compiled(3, "tile(batch, a, b, 64)\ntile(b, c, d, 4)\n").variants.rest().mir.to_string();
    assert!(mir.contains("for c in 0..64 step 4 {"), "{mir}");
}

#[test]
fn all_rows_of_a_small_call_are_a_block_of_a_stage() {
    let has_layer = |seed: &u64| forest(*seed).2.stages.iter().any(|stage| stage.name == "layer1");
    let mut seen = 0;
    for seed in (0..400).filter(has_layer).take(8) {
        let small = "when n_rows <= 16 {\n  reorder(layer1.unit, layer1.batch)\n}\n";
        let compiled = compiled(seed, small);
        let stages = compiled.variants.for_rows(ROWS);
        let layer = stages.plan.column_stages.iter().find(|stage| stage.info.name == "layer1").unwrap();
        assert_eq!(layer.arrangement.as_ref().map(|loops| loops.rows), Some(16), "{}", stages.plan);
        assert_eq!(margins(seed, small), margins(seed, ""), "seed {seed}");
        seen += 1;
    }
    assert!(seen > 2, "{seen} models with layers");
}
