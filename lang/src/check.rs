//! The whole check, from text to a loop nest and diagnostics.

mod annotate;
mod insertion_point;
mod merge;
mod modifiers;
mod outcome;
pub mod prepare;
mod problem_counter;
mod repeats;
mod stage_variant;
mod target;
mod variant;
mod words;
mod work;

use crate::diagnostics::Diagnostic;
use crate::options::CheckOptions;
use crate::report::Report;
use crate::resolve;
use crate::schedule::{CheckedSchedule, Header, Lineage};
use sched_nest::Variants;

pub use insertion_point::InsertionPoint;
pub use outcome::{Outcome, Verdict};
pub use prepare::{ResolvedSchedule, prepare};
pub(crate) use problem_counter::{ProblemCounter, Trial, judge};
pub use stage_variant::{StageContext, StageVariant};
pub use variant::Variant;
pub use work::WorkBudget;

/// Checks a schedule. It never fails and never panics: the diagnostics contain all problems.
pub fn check(source: &str, options: &CheckOptions) -> CheckedSchedule {
    let parsed = sched_grammar::parse(source);
    Outcome::of(source, &parsed, options).into_checked(source, &parsed, options)
}

/// Syntax errors of a schedule.
pub fn check_syntax(source: &str) -> Vec<Diagnostic> {
    let parsed = sched_grammar::parse(source);
    let mut report = Report::new(source, &parsed.file, false);
    parsed.errors.iter().for_each(|error| report.syntax(error));
    report.finish()
}

/// The header of a schedule, without a check of the rest.
pub fn read_header(source: &str) -> Header {
    let parsed = sched_grammar::parse(source);
    resolve::header(&parsed.file, &mut Report::new(source, &parsed.file, false))
}

/// Checks a schedule. Also returns the lineage of its index variables for each number of rows.
pub fn check_lineage(source: &str, options: &CheckOptions) -> (CheckedSchedule, Variants<Lineage>) {
    let parsed = sched_grammar::parse(source);
    let outcome = Outcome::of(source, &parsed, options);
    let lineages = outcome.lineages(source, &parsed.file);
    (outcome.into_checked(source, &parsed, options), lineages)
}
