//! The formatter as edits.

use sched_grammar::SyntaxError;
use sched_grammar::ast::Span;

use super::{Analysis, Edit, edits};
use sched_lang::format::{FormattedLines, format_parts};

/// The edits that give the text its canonical layout, line by line: a line that is right already has none.
///
/// # Errors
///
/// The syntax errors of the text, which is not formatted then.
pub fn format_edits(a: &Analysis) -> Result<Vec<Edit>, Vec<SyntaxError>> {
    format_range_edits(a, Span::new(0, a.source().len()))
}

/// As [`format_edits`] for the statements on the lines of `span`.
///
/// # Errors
///
/// The syntax errors of the text, which is not formatted then.
pub fn format_range_edits(a: &Analysis, span: Span) -> Result<Vec<Edit>, Vec<SyntaxError>> {
    let blocks = format_parts(a.source())?;
    let lines = whole_lines(a.source(), span);
    let touched = blocks
        .iter()
        .filter(|block| block.span.start < lines.end && lines.start < block.span.end || block.span == lines);
    Ok(touched.flat_map(|block| changes(a.source(), block)).collect())
}

/// The lines of a span, without the last one if the span ends at its start and is not empty.
fn whole_lines(source: &str, span: Span) -> Span {
    // Bytes, because the span may begin or end within a character.
    let bytes = source.as_bytes();
    let end = (span.end as usize).min(bytes.len());
    let start = (span.start as usize).min(end);
    let (before, within, rest) = (&bytes[..start], &bytes[start..end], &bytes[end..]);
    let is_end = |byte: &u8| *byte == b'\n';
    let start = before.iter().rposition(is_end).map_or(0, |at| at + 1);
    let more = rest.iter().position(is_end).map_or(rest.len(), |at| at + 1);
    Span::new(start, if within.last().is_some_and(is_end) { end } else { end + more })
}

fn changes(source: &str, block: &FormattedLines) -> Vec<Edit> {
    let old = source.get(block.span.range()).unwrap_or_default();
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = block.text.split_inclusive('\n').collect();
    if old_lines.len() != new_lines.len() {
        return edits::replace(source, block.span, &block.text).into_iter().collect();
    }
    let mut at = block.span.start as usize;
    let mut changes = Vec::new();
    for (old, new) in old_lines.iter().zip(&new_lines) {
        changes.extend(edits::replace(source, Span::new(at, at + old.len()), new));
        at += old.len();
    }
    changes
}
