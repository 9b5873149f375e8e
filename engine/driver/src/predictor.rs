//! Predictors: code in memory, libraries, and the simulator of GPUs.

use sched_llvm::runtime::{CallError, CallStatus, Dtype, OutputKind};
use sched_llvm::{CompiledCode, PackedResults, PackedRows, PredictOptions};

/// Most rows of a call on the processor. Callers show progress after each call: larger calls show it less
/// often.
pub const ROWS_OF_CALL: usize = 1 << 16;
/// Most rows of a call on a GPU, which overlaps transfers and kernels within a call.
const ROWS_OF_GPU_CALL: usize = 1 << 20;

/// Compiled code of a model, which predicts rows.
pub trait Predictor {
    /// Returns the number of columns of a row.
    fn num_features(&self) -> usize;

    /// Returns the number of columns of an output; 0 if the model has none of the kind.
    fn num_outputs(&self, kind: OutputKind) -> usize;

    /// Returns the most rows of a call, after which callers show progress.
    fn rows_of_call(&self) -> usize {
        ROWS_OF_CALL
    }

    /// Returns the type of an output's elements.
    fn output_type(&self, kind: OutputKind) -> Dtype;

    /// Predicts `n` rows. `out` has `n` rows of the output's columns.
    ///
    /// # Errors
    /// When the code refuses the call, or cannot finish it. [`help_for_status`] has the help.
    fn predict(
        &self,
        kind: OutputKind,
        rows: PackedRows,
        n: usize,
        out: PackedResults,
        extras: PredictOptions<'_>,
    ) -> Result<(), CallError>;
}

/// Returns the remedy for a failed call, by its [`CallError::status`].
pub fn help_for_status(status: Option<i32>) -> &'static str {
    match status {
        Some(CallStatus::CPU) => "compile the model for this processor, with --cpu or on this machine",
        Some(CallStatus::MEMORY) => "end other programs, or predict parts of the rows, as with --shard 0/2",
        Some(CallStatus::UNSUPPORTED) => "choose another --output",
        Some(CallStatus::DRIVER | CallStatus::LAUNCH) => {
            "with the model, --simulate runs the code without a GPU, and checks it"
        }
        Some(CallStatus::DEVICE) => {
            "name the GPU with --target when the model is compiled, such as 'gpu(sm_90)'"
        }
        Some(CallStatus::DEVICE_MEMORY) => {
            "end other programs on the GPU, or build the model for the processor, which needs no copy of the \
             tables"
        }
        Some(CallStatus::ROWS) => {
            "read the rows in single precision, with --row-type f32; or give the model instead of the \
             library, or a library for both types of rows"
        }
        _ => "report it, with the model and the schedule",
    }
}

/// Code in memory, and libraries.
impl<P> Predictor for P
where
    P: CompiledCode,
    P::Error: Into<CallError>,
{
    fn rows_of_call(&self) -> usize {
        if self.is_for_gpu() { ROWS_OF_GPU_CALL } else { ROWS_OF_CALL }
    }

    fn num_features(&self) -> usize {
        CompiledCode::num_features(self)
    }

    fn num_outputs(&self, kind: OutputKind) -> usize {
        CompiledCode::num_outputs(self, kind)
    }

    fn output_type(&self, kind: OutputKind) -> Dtype {
        CompiledCode::output_type(self, kind)
    }

    fn predict(
        &self,
        kind: OutputKind,
        rows: PackedRows,
        n: usize,
        out: PackedResults,
        extras: PredictOptions<'_>,
    ) -> Result<(), CallError> {
        self.predict_with(kind, rows, n, out, extras).map_err(Into::into)
    }
}
