//! Random forest x random legal schedule x random rows, through the interpreter and machine code, against the walker.

#![allow(clippy::panic, clippy::expect_used)]

mod case;
mod cover;

use case::Case;
use cover::{Cover, wanted};
use sched_ir::fault::{Fault, with_fault};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many cases run; `SCHEDC_CASES` asks for another number.
fn cases() -> u64 {
    std::env::var("SCHEDC_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(2000)
}

/// `SCHEDC_SEED` runs a single case.
fn single() -> Option<u64> {
    std::env::var("SCHEDC_SEED").ok()?.parse().ok()
}

#[test]
fn every_legal_schedule_predicts_what_the_walker_predicts() {
    if let Some(seed) = single() {
        let case = Case::new(seed);
        println!("{}", case.describe());
        return case.run().unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
    let next = AtomicU64::new(0);
    let worker = || {
        let mut cover = Cover::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= cases() {
                return cover;
            }
            let case = Case::new(seed);
            cover.add(&case);
            if let Err(what) = case.run() {
                panic!("SCHEDC_SEED={seed}: {what}\n{}", case.schedule);
            }
        }
    };
    let mut cover = Cover::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(worker)).collect();
        for thread in threads {
            cover.merge(thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)));
        }
    });
    println!("{} cases", cover.cases);
    for name in wanted() {
        let count = cover.seen.get(name).copied().unwrap_or(0);
        println!("  {name:<24} {count:>6}  {:>5.1}%", 100.0 * count as f64 / cover.cases as f64);
        // Fewer cases say little of what is rare.
        let enough = cover.cases < 1000 || count * 20 >= cover.cases;
        assert!(enough, "`{name}` occurs in fewer than 5% of the cases");
    }
}

/// Codes of 16 bits, columns that a byte does not tell apart, and vectors whose nodes are bytes.
#[test]
fn codes_of_all_widths_are_exact() {
    let schedules = [
        "representation(quantized)",
        "representation(quantized)\nvectorize(tree, 4)",
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nparallel(b0)\nrepresentation(quantized)\nvectorize(b1, 64)",
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation(quantized)\nvectorize(b1, 32)\n\
         interleave(b1, 2)\nunrollAndJam(tree)",
        "reorder(tree, batch)\nrepresentation(quantized)\nvectorize(batch, 16)",
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nrepresentation(quantized)\nvectorize(b1, 64)\nspeculateWalk(b1, 2)",
        "parallel(batch)\nrepresentation(quantized)",
        "cache(batch)\nrepresentation(quantized)\ninterleave(tree, 2)",
        "representation(preorder)",
        "representation(preorder)\nunrollWalk(tree, 3)\ninterleave(tree, 2)",
        "representation(preorder)\nvectorize(tree, 4)",
        "parallel(batch)\nrepresentation(preorder)",
        "cache(batch)\nrepresentation(preorder)\ninterleave(tree, 2)",
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation(preorder)\nvectorize(b1, 16)\n\
         interleave(b1, 4)\nunrollAndJam(tree)",
        "tile(batch, b0, b1, 128)\nreorder(b0, tree, b1)\nrepresentation(preorder)\nvectorize(b1, 64)\ninterleave(b1, 2)\n\
         unrollAndJam(tree)",
        "reorder(tree, batch)\nrepresentation(preorder)\nvectorize(batch, 8)",
    ];
    for (features, thresholds, depth) in
        [(1, 300, 6), (300, 2, 8), (7, 255, 8), (7, 256, 9), (1, 600, 9), (150, 3, 7)]
    {
        for schedule in schedules {
            let (forest, rows) = sched_testing::forests::complete(features, thresholds, depth);
            let case = Case::of(forest, schedule, rows);
            let what = format!("{features} features with {thresholds} thresholds\n{schedule}");
            case.run().unwrap_or_else(|error| panic!("{error}\n{what}"));
        }
    }
}

/// One deliberate mistake per pass: the property must see each, or it is blind.
#[test]
fn seeded_faults_are_seen() {
    let faults = [
        Fault::SortRepeatsTree,
        Fault::PadLosesLeaf,
        Fault::TileOverruns,
        Fault::FoldForgetsSlot,
        Fault::WalkStopsEarly,
        Fault::DecisionsSwapped,
        Fault::LaneReadsWrongRow,
        Fault::RemainderDropped,
        Fault::TogetherRepeatsTree,
        Fault::ArrayFlipsTies,
        Fault::SparseForgetsMissing,
        Fault::TileReversesOutcomes,
        Fault::BinsFlipTies,
        Fault::SweepForgetsPlace,
        Fault::ReachFallsShort,
        Fault::RowsPackedAsSums,
        Fault::CompareUnordered,
    ];
    for fault in faults {
        let seen = (0..400).find(|seed| {
            let case = Case::new(*seed);
            with_fault(fault, || case.run()).is_err()
        });
        println!("{fault:?} is seen by seed {seen:?}");
        assert!(seen.is_some(), "no case sees the fault {fault:?}");
    }
}
