//! Foldable ranges of lines.

use sched_grammar::ast::{Comment, ScheduleStmt, Span, StmtKind};

use super::Analysis;

/// Lines that can be folded into their first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldingRange {
    /// The span from the first to the last line; it has at least two lines.
    pub span: Span,
    /// The kind of lines.
    pub kind: FoldingKind,
}

/// The kind of a foldable range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FoldingKind {
    /// Comments on separate lines.
    Comment,
    /// A statement over several lines, a block, the header, or directives without a blank line between them.
    Region,
}

/// All foldable ranges, in the order of the text. If several begin on one line, the shortest, because editors
/// show one.
pub fn folding_ranges(a: &Analysis) -> Vec<FoldingRange> {
    let source = a.source();
    let mut ranges = comments(source, &a.parsed().comments);
    ranges.extend(statements(source, &a.parsed().file.stmts));
    ranges.sort_by_key(|range| (range.span.start, range.span.end));
    ranges.dedup_by(|next, first| lines(source, Span { start: first.span.start, end: next.span.start }) == 1);
    ranges
}

/// Runs of comments, each on a separate line.
fn comments(source: &str, comments: &[Comment]) -> Vec<FoldingRange> {
    let is_own = |comment: &Comment| {
        let before = source.get(..comment.span.start as usize).unwrap_or_default();
        before.rsplit('\n').next().is_some_and(|line| line.trim_start_matches('\u{feff}').trim().is_empty())
    };
    let own: Vec<Span> = comments.iter().filter(|comment| is_own(comment)).map(|c| c.span).collect();
    runs(source, &own, FoldingKind::Comment)
}

/// Statements over several lines, blocks with their contents, and runs of adjacent statements of one kind.
fn statements(source: &str, stmts: &[ScheduleStmt]) -> Vec<FoldingRange> {
    let sort = |stmt: &ScheduleStmt| match stmt.kind {
        StmtKind::Directive(_) => 1,
        StmtKind::When(_) => 2,
        _ => 0,
    };
    let long = stmts.iter().filter(|stmt| lines(source, stmt.span) > 1);
    let mut ranges: Vec<FoldingRange> =
        long.map(|stmt| FoldingRange { span: stmt.span, kind: FoldingKind::Region }).collect();
    for run in stmts.chunk_by(|a, b| sort(a) == sort(b) && sort(a) < 2) {
        let spans: Vec<Span> = run.iter().map(|stmt| stmt.span).collect();
        ranges.extend(runs(source, &spans, FoldingKind::Region));
    }
    // Blocks do not nest, so the recursion ends here.
    let blocks = stmts.iter().filter(|stmt| !stmt.body().is_empty());
    ranges.extend(blocks.flat_map(|stmt| statements(source, stmt.body())));
    ranges
}

/// Runs of at least two spans on adjacent lines.
fn runs(source: &str, spans: &[Span], kind: FoldingKind) -> Vec<FoldingRange> {
    let are_adjacent = |a: &Span, b: &Span| lines(source, Span { start: a.end, end: b.start }) <= 2;
    let runs = spans.chunk_by(are_adjacent).filter_map(|run| match run {
        [first, .., last] => Some(first.to(*last)),
        _ => None,
    });
    runs.filter(|span| lines(source, *span) > 1).map(|span| FoldingRange { span, kind }).collect()
}

/// The number of lines that a span touches.
fn lines(source: &str, span: Span) -> usize {
    let text = source.get(span.range()).unwrap_or_default();
    text.bytes().filter(|byte| *byte == b'\n').count() + 1
}
