//! Small XGBoost models of several releases, made by `fixtures/make.py`: results must be XGBoost's bit for
//! bit. Damaged or unsupported files must be refused with a code and a place.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::common::{files, fixtures, leaves, margins, next_random, predictions};
use sched_forest::{
    Forest, Iterations, Label, Predicate, ReadOptions, Transform, TreeTarget, codes, load, predict_leaves,
    read, read_with,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Expected {
    objective: String,
    num_rows: usize,
    rows: Vec<u32>,
    leaves: Vec<u32>,
    iterations: BTreeMap<String, Outputs>,
    /// The names of the categories of each feature, as texts.
    #[serde(default)]
    categories: Vec<Vec<String>>,
    #[serde(default)]
    feature_types: Vec<String>,
}

#[derive(Deserialize)]
struct Outputs {
    margins: Vec<u32>,
    predictions: Vec<u32>,
}

fn floats(bits: &[u32]) -> Vec<f32> {
    bits.iter().map(|&bits| f32::from_bits(bits)).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn outputs(forest: &Forest, rows: &[f32]) -> (Vec<u32>, Vec<u32>) {
    (bits(&margins(forest, rows)), bits(&predictions(forest, rows)))
}

/// Compares expectiles, which are sums of logarithms: the C library's `log1pf` does not round some of them
/// correctly. The expectiles are below 2, and each adds at most one unit in the last place.
fn check_expectiles(found: &[f32], wanted: &[f32], name: &str) {
    assert_eq!(found.len(), wanted.len(), "{name}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() <= 2.0 * f32::EPSILON, "{name}: {found:?} is not {wanted:?}");
    }
}

fn check_model(path: &Path, expected: &Expected) {
    let bytes = std::fs::read(path).unwrap();
    let name = path.display();
    let rows = floats(&expected.rows);
    for (iterations, outputs_expected) in &expected.iterations {
        let options = ReadOptions { iterations: iterations.parse().unwrap(), ..ReadOptions::default() };
        let forest = read_with(&bytes, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(forest.objective, expected.objective, "{name}");
        assert_eq!(rows.len(), expected.num_rows * forest.num_features, "{name}");
        let (margins, predictions) = outputs(&forest, &rows);
        assert_eq!(margins, outputs_expected.margins, "{name}, iterations {iterations}: margins");
        let (found, wanted) = (predictions, &outputs_expected.predictions);
        if forest.output.value.contains(&Transform::Ascending) {
            check_expectiles(&floats(&found), &floats(wanted), &format!("{name}, iterations {iterations}"));
        } else {
            assert_eq!(found, *wanted, "{name}, iterations {iterations}: predictions");
        }
        let names = forest.categories.iter().map(|names| names.labels.iter().map(Label::to_string).collect());
        let mut names: Vec<Vec<String>> = names.collect();
        if names.iter().all(Vec::is_empty) {
            names.clear();
        }
        assert_eq!(names, expected.categories, "{name}");
        if options.iterations == Iterations::All {
            assert_eq!(leaves(&forest, &rows), expected.leaves, "{name}: leaves");
        }
    }
}

#[test]
fn numbers_are_those_of_xgboost() {
    let mut covered = BTreeSet::new();
    for release in ["1.7.6", "2.1.4", "3.2.0", "3.4.1"] {
        for path in files(&fixtures(release)) {
            let Some(base) = path.to_str().unwrap().strip_suffix(".expected.json") else { continue };
            let expected: Expected = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let models = [".json", ".ubj"].map(|suffix| PathBuf::from(format!("{base}{suffix}")));
            let models: Vec<_> = models.iter().filter(|path| path.exists()).collect();
            assert!(!models.is_empty(), "{base} has no model");
            for model in models {
                check_model(model, &expected);
            }
            covered.insert(expected.objective);
        }
    }
    println!("objectives: {covered:?}");
    assert_eq!(covered.len(), 20);
}

#[test]
fn json_and_ubjson_give_the_same_forest() {
    let mut pairs = 0;
    for path in files(&fixtures("3.2.0")) {
        let json = path.with_extension("json");
        if path.extension().is_some_and(|extension| extension == "ubj") && json.exists() {
            let forests = [&path, &json].map(|path| read(&std::fs::read(path).unwrap()).unwrap());
            assert_eq!(forests[0], forests[1], "{}", path.display());
            pairs += 1;
        }
    }
    assert!(pairs > 10);
}

#[test]
fn unsupported_files_are_named() {
    let mut codes = BTreeSet::new();
    for path in files(&fixtures("refused")) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let error = read(&std::fs::read(&path).unwrap()).unwrap_err();
        assert_eq!(error.code.to_string(), name[..5], "{name}: {error}");
        assert!(error.help.is_some(), "{name}: {error}");
        codes.insert(error.code);
    }
    assert_eq!(codes.len(), 2, "{codes:?}");
}

/// The parent of the value at a path such as `a.b[3]`, and the last step of the path.
fn parent<'a>(document: &'a mut Value, path: &str) -> (&'a mut Value, String) {
    let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    (document.pointer_mut(parent).unwrap_or_else(|| panic!("no {path}")), last.to_owned())
}

fn edit(document: &mut Value, change: &Value) {
    let (parent, last) = parent(document, change["path"].as_str().unwrap());
    let new = (change["remove"] != true).then(|| change["value"].clone());
    match (parent, new) {
        (Value::Object(map), Some(new)) => drop(map.insert(last, new)),
        (Value::Object(map), None) => drop(map.remove(&last).unwrap()),
        (Value::Array(list), Some(new)) => list[last.parse::<usize>().unwrap()] = new,
        (Value::Array(list), None) => drop(list.remove(last.parse().unwrap())),
        (other, _) => panic!("{other} has no parts"),
    }
    if change["also"].is_object() {
        edit(document, &change["also"]);
    }
}

#[test]
fn damaged_models_are_refused_with_code_and_place() {
    let list: Value = serde_json::from_slice(&std::fs::read(fixtures("damaged.json")).unwrap()).unwrap();
    for change in list["edits"].as_array().unwrap() {
        let base = change["base"].as_str().or(list["base"].as_str()).unwrap();
        let base = std::fs::read_to_string(fixtures(base)).unwrap().replace("NaN", "null");
        let mut document: Value = serde_json::from_str(&base).unwrap();
        edit(&mut document, change);
        let error = match read(document.to_string().as_bytes()) {
            Ok(_) => panic!("{} was accepted", change["name"]),
            Err(error) => error,
        };
        let found = (error.code.to_string(), error.place.to_string());
        let expected = [&change["code"], &change["place"]].map(|it| it.as_str().unwrap().to_owned());
        assert_eq!(found, expected.into(), "{}: {error}", change["name"]);
    }
}

/// A fixture of the newest release, as a forest and as a document that can be changed.
fn document(name: &str) -> (Forest, Value) {
    let bytes = std::fs::read(fixtures("3.2.0").join(name)).unwrap();
    (read(&bytes).unwrap(), serde_json::from_slice(&bytes).unwrap())
}

#[test]
fn other_spellings_are_the_same_model() {
    let (forest, original) = document("missing-mixed.json");
    let same = |what: &str, change: &dyn Fn(&mut Value)| {
        let mut document = original.clone();
        change(&mut document);
        let found = read(document.to_string().as_bytes()).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(found, forest, "{what}");
    };
    let model = "/learner/gradient_booster/model";
    let param = "/learner/learner_model_param";
    same("flags as booleans", &|document| {
        for tree in document.pointer_mut(model).unwrap()["trees"].as_array_mut().unwrap() {
            for flag in tree["default_left"].as_array_mut().unwrap() {
                *flag = Value::Bool(*flag == 1);
            }
        }
    });
    same("trees in another order", &|document| {
        document.pointer_mut(model).unwrap()["trees"].as_array_mut().unwrap().reverse();
    });
    same("numbers as numbers", &|document| document.pointer_mut(param).unwrap()["num_feature"] = 4.into());
    same("a scalar base score", &|document| {
        let score = &mut document.pointer_mut(param).unwrap()["base_score"];
        *score = score.as_str().unwrap().trim_matches(['[', ']']).into();
    });
    same("a base score in parentheses", &|document| {
        let score = &mut document.pointer_mut(param).unwrap()["base_score"];
        *score = format!(" ( {} ) ", score.as_str().unwrap().trim_matches(['[', ']'])).into();
    });
    same("unknown keys", &|document| {
        document["learner"]["news"] = serde_json::json!({"deep": [[{"er": null}]]});
        document.pointer_mut(model).unwrap()["trees"][0]["news"] = serde_json::json!([1, "x"]);
    });
    same("an old release", &|document| {
        let model = document.pointer_mut(model).unwrap().as_object_mut().unwrap();
        model.remove("iteration_indptr");
        model.remove("tree_info");
        model.remove("cats");
        model["trees"][0]["tree_param"]["size_leaf_vector"] = "0".into();
        model["trees"][0]["tree_param"].as_object_mut().unwrap().remove("num_deleted");
    });
    same("a snapshot", &|document| {
        *document = serde_json::json!({"Config": {"learner": {}}, "Model": document.take()});
    });
    let pretty = format!("\u{feff} {original:#} ");
    assert_eq!(read(pretty.as_bytes()).unwrap(), forest);
}

/// A small model of an objective, with this base score and this number of classes.
fn with_parameters(objective: &str, base_score: &str, num_class: &str) -> Vec<u8> {
    let mut document: Value = serde_json::from_str(&chain(1)).unwrap();
    document["learner"]["objective"]["name"] = objective.into();
    let param = &mut document["learner"]["learner_model_param"];
    param["base_score"] = base_score.into();
    param["num_class"] = num_class.into();
    document.to_string().into_bytes()
}

/// XGBoost 3.2 refuses each of these models, or predicts NaN or infinity for every row.
#[test]
fn base_scores_that_xgboost_refuses_are_refused() {
    let refused = [
        ("binary:logistic", "2E0"),
        ("binary:logistic", "-1E0"),
        ("binary:logistic", "[1.5E0]"),
        ("reg:logistic", "2E0"),
        ("reg:gamma", "0E0"),
        ("reg:gamma", "-1E0"),
        ("count:poisson", "-1E0"),
        ("reg:tweedie", "-1E0"),
        ("survival:cox", "-1E0"),
        ("survival:aft", "[-1E0]"),
        ("reg:squarederror", "nan"),
        ("reg:squarederror", "inf"),
        ("reg:squarederror", "[-inf]"),
        ("reg:squarederror", "1E39"),
        ("my:own", "NaN"),
        ("binary:logistic", "nan"),
        ("binary:logistic", "1E39"),
    ];
    for (objective, score) in refused {
        let error = read(&with_parameters(objective, score, "0")).unwrap_err();
        let finite = score.trim_matches(['[', ']']).parse().is_ok_and(|score: f32| score.is_finite());
        let code = if finite { codes::BAD_PARAMETER } else { codes::BAD_VALUE };
        assert_eq!(error.code, code, "{objective}, {score}: {error}");
        assert_eq!(error.place.to_string(), "learner.learner_model_param.base_score", "{objective}, {score}");
        assert!(
            error.message.contains(objective) && error.help.as_deref().unwrap().contains("base_score"),
            "{error}"
        );
    }
    let error = read(&with_parameters("multi:softprob", "[0.5,nan,0.5]", "3")).unwrap_err();
    assert_eq!(error.code, codes::BAD_VALUE, "{error}");
}

#[test]
fn base_scores_that_xgboost_accepts_are_accepted() {
    let taken = [
        ("binary:logistic", "0E0", -13.815_51),
        ("binary:logistic", "1E0", 13.815_51),
        ("binary:logitraw", "2E0", 2.0),
        ("binary:hinge", "-1E0", -1.0),
        ("count:poisson", "0E0", f64::NEG_INFINITY),
        ("survival:aft", "1E0", 0.0),
        ("reg:gamma", "1E0", 0.0),
        ("reg:squarederror", "-3E0", -3.0),
    ];
    for (objective, score, margin) in taken {
        let forest = read(&with_parameters(objective, score, "0")).unwrap();
        let close = forest.base[0] == margin || (forest.base[0] - margin).abs() < 0.2;
        assert!(close, "{objective}, {score}: {:?}", forest.base);
    }
}

#[test]
fn classes_have_to_be_counted() {
    for objective in ["multi:softprob", "multi:softmax"] {
        let error = read(&with_parameters(objective, "5E-1", "0")).unwrap_err();
        assert_eq!(
            (error.code, error.place.to_string().as_str()),
            (codes::BAD_PARAMETER, "learner.learner_model_param.num_class")
        );
        assert!(
            error.message.contains(objective) && error.help.as_deref().unwrap().contains("num_class"),
            "{error}"
        );
        assert_eq!(read(&with_parameters(objective, "5E-1", "1")).unwrap().num_margins, 1);
    }
    assert_eq!(read(&with_parameters("reg:squarederror", "5E-1", "0")).unwrap().num_margins, 1);
}

#[test]
fn dart_weights_are_read_from_the_model_of_the_trees() {
    let (forest, mut document) = document("dart.json");
    let booster = &mut document["learner"]["gradient_booster"];
    let mut model = booster["gbtree"]["model"].take();
    model["weight_drop"] = booster["weight_drop"].take();
    *booster = serde_json::json!({"name": "gbtree", "model": model});
    assert_eq!(read(document.to_string().as_bytes()).unwrap(), forest);
}

#[test]
fn notes_are_made() {
    let note = |name: &str, change: &dyn Fn(&mut Value)| {
        let (_, mut document) = document(name);
        change(&mut document);
        let notes = load(document.to_string().as_bytes(), &ReadOptions::default()).unwrap().notes;
        notes.into_iter().map(|note| note.0).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(note("dart.json", &|_| ()), "");
    let custom = |document: &mut Value| document["learner"]["objective"]["name"] = "my:own".into();
    assert!(note("dart.json", &custom).contains("`my:own`"));
    assert!(note("early-stopped.json", &|_| ()).contains("iteration 2; all 5 iterations"));
    assert!(note("dart.json", &|document| document["version"][0] = 9.into()).contains("XGBoost 9.2.0"));
    let names = |document: &mut Value| document["learner"]["feature_names"] = serde_json::json!(["a"]);
    assert!(note("dart.json", &names).contains("1 feature names for 4 features"));
    assert!(note("no-trees.json", &|_| ()).contains("no trees"));
    let types = |document: &mut Value| document["learner"]["feature_types"] = serde_json::json!(["c"]);
    assert!(note("dart.json", &types).contains("1 feature types for 4 features"));
}

#[test]
fn iterations_that_do_not_exist_are_refused() {
    let bytes = std::fs::read(fixtures("3.2.0/early-stopped.json")).unwrap();
    for (iterations, message) in [("0..6", "has 5"), ("3..3", "empty")] {
        let options = ReadOptions { iterations: iterations.parse().unwrap(), ..ReadOptions::default() };
        let error = read_with(&bytes, &options).unwrap_err();
        assert_eq!(error.code, codes::NO_SUCH_ITERATIONS);
        assert!(error.message.contains(message), "{error}");
    }
    let sliced =
        read_with(&bytes, &ReadOptions { iterations: Iterations::Range(1, 3), ..ReadOptions::default() })
            .unwrap();
    assert_eq!(sliced.trees.iter().map(|tree| tree.source).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(sliced.iteration_starts, [0, 1, 2]);
}

#[test]
fn every_truncation_is_a_syntax_error() {
    for name in [
        "binary-logistic.json",
        "binary-logistic.ubj",
        "categorical-names.json",
        "categorical-names.ubj",
        "vector.ubj",
    ] {
        let bytes = std::fs::read(fixtures("3.2.0").join(name)).unwrap();
        for end in (2..bytes.len() - 1).step_by(7) {
            let error = read(&bytes[..end]).unwrap_err();
            assert_eq!(error.code.to_string(), "M0003", "{name}, {end} bytes: {error}");
            let byte: usize = error.place.to_string().strip_prefix("byte ").unwrap().parse().unwrap();
            assert!(byte <= end, "{name}, {end} bytes: {error}");
        }
    }
}

#[test]
fn literals_of_early_releases_are_read() {
    let text = std::fs::read_to_string(fixtures("1.7.6/reg-squarederror.json")).unwrap();
    let plain = read(text.as_bytes()).unwrap();
    let with = text.replacen("\"loss_changes\":[", "\"loss_changes\":[NaN,-Infinity,Infinity,", 1);
    assert_ne!(text, with);
    assert_eq!(read(with.as_bytes()).unwrap(), plain);
    let threshold = text.find("\"split_conditions\":[").unwrap() + "\"split_conditions\":[".len();
    let end = threshold + text[threshold..].find(',').unwrap();
    let infinite = read(format!("{}-Infinity{}", &text[..threshold], &text[end..]).as_bytes()).unwrap();
    let predicate = Predicate::Numeric { threshold: f64::NEG_INFINITY };
    assert_eq!(infinite.trees[0].inner[0].predicate, predicate);
    let error = read(format!("{}NaN{}", &text[..threshold], &text[end..]).as_bytes()).unwrap_err();
    let place = "learner.gradient_booster.model.trees[0].split_conditions[0]";
    assert_eq!((error.code.to_string().as_str(), error.place.to_string().as_str()), ("M0015", place));
}

/// A chain of inner nodes, each with a leaf on the right.
fn chain(depth: usize) -> String {
    let count = 2 * depth + 1;
    let inner = |at: usize| at.is_multiple_of(2) && at + 1 < count;
    let list = |f: &dyn Fn(usize) -> String| (0..count).map(f).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"version":[3,2,0],"learner":{{
        "learner_model_param":{{"base_score":"0","num_class":"0","num_feature":"1"}},
        "objective":{{"name":"reg:squarederror"}},
        "gradient_booster":{{"name":"gbtree","model":{{"tree_info":[0],
        "trees":[{{"left_children":[{}],"right_children":[{}],"split_indices":[{}],"split_conditions":[{}],
        "default_left":[{}]}}]}}}}}}}}"#,
        list(&|at| if inner(at) { (at + 2).to_string() } else { "-1".into() }),
        list(&|at| if inner(at) { (at + 1).to_string() } else { "-1".into() }),
        list(&|_| "0".into()),
        list(&|at| at.to_string()),
        list(&|_| "true".into()),
    )
}

