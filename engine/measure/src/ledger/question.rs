//! The experiments that a user requests for a ledger, and the schedule that they are about.

use sched_lang::{CheckOptions, CheckPurpose, Target};
use sched_llvm::Cpu;
use schedc_driver::{CodeDestination, Model, ScheduleSource, ScheduleValues};

/// The experiments of a ledger.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Whether to time the nest after each directive, for the directive's gain.
    pub prefixes: bool,
    /// Whether to time the schedule without each directive, for the loss.
    pub ablations: bool,
    /// Threads of the calls for which to search better directives; `None` for no search.
    pub advice_threads: Option<usize>,
    /// Numbers of the schedule to replace by others.
    pub sweeps: Vec<NumberSweep>,
    /// Rows per call; if empty, the bound of each `when` block, and 1024 rows for the schedule outside of
    /// blocks.
    pub batches: Vec<usize>,
}

/// A number of the schedule, and values to try in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberSweep {
    /// The number to replace.
    pub number: SweepNumber,
    /// The values to try; if empty, values near the present one.
    pub values: Vec<i64>,
}

/// Names the number that a sweep replaces: by its param, or by its position in the schedule's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepNumber {
    /// The value of a param.
    Param(String),
    /// The number at a line and a column, both from 1.
    At(usize, usize),
}

/// A schedule with its model, its target and its processor.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The model, for the type of the rows.
    pub model: &'a Model,
    /// The schedule, which has no errors.
    pub source: &'a ScheduleSource,
    /// Values of params and properties from the command line.
    pub values: &'a ScheduleValues,
    /// The target of the code.
    pub target: &'a Target,
    /// The processor.
    pub cpu: Cpu,
}

impl Subject<'_> {
    /// The options of a check of the schedule.
    pub(super) fn options(&self) -> CheckOptions {
        let options = ScheduleSource::options(Some(self.model), self.values);
        CheckOptions { purpose: CheckPurpose::Compile, target: Some(self.target.clone()), ..options }
    }

    /// The schedule that schedc chooses.
    pub(super) fn chosen(&self) -> ScheduleSource {
        ScheduleSource::chosen_for(self.model, Some(self.target), self.cpu, CodeDestination::Artefact)
    }
}
