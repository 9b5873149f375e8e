//! Loops of stages of columns as arguments.

use std::collections::BTreeSet;

use sched_grammar::ast::Span;

use super::item::{Completion, CompletionKind};
use crate::ScheduleAnalysis;
use sched_lang::check::StageVariant;
use sched_lang::directives::DirectiveOp;
use sched_lang::legal_next::Operation;
use sched_lang::legal_next::candidates;
use sched_lang::lineage::{LoopSelector, Qualifier};
use sched_nest::show::range;
use sched_nest::{Axis, LoopId};

/// Most stages whose loops are proposed.
const MOST_STAGES: usize = 8;

/// Loops over the sums of stages, and over their terms, with which a directive is legal at the end of the
/// text.
pub(super) fn loops(
    analysis: ScheduleAnalysis,
    op: DirectiveOp,
    replace: Span,
    is_taken: &dyn Fn(&str) -> bool,
) -> Vec<Completion> {
    let typed = analysis.text(replace).split_once('.').map(|(stage, _)| stage);
    let variant = analysis.variant();
    let arranged = &variant.stages;
    let others = variant.unarranged_stages();
    let stages = arranged.iter().chain(&others).take(MOST_STAGES);
    let of_stage = |stage: &StageVariant| {
        // The name of a step stays, if one is typed.
        let name = typed.filter(|typed| stage.stage.has_name(typed)).unwrap_or(&stage.stage.name);
        loops_of(stage, name, (op, replace), is_taken)
    };
    // Several stages of a step have loops of the same names.
    let mut all: Vec<Completion> = stages.flat_map(of_stage).collect();
    let mut seen = BTreeSet::new();
    all.retain(|item| seen.insert(item.label.clone()));
    all
}

/// The loops of a stage, with `name` before them.
fn loops_of(
    stage: &StageVariant,
    name: &str,
    (op, replace): (DirectiveOp, Span),
    is_taken: &dyn Fn(&str) -> bool,
) -> Vec<Completion> {
    let builder = &stage.builder;
    let own = builder
        .tree()
        .loops()
        .into_iter()
        .filter(|id| builder.indices().get(*id).is_some_and(|node| node.axis != Axis::Row));
    own.filter_map(|id| item((stage, name), id, (op, replace), is_taken)).collect()
}

fn item(
    (stage, stage_name): (&StageVariant, &str),
    id: LoopId,
    (op, replace): (DirectiveOp, Span),
    is_taken: &dyn Fn(&str) -> bool,
) -> Option<Completion> {
    let builder = &stage.builder;
    let node = builder.indices().get(id)?;
    let qualifier = Qualifier { name: stage_name.into(), number: None };
    let named = |name: &str| LoopSelector { scope: vec![qualifier.clone()], ..LoopSelector::all(name) };
    let select = named(&node.name);
    let forms: Vec<Operation> = match op {
        DirectiveOp::Reorder => {
            let outer = builder.tree().parent(id)?;
            let outer = builder.indices().get(outer)?;
            vec![Operation::Reorder(vec![select.clone(), named(&outer.name)])]
        }
        _ => candidates::about(op, builder, &select, id, is_taken).into_iter().flatten().collect(),
    };
    let form = forms.iter().find(|form| stage.fits(form))?;
    let what = if node.axis == Axis::Unit { "sums" } else { "terms" };
    let reassociates = stage.reassociates(form);
    let caution = if reassociates { "\nThe order of accumulation is no longer exact then." } else { "" };
    let item = Completion::new(CompletionKind::Index, select.to_string(), replace)
        .detail(format!("{what} {}", range(&node.start, &node.stop, &node.step)))
        .documentation(format!("Legal here, for example:\n```sched\n{form}\n```{caution}"));
    Some(Completion { reassociates, ..item })
}
