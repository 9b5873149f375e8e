//! Columns over margins: predictions and class numbers that are expressions over a row's margins.

use super::runs::ColumnRuns;
use crate::bytes::scalar;
use crate::fault::{Fault, seeded};
use crate::lir::Scalar;
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr};
use sched_forest::{ClassRule, Float, Forest, LARGEST_CLASS, OutputColumns, Transform};
use std::sync::Arc;

/// The expressions of a model's outputs, divided into the runs that code computes.
#[derive(Clone, Debug, Default)]
pub struct OutputRuns {
    /// The expressions of each output step that is an expression.
    pub steps: Vec<OutputRun>,
    /// The class numbers, if they are expressions.
    pub classes: Option<OutputRun>,
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
    /// The expressions of a forest's outputs.
    pub fn of(forest: &Forest) -> OutputRuns {
        let float = forest.types.accumulator;
        let mut n_values = forest.num_margins;
        let steps = forest.output.value.iter().filter_map(|step| match step {
            Transform::Columns(of) => {
                let run = OutputRun::of_step(of, (n_values, float));
                n_values = of.results.len();
                Some(run)
            }
            // No other step that changes the number of values precedes an expression.
            _ => None,
        });
        let steps = steps.collect();
        let classes = forest.output.classes.as_ref().and_then(|classes| match &classes.rule {
            ClassRule::Computed(of) => Some(OutputRun::of_classes(of, (forest.num_margins, float))),
            _ => None,
        });
        OutputRuns { steps, classes }
    }

    /// Largest number of elements of one buffer that expressions have in memory for a row.
    pub fn largest_buffer(&self) -> usize {
        let most =
            |run: &OutputRun| run.runs.features.max(run.runs.count).max(run.runs.stored.largest_count());
        self.steps.iter().chain(&self.classes).map(most).max().unwrap_or(0)
    }
}

impl OutputRun {
    /// The results of a step, cast to one type that holds them all.
    fn of_step(of: &OutputColumns, values: (usize, Float)) -> OutputRun {
        let is_single = of.results.iter().all(|result| of.columns.column_type(*result) == ColumnType::F32);
        let float = if is_single { Float::F32 } else { Float::F64 };
        let mut columns = Columns::clone(&of.columns);
        // Every type has a cast to numbers.
        let cast = |result: &ColumnId| columns.cast(*result, float.into()).unwrap_or(*result);
        let mut results: Vec<ColumnId> = of.results.iter().map(cast).collect();
        if seeded(Fault::OutputColumnsSwapped) {
            results.reverse();
        }
        OutputRun::new(&columns, &results, (values, float))
    }

    /// Class numbers, limited to 0 and the largest class number, in single precision.
    fn of_classes(of: &OutputColumns, values: (usize, Float)) -> OutputRun {
        let mut columns = Columns::clone(&of.columns);
        let least = columns.constant(ColumnValue::I64(0));
        let largest = columns.constant(ColumnValue::I64(LARGEST_CLASS));
        let results = of.results.iter().map(|class| {
            let class = columns.insert(Expr::Binary(Binary::Max, *class, least), ColumnType::I64);
            let class = columns.insert(Expr::Binary(Binary::Min, class, largest), ColumnType::I64);
            columns.cast(class, ColumnType::F32).unwrap_or(class)
        });
        let results: Vec<ColumnId> = results.collect();
        OutputRun::new(&columns, &results, (values, Float::F32))
    }

    fn new(
        columns: &Columns,
        results: &[ColumnId],
        ((n_values, float), result): ((usize, Float), Float),
    ) -> OutputRun {
        let runs = Arc::new(ColumnRuns::of(columns, results, float, n_values));
        OutputRun { runs, element: scalar(result) }
    }
}
