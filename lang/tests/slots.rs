//! Shared memory of slots of sums, which have one margin if all their trees add to that one.

use sched_lang::check;
use sched_nest::ModelInfo;
use std::sync::Arc;

/// Codes of the problems of a schedule for 1,000 trees of 100 classes. In a block, 100 slots of all margins
/// of 32 rows take 1.2 MiB, and those of one margin 12.5 KiB.
fn codes(takes_margins_in_turn: bool, trees: &str) -> Vec<u16> {
    codes_of(|model| ModelInfo { takes_margins_in_turn, ..model }, trees)
}

fn codes_of(change: impl FnOnce(ModelInfo) -> ModelInfo, trees: &str) -> Vec<u16> {
    let mut options = sched_testing::options("trees=1000 classes=100 features=20 compile");
    let model = options.model.as_deref().cloned().expect("the options have a model");
    options.model = Some(Arc::new(change(model)));
    let schedule = format!(
        "target gpu(sm_90)\ntile(batch, b0, r, 32)\ntile(r, b1, b2, 4)\n{trees}\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n"
    );
    check(&schedule, &options).diagnostics.iter().map(|found| found.code.number()).collect()
}

const THREADS: &str = "gpuDimension(t1, block.y)\nsharedReduce(t1)";

#[test]
fn slots_of_one_margin_fit_shared_memory() {
    let every_hundredth = format!("tile(tree, t0, t1, 100)\nreorder(b0, t0, b1, t1, b2)\n{THREADS}");
    assert!(codes(true, &every_hundredth).is_empty());
    assert_eq!(codes(false, &every_hundredth), [82], "slots have all margins");
}

#[test]
fn slots_of_several_margins_exceed_shared_memory() {
    let adjacent = format!("tile(tree, t1, t0, 10)\nreorder(b0, t1, b1, t0, b2)\n{THREADS}");
    assert_eq!(codes(true, &adjacent), [82], "each slot has ten adjacent trees");
    let every_125th = format!("tile(tree, t0, t1, 125)\nreorder(b0, t0, b1, t1, b2)\n{THREADS}");
    assert_eq!(codes(true, &every_125th), [82]);
    let sorted = format!("sortTrees(depth)\ntile(tree, t0, t1, 100)\nreorder(b0, t0, b1, t1, b2)\n{THREADS}");
    assert!(codes(true, &sorted).is_empty(), "all trees are equally deep, so their order is the model's");
    let deepest_first = |model: ModelInfo| ModelInfo {
        depths: (0..1000).map(|tree| 6 - tree / 200).collect(),
        takes_margins_in_turn: true,
        ..model
    };
    assert_eq!(codes_of(deepest_first, &sorted), [82], "the trees are in another order");
    let together =
        format!("tile(tree, t0, t1, 200)\nreorder(b0, t0, b1, b2, t1)\n{THREADS}\ninterleave(t1, 2)");
    assert!(codes(true, &together).contains(&82), "each thread walks two trees");
}

#[test]
fn slots_have_the_rows_of_the_threads() {
    let codes = |schedule: &str| -> Vec<u16> {
        let options = sched_testing::options("trees=1000 classes=8 features=20 compile");
        let found = check(&format!("target gpu(sm_75)\n{schedule}"), &options).diagnostics;
        found.iter().map(|found| found.code.number()).filter(|code| *code == 82).collect()
    };
    // 250 slots of one row and eight classes take 8 KiB; of 64 rows, 500 KiB.
    let rows = |order: &str| {
        format!(
            "tile(batch, b0, b1, 64)\ntile(tree, t0, t1, 250)\nreorder(b0, {order})\n\
             gpuDimension(b0, grid.x)\ngpuDimension(t1, block.x)\nsharedReduce(t1)\n"
        )
    };
    assert!(codes(&rows("b1, t0, t1")).is_empty(), "the rows follow each other");
    assert_eq!(codes(&rows("t0, t1, b1")), [82]);
    // A thread walks five trees, so there are 50 slots.
    assert!(codes(&format!("{}interleave(t1, 25)\n", rows("b1, t0, t1"))).is_empty());
}

#[test]
fn all_loops_over_threads_have_slots() {
    // 250 threads of 32 rows and 4 bytes for a single margin: 31 KiB, or 62 KiB of doubles.
    let trees = "tile(tree, t0, t, 250)\ntile(t, t1, u, 25)\ntile(u, t2, t3, 5)\n\
                 reorder(b0, t0, b1, t1, t2, t3, b2)\ngpuDimension(t1, block.y)\n\
                 gpuDimension(t2, block.z)\nsharedReduce(t1)";
    let of = |rows: u32, sum_bytes: u32| {
        let trees = trees.replace("b1, t1", "t1").replace(", b2)", ", b1, b2)");
        let schedule = format!(
            "target gpu(sm_75)\ntile(batch, b0, r, {rows})\ntile(r, b1, b2, 4)\n{trees}\n\
             gpuDimension(b0, grid.x)\n"
        );
        let mut options = sched_testing::options("trees=1000 features=20 compile");
        let model = options.model.as_deref().cloned().expect("the options have a model");
        options.model = Some(Arc::new(ModelInfo { sum_bytes, ..model }));
        let found = check(&schedule, &options).diagnostics;
        found.iter().map(|found| found.code.number()).filter(|code| *code == 82).count()
    };
    // 10 x 5 threads: 50 slots of 256 rows take 50 KiB, and those of 512 rows 100 KiB of 64.
    assert_eq!([of(256, 4), of(512, 4), of(256, 8)], [0, 1, 1]);
}

#[test]
fn groups_of_trees_in_blocks_have_slots_of_one_margin() {
    let groups = |trees| {
        format!(
            "tile(tree, t0, t1, {trees})\nreorder(b0, t0, b1, t1, b2)\ngpuDimension(t0, grid.y)\n{THREADS}"
        )
    };
    assert!(codes(true, &groups(100)).is_empty());
    assert_eq!(codes(true, &groups(125)), [82]);
}
