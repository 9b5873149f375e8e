//! Legal alternatives to a refused directive, if its wording has no better fix.

use super::context::MessageContext;
use crate::device::Limits;
use crate::diagnostics::{Applicability, Edit, Fix};
use crate::directives::find;
use crate::legal_next::{Argument, Operation, of};

/// Largest nest, in loops, for which alternatives are searched.
const MAX_SEARCHED_LOOPS: usize = 64;
/// Largest number of alternatives offered.
const MAX_ALTERNATIVES: usize = 3;

/// Fixes that replace the refused directive by a legal one of its kind, the most similar ones first.
pub(crate) fn alternatives(context: &MessageContext, limits: &Limits) -> Vec<Fix> {
    let step = context.illegal.step;
    let Some(signature) = find(context.directive()) else { return Vec::new() };
    if context.builder.tree().loop_count() > MAX_SEARCHED_LOOPS {
        return Vec::new();
    }
    let mut builder = context.builder.clone();
    builder.forget(step);
    let written = context.report.argument_texts(step);
    let nexts = of(&builder, limits, Some(signature.op));
    let forms =
        nexts.into_iter().flat_map(|next| std::iter::once(next.operation).chain(next.with_other_numbers));
    let mut scored: Vec<(usize, String)> = forms
        .map(|form| with_names(form, &written, context))
        .filter(|form| !is_written(form, &written))
        .map(|form| (similarity(&form, &written), form.to_string()))
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let best = scored.first().map_or(0, |(score, _)| *score);
    let span = context.report.place(step, None);
    let near = scored.into_iter().filter(|(score, _)| *score == best).take(MAX_ALTERNATIVES);
    near.map(|(_, text)| Fix {
        title: format!("write `{text}`"),
        edits: vec![Edit { span, text }],
        applicability: Applicability::Unsure,
    })
    .collect()
}

/// The operation with the written names for new loops, unless they are the problem.
fn with_names(form: Operation, written: &[&str], context: &MessageContext) -> Operation {
    let name = |at: usize| {
        let text = *written.get(at)?;
        let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_') && !text.is_empty();
        (is_name && !context.builder.names().is_declared(text)).then(|| text.to_owned())
    };
    match (name(1), name(2)) {
        (Some(a), Some(b)) if a != b => form.with_names([Some(a), Some(b)]),
        _ => form,
    }
}

/// Whether the operation is the written one: legal at its position, but not with later directives.
fn is_written(form: &Operation, written: &[&str]) -> bool {
    form.arguments().iter().map(Argument::text).eq(written.iter().copied())
}

/// Number of arguments that are as written, twice, plus loops that are named.
fn similarity(form: &Operation, written: &[&str]) -> usize {
    let arguments = form.arguments();
    let same = arguments.iter().zip(written).filter(|(argument, text)| argument.text() == **text).count();
    let is_loop = |argument: &&Argument| matches!(argument, Argument::Loop(_));
    let named = arguments.iter().filter(is_loop).filter(|a| written.contains(&a.text())).count();
    same * 2 + named
}