#[test]
fn deep_trees_neither_overflow_nor_pass() {
    let forest = read(chain(4096).as_bytes()).unwrap();
    assert_eq!(forest.trees[0].depth(), 4096);
    let mut leaf = [0];
    predict_leaves(&forest, &[f32::NAN], &mut leaf).unwrap();
    assert_eq!(leaf, [8192]);
    for depth in [4097, 500_000] {
        let error = read(chain(depth).as_bytes()).unwrap_err();
        assert_eq!(error.code.to_string(), "M0014", "{error}");
    }
    drop(forest);
}

/// Checks that members of a node's set go right, and that other categories and values that are no categories
/// go left.
#[test]
fn members_go_right() {
    let text = chain(1).replace("\"split_conditions\":[0,1,2]", "\"split_conditions\":[NaN,1,2]").replace(
        "\"default_left\"",
        "\"split_type\":[1,0,0],\"categories\":[3,9],\"categories_nodes\":[0],\"categories_segments\":[0],\
         \"categories_sizes\":[2],\"default_left\"",
    );
    let forest = read(text.as_bytes()).unwrap();
    let inner = &forest.trees[0].inner[0];
    assert_eq!((&inner.predicate, inner.missing_left), (&Predicate::Member { set: 0 }, false));
    assert_eq!(forest.sets, [[3, 9].into_iter().collect()]);
    let rows = [3.0, 9.0, 3.9, 2.0, -3.0, 16_777_216.0, f32::INFINITY, f32::NAN];
    let mut leaves = [0; 8];
    predict_leaves(&forest, &rows, &mut leaves).unwrap();
    // Node 2 is the left child in the file.
    assert_eq!(leaves, [1, 1, 1, 2, 2, 2, 2, 2]);
}

