//! Graphs whose results are classes, against the results of ONNX Runtime: `class_results/make.py` makes them.

use sched_forest::{Forest, ReadOptions, predict, predict_classes};
use sched_pipeline::load;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/class_results")
}

fn numbers(values: &Value) -> Option<Vec<f64>> {
    let values = values.as_array()?;
    Some(values.iter().map(|value| value.as_f64().expect("a number")).collect())
}

/// The labels of the classes of rows, and their numbers, if the model has classes.
fn classes(forest: &Forest, rows: &[f64]) -> Option<(Vec<String>, Vec<f64>)> {
    let labels = &forest.output.classes.as_ref()?.labels;
    let mut found = vec![0; rows.len() / forest.num_features * forest.num_class_numbers()];
    predict_classes(forest, rows, &mut found).expect("classes");
    let label = |class: &u32| match labels.get(*class as usize) {
        Some(label) => label.to_string(),
        None => class.to_string(),
    };
    Some((found.iter().map(label).collect(), found.iter().map(|class| f64::from(*class)).collect()))
}

#[test]
fn results_of_classes_are_those_of_onnx_runtime() {
    let text = fs::read_to_string(folder().join("results.json")).expect("results");
    let content: Value = serde_json::from_str(&text).expect("JSON");
    let rows = numbers(&content["rows"]).expect("rows");
    let graphs = content["graphs"].as_object().expect("graphs");
    assert!(graphs.len() > 30, "{} graphs", graphs.len());
    for (name, expected) in graphs {
        let bytes = fs::read(folder().join(format!("{name}.onnx"))).expect("a graph");
        let forest = load(&bytes, &ReadOptions::default()).expect(name).model.forest;
        let mut values = vec![0.0_f64; rows.len() / forest.num_features * forest.value_columns()];
        predict(&forest, &rows, &mut values).expect("values");
        let found = classes(&forest, &rows);
        if let Some(value) = numbers(&expected["value"]) {
            assert_eq!(values, value, "{name}");
        }
        if let Some(labels) = expected["class"].as_array() {
            let (found, class_numbers) = found.as_ref().expect(name);
            assert!(found.iter().eq(labels.iter().map(|label| label.as_str().expect("a text"))), "{name}");
            // Without a result of numbers, the prediction is the class: its label, if that is a number.
            if expected["value"].is_null() {
                let as_numbers: Result<Vec<f64>, _> = found.iter().map(|label| label.parse()).collect();
                assert_eq!(&values, as_numbers.as_ref().unwrap_or(class_numbers), "{name}");
            }
        }
        if ["above-float", "above-double-f", "largest-float", "trees-"].iter().any(|of| name.starts_with(of))
        {
            assert!(found.is_some(), "{name}");
        }
        let is_class = expected["class"].is_null() && !name.contains("twice");
        if let Some((labels, _)) = found.filter(|_| is_class) {
            let labels: Vec<f64> = labels.iter().map(|label| label.parse().expect("a number")).collect();
            assert_eq!(values, labels, "{name}");
        }
    }
}
