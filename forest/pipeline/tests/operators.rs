//! Single operators against the results of ONNX Runtime: graphs that `operators/make.py` makes.

use sched_pipeline::read_pipeline;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Operators whose results must be equal in all bits. Libraries round the results of the others in different
/// ways.
const EQUAL: &[&str] = &[
    "sqrt",
    "reciprocal",
    "relu",
    "leaky",
    "leaky 0.3",
    "thresholded",
    "thresholded -0.5",
    "sign",
    "abs",
    "pow 2.0",
    "pow 3.0",
    "p relu",
    "sum",
    "max",
    "min",
    "inf",
    "-inf",
    "+inf",
    "xor",
    "normalizer MAX",
    "normalizer L1",
    "fmod",
    "div",
    "mod",
    "fmod whole",
    "pow of wholes",
    "filled",
    "reshaped",
    "expanded",
    "expanded rows",
    "tiled",
    "place",
    "dropout",
];

/// Relative and absolute distance allowed for other operators. Their sum is the bound.
fn bounds(is_single: bool) -> (f64, f64) {
    if is_single { (2e-6, 2e-7) } else { (4e-15, 4e-16) }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/operators").join(name)
}

fn numbers(values: &Value, is_single: bool) -> Vec<f64> {
    let number = |bits: u64| match is_single {
        true => f64::from(f32::from_bits(bits as u32)),
        false => f64::from_bits(bits),
    };
    values.as_array().expect("numbers").iter().map(|value| number(value.as_u64().expect("bits"))).collect()
}

#[test]
fn operators_compute_what_onnx_runtime_does() {
    for (name, columns) in
        [("f32-11", 170), ("f32-21", 190), ("f64-21", 190), ("more-f32-21", 160), ("more-f64-21", 140)]
    {
        let is_single = name.contains("f32");
        let bytes = fs::read(file(&format!("{name}.onnx"))).expect("a graph");
        let text = fs::read_to_string(file(&format!("{name}.json"))).expect("results");
        let content: Value = serde_json::from_str(&text).expect("JSON");
        let pipeline = read_pipeline(&bytes).expect(name).pipeline;
        let rows = numbers(&content["rows"], is_single);
        let expected = numbers(&content["values"], is_single);
        let found = pipeline.tested_rows(0, &rows);
        let labels = content["labels"].as_array().expect("labels");
        assert!(labels.len() > columns, "{name} has {} columns", labels.len());
        assert_eq!(found.len(), expected.len(), "{name}");
        for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let label = labels[place % labels.len()].as_str().expect("a text");
            // Normalizers have results in single precision.
            let (relative, absolute) = bounds(is_single || label.starts_with("normalizer"));
            let is_equal = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
            let is_near = (found - expected).abs() <= expected.abs() * relative + absolute;
            let row = &rows[place / labels.len() * 4..][..4];
            assert!(
                is_equal || (is_near && !EQUAL.contains(&label)),
                "{name}, {label}: {found:e}, not {expected:e}, of {row:?}"
            );
        }
    }
}
