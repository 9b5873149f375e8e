//! Comparisons of costs whose order is known: more work costs more, and work that overlaps with other work
//! costs less.

use sched_cost::{Cost, KernelCall, Level, Limit, Machine, ModelShape, OriginCycles, breakdown, cost};
use sched_forest::Forest;
use sched_ir::lir::{OutputKind, Task, WalkSteps};
use sched_ir::{Budget, Compiled, compile};
use sched_lang::{CheckOptions, check};
use sched_testing::shapes;
use std::sync::Arc;

const BLOCKS: &str = "tile(batch, b0, b1, 256)\nreorder(b0, tree, b1)\ncache(b0)\n";

fn compiled(forest: &Forest, schedule: &str) -> Compiled {
    let options = CheckOptions {
        model: Some(Arc::new(sched_testing::forests::model_info(forest))),
        ..CheckOptions::default()
    };
    let nests = check(schedule, &options).nests.expect(schedule);
    compile(forest.clone(), None, nests, &[OutputKind::Raw], &Budget::default()).expect(schedule)
}

fn cost_of(forest: &Forest, schedule: &str, rows: usize) -> Cost {
    let (machine, shape) = (Machine::like("znver4", Level::Vbmi), ModelShape::of(forest));
    let call = KernelCall { rows, threads: 1, column_major: false, shape: &shape };
    cost(&compiled(forest, schedule).lir, &machine, call).expect("there is a kernel")
}

fn cycles(forest: &Forest, schedule: &str, rows: usize) -> f64 {
    cost_of(forest, schedule, rows).cycles
}

#[test]
fn more_rows_and_more_trees_cost_more() {
    let (few, many) = (shapes::complete(50, 6, 20), shapes::complete(100, 6, 20));
    for schedule in ["", &format!("{BLOCKS}representation(quantized)\nvectorize(b1, 64)\n")] {
        let rows = |rows| cycles(&few, schedule, rows);
        assert!(rows(1024) > 3.0 * rows(256) && rows(1024) < 5.0 * rows(256), "{schedule}");
        let ratio = cycles(&many, schedule, 1024) / cycles(&few, schedule, 1024);
        assert!((1.5..2.5).contains(&ratio), "{schedule}: {ratio}");
    }
}

#[test]
fn a_partial_vector_costs_as_much_as_a_full_one() {
    let forest = shapes::complete(100, 6, 20);
    let schedule = format!("{BLOCKS}representation(quantized)\nvectorize(b1, 64)\n");
    let (one, full) = (cycles(&forest, &schedule, 1), cycles(&forest, &schedule, 64));
    assert!(full < 1.3 * one && one < 1.3 * full, "{one} {full}");
    assert!(cycles(&forest, &schedule, 65) > 1.4 * full);
}

#[test]
fn interleaved_walks_hide_latency() {
    let forest = shapes::complete(100, 8, 20);
    let alone = format!("{BLOCKS}unrollWalk(b1, 8)\n");
    let (one, eight) =
        (cycles(&forest, &alone, 256), cycles(&forest, &format!("{alone}interleave(b1, 8)\n"), 256));
    assert!(eight < 0.8 * one, "{eight} {one}");
}

#[test]
fn tables_beyond_the_near_caches_cost_more() {
    let schedule = "reorder(batch, tree)\nunrollWalk(tree, 10)\n";
    let per_walk = |trees: u32| cycles(&shapes::complete(trees, 10, 20), schedule, 64) / f64::from(trees);
    assert!(per_walk(2000) > 1.5 * per_walk(4), "{} {}", per_walk(2000), per_walk(4));
}

#[test]
fn wide_rows_cost_cache_lines() {
    let forest = shapes::complete(200, 6, 2000);
    let read = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nrepresentation(levels)\nvectorize(b1, 16)\n";
    let lines = |schedule: &str| cost_of(&forest, schedule, 64).work.unit(sched_cost::CoreUnit::Lines);
    assert!(lines(read) > 0.0);
}

#[test]
fn code_with_more_work_costs_more() {
    let (shallow, deep) = (shapes::complete(100, 4, 20), shapes::complete(100, 8, 20));
    let vectors = |layout, lanes| format!("{BLOCKS}representation({layout})\nvectorize(b1, {lanes})\n");
    let together = format!("{BLOCKS}representation(sparse)\ninterleave(b1, 4)\n");
    let alone = format!("{BLOCKS}representation(sparse)\n");
    // Deeper trees, walks without interleaving and narrow vectors cost more.
    for layout in ["sparse", "levels", "quantized", "preorder"] {
        let cost = |forest| cycles(forest, &vectors(layout, 16), 256);
        assert!(cost(&shallow) < cost(&deep), "{layout}");
    }
    assert!(cycles(&deep, &together, 256) < cycles(&deep, &alone, 256));
    assert!(cycles(&deep, &vectors("quantized", 64), 256) < cycles(&deep, &vectors("quantized", 16), 256));
}

