//! Part of a schedule: the directives up to a line.

use sched_grammar::ast::{ScheduleStmt, Span, StmtKind};
use sched_grammar::parse;

use crate::check::Outcome;
use crate::diagnostics::Severity;
use crate::directives::find;
use crate::options::CheckOptions;
use crate::part::WhenBlock;

/// A text that ends with the directives of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TruncatedSchedule {
    /// The text, with blanks instead of later directives.
    pub text: String,
    /// Largest number of rows of the schedule's calls; `None` outside of blocks.
    pub max_rows: Option<u32>,
}

/// The schedule that contains a line, counted from 1. Blanks replace the directives that begin after it and
/// all other schedules, so that positions in the text stay valid. Header lines stay. Annotations whose loops
/// are not yet made are replaced too.
pub fn until_line(source: &str, line: usize, options: &CheckOptions) -> TruncatedSchedule {
    let mut ends = source.match_indices('\n').map(|(at, _)| at);
    let start = match line.checked_sub(2) {
        Some(before) => ends.nth(before).map_or(source.len(), |at| at + 1),
        None => 0,
    };
    let end = ends.next().unwrap_or(source.len());
    let parsed = parse(source);
    let touches =
        |block: &WhenBlock| (block.span.start as usize) < end.max(1) && start < block.span.end as usize;
    let blocks = || parsed.file.stmts.iter().filter_map(WhenBlock::of);
    let here = blocks().position(|block| touches(&block));
    let block = here.and_then(|here| blocks().nth(here));

    let stmts = block.map_or(&parsed.file.stmts, |block| &block.when.body);
    let (before, after): (Vec<_>, Vec<_>) =
        stmts.iter().filter(|stmt| is_directive(stmt)).partition(|stmt| (stmt.span.start as usize) < end);
    let others = blocks().filter(|other| block.is_none_or(|own| own.span != other.span));
    let mut left_out: Vec<Span> =
        after.iter().map(|stmt| stmt.span).chain(others.map(|other| other.span)).collect();
    if block.is_some() {
        left_out.extend(parsed.file.stmts.iter().filter(|stmt| is_directive(stmt)).map(|stmt| stmt.span));
    }
    let mut text = source.to_owned();
    left_out.iter().for_each(|span| blank(&mut text, *span));

    if after.is_empty() && block.is_none() {
        return TruncatedSchedule { text, max_rows: None };
    }
    let outcome = Outcome::of(&text, &parse(&text), options);
    if !after.is_empty() {
        let errors = outcome.verdict.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        let errors: Vec<Span> = errors.map(|found| found.span()).collect();
        let is_wrong = |span: Span| errors.iter().any(|at| span.start <= at.start && at.end <= span.end);
        let wrong = before.iter().filter(|stmt| is_annotation(stmt) && is_wrong(stmt.span));
        wrong.for_each(|stmt| blank(&mut text, stmt.span));
    }
    let max_rows = block.and_then(|_| outcome.variant(1).max_rows);
    TruncatedSchedule { text, max_rows }
}

fn is_directive(stmt: &ScheduleStmt) -> bool {
    matches!(stmt.kind, StmtKind::Directive(_))
}

/// Whether the statement is an annotation.
pub(crate) fn is_annotation(stmt: &ScheduleStmt) -> bool {
    let StmtKind::Directive(directive) = &stmt.kind else { return false };
    find(&directive.name.text).is_some_and(|signature| !signature.is_modifier)
}

/// Replaces text by blanks, except for line ends, so that other positions stay valid.
pub(crate) fn blank(text: &mut String, span: Span) {
    let Some(old) = text.get(span.range()) else { return };
    let blanks: String = old.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
    text.replace_range(span.range(), &blanks);
}
