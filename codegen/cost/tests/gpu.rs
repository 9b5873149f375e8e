//! Costs of calls on a GPU: a few simulated blocks stand for all.

use sched_cost::{GpuCall, GpuCost, GpuMachine, cost_on};
use sched_forest::Forest;
use sched_ir::interp::{Memory, Options, count_launches};
use sched_ir::lir::KernelKind;
use sched_ir::{Budget, Compiled, compile};
use sched_lang::{Supported, check};
use sched_testing::shapes;
use std::sync::Arc;

const FEATURES: usize = 8;
const ROWS: &str = "tile(batch, b0, b1, 64)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";

fn compiled(forest: &Forest, schedule: &str) -> Compiled {
    let options = sched_lang::Options {
        model: Some(Arc::new(sched_testing::forests::info(forest))),
        target: "gpu(sm_90)".parse().ok(),
        supported: Supported::Compilable,
        ..sched_lang::Options::default()
    };
    let nests = check(schedule, &options).nests.expect(schedule);
    compile(forest.clone(), None, nests, &[KernelKind::Raw], &Budget::default()).expect(schedule)
}

/// Rows that take different paths.
fn sample() -> Vec<u8> {
    let value = |n: usize| ((n * 7919) % 1000) as f32 / 1000.0;
    (0..256 * FEATURES).flat_map(|n| value(n).to_le_bytes()).collect()
}

fn cost(forest: &Forest, schedule: &str, rows: u64) -> GpuCost {
    let (gpu, sample) = (GpuMachine::named("sm_90").expect("it is known"), sample());
    let steps = forest.trees.len() as u64 * 6;
    let call = GpuCall { rows, sample: &sample, row_bytes: 4 * FEATURES, margins: 1, steps, together: 1 };
    cost_on(&gpu, &compiled(forest, schedule).lir, &call).expect(schedule)
}

#[test]
fn counts_of_a_few_blocks_scale_to_all() {
    let forest = shapes::complete(12, 4, FEATURES as u32);
    let schedule = format!("{ROWS}cache(b0)\n");
    let rows = 512;
    let compiled = compiled(&forest, &schedule);
    let (_, function) = &compiled.lir.kernels[0];
    let input: Vec<u8> = sample().into_iter().cycle().take(rows * 4 * FEATURES).collect();
    let mut output = vec![0; 4 * rows];
    let memory =
        Memory { rows: rows as i64, input: &input, output: &mut output, tables: &compiled.lir.tables };
    let launches = count_launches(function, memory, &Options::default(), 32).expect("it runs");
    let counted = |shared| {
        let all = launches.iter().flat_map(|one| &one.accesses).filter(|one| one.shared == shared);
        all.map(|one| one.pieces).sum::<u64>() as f64
    };
    let cost = cost(&forest, &schedule, rows as u64);
    let near = |predicted: f64, counted: f64| (0.9..1.1).contains(&(predicted / counted));
    let wavefronts: f64 = cost.launches.iter().map(|one| one.wavefronts).sum();
    let sectors: f64 = cost.launches.iter().map(|one| one.sectors).sum();
    assert!(near(wavefronts, counted(true)), "{wavefronts} {}", counted(true));
    assert!(near(sectors, counted(false)), "{sectors} {}", counted(false));
}

#[test]
fn more_work_costs_more() {
    let (few, many) = (shapes::complete(20, 6, FEATURES as u32), shapes::complete(80, 6, FEATURES as u32));
    let us = |forest, rows| cost(forest, ROWS, rows).us;
    // Calls that do not fill the device take as long as one block; larger ones take longer.
    assert!(us(&few, 64) <= us(&few, 1024) && us(&few, 1024) < 2.0 * us(&few, 64));
    assert!(us(&few, 1 << 20) > 5.0 * us(&few, 1 << 14));
    assert!(us(&many, 1 << 18) > 2.0 * us(&few, 1 << 18));
}

#[test]
fn small_calls_are_faster_with_trees_in_threads() {
    let forest = shapes::complete(64, 6, FEATURES as u32);
    let trees =
        "gpuDimension(batch, grid.x)\ngpuDimension(tree, block.x)\ncache(batch)\nsharedReduce(tree)\n";
    let [by_tree, by_row] = [trees, ROWS].map(|schedule| cost(&forest, schedule, 16).us);
    assert!(by_tree < by_row, "{by_tree} {by_row}");
    let [by_tree, by_row] = [trees, ROWS].map(|schedule| cost(&forest, schedule, 1 << 18).us);
    assert!(by_row < by_tree, "{by_row} {by_tree}");
}

#[test]
fn interleaved_walks_hide_latency() {
    let forest = shapes::complete(64, 6, FEATURES as u32);
    let alone = format!("{ROWS}unrollWalk(tree, 6)\n");
    let together = format!("{ROWS}interleave(tree, 4)\nunrollWalk(tree, 6)\n");
    let [alone, together] = [alone, together].map(|schedule| cost(&forest, &schedule, 64).us);
    assert!(together < alone, "{together} {alone}");
}
