//! One model of each objective as a shared library, compared with the reference walker. LLVM's linker in this
//! program (feature `lld`) or the C toolchain links the library.

use sched_forest::{Float, Forest};
use sched_ir::{Budget, compile};
use sched_lang::{CheckOptions, check};
use sched_llvm::runtime::{Dtype, OutputKind};
use sched_llvm::{
    ArtefactForm, CompiledCode, Cpu, EntryInfo, Library, ModelVersion, PackedResults, PackedRows,
    build_versions,
};
use sched_testing::forests;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const ROWS: usize = 20;

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true if path.ends_with("refused") => {}
            true => files(&path, all),
            false => all.push(path),
        }
    }
}

/// One model of the fixtures for each objective, type and transformation of sums.
fn models() -> BTreeMap<String, (PathBuf, Forest)> {
    let mut all = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../forest/tests/fixtures"), &mut all);
    all.sort();
    let mut models = BTreeMap::new();
    for path in all {
        let Ok(forest) = sched_forest::read(&fs::read(&path).expect("a file")) else { continue };
        // Models with sets of categories are left out: some sets are too large for the tables.
        if !forest.sets.is_empty() {
            continue;
        }
        let (types, output) = (&forest.types, &forest.output);
        let key = format!("{} {types:?} {:?} {:?}", forest.objective, output.raw, output.value);
        models.entry(key).or_insert((path, forest));
    }
    models
}

/// A model as a library in a separate file.
fn library(path: &Path, forest: &Forest) -> Library {
    let options = CheckOptions { model: Some(forests::model_info(forest).into()), ..CheckOptions::default() };
    let nests = check("", &options).nests.expect("the plain nest");
    let kinds = [OutputKind::Raw, OutputKind::Value];
    let module = compile(forest.clone(), None, nests, &kinds, &Budget::default()).expect("kernels").lir;
    let entry = EntryInfo {
        num_features: forest.num_features as i32,
        counts: forest.counts(),
        trainer_row_type: if forest.types.input == Float::F64 { Dtype::F64 } else { Dtype::F32 },
        ns_per_row: 100.0,
        info: "{}".to_string(),
        ..EntryInfo::default()
    };
    let version = ModelVersion { module: &module, cpu: Cpu::X86_64V2, entry: &entry, launches: None };
    let bytes = build_versions(&[version], "m", ArtefactForm::SharedLibrary).expect("a library");
    fs::write(path, bytes).expect("a file");
    Library::load(path, "m").expect("the library")
}

/// Predictions of a library and of the reference, widened.
fn predictions(library: &Library, forest: &Forest, rows: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let count = ROWS * forest.value_columns();
    let narrow: Vec<f32> = rows.iter().map(|x| *x as f32).collect();
    let wide: Vec<f64> = narrow.iter().map(|x| f64::from(*x)).collect();
    let given = match forest.types.input {
        Float::F32 => PackedRows::F32(&narrow),
        Float::F64 => PackedRows::F64(&wide),
    };
    let mut expected = vec![0.0_f64; count];
    sched_forest::predict(forest, &wide, &mut expected).expect("the reference");
    let found = match library.output_type(OutputKind::Value) {
        Dtype::F64 => {
            let mut found = vec![0.0_f64; count];
            library
                .predict(OutputKind::Value, given, ROWS, PackedResults::F64(&mut found), 1)
                .expect("predictions");
            found
        }
        _ => {
            let mut found = vec![0.0_f32; count];
            library
                .predict(OutputKind::Value, given, ROWS, PackedResults::F32(&mut found), 1)
                .expect("predictions");
            found.into_iter().map(f64::from).collect()
        }
    };
    (found, expected)
}

#[test]
fn models_of_all_objectives_become_libraries() {
    let (models, mut steps) = (models(), BTreeSet::new());
    let folder = tempfile::tempdir().expect("a folder");
    for (number, (key, (path, forest))) in models.iter().enumerate() {
        let library = library(&folder.path().join(format!("{number}.so")), forest);
        let rows: Vec<f64> =
            (0..ROWS * forest.num_features).map(|at| (at * 7 % 23) as f64 / 4.0 - 2.0).collect();
        let (found, expected) = predictions(&library, forest, &rows);
        let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&expected), "{key}: {}", path.display());
        steps.extend(forest.output.raw.iter().chain(&forest.output.value).map(|step| step.name()));
    }
    let wanted = "argmax ascending average complement exp exp2 hinge log1p_exp probit scale sigmoid \
                  signed_square softmax softmax_zero";
    let missing: Vec<&str> = wanted.split(' ').filter(|step| !steps.contains(step)).collect();
    assert!(missing.is_empty(), "no model has {missing:?}, of {} models", models.len());
}
