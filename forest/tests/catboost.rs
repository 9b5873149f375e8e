//! Small CatBoost models, as fixtures made by `fixtures/make_catboost.py`: margins must be CatBoost's bit for
//! bit, and predictions close to CatBoost's, which has another implementation of the exponential.
use std::path::{Path, PathBuf};

use crate::common::{
    bits, classes, damaged, expected, files, fixtures, floats, leaves, margins, predictions,
};
use sched_forest::{
    Forest, Iterations, Label, Naming, ReadOptions, predict, predict_margins, read, read_with,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    objective: String,
    rows: Vec<u64>,
    categories: Vec<(String, String)>,
    leaves: Vec<u32>,
    margins: Vec<u64>,
    predictions: Vec<u64>,
    classes: Vec<String>,
    slice: Vec<u64>,
}

/// Rows of codes and numbers: a category that the fixture names has its code, or the code of an unknown name.
fn rows(forest: &Forest, expected: &Expected) -> Vec<f64> {
    let numbers = floats(&expected.rows);
    if expected.categories.is_empty() {
        return numbers;
    }
    assert_eq!(forest.feature_names, ["a", "color", "b", "size", "c"]);
    let code = |feature: usize, name: &str| {
        let names = &forest.categories[feature];
        assert_eq!(names.naming, Naming::Spelled);
        let place = names.labels.iter().position(|label| *label == Label::Text(name.into()));
        place.map_or(names.other(), |place| names.code(place))
    };
    let mut rows = Vec::new();
    for (numbers, (name, size)) in numbers.chunks(3).zip(&expected.categories) {
        rows.extend([numbers[0], code(1, name), numbers[1], code(3, size), numbers[2]]);
    }
    rows
}

fn check_model(path: &Path) -> usize {
    let name = path.display();
    let expected: Expected = expected(path);
    let bytes = std::fs::read(path).unwrap();
    let forest = read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(forest.objective, expected.objective, "{name}");
    let rows = rows(&forest, &expected);
    let count = rows.len() / forest.num_features;
    assert_eq!(bits(&margins(&forest, &rows)), expected.margins, "{name}: margins");
    let predictions: Vec<f64> = predictions(&forest, &rows);
    for (ours, theirs) in predictions.iter().zip(floats(&expected.predictions)) {
        assert!((ours - theirs).abs() <= 1e-15 * theirs.abs().max(1.0), "{name}: {ours} {theirs}");
    }
    assert_eq!(predictions.len(), expected.predictions.len(), "{name}");
    assert_eq!(leaves(&forest, &rows), expected.leaves, "{name}: leaves");
    if !expected.classes.is_empty() {
        let labels = &forest.output.classes.as_ref().unwrap().labels;
        let label = |&class: &u32| labels.get(class as usize).map_or(class.to_string(), Label::to_string);
        assert_eq!(
            classes(&forest, &rows).iter().map(label).collect::<Vec<_>>(),
            expected.classes,
            "{name}: classes"
        );
    }
    let options = ReadOptions { iterations: Iterations::Range(1, 2), ..ReadOptions::default() };
    let slice = read_with(&bytes, &options).unwrap();
    assert_eq!(bits(&margins(&slice, &rows)), expected.slice, "{name}: one iteration");
    count
}

fn models() -> Vec<PathBuf> {
    let is_model = |path: &PathBuf| {
        path.extension().is_some_and(|it| it == "json") && !path.to_str().unwrap().contains(".expected.")
    };
    files(&fixtures("catboost")).into_iter().filter(is_model).collect()
}

#[test]
fn numbers_are_those_of_catboost() {
    let rows: usize = models().iter().map(|path| check_model(path)).sum();
    assert!(models().len() >= 17 && rows > 200, "{} models, {rows} rows", models().len());
}

#[test]
fn what_is_not_computed_is_refused_with_help() {
    let refused = files(&fixtures("catboost/refused"));
    assert!(refused.len() >= 3);
    for path in refused {
        let error = read(&std::fs::read(&path).unwrap()).unwrap_err();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&error.code.to_string()), "{name}: {error}");
        assert!(error.help.is_some() && !error.place.to_string().is_empty(), "{name}: {error}");
    }
}

