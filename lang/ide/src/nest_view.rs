//! The loop nest for a picture: loops with their ranges, the directives that made them, and badges for their
//! annotations.

use std::collections::HashMap;

use sched_grammar::ast::{Span, StmtKind};
use serde_json::{Value, json};

use super::{Analysis, ScheduleAnalysis};
use sched_lang::TargetKind;
use sched_lang::check::StageVariant;
use sched_lang::device::Limits;
use sched_lang::diagnostics::Severity;
use sched_lang::legality::working_set;
use sched_lang::lineage::{Annotation, DirectiveIndex, NestBuilder};
use sched_nest::show;
use sched_nest::{Accumulation, Body, Constraint, LoopId, Nest, StageInfo, StageKind, TreeOrder};

/// A loop nest for a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct NestView {
    /// The outermost loops, run one after the other: positions in `loops`.
    pub roots: Vec<usize>,
    /// All loops; a loop's id is its position.
    pub loops: Vec<LoopView>,
    /// The order in which each row's sum is added up.
    pub accumulation: AccumulationView,
    /// The layout of trees for loops without a `representation`, if the schedule chooses one.
    pub representation: Option<String>,
    /// `model`, or `by_depth` if the trees are sorted.
    pub tree_order: String,
    /// The bound of the block that the nest belongs to, if it belongs to one.
    pub max_rows: Option<u32>,
    /// Most rows that the loops process at once, if that is given.
    pub batch_size: Option<u64>,
    /// Bytes of the second-level cache of a core, for CPUs.
    pub l2_bytes: Option<u64>,
}

/// The order of accumulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccumulationView {
    /// `exact` or `reassociated`.
    pub order: &'static str,
    /// The reason for a reassociated order, in one sentence.
    pub why: Option<String>,
}

/// A loop of the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopView {
    /// Position of the loop in the list of all loops.
    pub id: usize,
    /// The loop's name in the schedule: `b0`, `first.b1`.
    pub name: String,
    /// `row`, `tree`, `unit` or `feature`.
    pub axis: &'static str,
    /// `0..n_rows step 64`
    pub range: String,
    /// The further condition of an iteration: `b0 + b1 < n_rows`.
    pub condition: Option<String>,
    /// Maximum iterations, if known.
    pub iterations: Option<i64>,
    /// The directive that made the loop; `None` for the initial loops.
    pub origin: Option<Span>,
    /// The loop's body.
    pub inside: LoopContents,
    /// The work of an iteration of a leaf loop, in words.
    pub work: &'static str,
    /// Annotations of the loop, and of the walks inside it.
    pub badges: Vec<Badge>,
    /// Least bytes of rows, or of trees, that one iteration uses, if they are known.
    pub working_set_bytes: Option<u64>,
    /// The idle lanes of the loop's last vector, if that vector is not full.
    pub idle: Option<IdleLanes>,
}

/// Lanes of a loop's last vector that is not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleLanes {
    /// Lanes without an iteration.
    pub idle: i64,
    /// All lanes.
    pub lanes: i64,
}

/// The contents of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopContents {
    /// The walk.
    Walk,
    /// Loops run one after the other.
    Children(Vec<usize>),
    /// Loops for each iteration of a specialised loop.
    Cases(Vec<Vec<usize>>),
}

/// An annotation of a loop, as a badge in the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Badge {
    /// `parallel`, `gpu`, `vector`, `interleave`, `unroll`, `cache`, `reduce`, `walk` or `representation`.
    pub kind: &'static str,
    /// `interleave 8`
    pub text: String,
    /// The directive of the annotation.
    pub span: Option<Span>,
}

/// The final nest for calls that no block covers; `None` if the schedule has errors.
pub fn nest_view(analysis: &Analysis) -> Option<NestView> {
    if analysis.verdict().has_errors() {
        return None;
    }
    let here = analysis.outside_blocks();
    Some(view(here, here.final_nest(), &here.variant().stages))
}

/// The nest of the schedule at `offset`, after the directive at `offset` or the last one before it, with the
/// annotations of the directives so far. If the directive at `offset` has errors, the nest is the one before
/// it.
pub fn nest_until(analysis: &Analysis, offset: usize) -> Option<NestView> {
    let stmt = analysis.statement_at(offset);
    let (at, end) = match stmt.map(|stmt| (&stmt.kind, stmt.span)) {
        // The head of a block is a position before its first directive.
        Some((StmtKind::When(when), span)) => {
            let start = when.block.start as usize + 1;
            if offset < start { (start, start) } else { (offset.min(span.end as usize - 1), offset) }
        }
        Some((_, span)) if refused_directive(analysis, offset).is_some() => (offset, span.start as usize),
        Some((_, span)) => (offset, span.end as usize),
        None => (offset, offset),
    };
    let here = analysis.schedule_at(at);
    let prepared = here.prepared();
    Some(view(here, &prepared.nest_until(end), &prepared.stages_until(end)))
}

/// The directive at `offset`, if it has errors.
pub fn refused_directive(analysis: &Analysis, offset: usize) -> Option<Span> {
    let stmt = analysis.statement_at(offset).filter(|stmt| !matches!(stmt.kind, StmtKind::When(_)))?;
    skipped_statements(analysis, Some(stmt.span.end as usize)).contains(&stmt.span).then_some(stmt.span)
}

