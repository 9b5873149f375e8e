//! GPU schedules in the interpreter: their margins equal the reference walker's, bit for bit.

use sched_forest::{
    Float, Forest, ForestParts, Inner, Leaf, NodeRef, Predicate, Tree, TreeTarget, predict_margins,
};
use sched_ir::fault::{Fault, with_fault};
use sched_ir::interp::{self, AccessCost, CallMemory, LaunchCost, count_launches, run};
use sched_ir::lir::{KernelKind, OutputKind, Stmt};
use sched_ir::lower::is_by_margin;
use sched_ir::{Budget, Compiled, compile};
use sched_lang::diagnostics::Diagnostic;
use sched_lang::{CheckOptions, CheckPurpose, Target, check};
use sched_llvm::{Gpu, ptx_text};
use sched_nest::{Accumulation, Layout, ModelInfo, Nest, Nodes, Shapes, Variants};
use sched_testing::schedules::Rng;
use sched_testing::{forests, seeds, wide};

/// Blocks of threads with one row each, and all trees in each thread: Tahoe's direct strategy.
const DIRECT: &str = "tile(batch, b0, b1, 4)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";

/// The example schedules for GPUs.
fn examples() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gpu");
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    let texts: Vec<String> = files.map(|file| std::fs::read_to_string(file).expect("text")).collect();
    assert!(texts.len() >= 6, "only {} examples were found", texts.len());
    texts
}

/// Schedules of every kind for which there is code on GPUs.
fn schedules() -> Vec<String> {
    let mut all = kinds();
    all.extend(examples());
    all
}

/// A schedule with `rows` rows for a block and four for each thread.
fn four_rows(rows: u32, more: &str) -> String {
    format!(
        "tile(batch, b0, r, {rows})\ntile(r, b1, b2, 4)\nreorder(b0, b1, tree, b2)\ncache(b0)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\nrepresentation(quantized)\n{more}\n"
    )
}

/// A schedule with one tree for each thread, and a group of trees for each block.
fn groups_of_trees(trees: u32, threads: &str) -> String {
    format!(
        "tile(batch, b0, b1, 4)\ntile(tree, t0, t1, {trees})\nreorder(b0, t0, {threads})\n\
         gpuDimension(b0, grid.x)\n\
         gpuDimension(t0, grid.y)\ngpuDimension(b1, block.x)\ngpuDimension(t1, block.y)\n"
    )
}

