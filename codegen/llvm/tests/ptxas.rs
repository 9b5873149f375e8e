//! PTX through NVIDIA's own assembler, where there is one: named by `PTXAS`, or in the search path. Without it the test
//! says that it was left out.

#![allow(clippy::panic, clippy::expect_used)]

mod launches;

use launches::{ALL, DIRECT, compiled, examples, model};
use sched_forest::Forest;
use sched_llvm::{Gpu, Ptxas, codes, ptx_text, sass_text};
use sched_testing::forests;
use sched_testing::schedules::Rng;
use std::collections::BTreeSet;

const GPUS: [&str; 2] = ["sm_80", "sm_90"];

/// A schedule by name.
type Named = (String, String);

/// Schedules of every way to store and to walk trees.
fn schedules() -> Vec<Named> {
    let more = [
        "",
        "cache(b0)",
        "representation(sparse)\ninterleave(tree, 2)",
        "representation(levels)",
        "cache(b0)\nrepresentation(quantized)",
        "cache(b0)\nrepresentation(preorder)",
        "tile(tree, t0, t1, 2)\ngpuDimension(t0, block.y)",
        "tile(tree, t0, t1, 2)\ngpuDimension(t0, block.y)\natomicReduce(t0)",
        "tile(tree, t0, t1, 2)\nunrollWalk(t1, 2)",
    ];
    let mut all = examples();
    all.extend(more.map(|more| (more.replace('\n', "; "), format!("{DIRECT}{more}\n"))));
    all
}

/// The example model, and a forest of every kind of output and type of sums. The first ones meet all schedules, the
/// others the examples.
fn models() -> Vec<(String, Forest, Vec<Named>)> {
    let mut all = vec![("breast_cancer".to_string(), model(), schedules())];
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let forest = forests::forest(&mut Rng(seed));
        let kind = (forest.transform, forest.types.accumulator, forest.num_margins > 1);
        if seen.insert(format!("{kind:?}")) {
            let schedules = if all.len() < 3 { schedules() } else { examples() };
            all.push((format!("forest {seed}"), forest, schedules));
        }
    }
    all
}

fn ptxas() -> Option<Ptxas> {
    let found = Ptxas::find();
    if found.is_none() {
        println!("left out: ptxas is not in the search path, and PTXAS names none");
    }
    found
}

#[test]
fn kernels_assemble_without_spills() {
    let Some(ptxas) = ptxas() else { return };
    let mut kernels = 0;
    for (model, forest, schedules) in models() {
        for (name, schedule) in schedules {
            let Some(compiled) = compiled(&forest, &schedule, &ALL) else { continue };
            for gpu in GPUS.map(|gpu| gpu.parse::<Gpu>().expect("a GPU")) {
                let ptx = ptx_text(&compiled.lir, gpu).expect("PTX");
                let cubin =
                    ptxas.assemble(&ptx, gpu).unwrap_or_else(|e| panic!("{model}, {name}: {e}\n{ptx}"));
                assert_eq!(cubin.kernels.len(), ptx.matches(".entry").count(), "{model}, {name}");
                for kernel in &cubin.kernels {
                    let spills = (kernel.stack_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes);
                    assert_eq!(spills, (0, 0, 0), "{model}, {name}, {gpu}: {kernel:?}");
                    assert!(kernel.registers > 0, "{model}, {name}, {gpu}: {kernel:?}");
                }
                kernels += cubin.kernels.len();
            }
        }
    }
    assert!(kernels > 300, "only {kernels} kernels were assembled");
}

#[test]
fn what_the_assembler_refuses_is_quoted() {
    let Some(ptxas) = ptxas() else { return };
    let error = ptxas.assemble(".version 7.0\n.target sm_80\nno PTX\n", Gpu::DEFAULT).expect_err("no PTX");
    assert_eq!(error.code, codes::TOOL_FAILED);
    assert!(error.message.contains("`ptxas` fails") && error.message.contains("kernels.ptx"), "{error}");
}

#[test]
fn machine_code_has_a_text() {
    let Some(ptxas) = ptxas() else { return };
    if ptxas.disassembler().is_none() {
        println!("left out: nvdisasm is not beside ptxas, and NVDISASM names none");
        return;
    }
    let lir = compiled(&model(), DIRECT, &ALL).expect("the schedule is legal").lir;
    let gpu = Gpu::DEFAULT;
    let sass = sass_text(&ptx_text(&lir, gpu).expect("PTX"), gpu).expect("SASS");
    assert!(sass.contains(".text.schedc_raw_b0:") && sass.contains("LDG.E"), "{sass}");
}
