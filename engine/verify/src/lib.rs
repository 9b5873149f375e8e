//! The verification of compiled code: its predictions are compared with the model's.
//!
//! [`verify()`] solves rows on the boundaries of a model's nodes, calls the code with them in many shapes,
//! compares the results with the reference walker's, and explains the first difference. For a pipeline, the
//! walker also evaluates the steps of the file, before all passes. [`compare()`] compares the walker with
//! predictions of another program, such as the trainer's library, which [`trainer`] runs.
//! [`other_versions()`] verifies the versions of a library for other processors. The [`VerifyReport`] is the
//! result as data.

mod calls;
mod code;
mod comparison;
mod expected;
mod origin;
mod report;
mod rows;
mod search;
pub mod trainer;
mod versions;

pub use calls::{CallShape, CallSummary, Difference};
pub use code::ModelCode;
pub use comparison::{FirstDifference, OtherPredictions, OutputComparison, compare};
pub use origin::{Divergence, DivergingTest, ExplainedDifference, bits_text};
pub use report::VerifyReport;
pub use search::RowSummary;
pub use versions::{VersionReport, other_versions};

use calls::kinds;
use sched_forest::{Float, fingerprint};
use sched_llvm::runtime::OutputKind;
use schedc_data::FeatureValues;
use schedc_driver::{Failure, Model};
use search::{Search, VerificationResult};
use std::time::{Duration, Instant};

/// The task of a verification.
#[derive(Clone, Copy)]
pub struct VerificationTask<'a> {
    /// The model.
    pub model: &'a Model,
    /// The model's code.
    pub code: &'a ModelCode,
    /// Rows to verify besides the solved ones.
    pub given: &'a [FeatureValues],
    /// The type of the rows of all calls; `None` for both.
    pub row_type: Option<Float>,
    /// The beginning of the time limit.
    pub began: Instant,
    /// The time limit.
    pub budget: Duration,
}

/// Verifies code on solved and given rows. Calls `progress` with the number of critical values that the last
/// solved rows brought to their nodes. Returns the report, and the rows with differences in the first block
/// that has any.
///
/// # Errors
/// When a call fails.
pub fn verify(
    task: &VerificationTask,
    progress: &mut dyn FnMut(u64),
) -> Result<(VerifyReport, Option<FeatureValues>), Failure> {
    let VerificationTask { model, code, .. } = *task;
    let until = task.began + task.budget;
    let unfolded = model.unfolded()?;
    let search = Search {
        forest: model.forest(),
        unfolded: unfolded.as_ref(),
        code,
        row_type: task.row_type,
        deadline: until,
    };
    let found = search.run(task.given, progress).map_err(|status| {
        let help = "build for the machine that runs the code; --row-type f32 verifies a library for rows of \
                    single precision, and --simulate the code of a GPU without one";
        Failure::new(sched_llvm::codes::PREDICTION, format!("prediction failed: {status}"), help)
    })?;
    let VerificationResult { rows, outcome, unreachable, first_difference, is_of_unfolded, failing_rows } =
        found;
    let mut notes = Vec::new();
    if outcome.stopped {
        let limit = format!("the time limit of {:?}", task.budget);
        if outcome.calls == 0 {
            let message = format!("{limit} was over before the first call of the code: nothing is verified");
            return Err(Failure::usage(message, "allow more time, for example by --budget 5m"));
        }
        notes.push(format!("stopped at {limit}: --budget allows more"));
    }
    if let Some(fingerprint) = &code.other_fingerprint {
        let model = model.path.display();
        notes.push(format!("the library was built of another file, {fingerprint}, than {model}"));
    }
    if !code.is_exact {
        let note = "sums are added in another order than the trainer's: margins are compared within a \
                    tolerance, values and classes are not compared";
        notes.push(note.to_string());
    }
    if code.is_simulated {
        notes.push("the simulator is slow: it ran only some rows of each type".to_string());
    }
    if is_of_unfolded {
        let note = "the expected result is that of the steps and trees of the file before schedc folds \
                    them: computed columns are those of the file";
        notes.push(note.to_string());
    }
    let order = if code.is_exact { "exact" } else { "reassociated" };
    let widths = search.widths(search.forest);
    let report = VerifyReport {
        model: (model.path.display().to_string(), model.fingerprint.clone()),
        schedule: (code.schedule_name.clone(), fingerprint(code.schedule.as_bytes()), order.to_string()),
        artefact: None,
        processor: code.processor.clone(),
        versions: Vec::new(),
        rows,
        outcome,
        outputs: kinds()
            .into_iter()
            .filter(|kind| widths[*kind as usize] > 0)
            .map(OutputKind::word)
            .collect(),
        unreachable,
        first_difference,
        others: Vec::new(),
        notes,
    };
    Ok((report, failing_rows))
}
