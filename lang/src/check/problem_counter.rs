//! Counts problems without a word: to find out whether something makes a schedule worse.

use foldhash::HashSet;

use crate::device::Limits;
use crate::diagnostics::{Code, Severity, codes};
use crate::illegal::Illegal;
use crate::lineage::{DirectiveIndex, NestBuilder};
use crate::listener::Listener;
use crate::operation::NEW;
use crate::{legality, lints};

/// Which operations have which errors and warnings. Hints do not count, and neither does what follows from an error
/// that does.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProblemCounter {
    problems: HashSet<(DirectiveIndex, Code)>,
}

impl Listener for ProblemCounter {
    fn illegal(&mut self, builder: &NestBuilder, illegal: &Illegal) {
        self.problems.extend(problem(builder, illegal));
    }
}

/// Looks for a problem that a tally does not have, as long as there is work left; one is enough.
#[derive(Debug)]
pub(crate) struct Trial<'k> {
    known: &'k ProblemCounter,
    has_new: bool,
    left: usize,
}

impl<'k> Trial<'k> {
    /// Nothing new has been found yet.
    pub fn new(known: &'k ProblemCounter) -> Self {
        Trial::with(known, usize::MAX)
    }

    /// The same, with so much work to do.
    pub fn with(known: &'k ProblemCounter, left: usize) -> Self {
        Trial { known, has_new: false, left }
    }

    /// Whether there is a problem that the tally does not have, as far as has been looked.
    pub fn has_new(&self) -> bool {
        self.has_new
    }

    /// How much work is left.
    pub fn left(&self) -> usize {
        self.left
    }
}

/// Widths that suit another layout are no reason to refuse it: they come after it.
impl Listener for Trial<'_> {
    fn illegal(&mut self, builder: &NestBuilder, illegal: &Illegal) {
        let problem =
            problem(builder, illegal).filter(|(step, code)| *code != codes::NARROW_VECTOR || *step == NEW);
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
        illegal.problem.may_be_a_consequence() && illegal.loops.iter().any(|id| builder.is_tainted(*id));
    let severity = code.severity();
    (!is_consequence && severity >= Severity::Warning).then_some((illegal.step, code))
}

/// Tells what is wrong or silly about a nest.
pub(crate) fn judge(builder: &NestBuilder, limits: &Limits, listener: &mut dyn Listener) {
    for illegal in legality::check(builder, limits) {
        listener.illegal(builder, &illegal);
    }
    if !listener.has_enough() {
        lints::problems(builder, limits).iter().for_each(|illegal| listener.illegal(builder, illegal));
    }
}
