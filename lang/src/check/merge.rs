//! Merges the diagnostics of schedules that were checked separately.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use sched_grammar::ast::{ScheduleFile, ScheduleStmt, Span, StmtKind};

use crate::diagnostics::{Code, Diagnostic, Severity, codes};
use crate::directives::{Role, find};
use crate::part::{WhenBlock, is_header};

/// Identity of a diagnostic.
type DiagnosticKey = (Span, Code, String);

fn key(diagnostic: &Diagnostic) -> DiagnosticKey {
    (diagnostic.span(), diagnostic.code, diagnostic.message.clone())
}

/// Diagnostics of the schedule outside of blocks and of those in blocks, in the order of the text. All
/// schedules share the header, so its errors are kept once. A warning or hint about the header is kept if all
/// schedules have it.
pub(super) fn merge(
    source: &str,
    file: &ScheduleFile,
    first: Vec<Diagnostic>,
    blocks: Vec<Vec<Diagnostic>>,
) -> Vec<Diagnostic> {
    if blocks.is_empty() {
        return first;
    }
    let schedules = 1 + blocks.len();
    let header: Vec<Span> = file.stmts.iter().filter(|stmt| is_header(stmt)).map(|stmt| stmt.span).collect();
    let in_header = |span: Span| header.iter().any(|line| line.start <= span.start && span.end <= line.end);
    let made = loop_names(source, file);

    let mut counts: HashMap<DiagnosticKey, usize> = HashMap::new();
    let mut all = Vec::new();
    for (at, found) in std::iter::once(first).chain(blocks).enumerate() {
        let mut own = HashSet::new();
        for diagnostic in found.into_iter().filter(|diagnostic| own.insert(key(diagnostic))) {
            let count = counts.entry(key(&diagnostic)).or_insert(0);
            *count += 1;
            if *count == 1 {
                all.push(with_note(source, &made, at, diagnostic));
            }
        }
    }
    all.retain(|diagnostic| {
        let is_silly = diagnostic.severity < Severity::Error && in_header(diagnostic.span());
        !is_silly || counts.get(&key(diagnostic)) == Some(&schedules)
    });
    all.sort_by_key(|diagnostic| (diagnostic.span().start, diagnostic.code));
    all
}

/// Names of the loops that each schedule makes.
fn loop_names<'s>(source: &'s str, file: &ScheduleFile) -> Vec<HashSet<&'s str>> {
    let names = |stmts: &[ScheduleStmt]| stmts.iter().flat_map(|stmt| new_names(source, stmt)).collect();
    let blocks = file.stmts.iter().filter_map(WhenBlock::of).map(|block| names(&block.when.body));
    std::iter::once(names(&file.stmts)).chain(blocks).collect()
}

/// The names of the loops that a directive makes.
fn new_names<'s>(source: &'s str, stmt: &ScheduleStmt) -> Vec<&'s str> {
    let StmtKind::Directive(directive) = &stmt.kind else { return Vec::new() };
    let parameters = find(&directive.name.text).map_or(&[][..], |signature| signature.parameters);
    let new = parameters.iter().zip(&directive.args).filter(|(p, _)| p.role == Role::NewIndex);
    new.filter_map(|(_, arg)| source.get(arg.span.range())).collect()
}

/// Adds a note to the diagnostic of an unknown loop, if another schedule of the text makes the loop.
fn with_note(source: &str, made: &[HashSet<&str>], at: usize, mut diagnostic: Diagnostic) -> Diagnostic {
    let name = source.get(diagnostic.span().range()).unwrap_or_default();
    let is_own = made.get(at).is_some_and(|own| own.contains(name));
    let is_other = made.iter().any(|other| other.contains(name));
    if diagnostic.code == codes::UNKNOWN_INDEX && is_other && !is_own {
        diagnostic.notes.push(match at {
            0 => format!("`{name}` is made in a block and exists only there"),
            _ => format!(
                "`{name}` is made outside of this block, which starts from the nest of `batch` and \
                          `tree`"
            ),
        });
    }
    diagnostic
}
