//! Predictors: code in memory, libraries, and the simulator of GPUs.

use sched_llvm::runtime::{Dtype, Kind};
use sched_llvm::{Extras, Output, Predict, Rows};
use std::fmt::Display;

/// Most rows of a call on the processor: callers show progress after each call.
pub const ROWS_OF_CALL: usize = 1 << 16;
/// Most rows of a call on a GPU, which overlaps transfers and kernels within a call.
const ROWS_OF_GPU_CALL: usize = 1 << 20;

/// Compiled code of a model, which predicts rows.
pub trait Predictor {
    /// Returns the number of columns of a row.
    fn num_features(&self) -> usize;

    /// Returns the number of columns of an output; 0 if the model has none of the kind.
    fn num_outputs(&self, kind: Kind) -> usize;

    /// Returns the most rows of a call, after which callers show progress.
    fn rows_of_call(&self) -> usize {
        ROWS_OF_CALL
    }

    /// Returns the type of an output's elements.
    fn output_type(&self, kind: Kind) -> Dtype;

    /// Predicts `n` rows. `out` has `n` rows of the output's columns.
    ///
    /// # Errors
    /// The code's message: when it refuses the call, or cannot finish it.
    fn predict(
        &self,
        kind: Kind,
        rows: Rows,
        n: usize,
        out: Output,
        extras: Extras<'_>,
    ) -> Result<(), String>;
}

/// Code in memory, and libraries.
impl<P> Predictor for P
where
    P: Predict,
    P::Error: Display,
{
    fn rows_of_call(&self) -> usize {
        if self.is_for_gpu() { ROWS_OF_GPU_CALL } else { ROWS_OF_CALL }
    }

    fn num_features(&self) -> usize {
        Predict::num_features(self)
    }

    fn num_outputs(&self, kind: Kind) -> usize {
        Predict::num_outputs(self, kind)
    }

    fn output_type(&self, kind: Kind) -> Dtype {
        Predict::output_type(self, kind)
    }

    fn predict(
        &self,
        kind: Kind,
        rows: Rows,
        n: usize,
        out: Output,
        extras: Extras<'_>,
    ) -> Result<(), String> {
        self.predict_with(kind, rows, n, out, extras).map_err(|error| error.to_string())
    }
}