fn kinds() -> Vec<String> {
    let with = |more: &str| format!("{DIRECT}{more}\n");
    vec![
        with(""),
        with("representation(sparse)"),
        with("representation(levels)"),
        with("interleave(tree, 3)"),
        with("tile(tree, t0, t1, 2)\nunrollWalk(t1, 2)"),
        with("split(tree, ta, tb, 1)\ninterleave(tb, 2)"),
        // The rows of a block in shared memory.
        with("cache(b0)"),
        with("cache(b0)\ninterleave(tree, 2)\nrepresentation(sparse)"),
        "tile(batch, b0, rest, 6)\ntile(rest, b1, b2, 2)\nreorder(b0, b1, tree, b2)\ncache(b0)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n"
            .to_string(),
        "tile(batch, b0, b1, 48)\ncache(b0)\nrepresentation(sparse)\ngpuDimension(b0, grid.x)\n\
         gpuDimension(b1, block.x)\n"
            .to_string(),
        // The bins of the rows of a block in shared memory.
        with("cache(b0)\nrepresentation(quantized)"),
        with("cache(b0)\nrepresentation(quantized)\ninterleave(tree, 2)"),
        with("cache(b0)\nrepresentation(preorder)"),
        // Complete levels in front of existing nodes.
        with("cache(b0)\nrepresentation(hybrid)"),
        with("cache(b0)\nrepresentation(hybrid)\ninterleave(tree, 2)"),
        with("cache(b0)\nrepresentation(hybrid)\nunrollWalk(tree, 4)"),
        four_rows(8, "vectorize(b2, 4)").replace("quantized", "hybrid"),
        // Rows spread over the banks of shared memory.
        "tile(batch, b0, b1, 48)\ncache(b0)\nrepresentation(quantized)\ngpuDimension(b0, grid.x)\n\
         gpuDimension(b1, block.x)\n"
            .to_string(),
        // Adjacent nodes of neighbouring trees, for neighbouring threads.
        with("representation(reorg)"),
        with("cache(b0)\nrepresentation(reorg)\ninterleave(tree, 2)"),
        // Four rows of a thread, and eight, in the bytes of a word.
        four_rows(16, "vectorize(b2, 4)"),
        four_rows(16, "vectorize(b2, 4)\nspeculateWalk(b2, 1)"),
        four_rows(8, "vectorize(b2, 4)\ninterleave(b2, 2)\nspeculateWalk(b2, 5)"),
        // Rows that share no words because they are not adjacent, and too few rows to fill a word.
        "tile(batch, b0, r, 16)\ntile(r, b1, s, 8)\ntile(s, b2, b3, 2)\nreorder(b0, b1, b3, tree, b2)\n\
         cache(b0)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\nrepresentation(quantized)\nvectorize(b2, 4)\n"
            .to_string(),
        "tile(batch, b0, r, 12)\ntile(r, b1, b2, 6)\nreorder(b0, b1, tree, b2)\ncache(b0)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\nrepresentation(quantized)\nvectorize(b2, 4)\n"
            .to_string(),
        // Two rows for each thread, tree by tree.
        "tile(batch, b0, rest, 6)\ntile(rest, b1, b2, 2)\nreorder(b0, b1, tree, b2)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ninterleave(b2, 2)\n"
            .to_string(),
        // Two dimensions of threads and of blocks, with partial tiles in both.
        "tile(batch, g0, a, 12)\ntile(a, g1, b, 6)\ntile(b, x, y, 2)\n\
         gpuDimension(g0, grid.y)\ngpuDimension(g1, grid.x)\ngpuDimension(x, block.y)\n\
         gpuDimension(y, block.x)\n"
            .to_string(),
        // Trees in blocks and threads, whose sums the last block folds.
        "tile(batch, b0, b1, 4)\ntile(tree, t0, t1, 2)\nreorder(b0, t0, b1, t1)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(t0, grid.y)\ngpuDimension(b1, block.x)\n"
            .to_string(),
        "gpuDimension(batch, grid.x)\ntile(tree, t0, t1, 3)\ngpuDimension(t0, block.x)\n".to_string(),
        "gpuDimension(batch, grid.x)\ncache(batch)\ntile(tree, t0, t1, 4)\ntile(t1, t2, t3, 2)\n\
         gpuDimension(t0, grid.y)\ngpuDimension(t2, block.y)\n"
            .to_string(),
        "tile(batch, b0, b1, 3)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.y)\ntile(tree, t0, t1, 2)\n\
         gpuDimension(t0, block.x)\natomicReduce(t0)\n"
            .to_string(),
        groups_of_trees(3, "b1, t1"),
        groups_of_trees(2, "t1, b1"),
        groups_of_trees(5, "b1, t1") + "cache(b0)\nrepresentation(quantized)\n",
        // Two runs of trees, one of which is divided among threads of a dimension that the other run does not
        // use.
        "tile(batch, b0, b1, 4)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n\
         split(tree, ta, tb, 1)\ntile(tb, t0, t1, 2)\ngpuDimension(t0, block.y)\n"
            .to_string(),
        // Rows of a thread that are not adjacent, and tiles with fewer rows than threads.
        "tile(batch, b0, b1, 3)\nreorder(b1, b0, tree)\ntile(b1, g, s, 1)\n\
         gpuDimension(g, grid.x)\n"
            .to_string(),
        "tile(batch, b0, rest, 7)\ntile(rest, b1, b2, 4)\nreorder(b0, b1, tree, b2)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n"
            .to_string(),
        // Sums of trees in threads that the threads of the block fold. They are alone, with rows in another
        // dimension, with several rows for each thread, inside a loop over trees, and with groups of trees in
        // the grid.
        "gpuDimension(batch, grid.x)\ncache(batch)\ntile(tree, t0, t1, 3)\ngpuDimension(t0, block.x)\n\
         sharedReduce(t0)\n"
            .to_string(),
        "gpuDimension(batch, grid.x)\ngpuDimension(tree, block.x)\nsharedReduce(tree)\n".to_string(),
        "tile(batch, b0, b1, 4)\ntile(tree, t0, t1, 2)\nreorder(b0, b1, t0, t1)\ncache(b0)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ngpuDimension(t0, block.y)\nsharedReduce(t0)\n"
            .to_string(),
        "tile(batch, b0, rest, 6)\ntile(rest, b1, b2, 2)\ntile(tree, t0, t1, 2)\n\
         reorder(b0, b1, t0, t1, b2)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ngpuDimension(t0, block.y)\nsharedReduce(t0)\n"
            .to_string(),
        "tile(batch, b0, b1, 4)\ntile(tree, t0, t1, 2)\nreorder(b0, t0, t1, b1)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.y)\ngpuDimension(t1, block.x)\nsharedReduce(t1)\n"
            .to_string(),
        "tile(batch, b0, b1, 4)\ntile(tree, g, rest, 5)\ntile(rest, t0, t1, 2)\nreorder(b0, g, t0, b1, t1)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(g, grid.y)\ngpuDimension(b1, block.x)\n\
         gpuDimension(t0, block.y)\nsharedReduce(t0)\n"
            .to_string(),
        "tile(batch, b0, b1, 4)\ntile(tree, t0, rest, 4)\ntile(rest, t1, t2, 2)\n\
         reorder(b0, t0, t1, t2, b1)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(t0, block.y)\ngpuDimension(t1, block.x)\nsharedReduce(t0)\n\
         atomicReduce(t1)\n"
            .to_string(),
        // Trees in shared memory, in all layouts: all trees once for each block, or in pieces, in loops
        // around the threads and inside them. Some with partial tiles of rows, several rows for each thread,
        // or cached rows.
        "tile(batch, b0, b1, 4)\nreorder(b0, tree, b1)\ntile(tree, t0, t1, 100)\nreorder(b0, t0, b1, t1)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ncache(t0)\n"
            .to_string(),
        with("tile(tree, t0, t1, 2)\ncache(t0)"),
        with("tile(tree, t0, t1, 2)\ncache(t0)\nrepresentation(sparse)\nunroll(t0)"),
        with("tile(tree, t0, t1, 2)\ncache(t0)\nrepresentation(levels)\ncache(b0)"),
        with("tile(tree, t0, t1, 2)\ncache(t0)\nrepresentation(reorg)"),
        with("tile(tree, t0, t1, 3)\ncache(t0)\nrepresentation(reorg)\ncache(b0)\ninterleave(t1, 2)"),
        with("tile(tree, t0, t1, 2)\ncache(t0)\nrepresentation(quantized)\ncache(b0)"),
        with("tile(tree, t0, t1, 2)\ncache(t0)\nrepresentation(preorder)\ncache(b0)"),
        with("tile(tree, t0, t1, 2)\ncache(t0)\nrepresentation(hybrid)\ncache(b0)"),
        with("cache(tree)\ninterleave(tree, 2)"),
        with("tileTrees(3)\nrepresentation(sparse)\ntile(tree, t0, t1, 2)\ncache(t0)"),
        with("split(tree, ta, tb, 1)\ncache(tb)"),
        with("tile(tree, t0, t1, 2)\nspecialize(t0)\ncache(t1)"),
        // Threads of a block that take different cases, each with its trees in shared memory.
        with("tile(tree, t0, t1, 2)\nspecialize(b1)\ncache(t0)"),
        "tile(batch, b0, b1, 3)\ntile(tree, t0, t1, max(1, num_trees / 2))\ntile(t1, t2, t3, 2)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ngpuDimension(t0, block.y)\nspecialize(t0)\n\
         cache(t2)\n"
            .to_string(),
        "tile(batch, b0, rest, 7)\ntile(rest, b1, b2, 4)\ntile(tree, t0, t1, 2)\n\
         reorder(b0, b1, t0, t1, b2)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ncache(t0)\ninterleave(b2, 4)\n"
            .to_string(),
        "tile(batch, b0, b1, 3)\ntile(tree, g, rest, 5)\ntile(rest, t0, t1, 2)\nreorder(b0, g, b1, t0, t1)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(g, grid.y)\ngpuDimension(b1, block.x)\ncache(t0)\n"
            .to_string(),
        // Pieces of the list of trees that threads of another dimension walk; some threads have a shorter
        // last piece.
        "tile(batch, b0, b1, 3)\ntile(tree, t0, rest, 5)\ntile(rest, t1, t2, 2)\n\
         reorder(b0, b1, t0, t1, t2)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ngpuDimension(t0, block.y)\ncache(t1)\n"
            .to_string(),
        "tile(batch, b0, b1, 3)\ntile(tree, t0, rest, 5)\ntile(rest, t1, t2, 2)\n\
         reorder(b0, b1, t0, t1, t2)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ngpuDimension(t0, block.y)\ncache(t1)\n\
         sharedReduce(t0)\n"
            .to_string(),
        // Threads of a dimension that other walks of the launch do not use.
        "tile(batch, b0, b1, 4)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n\
         split(tree, ta, tb, 1)\n\
         tile(tb, t0, t1, 2)\ngpuDimension(t0, block.y)\ncache(ta)\n"
            .to_string(),
        // Loops over threads that are leaf loops, interleaved ones, and ones inside serial loops over trees.
        "tile(batch, b0, b1, 4)\nreorder(b0, tree, b1)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n"
            .to_string(),
        "tile(batch, b0, b1, 7)\nreorder(b0, tree, b1)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n\
         interleave(b1, 2)\ncache(tree)\n"
            .to_string(),
        "gpuDimension(batch, grid.x)\ngpuDimension(tree, block.x)\ninterleave(tree, 2)\nsharedReduce(tree)\n"
            .to_string(),
        // Threads with different code, alone and around one barrier for all.
        with("tile(tree, t0, t1, 2)\ngpuDimension(t0, block.y)\nspecialize(t0)\ninterleave(t1, 2)"),
        with("tile(tree, t0, t1, 2)\ngpuDimension(t0, block.y)\nspecialize(t0)\nsharedReduce(t0)\ncache(b0)"),
        // A loop that ends earlier for some threads, with a barrier in it.
        with("tile(tree, t0, t1, 2)\nreorder(t1, t0)\ngpuDimension(t1, block.y)\ncache(t0)"),
        with("tile(tree, t0, t1, 3)\nreorder(t1, t0)\ngpuDimension(t1, block.y)\ncache(t0)\nunroll(t0)\n\
              sharedReduce(t1)"),
        // A loop of the host around the launch: trees in pieces, whose sums are added up in the output.
        "tile(tree, t0, t1, 2)\ntile(batch, b0, b1, 4)\nreorder(t0, b0, b1, t1)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n"
            .to_string(),
        // Two launches, of blocks of different sizes.
        "split(batch, ba, bb, 6)\ntile(ba, a0, a1, 2)\ntile(bb, c0, c1, 4)\n\
         gpuDimension(a0, grid.x)\ngpuDimension(a1, block.x)\n\
         gpuDimension(c0, grid.x)\ngpuDimension(c1, block.x)\n"
            .to_string(),
    ]
}

