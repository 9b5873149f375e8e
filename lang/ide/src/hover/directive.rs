//! A directive: how to call it, its rule, and the nest before and after it.

use std::collections::HashMap;

use sched_grammar::ast::{Directive, ScheduleStmt, Span};

use super::answer::{Hover, touches};
use super::stage;
use crate::cursor::{is_name, word};
use crate::{ScheduleAnalysis, pages};
use sched_lang::check::StageVariant;
use sched_lang::diagnostics::Severity;
use sched_lang::directives::{Signature, find};
use sched_lang::lineage::{DirectiveIndex, NestBuilder};
use sched_nest::show::show_window;
use sched_nest::{Accumulation, LoopId, Nest};

/// Most lines of a nest that are shown. Longer nests are cut to the lines around the change.
const MAX_NEST_LINES: usize = 14;

/// All about the directive whose name is under the cursor.
pub(super) fn hover(analysis: ScheduleAnalysis, stmt: &ScheduleStmt, directive: &Directive) -> Option<Hover> {
    let signature = find(&directive.name.text)?;
    let mut markdown = about(signature);
    if let Some(step) = analysis.prepared().step_at(stmt.span)
        && let Some(effect) = effect(analysis, stmt, step, signature)
    {
        markdown = format!("{markdown}\n\n---\n\n{effect}");
    }
    Some(Hover::new(directive.name.span, markdown).page(format!("directives/{}", signature.name)))
}

/// Hover of a directive of which only the name is written.
pub(super) fn unfinished(analysis: ScheduleAnalysis, stmt: &ScheduleStmt, offset: usize) -> Option<Hover> {
    let start = stmt.span.start as usize;
    let name = word(analysis.source(), start, is_name);
    let signature = find(analysis.text(name)).filter(|_| touches(name, offset))?;
    Some(Hover::new(name, about(signature)).page(format!("directives/{}", signature.name)))
}

/// The call, the effect and the rule of a directive.
pub(crate) fn about(signature: &Signature) -> String {
    let mut text = format!("```sched\n{}\n```\n{}", signature.usage(), signature.summary);
    if let Some(rule) = pages::rule(signature) {
        text = format!("{text}\n\n{rule}");
    }
    text
}

/// The effect of the directive here.
fn effect(
    analysis: ScheduleAnalysis,
    stmt: &ScheduleStmt,
    step: DirectiveIndex,
    signature: &Signature,
) -> Option<String> {
    let prepared = analysis.prepared();
    if !signature.is_modifier {
        let stages = &analysis.variant().stages;
        let of_stages = stages.iter().filter_map(|stage| annotations(&stage.builder, step));
        let all: Vec<String> =
            annotations(analysis.final_nest(), step).into_iter().chain(of_stages).collect();
        return (!all.is_empty()).then(|| all.join("\n"));
    }
    let inside = |at: Span| stmt.span.start <= at.start && at.end <= stmt.span.end;
    let mut diagnostics = analysis.verdict().diagnostics.iter();
    if diagnostics.any(|d| d.severity == Severity::Error && inside(d.span())) {
        return Some("It is refused here, and does not change the nest.".to_owned());
    }
    let before = prepared.nest_until(stmt.span.start as usize);
    let after = prepared.nest_until(stmt.span.end as usize);
    let ((old, _), (new, _)) = (before.nest(), after.nest());
    let same_order = old.accumulation == new.accumulation;
    let stages = stage::changed_stages(analysis, stmt);
    let of_stage = |(old, new): &(StageVariant, StageVariant)| {
        format!("In `{}`: {}", new.stage.name, before_and_after(&old.builder, &new.builder))
    };
    let mut texts: Vec<String> = stages.iter().map(of_stage).collect();
    if old == new && texts.is_empty() {
        return Some("It changes nothing here.".to_owned());
    }
    if old.loops != new.loops {
        texts.insert(0, before_and_after(&before, &after));
    }
    let mut text = if texts.is_empty() { "The loops stay as they are.".to_owned() } else { texts.join("\n") };
    if !same_order {
        text.push_str(&format!("\nOrder of accumulation: {}", order(&new.accumulation)));
    }
    Some(text)
}

/// Both nests as text, with marks at loops that differ.
fn before_and_after(before: &NestBuilder, after: &NestBuilder) -> String {
    let ((old, old_ids), (new, new_ids)) = (before.nest(), after.nest());
    let changes =
        Changes { before: names(&old, &old_ids), after: names(&new, &new_ids), old: before, new: after };
    format!(
        "Before:\n```text\n{}```\nAfter:\n```text\n{}```",
        window(&old, &old_ids, &|id| changes.concern(id)),
        window(&new, &new_ids, &|id| changes.concern(id))
    )
}

/// The differences between two nests.
struct Changes<'a> {
    before: HashMap<LoopId, &'a str>,
    after: HashMap<LoopId, &'a str>,
    old: &'a NestBuilder,
    new: &'a NestBuilder,
}

impl Changes<'_> {
    /// Whether a loop is in one nest only, or differs in name, place or annotations.
    fn concern(&self, id: &LoopId) -> bool {
        let (Some(before), Some(after)) = (self.before.get(id), self.after.get(id)) else { return true };
        let (old, new) = (self.old.tree(), self.new.tree());
        let is_moved = old.parent(*id) != new.parent(*id) && old.inside(*id) != new.inside(*id);
        before != after || is_moved || self.old.node(*id).annotations != self.new.node(*id).annotations
    }
}

/// The names of the loops of a nest.
fn names<'a>(nest: &'a Nest, ids: &[LoopId]) -> HashMap<LoopId, &'a str> {
    ids.iter().copied().zip(nest.loops.iter().map(|this| this.name.as_str())).collect()
}

/// The loops that a directive annotates.
fn annotations(whole: &NestBuilder, step: DirectiveIndex) -> Option<String> {
    let (nest, ids) = whole.nest();
    let has = |id: &LoopId| whole.node(*id).annotations.iter().any(|(_, by)| *by == step);
    if !ids.iter().any(has) {
        return None;
    }
    Some(format!("In the nest:\n```text\n{}```", window(&nest, &ids, &has)))
}

fn window(nest: &Nest, ids: &[LoopId], is_marked: &dyn Fn(&LoopId) -> bool) -> String {
    let marks: Vec<LoopId> =
        (0_u32..).zip(ids).filter(|(_, id)| is_marked(id)).map(|(at, _)| LoopId(at)).collect();
    show_window(nest, &marks, MAX_NEST_LINES)
}

fn order(accumulation: &Accumulation) -> String {
    match accumulation {
        Accumulation::Exact => "exact".to_owned(),
        Accumulation::Reassociated(why) => format!("reassociated: {why}"),
    }
}
