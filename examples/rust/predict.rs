//! Predicts a few rows with a model that is linked into the program.
//!
//! In the folder of this file, with a model's file in place of MODEL:
//!
//!     schedc build MODEL --emit static -o libmodel.a
//!     rustc --edition 2021 -L . -l static=model predict.rs
//!     ./predict
//!
//! The archive needs only the C library, which Rust links anyway.

use std::ffi::{c_char, c_void, CStr};

/// The first fields of `schedc_call` in libmodel.h, which suffice here. `size` is the size of this part.
#[repr(C)]
struct Call {
    size: u32,
    kind: i32,
    rows: *const c_void,
    n_rows: i64,
    out: *mut c_void,
    dtype: i32,
    threads: i32,
}

const VALUE: i32 = 0;
const TREE: i32 = 4;
const F64: i32 = 1;

extern "C" {
    fn schedc_predict_ex(call: *const Call) -> i32;
    fn schedc_abi_version() -> i32;
    fn schedc_num_features() -> i32;
    fn schedc_num_outputs(kind: i32) -> i32;
    fn schedc_output_type(kind: i32) -> i32;
    fn schedc_error(status: i32) -> *const c_char;
}

/// Computes an output of packed rows of floats, converted to doubles.
fn predict(kind: i32, rows: &[f32]) -> Result<Vec<f64>, String> {
    // SAFETY: the functions take any number.
    let (features, columns, is_wide) = unsafe {
        (schedc_num_features() as usize, schedc_num_outputs(kind) as usize, schedc_output_type(kind) == F64)
    };
    let count = rows.len() / features;
    let (mut single, mut wide) = (vec![0f32; count * columns], vec![0f64; count * columns]);
    let out = if is_wide { wide.as_mut_ptr().cast() } else { single.as_mut_ptr().cast() };
    let call = Call {
        size: size_of::<Call>() as u32,
        kind,
        rows: rows.as_ptr().cast(),
        n_rows: count as i64,
        out,
        dtype: 0,
        threads: 1,
    };
    // SAFETY: rows and results have the lengths of the call.
    let status = unsafe { schedc_predict_ex(&call) };
    if status != 0 {
        // SAFETY: the text ends in NUL and is static.
        return Err(unsafe { CStr::from_ptr(schedc_error(status)) }.to_string_lossy().into_owned());
    }
    Ok(if is_wide { wide } else { single.into_iter().map(f64::from).collect() })
}

fn main() -> Result<(), String> {
    // SAFETY: the functions have no arguments.
    let (version, features) = unsafe { (schedc_abi_version(), schedc_num_features()) };
    if version != 1 {
        return Err(format!("the model has version {version} of the interface"));
    }
    // Made-up rows for a model of any size: feature f of row r is (r + 1) * (f + 1) / 10.
    let rows: Vec<f32> = (0..4)
        .flat_map(|row| (0..features).map(move |feature| ((row + 1) * (feature + 1)) as f32 / 10.0))
        .collect();
    for value in predict(VALUE, &rows)? {
        println!("{value:.6}");
    }
    let trees = predict(TREE, &rows)?;
    println!("{} values of trees", trees.len());
    Ok(())
}