#[test]
fn sets_are_kept_once() {
    for name in ["categorical.json", "categorical-classes.json"] {
        let (forest, _) = document(name);
        let tests = forest.trees.iter().flat_map(|tree| &tree.inner);
        let tests = tests.filter(|inner| matches!(inner.predicate, Predicate::Member { .. })).count();
        let different: BTreeSet<_> = forest.sets.iter().collect();
        assert_eq!(different.len(), forest.sets.len());
        assert!(forest.sets.len() < tests, "{name}: {} sets for {tests} nodes", forest.sets.len());
    }
}

#[test]
fn vectors_are_read_from_both_places() {
    let tree = |path: &str| {
        let forest = read(&std::fs::read(fixtures(path)).unwrap()).unwrap();
        assert!(forest.trees.iter().all(|tree| tree.target == TreeTarget::All), "{path}");
        forest
    };
    let old = tree("2.1.4/vector.json");
    assert_eq!(old.trees[0].leaves[0].values.len(), 2);
    let snapshot = |path: &str| {
        let text = std::fs::read_to_string(fixtures(path)).unwrap().replace("NaN", "null");
        let document: Value = serde_json::from_str(&text).unwrap();
        serde_json::json!({"Model": document}).to_string()
    };
    assert_eq!(read(snapshot("2.1.4/vector.json").as_bytes()).unwrap(), old);
    // Moves the vectors to the field that newer releases write.
    let new = tree("3.2.0/vector.json");
    let (_, mut document) = document("vector.json");
    for tree in document.pointer_mut("/learner/gradient_booster/model/trees").unwrap().as_array_mut().unwrap()
    {
        let leaves = tree["leaf_weights"].take();
        let nodes = tree["left_children"].as_array().unwrap().len();
        let mut vectors = vec![Value::from(0.5); 2 * nodes];
        for node in 0..nodes {
            if tree["left_children"][node] == -1 {
                let leaf = tree["right_children"][node].as_u64().unwrap() as usize;
                tree["right_children"][node] = (-1).into();
                (0..2).for_each(|at| vectors[2 * node + at] = leaves[2 * leaf + at].clone());
            }
        }
        tree["base_weights"] = vectors.into();
        tree["leaf_weights"] = Value::Array(Vec::new());
    }
    assert_eq!(read(document.to_string().as_bytes()).unwrap(), new);
}

