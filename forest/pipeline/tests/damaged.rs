//! Damaged files: no reader may panic, and a pipeline that is still read must reach the same leaves after
//! folding.

use sched_forest::{Float, ReadOptions};
use sched_pipeline::{
    InputKind, Pipeline, PipelineInput, UnfoldedPipeline, fold, fold_constants, load, read_pipeline,
    remove_unread_columns,
};
use std::fs;
use std::path::Path;

/// Small files that together have all kinds of operators.
const FILES: &[&str] = &[
    "fixtures/standard-forest-f32.onnx",
    "fixtures/onehot-drop-forest.onnx",
    "fixtures/bins-ordinal-forest.onnx",
    "skl2onnx/bins-onehot.onnx",
    "skl2onnx/ordinal.onnx",
    "skl2onnx/svc-three.onnx",
    "skl2onnx/adaboost.onnx",
];

/// Number of positions at which a file is truncated or changed.
const PLACES: usize = 200;

#[test]
fn damaged_files_are_read_or_refused() {
    let mut read = 0;
    for file in FILES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
        let bytes = fs::read(path).expect("a file");
        let step = 1 + bytes.len() / PLACES;
        for length in (0..bytes.len()).step_by(step) {
            let _ = load(&bytes[..length], &ReadOptions::default());
        }
        let mut changed = bytes.clone();
        for at in (0..bytes.len()).step_by(step) {
            for flip in [0x01, 0x10, 0x80, 0xff] {
                changed[at] ^= flip;
                if let Ok(found) = read_pipeline(&changed) {
                    compare(&found.pipeline);
                    let _ = UnfoldedPipeline::read(&changed);
                    read += 1;
                }
                changed[at] ^= flip;
            }
        }
    }
    assert!(read > 300, "{read} damaged files were read");
}

fn compare(pipeline: &Pipeline) {
    let Ok(ready) = fold_constants(remove_unread_columns(pipeline.clone())) else { return };
    let Ok(folding) = fold(ready) else { return };
    let whole = |value: f64| if value.is_finite() { value.trunc() } else { f64::NAN };
    let cell = |input: &PipelineInput, value: f64| match input.kind {
        InputKind::Float(Float::F64) => value,
        InputKind::Float(Float::F32) => f64::from(value as f32),
        InputKind::Integer => whole(value),
        InputKind::Truth | InputKind::Text => whole(value).clamp(-1.0, 1.0),
    };
    let trees = pipeline.stages[0].forest().map_or(0, |forest| forest.trees.len());
    for value in [f64::NAN, 0.0, -1.0, 2.0, 38.1, 2e5, f64::INFINITY, f64::NEG_INFINITY] {
        let row: Vec<f64> = pipeline.inputs.iter().map(|input| cell(input, value)).collect();
        let (mut expected, mut found) = (vec![0; trees], vec![0; trees]);
        pipeline.predict_leaves(&row, &mut expected).expect("a row");
        folding.pipeline.predict_leaves(&row, &mut found).expect("a row");
        assert_eq!(expected, found, "{row:?}");
    }
}
