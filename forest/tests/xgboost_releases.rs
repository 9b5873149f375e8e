//! Predictions of an XGBoost file are those of the release that saved it, or of the release that the caller
//! names. `fixtures/make_releases.py` makes the fixtures.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::common::{expected, files, fixtures, margins, predictions};
use sched_forest::{Forest, LoadedForest, ReadOptions, codes, load};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Expected {
    num_rows: usize,
    rows: Vec<u32>,
    /// Outputs by release, or nothing if the release refuses to predict.
    releases: BTreeMap<String, Option<Outputs>>,
}

#[derive(Deserialize)]
struct Outputs {
    margins: Vec<u32>,
    predictions: Vec<u32>,
}

fn models() -> Vec<PathBuf> {
    let is_model = |path: &PathBuf| {
        let name = path.to_str().unwrap();
        (name.ends_with(".json") && !name.ends_with(".expected.json")) || name.ends_with(".ubj")
    };
    files(&fixtures("releases")).into_iter().filter(is_model).collect()
}

fn read(path: &Path, release: Option<&str>) -> Result<LoadedForest, sched_forest::ModelError> {
    let as_release = release.map(|release| release.parse().unwrap());
    load(&std::fs::read(path).unwrap(), &ReadOptions { as_release, ..ReadOptions::default() })
}

fn check(what: &str, forest: &Forest, expected: &Expected, outputs: &Outputs) {
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let rows: Vec<f32> = expected.rows.iter().map(|&bits| f32::from_bits(bits)).collect();
    assert_eq!(rows.len(), expected.num_rows * forest.num_features, "{what}");
    assert_eq!(bits(margins(forest, &rows)), outputs.margins, "{what}: margins");
    assert_eq!(bits(predictions(forest, &rows)), outputs.predictions, "{what}: predictions");
}

/// Whether the release sorts the quantiles that this model predicts. schedc refuses such models.
fn is_sorted(path: &Path, release: &str) -> bool {
    path.to_str().unwrap().contains("quantiles") && release == "3.4"
}

#[test]
fn numbers_are_those_of_the_release() {
    let mut meanings = BTreeSet::new();
    for path in models() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let saved_by = name.split('.').take(2).collect::<Vec<_>>().join(".");
        let expected: Expected = expected(&path);
        for (release, outputs) in &expected.releases {
            let what = format!("{name} as {release}");
            let Some(outputs) = outputs.as_ref().filter(|_| !is_sorted(&path, release)) else {
                let error = read(&path, Some(release)).unwrap_err();
                assert!(error.help.as_ref().unwrap().contains("--as-release 3.3"), "{what}: {error}");
                continue;
            };
            let loaded = read(&path, Some(release)).unwrap_or_else(|error| panic!("{what}: {error}"));
            check(&what, &loaded.forest, &expected, outputs);
            let asked = loaded.notes.iter().any(|note| note.0.contains("was saved by"));
            assert_eq!(asked, *release != saved_by, "{what}: {:?}", loaded.notes);
            meanings.extend(loaded.source.rules.iter().map(ToString::to_string));
            if *release == saved_by {
                let own = read(&path, None).unwrap();
                assert_eq!(
                    (&own.forest, &own.source.rules),
                    (&loaded.forest, &loaded.source.rules),
                    "{what}"
                );
            }
        }
        // If releases disagree, the reader records which release's rules it followed.
        if expected.releases.len() > 1 && !name.contains("dart") {
            assert_eq!(read(&path, Some(&saved_by)).unwrap().source.rules.len(), 1, "{name}");
        }
    }
    for meaning in &meanings {
        println!("{meaning}");
    }
    assert_eq!(meanings.len(), 13);
}

