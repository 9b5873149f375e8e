//! A checked schedule of a text.

use std::sync::{Arc, OnceLock};

use sched_grammar::Parsed;
use sched_grammar::ast::{Comment, Span};

use super::repeats::Repeats;
use super::stage_variant::{StageContext, StageVariant};
use super::words::Words;
use super::{annotate, judge, modifiers};
use crate::device::Limits;
use crate::diagnostics::{Applicability, Diagnostic, codes};
use crate::lineage::NestBuilder;
use crate::lints;
use crate::listener::Listener;
use crate::options::{CheckOptions, Target, TargetKind};
use crate::part::SchedulePart;
use crate::report::Report;
use crate::resolve::{self, DirectiveCall, NameScope};
use crate::schedule::{Header, Param, StageLineage};
use crate::stages::{self, StageCalls};
use sched_nest::sym::{Property, Sym};
use sched_nest::{LoopId, Nest};

/// A schedule of a text. Its plain nest is made at the first use, since diagnostics do not need it.
#[derive(Debug)]
pub struct Variant {
    /// Largest number of rows of the schedule's calls. `None` outside of blocks, and in a block with a wrong
    /// bound.
    pub max_rows: Option<u32>,
    /// Span of the schedule's block; `None` outside of blocks.
    pub block: Option<Span>,
    /// The final nest with its annotations, as far as the schedule is legal.
    pub builder: NestBuilder,
    /// Directives that concern the nest of trees, with resolved arguments.
    pub calls: Arc<[DirectiveCall]>,
    /// The stages of columns that the schedule arranges.
    pub stages: Vec<StageVariant>,
    /// Kind of the target.
    pub target: TargetKind,
    batch_size: Option<u64>,
    shared_memory: Option<u64>,
    nest: OnceLock<Nest>,
}

impl Variant {
    /// Largest number of rows that the loops process at once, if known.
    pub fn batch_size(&self) -> Option<u64> {
        self.batch_size
    }

    /// Facts that the stages of columns share.
    pub fn stage_context(&self) -> StageContext<'_> {
        let target = runs_on(&self.builder, self.target);
        let (model, batch_size) = (self.builder.model(), self.batch_size);
        StageContext { target, model, batch_size, forest: None }
    }

    /// The stages of columns that the schedule does not arrange.
    pub fn unarranged_stages(&self) -> Vec<StageVariant> {
        StageVariant::unarranged(self.stage_context(), &self.stages)
    }

    /// Lineages of all stages of columns: first of those that the schedule arranges.
    pub(super) fn stage_lineages(&self) -> Vec<StageLineage> {
        let others = self.unarranged_stages();
        let of = |stage: &StageVariant, is_arranged| StageLineage {
            name: stage.stage.name.clone(),
            title: stage.stage.title(),
            is_arranged,
            indices: crate::lineage::record(&stage.builder),
        };
        let arranged = self.stages.iter().map(|stage| of(stage, true));
        arranged.chain(others.iter().map(|stage| of(stage, false))).collect()
    }

    /// The nest, as far as the schedule is legal.
    pub fn nest(&self) -> &Nest {
        self.nest.get_or_init(|| {
            let mut nest = self.builder.nest().0;
            nest.batch_size = self.batch_size;
            nest.shared_memory = self.shared_memory;
            nest.representation = self.builder.forest().layout();
            nest.with_stages(self.stages.iter().map(StageVariant::nest).collect())
        })
    }
}

/// A part of a text with resolved names and arguments.
pub(super) struct ResolvedPart<'a> {
    part: &'a SchedulePart<'a>,
    options: &'a CheckOptions,
    max_rows: Option<u32>,
    pub report: Report<'a>,
    pub header: Header,
    pub scope: NameScope<'a>,
    pub params: Vec<Param>,
    pub calls: Vec<DirectiveCall>,
}

/// Outcome of a part.
pub(super) struct PartOutcome {
    pub variant: Variant,
    pub diagnostics: Vec<Diagnostic>,
    pub is_legal: bool,
}

impl<'a> ResolvedPart<'a> {
    /// Resolves a part for calls of at most `max_rows` rows.
    pub fn new(
        source: &'a str,
        part: &'a SchedulePart<'a>,
        max_rows: Option<u32>,
        options: &'a CheckOptions,
    ) -> Self {
        let file = part.file.as_ref();
        let mut report = Report::new(source, file, options.strict);
        let header = resolve::header(file, &mut report);
        resolve::given_target(options, &mut report);
        let (scope, params) = resolve::scope(file, options, &mut report);
        let calls = resolve::calls(file, &scope, &mut report);
        ResolvedPart { part, options, max_rows, report, header, scope, params, calls }
    }

