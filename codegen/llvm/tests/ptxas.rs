//! PTX through NVIDIA's own assembler, where there is one: named by `PTXAS`, or in the search path. Without it the test
//! says that it was left out.

#![allow(clippy::panic, clippy::expect_used)]

use sched_ir::lir::KernelKind;
use sched_ir::{Budget, compile};
use sched_lang::{Options, Supported, Target, check};
use sched_llvm::{Gpu, ptx_text};
use sched_testing::forests;
use sched_testing::schedules::Rng;
use std::path::PathBuf;
use std::process::Command;

fn ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("PTXAS").map(PathBuf::from);
    let found = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|folder| folder.join("ptxas")).find(|file| file.is_file())
    };
    named.or_else(found)
}

fn ptx(seed: u64, schedule: &str, gpu: Gpu) -> String {
    let forest = forests::forest(&mut Rng(seed));
    let options = Options {
        model: Some(forests::info(&forest).into()),
        supported: Supported::Everything,
        target: Some(Target::gpu()),
        ..Options::default()
    };
    let nest = check(schedule, &options).nests.expect("the schedule is legal");
    let kernels = [KernelKind::Raw, KernelKind::Leaf];
    let compiled = compile(forest, None, nest, &kernels, &Budget::default()).expect("there is code for it");
    ptx_text(&compiled.lir, gpu).expect("PTX")
}

#[test]
fn kernels_assemble_without_spills() {
    let Some(ptxas) = ptxas() else {
        println!("left out: ptxas is not in the search path, and PTXAS names none");
        return;
    };
    let direct = "tile(batch, b0, b1, 128)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";
    let more = [
        "",
        "cache(b0)",
        "representation(sparse)\ninterleave(tree, 2)",
        "cache(b0)\nrepresentation(quantized)",
        "cache(b0)\nrepresentation(preorder)",
        "tile(tree, t0, t1, 2)\ngpuDimension(t0, block.y)",
        "tile(tree, t0, t1, 2)\ngpuDimension(t0, block.y)\nsharedReduce(t0)",
        "tile(tree, t0, t1, 2)\ncache(t0)",
        "cache(b0)\ntile(tree, t0, t1, 2)\ncache(t0)\nrepresentation(quantized)",
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for (number, more) in more.iter().enumerate() {
        for name in ["sm_80", "sm_90"] {
            let gpu: Gpu = name.parse().expect("a GPU");
            let (source, object) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
            std::fs::write(&source, ptx(5 + number as u64, &format!("{direct}{more}\n"), gpu))
                .expect("a file");
            let mut command = Command::new(&ptxas);
            command.args(["-v", "-arch", name, "-o"]).arg(&object).arg(&source);
            let output = command.output().expect("ptxas runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{more}: {said}");
            let spills =
                said.lines().find(|line| line.contains("spill") && !line.contains(" 0 bytes spill stores"));
            assert_eq!(spills, None, "{more}: {said}");
            println!(
                "{name} {more:?}: {}",
                said.lines().filter(|line| line.contains("Used")).collect::<Vec<_>>().join("; ")
            );
        }
    }
}