/// Checks values that users reported.
#[test]
fn reported_values_are_right() {
    let first = |name: &str| {
        let forest = read(&fixtures("releases").join(name), None).unwrap().forest;
        let row = vec![0.0f32; forest.num_features];
        let (margin, prediction): (Vec<f32>, Vec<f32>) = (margins(&forest, &row), predictions(&forest, &row));
        (margin[0], prediction[0])
    };
    assert_eq!(first("1.7.6-no-trees-binary-logistic.json"), (-0.0, 0.5));
    assert_eq!(first("3.1.3-no-trees-binary-logistic.json"), (0.5, 0.622_459_35));
    assert_eq!(first("3.4.1-no-trees-count-poisson.json"), (0.5, 1.648_721_2));
    assert_eq!(first("3.1.3-no-trees-reg-gamma.json"), (0.5, 1.648_721_2));
}

#[test]
fn infinite_thresholds_and_leaves_are_numbers() {
    let path = fixtures("releases/3.2.0-infinite.json");
    assert!(std::fs::read_to_string(&path).unwrap().contains("[-Infinity,"));
    let forests =
        ["json", "ubj"].map(|extension| read(&path.with_extension(extension), None).unwrap().forest);
    assert_eq!(forests[0], forests[1]);
}

fn document(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(fixtures("releases").join(name)).unwrap()).unwrap()
}

fn load_document(document: &Value) -> Result<LoadedForest, sched_forest::ModelError> {
    load(document.to_string().as_bytes(), &ReadOptions::default())
}

#[test]
fn probabilities_of_0_and_1_are_for_later_releases() {
    let mut model = document("3.1.3-base-score.json");
    for (score, margin) in [("[0E0]", -13.815_51), ("[1E0]", 13.815_51)] {
        model["learner"]["learner_model_param"]["base_score"] = score.into();
        model["version"] = serde_json::json!([3, 1, 3]);
        let error = load_document(&model).unwrap_err();
        assert_eq!(error.code, codes::BAD_PARAMETER, "{error}");
        assert!(error.help.as_ref().unwrap().contains("--as-release 3.2"), "{error}");
        model["version"] = serde_json::json!([3, 2, 0]);
        let loaded = load_document(&model).unwrap();
        assert!((loaded.forest.base[0] - margin).abs() < 0.2, "{:?}", loaded.forest.base);
        assert_eq!(loaded.source.rules[0].releases, "3.2 and later");
    }
}

#[test]
fn files_that_do_not_say_their_release_get_a_note() {
    let mut model = document("3.1.3-base-score.json");
    model.as_object_mut().unwrap().remove("version");
    let loaded = load_document(&model).unwrap();
    assert!(loaded.notes[0].0.contains("does not say which release"), "{:?}", loaded.notes);
    assert_eq!(loaded.source.rules[0].releases, "3.2 and later");
}

#[test]
fn early_orders_of_sums_get_a_note() {
    let mut model = document("1.2.1-logitraw.json");
    let note = |model: &Value| {
        load_document(model).unwrap().notes.into_iter().map(|note| note.0).collect::<String>()
    };
    assert_eq!(note(&model), "", "one tree is rounded alike");
    let booster = &mut model["learner"]["gradient_booster"]["model"];
    let again = booster["trees"][0].clone();
    booster["trees"].as_array_mut().unwrap().push(again);
    booster["trees"][1]["id"] = 1.into();
    booster["tree_info"] = serde_json::json!([0, 0]);
    booster["gbtree_model_param"]["num_trees"] = "2".into();
    assert!(note(&model).contains("XGBoost 1.2 adds the base score"), "{}", note(&model));
    model["version"] = serde_json::json!([1, 3, 0]);
    assert_eq!(note(&model), "");
}

#[test]
fn models_on_which_releases_agree_have_no_rules() {
    for name in
        ["1.7.6/base-score.json", "3.2.0/binary-logistic.ubj", "3.4.1/expectiles.json", "2.1.4/dart.json"]
    {
        assert_eq!(read(&fixtures(name), None).unwrap().source.rules, [], "{name}");
    }
}

