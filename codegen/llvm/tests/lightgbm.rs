//! Compiled code compared with models and predictions that LightGBM wrote, under schedules of all layouts,
//! for rows of each type.

use sched_forest::{Float, Forest, load, predict_margins};
use sched_ir::{Budget, compile};
use sched_lang::{CheckOptions, CheckPurpose, check};
use sched_llvm::runtime::{Dtype, OutputKind};
use sched_llvm::{CompiledCode, Cpu, EntryInfo, Jit, PackedResults, PackedRows};
use sched_nest::Variants;
use sched_testing::{forests, in_turn};
use std::path::{Path, PathBuf};

/// Fixtures for parts of the format: missing values, categories, linear leaves.
const FIXTURES: [&str; 9] = [
    "linear",
    "linear-classes",
    "linear-single-leaf",
    "edge-nan",
    "edge-none",
    "edge-zero",
    "missing-mixed",
    "categorical-missing",
    "multiclass",
];

const SCHEDULES: [&str; 10] = [
    "\n",
    "representation(sparse)\ninterleave(tree, 2)\n",
    "representation(sparse)\nvectorize(tree, 4)\n",
    "representation(preorder)\n",
    "representation(hybrid)\n",
    "tile(batch, b0, b1, 32)\nreorder(b0, tree, b1)\nrepresentation(hybrid)\nvectorize(b1, 8)\n",
    "tile(batch, b0, b1, 32)\nreorder(b0, tree, b1)\nrepresentation(array)\nvectorize(b1, 8)\n",
    "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation(levels)\nvectorize(b1, 8)\n\
     interleave(b1, 2)\nunrollAndJam(tree)\n",
    "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nparallel(b0)\nrepresentation(quantized)\n\
     vectorize(b1, 64)\n",
    "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation(preorder)\n\
     vectorize(b1, 16)\n",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../forest/tests/fixtures/lightgbm")
}

/// The first list of numbers with this name in a JSON text. The numbers are the bits of floats.
fn floats(text: &str, name: &str) -> Vec<f64> {
    let (_, list) = text.split_once(&format!("\"{name}\":[")).expect("the list is there");
    let (list, _) = list.split_once(']').expect("the list ends");
    list.split(',').map(|bits| f64::from_bits(bits.trim().parse().expect("bits"))).collect()
}

/// Code for rows of a type.
fn code(forest: &Forest, schedule: &str, rows: Float) -> Jit {
    let model = Some(forests::model_info(forest).into());
    let options = CheckOptions { model, purpose: CheckPurpose::Compile, ..CheckOptions::default() };
    let nest = check(schedule, &options).nest().cloned().expect("a legal schedule");
    let nests = Variants::only(nest);
    let of_rows = forest.clone().for_rows(rows);
    let compiled = compile(of_rows, None, nests, &[OutputKind::Raw], &Budget::default()).expect("LIR");
    let entry = EntryInfo {
        num_features: forest.num_features as i32,
        counts: forest.counts(),
        trainer_row_type: Dtype::F64,
        ns_per_row: 1e6,
        info: "{}".to_string(),
        feature_names: Vec::new(),
        ..EntryInfo::default()
    };
    Jit::compile(&compiled.lir, Cpu::Native, &entry, &[OutputKind::Raw]).expect("code")
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn sums_are_those_of_lightgbm() {
    let mut linear = 0;
    for (fixture, name) in FIXTURES.into_iter().enumerate() {
        let read = |end: &str| std::fs::read(folder().join(format!("{name}.{end}"))).expect("a fixture");
        let forest = load(&read("txt"), &Default::default()).expect("a model").forest;
        linear += usize::from(forest.has_linear_leaves());
        let text = String::from_utf8(read("expected.json")).expect("text");
        let (wide, expected) = (floats(&text, "rows"), floats(&text, "margins"));
        let narrow: Vec<f32> = wide.iter().map(|x| *x as f32).collect();
        let mut of_narrow = vec![0.0; expected.len()];
        predict_margins(&forest, &narrow, &mut of_narrow).expect("rows of the model");
        let n = wide.len() / forest.num_features;
        for (number, schedule) in SCHEDULES.into_iter().enumerate() {
            let types = [
                (Float::F64, PackedRows::F64(&wide), &expected),
                (Float::F32, PackedRows::F32(&narrow), &of_narrow),
            ];
            for (float, rows, sums) in in_turn(fixture + number, &types) {
                let mut out = vec![0.0; expected.len()];
                let code = code(&forest, schedule, *float);
                code.predict(OutputKind::Raw, *rows, n, PackedResults::F64(&mut out), 2).expect("sums");
                assert_eq!(bits(&out), bits(sums), "{name}, rows of {float:?}\n{schedule}");
            }
        }
    }
    assert_eq!(linear, 2, "fixtures with linear leaves");
}