    /// Applies the directives and judges the nest. If `brief` is set, searches for no alternatives and shows
    /// no nests.
    pub fn judge(mut self, target: &Target, source: &str, parsed: &Parsed, brief: bool) -> PartOutcome {
        let limits = Limits::of_check(target, self.options);
        let mut builder = NestBuilder::with_room(self.options.model.clone(), self.calls.len());
        let is_given = self.options.target.is_some() || self.header.target.is_some();
        let mut words = Words::new(&mut self.report, limits, is_given);
        if brief {
            words.omit_alternatives_and_nests();
        }
        let StageCalls { forest, stages, problems, refused_names, other_loops } =
            stages::by_stage(&self.calls, self.options.model.as_deref());
        words.name_other_loops(other_loops);
        refused_names.iter().for_each(|name| builder.names_mut().poison(name));
        problems.iter().for_each(|illegal| words.illegal(&builder, illegal));
        let mut repeats = Repeats::of(&forest, &stages);
        let whole_shape = modifiers::apply(forest.iter(), &mut builder, &mut words);
        if whole_shape {
            annotate::attach(forest.iter(), &mut builder, &mut repeats.before(&mut words));
            judge(&builder, &limits, &mut words);
        }
        words.omit_alternatives();
        let model = self.options.model.as_ref();
        let target = runs_on(&builder, limits.kind);
        let batch_size = self.options.batch_size;
        let context = StageContext { target, model, batch_size, forest: Some(&builder) };
        let mut words = repeats.before(&mut words);
        let judged = |stage| StageVariant::arrange(stage, context, &mut words);
        let stages = stages.into_iter().map(judged).collect();
        if whole_shape {
            lints::report_name_lints(&self.scope, &builder, &mut self.report);
        }
        let variant = Variant {
            max_rows: self.max_rows,
            block: self.part.block.map(|block| block.span),
            builder,
            calls: forest.into(),
            stages,
            target: limits.kind,
            batch_size: self.options.batch_size,
            shared_memory: (limits.kind == TargetKind::Gpu).then_some(limits.gpu.shared_bytes),
            nest: OnceLock::new(),
        };
        if self.options.purpose.is_compilation() && !self.report.has_errors() {
            self.report.extend(unknown_property(&variant, source, parsed));
        }
        let is_legal = !self.report.has_errors();
        PartOutcome { variant, diagnostics: self.report.finish(), is_legal }
    }
}

/// Reports unknown properties in a nest that is to be compiled.
fn unknown_property(variant: &Variant, source: &str, parsed: &Parsed) -> Option<Diagnostic> {
    let unknown = unknown_properties(variant.nest());
    if unknown.is_empty() && !variant.builder.names().has_uncounted_copies() {
        return None;
    }
    if unknown == [Property::BatchSize] {
        return Some(unknown_batch_size(source, parsed));
    }
    let message = "compiling a schedule needs a model";
    let diagnostic = Diagnostic::new(codes::NOT_KNOWN, Span::default(), message);
    Some(diagnostic.help("Name one in a `model` line or on the command line."))
}

fn unknown_batch_size(source: &str, parsed: &Parsed) -> Diagnostic {
    let name = "batch_size";
    // In a block, the batch size is known.
    let blocks = parsed.file.stmts.iter().filter(|stmt| !stmt.body().is_empty()).map(|stmt| stmt.span);
    let hidden: Vec<Span> =
        parsed.comments.iter().map(|comment: &Comment| comment.span).chain(blocks).collect();
    let is_visible = |at: &usize| !hidden.iter().any(|span| span.range().contains(at));
    let at = source.match_indices(name).map(|(at, _)| at).find(is_visible).unwrap_or(0);
    let message = format!("the schedule uses `{name}`, which is unknown");
    let span = Span::new(at, at + name.len());
    let help = "Give the largest number of rows that the loops process at once: `schedc check ... \
                --batch-size 4096`. Or write a number instead.";
    Diagnostic::new(codes::NOT_KNOWN, span, message).label("unknown").help(help).fix(
        "write `4096`",
        span,
        "4096",
        Applicability::Placeholder,
    )
}

/// Unknown properties in the nest of trees and in those of stages of columns.
fn unknown_properties(nest: &Nest) -> Vec<Property> {
    let mut unknown = Vec::new();
    for nest in nest.stages.iter().map(|of| &of.nest).chain([nest]) {
        let loops = nest.loops.iter().flat_map(|l| [&l.start, &l.stop, &l.step]);
        let bounds = nest.constraints.iter().map(|c| &c.bound);
        loops.chain(bounds).for_each(|sym| collect(sym, &mut unknown));
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

/// The kind of processor that runs a nest: a block without mapped loops runs on the CPU, whatever the target.
fn runs_on(builder: &NestBuilder, target: TargetKind) -> TargetKind {
    let is_mapped = |id: &LoopId| builder.node(*id).gpu_dimension().is_some();
    match builder.tree().loops().iter().any(is_mapped) {
        true => target,
        false => TargetKind::Cpu,
    }
}