/// A file that was saved without training data has the names of features in another field.
#[test]
fn names_of_features_are_found_without_training_data() {
    let text = std::fs::read_to_string(fixtures("catboost/categories.json")).unwrap();
    let without = text.replace("\"feature_name\"", "\"left_out\"");
    assert_ne!(text, without);
    assert_eq!(read(without.as_bytes()).unwrap().feature_names, ["a", "color", "b", "size", "c"]);
}

#[test]
fn oblivious_trees_are_complete_and_in_order() {
    let forest = read(&std::fs::read(fixtures("catboost/rmse.json")).unwrap()).unwrap();
    for tree in &forest.trees {
        assert_eq!(tree.depths(), (3, 3));
        let sources: Vec<u32> = tree.leaves.iter().map(|leaf| leaf.source).collect();
        assert_eq!(sources, (0..8).collect::<Vec<u32>>());
    }
}

#[test]
fn leaves_alone_and_old_biases_are_read() {
    let trees = r#"{"scale_and_bias":[1,0],"trees":[{"value":1.5},{"value":2}]}"#;
    let oblivious = r#"{"oblivious_trees":[{"leaf_values":[3.5]}],"scale_and_bias":[1,0]}"#;
    for text in [trees, oblivious] {
        let mut out = [0.0];
        // Models without features have rows of one column, which nothing reads.
        predict(&read(text.as_bytes()).unwrap(), &[0.0f64], &mut out).unwrap();
        assert_eq!(out, [3.5]);
    }
    let two = r#"{"oblivious_trees":[{"leaf_values":[3,4]}],"scale_and_bias":[2,1]}"#;
    let mut out = [0.0; 2];
    predict(&read(two.as_bytes()).unwrap(), &[0.0f64], &mut out).unwrap();
    assert_eq!(out, [7.0, 9.0]);
}

#[test]
fn damaged_models_are_errors() {
    for name in ["rmse.json", "lossguide.json", "categories.json"] {
        damaged(&std::fs::read(fixtures("catboost").join(name)).unwrap());
    }
}

#[test]
fn small_faults_have_their_codes() {
    let text = r#"{"features_info":{"float_features":[{"feature_index":0,"flat_feature_index":0,
        "nan_value_treatment":"AsTrue"}]},"oblivious_trees":[{"splits":[
        {"split_type":"FloatFeature","border":0.5,"float_feature_index":0}],
        "leaf_values":[1,2]}],"scale_and_bias":[2,[1]]}"#;
    let forest = read(text.as_bytes()).unwrap();
    let mut out = [0.0; 3];
    predict_margins(&forest, &[0.5, 0.75, f64::NAN], &mut out).unwrap();
    assert_eq!(out, [3.0, 5.0, 5.0]);
    for (old, new, code, place) in [
        ("AsTrue", "AsNone", "M0009", "features_info.float_features[0].nan_value_treatment"),
        ("[1,2]", "[1,2,3]", "M0010", "oblivious_trees[0].leaf_values"),
        ("[1]]", "[]]", "M0009", "scale_and_bias"),
        ("\"float_feature_index\":0", "\"float_feature_index\":1", "M0013", "float_feature_index"),
        ("\"flat_feature_index\":0", "\"flat_feature_index\":9", "M0013", "features_info"),
        ("FloatFeature", "OnlineCtr", "M0050", "oblivious_trees[0].splits[0].split_type"),
        ("\"border\":0.5,", "", "M0004", "oblivious_trees[0].splits[0].border"),
        ("[1,2]", "[1,\"2\"]", "M0004", "oblivious_trees[0].leaf_values[1]"),
    ] {
        let error = read(text.replace(old, new).as_bytes()).unwrap_err();
        assert_eq!(error.code.to_string(), code, "{new}: {error}");
        assert!(error.place.to_string().contains(place), "{new}: {error}");
    }
}