fn nest(forest: &Forest, schedule: &str) -> Option<Variants<Nest>> {
    let options = CheckOptions {
        model: Some(forests::model_info(forest).into()),
        purpose: CheckPurpose::Display,
        target: Some(Target::gpu()),
        ..CheckOptions::default()
    };
    check(schedule, &options).nests
}

fn compiled(forest: &Forest, schedule: &str) -> Option<Compiled> {
    let nest = nest(forest, schedule)?;
    let compiled =
        compile(forest.clone(), None, nest, &[OutputKind::Raw, OutputKind::Leaf], &Budget::default());
    Some(compiled.unwrap_or_else(|error| panic!("{schedule}: {error}")))
}

fn bytes(values: &[f64], float: Float) -> Vec<u8> {
    let each = |x: &f64| match float {
        Float::F32 => (*x as f32).to_le_bytes().to_vec(),
        Float::F64 => x.to_le_bytes().to_vec(),
    };
    values.iter().flat_map(each).collect()
}

/// Margins of rows by the interpreter, as bytes.
fn margins(compiled: &Compiled, forest: &Forest, rows: &[f64]) -> Vec<u8> {
    simulated(compiled, forest, rows).unwrap_or_else(|fault| panic!("{fault}\n{}", compiled.lir))
}

fn simulated(
    compiled: &Compiled,
    forest: &Forest,
    rows: &[f64],
) -> Result<Vec<u8>, interp::InterpreterError> {
    let (kind, kernel) = &compiled.lir.kernels[0];
    assert_eq!(*kind, KernelKind::RAW);
    let count = rows.len() / forest.num_features;
    let mut output = vec![0; count * forest.num_margins * forest.types.accumulator.bytes()];
    let input = bytes(rows, forest.types.input);
    let memory =
        CallMemory { rows: count as i64, input: &input, output: &mut output, tables: &compiled.lir.tables };
    run(kernel, memory)?;
    Ok(output)
}

/// Counts the accesses of a kernel for margins, for warps of 32 threads.
fn counted(compiled: &Compiled, forest: &Forest, rows: &[f64]) -> Vec<AccessCost> {
    launch_costs(compiled, forest, rows).into_iter().flat_map(|launch| launch.accesses).collect()
}

/// Counts the accesses of each launch of a kernel for margins, for warps of 32 threads.
fn launch_costs(compiled: &Compiled, forest: &Forest, rows: &[f64]) -> Vec<LaunchCost> {
    let (_, kernel) = &compiled.lir.kernels[0];
    let count = rows.len() / forest.num_features;
    let input = bytes(rows, forest.types.input);
    let mut output = vec![0; count * forest.num_margins * forest.types.accumulator.bytes()];
    let memory =
        CallMemory { rows: count as i64, input: &input, output: &mut output, tables: &compiled.lir.tables };
    count_launches(kernel, memory, &interp::InterpreterOptions::default(), 32).expect("the kernel runs")
}

/// Largest average number of wavefronts of an access.
fn dearest<'c>(costs: impl Iterator<Item = &'c AccessCost>) -> f64 {
    costs.map(|cost| cost.transfers as f64 / cost.warp_executions as f64).fold(0.0, f64::max)
}

/// Largest average number of wavefronts of a load of rows from shared memory.
fn dearest_shared_load(compiled: &Compiled, forest: &Forest, rows: &[f64]) -> f64 {
    let costs = counted(compiled, forest, rows);
    dearest(costs.iter().filter(|cost| cost.is_shared && cost.statement.contains("load")))
}

fn expected(forest: &Forest, rows: &[f64]) -> Vec<u8> {
    let count = rows.len() / forest.num_features * forest.num_margins;
    let mut out = vec![0.0f64; count];
    predict_margins(forest, rows, &mut out).expect("rows fit the forest");
    bytes(&out, forest.types.accumulator)
}

/// Whether margins are equal: bit for bit, or to the last digits if sums are added in another order.
fn agree(found: &[u8], expected: &[u8], forest: &Forest, exact: bool) -> bool {
    if exact {
        return found == expected;
    }
    let values = |bytes: &[u8]| -> Vec<f64> {
        match forest.types.accumulator {
            Float::F32 => {
                bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()).collect()
            }
            Float::F64 => {
                let of = |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
                bytes.chunks_exact(8).map(of).collect()
            }
        }
    };
    let leaves = forest.trees.iter().flat_map(|tree| &tree.leaves).flat_map(|leaf| leaf.values.iter());
    let largest = leaves.fold(1.0, |most: f64, value| most.max(value.abs()));
    let bound = 1e-6 * largest * forest.trees.len() as f64;
    let (found, expected) = (values(found), values(expected));
    found.len() == expected.len() && found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= bound)
}

#[test]
fn margins_are_those_of_the_walker() {
    let mut checked = vec![0; schedules().len()];
    for seed in seeds(60) {
        let mut rng = Rng(seed);
        let forest = wide::with_untested_features(seed, forests::forest(&mut rng));
        let all = forests::rows(&mut rng, &forest, 1);
        for (schedule, count) in schedules().iter().zip(&mut checked) {
            let Some(compiled) = compiled(&forest, schedule) else { continue };
            *count += 1;
            for rows in [0, 1, 3, 4, 13, all.len() / forest.num_features] {
                let rows = &all[..all.len().min(rows * forest.num_features)];
                let found = margins(&compiled, &forest, rows);
                let exact = compiled.variants.rest().hir.nest.accumulation == Accumulation::Exact;
                let agree = agree(&found, &expected(&forest, rows), &forest, exact);
                assert!(agree, "seed {seed}, {schedule}\n{}", compiled.lir);
            }
        }
    }
    assert!(checked.iter().all(|count| 3 * *count > 2 * seeds(60).count()), "{checked:?}");
}

/// The tests of levels and the leaves of oblivious trees are copied to shared memory. The cases are all
/// trees, pieces with a shorter last one, pieces that threads of another dimension walk, and the trees of
/// each case of a specialized loop.
#[test]
fn oblivious_trees_are_in_shared_memory() {
    let blocks = "tile(batch, b0, b1, 4)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ncache(b0)\n\
                  representation(oblivious)\n";
    let more = [
        "cache(tree)\n",
        "tile(tree, t0, t1, 2)\ncache(t0)\n",
        "tile(tree, t0, t1, 2)\ncache(t0)\ninterleave(t1, 2)\nspecialize(t0)\n",
        "tile(tree, t0, t1, 3)\ntile(t1, t2, t3, 2)\ngpuDimension(t0, block.y)\ncache(t2)\n",
        "tile(tree, t0, t1, 2)\ncache(t0)\nspecialize(b1)\n",
    ];
    for (seed, more) in (0..12).flat_map(|seed| more.map(|more| (seed, more))) {
        let forest = oblivious(seed);
        let schedule = format!("{blocks}{more}");
        let compiled = compiled(&forest, &schedule).expect("the schedule is legal");
        let text = compiled.lir.to_string();
        let has_tests = forest.trees.iter().any(|tree| !tree.inner.is_empty());
        assert!(text.contains("= load shared_oblivious_leaves["), "{schedule}\n{text}");
        assert!(!has_tests || text.contains("= load shared_oblivious_tests["), "{schedule}\n{text}");
        let rows = forests::rows_of(&mut Rng(seed), &forest, 13);
        let found = margins(&compiled, &forest, &rows);
        let exact = compiled.variants.rest().hir.nest.accumulation == Accumulation::Exact;
        let agree = agree(&found, &expected(&forest, &rows), &forest, exact);
        assert!(agree, "seed {seed}, {schedule}\n{}", compiled.lir);
    }
}

