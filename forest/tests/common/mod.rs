//! Functions that several tests share.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use sched_forest::{Forest, Real, predict, predict_classes, predict_leaves, predict_margins};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

pub mod onnx;

/// The path of a folder or file among the fixtures.
pub fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder)
}

/// The expected values of a model: the file `NAME.expected.json` beside it.
pub fn expected<T: DeserializeOwned>(model: &Path) -> T {
    let path = model.with_extension("expected.json");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Numbers from the bits that fixtures hold.
pub fn floats(bits: &[u64]) -> Vec<f64> {
    bits.iter().map(|&bits| f64::from_bits(bits)).collect()
}

/// The bits of numbers. They distinguish zeros of both signs, and all NaN.
pub fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The margins of rows.
pub fn margins<X: Real, Y: Real + Default>(forest: &Forest, rows: &[X]) -> Vec<Y> {
    let mut margins = vec![Y::default(); rows.len() / forest.num_features * forest.num_margins];
    predict_margins(forest, rows, &mut margins).unwrap();
    margins
}

/// The predictions of rows.
pub fn predictions<X: Real, Y: Real + Default>(forest: &Forest, rows: &[X]) -> Vec<Y> {
    let mut predictions = vec![Y::default(); rows.len() / forest.num_features * forest.value_columns()];
    predict(forest, rows, &mut predictions).unwrap();
    predictions
}

/// The numbers of the leaves that rows reach in each tree.
pub fn leaves<X: Real>(forest: &Forest, rows: &[X]) -> Vec<u32> {
    let mut leaves = vec![0; rows.len() / forest.num_features * forest.trees.len()];
    predict_leaves(forest, rows, &mut leaves).unwrap();
    leaves
}

/// The classes of rows.
pub fn classes<X: Real>(forest: &Forest, rows: &[X]) -> Vec<u32> {
    let mut classes = vec![0; rows.len() / forest.num_features * forest.num_class_numbers()];
    predict_classes(forest, rows, &mut classes).unwrap();
    classes
}

/// A generator of pseudo-random numbers from a fixed state, so that failures can be repeated.
pub fn next_random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as usize
}

/// Reads an array of little-endian `f32` from a `.npy` file, and returns it row by row even if the file has
/// the order of Fortran.
pub fn read_npy(path: &Path) -> Vec<f32> {
    read_values(path, "'<f4'", f32::from_le_bytes)
}

/// Reads a `.npy` file of `f64` values.
pub fn read_npy_f64(path: &Path) -> Vec<f64> {
    read_values(path, "'<f8'", f64::from_le_bytes)
}

fn read_values<T: Copy, const N: usize>(path: &Path, kind: &str, value: fn([u8; N]) -> T) -> Vec<T> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(&bytes[..6], b"\x93NUMPY", "{}", path.display());
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let text = String::from_utf8_lossy(&bytes[10..10 + header]);
    assert!(text.contains(kind), "{}: {text}", path.display());
    let values: Vec<T> =
        bytes[10 + header..].chunks_exact(N).map(|bytes| value(bytes.try_into().unwrap())).collect();
    if text.contains("'fortran_order': False") {
        return values;
    }
    let shape = text.split_once("'shape': (").unwrap().1;
    let rows: usize = shape.split(',').next().unwrap().parse().unwrap();
    let columns = values.len() / rows;
    (0..values.len()).map(|at| values[at % columns * rows + at / columns]).collect()
}

/// The number of values with different bits, and the largest difference.
pub fn differences(left: &[f32], right: &[f32]) -> (usize, f32) {
    assert_eq!(left.len(), right.len());
    let pairs = left.iter().zip(right).filter(|(left, right)| left.to_bits() != right.to_bits());
    pairs.fold((0, 0.0), |(count, most), (left, right)| (count + 1, (left - right).abs().max(most)))
}

/// The files of a folder, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

/// Reads a truncated or changed model many times: cut at about 2000 lengths, and with one byte changed at
/// each of as many places. No reader may panic, and models that are still accepted must predict.
pub fn damaged(bytes: &[u8]) {
    let step = 1 + bytes.len() / 2000;
    for length in (0..bytes.len()).step_by(step) {
        let _ = sched_forest::read(&bytes[..length]);
    }
    let mut changed = bytes.to_vec();
    for at in (0..bytes.len()).step_by(step) {
        for flip in [0x01, 0x10, 0x80, 0xff] {
            changed[at] ^= flip;
            if let Ok(forest) = sched_forest::read(&changed)
                && forest.num_features < 1000
            {
                let mut out = vec![0.0f64; forest.num_margins];
                sched_forest::predict_margins(&forest, &vec![0.5f64; forest.num_features], &mut out).unwrap();
            }
            changed[at] ^= flip;
        }
    }
}
