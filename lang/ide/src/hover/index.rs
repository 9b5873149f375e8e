//! An index: its range, its origin, the loops that replaced it, and its annotations.

use std::fmt::Write;

use sched_grammar::ast::{ExprKind, Path, ScheduleStmt};

use super::answer::{Hover, touches};
use super::loops::{MAX_LISTED_LOOPS, headers, is_limited, iterations};
use super::stage;
use crate::ScheduleAnalysis;
use sched_lang::lineage::{Annotation, DirectiveIndex, LoopSelector, NestBuilder, Qualifier};
use sched_lang::resolve::Arg;
use sched_nest::{Axis, LoopId};

/// An index that a directive names.
pub(super) fn use_hover(
    analysis: ScheduleAnalysis,
    stmt: &ScheduleStmt,
    at: usize,
    path: &Path,
    offset: usize,
) -> Option<Hover> {
    let prepared = analysis.prepared();
    let step = prepared.step_at(stmt.span);
    let call = step.and_then(|step| prepared.call(step));
    // The hover of a qualifier describes the qualifier, not the loop.
    let qualifier = path.segments.iter().position(|segment| touches(segment.name.span, offset));
    let qualifier = qualifier.filter(|at| at + 1 < path.segments.len());
    let written = select_of(path)?;
    let (select, span) = match (qualifier, call.and_then(|call| call.args.get(at))) {
        (Some(at), _) => {
            let qualifier = written.scope.get(at)?;
            let scope = written.scope.get(..at)?.to_vec();
            let select = LoopSelector { scope, name: qualifier.name.to_string(), number: None };
            (select, path.segments.get(at)?.name.span)
        }
        (None, Some(Arg::Index(select))) => (select.clone(), path.span),
        (None, _) => (written, path.span),
    };
    let is_modifier = call.is_none_or(|call| call.is_modifier);
    let at_the_place = is_modifier.then(|| prepared.nest_until(stmt.span.start as usize));
    let here = at_the_place.as_ref().unwrap_or(analysis.final_nest());
    let ids = here.select(DirectiveIndex(0), 0, &select).unwrap_or_default();
    let ids = if ids.is_empty() { copies_anywhere(analysis.final_nest(), &select) } else { ids };
    if ids.is_empty() {
        return stage::use_hover(analysis, stmt, &select, span);
    }
    let markdown = describe(analysis, here, &ids)?;
    Some(Hover::new(span, markdown).page("language/lineage"))
}

/// Hover of an index variable in the directive that makes it.
pub(super) fn declaration_hover(
    analysis: ScheduleAnalysis,
    stmt: &ScheduleStmt,
    path: &Path,
) -> Option<Hover> {
    let name = path.as_ident()?;
    let prepared = analysis.prepared();
    let step = prepared.step_at(stmt.span)?;
    let here = prepared.nest_until(stmt.span.end as usize);
    let copies = here.names().copies(name.text.as_str());
    let own: Vec<LoopId> =
        copies.iter().filter(|id| here.node(**id).made_by == Some(step)).copied().collect();
    let markdown = describe(analysis, &here, &own)?;
    Some(Hover::new(name.span, markdown).page("language/lineage"))
}

/// The name as written, without numbers in brackets that are expressions.
fn select_of(path: &Path) -> Option<LoopSelector> {
    let (last, rest) = path.segments.split_last()?;
    let number =
        |index: &Option<Box<sched_grammar::ast::ScheduleExpr>>| match index.as_deref().map(|e| &e.kind) {
            Some(ExprKind::Int(n)) => u32::try_from(*n).ok(),
            _ => None,
        };
    let qualifier = |segment: &sched_grammar::ast::Segment| Qualifier {
        name: segment.name.text.as_str().into(),
        number: number(&segment.index),
    };
    let scope = rest.iter().map(qualifier).collect();
    Some(LoopSelector { scope, name: last.name.text.clone(), number: number(&last.index) })
}

