//! Code actions: fixes and refactorings for a place of the text.

mod action;
mod extract;
mod inline;

use sched_grammar::ast::Span;

use super::{Analysis, edits};
pub use action::{Action, ActionKind};
use sched_lang::diagnostics::apply::whole_line;
use sched_lang::diagnostics::{Applicability, Diagnostic, Fix};

/// The actions for `span`: every fix of every diagnostic that touches it, refactorings of the text there, and
/// the safe fixes of the whole text.
pub fn code_actions(a: &Analysis, span: Span) -> Vec<Action> {
    let mut actions = quick_fixes(a, span);
    actions.extend(extract::extract(a, span));
    actions.extend(inline::inline(a, span));
    actions.extend(fix_all(a));
    actions
}

fn quick_fixes(a: &Analysis, span: Span) -> Vec<Action> {
    let touches = |diagnostic: &Diagnostic| {
        let place = widened(a.source(), diagnostic.span());
        place.start <= span.end && span.start <= place.end
    };
    let near = a.verdict().diagnostics.iter().enumerate().filter(|(_, diagnostic)| touches(diagnostic));
    near.flat_map(|(at, diagnostic)| {
        let given = a.verified_fixes(at).iter().map(move |fix| quick_fix(a, at, fix));
        given.chain(inline::remove(a, at, diagnostic))
    })
    .collect()
}

/// A span for actions. An empty span, at which something is missing, also covers the blanks that follow.
fn widened(source: &str, span: Span) -> Span {
    let rest = source.get(span.end as usize..).unwrap_or_default();
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    if span.start < span.end { span } else { Span::new(span.start as usize, span.end as usize + blanks) }
}

fn quick_fix(a: &Analysis, diagnostic: usize, fix: &Fix) -> Action {
    Action {
        title: capitalized(&fix.title),
        kind: ActionKind::QuickFix,
        edits: fix.edits.iter().map(|edit| whole_line(a.source(), edit)).collect(),
        fixes: Some(diagnostic),
        preferred: fix.applicability == Applicability::Safe,
    }
}

fn fix_all(a: &Analysis) -> Option<Action> {
    let mut fixes = a.verdict().diagnostics.iter().flat_map(|diagnostic| &diagnostic.fixes);
    if !fixes.any(|fix| fix.applicability == Applicability::Safe) {
        return None;
    }
    let whole = Span::new(0, a.source().len());
    let edit = edits::replace(a.source(), whole, a.fixed_text()?)?;
    Some(Action {
        title: "Fix everything that is safe to fix".to_owned(),
        kind: ActionKind::SourceFixAll,
        edits: vec![edit],
        fixes: None,
        preferred: false,
    })
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