/// A random forest of oblivious trees.
fn oblivious(seed: u64) -> Forest {
    let forest = forests::forest(&mut Rng(seed));
    let draws = (0..).map(|draw| forests::with_oblivious_trees(&mut Rng(draw), forest.clone()));
    let mut oblivious = draws.filter(|forest| forest.trees.iter().all(Tree::is_oblivious));
    oblivious.next().expect("a draw")
}

/// If each slot gets one tree, sums equal the walker's bit for bit, also the signs of zeros. The cases are
/// processors, slots in device memory, and slots in shared memory.
#[test]
fn slots_of_one_tree_are_added_in_the_order_of_the_model() {
    let rows = "tile(batch, b0, b1, 4)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";
    let tiles = format!("{rows}tile(tree, t0, t1, 3)\n");
    let exact = [
        "parallel(tree)\n".to_string(),
        "parallel(tree)\nparallel(batch)\n".to_string(),
        "reorder(tree, batch)\nparallel(tree)\nvectorReduce(tree, 4)\n".to_string(),
        "tile(tree, t0, t1, 3)\nreorder(t0, t1, batch)\nparallel(t1)\n".to_string(),
        "split(tree, ta, tb, 1)\nparallel(tb)\n".to_string(),
        format!("{rows}gpuDimension(tree, block.y)\n"),
        format!("{rows}gpuDimension(tree, block.y)\nsharedReduce(tree)\n"),
        format!("{tiles}reorder(t0, b0, b1, t1)\ngpuDimension(t1, block.y)\n"),
        format!("{tiles}reorder(b0, t0, b1, t1)\ngpuDimension(t1, block.y)\nsharedReduce(t1)\n"),
        format!("{tiles}gpuDimension(t0, block.y)\ngpuDimension(t1, block.z)\nsharedReduce(t0)\n"),
        format!("{tiles}reorder(b0, t0, b1, t1)\ngpuDimension(t0, grid.y)\ngpuDimension(t1, block.y)\n"),
    ];
    let reassociated = [
        "parallel(tree)\ninterleave(tree, 2)\n".to_string(),
        "parallel(batch)\ntile(tree, t0, t1, 3)\nparallel(t1)\n".to_string(),
        "parallel(batch)\nsplit(tree, ta, tb, 1)\nparallel(ta)\n".to_string(),
        "tile(tree, t0, t1, 3)\nreorder(t0, t1, batch)\nparallel(t1)\nparallel(t0)\n".to_string(),
        "parallel(tree)\natomicReduce(tree)\n".to_string(),
        format!("{tiles}reorder(b0, t0, b1, t1)\ngpuDimension(t1, block.y)\n"),
        format!("{tiles}gpuDimension(t1, block.y)\nsharedReduce(t1)\n"),
        format!(
            "{tiles}reorder(b0, t0, b1, t1)\ngpuDimension(t0, grid.y)\ngpuDimension(t1, block.y)\n\
             sharedReduce(t1)\n"
        ),
    ];
    let all = exact.iter().map(|text| (text, true)).chain(reassociated.iter().map(|text| (text, false)));
    for (seed, (text, is_exact)) in (0..25).flat_map(|seed| all.clone().map(move |case| (seed, case))) {
        let mut rng = Rng(seed);
        let mut forest = forests::forest(&mut rng);
        if forest.trees.len() < 4 {
            continue;
        }
        if seed % 2 == 0 {
            // Sums of zeros, some of which have a sign.
            forest.base.fill(-0.0);
            let leaves = forest.trees.iter_mut().skip(1).flat_map(|tree| &mut tree.leaves);
            leaves.flat_map(|leaf| &mut leaf.values).for_each(|value| *value = -0.0);
        }
        let target = if text.contains("gpuDimension") { Target::gpu() } else { Target::cpu() };
        let options = CheckOptions {
            model: Some(forests::model_info(&forest).into()),
            purpose: CheckPurpose::Compile,
            target: Some(target),
            ..CheckOptions::default()
        };
        let nests = check(text, &options).nests.unwrap_or_else(|| panic!("seed {seed}: {text} is legal"));
        let found = nests.rest().accumulation == Accumulation::Exact;
        assert_eq!(found, is_exact, "seed {seed}, {text}");
        let rows = forests::rows(&mut rng, &forest, 1);
        let rows = &rows[..rows.len().min(7 * forest.num_features)];
        let compiled = compile(forest.clone(), None, nests, &[OutputKind::Raw], &Budget::default());
        let compiled = compiled.unwrap_or_else(|error| panic!("seed {seed}: {text}: {error}"));
        let agree = agree(&margins(&compiled, &forest, rows), &expected(&forest, rows), &forest, is_exact);
        assert!(agree, "seed {seed}, {text}\n{}", compiled.lir);
    }
}

/// A kernel that adds trees to the rows of its threads initialises the sums, and stores each once.
#[test]
fn sums_are_stored_once_and_no_launch_only_sets_base_values() {
    let tiles = "tile(tree, t0, t1, 2)\ngpuDimension(t0, block.y)\n";
    let cases = [
        (DIRECT.to_string(), 1, 1),
        (format!("{DIRECT}tile(tree, t0, t1, 2)\nunroll(t1)\n"), 1, 1),
        (format!("{DIRECT}split(tree, ta, tb, 1)\n"), 1, 1),
        (
            "tile(tree, t0, t1, 2)\ntile(batch, b0, b1, 4)\nreorder(t0, b0, b1, t1)\n\
          gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n"
                .to_string(),
            1,
            1,
        ),
        // Slots are not cleared, and the sums into which they fold are not initialised.
        (format!("{DIRECT}{tiles}"), 1, 2),
        (format!("{DIRECT}{tiles}sharedReduce(t0)\n"), 1, 1),
        // A slot for each tree, with fewer trees in the last group, and with rows innermost.
        (groups_of_trees(2, "b1, t1"), 1, 2),
        (groups_of_trees(3, "b1, t1"), 1, 2),
        (groups_of_trees(5, "t1, b1"), 1, 2),
        // Each thread of a block would fold 64 sums, which it stores to slots one by one.
        (
            "tile(batch, b0, r, 4096)\ntile(r, b1, b2, 64)\ntile(tree, t0, t1, 2)\n\
             reorder(b0, t0, b1, t1, b2)\ngpuDimension(b0, grid.x)\ngpuDimension(t0, grid.y)\n\
             gpuDimension(b1, block.x)\n"
                .to_string(),
            2,
            65,
        ),
        // One block would fold the sums of all rows, which a thread begins in its slot.
        ("reorder(tree, batch)\ngpuDimension(tree, grid.x)\n".to_string(), 2, 3),
    ];
    for (schedule, launches, stored) in cases {
        let compiled = compiled(&forests::forest(&mut Rng(1)), &schedule).expect("the schedule is legal");
        let kernel = &compiled.lir.kernels[0].1;
        let text = kernel.to_string();
        assert_eq!(text.matches("launch ").count(), launches, "{schedule}\n{text}");
        // One statement stores to the output, and one to the slots, apart from private and shared memory.
        let stores = text.lines().filter(|line| {
            let line = line.trim_start();
            line.starts_with("store result") || line.starts_with("store private[")
        });
        assert_eq!(stores.count(), stored, "{schedule}\n{text}");
    }
}