/// The nest of the schedule outside of all blocks, without directives that have errors: for a picture, and
/// as text.
pub fn nest_of_legal_directives(analysis: &Analysis) -> (NestView, String) {
    let here = analysis.outside_blocks();
    let (prepared, end) = (here.prepared(), analysis.source().len());
    let (builder, stages) = (prepared.nest_until(end), prepared.stages_until(end));
    (view(here, &builder, &stages), show::show_nest(&nest_of(&builder, &stages)))
}

/// The nest as text if `written` replaces a span: the nest after the new directive. `None` if the text there
/// is not a directive or has errors.
pub fn nest_after(analysis: &Analysis, replaced: Span, written: &str) -> Option<String> {
    let source = analysis.source();
    let (before, after) = (source.get(..replaced.start as usize)?, source.get(replaced.end as usize..)?);
    let text = format!("{before}{written}{after}");
    let changed = analysis.after_edit(text, analysis.options().clone());
    let end = before.len() + written.len();
    let stmt = changed.statement_at(end)?;
    let is_wrong = skipped_statements(&changed, Some(end)).contains(&stmt.span);
    if is_wrong || !matches!(stmt.kind, StmtKind::Directive(_)) {
        return None;
    }
    let (prepared, end) = (changed.schedule_at(end).prepared(), stmt.span.end as usize);
    Some(show::show_nest(&nest_of(&prepared.nest_until(end), &prepared.stages_until(end))))
}

/// The nest of trees with those of stages.
fn nest_of(builder: &NestBuilder, stages: &[StageVariant]) -> Nest {
    builder.nest().0.with_stages(stages.iter().map(StageVariant::nest).collect())
}

/// Statements with errors. With an offset, those of the schedule at `offset` that begin there or before. The
/// nest leaves them out, or has their legal part.
pub fn skipped_statements(analysis: &Analysis, offset: Option<usize>) -> Vec<Span> {
    let diagnostics = &analysis.verdict().diagnostics;
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let mut left: Vec<Span> = errors
        .map(|error| error.span().start)
        .filter(|start| offset.is_none_or(|offset| *start as usize <= offset))
        .filter(|start| {
            offset.is_none_or(|offset| analysis.schedule_at(*start as usize) == analysis.schedule_at(offset))
        })
        .filter_map(|start| analysis.statement_at(start as usize).map(|stmt| stmt.span))
        .collect();
    left.dedup();
    left
}

fn view(here: ScheduleAnalysis, builder: &NestBuilder, stages: &[StageVariant]) -> NestView {
    let mut spans = DirectiveSpans { here, known: HashMap::new() };
    let (mut loops, mut roots) = (Vec::new(), Vec::new());
    // The loops of a stage have the stage's name before theirs, and come after those of trees in the list.
    let nest = loops_view(builder, None, &mut loops, &mut spans);
    for StageVariant { stage, builder, .. } in stages {
        let first = loops.len();
        let nest = loops_view(builder, Some(stage), &mut loops, &mut spans);
        roots.extend(positions(&nest.roots).into_iter().map(|root| root + first));
    }
    roots.extend(positions(&nest.roots));
    let (order, why) = match nest_of(builder, stages).accumulation {
        Accumulation::Exact => ("exact", None),
        Accumulation::Reassociated(why) => ("reassociated", Some(why)),
    };
    NestView {
        roots,
        loops,
        accumulation: AccumulationView { order, why },
        representation: builder.forest().layout().map(|layout| layout.word().to_owned()),
        tree_order: match nest.tree_order {
            TreeOrder::Model => "model",
            TreeOrder::ByDepth => "by_depth",
        }
        .to_owned(),
        max_rows: here.variant().max_rows,
        batch_size: here.batch_size(),
        l2_bytes: l2_bytes(here),
    }
}

/// Adds the loops of a nest to `loops`, and returns the nest.
fn loops_view(
    builder: &NestBuilder,
    stage: Option<&StageInfo>,
    loops: &mut Vec<LoopView>,
    spans: &mut DirectiveSpans,
) -> Nest {
    let (nest, origin) = builder.nest();
    let constraints = show::innermost_constraints(&nest);
    let first = loops.len();
    for (id, from) in origin.iter().enumerate() {
        let own = constraints.get(id).map_or(&[][..], Vec::as_slice);
        let mut this = loop_view(&nest, id, builder, *from, own, spans);
        if let Some(stage) = stage {
            (this.id, this.name) = (first + id, format!("{}.{}", stage.name, this.name));
            match &mut this.inside {
                LoopContents::Walk => this.work = stage.kind.leaf_work(),
                LoopContents::Children(list) => list.iter_mut().for_each(|child| *child += first),
                LoopContents::Cases(cases) => cases.iter_mut().flatten().for_each(|child| *child += first),
            }
        }
        loops.push(this);
    }
    nest
}

