//! The walker: a predictor without compiled code, which is ready as soon as the model is read.
//!
//! A walker visits the trees one by one, and adds their values in the model's order. Its results are
//! therefore equal to the reference walker's in all bits. The runtime calls it as it calls compiled
//! kernels, and does the rest: conversion of rows, columns, missing values, base margins, threads and
//! output.

mod kernels;
mod trees;

pub use trees::steps_of_a_row;

use crate::compile::{RowRules, about_model};
use crate::model::Model;
use kernels::kernel;
use sched_forest::Float;
use sched_ir::lower::interface;
use sched_llvm::CompiledCode;
use sched_llvm::runtime::{
    self, Call, CallStatus, Dtype, MODEL_SIZE, ModelDescriptor, ModelHandle, OutputDescriptor, OutputKind,
};
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;
use trees::WalkerTrees;

/// Nanoseconds of a node that a row visits, from which the number of threads of a call follows. Measured on
/// Zen 5: 1.1 to 2.2 with 64 or more rows.
const NS_PER_STEP: f64 = 2.0;

/// Most nodes that all rows of a call visit for which walking is worth more than compiling. They take some
/// 40 ms, and compiling for a call of as many rows takes 50 to 120 ms. Measured on Zen 5 with models of 100
/// to 1000 trees.
const MOST_STEPS: usize = 20_000_000;

/// Whether a call of `rows` rows takes less time with the walker than compiling and calling code.
pub fn is_worth_walking(model: &Model, rows: usize) -> bool {
    steps_of_a_row(model.forest()).saturating_mul(rows) <= MOST_STEPS
}

/// A predictor that walks the trees of a model.
pub struct Walker {
    // The descriptor has the addresses of the other fields, which are on the heap.
    descriptor: ModelDescriptor,
    _trees: Box<WalkerTrees>,
    _tables: Box<[*const c_void; 1]>,
    _info: CString,
    _base: Option<InitialSums>,
}

/// Initial sums, in the type of margins.
enum InitialSums {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

// SAFETY: this value owns the memory that the pointers of the descriptor lead to, and never changes it.
unsafe impl Send for Walker {}
// SAFETY: as above.
unsafe impl Sync for Walker {}

impl Walker {
    /// The walker of a model.
    pub fn new(model: &Model, rules: RowRules) -> Walker {
        let forest = model.forest();
        let trees = Box::new(WalkerTrees::new(Arc::clone(forest)));
        let tables = Box::new([ptr::from_ref::<WalkerTrees>(&trees).cast::<c_void>()]);
        let about = about_model(model, |kind| forest.columns_of_output(kind), rules);
        // JSON has no NUL.
        let info = CString::new(about.to_string()).unwrap_or_default();
        let kernel = |kind| kernel(kind, forest, rules.base_margin);
        let base = rules.base_margin.then(|| match forest.types.accumulator {
            Float::F32 => InitialSums::Single(forest.base.iter().map(|value| *value as f32).collect()),
            Float::F64 => InitialSums::Double(forest.base.clone()),
        });
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let descriptor = ModelDescriptor {
            size: MODEL_SIZE,
            num_features: count(forest.num_features),
            num_margins: count(forest.num_margins),
            row_type: dtype(forest.types.input) as i32,
            margin_type: dtype(forest.types.accumulator) as i32,
            result_type: dtype(forest.types.output) as i32,
            rows_per_run: i64::MAX,
            ns_per_row: NS_PER_STEP * steps_of_a_row(forest) as f64,
            tables: tables.as_ptr(),
            info: info.as_ptr(),
            cpu_needs: 0,
            otherwise: ptr::null(),
            gpu: ptr::null(),
            missing: rules.missing.unwrap_or(f64::NAN),
            base: match &base {
                None => ptr::null(),
                Some(InitialSums::Single(values)) => values.as_ptr().cast(),
                Some(InitialSums::Double(values)) => values.as_ptr().cast(),
            },
            other_rows: ptr::null(),
            own_row_type: dtype(model.trainer_row_type) as i64,
            columns_from: i64::MAX,
            outputs: OutputDescriptor::all(&forest.counts(), &interface(&forest.types), kernel),
        };
        Walker { descriptor, _trees: trees, _tables: tables, _info: info, _base: base }
    }

    /// A handle by which other modules of this process call the walker.
    ///
    /// # Safety
    /// The caller keeps this value alive, and does not move it, while the handle is in use.
    pub unsafe fn handle(&self) -> ModelHandle {
        // SAFETY: the kernels fit the trees, and the caller keeps both alive.
        unsafe { runtime::handle(&self.descriptor) }
    }
}

fn dtype(float: Float) -> Dtype {
    match float {
        Float::F32 => Dtype::F32,
        Float::F64 => Dtype::F64,
    }
}

impl CompiledCode for Walker {
    type Error = CallStatus;

    fn num_features(&self) -> usize {
        usize::try_from(self.descriptor.num_features).unwrap_or(usize::MAX)
    }

    fn num_outputs(&self, kind: OutputKind) -> usize {
        usize::try_from(runtime::num_outputs(&self.descriptor, kind)).unwrap_or(usize::MAX)
    }

    fn output_type(&self, kind: OutputKind) -> Dtype {
        runtime::output_type(&self.descriptor, kind)
    }

    unsafe fn call(&self, call: &Call) -> Result<(), CallStatus> {
        // SAFETY: as the caller promises. The kernels fit the trees.
        unsafe { runtime::call(&self.descriptor, call) }
    }
}