/// Loops of this name anywhere in the schedule, also those that directives replaced.
fn copies_anywhere(whole: &NestBuilder, select: &LoopSelector) -> Vec<LoopId> {
    whole.names().copies(select.name.as_str()).to_vec()
}

/// Describes the copies of one index variable in the nest `here`.
fn describe(analysis: ScheduleAnalysis, here: &NestBuilder, ids: &[LoopId]) -> Option<String> {
    let id = *ids.first()?;
    let node = here.indices().get(id).or_else(|| analysis.final_nest().indices().get(id))?;
    let (nest, origin) = here.nest();
    let mut text = format!("```sched\n{}\n```", headers(&nest, &origin, ids, node));
    let axis = match node.axis {
        Axis::Row => "Row loop",
        Axis::Tree => "Tree loop",
        Axis::Unit => "Loop over the sums of a stage",
        Axis::Feature => "Loop over the terms of a stage's sums",
    };
    let _ = write!(text, "\n{axis}, {}.", iterations(node, is_limited(&nest, &origin, id, node)));
    let parts = [
        maker_text(analysis, id),
        successors_text(analysis, ids),
        place_text(analysis, ids),
        annotations(analysis, ids),
    ];
    for part in parts.into_iter().flatten() {
        let _ = write!(text, "\n\n{part}");
    }
    if let Some(chain) = lineage(analysis, id) {
        let _ = write!(text, "\n\nLineage: {chain}");
    }
    Some(text)
}

/// Text about the directive that made a loop.
fn maker_text(analysis: ScheduleAnalysis, id: LoopId) -> Option<String> {
    let whole = analysis.final_nest();
    let node = whole.indices().get(id)?;
    let Some(step) = node.made_by else {
        return Some(match node.axis {
            Axis::Row => {
                "One of the two loops that every schedule begins with: the rows of a call.".to_owned()
            }
            Axis::Tree => {
                "One of the two loops that every schedule begins with: the trees of the model.".to_owned()
            }
            Axis::Unit => "A loop that each layer begins with: its sums.".to_owned(),
            Axis::Feature => "A loop that each layer begins with: the terms of a sum.".to_owned(),
        });
    };
    let event = analysis.lineage().directive(step)?;
    let from = parent(whole, id).map(|parent| format!(" from `{}`", plain(analysis, parent)));
    Some(format!("Made on line {} by `{}`{}", event.line, event.text, from.unwrap_or_default()))
}

/// Text about the directives that replaced copies of a loop, and about the new loops.
fn successors_text(analysis: ScheduleAnalysis, ids: &[LoopId]) -> Option<String> {
    let whole = analysis.final_nest();
    let mut lines: Vec<String> = Vec::new();
    for id in ids {
        let node = whole.indices().get(*id)?;
        let Some(event) = node.consumed_by.and_then(|step| analysis.lineage().directive(step)) else {
            continue;
        };
        let next = node.successors.iter().take(MAX_LISTED_LOOPS);
        let into: Vec<String> = next.map(|next| format!("`{}`", plain(analysis, *next))).collect();
        let more = if node.successors.len() > MAX_LISTED_LOOPS { ", ..." } else { "" };
        let text =
            format!("Consumed on line {} by `{}`: became {}{more}", event.line, event.text, into.join(", "));
        if !lines.contains(&text) {
            lines.push(text);
        }
    }
    lines.truncate(MAX_LISTED_LOOPS);
    (!lines.is_empty()).then(|| lines.join("  \n"))
}

