//! Floating-point modes of callers, for rounding and denormal numbers: predictions do not depend on them, and
//! a call restores them.

use sched_forest::{
    Comparison, Float, Forest, ForestParts, Inner, Leaf, NodeRef, Output as Steps, Predicate, Transform,
    Tree, TreeTarget, Types, predict,
};
use sched_ir::{Budget, compile};
use sched_lang::{CheckOptions, CheckPurpose, check};
use sched_llvm::{
    ArtefactForm, ArtefactOptions, CompiledCode, Cpu, EntryInfo, Jit, Library, PackedResults, PackedRows,
    build,
    runtime::{self, OutputCounts, OutputKind},
};
use sched_testing::forests;
use std::arch::asm;

const FEATURES: usize = 2;
const TREES: u32 = 9;

/// The modes of a thread, without the flags of past exceptions.
fn modes() -> u32 {
    let mut word = 0u32;
    // SAFETY: stores the control word at the pointer's address.
    unsafe { asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack)) };
    word & !0x3f
}

fn set_modes(word: u32) {
    // SAFETY: the words of this file are valid. Only calls of predictors compute while they are set.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &word, options(nostack)) };
}

const DEFAULT: u32 = 0x1f80;
/// Control words under which denormal results and operands are zero, or numbers are rounded down or up.
const OTHERS: [u32; 3] = [DEFAULT | 0xa040, DEFAULT | 0xc000, DEFAULT | 0x8040];

/// The smallest positive number of a type, times a factor.
fn tiny(float: Float, factor: i64) -> f64 {
    match float {
        Float::F32 => f64::from(f32::from_bits(1)) * factor as f64,
        Float::F64 => f64::from_bits(1) * factor as f64,
    }
}

/// Trees that distinguish denormal numbers from each other and from zero, and add numbers that need rounding.
fn forest(float: Float) -> Forest {
    let leaf = |source: u32, value: f64| Leaf { source, values: [value].into() };
    let round = |x: f64| if float == Float::F32 { f64::from(x as f32) } else { x };
    let trees = (0..TREES).map(|source| {
        let inner = Inner {
            feature: source % FEATURES as u32,
            predicate: Predicate::Numeric { threshold: tiny(float, i64::from(source) - 4) },
            missing_left: false,
            left: NodeRef::Leaf(0),
            right: NodeRef::Leaf(1),
        };
        let (small, odd) = (tiny(float, i64::from(source) + 3), round(1.0 / f64::from(source + 3)));
        let values = if source < 4 { [small, -small] } else { [odd, 0.0] };
        let leaves = vec![leaf(1, values[0]), leaf(2, values[1])];
        Tree { root: NodeRef::Inner(0), inner: vec![inner], leaves, target: TreeTarget::One(0), source }
    });
    let types = Types::all(float);
    let value = vec![Transform::Scale { factor: 1.0, bias: vec![0.0] }];
    let parts = ForestParts {
        trees: trees.collect(),
        num_features: FEATURES,
        base: vec![0.0],
        comparison: Comparison::LessOrEqual,
        types,
        output: Steps { value, ..Steps::default() },
        ..ForestParts::default()
    };
    Forest::new(parts).expect("a valid forest")
}

/// Values around the thresholds. Rows with a large second feature add up denormal numbers only.
fn rows(float: Float, count: usize) -> Vec<f64> {
    (0..count * FEATURES)
        .map(|at| if at % 5 == 1 { 1.0 } else { tiny(float, (at as i64 * 7) % 13 - 6) })
        .collect()
}

const SCHEDULES: [&str; 4] = [
    "tile(batch, b0, b1, 8)\nparallel(b0)\n",
    "tile(batch, b0, b1, 32)\nreorder(b0, tree, b1)\nparallel(b0)\nvectorize(b1, 8)\n\
     representation(levels)\n",
    "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nparallel(b0)\nrepresentation(quantized)\n\
     vectorize(b1, 64)\n",
    "parallel(tree)\n",
];

