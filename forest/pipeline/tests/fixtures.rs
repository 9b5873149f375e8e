//! Pipelines of scikit-learn: files that schedc exports against scikit-learn's predictions, and files that
//! skl2onnx converts against the predictions of ONNX Runtime.

use sched_categories::{Categories, Choices, Unseen};
use sched_forest::{Label, Names, ReadOptions, codes, predict, predict_classes};
use sched_pipeline::{ColumnFate, ColumnSummary, LoadedModel, UnfoldedPipeline, load, read_pipeline};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A fixture: a file and rows with predictions.
struct Fixture {
    name: String,
    bytes: Vec<u8>,
    content: Value,
}

impl Fixture {
    fn all(folder: &Path) -> Vec<Fixture> {
        let files = fs::read_dir(folder).expect("a folder of fixtures");
        let mut names: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
        names.retain(|path| path.extension().is_some_and(|ending| ending == "onnx"));
        names.sort();
        let read = |path: PathBuf| {
            // Fixtures whose files schedc refuses have no rows.
            let text = fs::read_to_string(path.with_extension("json")).unwrap_or_else(|_| "null".into());
            Fixture {
                name: path.file_stem().expect("a name").to_string_lossy().into_owned(),
                bytes: fs::read(&path).expect("a model"),
                content: serde_json::from_str(&text).expect("rows in JSON"),
            }
        };
        names.into_iter().map(read).collect()
    }

    fn n_rows(&self) -> usize {
        self.content["rows"].as_u64().expect("a number of rows") as usize
    }

    /// The rows, with codes in place of names.
    fn rows(&self, categories: &[Names]) -> Vec<f64> {
        let inputs = self.content["inputs"].as_array().expect("inputs");
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for input in inputs {
            let width = input["width"].as_u64().expect("a width").max(1) as usize;
            let values = input["values"].as_array().expect("values");
            for column in 0..width {
                let names = categories.get(columns.len());
                let cells = values.iter().skip(column).step_by(width);
                columns.push(cells.map(|cell| number(&input["type"], cell, names)).collect());
            }
        }
        (0..self.n_rows()).flat_map(|row| columns.iter().map(move |column| column[row])).collect()
    }
}

/// A cell as a number, or as the code of a name.
fn number(kind: &Value, cell: &Value, names: Option<&Names>) -> f64 {
    match kind.as_str() {
        Some("f32") => f64::from(f32::from_bits(cell.as_u64().expect("bits") as u32)),
        Some("f64") => f64::from_bits(cell.as_u64().expect("bits")),
        Some("text") => {
            let text = cell.as_str().expect("a text");
            let is_name = |label: &Label| label.to_string() == text;
            let place = names.and_then(|names| names.labels.iter().position(is_name));
            match place {
                _ if text.is_empty() => f64::NAN,
                Some(place) => place as f64,
                None => -1.0,
            }
        }
        _ => cell.as_i64().expect("a whole number") as f64,
    }
}

/// Exports whose models compute no columns once they are folded.
const FOLDED: &[&str] = &[
    "binarizer-forest",
    "bins-onehot-forest-f32",
    "bins-onehot-forest",
    "bins-ordinal-forest",
    "categories-histogram",
    "dropped-forest",
    "dropped-frame",
    "forest-missing",
    "indicator-robust-boosted",
    "maxabs-histogram",
    "minmax-boosted-f32",
    "minmax-boosted",
    "onehot-drop-forest",
    "onehot-forest",
    "onehot-rare-boosted",
    "ordinal-forest",
    "ordinal-histogram",
    "ordinal-lightgbm-categories",
    "robust-lightgbm",
    "select-forest",
    "sparse-xgboost",
    "standard-forest-f32",
    "standard-forest",
    "standard-xgboost",
    "target-extra",
    "union-forest",
];

/// Files of skl2onnx that schedc refuses, with words of the message.
const REFUSED: &[(&str, &str)] = &[("no-class-of-part", "the operator `Cast` after the trees")];

#[test]
fn exported_pipelines_predict_as_scikit_learn() {
    let fixtures = Fixture::all(&folder("fixtures"));
    for name in FOLDED {
        assert!(fixtures.iter().any(|fixture| fixture.name == *name), "{name} is missing");
    }
    for fixture in fixtures {
        let name = fixture.name.as_str();
        let loaded = load(&fixture.bytes, &ReadOptions::default());
        let loaded = loaded.unwrap_or_else(|error| panic!("{name}: {error}"));
        check(&fixture, &loaded);
        let is_folded = loaded.model.forest.computed.read_by_trees.is_empty();
        assert!(is_folded || !FOLDED.contains(&name), "{name} computes columns");
    }
}

