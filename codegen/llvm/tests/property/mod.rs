//! Random forests under random legal schedules on random rows, in the interpreter and in machine code,
//! compared with the walker.

mod base;
mod case;
mod columns;
mod cover;
mod cover_launches;
mod launches;
use self::case::Case;
use self::cover::{Cover, wanted};
use self::cover_launches::wanted_on_gpu;
use sched_ir::fault::{Fault, with_fault};
use sched_llvm::{Gpu, ptx_text};
use sched_testing::{Rng, damaged, forests, in_turn, seeds};
use std::sync::atomic::{AtomicU64, Ordering};

/// The number in an environment variable.
fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The number of cases: `SCHEDC_CASES`, or enough to cover the features that [`wanted`] lists. The nightly CI
/// runs many more.
fn cases() -> u64 {
    number_in("SCHEDC_CASES").unwrap_or(600)
}

/// The seed of the only case to run: `SCHEDC_SEED`, unless `SCHEDC_CASES` is also set. With both, it is the
/// first seed.
fn single() -> Option<u64> {
    number_in("SCHEDC_SEED").filter(|_| number_in("SCHEDC_CASES").is_none())
}

/// Runs `cases` cases in two threads, and counts their features. If the environment names a single seed, runs
/// only that case.
fn run(cases: u64, new: fn(u64) -> Case, add: fn(&mut Cover, &Case)) -> Option<Cover> {
    if let Some(seed) = single() {
        let case = new(seed);
        println!("{}", case.describe());
        case.run().unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        return None;
    }
    let first = number_in("SCHEDC_SEED").unwrap_or(0);
    let next = AtomicU64::new(first);
    let worker = || {
        let mut cover = Cover::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed - first >= cases {
                return cover;
            }
            let case = new(seed);
            add(&mut cover, &case);
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
    Some(cover)
}

#[test]
fn every_legal_schedule_predicts_what_the_walker_predicts() {
    if let Some(cover) = run(cases(), Case::new, Cover::add) {
        cover.is_enough(wanted());
    }
}

/// Half as many cases as for processors; they take much less time.
#[test]
fn every_legal_gpu_schedule_predicts_what_the_walker_predicts() {
    if let Some(cover) = run(cases() / 2, Case::on_gpu, Cover::add_on_gpu) {
        cover.is_enough(wanted_on_gpu().into_iter());
    }
}

/// Schedules in which rows or sums of a thread are between those of other threads.
#[test]
fn threads_share_rows_and_sums_in_order() {
    let schedules = [
        // A thread has every fourth row.
        "tile(batch, b0, b1, 4)\nreorder(b1, b0)\ngpuDimension(b1, grid.x)",
        // Tiles of five in tiles of six. The range of a thread's tile overlaps with the next block, whose
        // rows it must skip.
        "tile(batch, b0, b1, 6)\ntile(b1, b2, b3, 5)\ngpuDimension(b0, grid.x)\ngpuDimension(b2, block.x)",
        // All iterations of the atomic loop use the same slots of the loop inside it.
        "tile(tree, t0, t1, 2)\ngpuDimension(batch, grid.x)\ngpuDimension(t0, block.x)\natomicReduce(t0)\n\
         gpuDimension(t1, block.y)",
        // One thread's ordinary additions go to the same sums as the atomic additions of others.
        "gpuDimension(batch, grid.x)\nsplit(tree, ta, tb, 1)\ngpuDimension(tb, block.x)\natomicReduce(tb)",
        // With few rows, a loop over blocks has no iterations, while the loop beside it has some.
        "tile(batch, b0, b1, 8)\nsplit(b1, first, second, 6)\ngpuDimension(b0, grid.x)\n\
         gpuDimension(second, grid.y)",
    ];
    for (seed, schedule) in seeds(40).flat_map(|seed| schedules.map(|schedule| (seed, schedule))) {
        let mut rng = Rng(seed);
        let forest = forests::forest(&mut rng);
        let rows = forests::rows_of(&mut rng, &forest, [0, 1, 3, 6, 13, 40][seed as usize % 6]);
        if forest.trees.len() > 1 {
            let case = Case::of(forest, &format!("target gpu\n{schedule}\n"), rows);
            case.run().unwrap_or_else(|error| panic!("{error}\nseed {seed}\n{schedule}"));
        }
    }
}

/// Schedules for GPUs with mistakes: each is refused, or compiled and printed at every stage, some down to
/// PTX. Nothing panics.
#[test]
fn damaged_gpu_schedules_are_refused_or_compiled() {
    let (mut legal, mut refused, mut emitted) = (0, 0, 0);
    for seed in 0..300 {
        let case = Case::on_gpu(seed);
        let mut rng = Rng(seed);
        for _ in 0..3 {
            let text = damaged(&case.schedule, &mut rng);
            let Some(compiled) = launches::compiled(&case.forest, &text) else {
                refused += 1;
                continue;
            };
            assert!(!launches::stages(&compiled).is_empty(), "seed {seed}\n{text}");
            legal += 1;
            if legal % 4 == 0 {
                let ptx = ptx_text(&compiled.lir, Gpu::default());
                let ptx = ptx.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
                emitted += usize::from(ptx.contains(".visible .entry"));
            }
        }
    }
    println!("{legal} damaged schedules are compiled, {emitted} of them to PTX, {refused} are refused");
    assert!(legal > 50 && refused > 50 && emitted > 24, "{legal} legal, {emitted} as PTX, {refused} refused");
}

/// Bins of 16 bits, columns whose numbers need more than a byte, and vectors whose node numbers are bytes.
#[test]
fn bins_of_all_widths_are_exact() {
    let schedules = [
        "representation(quantized)",
        "representation(quantized)\nvectorize(tree, 4)",
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nparallel(b0)\nrepresentation(quantized)\n\
         vectorize(b1, 64)",
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation(quantized)\n\
         vectorize(b1, 32)\n\
         interleave(b1, 2)\nunrollAndJam(tree)",
        "reorder(tree, batch)\nrepresentation(quantized)\nvectorize(batch, 16)",
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nrepresentation(quantized)\nvectorize(b1, 64)\n\
         speculateWalk(b1, 2)",
        "parallel(batch)\nrepresentation(quantized)",
        "cache(batch)\nrepresentation(quantized)\ninterleave(tree, 2)",
        "representation(preorder)",
        "representation(preorder)\nunrollWalk(tree, 3)\ninterleave(tree, 2)",
        "representation(preorder)\nvectorize(tree, 4)",
        "parallel(batch)\nrepresentation(preorder)",
        "cache(batch)\nrepresentation(preorder)\ninterleave(tree, 2)",
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation(preorder)\n\
         vectorize(b1, 16)\n\
         interleave(b1, 4)\nunrollAndJam(tree)",
        "tile(batch, b0, b1, 128)\nreorder(b0, tree, b1)\nrepresentation(preorder)\nvectorize(b1, 64)\n\
         interleave(b1, 2)\n\
         unrollAndJam(tree)",
        "reorder(tree, batch)\nrepresentation(preorder)\nvectorize(batch, 8)",
        "representation(hybrid)",
        "representation(hybrid)\nunrollWalk(tree, 3)\ninterleave(tree, 2)",
        "representation(hybrid)\npeelWalk(tree, 9)",
        "representation(hybrid)\nspeculateWalk(tree, 2)",
        "representation(hybrid)\nvectorize(tree, 4)",
        "cache(batch)\nrepresentation(hybrid)\ninterleave(tree, 2)",
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation(hybrid)\n\
         vectorize(b1, 16)\n\
         interleave(b1, 4)\nunrollAndJam(tree)",
        "reorder(tree, batch)\nrepresentation(hybrid)\nvectorize(batch, 8)",
    ];
    let models = [(1, 300, 6), (300, 2, 8), (7, 255, 8), (7, 256, 9), (1, 600, 9), (150, 3, 7)];
    let pairs: Vec<_> = models.chunks(2).collect();
    for (number, schedule) in schedules.into_iter().enumerate() {
        for &(features, thresholds, depth) in in_turn(number, &pairs).iter().copied().flatten() {
            let (forest, rows) = sched_testing::forests::complete_with_rows(features, thresholds, depth);
            let case = Case::of(forest, schedule, rows);
            let what = format!("{features} features with {thresholds} thresholds\n{schedule}");
            case.run().unwrap_or_else(|error| panic!("{error}\n{what}"));
        }
    }
}

/// Sets of as many bytes as one look-up covers, in forests where each category is a separate class, with
/// numeric tests beside them.
#[test]
fn sets_of_all_widths_are_exact() {
    let schedules = [
        "representation(preorder)",
        "representation(preorder)\nvectorize(tree, 4)",
        "cache(batch)\nrepresentation(preorder)\ninterleave(tree, 2)",
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation(preorder)\n\
         vectorize(b1, 16)\n\
         interleave(b1, 4)\nunrollAndJam(tree)",
        "tile(batch, b0, b1, 128)\nreorder(b0, tree, b1)\nrepresentation(preorder)\nvectorize(b1, 64)\n\
         interleave(b1, 2)",
        "reorder(tree, batch)\nrepresentation(preorder)\nvectorize(batch, 8)",
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation(quantized)\n\
         vectorize(b1, 32)",
    ];
    for (categories, depth) in [(20, 4), (120, 6), (300, 6), (1000, 7), (2030, 8), (2100, 4)] {
        for (number, schedule) in schedules.iter().enumerate() {
            let (forest, rows) = forests::categorical_with_rows(categories, depth);
            let case = Case::of(forest, schedule, rows);
            let by_class = categories <= 2040 && number + 1 < schedules.len();
            assert_eq!(case.tests_classes(), by_class, "{categories} categories\n{schedule}");
            case.run().unwrap_or_else(|error| panic!("{error}\n{categories} categories\n{schedule}"));
        }
    }
}

/// One deliberate mistake for each pass, which the property test must detect. The seed beside a fault
/// detected it when the list was written. If it no longer does, all seeds are tried.
#[test]
fn seeded_faults_are_seen() {
    let faults = [
        (Fault::SortRepeatsTree, 3),
        (Fault::PadLosesLeaf, 2),
        (Fault::TileOverruns, 1),
        (Fault::FoldForgetsSlot, 2),
        (Fault::WalkStopsEarly, 0),
        (Fault::DecisionsSwapped, 3),
        (Fault::LaneReadsWrongRow, 1),
        (Fault::RemainderDropped, 1),
        (Fault::UnrollAndJamRepeatsTree, 1),
        (Fault::ArrayFlipsTies, 3),
        (Fault::SparseForgetsMissing, 1),
        (Fault::TileReversesDecisions, 31),
        (Fault::BinsFlipTies, 17),
        (Fault::SubtreesShifted, 3),
        (Fault::SweepForgetsPlace, 57),
        (Fault::ReachFallsShort, 20),
        (Fault::LevelRepeated, 28),
        (Fault::SumsRounded, 0),
        (Fault::SinglesNotRounded, 55),
        (Fault::AverageForgotten, 9),
        (Fault::SetChangesSides, 17),
        (Fault::ZeroIsNotMissing, 3),
        (Fault::RunRepeatsColumn, 3),
        (Fault::TermsShareWeight, 24),
        (Fault::ArrangedTermsLost, 21),
        (Fault::TermLanesLost, 218),
        (Fault::ColumnWalksStopEarly, 22),
        (Fault::OutputColumnsSwapped, 22),
        (Fault::RowsPackedAsSums, 23),
        (Fault::LinearForgetsMissing, 36),
        (Fault::DenseStopsShort, 4),
        (Fault::ThresholdsToNearest, 28),
        (Fault::CompareUnordered, 0),
    ];
    see(&faults, Case::new);
}

/// Faults of passes for launches only, and of passes for launches and other code.
#[test]
fn seeded_faults_of_launches_are_seen() {
    let faults = [
        (Fault::GuardDropped, 0),
        (Fault::GivenBaseIgnored, 1),
        (Fault::BarrierDropped, 2),
        (Fault::CopyStopsShort, 3),
        (Fault::SlotShared, 3),
        (Fault::EmptySlotFolded, 111),
        (Fault::FoldForgetsSlot, 3),
        (Fault::MarginsOutOfTurn, 0),
        (Fault::FenceDropped, 9),
        (Fault::TicketMiscounted, 9),
        (Fault::CounterKept, 9),
        (Fault::CopiesKeepTreeNumbers, 2),
        (Fault::UntestedFeaturesCopied, 2),
        (Fault::BankSwapped, 1376),
        (Fault::TileOverruns, 0),
        (Fault::RemainderDropped, 5),
        (Fault::BinsFlipTies, 6),
    ];
    see(&faults, Case::on_gpu);
}

fn see(faults: &[(Fault, u64)], new: fn(u64) -> Case) {
    let sees = |fault: Fault, seed: u64| {
        let case = new(seed);
        with_fault(fault, || case.run()).is_err()
    };
    for &(fault, kept) in faults {
        if sees(fault, kept) {
            continue;
        }
        let seen = (0..2000).find(|seed| sees(fault, *seed));
        assert!(seen.is_some(), "no case sees the fault {fault:?}");
        println!("{fault:?} is seen by seed {seen:?}, no longer by {kept}");
    }
}
