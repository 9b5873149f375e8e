//! Reads any bytes as a pipeline, or refuses them with a message. After `fold`, the rows end in the same
//! leaves as before.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sched_pipeline::{Pipeline, fold, fold_constants, read_pipeline, remove_unread_columns};

fuzz_target!(|bytes: &[u8]| match read_pipeline(bytes) {
    Err(error) => assert!(!error.message.is_empty()),
    Ok(read) => compare(&read.pipeline),
});

/// Values of the inputs: missing, ordinary, large and infinite ones. Inputs that are neither floats nor
/// integers get -1, 0 or 1.
const VALUES: [f64; 8] = [f64::NAN, 0.0, -1.0, 2.0, 38.1, 1e30, f64::INFINITY, f64::NEG_INFINITY];

fn compare(pipeline: &Pipeline) {
    if pipeline.inputs.len() > 64 || pipeline.columns.len() > 4096 {
        return;
    }
    let Ok(ready) = fold_constants(remove_unread_columns(pipeline.clone())) else { return };
    let Ok(folding) = fold(ready) else { return };
    let whole = |value: f64| if value.is_finite() { value.trunc().min(1e9) } else { f64::NAN };
    let cell = |input: &sched_pipeline::PipelineInput, value: f64| match input.kind {
        sched_pipeline::InputKind::Float(sched_forest::Float::F64) => value,
        sched_pipeline::InputKind::Float(sched_forest::Float::F32) => f64::from(value as f32),
        sched_pipeline::InputKind::Integer => whole(value),
        _ => whole(value).clamp(-1.0, 1.0),
    };
    for value in VALUES {
        let row: Vec<f64> = pipeline.inputs.iter().map(|input| cell(input, value)).collect();
        let trees = pipeline.stages.first().and_then(|stage| stage.forest()).map_or(0, |it| it.trees.len());
        let (mut expected, mut found) = (vec![0; trees], vec![0; trees]);
        assert_eq!(pipeline.predict_leaves(&row, &mut expected), Ok(()));
        assert_eq!(folding.pipeline.predict_leaves(&row, &mut found), Ok(()));
        assert_eq!(expected, found, "{row:?}");
    }
}