#[test]
fn the_cycles_of_all_loops_add_up_to_the_call() {
    let forest = shapes::complete(100, 6, 20);
    let quantized = format!("{BLOCKS}representation(quantized)\nvectorize(b1, 64)\n");
    let together = format!("{quantized}interleave(b1, 2)\nunrollAndJam(tree)\n");
    for schedule in ["", BLOCKS, &quantized, &together, "parallel(batch)\nunroll(tree)\n"] {
        for rows in [1, 64, 1000] {
            let (machine, shape) = (Machine::like("znver4", Level::Vbmi), ModelShape::of(&forest));
            let call = KernelCall { rows, threads: 1, column_major: false, shape: &shape };
            let code = compiled(&forest, schedule).lir;
            let found = breakdown(&code, &machine, call).expect("there is a kernel");
            let alone = cost(&code, &machine, call).map_or(0.0, |cost| cost.cycles);
            assert!((found.cost.cycles / alone - 1.0).abs() < 1e-9, "{schedule}: {alone}");
            let sum: f64 = found.by_origin.iter().map(OriginCycles::cycles).sum();
            let off = (sum / found.cost.cycles - 1.0).abs();
            assert!(off < 1e-6, "{schedule}: {sum} of {}", found.cost.cycles);
        }
    }
}

fn largest(forest: &Forest, schedule: &str, rows: usize) -> (String, Task, Limit) {
    let (machine, shape) = (Machine::like("znver4", Level::Vbmi), ModelShape::of(forest));
    let call = KernelCall { rows, threads: 1, column_major: false, shape: &shape };
    let found = breakdown(&compiled(forest, schedule).lir, &machine, call).expect("there is a kernel");
    let most = found.by_origin.iter().max_by(|one, two| one.cycles().total_cmp(&two.cycles()));
    let most = most.expect("some loop takes time");
    (most.origin.name.clone(), most.origin.task, most.limits[0].0)
}

#[test]
fn loops_are_limited_by_latency_or_by_a_resource() {
    let forest = shapes::complete(100, 8, 20);
    let alone = largest(&forest, "unrollWalk(tree, 8)\n", 256);
    assert_eq!(alone, ("tree".to_string(), Task::Iterations, Limit::Latency));
    let quantized = format!("{BLOCKS}representation(quantized)\nvectorize(b1, 64)\ninterleave(b1, 2)\n");
    let (name, task, limit) = largest(&forest, &quantized, 256);
    assert_eq!((&*name, task), ("b1", Task::Iterations));
    assert!(matches!(limit, Limit::Lookups | Limit::Arithmetic), "{limit:?}");
    // With few trees of many features, quantizing takes longer than the walks.
    let (name, task, _) = largest(&shapes::complete(2, 3, 300), &quantized, 256);
    assert_eq!((&*name, task), ("b0", Task::Copies));
    let large = largest(&shapes::complete(2000, 10, 20), "reorder(batch, tree)\nunrollWalk(tree, 10)\n", 64);
    assert!(matches!(large.2, Limit::Lines(_)), "{large:?}");
}

#[test]
fn expected_steps_follow_from_the_depths_of_leaves() {
    let steps = |forest: &Forest, walks: f64, steps_before: u32, levels_per_step: u32| {
        ModelShape::of(forest).steps(walks, WalkSteps { steps_before, levels_per_step })
    };
    let complete = shapes::complete(3, 6, 5);
    for walks in [1.0, 64.0] {
        let found = steps(&complete, walks, 0, 1);
        assert!((found.steps - 6.0).abs() < 1e-9 && found.misprediction < 1e-9, "{found:?}");
        assert!((steps(&complete, walks, 2, 1).steps - 4.0).abs() < 1e-9);
        assert!((steps(&complete, walks, 0, 3).steps - 2.0).abs() < 1e-9);
    }
    // At each node of a chain, half of the rows reach a leaf. A single row takes two steps on average, the
    // slowest of many rows takes more.
    let chain = shapes::chains(3, 12, 5);
    let (one, many) = (steps(&chain, 1.0, 0, 1), steps(&chain, 64.0, 0, 1));
    assert!((one.steps - 2.0).abs() < 0.01 && one.misprediction > 0.4, "{one:?}");
    assert!(many.steps > 5.0 && many.steps < 12.0, "{many:?}");
}

#[test]
fn code_grows_with_the_interleaved_vectors() {
    let machine = Machine::like("znver4", Level::Vbmi);
    let fits = |depth, together: u32, machine: &Machine| {
        let schedule = format!(
            "tile(batch, b0, b1, 1024)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation(quantized)\n\
             vectorize(b1, 64)\ninterleave(b1, {together})\n"
        );
        let code = compiled(&shapes::complete(20, depth, 60), &schedule).lir;
        code.kernels.iter().all(|(_, kernel)| sched_cost::fits_code_cache(kernel, machine))
    };
    // Short walks fit the instruction cache; sixteen vectors of long ones do not.
    assert!(fits(4, 8, &machine) && !fits(8, 16, &machine));
    // A cache of half the size has room for half the vectors.
    let least = |together| {
        (1..64)
            .map(|kibi| f64::from(kibi) * 1024.0)
            .find(|bytes| fits(8, together, &Machine { code_cache_bytes: *bytes, ..machine.clone() }))
    };
    let (Some(four), Some(eight)) = (least(4), least(8)) else { panic!("code of any length fits") };
    assert!((1.7..2.3).contains(&(eight / four)), "{four} {eight}");
}
