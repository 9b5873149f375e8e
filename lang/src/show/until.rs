//! Part of a schedule: the directives up to a line.

use sched_grammar::ast::{Span, StmtKind};
use sched_grammar::parse;

use crate::check::check;
use crate::diagnostics::Severity;
use crate::directives::find;
use crate::options::Options;

/// The schedule with blanks in place of the directives that begin after `line`, counted from 1. Header lines stay, and so
/// do all places in the text. Annotations may be stated before their loops are made; those whose loops are not made by then
/// are left out too.
pub fn until_line(source: &str, line: usize, options: &Options) -> String {
    let end = source.match_indices('\n').nth(line.saturating_sub(1)).map_or(source.len(), |(at, _)| at);
    let parsed = parse(source);
    let directives = parsed.file.stmts.iter().filter(|stmt| matches!(stmt.kind, StmtKind::Directive(_)));
    let (before, after): (Vec<_>, Vec<_>) = directives.partition(|stmt| (stmt.span.start as usize) < end);
    let mut text = source.to_owned();
    if after.is_empty() {
        return text;
    }
    after.iter().for_each(|stmt| blank(&mut text, stmt.span));
    let checked = check(&text, options);
    let is_wrong = |span: Span| {
        let inside = |at: Span| span.start <= at.start && at.end <= span.end;
        checked.diagnostics.iter().any(|d| d.severity == Severity::Error && inside(d.span()))
    };
    for stmt in before {
        if let StmtKind::Directive(directive) = &stmt.kind
            && find(&directive.name.text).is_some_and(|signature| !signature.shapes)
            && is_wrong(stmt.span)
        {
            blank(&mut text, stmt.span);
        }
    }
    text
}

/// Replaces text by blanks, line ends aside; the place of everything else stays the same.
fn blank(text: &mut String, span: Span) {
    let Some(old) = text.get(span.range()) else { return };
    let blanks: String = old.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
    text.replace_range(span.range(), &blanks);
}
