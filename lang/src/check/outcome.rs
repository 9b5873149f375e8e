//! The check itself, and what it leaves: what there is to tell, and the builder that all pictures of the nest are made from.

use std::sync::{Arc, OnceLock};

use sched_grammar::Parsed;
use sched_grammar::ast::{Comment, File, Span};

use super::target::{no_gpu_yet, target};
use super::words::Words;
use super::{annotate, judge, modifiers};
use crate::device::Limits;
use crate::diagnostics::{Applicability, Diagnostic, Severity, codes, keep_helpful};
use crate::lineage::NestBuilder;
use crate::lints;
use crate::options::{Options, Supported, Target};
use crate::report::Report;
use crate::resolve::{self, Call};
use crate::schedule::{Checked, Header, Lineage, Param};
use sched_nest::Nest;
use sched_nest::sym::{Property, Sym};

/// Most loops of a schedule whose fixes are tried before they are offered.
const FEW_LOOPS: usize = 400;

/// What a check says of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What the header says.
    pub header: Header,
    /// What the schedule is for: from the options, else from the header, else from the use of `gpuDimension`.
    pub target: Target,
    /// The params in order.
    pub params: Vec<Param>,
    /// Everything to tell, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Verdict {
    /// Whether there is any error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// What a check leaves. The plain nest is made when it is asked for: whoever only wants to hear what is wrong needs none.
#[derive(Debug)]
pub struct Outcome {
    /// What is to be said.
    pub verdict: Verdict,
    /// The final nest with its facts, as far as the schedule is legal.
    pub builder: NestBuilder,
    /// The directives with their arguments resolved.
    pub calls: Arc<[Call]>,
    is_legal: bool,
    batch_size: Option<u64>,
    nest: OnceLock<Option<Nest>>,
}

impl Outcome {
    /// Checks a text. Fixes that are offered have been tried, where that takes little time.
    pub fn of(source: &str, parsed: &Parsed, options: &Options) -> Self {
        let mut outcome = Outcome::first(source, parsed, options, false);
        if outcome.builder.nodes.len() <= FEW_LOOPS {
            let check = |text: &str| Outcome::brief(text, options);
            keep_helpful(source, &mut outcome.verdict.diagnostics, &check);
        }
        outcome
    }

    /// What is wrong with a text, in few words: without alternatives, and fixes may be of no help.
    pub fn brief(source: &str, options: &Options) -> Vec<Diagnostic> {
        Outcome::first(source, &sched_grammar::parse(source), options, true).verdict.diagnostics
    }

    /// Checks a text without a look at what its fixes do; if `brief` is set, only to see what is wrong.
    fn first(source: &str, parsed: &Parsed, options: &Options, brief: bool) -> Self {
        let mut report = Report::new(source, &parsed.file, options.strict);
        parsed.errors.iter().for_each(|error| report.syntax(error));

        let header = resolve::header(&parsed.file, &mut report);
        resolve::given_target(options, &mut report);
        let (scope, params) = resolve::scope(&parsed.file, options, &mut report);
        let calls = resolve::calls(&parsed.file, &scope, options, &mut report);
        let target = target(&header, options, &calls);
        let limits = Limits::of(&target);

        if options.supported == Supported::Compilable && target.is_gpu() {
            no_gpu_yet(&header, &mut report);
        }

        let mut builder = NestBuilder::with_room(options.model.clone(), calls.len());
        let is_given = options.target.is_some() || header.target.is_some();
        let mut words = Words::new(&mut report, limits, is_given);
        if brief {
            words.be_brief();
        }
        let whole_shape = modifiers::apply(calls.iter(), &mut builder, &mut words);
        if whole_shape {
            annotate::attach(calls.iter(), &mut builder, &mut words);
            judge(&builder, &limits, &mut words);
            lints::of_names(&scope, &builder, &mut report);
        }
        let nest = OnceLock::new();
        if options.supported == Supported::Compilable && !report.has_errors() {
            let nest = nest.get_or_init(|| Some(export(&builder, options.batch_size)));
            report.extend(nest.as_ref().and_then(|nest| not_known(nest, &builder, source, &parsed.comments)));
        }
        let is_legal = !report.has_errors();
        let diagnostics = lints::without_allowed(report.finish(), &parsed.comments);
        let verdict = Verdict { header, target, params, diagnostics };
        Outcome { verdict, builder, calls: calls.into(), is_legal, batch_size: options.batch_size, nest }
    }

    /// The loop nest, if there are no errors.
    pub fn nest(&self) -> Option<&Nest> {
        let nest = || Some(export(&self.builder, self.batch_size));
        if self.is_legal { self.nest.get_or_init(nest).as_ref() } else { None }
    }

    /// Whether there are no errors, and so a nest.
    pub fn is_legal(&self) -> bool {
        self.is_legal
    }

    /// Where the index variables come from.
    pub fn lineage(&self, source: &str, file: &File) -> Lineage {
        let events = Report::new(source, file, false).events();
        Lineage { indices: self.builder.record(), events }
    }

    /// The same with its nest made.
    pub fn into_checked(self) -> Checked {
        let nest = self.nest().cloned();
        let Verdict { header, target, params, diagnostics } = self.verdict;
        Checked { nest, header, target, params, diagnostics }
    }
}

/// The plain nest.
fn export(builder: &NestBuilder, batch_size: Option<u64>) -> Nest {
    let (mut nest, _) = builder.nest();
    nest.batch_size = batch_size;
    nest.representation = builder.layout();
    nest
}

/// Says what a nest that is to be compiled mentions and is not known.
fn not_known(nest: &Nest, builder: &NestBuilder, source: &str, comments: &[Comment]) -> Option<Diagnostic> {
    let unknown = unknown_facts(nest);
    if unknown.is_empty() && !builder.has_uncounted_copies() {
        return None;
    }
    if unknown == [Property::BatchSize] {
        let name = "batch_size";
        let is_said = |at: &usize| {
            let inside = |comment: &Comment| comment.span.range().contains(at);
            !comments.iter().any(inside)
        };
        let at = source.match_indices(name).map(|(at, _)| at).find(is_said).unwrap_or(0);
        let message = format!("the schedule uses `{name}`, which is not given");
        let span = Span::new(at, at + name.len());
        let diagnostic = Diagnostic::new(codes::NOT_KNOWN, span, message).label("not known");
        let help = "Say how many rows one run of the nest handles at most, on the command line: \
                    `schedc check ... --batch-size 4096`; or write a number in its place.";
        let fix =
            |diagnostic: Diagnostic| diagnostic.fix("write `4096`", span, "4096", Applicability::Placeholder);
        return Some(fix(diagnostic.help(help)));
    }
    let message = "a schedule is compiled for a model, and none is given";
    let diagnostic = Diagnostic::new(codes::NOT_KNOWN, Span::default(), message);
    Some(diagnostic.help("Name one in a `model` line or on the command line."))
}

/// Annotations in the nest that must be known when it is compiled and are not.
fn unknown_facts(nest: &Nest) -> Vec<Property> {
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

fn collect(sym: &Sym, into: &mut Vec<Property>) {
    match sym {
        Sym::Int(_) | Sym::Property(Property::Rows) => {}
        Sym::Property(property) => into.push(*property),
        Sym::Op(_, a, b) => {
            collect(a, into);
            collect(b, into);
        }
    }
}
