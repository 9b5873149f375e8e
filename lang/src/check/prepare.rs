//! A schedule with resolved names and arguments, for lineages and proposals.

use std::sync::Arc;

use foldhash::HashSet;
use sched_grammar::ast::{ScheduleFile, Span, StmtKind};

use super::stage_variant::{StageContext, StageVariant};
use super::target::target;
use super::{InsertionPoint, ProblemCounter, annotate, modifiers};
use crate::device::Limits;
use crate::lineage::{DirectiveIndex, NestBuilder};
use crate::options::{CheckOptions, Target};
use crate::part::{options_within, part_at, parts};
use crate::report::Report;
use crate::resolve::{self, DeclaredNumber, DirectiveCall};
use crate::stages::{self, StageCalls};
use sched_nest::{ModelInfo, StageInfo};

/// A text with resolved names and arguments.
#[derive(Debug)]
pub struct ResolvedSchedule {
    /// Calls that concern the nest of trees.
    calls: Arc<[DirectiveCall]>,
    /// The stages of columns that the text arranges, with their calls.
    stages: Vec<(StageInfo, Vec<DirectiveCall>)>,
    /// Spans of all directives, including unknown ones, by directive index.
    directives: Vec<Span>,
    /// Names that are in use anywhere in the text.
    taken_names: HashSet<String>,
    numbers: Vec<DeclaredNumber>,
    target_free: bool,
    limits: Limits,
    model: Option<Arc<ModelInfo>>,
    /// Largest number of rows that the loops process at once, if known.
    batch_size: Option<u64>,
}

/// Resolves the schedule at `offset`. Its problems are ignored.
pub fn prepare(source: &str, file: &ScheduleFile, options: &CheckOptions, offset: usize) -> ResolvedSchedule {
    let at = part_at(source, file, offset);
    let mut report = Report::new(source, file, false);
    let (scope, _) = resolve::scope(file, options, &mut report);
    let bounds = resolve::bounds(file, &scope, &mut report);
    let max_rows = at.checked_sub(1).and_then(|at| bounds.get(at).copied().flatten());
    let parts = parts(file);
    let part = parts.get(at).map_or(file, |part| &part.file);
    prepare_part(source, part, &options_within(options, max_rows), None)
}

/// Resolves one of the schedules of a text. `known` is its target, if a check has found it.
pub(super) fn prepare_part(
    source: &str,
    file: &ScheduleFile,
    options: &CheckOptions,
    known: Option<&Target>,
) -> ResolvedSchedule {
    let mut report = Report::new(source, file, false);
    let header = resolve::header(file, &mut report);
    let (scope, _) = resolve::scope(file, options, &mut report);
    let all = resolve::calls(file, &scope, &mut report);
    let target = known.cloned().unwrap_or_else(|| target(&header, options, &all));
    let StageCalls { forest: calls, stages, .. } = stages::by_stage(&all, options.model.as_deref());
    let directives = file.stmts.iter().filter(|stmt| matches!(stmt.kind, StmtKind::Directive(_)));
    ResolvedSchedule {
        directives: directives.map(|stmt| stmt.span).collect(),
        taken_names: scope.names(),
        numbers: scope.numbers(),
        limits: Limits::of_check(&target, options),
        target_free: options.target.is_none() && header.target.is_none(),
        model: options.model.clone(),
        batch_size: options.batch_size,
        calls: calls.into(),
        stages,
    }
}

impl ResolvedSchedule {
    /// The nest of the directives that end at `at` or before it, with their annotations.
    pub fn nest_until(&self, at: usize) -> NestBuilder {
        let calls = self.calls_before(at);
        let mut builder = NestBuilder::new(self.model.clone());
        if modifiers::apply(calls.iter(), &mut builder, &mut ProblemCounter::default()) {
            annotate::attach(calls.iter(), &mut builder, &mut ProblemCounter::default());
        }
        builder
    }

    /// The stages of columns that the directives arrange which end at `at` or before it.
    pub fn stages_until(&self, at: usize) -> Vec<StageVariant> {
        let before = self.directives_before(at);
        let (target, model, batch_size) = (self.limits.kind, self.model.as_ref(), self.batch_size);
        let context = StageContext { target, model, batch_size, forest: None };
        let until = |(stage, calls): &(StageInfo, Vec<DirectiveCall>)| {
            let is_before = |call: &&DirectiveCall| (call.step.0 as usize) < before;
            let calls: Vec<DirectiveCall> = calls.iter().filter(is_before).cloned().collect();
            let mut problems = ProblemCounter::default();
            let stage = (stage.clone(), calls);
            StageVariant::arrange(stage, context, &mut problems)
        };
        self.stages.iter().map(until).collect()
    }

    fn directives_before(&self, at: usize) -> usize {
        self.directives.partition_point(|span| span.end as usize <= at)
    }

    fn calls_before(&self, at: usize) -> &[DirectiveCall] {
        let before = self.directives_before(at);
        let calls = self.calls.partition_point(|call| (call.step.0 as usize) < before);
        self.calls.get(..calls).unwrap_or_default()
    }

    /// Whether a directive makes a loop of this name.
    pub fn makes_loop(&self, step: DirectiveIndex, name: &str) -> bool {
        self.call(step).is_some_and(|call| call.new_names().any(|new| new == name))
    }

    /// Whether a name is in use anywhere in the text.
    pub fn is_taken(&self, name: &str) -> bool {
        self.taken_names.contains(name)
    }

    /// The params and consts in order.
    pub fn numbers(&self) -> &[DeclaredNumber] {
        &self.numbers
    }

    /// The resolved directive, if its name is known.
    pub fn call(&self, step: DirectiveIndex) -> Option<&DirectiveCall> {
        let at = self.calls.binary_search_by_key(&step, |call| call.step).ok()?;
        self.calls.get(at)
    }

    /// Index of the directive with this span.
    pub fn step_at(&self, span: Span) -> Option<DirectiveIndex> {
        let at = self.directives.binary_search_by_key(&span.start, |known| known.start).ok()?;
        u32::try_from(at).ok().map(DirectiveIndex)
    }

    /// Span of a directive.
    pub fn span(&self, step: DirectiveIndex) -> Option<Span> {
        self.directives.get(step.0 as usize).copied()
    }

    /// A position for one more directive. `leave_out` is a directive that the user is writing there.
    pub fn insertion_point(&self, at: usize, leave_out: Option<DirectiveIndex>) -> InsertionPoint<'_> {
        let is_left = |call: &&DirectiveCall| Some(call.step) != leave_out;
        let before: Vec<&DirectiveCall> = self.calls_before(at).iter().filter(is_left).collect();
        let after = self.calls.get(self.calls_before(at).len()..).unwrap_or_default();
        let limits = self.limits;
        // The first mapped loop makes a schedule without a target a GPU schedule.
        let gpu = if self.target_free { Limits::of(&Target::gpu()) } else { limits };
        let builder = NestBuilder::new(self.model.clone());
        let calls = self.stages.iter().flat_map(|(_, calls)| calls);
        let names = calls.flat_map(DirectiveCall::selects).map(|(_, select)| select.name.as_str());
        InsertionPoint::new(builder, before, after.iter().filter(is_left).collect(), limits, gpu)
            .with_stages(self.stages_until(usize::MAX), names)
    }
}