#[test]
fn files_say_the_types_of_features() {
    let path = fixtures("3.2.0/categorical-names");
    let expected: Expected =
        serde_json::from_slice(&std::fs::read(path.with_extension("expected.json")).unwrap()).unwrap();
    for (extension, format) in [("json", "JSON"), ("ubj", "UBJSON")] {
        let bytes = std::fs::read(path.with_extension(extension)).unwrap();
        let loaded = load(&bytes, &ReadOptions::default()).unwrap();
        assert_eq!(
            (loaded.source.format.map(|it| it.name), loaded.source.trainer),
            (Some(format), "XGBoost")
        );
        assert_eq!(loaded.source.feature_types, expected.feature_types);
        assert_eq!(loaded.forest.categories[0].labels[1], Label::Text("Bern".into()));
        assert_eq!(loaded.forest.categories[2].labels[2], Label::Integer(1 << 40));
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut accepted = 0;
    let newest = [
        "dart.json",
        "dart.ubj",
        "multi-softprob.json",
        "multi-softprob.ubj",
        "snapshot.ubj",
        "categorical-names.json",
        "categorical-names.ubj",
        "categorical-types.ubj",
        "vector.json",
        "vector.ubj",
    ];
    for name in newest.map(|name| format!("3.2.0/{name}")).into_iter().chain(["2.1.4/vector.json".into()]) {
        let bytes = std::fs::read(fixtures(&name)).unwrap();
        for _ in 0..1500 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + next_random(&mut state) % 3 {
                let at = next_random(&mut state) % damaged.len();
                damaged[at] = next_random(&mut state) as u8;
            }
            if let Ok(forest) = read(&damaged) {
                let rows = vec![0.5f32; 2 * forest.num_features];
                outputs(&forest, &rows);
                accepted += 1;
            }
        }
    }
    assert!(accepted > 0, "flips in ignored fields leave models readable");
}
