//! Small Treelite checkpoints, made by `fixtures/make_treelite.py`: margins must be those of Treelite's
//! evaluator bit for bit. Predictions must be near Treelite's, and near scikit-learn's for its models.
use std::path::Path;

use crate::common::{damaged, expected, files, fixtures, floats, leaves, margins, predictions};
use sched_forest::{
    Comparison, Float, Forest, Iterations, ReadOptions, predict, read, read_with, write_treelite,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    rows: Vec<u64>,
    margins: Vec<u64>,
    predictions: Vec<u64>,
    leaves: Vec<u32>,
    own: Vec<u64>,
}

fn model(name: &str) -> Vec<u8> {
    std::fs::read(fixtures("treelite").join(name)).unwrap()
}

fn close(name: &str, what: &str, ours: &[f64], theirs: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), theirs.len(), "{name}: {what}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        let near = (ours - theirs).abs() <= tolerance * theirs.abs().max(1.0);
        assert!(near || ours.to_bits() == theirs.to_bits(), "{name}: {what}: {ours} {theirs}");
    }
}

fn outputs(forest: &Forest, rows: &[f64]) -> (Vec<f64>, Vec<f64>) {
    (margins(forest, rows), predictions(forest, rows))
}

fn check_model(path: &Path) {
    let name = path.file_stem().unwrap().to_str().unwrap();
    let expected: Expected = expected(path);
    let forest = read(&std::fs::read(path).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let rows = floats(&expected.rows);
    let (margins, predictions) = outputs(&forest, &rows);
    // For models in single precision, Treelite adds a base score in double precision. The model of this name
    // has one that is not exact in single precision.
    let tolerance = if name == "base-rounded" { 1e-7 } else { 0.0 };
    close(name, "margins", &margins, &floats(&expected.margins), tolerance);
    let last = match forest.types.accumulator {
        Float::F32 => 2e-7,
        // Treelite computes the softmax partly in single precision.
        Float::F64 if name == "gb-classes" || name == "hgb-classes" => 2e-7,
        Float::F64 => 1e-15,
    };
    close(name, "predictions", &predictions, &floats(&expected.predictions), last);
    if !expected.own.is_empty() {
        // A checkpoint holds the divisor of an isolation forest in single precision.
        let tolerance = if name == "isolation" { 1e-7 } else { 1e-14 };
        close(name, "scikit-learn", &predictions, &floats(&expected.own), tolerance);
    }
    assert_eq!(leaves(&forest, &rows), expected.leaves, "{name}: leaves");
}

#[test]
fn numbers_are_those_of_treelite() {
    let models: Vec<_> = files(&fixtures("treelite"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|it| it == "tl"))
        .collect();
    assert!(models.len() >= 33, "{}", models.len());
    models.iter().for_each(|path| check_model(path));
}

#[test]
fn one_kind_of_comparison_stays_as_it_is() {
    let read = |name| read(&model(name)).unwrap();
    assert_eq!(read("one-operator-float32.tl").comparison, Comparison::Less);
    assert_eq!(read("rf-regressor.tl").comparison, Comparison::LessOrEqual);
    assert_eq!(read("operators-float64.tl").comparison, Comparison::LessOrEqual);
}

#[test]
fn an_iteration_has_a_tree_for_each_output() {
    let bytes = model("gb-classes.tl");
    let whole = read(&bytes).unwrap();
    assert_eq!((whole.trees.len(), whole.iteration_starts.clone()), (9, vec![0, 3, 6, 9]));
    let options = ReadOptions { iterations: Iterations::Range(1, 2), ..ReadOptions::default() };
    let slice = read_with(&bytes, &options).unwrap();
    assert_eq!(slice.trees[..], whole.trees[3..6]);
}

#[test]
fn an_average_is_over_the_trees_that_are_used() {
    let options = ReadOptions { iterations: Iterations::Range(0, 1), ..ReadOptions::default() };
    let bytes = model("rf-targets.tl");
    let (one, all) = (read_with(&bytes, &options).unwrap(), read(&bytes).unwrap());
    let leaf = all.leaf(&all.trees[0], &all.row_values(&[0.0f64; 4]));
    let mut out = [0.0; 2];
    predict(&one, &[0.0f64; 4], &mut out).unwrap();
    assert_eq!(out, leaf.values[..]);
}

/// A model without the trainer's numbers of leaves, which checkpoints do not hold.
fn unnumbered(forest: Forest) -> Forest {
    let mut parts = forest.into_parts();
    for tree in &mut parts.trees {
        tree.leaves.iter_mut().for_each(|leaf| leaf.source = 0);
    }
    Forest::new(parts).unwrap()
}

#[test]
fn written_models_are_read_unchanged() {
    let models =
        files(&fixtures("treelite")).into_iter().filter(|path| path.extension().is_some_and(|it| it == "tl"));
    let mut written = 0;
    for path in models {
        let forest = read(&std::fs::read(&path).unwrap()).unwrap();
        if path.file_stem().is_some_and(|name| name == "rf-labels") {
            continue; // Its targets have different numbers of classes.
        }
        let bytes = write_treelite(&forest).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(unnumbered(read(&bytes).unwrap()), unnumbered(forest), "{}", path.display());
        if let Some(folder) = std::env::var_os("SCHEDC_WRITTEN") {
            std::fs::write(Path::new(&folder).join(path.file_name().unwrap()), bytes).unwrap();
        }
        written += 1;
    }
    assert!(written > 30);
}

#[test]
fn other_trainers_models_are_written_or_refused() {
    let xgboost = read(&std::fs::read(fixtures("3.2.0/multi-softprob.json")).unwrap()).unwrap();
    let same = read(&write_treelite(&xgboost).unwrap()).unwrap();
    let rows: Vec<f64> = (0..40).map(|at| f64::from(at % 7) - 3.0).collect();
    close("multi-softprob", "margins", &outputs(&same, &rows).0, &outputs(&xgboost, &rows).0, 1e-6);
    close("multi-softprob", "predictions", &outputs(&same, &rows).1, &outputs(&xgboost, &rows).1, 1e-6);
    for name in ["catboost/rmse.json", "catboost/logloss.json"] {
        let forest = read(&std::fs::read(fixtures(name)).unwrap()).unwrap();
        let error = write_treelite(&forest).unwrap_err();
        assert!(error.code.to_string() == "M0052" && error.help.is_some(), "{error}");
    }
}

#[test]
fn damaged_models_are_errors() {
    for name in ["rf-labels.tl", "categories-float64.tl", "operators-float32.tl", "gb-binary.tl"] {
        damaged(&model(name));
    }
}

#[test]
fn small_faults_have_their_codes() {
    let bytes = model("operators-float32.tl");
    let changed = |at: usize, new: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        read(&bytes).unwrap_err()
    };
    let postprocessor = bytes.windows(8).position(|part| part == b"identity").unwrap();
    for (at, new, code, place) in [
        (0, &[3u8][..], "M0051", "major_ver"),
        (12, &[2, 1], "M0009", "threshold_type"),
        (14, &[255], "M0003", "byte"),
        (22, &[0], "M0009", "num_feature"),
        (26, &[9], "M0009", "task_type"),
        (28, &[2], "M0010", "num_class"),
        (postprocessor, b"identitx", "M0008", "postprocessor"),
    ] {
        let error = changed(at, new);
        assert_eq!(error.code.to_string(), code, "{error}");
        assert!(error.place.to_string().contains(place), "{error}");
    }
    let error = read(&bytes[..bytes.len() - 1]).unwrap_err();
    assert_eq!(error.code.to_string(), "M0003", "{error}");
}
