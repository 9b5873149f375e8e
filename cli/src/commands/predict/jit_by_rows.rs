//! Compiled code in memory for rows of both floating-point types.

use sched_llvm::runtime::{CallError, CallStatus, Dtype, OutputKind};
use sched_llvm::{Jit, PackedResults, PackedRows, PredictOptions};
use schedc_driver::{Failure, Predictor};
use std::cell::OnceCell;

/// Code in memory for the type of the first batch. Compiles code for 64-bit rows when a later batch has
/// values that the first code would round.
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

    /// Returns the code for these rows: the wide code if the first would round some value.
    fn code_for(&self, rows: PackedRows) -> Result<&Jit, CallError> {
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

/// The error of a call, if the code for 64-bit rows cannot be compiled.
fn why(failure: Failure) -> CallError {
    let message = match failure {
        Failure::Refused(diagnostic) => diagnostic.message,
        Failure::Findings | Failure::Reported(_) => "there is no code for rows of 64-bit floats".to_string(),
    };
    CallError { status: Some(CallStatus::ROWS), message }
}

impl Predictor for JitByRows<'_> {
    fn rows_of_call(&self) -> usize {
        self.first.rows_of_call()
    }

    fn num_features(&self) -> usize {
        Predictor::num_features(&self.first)
    }

    fn num_outputs(&self, kind: OutputKind) -> usize {
        Predictor::num_outputs(&self.first, kind)
    }

    fn output_type(&self, kind: OutputKind) -> Dtype {
        Predictor::output_type(&self.first, kind)
    }

    fn predict(
        &self,
        kind: OutputKind,
        rows: PackedRows,
        n: usize,
        out: PackedResults,
        extras: PredictOptions<'_>,
    ) -> Result<(), CallError> {
        Predictor::predict(self.code_for(rows)?, kind, rows, n, out, extras)
    }
}
