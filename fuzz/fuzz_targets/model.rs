//! Reads any bytes as a model: a reader accepts them or refuses them with a message. Accepted models can be
//! predicted. The sniffers of all formats choose the reader.

#![no_main]

use sched_forest::{Forest, Iterations, ReadOptions, predict, predict_leaves, read, read_with, summarize};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match read(bytes) {
        Err(error) => assert!(!error.message.is_empty()),
        Ok(forest) => {
            walk(&forest);
            let first = ReadOptions { iterations: Iterations::Range(0, 1), ..ReadOptions::default() };
            if let Ok(first) = read_with(bytes, &first) {
                assert!(first.trees.len() <= forest.trees.len());
            }
            summarize(&forest);
            assert_eq!(Forest::new(forest.clone().into_parts()).as_ref(), Ok(&forest));
        }
    }
});

fn walk(forest: &Forest) {
    if forest.num_features > 4096 {
        return;
    }
    let values = [f32::NAN, 0.0, -1.0, 1e30];
    let rows: Vec<f32> = values.iter().flat_map(|&value| vec![value; forest.num_features]).collect();
    let mut predictions = vec![0.0f32; values.len() * forest.value_columns()];
    assert_eq!(predict(forest, &rows, &mut predictions), Ok(()));
    let mut leaves = vec![0; values.len() * forest.trees.len()];
    assert_eq!(predict_leaves(forest, &rows, &mut leaves), Ok(()));
}
