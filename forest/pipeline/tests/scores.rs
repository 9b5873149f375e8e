//! Compares linear models with those whose scores are computed columns, and checks the names of the steps
//! that their sums belong to.

use sched_columns::Expr;
use sched_forest::{Forest, ReadOptions, predict};
use sched_pipeline::{PassFault, load, score_terms, scores_as_columns, with_pass_fault};
use std::fs;
use std::path::{Path, PathBuf};

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let files = fs::read_dir(folder).expect("a folder of fixtures").map(|file| file.expect("a file").path());
    let mut models: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "onnx")).collect();
    models.sort();
    models
}

fn forest(model: &Path) -> Forest {
    load(&fs::read(model).expect("a model"), &ReadOptions::default()).expect("a model").model.forest
}

/// Predictions for rows of numbers of both signs, some of them missing.
fn predictions(forest: &Forest) -> Vec<u64> {
    let value = |at: usize| match at % 13 {
        0 => f64::NAN,
        at => (at as f64 - 6.4) * 0.37,
    };
    let rows: Vec<f64> = (0..40 * forest.num_features).map(|at| value(at * 7 + at / 5)).collect();
    let mut out = vec![0.0f64; 40 * forest.output.columns(forest.num_margins)];
    predict(forest, &rows, &mut out).expect("whole rows");
    out.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn scores_that_are_columns_have_the_same_bits() {
    let (mut linear, mut wrong) = (0, 0);
    for model in fixtures() {
        let Ok(loaded) = load(&fs::read(&model).expect("a model"), &ReadOptions::default()) else { continue };
        let forest = loaded.model.forest;
        let Some(terms) = score_terms(&forest) else {
            assert!(scores_as_columns(&forest).is_none());
            continue;
        };
        let columns = || scores_as_columns(&forest).expect("scores").expect("a forest");
        let with_columns = columns();
        assert_eq!(with_columns.computed.read_by_trees.len(), forest.trees.len());
        assert!(terms > 0);
        assert_eq!(predictions(&with_columns), predictions(&forest), "{}", model.display());
        let broken = with_pass_fault(PassFault::ScoreLosesTerm, columns);
        wrong += usize::from(predictions(&broken) != predictions(&forest));
        linear += 1;
    }
    assert!(linear >= 10, "{linear} linear models");
    assert!(wrong * 2 > linear, "the seeded fault changes {wrong} of {linear} models");
}

/// The steps of the sums of a model, in order, each once.
fn steps(model: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(model);
    let columns = forest(&path).computed.columns.clone();
    let is_sum =
        |column: &_| !matches!(columns.expr(*column), Expr::Trees { .. }) && columns.expr(*column).is_sum();
    let sums = columns.all().filter(is_sum);
    let mut steps: Vec<String> =
        sums.map(|sum| columns.step(sum).map_or("-".to_owned(), ToString::to_string)).collect();
    steps.dedup();
    steps
}

#[test]
fn sums_keep_the_names_of_their_steps() {
    assert_eq!(steps("fixtures/net.onnx"), ["mlpclassifier"]);
    assert_eq!(steps("fixtures/clusters.onnx"), ["kmeans"]);
}