/// A sentence on a loop's place in the final nest: that of its first copy there, and the number of copies.
/// `None` if directives replaced all copies.
fn place_text(analysis: ScheduleAnalysis, ids: &[LoopId]) -> Option<String> {
    let whole = analysis.final_nest();
    let live: Vec<LoopId> = ids
        .iter()
        .filter(|id| whole.indices().get(**id).is_some_and(|node| node.consumed_by.is_none()))
        .copied()
        .collect();
    let id = *live.first()?;
    let inside = whole.tree().inside(id);
    let outside = match whole.tree().parent(id) {
        Some(parent) => format!("inside `{}`", whole.name(parent)),
        None => "outermost".to_owned(),
    };
    let inside = match inside.only() {
        _ if inside.is_leaf() => "a leaf loop: the walk happens here".to_owned(),
        Some(only) => format!("around `{}`", whole.name(only)),
        None => format!("around {} loops", inside.children().count()),
    };
    let copies =
        if live.len() > 1 { format!(" (the first of {} copies)", live.len()) } else { String::new() };
    Some(format!("In the final nest: {outside}, {inside}{copies}"))
}

/// Text about the annotations of copies of a loop, and of loops around them that apply to their walks.
fn annotations(analysis: ScheduleAnalysis, ids: &[LoopId]) -> Option<String> {
    let whole = analysis.final_nest();
    let mut lines: Vec<String> = Vec::new();
    let mut add = |step: DirectiveIndex, note: String| {
        let Some(event) = analysis.lineage().directive(step) else { return };
        let line = format!("- `{}` on line {}{note}", event.text, event.line);
        if !lines.contains(&line) {
            lines.push(line);
        }
    };
    for id in ids {
        let node = whole.indices().get(*id).filter(|node| node.consumed_by.is_none())?;
        node.annotations.iter().for_each(|(_, step)| add(*step, String::new()));
        let path = whole.tree().path(*id);
        let own =
            |annotation: &Annotation| node.annotations.iter().any(|(known, _)| known.same_kind(annotation));
        for outer in path.iter().rev().skip(1) {
            for (annotation, step) in &whole.node(*outer).annotations {
                let is_of_walks = matches!(
                    annotation,
                    Annotation::UnrollWalk(_)
                        | Annotation::PeelWalk(_)
                        | Annotation::SpeculateWalk(_)
                        | Annotation::Layout(_)
                );
                if is_of_walks && !own(annotation) {
                    add(*step, ", by a loop around it".to_owned());
                }
            }
        }
    }
    let left = lines.len().saturating_sub(2 * MAX_LISTED_LOOPS);
    lines.truncate(2 * MAX_LISTED_LOOPS);
    if left > 0 {
        lines.push(format!("- and {left} more"));
    }
    (!lines.is_empty()).then(|| format!("Annotations:\n{}", lines.join("\n")))
}

/// `batch` → `b1` → **`c0`**
fn lineage(analysis: ScheduleAnalysis, id: LoopId) -> Option<String> {
    const LONGEST: usize = 12;
    let mut names = vec![format!("**`{}`**", plain(analysis, id))];
    let mut at = id;
    while let Some(next) = parent(analysis.final_nest(), at) {
        if names.len() == LONGEST {
            names.push("...".to_owned());
            break;
        }
        names.push(format!("`{}`", plain(analysis, next)));
        at = next;
    }
    names.reverse();
    (names.len() > 1).then(|| names.join(" → "))
}

/// Name of a loop without qualifiers.
fn plain<'a>(analysis: ScheduleAnalysis<'a>, id: LoopId) -> &'a str {
    analysis.lineage().indices.get(id.0 as usize).map_or("", |index| index.name.as_str())
}

/// The index from which a directive made this one. Copies have the same.
fn parent(whole: &NestBuilder, id: LoopId) -> Option<LoopId> {
    let node = whole.indices().get(id)?;
    let step = node.made_by?;
    let made = |at: &LoopId| whole.node(*at).name == node.name;
    let mut sources =
        whole.indices().iter().take(id.0 as usize).filter(|(_, source)| source.consumed_by == Some(step));
    sources.find(|(_, source)| source.successors.iter().any(made)).map(|(source, _)| source)
}
