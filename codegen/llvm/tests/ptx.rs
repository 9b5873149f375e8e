//! Launches as PTX: kernels with their parameters and limits, and arithmetic that rounds as on a processor.

use crate::launches;
use sched_forest::Forest;
use sched_ir::lir::OutputKind;
use sched_ir::{Budget, Compiled, compile};
use sched_lang::{CheckOptions, CheckPurpose, Target, check};
use sched_llvm::{Gpu, Ptxas, codes, ptx_text};
use sched_testing::forests;
use sched_testing::schedules::Rng;

const DIRECT: &str = "tile(batch, b0, b1, 256)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";

fn compiled(seed: u64, schedule: &str) -> Compiled {
    of_forest(forests::forest(&mut Rng(seed)), schedule)
}

fn of_forest(forest: Forest, schedule: &str) -> Compiled {
    let options = CheckOptions {
        model: Some(forests::model_info(&forest).into()),
        purpose: CheckPurpose::Display,
        target: Some(Target::gpu()),
        ..CheckOptions::default()
    };
    let nest = check(schedule, &options).nests.expect("the schedule is legal");
    compile(forest, None, nest, &[OutputKind::Raw, OutputKind::Leaf], &Budget::default())
        .expect("there is code for it")
}

fn gpu(name: &str) -> Gpu {
    name.parse().expect("a GPU")
}

#[test]
fn a_launch_is_a_kernel() {
    let module = compiled(5, DIRECT).lir;
    for (name, version) in [("sm_60", "7.0"), ("sm_80", "7.0"), ("sm_90", "7.8"), ("sm_120", "7.8")] {
        let ptx = ptx_text(&module, gpu(name)).expect("PTX");
        let target = if name == "sm_120" { "sm_90" } else { name };
        assert!(
            ptx.contains(&format!(".target {target}")) && ptx.contains(&format!(".version {version}")),
            "{ptx}"
        );
        for kernel in ["schedc_raw_b0", "schedc_leaf_b0"] {
            assert!(ptx.contains(&format!(".visible .entry {kernel}(")), "{ptx}");
        }
        assert!(ptx.contains(".maxntid 256, 1, 1"), "{ptx}");
        assert!(ptx.contains("%ctaid.x") && ptx.contains("%tid.x"), "{ptx}");
    }
}

#[test]
fn loads_of_tables_and_rows_are_marked_invariant() {
    let ptx = ptx_text(&compiled(5, DIRECT).lir, Gpu::default()).expect("PTX");
    assert!(ptx.contains("ld.global.nc."), "{ptx}");
    assert!(ptx.contains("st.global."), "{ptx}");
    let generic =
        |line: &&str| line.trim_start().starts_with("ld.f") || line.trim_start().starts_with("ld.u");
    assert_eq!(ptx.lines().find(generic), None, "{ptx}");
}

/// Sums of several rows of a thread, also across loops over trees.
#[test]
fn sums_of_threads_are_in_registers() {
    let rows = "tile(batch, b0, rest, 64)\ntile(rest, b1, b2, 2)\ntile(tree, t0, t1, 3)\n\
                reorder(b0, b1, t0, t1, b2)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";
    let cases = [
        DIRECT.to_string(),
        format!("{DIRECT}split(tree, ta, tb, 1)\ntile(tb, t0, t1, 2)\ncache(t0)\n"),
        format!("{rows}interleave(b2, 2)\n"),
        format!("{rows}gpuDimension(t0, block.y)\nsharedReduce(t0)\ncache(b0)\n"),
    ];
    for schedule in cases {
        let (forest, _) = forests::complete_with_rows(4, 6, 3);
        let ptx = ptx_text(&of_forest(forest, &schedule).lir, Gpu::default()).expect("PTX");
        assert!(!ptx.contains(".local"), "{schedule}{ptx}");
    }
}

/// Rows that would fit a vector register of a processor do not fit a register of a GPU's thread.
#[test]
fn short_rows_are_read_from_memory() {
    for (features, tile) in [(5, 2), (8, 3)] {
        let (forest, _) = forests::complete_with_rows(features, 6, 3);
        let schedule = format!("{DIRECT}tileTrees({tile})\nrepresentation(sparse)\n");
        let ptx = ptx_text(&of_forest(forest, &schedule).lir, Gpu::default()).expect("PTX");
        assert!(ptx.contains(".entry") && !ptx.contains(".local"), "{schedule}{ptx}");
    }
}

#[test]
fn nothing_is_fused_and_nothing_flushed_to_zero() {
    for seed in 0..20 {
        let ptx = ptx_text(&compiled(seed, DIRECT).lir, Gpu::default()).expect("PTX");
        let fused = |line: &&str| line.contains("fma.") || line.contains(".ftz");
        assert_eq!(ptx.lines().find(fused), None, "{ptx}");
    }
}

#[test]
fn launches_of_a_loop_of_the_host_take_its_variable() {
    let schedule = "tile(tree, t0, t1, 2)\ntile(batch, b0, b1, 32)\nreorder(t0, b0, b1, t1)\n\
                    gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";
    let module = compiled(5, schedule).lir;
    let ptx = ptx_text(&module, Gpu::default()).expect("PTX");
    let kernels: Vec<&str> = ptx.lines().filter(|line| line.contains(".entry")).collect();
    let wanted = "for margins, leaf indices and columns, and none for base values";
    assert_eq!(kernels.len(), 3, "{wanted}: {kernels:?}");
    assert!(ptx.contains(".param .u32"), "{ptx}");
}

