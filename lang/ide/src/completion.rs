//! Completions at the cursor: only legal ones, each with a reason.

mod argument;
mod header;
mod item;
mod number;
mod order;
mod stage;
mod statement;
mod template;
mod typed;

use sched_grammar::ast::{Comment, Span};

use super::Analysis;
use super::cursor::{AtCursor, cursor};
use sched_lang::diagnostics::{CODES, Code, Severity, codes};

pub use item::{Completion, CompletionKind};

/// All completions at `offset`, the most likely first. Long schedules leave no time to try all proposals:
/// later ones are checked up to the cursor only, and untried ones are not proposed.
pub fn completion(analysis: &Analysis, offset: usize) -> Vec<Completion> {
    let here = analysis.schedule_at(offset);
    let mut all = match (analysis.comment_at(offset), cursor(analysis, offset)) {
        (Some(comment), _) => allowed(analysis, comment, offset),
        (None, AtCursor::Statement(typed)) => statement::complete(here, offset, typed),
        (None, AtCursor::Call(call)) if call.in_header => header::devices(here, offset, &call),
        (None, AtCursor::Call(call)) => argument::complete(here, offset, &call),
        (None, AtCursor::Header { keyword, words, typed }) => header::complete(here, keyword, words, typed),
        (None, AtCursor::Nowhere) => Vec::new(),
    };
    typed::keep_typed(here, offset, &mut all);
    for (at, item) in all.iter_mut().enumerate() {
        item.sort = format!("{at:04}");
    }
    all
}

/// Codes that a comment can silence. Codes of the file's own diagnostics come first.
fn allowed(analysis: &Analysis, comment: &Comment, offset: usize) -> Vec<Completion> {
    let left = analysis.source().get(comment.span.start as usize..offset).unwrap_or_default();
    let Some((_, inside)) = left.rsplit_once("allow(").filter(|(_, inside)| !inside.contains(')')) else {
        return Vec::new();
    };
    let typed = inside.rsplit(',').next().unwrap_or_default().trim_start();
    let replace = Span::new(offset - typed.len(), offset);
    let is_given =
        |code: Code| analysis.verdict().diagnostics.iter().any(|diagnostic| diagnostic.code == code);
    let can_be = |code: &&Code| code.severity() != Severity::Error && **code != codes::ALLOWS_NOTHING;
    let lints = CODES.iter().filter(can_be);
    let (given, others): (Vec<_>, Vec<_>) = lints.partition(|code| is_given(**code));
    let item = |code: &&Code| {
        let page = code.page().split_once("\n\n").map_or(code.page(), |(_, page)| page);
        let about = page.split("\n\n").next().unwrap_or_default();
        Completion::new(CompletionKind::Word, code.to_string(), replace)
            .detail(code.title())
            .documentation(about.replace('\n', " "))
    };
    given.iter().chain(&others).map(item).collect()
}
