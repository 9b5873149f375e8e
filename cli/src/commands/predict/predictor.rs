//! Predictors: code in memory, and libraries.

use sched_llvm::runtime::{Dtype, Kind};
use sched_llvm::{Extras, Jit, Library, Output as Results, Predict, Rows};
use schedc_data::Number;
use schedc_driver::Failure;
use std::cell::OnceCell;

/// Most rows of a call on the processor: the clock and the progress bar advance after each call.
pub const PIECE: usize = 1 << 16;
/// Most rows of a call on a GPU, which overlaps transfers and kernels within a call.
const GPU_PIECE: usize = 1 << 20;

/// A predictor: code in memory or a library.
pub trait Predictor {
    /// Columns of a row.
    fn num_features(&self) -> usize;
    /// Columns of an output; 0 if the model has none of the kind.
    fn num_outputs(&self, kind: Kind) -> usize;
    /// Most rows of a call; progress is shown after each.
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

/// The number type of an element type.
fn number_of(element: Dtype) -> Number {
    match element {
        Dtype::F32 => Number::F32,
        Dtype::F64 => Number::F64,
        Dtype::I32 => Number::I32,
    }
}

impl Predictor for Jit {
    fn rows_of_call(&self) -> usize {
        if self.model().gpu.is_null() { PIECE } else { GPU_PIECE }
    }

    fn num_features(&self) -> usize {
        Predict::num_features(self)
    }

    fn num_outputs(&self, kind: Kind) -> usize {
        Predict::num_outputs(self, kind)
    }

    fn number(&self, kind: Kind) -> Number {
        number_of(self.output_type(kind))
    }

    fn predict(
        &self,
        kind: Kind,
        rows: Rows,
        n: usize,
        out: Results,
        extras: Extras<'_>,
    ) -> Result<(), String> {
        self.predict_with(kind, rows, n, out, extras).map_err(|status| status.to_string())
    }
}

/// Code in memory for the rows that come first, and for wider ones once there are some that it would have to
/// round.
pub struct JitByRows<'a> {
    first: Jit,
    wide: OnceCell<Jit>,
    make_wide: &'a dyn Fn() -> Result<Jit, Failure>,
}

impl<'a> JitByRows<'a> {
    /// `make_wide` compiles the code for wide rows.
    pub fn new(first: Jit, make_wide: &'a dyn Fn() -> Result<Jit, Failure>) -> JitByRows<'a> {
        JitByRows { first, wide: OnceCell::new(), make_wide }
    }

    /// The code for some rows.
    fn code_for(&self, rows: Rows) -> Result<&Jit, String> {
        let model = self.first.model();
        let would_round = rows.need_doubles() && i64::from(model.row_type) != model.own_row_type;
        match self.wide.get() {
            _ if !would_round => Ok(&self.first),
            Some(wide) => Ok(wide),
            None => {
                let wide = (self.make_wide)().map_err(why)?;
                Ok(self.wide.get_or_init(|| wide))
            }
        }
    }
}

/// The reason why compilation failed.
fn why(failure: Failure) -> String {
    match failure {
        Failure::Refused(diagnostic) => diagnostic.message,
        Failure::Findings | Failure::Reported(_) => "there is no code for rows of 64-bit floats".to_string(),
    }
}

impl Predictor for JitByRows<'_> {
    fn rows_of_call(&self) -> usize {
        self.first.rows_of_call()
    }

    fn num_features(&self) -> usize {
        Predictor::num_features(&self.first)
    }

    fn num_outputs(&self, kind: Kind) -> usize {
        Predictor::num_outputs(&self.first, kind)
    }

    fn number(&self, kind: Kind) -> Number {
        self.first.number(kind)
    }

    fn predict(
        &self,
        kind: Kind,
        rows: Rows,
        n: usize,
        out: Results,
        extras: Extras<'_>,
    ) -> Result<(), String> {
        Predictor::predict(self.code_for(rows)?, kind, rows, n, out, extras)
    }
}

impl Predictor for Library {
    fn num_features(&self) -> usize {
        Predict::num_features(self)
    }

    fn num_outputs(&self, kind: Kind) -> usize {
        Predict::num_outputs(self, kind)
    }

    fn number(&self, kind: Kind) -> Number {
        number_of(self.output_type(kind))
    }

    fn predict(
        &self,
        kind: Kind,
        rows: Rows,
        n: usize,
        out: Results,
        extras: Extras<'_>,
    ) -> Result<(), String> {
        self.predict_with(kind, rows, n, out, extras)
    }
}
