//! What predicts: code in memory or a library.

use super::about;
use sched_llvm::runtime::{Dtype, Kind};
use sched_llvm::{Extras, Jit, Library, Output as Results, Rows};
use schedc_data::Number;

/// Rows predicted between two looks at the clock, at most.
pub const PIECE: usize = 1 << 16;
/// The same on GPUs, which compute a call while they are fed with the rest of it.
const GPU_PIECE: usize = 1 << 20;

/// Something that predicts: code in memory or a library.
pub trait Predictor {
    /// Columns of a row.
    fn num_features(&self) -> usize;
    /// Columns of an output; 0 if the model has none of the kind.
    fn num_outputs(&self, kind: Kind) -> usize;
    /// Rows of a call that it is worth its while to make: progress is shown after each.
    fn rows_of_call(&self) -> usize {
        PIECE
    }
    /// The type of an output's numbers.
    fn number(&self, kind: Kind) -> Number;
    /// Predicts packed rows.
    fn predict(
        &self,
        kind: Kind,
        rows: Rows,
        n: usize,
        out: Results,
        extras: Extras<'_>,
    ) -> Result<(), String>;
}

impl Predictor for Jit {
    fn rows_of_call(&self) -> usize {
        if self.model().gpu.is_null() { PIECE } else { GPU_PIECE }
    }

    fn num_features(&self) -> usize {
        usize::try_from(self.model().num_features).unwrap_or(0)
    }

    fn num_outputs(&self, kind: Kind) -> usize {
        usize::try_from(sched_llvm::runtime::num_outputs(self.model(), kind)).unwrap_or(0)
    }

    fn number(&self, kind: Kind) -> Number {
        match sched_llvm::runtime::output_type(self.model(), kind) {
            Dtype::F32 => Number::F32,
            Dtype::F64 => Number::F64,
            Dtype::I32 => Number::I32,
        }
    }

    fn predict(
        &self,
        kind: Kind,
        rows: Rows,
        n: usize,
        out: Results,
        extras: Extras<'_>,
    ) -> Result<(), String> {
        Jit::predict_with(self, kind, rows, n, out, extras).map_err(|status| status.to_string())
    }
}

impl Predictor for Library {
    fn num_features(&self) -> usize {
        Library::num_features(self)
    }

    fn num_outputs(&self, kind: Kind) -> usize {
        Library::num_outputs(self, kind)
    }

    fn number(&self, kind: Kind) -> Number {
        match (kind, about(self)["model"]["types"]["results"].as_str()) {
            (Kind::Leaf, _) => Number::I32,
            (Kind::Value | Kind::Raw, Some("f64")) => Number::F64,
            _ => Number::F32,
        }
    }

    fn predict(
        &self,
        kind: Kind,
        rows: Rows,
        n: usize,
        out: Results,
        extras: Extras<'_>,
    ) -> Result<(), String> {
        Library::predict_with(self, kind, rows, n, out, extras)
    }
}