/// A function that predicts rows of the model's type with several threads.
type PredictRows<'a> = &'a dyn Fn(PackedRows, usize, PackedResults);

/// The bits of predictions under some modes of the caller.
fn bits(predict: PredictRows, float: Float, rows: &[f64], word: u32) -> Vec<u64> {
    let n = rows.len() / FEATURES;
    let narrow: Vec<f32> = rows.iter().map(|x| *x as f32).collect();
    let (mut floats, mut doubles) = (vec![0f32; n], vec![0f64; n]);
    set_modes(word);
    match float {
        Float::F32 => predict(PackedRows::F32(&narrow), n, PackedResults::F32(&mut floats)),
        Float::F64 => predict(PackedRows::F64(rows), n, PackedResults::F64(&mut doubles)),
    }
    let after = modes();
    set_modes(DEFAULT);
    assert_eq!(after, word, "the caller's modes have changed");
    match float {
        Float::F32 => floats.into_iter().map(|x| f64::from(x).to_bits()).collect(),
        Float::F64 => doubles.into_iter().map(f64::to_bits).collect(),
    }
}

#[test]
fn predictions_do_not_depend_on_the_modes_of_the_caller() {
    let folder = tempfile::tempdir().expect("a folder");
    for float in [Float::F32, Float::F64] {
        let forest = forest(float);
        let rows = rows(float, 200);
        let mut expected = vec![0f64; 200];
        predict(&forest, &rows, &mut expected).expect("rows of the model");
        let exact: Vec<u64> = expected.iter().map(|x| x.to_bits()).collect();
        assert!(expected.iter().any(|x| *x != 0.0 && x.abs() < tiny(float, 1000)), "no sum is denormal");
        for (number, schedule) in SCHEDULES.into_iter().enumerate() {
            let model = Some(forests::model_info(&forest).into());
            let options = CheckOptions { model, purpose: CheckPurpose::Compile, ..CheckOptions::default() };
            let nest = check(schedule, &options).nest().cloned().expect("a legal schedule");
            let kernels = [OutputKind::Raw, OutputKind::Value];
            let nests = sched_nest::Variants::only(nest);
            let compiled = compile(forest.clone(), None, nests, &kernels, &Budget::default()).expect("LIR");
            let entry = EntryInfo {
                num_features: FEATURES as i32,
                counts: OutputCounts {
                    values: 1,
                    margins: 1,
                    trees: TREES as usize,
                    ..OutputCounts::default()
                },
                trainer_row_type: if float == Float::F64 { runtime::Dtype::F64 } else { runtime::Dtype::F32 },
                ns_per_row: 1e6, // makes several threads take part
                info: "{}".into(),
                feature_names: Vec::new(),
                ..EntryInfo::default()
            };
            let jit = Jit::compile(&compiled.lir, Cpu::Native, &entry, &kernels).expect("code in memory");
            let options = ArtefactOptions {
                prefix: "m".into(),
                cpu: Cpu::Native,
                entry,
                form: ArtefactForm::SharedLibrary,
            };
            let path = folder.path().join(format!("{float:?}{number}.so"));
            std::fs::write(&path, build(&compiled.lir, &options).expect("an artefact")).expect("a file");
            let library = Library::load(&path, "m").expect("a library");
            let in_memory = |rows: PackedRows, n: usize, out: PackedResults| {
                jit.predict(OutputKind::Value, rows, n, out, 4).expect("predictions");
            };
            let in_file = |rows: PackedRows, n: usize, out: PackedResults| {
                library.predict(OutputKind::Value, rows, n, out, 4).expect("predictions");
            };
            let what = |who: &str, word: u32| format!("{who} with {word:#x}, {float:?}\n{schedule}");
            for (who, predict) in [("in memory", &in_memory as PredictRows), ("in a file", &in_file)] {
                // The first call starts the threads.
                for word in OTHERS.into_iter().chain([DEFAULT]) {
                    assert_eq!(bits(predict, float, &rows, word), exact, "{}", what(who, word));
                }
            }
        }
    }
}
