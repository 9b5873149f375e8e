//! The whole check: from text to a loop nest and diagnostics.

mod annotate;
mod insertion_point;
mod modifiers;
mod outcome;
pub mod prepare;
mod problem_counter;
mod work;

use sched_grammar::ast::Span;

use crate::diagnostics::{Diagnostic, Severity, codes};
use crate::lineage::{DirectiveIndex, Index};
use crate::options::{Options, Target, TargetKind};
use crate::report::Report;
use crate::resolve;
use sched_nest::Nest;
use sched_nest::sym::Sym;

pub use outcome::Verdict;

pub use insertion_point::InsertionPoint;
pub use outcome::Outcome;
pub use prepare::{Prepared, prepare};
pub(crate) use problem_counter::{Listener, ProblemCounter, Trial, judge};
pub use work::Work;

/// What the header of a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The language edition, if given.
    pub edition: Option<i64>,
    /// The model's path relative to the schedule, and where it stands.
    pub model: Option<(String, Span)>,
    /// The fingerprint that the model must have, and where it stands.
    pub fingerprint: Option<(String, Span)>,
    /// The target line, if given.
    pub target: Option<Target>,
    /// Where the target line stands.
    pub target_span: Option<Span>,
}

/// A named number that can be set from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// Its value unless it is set.
    pub default: Sym,
    /// Its value in this check.
    pub value: Sym,
    /// The values worth trying.
    pub choices: Vec<Sym>,
    /// Whether it was set from outside.
    pub overridden: bool,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The loop nest, if there are no errors.
    pub nest: Option<Nest>,
    /// What the header says.
    pub header: Header,
    /// What the schedule is for: from the options, else from the header, else from the use of `gpuDimension`.
    pub target: Target,
    /// The params in order.
    pub params: Vec<Param>,
    /// Everything to tell, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    /// Whether there is any error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Where the index variables of a schedule come from and what became of them, as far as it is legal.
#[derive(Clone, Debug, PartialEq)]
pub struct Lineage {
    /// All index variables there ever were, in the order in which they were made; the two roots come first.
    pub indices: Vec<Index>,
    /// The directives in order; an operation's number is its position.
    events: Vec<Event>,
}

/// A directive of the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where it stands.
    pub span: Span,
    /// The line where it begins, from 1.
    pub line: usize,
    /// Its text, or its name if that is long.
    pub text: String,
}

impl Lineage {
    /// The directive that an operation comes from.
    pub fn event(&self, step: DirectiveIndex) -> Option<&Event> {
        self.events.get(step.0 as usize)
    }
}

/// Checks a schedule. Never fails and never panics: what is wrong is in the diagnostics.
pub fn check(source: &str, options: &Options) -> Checked {
    Outcome::of(source, &sched_grammar::parse(source), options).into_checked()
}

/// What the parser has to say of a schedule, and nothing else.
pub fn check_syntax(source: &str) -> Vec<Diagnostic> {
    let parsed = sched_grammar::parse(source);
    let mut report = Report::new(source, &parsed.file, false);
    parsed.errors.iter().for_each(|error| report.syntax(error));
    report.finish()
}

/// What the header of a schedule says, without a check of the rest.
pub fn read_header(source: &str) -> Header {
    let parsed = sched_grammar::parse(source);
    resolve::header(&parsed.file, &mut Report::new(source, &parsed.file, false))
}

/// Checks a schedule and tells the lineage of its index variables.
pub fn check_lineage(source: &str, options: &Options) -> (Checked, Lineage) {
    let parsed = sched_grammar::parse(source);
    let outcome = Outcome::of(source, &parsed, options);
    let lineage = outcome.lineage(source, &parsed.file);
    (outcome.into_checked(), lineage)
}

/// What the schedule is for.
fn target(header: &Header, options: &Options, calls: &[resolve::Call]) -> Target {
    let given = options.target.clone().or_else(|| header.target.clone());
    given.unwrap_or_else(|| {
        let maps = calls.iter().any(|call| call.op == crate::directives::Op::GpuDimension);
        if maps { Target::gpu() } else { Target::cpu() }
    })
}

/// Says that a GPU cannot be compiled for, unless directives that need one have been reported.
fn no_gpu_yet(header: &Header, report: &mut Report) {
    if report.has_errors() {
        return;
    }
    let span = header.target_span.unwrap_or_default();
    let diagnostic = Diagnostic::new(codes::NOT_LOWERED, span, "no code can be made for GPUs yet")
        .label("cannot be compiled yet")
        .help("Write `target cpu`, or leave the line out.");
    report.push(diagnostic);
}

impl Target {
    /// Whether it is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.kind == TargetKind::Gpu
    }
}