/// Checks the pipelines that `fixtures/grid.py --write FOLDER` draws, if `SCHEDC_PIPELINES` names the folder.
/// Prints how many are read, and why the others are refused.
#[test]
fn drawn_pipelines_predict_as_scikit_learn() {
    let Some(folder) = std::env::var_os("SCHEDC_PIPELINES") else { return };
    let (mut read, mut refused, mut wrong) = (0, BTreeMap::new(), Vec::new());
    for fixture in Fixture::all(Path::new(&folder)) {
        match load(&fixture.bytes, &ReadOptions::default()) {
            Ok(loaded) => {
                let is_right = std::panic::catch_unwind(|| check(&fixture, &loaded)).is_ok();
                if !is_right {
                    wrong.push(fixture.name.clone());
                }
                read += 1;
            }
            Err(error) => {
                let message = error.message.split("(node").next().unwrap_or_default();
                let message = message.split(": `").next().unwrap_or_default().to_owned();
                *refused.entry(format!("{} {message}", error.code)).or_insert(0) += 1;
            }
        }
    }
    println!("{read} read; refused: {refused:#?}");
    assert!(read > 0 && wrong.is_empty(), "{wrong:?}");
}

#[test]
fn converted_pipelines_predict_as_onnx_runtime() {
    let mut refused = REFUSED.len();
    for fixture in Fixture::all(&folder("skl2onnx")) {
        let name = fixture.name.as_str();
        let loaded = load(&fixture.bytes, &ReadOptions::default());
        match REFUSED.iter().find(|(refused, _)| *refused == name) {
            None => check(&fixture, &loaded.unwrap_or_else(|error| panic!("{name}: {error}"))),
            Some((_, words)) => {
                let error = loaded.expect_err(name);
                assert_eq!(error.code, codes::UNSUPPORTED_OPERATOR, "{name}: {error}");
                assert!(error.message.contains(words), "{name}: {error}");
                refused -= 1;
            }
        }
    }
    assert_eq!(refused, 0);
}