#[test]
fn gpus_have_names() {
    assert_eq!(gpu("sm_90").to_string(), "sm_90");
    assert_eq!(Gpu::default().to_string(), "sm_80");
    for name in ["sm_", "sm_50", "sm_62", "sm_9000", "gfx90", "90", ""] {
        let error = name.parse::<Gpu>().expect_err("no such GPU");
        assert_eq!(error.code, codes::UNKNOWN_CPU);
    }
}

#[test]
fn copies_and_slots_are_in_shared_memory_after_barriers() {
    let trees = "tile(tree, t0, t1, 2)\n";
    for more in [
        "cache(b0)".to_string(),
        "cache(b0)\nrepresentation(quantized)".to_string(),
        "cache(b0)\nrepresentation(preorder)".to_string(),
        "cache(b0)\nrepresentation(hybrid)".to_string(),
        format!("{trees}cache(t0)"),
        format!("{trees}gpuDimension(t0, block.y)\nsharedReduce(t0)"),
    ] {
        let ptx = ptx_text(&compiled(5, &format!("{DIRECT}{more}\n")).lir, gpu("sm_90")).expect("PTX");
        for word in [".shared .align 64", "ld.shared.", "st.shared.", "bar.sync"] {
            assert!(ptx.contains(word), "{more}: no {word}\n{ptx}");
        }
    }
}

/// The last block of a group orders its reads of slots after the other blocks' writes. It must not read slots
/// through a cache that is not coherent.
#[test]
fn the_last_block_folds_behind_fences() {
    let schedule = "tile(batch, b0, b1, 32)\ntile(tree, t0, t1, 2)\nreorder(b0, t0, b1, t1)\n\
                    gpuDimension(b0, grid.x)\ngpuDimension(t0, grid.y)\ngpuDimension(b1, block.x)\n";
    let module = compiled(5, schedule).lir;
    for (name, fence) in
        [("sm_60", "membar.gl"), ("sm_80", "fence.acq_rel.gpu"), ("sm_90", "fence.acq_rel.gpu")]
    {
        let ptx = ptx_text(&module, gpu(name)).expect("PTX");
        let kernels: Vec<&str> = ptx.lines().filter(|line| line.contains(".entry")).collect();
        assert_eq!(
            kernels.len(),
            3,
            "for margins, leaf indices and columns, and none for folds: {kernels:?}"
        );
        let start = ptx.find(".entry schedc_raw_b0(").expect("the kernel of margins");
        let kernel = &ptx[start..];
        let kernel = &kernel[..kernel.find("\n}").expect("its end")];
        let lines: Vec<&str> = kernel.lines().map(str::trim).collect();
        let all = |word: &str| -> Vec<usize> {
            let has = |(at, line): (usize, &&str)| line.contains(word).then_some(at);
            lines.iter().enumerate().filter_map(has).collect()
        };
        let (fences, barriers, counts) = (all(fence), all("bar.sync"), all("atom.global.add.u32"));
        let stores = all("st.global.");
        let plain = |at: &usize| !lines[*at].contains("ld.global.nc.");
        let slots: Vec<usize> = all("ld.global.").into_iter().filter(plain).collect();
        let ([release, acquire], [count]) = (fences.as_slice(), counts.as_slice()) else {
            panic!("{fences:?} {counts:?}\n{kernel}")
        };
        let between = |from: usize, to: usize| barriers.iter().any(|at| from < *at && *at < to);
        let (stored, read) = (stores[0], *slots.last().expect("slots are read"));
        let in_order = stored < *release && release < count && count < acquire && *acquire < read;
        assert!(in_order && slots.iter().all(|at| at > acquire), "{kernel}");
        let waits = [(stored, *release), (*release, *count), (*count, *acquire), (*acquire, read)];
        assert!(waits.into_iter().all(|(from, to)| between(from, to)), "{kernel}");
    }
}

#[test]
fn atomic_additions_are_instructions() {
    let schedule = "tile(batch, b0, b1, 32)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n\
                    tile(tree, t0, t1, 2)\ngpuDimension(t0, block.y)\natomicReduce(t0)\n";
    let ptx = ptx_text(&compiled(5, schedule).lir, Gpu::default()).expect("PTX");
    assert!(ptx.contains("atom.global.add.f") || ptx.contains("red.global.add.f"), "{ptx}");
}

/// A kernel's code may declare at most 48 KiB of shared memory, so the host requests the memory.
#[test]
fn the_host_requests_shared_memory() {
    let forest = launches::model();
    for threads in [256, 512] {
        let schedule = format!(
            "tile(batch, b0, b1, {threads})\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ncache(b0)\n"
        );
        let compiled =
            launches::compiled(&forest, &schedule, &launches::WALKS).expect("the schedule is legal");
        let ptx = ptx_text(&compiled.lir, Gpu::default()).expect("PTX");
        assert!(ptx.contains(".extern .shared .align 64 .b8 schedc_shared[]"), "{ptx}");
        if let Some(ptxas) = Ptxas::find() {
            let kernels = ptxas.assemble(&ptx, Gpu::default()).expect("machine code").kernels;
            assert!(kernels.iter().all(|kernel| kernel.shared_bytes == 0), "{kernels:?}");
        }
    }
}