/// Each seeded fault causes a wrong margin, or an access that the interpreter reports.
#[test]
fn seeded_faults_are_seen() {
    let rows = format!("{DIRECT}cache(b0)");
    let trees = format!("{DIRECT}tile(tree, t0, t1, 2)\ncache(t0)");
    let packed = four_rows(8, "vectorize(b2, 4)");
    let hybrid = format!("{DIRECT}cache(b0)\nrepresentation(hybrid)");
    let groups = groups_of_trees(3, "b1, t1");
    for (fault, schedule) in [
        (Fault::SlotShared, &groups),
        (Fault::FoldForgetsSlot, &groups),
        (Fault::EmptySlotFolded, &groups),
        (Fault::FenceDropped, &groups),
        (Fault::TicketMiscounted, &groups),
        (Fault::CounterKept, &groups),
        (Fault::GuardDropped, &rows),
        (Fault::GuardDropped, &trees),
        (Fault::BarrierDropped, &rows),
        (Fault::BarrierDropped, &trees),
        (Fault::CopyStopsShort, &rows),
        (Fault::CopyStopsShort, &trees),
        (Fault::UntestedFeaturesCopied, &rows),
        (Fault::PairsSwapSides, &packed),
        (Fault::SubtreesShifted, &hybrid),
        (Fault::WordReversesRows, &packed),
        (Fault::RemainderDropped, &packed),
    ] {
        let sees = |seed: u64| {
            let mut rng = Rng(seed);
            let forest = forests::forest(&mut rng);
            let rows = forests::rows(&mut rng, &forest, 1);
            let rows = &rows[..rows.len().min(5 * forest.num_features)];
            let compiled = with_fault(fault, || compiled(&forest, schedule)).expect("the schedule is legal");
            simulated(&compiled, &forest, rows).ok() != Some(expected(&forest, rows))
        };
        assert!((0..20).any(sees), "{fault:?} is not seen in {schedule}");
    }
}

