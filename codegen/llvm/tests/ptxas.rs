//! PTX through NVIDIA's assembler, found by `PTXAS` or in the search path. Without it, the test reports that
//! it was skipped.

use crate::launches::{ALL, DIRECT, Named, compiled, examples, model, schedules};
use sched_forest::{Forest, Transform};
use sched_llvm::{Gpu, Ptxas, codes, ptx_text, sass_text};
use sched_testing::forests;
use sched_testing::schedules::Rng;
use std::collections::BTreeSet;

const GPUS: [&str; 2] = ["sm_80", "sm_90"];

/// Seeds of forests whose predictions are logarithms in double precision. Under `four_rows`, `ptxas` spills
/// values of the logarithms if it may choose the number of registers.
const LOGARITHMS_THAT_SPILLED: [u64; 2] = [28, 54];

/// Most bytes that a kernel may store or load for values without a register, if it computes predictions from
/// several margins after its walks. With a limit that leaves more registers, fewer threads would walk.
const MOST_SPILLED_BY_PREDICTIONS: u32 = 20;

/// The example model with all schedules, and forests of every kind of output and type of sums, each with half
/// of the example schedules. Outputs with logarithms have one schedule, apart from forests whose kernels once
/// spilled.
fn models() -> Vec<(String, Forest, Vec<Named>)> {
    let mut all = vec![("breast_cancer".to_string(), model(), schedules())];
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let forest = forests::forest(&mut Rng(seed));
        let kind = (&forest.output.value, forest.types.accumulator, forest.num_margins > 1);
        if seen.insert(format!("{kind:?}")) {
            let examples = examples().into_iter().skip(all.len() % 2).step_by(2);
            all.push((format!("forest {seed}"), forest.clone(), examples.collect()));
        }
        let forest = forests::with_logarithms(&mut Rng(!seed), forest);
        let kind = (&forest.output.value, forest.types.accumulator, "in launches");
        if forest.output.value.iter().any(is_logarithm) && seen.insert(format!("{kind:?}")) {
            all.push((
                format!("logarithms {seed}"),
                forest,
                vec![("direct".to_string(), DIRECT.to_string())],
            ));
        }
    }
    for seed in LOGARITHMS_THAT_SPILLED {
        let forest = forests::with_logarithms(&mut Rng(!seed), forests::forest(&mut Rng(seed)));
        assert!(forest.output.value.iter().any(is_logarithm), "forest {seed}");
        let once_spilled = |(name, _): &Named| {
            ["four_rows", "shared_partial_forest"].iter().any(|spilled| name.contains(spilled))
        };
        all.push((format!("spilled {seed}"), forest, examples().into_iter().filter(once_spilled).collect()));
    }
    all
}

fn is_logarithm(step: &Transform) -> bool {
    matches!(step, Transform::LogOnePlusExp | Transform::Ascending | Transform::Probit)
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
    let (mut kernels, mut problems) = (0, Vec::new());
    for (model, forest, schedules) in models() {
        for (name, schedule) in schedules {
            let Some(compiled) = compiled(&forest, &schedule, &ALL) else { continue };
            for gpu in GPUS.map(|gpu| gpu.parse::<Gpu>().expect("a GPU")) {
                let ptx = ptx_text(&compiled.lir, gpu).expect("PTX");
                let cubin =
                    ptxas.assemble(&ptx, gpu).unwrap_or_else(|e| panic!("{model}, {name}: {e}\n{ptx}"));
                assert_eq!(cubin.kernels.len(), ptx.matches(".entry").count(), "{model}, {name}");
                for kernel in &cubin.kernels {
                    // A table selects the sum that a tree adds to, so several sums need addresses. They are
                    // on the stack.
                    let has_stack = forest.num_margins > 1;
                    let predicts = has_stack && kernel.name.contains("_direct_");
                    let most = if predicts { MOST_SPILLED_BY_PREDICTIONS } else { 0 };
                    let spilled = kernel.spill_store_bytes.max(kernel.spill_load_bytes);
                    let in_registers = kernel.stack_bytes == 0 || has_stack || spilled > 0;
                    if spilled > most || !in_registers || kernel.registers == 0 {
                        problems.push(format!("{model}, {name}, {gpu}: {kernel:?}"));
                    }
                }
                kernels += cubin.kernels.len();
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(kernels > 150, "only {kernels} kernels were assembled");
}

#[test]
fn errors_of_the_assembler_are_quoted() {
    let Some(ptxas) = ptxas() else { return };
    let error = ptxas.assemble(".version 7.0\n.target sm_80\nno PTX\n", Gpu::default()).expect_err("no PTX");
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
    let gpu = Gpu::default();
    let sass = sass_text(&ptx_text(&lir, gpu).expect("PTX"), gpu).expect("SASS");
    assert!(sass.contains(".text.schedc_raw_b0:") && sass.contains("LDG.E"), "{sass}");
}
