//! The whole check: from text to a loop nest and diagnostics.

mod facts;
mod modifiers;
mod prepare;
mod site;
mod tally;

use sched_grammar::ast::Span;

use crate::device::Limits;
use crate::diagnostics::{Code, Diagnostic, Severity};
use crate::legality;
use crate::lineage::{Builder, Index, Step};
use crate::lints;
use crate::nest::{Layout, Nest};
use crate::options::{Options, Supported, Target, TargetKind};
use crate::report::Report;
use crate::resolve;
use crate::sym::{Fact, Sym};

pub(crate) use prepare::{Prepared, prepare};
pub(crate) use site::Site;
pub(crate) use tally::{Listener, Tally, Trial, judge};

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
    pub fn event(&self, step: Step) -> Option<&Event> {
        self.events.get(step.0 as usize)
    }
}

/// Checks a schedule. Never fails and never panics: what is wrong is in the diagnostics.
pub fn check(source: &str, options: &Options) -> Checked {
    check_and(source, options, |_, _| ()).0
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
    check_and(source, options, |builder, report| Lineage {
        indices: builder.record(),
        events: report.events(),
    })
}

/// Checks a schedule and has a look at what was built.
fn check_and<T>(source: &str, options: &Options, look: impl FnOnce(&Builder, &Report) -> T) -> (Checked, T) {
    let parsed = sched_grammar::parse(source);
    let mut report = Report::new(source, &parsed.file, options.strict);
    parsed.errors.iter().for_each(|error| report.syntax(error));

    let header = resolve::header(&parsed.file, &mut report);
    resolve::given_target(options, &mut report);
    let (scope, params) = resolve::scope(&parsed.file, options, &mut report);
    let calls = resolve::calls(&parsed.file, &scope, options, &mut report);
    let target = target(&header, options, &calls);
    let limits = Limits::of(&target);
    report.set_limits(limits);

    if options.supported == Supported::Compilable && target.is_gpu() {
        no_gpu_yet(&header, &mut report);
    }

    let mut builder = Builder::new(options.facts.clone());
    let whole_shape = modifiers::apply(calls.iter(), &mut builder, &mut report);
    if whole_shape {
        facts::attach(calls.iter(), &mut builder, &mut report);
        for illegal in legality::check(&builder, &limits) {
            report.illegal(&builder, &illegal);
        }
        lints::check(&scope, &builder, &limits, &mut report);
    }
    let nest = finish(&builder, options, source, &mut report);
    let seen = look(&builder, &report);
    let diagnostics = lints::without_allowed(report.finish(), &parsed.comments);
    (Checked { nest, header, target, params, diagnostics }, seen)
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
    let diagnostic = Diagnostic::new(Code::NOT_LOWERED, span, "no code can be made for GPUs yet")
        .label("cannot be compiled yet")
        .help("Write `target cpu`, or leave the line out.");
    report.push(diagnostic);
}

/// The nest, if there are no errors and, when it is to be compiled, everything in it is known.
fn finish(builder: &Builder, options: &Options, source: &str, report: &mut Report) -> Option<Nest> {
    if report.has_errors() {
        return None;
    }
    let (mut nest, _) = builder.nest();
    nest.batch_size = options.batch_size;
    nest.representation = match builder.layout() {
        Some(crate::directives::LayoutName::Array) => Some(Layout::Array),
        Some(crate::directives::LayoutName::Sparse) => Some(Layout::Sparse),
        Some(crate::directives::LayoutName::Levels) => Some(Layout::Levels),
        Some(crate::directives::LayoutName::Quantized) => Some(Layout::Quantized),
        _ => None,
    };
    if options.supported == Supported::Compilable {
        let unknown = unknown_facts(&nest);
        if unknown.is_empty() && !builder.has_uncounted_copies() {
            return Some(nest);
        }
        let needs_batch_size = unknown == [Fact::BatchSize];
        let at = source.find("batch_size").filter(|_| needs_batch_size).unwrap_or(0);
        let end = if needs_batch_size { at + "batch_size".len() } else { 0 };
        let diagnostic = if needs_batch_size {
            Diagnostic::new(
                Code::NOT_KNOWN,
                Span::new(at, end),
                "the schedule uses `batch_size`, which is not given",
            )
            .label("not known")
            .help("Give it with `--batch-size`.")
        } else {
            Diagnostic::new(
                Code::NOT_KNOWN,
                Span::default(),
                "a schedule is compiled for a model, and none is given",
            )
            .help("Name one in a `model` line or on the command line.")
        };
        report.push(diagnostic);
        return None;
    }
    Some(nest)
}

/// Facts in the nest that must be known when it is compiled and are not.
fn unknown_facts(nest: &Nest) -> Vec<Fact> {
    let mut unknown = Vec::new();
    let loops = nest.loops.iter().flat_map(|l| [&l.start, &l.stop, &l.step]);
    let syms = loops.chain(nest.constraints.iter().map(|c| &c.bound));
    for sym in syms {
        collect(sym, &mut unknown);
    }
    unknown.sort_unstable();
    unknown.dedup();
    unknown
}

fn collect(sym: &Sym, into: &mut Vec<Fact>) {
    match sym {
        Sym::Int(_) | Sym::Fact(Fact::Rows) => {}
        Sym::Fact(fact) => into.push(*fact),
        Sym::Op(_, a, b) => {
            collect(a, into);
            collect(b, into);
        }
    }
}

impl Target {
    /// Whether it is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.kind == TargetKind::Gpu
    }
}
