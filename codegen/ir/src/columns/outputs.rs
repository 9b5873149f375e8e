//! Columns behind the trees: predictions and classes that are expressions over margins.

use super::runs::ColumnRuns;
use sched_forest::{ClassRule, Forest, OutputColumns, Transform};
use std::sync::Arc;

/// The expressions of a model's outputs, as code needs them. Their values have the type of margins.
#[derive(Clone, Debug, Default)]
pub struct OutputRuns {
    /// The expressions of predictions, if they are some.
    pub value: Option<Arc<ColumnRuns>>,
    /// The expression of the class, if it is one.
    pub class: Option<Arc<ColumnRuns>>,
}

impl OutputRuns {
    /// The expressions of a forest's outputs.
    pub fn of(forest: &Forest) -> OutputRuns {
        let runs = |columns: &OutputColumns| {
            let float = forest.types.accumulator;
            let mut all = (*columns.columns).clone();
            // Each number has a value in the type of margins.
            let cast = |column: &_| all.cast(*column, float.into()).unwrap_or(*column);
            let results: Vec<_> = columns.results.iter().map(cast).collect();
            Arc::new(ColumnRuns::of(&all, &results, float, forest.num_margins))
        };
        let value = forest.output.value.iter().find_map(|step| match step {
            Transform::Columns(columns) => Some(runs(columns)),
            _ => None,
        });
        let class = match forest.output.classes.as_ref().map(|classes| &classes.rule) {
            Some(ClassRule::Computed(columns)) => Some(runs(columns)),
            _ => None,
        };
        OutputRuns { value, class }
    }
}