#[test]
fn trees_of_dart_need_weights() {
    let path = fixtures("releases/2.1.4-dart.json");
    let error = read(&path, None).unwrap_err();
    let place = "learner.gradient_booster.weight_drop";
    assert_eq!((error.code, error.place.to_string().as_str()), (codes::LENGTH_MISMATCH, place));
    assert!(error.help.as_ref().unwrap().contains("--iterations"), "{error}");
    let mut model = document("2.1.4-dart.json");
    model["learner"]["gradient_booster"].as_object_mut().unwrap().remove("weight_drop");
    assert_eq!(load_document(&model).unwrap_err().code, codes::LENGTH_MISMATCH);
    let booster = &mut model["learner"]["gradient_booster"]["gbtree"]["model"];
    booster["trees"] = serde_json::json!([]);
    booster["tree_info"] = serde_json::json!([]);
    booster["iteration_indptr"] = serde_json::json!([0]);
    booster["gbtree_model_param"]["num_trees"] = "0".into();
    assert_eq!(load_document(&model).unwrap().forest.trees, []);
}

#[test]
fn sets_of_many_other_categories_are_bounded() {
    let mut model = document("1.6.2-edited-categories.json");
    let trees = &mut model["learner"]["gradient_booster"]["model"]["trees"];
    trees[0]["default_left"] = serde_json::json!([0, 0, 0]);
    let stump = trees[0].clone();
    let many = |trees: &mut Value, count: u32| {
        let tree = |at: u32| {
            let mut tree = stump.clone();
            (tree["id"], tree["categories"]) =
                (at.into(), serde_json::json!([at, at + 1, (1 << 24) - 1 - at]));
            tree
        };
        *trees = (0..count).map(tree).collect();
    };
    many(trees, 6);
    let model_of = &mut model["learner"]["gradient_booster"]["model"];
    model_of["tree_info"] = serde_json::json!([0, 0, 0, 0, 0, 0]);
    model_of["gbtree_model_param"]["num_trees"] = "6".into();
    let error = load_document(&model).unwrap_err();
    assert_eq!(error.code, codes::TOO_LARGE, "{error}");
    assert!(error.help.as_ref().unwrap().contains("--as-release 1.7"), "{error}");
    model["version"] = serde_json::json!([1, 7, 0]);
    assert_eq!(load_document(&model).unwrap().forest.sets.len(), 6);
}

#[test]
fn configurations_are_no_models() {
    let mut model = document("2.1.4-logitraw.json");
    model["learner"]["learner_train_param"] = serde_json::json!({"booster": "gbtree"});
    assert!(load_document(&model).is_ok());
    model["learner"]["gradient_booster"].as_object_mut().unwrap().remove("model");
    let error = load_document(&model).unwrap_err();
    assert_eq!(error.code, codes::UNSUPPORTED_FORMAT, "{error}");
    assert!(
        error.message.contains("save_config") && error.help.as_ref().unwrap().contains("save_model"),
        "{error}"
    );
}

#[test]
fn leaves_that_are_no_numbers_say_where_they_come_from() {
    let mut model = document("2.1.4-logitraw.json");
    let tree = &mut model["learner"]["gradient_booster"]["model"]["trees"][0];
    tree["split_conditions"][1] = Value::Null;
    let error = load_document(&model).unwrap_err();
    assert_eq!(error.code, codes::BAD_VALUE, "{error}");
    let help = error.help.as_ref().unwrap();
    assert!(help.contains("labels or weights") && !help.contains("save"), "{error}");
}

#[test]
fn files_of_other_trainers_take_no_release() {
    let options = ReadOptions { as_release: Some("3.4".parse().unwrap()), ..ReadOptions::default() };
    for name in ["lightgbm/binary.txt", "onnx/sk-tree.onnx"] {
        let error = load(&std::fs::read(fixtures(name)).unwrap(), &options).unwrap_err();
        assert_eq!(error.code, codes::OTHER_RELEASE, "{name}: {error}");
        assert!(error.help.as_ref().unwrap().contains("--as-release"), "{error}");
    }
}
