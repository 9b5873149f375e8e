//! Legal directives to write instead of a refused one, where the words know no better way out.

use super::context::Context;
use crate::device::Limits;
use crate::diagnostics::{Applicability, Edit, Fix};
use crate::directives::find;
use crate::legal_next::{Argument, Operation, of};

/// Largest nest for which alternatives are looked for.
const SMALL: usize = 64;
/// Most alternatives offered.
const MOST: usize = 3;

/// Fixes that replace the directive at fault by one of its kind that is legal, the most similar ones first.
pub(crate) fn alternatives(context: &Context, limits: &Limits) -> Vec<Fix> {
    let step = context.illegal.step;
    let Some(signature) = find(context.directive()) else { return Vec::new() };
    if context.builder.loop_count() > SMALL {
        return Vec::new();
    }
    let mut builder = context.builder.clone();
    builder.forget(step);
    let written = context.report.argument_texts(step);
    let nexts = of(&builder, limits, Some(signature.op));
    let forms = nexts.into_iter().flat_map(|next| std::iter::once(next.operation).chain(next.others));
    let mut scored: Vec<(usize, String)> = forms
        .map(|form| with_names(form, &written, context))
        .filter(|form| !is_written(form, &written))
        .map(|form| (similarity(&form, &written), form.to_string()))
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let best = scored.first().map_or(0, |(score, _)| *score);
    let span = context.report.place(step, None);
    let near = scored.into_iter().filter(|(score, _)| *score == best).take(MOST);
    near.map(|(_, text)| Fix {
        title: format!("write `{text}`"),
        edits: vec![Edit { span, text }],
        applicability: Applicability::Unsure,
    })
    .collect()
}

/// The operation with the names for new loops that were written, unless they are what is wrong.
fn with_names(form: Operation, written: &[&str], context: &Context) -> Operation {
    let name = |at: usize| {
        let text = *written.get(at)?;
        let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_') && !text.is_empty();
        (is_name && !context.builder.is_declared(text)).then(|| text.to_owned())
    };
    match (name(1), name(2)) {
        (Some(a), Some(b)) if a != b => form.with_names([Some(a), Some(b)]),
        _ => form,
    }
}

/// Whether it is what was written: legal where it stands, but not with what comes later.
fn is_written(form: &Operation, written: &[&str]) -> bool {
    form.arguments().iter().map(Argument::text).eq(written.iter().copied())
}

/// How many arguments stand as they were written.
fn similarity(form: &Operation, written: &[&str]) -> usize {
    let arguments = form.arguments();
    let same = arguments.iter().zip(written).filter(|(argument, text)| argument.text() == **text).count();
    let is_loop = |argument: &&Argument| matches!(argument, Argument::Loop(_));
    let named = arguments.iter().filter(is_loop).filter(|a| written.contains(&a.text())).count();
    same * 2 + named
}