/// One function has variants for processors and for GPUs.
#[test]
fn variants_may_differ_in_where_they_run() {
    let on_cpu = "tile(batch, c0, c1, 4)\nreorder(c0, tree, c1)\n";
    let trees = format!("{DIRECT}tile(tree, t0, t1, 2)\ngpuDimension(t0, block.y)\n");
    let block = |text: &str| format!("when n_rows <= 3 {{\n{text}}}\n");
    let texts = [
        format!("{on_cpu}{}", block(DIRECT)),
        format!("{DIRECT}{}", block(on_cpu)),
        format!("{trees}{}", block(&trees)),
    ];
    for (text, seed) in texts.iter().flat_map(|text| (0..10).map(move |seed| (text, seed))) {
        let mut rng = Rng(seed);
        let forest = forests::forest(&mut rng);
        let all = forests::rows(&mut rng, &forest, 1);
        let compiled = compiled(&forest, text).expect("the schedule is legal");
        ptx_text(&compiled.lir, Gpu::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let exact = compiled.variants.iter().all(|(_, v)| v.hir.nest.accumulation == Accumulation::Exact);
        for rows in [1, 3, 4, 13] {
            let rows = &all[..all.len().min(rows * forest.num_features)];
            let found = margins(&compiled, &forest, rows);
            assert!(agree(&found, &expected(&forest, rows), &forest, exact), "seed {seed}, {text}");
        }
    }
}

/// Leaf indices equal those of a processor's code.
#[test]
fn leaves_are_those_of_processors() {
    let leaves = |compiled: &Compiled, forest: &Forest, rows: &[f64]| {
        let (kind, kernel) = &compiled.lir.kernels[1];
        assert_eq!(*kind, OutputKind::Leaf.into());
        let count = rows.len() / forest.num_features;
        let (input, mut output) = (bytes(rows, forest.types.input), vec![0; count * forest.trees.len() * 4]);
        let memory = CallMemory {
            rows: count as i64,
            input: &input,
            output: &mut output,
            tables: &compiled.lir.tables,
        };
        run(kernel, memory).unwrap_or_else(|fault| panic!("{fault}\n{kernel}"));
        output
    };
    for seed in 0..10 {
        let mut rng = Rng(seed);
        let forest = forests::forest(&mut rng);
        let rows = forests::rows(&mut rng, &forest, 1);
        let rows = &rows[..rows.len().min(13 * forest.num_features)];
        let reference = compiled(&forest, "tile(batch, b0, b1, 4)\n").expect("a schedule without launches");
        let expected = leaves(&reference, &forest, rows);
        for schedule in schedules() {
            let Some(compiled) = compiled(&forest, &schedule) else { continue };
            assert_eq!(leaves(&compiled, &forest, rows), expected, "seed {seed}, {schedule}");
        }
    }
}

/// Adjacent rows of a thread are tested together, and threads read separate banks. Rows that are not adjacent
/// are walked one by one.
#[test]
fn neighbouring_rows_share_words() {
    let apart = "tile(batch, b0, r, 16)\ntile(r, b1, s, 8)\ntile(s, b2, b3, 2)\n\
                 reorder(b0, b1, b3, tree, b2)\ncache(b0)\n\
                 gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\nrepresentation(quantized)\n\
                 vectorize(b2, 4)\n";
    let (forest, _) = forests::complete_with_rows(5, 6, 3);
    for (schedule, packed) in [(four_rows(128, "vectorize(b2, 4)"), true), (apart.to_string(), false)] {
        let compiled = compiled(&forest, &schedule).expect("the schedule is legal");
        let plan = compiled.variants.rest().plan.to_string();
        assert!(plan.contains("threshold bins and columns in 16 bits"), "{plan}");
        assert_eq!(plan.contains("the first levels of four rows at once"), packed, "{plan}");
    }
}

/// Threads of a warp read separate banks, whatever columns they read. Adjacent bins as bytes would share
/// banks.
#[test]
fn walks_read_bins_without_conflicts() {
    let (forest, rows) = forests::complete_with_rows(28, 40, 3);
    let one_row = "tile(batch, b0, b1, 128)\ncache(b0)\nrepresentation(quantized)\ngpuDimension(b0, grid.x)\n\
                   gpuDimension(b1, block.x)\n";
    let by_trees = "tile(batch, b0, b1, 2)\ntile(tree, t0, t1, 32)\nreorder(b0, b1, t1, t0)\ncache(b0)\n\
                    representation(reorg)\n\
                    gpuDimension(b0, grid.x)\ngpuDimension(b1, block.y)\ngpuDimension(t1, block.x)\n";
    for schedule in [one_row.to_string(), four_rows(128, "vectorize(b2, 4)"), by_trees.to_string()] {
        let compiled = compiled(&forest, &schedule).expect("the schedule is legal");
        assert_eq!(dearest_shared_load(&compiled, &forest, &rows), 1.0, "{schedule}");
    }
}

/// Walks read the copies of trees, and no table that has a copy.
#[test]
fn walks_read_copies_of_trees() {
    let tables = [
        ("array", "array_nodes"),
        ("sparse", "sparse_nodes"),
        ("levels", "levels_thresholds"),
        ("quantized", "pair_nodes"),
        ("preorder", "preorder_nodes"),
        ("hybrid", "hybrid_tops"),
        ("hybrid", "hybrid_subtrees"),
        ("reorg", "reorg_nodes"),
    ];
    let (forest, _) = forests::complete_with_rows(4, 6, 3);
    for (layout, table) in tables {
        let schedule =
            format!("{DIRECT}cache(b0)\ntile(tree, t0, t1, 2)\ncache(t0)\nrepresentation({layout})\n");
        let compiled = compiled(&forest, &schedule).expect("the schedule is legal");
        let text = compiled.lir.kernels[0].1.to_string();
        assert!(text.contains(&format!("= load shared_{table}[")), "{text}");
        // Only the copy reads the table, piece by piece.
        assert_eq!(text.matches(&format!("= load {table}[")).count(), 1, "{text}");
    }
}

/// Threads pay for each distinct line of every load, so a load covers both words of a node.
#[test]
fn both_words_of_a_node_are_loaded_at_once() {
    let (forest, _) = forests::complete_with_rows(4, 100, 9);
    for layout in ["preorder", "hybrid"] {
        let schedule = format!("{DIRECT}cache(b0)\nrepresentation({layout})\n");
        let compiled = compiled(&forest, &schedule).expect("the schedule is legal");
        let text = compiled.lir.kernels[0].1.to_string();
        let of_nodes = format!("= load {layout}_nodes[");
        let loads: Vec<&str> = text.lines().filter(|line| line.contains(&of_nodes)).collect();
        assert!(!loads.is_empty() && loads.iter().all(|load| load.ends_with(": i64")), "{loads:?}");
    }
}

/// The checker uses a lower bound of the bytes of shared memory, and the compiler the exact number.
#[test]
fn shared_memory_is_counted_as_it_is_used() {
    let few = |features| {
        let forest = forests::complete_with_rows(4, 6, 3).0;
        wide::with_features_at(forest, features, |feature| feature * (features as u32 / 4))
    };
    let all = |features| forests::complete_with_rows(features, 2, 3).0;
    let cached = |threads: u32, more: &str| {
        format!(
            "target gpu(sm_80)\ntile(batch, b0, b1, {threads})\ngpuDimension(b0, grid.x)\n\
             gpuDimension(b1, block.x)\ncache(b0)\n{more}"
        )
    };
    let checked = |forest: &Forest, schedule: &str| {
        let tested = forest.trees.iter().flat_map(|tree| &tree.inner).map(|node| node.feature);
        let tested: std::collections::BTreeSet<u32> = tested.collect();
        let model = ModelInfo { tested_features: tested.len() as u32, ..forests::model_info(forest) };
        let options = CheckOptions {
            model: Some(model.into()),
            purpose: CheckPurpose::Compile,
            ..CheckOptions::default()
        };
        check(schedule, &options)
    };
    let compile =
        |forest: Forest, nests| compile(forest, None, nests, &[OutputKind::Raw], &Budget::default());
    // 512 values of four bytes for 128 rows are too much. Bins are not, and values of four features are not.
    let refused = checked(&all(512), &cached(128, ""));
    assert!(
        refused.nests.is_none() && refused.diagnostics[0].code.to_string() == "S0082",
        "{:?}",
        refused.diagnostics
    );
    for (forest, layout) in [(all(512), "quantized"), (few(512), "quantized"), (few(512), "sparse")] {
        let fits = checked(&forest, &cached(128, &format!("representation({layout})\n")));
        compile(forest, fits.nests.expect("it is legal")).expect("it fits");
    }
    // 33 rows of 1000 values have 132000 bytes, but take as much memory as 64 rows.
    let fits = checked(&all(1000), &cached(33, "")).nests.expect("it may fit");
    let error = compile(all(1000), fits).err().expect("it does not");
    assert_eq!(error.code.to_string(), "C0013");
    assert!(error.message.contains("shared_rows 256000"), "{error}");
}

/// A forest whose trees add to some classes in turn.
fn with_classes(forest: &Forest, classes: usize) -> Forest {
    let mut parts = forest.clone().into_parts();
    (parts.num_margins, parts.base) = (classes, vec![0.5; classes]);
    for tree in &mut parts.trees {
        tree.target = TreeTarget::One(tree.source % classes as u32);
    }
    Forest::new(parts).expect("a valid forest")
}

/// Threads that walk different trees access their slots in separate banks, and the sums keep their bits. A
/// thread's access to several adjacent rows takes at most a wavefront for each row.
#[test]
fn slots_of_several_classes_have_separate_banks() {
    let (forest, rows) = forests::complete_with_rows(8, 100, 3);
    for (classes, rows_per_block) in [(8, 1), (8, 4), (6, 2), (4, 8), (3, 2)] {
        let forest = with_classes(&forest, classes);
        let parts = "tile(tree, t0, t1, 2)\nreorder(b0, t0, b1, t1)\ngpuDimension(t0, block.x)\n\
                     sharedReduce(t0)\n";
        let group = 2 * classes;
        let groups = format!(
            "tile(tree, t0, t1, {group})\nreorder(b0, t0, t1, b1)\ngpuDimension(t1, block.x)\n\
             sharedReduce(t1)\n"
        );
        for (trees, is_in_turn) in [(parts, false), (&groups, true)] {
            let schedule =
                format!("tile(batch, b0, b1, {rows_per_block})\n{trees}gpuDimension(b0, grid.x)\n");
            let compiled = compiled(&forest, &schedule).expect("the schedule is legal");
            let mir = compiled.variants.iter().map(|(_, stages)| stages.mir.to_string());
            assert_eq!(mir.collect::<String>().contains("margins in turn"), is_in_turn, "{schedule}");
            let costs = counted(&compiled, &forest, &rows);
            let of_slots = costs.iter().filter(|cost| cost.buffer == "shared_sums");
            let of_rows =
                |cost: &&AccessCost| cost.statement.contains("store") || cost.statement.contains(" x ");
            let (of_threads, of_folds): (Vec<_>, Vec<_>) = of_slots.partition(of_rows);
            let together = f64::from(rows_per_block.min(4));
            assert_eq!(dearest(of_folds.into_iter()), 1.0, "{classes} classes, {schedule}{}", compiled.lir);
            let of_threads = dearest(of_threads.into_iter());
            assert!(of_threads <= together, "{classes} classes, {schedule}{}", compiled.lir);
            let margins = margins(&compiled, &forest, &rows);
            assert!(agree(&margins, &expected(&forest, &rows), &forest, is_in_turn));
        }
    }
}

/// Threads with one tree and several rows have one sum for each row, at a constant place, and slots that are
/// a fraction of those of all classes.
#[test]
fn slots_of_one_class_have_one_sum_for_each_row() {
    let (forest, rows) = forests::complete_with_rows(8, 80, 3);
    let forest = with_classes(&forest, 6);
    let schedule = |group: usize, threads: &str| {
        format!(
            "tile(batch, b0, b1, 64)\ntile(tree, t0, t1, {group})\nreorder(b0, t0, b1, t1)\n\
             gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ngpuDimension(t1, block.y)\n{threads}"
        )
    };
    let shared = |group: usize| {
        let compiled = compiled(&forest, &schedule(group, "sharedReduce(t1)\n")).expect("it is legal");
        let margins = margins(&compiled, &forest, &rows);
        assert!(agree(&margins, &expected(&forest, &rows), &forest, true), "groups of {group}");
        let costs = launch_costs(&compiled, &forest, &rows);
        costs.iter().map(|launch| launch.shared_bytes).max().expect("a launch")
    };
    // 12 slots of 64 rows, with a padding; and 10 slots of six classes.
    let (of_one, of_all) = (shared(12), shared(10));
    assert!((3072..3700).contains(&of_one), "{of_one}");
    assert!((15_360..17_000).contains(&of_all), "{of_all}");
    // Slots in the device's memory: blocks of 12 trees, and the last block of some rows adds up their slots.
    let of_groups = schedule(12, "gpuDimension(t0, grid.y)\n");
    let compiled = compiled(&forest, &of_groups).expect("it is legal");
    let margins = margins(&compiled, &forest, &rows);
    assert!(agree(&margins, &expected(&forest, &rows), &forest, true), "{}", compiled.lir);
    let mir = compiled.variants.iter().map(|(_, stages)| stages.mir.to_string()).collect::<String>();
    assert!(mir.contains("margins in turn"), "{mir}");
}

/// Blocks of some rows and some trees, with a thread for each combination. The last block of some rows adds
/// up the slots of all trees.
fn last_block_folds(rows: usize, trees: usize) -> String {
    format!(
        "tile(batch, b0, b1, {rows})\ntile(tree, t0, t1, {trees})\nreorder(b0, t0, b1, t1)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(t0, grid.y)\ngpuDimension(b1, block.x)\n\
         gpuDimension(t1, block.y)\n"
    )
}

/// All threads of the last block load many slots to shared memory, piece by piece, and the sums keep their
/// bits.
#[test]
fn many_slots_are_folded_piece_by_piece() {
    let (forest, rows) = forests::complete_with_rows(8, 80, 3);
    let mut staged = 0;
    for classes in [1, 3, 8] {
        let forest = with_classes(&forest, classes);
        for (rows_per_block, trees) in [(1, 8), (1, 32), (5, 9), (8, 8), (11, 24), (32, 24), (70, 3)] {
            let compiled = compiled(&forest, &last_block_folds(rows_per_block, trees)).expect("it is legal");
            let is_staged = compiled.lir.to_string().contains("staged_slots");
            staged += usize::from(is_staged);
            for count in [1, 69, 70] {
                let rows = &rows[..count * forest.num_features];
                let found = simulated(&compiled, &forest, rows).expect("no race");
                let expected = expected(&forest, rows);
                assert_eq!(found, expected, "{classes}, {rows_per_block}, {trees}: {}", compiled.lir);
            }
        }
    }
    assert_eq!(staged, 6 + 3, "those with eight threads for each sum");
    // Leaf vectors, and few slots.
    let all = forests::complete_with_rows(8, 80, 3).0;
    let mut parts = with_classes(&all, 3).into_parts();
    for tree in &mut parts.trees {
        tree.target = TreeTarget::All;
        for leaf in &mut tree.leaves {
            leaf.values = (0..3).map(|margin| leaf.values[0] + f64::from(margin)).collect();
        }
    }
    let vectors = Forest::new(parts).expect("a valid forest");
    let compiled = compiled(&vectors, &last_block_folds(5, 25)).expect("it is legal");
    assert!(compiled.lir.to_string().contains("staged_slots"));
    assert_eq!(simulated(&compiled, &vectors, &rows).expect("no race"), expected(&vectors, &rows));
}

/// Copies of trees leave no room for a piece in the shared memory that small GPUs have, too.
#[test]
fn pieces_of_slots_leave_launches_on_small_gpus() {
    let (forest, rows) = forests::complete_with_rows(8, 300, 6);
    let schedule = last_block_folds(16, 40);
    for (cache, is_staged) in [("", true), ("cache(t0)\n", false)] {
        let compiled = compiled(&forest, &format!("{schedule}{cache}")).expect("it is legal");
        assert_eq!(compiled.lir.to_string().contains("staged_slots"), is_staged, "{cache}");
        assert_eq!(simulated(&compiled, &forest, &rows).expect("no race"), expected(&forest, &rows));
    }
}

/// A kernel that exceeds its GPU's shared memory is built again without padding: each case of a specialized
/// loop has slots of its own.
#[test]
fn kernels_that_do_not_fit_are_built_without_padding() {
    let forest = with_classes(&forests::complete_with_rows(8, 80, 3).0, 8);
    let schedule = "tile(batch, b0, b1, 40)\ntile(tree, t0, t, 50)\ntile(t, t1, t2, 2)\n\
                    reorder(b0, t0, t1, t2, b1)\ngpuDimension(b0, grid.x)\ngpuDimension(t1, block.x)\n\
                    sharedReduce(t1)\nspecialize(t0)\n";
    let with_memory = |bytes: Option<u64>| {
        let nests = nest(&forest, schedule).expect("it is legal");
        let nests =
            nests.try_map(|_, nest| Ok::<_, ()>(Nest { shared_memory: bytes, ..nest })).expect("a nest");
        compile(forest.clone(), None, nests, &[OutputKind::Raw], &Budget::default())
    };
    let bytes = |compiled: &Compiled| {
        let lines = compiled.lir.to_string();
        let sizes = lines.lines().filter_map(|line| {
            line.split_once("alloc shared shared_sums")?.1.split(' ').nth(3)?.parse::<u64>().ok()
        });
        sizes.sum::<u64>()
    };
    let padded = bytes(&with_memory(Some(1 << 20)).expect("it fits"));
    let mut least = padded;
    while let Ok(compiled) = with_memory(Some(least - 64)) {
        least = bytes(&compiled);
    }
    // A slot has eight margins of 40 rows, in single precision.
    assert!(least < padded && least % (8 * 40 * 4) == 0, "{least} of {padded}");
}

/// A thread must not load the next slots while others add up the previous ones.
#[test]
fn pieces_of_slots_are_awaited() {
    let (forest, rows) = forests::complete_with_rows(8, 80, 3);
    let schedule = last_block_folds(8, 8);
    let compiled =
        with_fault(Fault::PieceNotAwaited, || compiled(&forest, &schedule)).expect("the schedule is legal");
    assert!(simulated(&compiled, &forest, &rows).is_err(), "two threads access a slot at the same time");
}

/// The checker counts the nodes of complete trees that do not exist, as the compiler does.
#[test]
fn copies_of_complete_trees_are_counted_as_they_are_used() {
    let cached = |gpu: &str, layout: Layout, trees: u32| {
        format!(
            "target gpu({gpu})\ntile(batch, b0, b1, 32)\ntile(tree, t0, t1, {trees})\n\
             reorder(b0, t0, b1, t1)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ncache(t0)\n\
             cache(b0)\nrepresentation({})\n",
            layout.word()
        )
    };
    let complete = Layout::ALL.iter().filter(|layout| layout.nodes() == Nodes::Complete);
    let (mut refused, mut accepted) = (0, 0);
    for layout in complete.copied().filter(|layout| layout.shapes() == Shapes::Any) {
        for (depth, trees) in [(7, 1), (9, 3), (10, 2), (11, 2), (12, 1), (13, 2), (16, 1)] {
            let checked = |gpu: &str| {
                let forest = one_deep_path(depth);
                let options = CheckOptions {
                    model: Some(forests::model_info(&forest).into()),
                    purpose: CheckPurpose::Compile,
                    ..CheckOptions::default()
                };
                let checked = check(&cached(gpu, layout, trees), &options);
                (checked.nests.map(|nests| (forest, nests)), checked.diagnostics)
            };
            match checked("sm_75") {
                (Some((forest, nests)), _) => {
                    compile(forest, None, nests, &[OutputKind::Raw], &Budget::default())
                        .unwrap_or_else(|error| panic!("{layout:?} {depth} {trees}: {error}"));
                    accepted += 1;
                }
                (None, diagnostics) => {
                    let is_refusal = |found: &Diagnostic| found.code.to_string() == "S0082";
                    assert!(diagnostics.iter().any(is_refusal), "{layout:?} {diagnostics:?}");
                    // On a GPU with more memory, the launch needs more than the first GPU has.
                    let (Some((forest, nests)), _) = checked("sm_90") else { continue };
                    let compiled = compile(forest, None, nests, &[OutputKind::Raw], &Budget::default());
                    let used = compiled.map_or(u64::MAX, |compiled| shared_bytes(&compiled));
                    assert!(used > 64 << 10, "{layout:?} {depth} {trees}: {used} bytes");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 4 && accepted > 4, "{refused} refused, {accepted} accepted");
}

/// Trees whose levels have one leaf each, but the last, which has two.
fn one_deep_path(depth: u32) -> Forest {
    let tree = |source: u32| {
        let inner = |level: u32| Inner {
            feature: level % 3,
            predicate: Predicate::Numeric { threshold: f64::from(level) },
            missing_left: false,
            left: NodeRef::Leaf(level),
            right: if level + 1 == depth { NodeRef::Leaf(depth) } else { NodeRef::Inner(level + 1) },
        };
        let leaf = |number: u32| Leaf { source: number, values: [f64::from(number)].into() };
        Tree {
            root: NodeRef::Inner(0),
            inner: (0..depth).map(inner).collect(),
            leaves: (0..=depth).map(leaf).collect(),
            target: TreeTarget::One(0),
            source,
        }
    };
    let trees = (0..6).map(tree).collect();
    let parts = ForestParts { trees, num_features: 3, base: vec![0.5], ..ForestParts::default() };
    Forest::new(parts).expect("a valid forest")
}

/// Largest number of bytes of shared memory of a block.
fn shared_bytes(compiled: &Compiled) -> u64 {
    let mut most = 0;
    for (_, function) in &compiled.lir.kernels {
        Stmt::visit_all(&function.body, |stmt| {
            if let Stmt::Launch(launch) = stmt {
                let buffers = launch.shared_buffers(function);
                most = most.max(buffers.iter().map(|(_, bytes)| *bytes).sum());
            }
        });
    }
    most
}

#[test]
fn the_direct_schedule_is_one_launch() {
    let forest = forests::forest(&mut Rng(1));
    let compiled = compiled(&forest, DIRECT).expect("the schedule is legal");
    let mir = compiled.variants.rest().mir.to_string();
    assert!(
        mir.starts_with("launch b0 of #(b0 in 0..n_rows step 4) x 1 x 1 blocks of 4 x 1 x 1 threads {"),
        "{mir}"
    );
    let kernel = &compiled.lir.kernels[0].1;
    let launches = kernel.body.iter().filter(|stmt| matches!(stmt, Stmt::Launch(_))).count();
    assert_eq!(launches, 1, "{kernel}");
}

/// If a prediction needs one margin, the launch that stores the final margin computes the prediction.
#[test]
fn predictions_come_from_one_kernel_where_margins_are_stored_once() {
    let kernels = [OutputKind::Raw, OutputKind::Value];
    let mut found = [0; 2];
    for (seed, schedule) in (0..40).flat_map(|seed| examples().into_iter().map(move |text| (seed, text))) {
        let mut rng = Rng(seed);
        let forest = forests::forest(&mut rng);
        let Some(nest) = nest(&forest, &schedule) else { continue };
        let Ok(compiled) = compile(forest.clone(), None, nest, &kernels, &Budget::default()) else {
            continue;
        };
        let kernel = |wanted| compiled.lir.kernels.iter().find(|(kind, _)| *kind == wanted);
        let Some((_, direct)) = kernel(KernelKind::Direct) else { continue };
        let (_, value) =
            kernel(OutputKind::Value.into()).expect("kernels that are left out have another form");
        let count = 37;
        let rows: Vec<f64> = (0..count * forest.num_features).map(|_| rng.below(100) as f64 / 10.0).collect();
        let margins = margins(&compiled, &forest, &rows);
        let results = forest.columns_of_output(OutputKind::Value) * forest.types.output.bytes();
        let run = |function, input: &[u8]| {
            let mut output = vec![0; count * results];
            let memory =
                CallMemory { rows: count as i64, input, output: &mut output, tables: &compiled.lir.tables };
            run(function, memory).unwrap_or_else(|fault| panic!("{schedule}: {fault}\n{function}"));
            output
        };
        let rows = bytes(&rows, forest.types.input);
        assert!(run(direct, &rows) == run(value, &margins), "{schedule}\n{direct}");
        found[usize::from(!is_by_margin(&forest))] += 1;
    }
    assert!(found.iter().all(|found| *found > 30), "only {found:?} kernels from rows to predictions");
}

/// Without a barrier, threads read margins that others store: the interpreter reports a race.
#[test]
fn predictions_wait_for_the_margins_of_other_threads() {
    let several_rows = "tile(batch, b0, r, 8)\ntile(r, b1, b2, 4)\nreorder(b0, b1, tree, b2)\n\
                        gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";
    for schedule in [several_rows.to_string(), groups_of_trees(3, "b1, t1")] {
        let races = |seed: u64, fault: Option<Fault>| {
            let mut rng = Rng(seed);
            let forest = forests::forest(&mut rng);
            let kernels = [OutputKind::Raw, OutputKind::Value];
            let compile = || {
                compile(forest.clone(), None, nest(&forest, &schedule)?, &kernels, &Budget::default()).ok()
            };
            let compiled = fault.map_or_else(compile, |fault| with_fault(fault, compile));
            let direct = compiled.as_ref().filter(|_| !is_by_margin(&forest))?;
            let (_, direct) = direct.lir.kernels.iter().find(|(kind, _)| *kind == KernelKind::Direct)?;
            let rows = bytes(&vec![1.0; 5 * forest.num_features], forest.types.input);
            let results = forest.columns_of_output(OutputKind::Value) * forest.types.output.bytes();
            let mut output = vec![0; 5 * results];
            let tables = &compiled.as_ref()?.lir.tables;
            let memory = CallMemory { rows: 5, input: &rows, output: &mut output, tables };
            Some(run(direct, memory).is_err())
        };
        assert!((0..20).any(|seed| races(seed, Some(Fault::MarginsNotAwaited)) == Some(true)), "{schedule}");
        assert!((0..20).all(|seed| races(seed, None) != Some(true)), "{schedule}");
        assert!((0..20).any(|seed| races(seed, None) == Some(false)), "{schedule}");
    }
}
