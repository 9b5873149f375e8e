//! Counts problems without putting them into words, to see whether something makes a schedule worse.

use foldhash::HashSet;

use crate::device::Limits;
use crate::diagnostics::{Code, Severity, codes};
use crate::illegal::Illegal;
use crate::lineage::{DirectiveIndex, NestBuilder};
use crate::listener::Listener;
use crate::operation::TRIED_OPERATION;
use crate::{legality, lints};

/// Errors and warnings of each operation. Hints and consequences of counted errors do not count.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProblemCounter {
    problems: HashSet<(DirectiveIndex, Code)>,
}

impl Listener for ProblemCounter {
    fn illegal(&mut self, builder: &NestBuilder, illegal: &Illegal) {
        self.problems.extend(problem(builder, illegal));
    }
}

/// Searches for one new problem, as long as there is work left.
#[derive(Debug)]
pub(crate) struct Trial<'k> {
    known: &'k ProblemCounter,
    has_new: bool,
    left: usize,
}

impl<'k> Trial<'k> {
    /// A trial with unlimited work.
    pub fn new(known: &'k ProblemCounter) -> Self {
        Trial::with_work(known, usize::MAX)
    }

    /// A trial with `left` work.
    pub fn with_work(known: &'k ProblemCounter, left: usize) -> Self {
        Trial { known, has_new: false, left }
    }

    /// Whether a problem was found that the schedule did not have. Without enough work, some are not found.
    pub fn has_new(&self) -> bool {
        self.has_new
    }

    /// Remaining work.
    pub fn remaining_work(&self) -> usize {
        self.left
    }
}

/// A too narrow vector counts only at the tried directive: a layout is not refused for a width that was set
/// for another layout.
impl Listener for Trial<'_> {
    fn illegal(&mut self, builder: &NestBuilder, illegal: &Illegal) {
        let problem = problem(builder, illegal)
            .filter(|(step, code)| *code != codes::NARROW_VECTOR || *step == TRIED_OPERATION);
        self.has_new |= problem.is_some_and(|problem| !self.known.problems.contains(&problem));
    }

    fn spend(&mut self, work: usize) {
        self.left = self.left.saturating_sub(work);
    }

    fn has_enough(&self) -> bool {
        self.has_new || self.left == 0
    }
}

/// The operation and the code of an error or a warning.
fn problem(builder: &NestBuilder, illegal: &Illegal) -> Option<(DirectiveIndex, Code)> {
    let code = illegal.problem.code()?;
    let is_consequence =
        illegal.problem.may_be_a_consequence() && illegal.loops.iter().any(|id| builder.node(*id).tainted);
    let severity = code.severity();
    (!is_consequence && severity >= Severity::Warning).then_some((illegal.step, code))
}

/// Passes the problems and lints of a nest to a listener.
pub(crate) fn judge(builder: &NestBuilder, limits: &Limits, listener: &mut dyn Listener) {
    for illegal in legality::check(builder, limits) {
        listener.illegal(builder, &illegal);
    }
    if !listener.has_enough() {
        lints::problems(builder, limits).iter().for_each(|illegal| listener.illegal(builder, illegal));
    }
}