fn check(fixture: &Fixture, loaded: &LoadedModel) {
    let (name, forest) = (&fixture.name, &loaded.model.forest);
    let rows = fixture.rows(&forest.categories);
    assert_eq!(rows.len(), fixture.n_rows() * forest.num_features, "{name}");
    let mut values = vec![0.0_f64; fixture.n_rows() * forest.value_columns()];
    predict(forest, &rows, &mut values).expect(name);
    let inputs = fixture.content["inputs"].as_array().expect("inputs");
    let is_single = inputs.iter().any(|input| input["type"] == "f32");
    for output in fixture.content["outputs"].as_array().expect("outputs") {
        // Sums in single precision depend on the order of their terms.
        let bound = match output["promise"] == "single" {
            // ONNX Runtime computes sums of kernels less exactly.
            true => 1e-5,
            false if is_single || output["type"] == "f32" => 1e-6,
            false => 1e-13,
        };
        let of = output["name"].as_str().expect("a name");
        let expected = output["values"].as_array().expect("values");
        match of {
            // Predictions of rows near a threshold may differ.
            _ if output["promise"] == "outside" => {}
            // A note says that the model's margins differ from this output.
            _ if loaded.model.notes.iter().any(|note| note.0.contains(&format!("`{of}`"))) => {}
            "label" => {
                let mut classes = vec![0; fixture.n_rows() * forest.num_class_numbers()];
                predict_classes(forest, &rows, &mut classes).expect(name);
                let labels = &forest.output.classes.as_ref().expect("classes").labels;
                assert_eq!(classes.len(), expected.len(), "{name}: labels");
                for (place, (class, expected)) in classes.iter().zip(expected).enumerate() {
                    let label = labels.get(*class as usize).map_or(class.to_string(), Label::to_string);
                    let expected = expected.as_str().map_or(expected.to_string(), str::to_owned);
                    assert_eq!(label, expected, "{name}: label {place}");
                }
            }
            "margins" => {
                let mut margins = vec![0.0_f64; fixture.n_rows() * forest.num_margins];
                sched_forest::predict_margins(forest, &rows, &mut margins).expect(name);
                compare((name, of), (&output["promise"], bound), &margins, &output["type"], expected);
            }
            _ => compare((name, of), (&output["promise"], bound), &values, &output["type"], expected),
        }
    }
    if loaded.stages.is_empty() {
        return;
    }
    let pipeline = read_pipeline(&fixture.bytes).expect(name).pipeline;
    let mut defined = vec![0.0_f64; values.len()];
    pipeline.predict(&rows, &mut defined).expect(name);
    assert_eq!(bits(&values), bits(&defined), "{name}");
    let unfolded = UnfoldedPipeline::of(pipeline).expect(name);
    let mut valid = rows.clone();
    valid.chunks_mut(forest.num_features).for_each(|row| unfolded.make_valid(row));
    assert_eq!(bits(&valid), bits(&rows), "{name}");
    let as_written = UnfoldedPipeline::read(&fixture.bytes).expect(name);
    for (unfolded, constants) in [(&unfolded, "evaluated"), (&as_written, "as written")] {
        predict(&unfolded.forest, &rows, &mut values).expect(name);
        assert_eq!(bits(&values), bits(&defined), "{name}, unfolded, constants {constants}");
    }
    let is_read = |column: &ColumnSummary| column.fate != ColumnFate::Unread;
    assert!(loaded.stages.iter().flat_map(|stage| &stage.columns).any(is_read), "{name}");
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Compares values with an output of a fixture: bit for bit, or within a bound relative to their size.
fn compare(
    (name, of): (&str, &str),
    (promise, bound): (&Value, f64),
    values: &[f64],
    kind: &Value,
    expected: &[Value],
) {
    assert_eq!(values.len(), expected.len(), "{name}: {of}");
    for (place, (value, cell)) in values.iter().zip(expected).enumerate() {
        let expected = number(kind, cell, None);
        match promise.as_str() {
            Some("equal") => assert_eq!(value.to_bits(), expected.to_bits(), "{name}: {of} {place}"),
            _ => {
                let bound = bound * expected.abs().max(1.0);
                let is_near = (value - expected).abs() <= bound || value.to_bits() == expected.to_bits();
                assert!(is_near, "{name}: {of} {place}: {value} {expected}");
            }
        }
    }
}

/// The file `grid48` is made by `fixtures/grid.py --only 48 --write FOLDER`.
#[test]
fn inputs_that_no_node_reads_are_unread() {
    for (name, unread) in [
        ("grid48", &["city"][..]),
        ("dropped-forest", &["income", "distance", "floor"]),
        // The file's metadata say which columns of the single tensor are dropped.
        ("dropped-frame", &["income", "distance"]),
        // Nodes read the inputs of columns that no tree tests.
        ("onehot-forest", &[]),
        // The fitted object needs all columns, although it chooses some of them.
        ("select-forest", &[]),
    ] {
        let bytes = fs::read(folder("fixtures").join(format!("{name}.onnx"))).expect("a model");
        let loaded = load(&bytes, &ReadOptions::default()).expect("a pipeline");
        let forest = &loaded.model.forest;
        let unseen = Unseen::of_trainer(loaded.model.source.trainer);
        let categories = Categories::new(forest.categories.clone(), Choices::default(), unseen);
        let found: Vec<&str> = (0..forest.num_features)
            .filter(|feature| categories.is_unread(*feature))
            .map(|feature| forest.feature_names[feature].as_str())
            .collect();
        assert_eq!(found, unread, "{name}");
        let is_tested = |feature: usize| {
            forest.trees.iter().flat_map(|tree| &tree.inner).any(|inner| inner.feature as usize == feature)
        };
        assert!((0..forest.num_features).all(|at| !categories.is_unread(at) || !is_tested(at)), "{name}");
    }
}

#[test]
fn columns_that_trees_test_are_read_whatever_the_metadata_say() {
    let bytes = fs::read(folder("fixtures").join("dropped-frame.onnx")).expect("a model");
    let (said, wrong) = (b"\"dropped\": [1, 3]", b"\"dropped\": [0, 9]");
    let place = bytes.windows(said.len()).position(|bytes| bytes == said).expect("metadata");
    let changed = [&bytes[..place], wrong, &bytes[place + said.len()..]].concat();
    let loaded = load(&changed, &ReadOptions::default()).expect("a pipeline");
    assert!(loaded.model.forest.categories.is_empty(), "{:?}", loaded.model.forest.categories);
}

/// A stacked classifier of two classes reads one of the two probabilities of each of its forests.
#[test]
fn margins_that_no_result_reads_are_left_out() {
    let bytes = fs::read(folder("fixtures").join("stacking.onnx")).expect("a model");
    let forest = load(&bytes, &ReadOptions::default()).expect("a pipeline").model.forest;
    assert_eq!(forest.num_margins, 2);
}
