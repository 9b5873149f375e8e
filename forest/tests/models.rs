//! Full-size models with the trainer's predictions. They are too large for the repository.
//!
//! These tests run if `SCHEDC_MODELS` names a folder of models. Each model is a folder with `model.json`
//! (`model.txt` for LightGBM), `X_test.npy`, `expected.npy` and perhaps `expected_raw.npy`. A folder `random`
//! has `<m>.json`, `<m>.X.npy` and `<m>.y.npy`. Models of ONNX have `model.onnx`, and predictions of ONNX
//! Runtime.

use std::path::{Path, PathBuf};

use crate::common::{bits, differences, leaves, margins, predictions, read_npy, read_npy_f64};
use sched_forest::{Float, Forest, read, summarize};

fn models() -> Option<PathBuf> {
    let folder = std::env::var_os("SCHEDC_MODELS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: SCHEDC_MODELS is not set");
    }
    folder
}

fn read_model(path: &Path) -> Forest {
    let bytes = std::fs::read(path).unwrap();
    let start = std::time::Instant::now();
    let forest = read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    println!("{}: {} bytes read in {:?}", path.display(), bytes.len(), start.elapsed());
    forest
}

/// Margins and predictions must be equal in all bits.
fn compare(name: &str, forest: &Forest, rows: &[f32], raw: Option<&Path>, expected: &Path) {
    let margins = margins(forest, rows);
    if let Some(raw) = raw {
        assert_eq!(differences(&margins, &read_npy(raw)).0, 0, "{name}: margins differ");
    }
    let (different, most) = differences(&predictions(forest, rows), &read_npy(expected));
    assert_eq!(different, 0, "{name}: predictions differ, by {most} at most");
}

#[test]
fn published_models() {
    let Some(folder) = models() else { return };
    for name in ["higgs", "airline", "epsilon", "abalone", "covtype", "airline-ohe", "letters_small"] {
        let folder = folder.join(name);
        let forest = read_model(&folder.join("model.json"));
        let rows = read_npy(&folder.join("X_test.npy"));
        let raw = folder.join("expected_raw.npy");
        let raw = raw.exists().then_some(raw.as_path());
        compare(name, &forest, &rows, raw, &folder.join("expected.npy"));
        println!("{name}: {} trees are equal in all bits", summarize(&forest).trees);
    }
}

#[test]
fn random_models() {
    let Some(folder) = models() else { return };
    let mut compared = 0;
    for entry in std::fs::read_dir(folder.join("random")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let forest = read_model(&path);
        let rows = path.with_extension("X.npy");
        if !rows.exists() {
            continue;
        }
        let name = path.display().to_string();
        compare(&name, &forest, &read_npy(&rows), None, &path.with_extension("y.npy"));
        compared += 1;
    }
    assert!(compared > 0, "no model in the folder `random` has data");
}

/// Raw scores and predictions are in double precision and must be equal in all bits; rows are in single
/// precision.
#[test]
fn lightgbm_models() {
    let Some(folder) = models() else { return };
    for name in ["lgb_reg_500x63", "lgb_multiclass_zero_missing", "lgb_rf_average"] {
        let folder = folder.join(name);
        let forest = read_model(&folder.join("model.txt"));
        let rows = read_npy(&folder.join("X_test.npy"));
        assert!(
            bits(&margins(&forest, &rows)) == bits(&read_npy_f64(&folder.join("expected_raw.npy"))),
            "{name}: raw scores"
        );
        assert!(
            bits(&predictions(&forest, &rows)) == bits(&read_npy_f64(&folder.join("expected.npy"))),
            "{name}: predictions"
        );
        let narrow = forest.clone().for_rows(Float::F32).with_narrow_thresholds();
        assert!(leaves(&forest, &rows) == leaves(&narrow, &rows), "{name}: thresholds in single precision");
        println!("{name}: {} trees are equal in all bits", forest.trees.len());
    }
}

/// ONNX Runtime added trees in groups where it ran on several threads, so the last digits differ.
#[test]
fn onnx_models() {
    let Some(folder) = models() else { return };
    let cases = [
        ("onnx_higgs", "expected.npy"),
        ("onnx_airline", "expected.npy"),
        ("onnx_abalone", "expected.npy"),
        ("sk_rf_200x12", "expected_ort.npy"),
    ];
    for (name, expected) in cases {
        let folder = folder.join(name);
        let forest = read_model(&folder.join("model.onnx"));
        let rows = read_npy(&folder.join("X_test.npy"));
        let expected = read_npy(&folder.join(expected));
        let predictions: Vec<f32> = predictions(&forest, &rows);
        let (different, most) = differences(&predictions, &expected);
        println!("{name}: {different} of {} differ, by {most} at most", expected.len());
        for (value, expected) in predictions.iter().zip(&expected) {
            assert!(
                (value - expected).abs() <= 2e-5 + 1e-5 * expected.abs(),
                "{name}: {value} is not {expected}"
            );
        }
    }
}
