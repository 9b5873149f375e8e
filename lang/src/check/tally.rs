//! Who is told of problems: the report of a check, which finds words for them, or a tally, which only counts.

use std::collections::HashSet;

use crate::device::Limits;
use crate::diagnostics::{Code, Severity, info};
use crate::illegal::Illegal;
use crate::lineage::{Builder, Step};
use crate::report::Report;
use crate::{legality, lints};

/// Is told what is wrong with an operation.
pub(crate) trait Listener {
    /// The operation has this problem on the nest as it stands.
    fn illegal(&mut self, builder: &Builder, illegal: &Illegal);
}

impl Listener for Report<'_> {
    fn illegal(&mut self, builder: &Builder, illegal: &Illegal) {
        Report::illegal(self, builder, illegal);
    }
}

/// Which operations have which errors and warnings. Hints do not count, and neither does what follows from an error
/// that does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    problems: HashSet<(Step, Code)>,
}

impl Listener for Tally {
    fn illegal(&mut self, builder: &Builder, illegal: &Illegal) {
        let Some(code) = illegal.problem.code() else { return };
        let is_consequence =
            illegal.problem.may_be_a_consequence() && illegal.loops.iter().any(|id| builder.is_tainted(*id));
        let severity = info(code).map_or(Severity::Error, |info| info.severity);
        if !is_consequence && severity >= Severity::Warning {
            self.problems.insert((illegal.step, code));
        }
    }
}

impl Tally {
    /// Adds what is wrong or silly about a nest.
    pub fn judge(&mut self, builder: &Builder, limits: &Limits) {
        let problems = legality::check(builder, limits).into_iter().chain(lints::problems(builder, limits));
        problems.for_each(|illegal| self.illegal(builder, &illegal));
    }

    /// Whether there is nothing in it that is not in `other` too.
    pub fn is_within(&self, other: &Tally) -> bool {
        self.problems.is_subset(&other.problems)
    }
}
