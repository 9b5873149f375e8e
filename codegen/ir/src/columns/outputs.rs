//! Columns over margins: predictions and class numbers that are expressions over a row's margins.

use super::compared::compared_by_results;
use super::runs::ColumnRuns;
use crate::bytes::scalar;
use crate::fault::{Fault, seeded};
use crate::lir::Scalar;
use sched_columns::{ColumnId, ColumnType, Columns};
use sched_forest::{Float, Forest, OutputColumns, Transform};
use sched_outputs::OutputKind;
use std::sync::Arc;

/// The steps of a model's outputs, by the number of the output.
#[derive(Clone, Debug, Default)]
pub struct OutputRuns([Option<StepRuns>; OutputKind::ALL.len()]);

/// Steps from margins to an output.
#[derive(Clone, Debug)]
pub struct StepRuns {
    /// The steps.
    pub steps: Vec<Transform>,
    /// The expressions of each step that is an expression, divided into the runs that code computes.
    pub runs: Vec<OutputRun>,
}

/// Expressions over the margins of a row, or over the results of the step before.
#[derive(Clone, Debug)]
pub struct OutputRun {
    /// The expressions. Their features are the values that they read.
    pub runs: Arc<ColumnRuns>,
    /// Element type of the results.
    pub element: Scalar,
}

impl OutputRuns {
    /// The steps of a forest's outputs.
    pub fn of(forest: &Forest) -> OutputRuns {
        OutputRuns(OutputKind::ALL.map(|kind| Some(StepRuns::of(forest.steps_after_margins(kind)?, forest))))
    }

    /// The steps of an output; `None` if the output is the margins, follows from leaves, or does not exist.
    pub fn steps(&self, kind: OutputKind) -> Option<&StepRuns> {
        self.0[kind as usize].as_ref()
    }

    /// Largest number of elements of one buffer that expressions have in memory for a row.
    pub fn largest_buffer(&self) -> usize {
        let most =
            |run: &OutputRun| run.runs.features.max(run.runs.count).max(run.runs.stored.largest_count());
        self.0.iter().flatten().flat_map(|output| &output.runs).map(most).max().unwrap_or(0)
    }
}

impl StepRuns {
    fn of(steps: Vec<Transform>, forest: &Forest) -> StepRuns {
        let mut n_values = forest.num_margins;
        let runs = steps.iter().filter_map(|step| match step {
            Transform::Columns(of) => {
                let run = OutputRun::of_step(of, (n_values, forest.types.accumulator));
                n_values = of.results.len();
                Some(run)
            }
            // No other step that changes the number of values precedes an expression.
            _ => None,
        });
        let runs = runs.collect();
        StepRuns { steps, runs }
    }
}

impl OutputRun {
    /// The results of a step, cast to one type that holds them all.
    fn of_step(of: &OutputColumns, (n_values, values): (usize, Float)) -> OutputRun {
        let is_single = of.results.iter().all(|result| of.columns.column_type(*result) == ColumnType::F32);
        let float = if is_single { Float::F32 } else { Float::F64 };
        let mut columns = Columns::clone(&of.columns);
        // Every type has a cast to numbers.
        let cast = |result: &ColumnId| columns.cast(*result, float.into()).unwrap_or(*result);
        let mut results: Vec<ColumnId> = of.results.iter().map(cast).collect();
        if seeded(Fault::OutputColumnsSwapped) {
            results.reverse();
        }
        let compared = compared_by_results(&columns, &results);
        let runs = Arc::new(ColumnRuns::of((&columns, &compared), &results, values, n_values));
        OutputRun { runs, element: scalar(float) }
    }
}
