//! A loop of a stage of columns, or the stage itself.

use std::fmt::Write;

use sched_grammar::ast::{ScheduleStmt, Span};

use super::answer::Hover;
use super::loops::{headers, is_limited, iterations};
use crate::ScheduleAnalysis;
use sched_lang::check::StageVariant;
use sched_lang::lineage::{DirectiveIndex, LoopSelector};
use sched_nest::{Axis, StageInfo, StageKind};

/// A loop of a stage that a directive names, or the name of a stage before a loop.
pub(super) fn use_hover(
    analysis: ScheduleAnalysis,
    stmt: &ScheduleStmt,
    select: &LoopSelector,
    span: Span,
) -> Option<Hover> {
    let prepared = analysis.prepared();
    let at = |end: u32| used_at(analysis, prepared.stages_until(end as usize), select, span);
    at(stmt.span.start).or_else(|| at(stmt.span.end))
}

fn used_at(
    analysis: ScheduleAnalysis,
    arranged: Vec<StageVariant>,
    select: &LoopSelector,
    span: Span,
) -> Option<Hover> {
    let others = StageVariant::unarranged(analysis.variant().stage_context(), &arranged);
    let stages: Vec<&StageVariant> = arranged.iter().chain(&others).collect();
    let model = analysis.variant().stage_context().model;
    let last = model.and_then(|model| model.stages.last());
    let infos = last.into_iter().chain(stages.iter().map(|stage| &stage.stage));
    let named: Vec<String> = infos.filter(|stage| stage.has_name(&select.name)).map(title).collect();
    if !named.is_empty() {
        return Some(Hover::new(span, named.join("\n\n")).page("language/stages"));
    }
    let found = stages.iter().filter_map(|stage| Some((*stage, describe(stage, select)?)));
    let all: Vec<(&StageVariant, String)> = found.collect();
    let texts: Vec<&str> = all.iter().map(|(_, text)| text.as_str()).collect();
    (!texts.is_empty()).then(|| Hover::new(span, texts.join("\n\n")).page("language/stages"))
}

/// The stages before and after a directive that a directive changes or annotates.
pub(super) fn changed_stages(
    analysis: ScheduleAnalysis,
    stmt: &ScheduleStmt,
) -> Vec<(StageVariant, StageVariant)> {
    let prepared = analysis.prepared();
    let before = prepared.stages_until(stmt.span.start as usize);
    let after = prepared.stages_until(stmt.span.end as usize);
    let plain = StageVariant::unarranged(analysis.variant().stage_context(), &[]);
    let pair = |after: StageVariant| {
        let is_same = |stage: &&StageVariant| stage.stage == after.stage;
        let old = before.iter().find(is_same).or_else(|| plain.iter().find(is_same))?.clone();
        (old.builder.nest().0 != after.builder.nest().0).then_some((old, after))
    };
    after.into_iter().filter_map(pair).collect()
}

/// The loops of a stage that a name means.
fn describe(variant: &StageVariant, select: &LoopSelector) -> Option<String> {
    let builder = &variant.builder;
    let ids = builder.select(DirectiveIndex(0), 0, select).ok()?;
    let id = *ids.first()?;
    let node = builder.indices().get(id)?;
    let (nest, origin) = builder.nest();
    let mut text = format!("```sched\n{}\n```", headers(&nest, &origin, &ids, node));
    let what = match node.axis {
        Axis::Unit => "Loop over the sums",
        Axis::Feature => "Loop over the terms of the sums",
        Axis::Row => "Row loop",
        Axis::Tree => "Tree loop",
    };
    let count = iterations(node, is_limited(&nest, &origin, id, node));
    let _ = write!(text, "\n{what} of `{}`, {count}.", variant.stage.name);
    let _ = write!(text, "\n\n{}", title(&variant.stage));
    Some(text)
}

/// The name of a stage, its work and its steps.
fn title(stage: &StageInfo) -> String {
    let of = match stage.steps.as_slice() {
        [] => String::new(),
        [step] => format!(" of the step `{step}`"),
        steps => format!(" of the steps `{}`", steps.join("`, `")),
    };
    format!("`{}`{of}: {}.", stage.name, about(stage))
}

/// The work of a stage, in words.
fn about(stage: &StageInfo) -> String {
    let StageInfo { units, terms, .. } = stage;
    match stage.kind {
        StageKind::Products | StageKind::Scores if *units == 0 => {
            "sums of products of columns with constants".to_owned()
        }
        StageKind::Distances if *units == 0 => "squared distances from vectors".to_owned(),
        StageKind::Products | StageKind::Scores => {
            let sums = if *units == 1 { "sum" } else { "sums" };
            format!("{units} {sums} of {terms} products of columns with constants")
        }
        StageKind::Distances => format!("squared distances from {units} vectors of {terms} columns"),
        StageKind::Trees if *units == 1 => "the last tree".to_owned(),
        StageKind::Trees => format!("the last {units} trees"),
        StageKind::ColumnTrees if *units == 0 => "trees whose results are columns".to_owned(),
        StageKind::ColumnTrees => format!("{terms} trees, whose results are columns"),
    }
}