/// Bytes of the second-level cache, if the schedule is for a CPU.
fn l2_bytes(here: ScheduleAnalysis) -> Option<u64> {
    let limits = Limits::of_check(&here.verdict().target, here.options());
    (limits.kind == TargetKind::Cpu).then_some(limits.l2)
}

/// The lanes of the last vector that have no iteration.
fn idle(trips: Option<i64>, lanes: Option<u32>) -> Option<IdleLanes> {
    let lanes = i64::from(lanes.filter(|lanes| *lanes > 1)?);
    let last = trips? % lanes;
    (last > 0).then_some(IdleLanes { idle: lanes - last, lanes })
}

/// Spans of directives, each looked up once, since copies of a loop share their directives.
struct DirectiveSpans<'a> {
    here: ScheduleAnalysis<'a>,
    known: HashMap<DirectiveIndex, Option<Span>>,
}

impl DirectiveSpans<'_> {
    fn of(&mut self, step: DirectiveIndex) -> Option<Span> {
        *self.known.entry(step).or_insert_with(|| self.here.prepared().span(step))
    }
}

fn loop_view(
    nest: &Nest,
    id: usize,
    builder: &NestBuilder,
    from: LoopId,
    constraints: &[&Constraint],
    spans: &mut DirectiveSpans,
) -> LoopView {
    let this = nest.get(LoopId(id as u32));
    let annotations = &builder.node(from).annotations;
    let chosen = builder.node(from).effective_annotations();
    let mut badges: Vec<Badge> = annotations
        .iter()
        .map(|(annotation, step)| {
            let (kind, text) = badge(annotation, &chosen);
            Badge { kind, text, span: spans.of(*step) }
        })
        .collect();
    badges.sort_by_key(|badge| badge.span);
    LoopView {
        id,
        name: this.name.clone(),
        axis: show::axis_name(this.axis),
        range: show::range(&this.start, &this.stop, &this.step),
        condition: show::condition(nest, constraints),
        iterations: builder.node(from).trips(),
        origin: builder.node(from).made_by.and_then(|step| spans.of(step)),
        inside: match &this.body {
            Body::Walk => LoopContents::Walk,
            Body::Seq(list) => LoopContents::Children(positions(list)),
            Body::Cases(cases) => LoopContents::Cases(cases.iter().map(|case| positions(case)).collect()),
        },
        work: StageKind::Trees.leaf_work(),
        badges,
        working_set_bytes: working_set(builder, from),
        idle: idle(builder.node(from).trips(), chosen.vectorize),
    }
}

fn positions(loops: &[LoopId]) -> Vec<usize> {
    loops.iter().map(|id| id.0 as usize).collect()
}

/// The kind and the text of a badge; `chosen` has the numbers that the schedule leaves to the checker.
fn badge(annotation: &Annotation, chosen: &sched_nest::Annotations) -> (&'static str, String) {
    let number = match annotation {
        Annotation::Interleave(_) => chosen.interleave,
        Annotation::Vectorize(_) => chosen.vectorize,
        _ => None,
    };
    (annotation.kind(), annotation.text(number))
}

/// The view for programs; places are byte offsets of the text.
pub fn nest_view_json(view: &NestView) -> Value {
    let span = |span: Option<Span>| span.map(|span| json!({ "start": span.start, "end": span.end }));
    nest_view_json_with(view, &span)
}

/// As [`nest_view_json`], but the caller converts places, since editors count lines and characters.
pub fn nest_view_json_with<T: Into<Value>>(
    view: &NestView,
    span: &dyn Fn(Option<Span>) -> Option<T>,
) -> Value {
    let place = |at: Option<Span>| span(at).map_or(Value::Null, Into::into);
    let loops: Vec<Value> = view.loops.iter().map(|this| loop_json(this, &place)).collect();
    json!({
        "roots": view.roots,
        "loops": loops,
        "accumulation": { "order": view.accumulation.order, "why": view.accumulation.why },
        "representation": view.representation,
        "tree_order": view.tree_order,
        "max_rows": view.max_rows,
        "batch_size": view.batch_size,
        "near": view.l2_bytes,
    })
}

fn loop_json(this: &LoopView, place: &dyn Fn(Option<Span>) -> Value) -> Value {
    let badges: Vec<Value> = this
        .badges
        .iter()
        .map(|badge| json!({ "kind": badge.kind, "text": badge.text, "span": place(badge.span) }))
        .collect();
    let mut value = json!({
        "id": this.id,
        "name": this.name,
        "sort": this.axis,
        "range": this.range,
        "while": this.condition,
        "iterations": this.iterations,
        "origin": place(this.origin),
        "walk": this.inside == LoopContents::Walk,
        "badges": badges,
        "bytes": this.working_set_bytes,
        "idle": this.idle.map(|idle| json!({ "idle": idle.idle, "lanes": idle.lanes })),
    });
    if this.inside == LoopContents::Walk && this.work != StageKind::Trees.leaf_work() {
        value["work"] = this.work.into();
    }
    match &this.inside {
        LoopContents::Walk => value["children"] = json!([]),
        LoopContents::Children(list) => value["children"] = json!(list),
        LoopContents::Cases(cases) => value["cases"] = json!(cases),
    }
    value
}
