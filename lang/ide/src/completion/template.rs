//! Templates of several lines: beginnings of a text, and directives for a schedule that has none yet.

use sched_grammar::ast::{ScheduleStmt, StmtKind};

use super::item::{Completion, CompletionKind, escape};
use crate::ScheduleAnalysis;
use crate::cursor::Typed;
use sched_lang::check::Outcome;
use sched_lang::diagnostics::Severity;

/// Name of the example in the menu of completions.
const EXAMPLE_LABEL: &str = "example of a schedule";
/// Blocks of rows in parallel.
const BLOCKS: &str =
    "tile(batch, block, row, 64)\nreorder(block, tree, row)\nparallel(block)\ninterleave(row, 8)\n";
/// Groups of trees in parallel.
const GROUPS: &str =
    "tile(tree, group, member, num_trees / 2)\nreorder(group, batch, member)\nparallel(group)\n";
/// Runs of equally deep trees.
const DEPTHS: &str = "sortTrees(depth)\ntile(batch, block, row, 64)\nreorder(block, tree, row)\n\
                      splitByDepth(tree)\nunrollWalk(tree, run_depth)\n";
/// First lines of a text, with places to fill in.
const HEADER: &str =
    "sched 1\nmodel \"${1:model.json}\"\nparam ${2:ROWS} = ${3:64} in {${4:32, 64, 128}}\n\n$0";

/// The templates of directives, with their descriptions.
const TEMPLATES: [(&str, &str, &str); 3] = [
    ("blocks", "Blocks of rows in parallel. Each tree walks a whole block.", BLOCKS),
    ("groups", "Groups of trees in parallel, for few rows and many trees.", GROUPS),
    (
        "depths",
        "Trees sorted by depth and split into runs of equal depth, whose walks need no leaf tests.",
        DEPTHS,
    ),
];

/// Whether a text has another statement than the one at the cursor, for which `wanted` holds.
pub(super) fn has_other(analysis: ScheduleAnalysis, typed: Typed, wanted: fn(&StmtKind) -> bool) -> bool {
    let is_other = |stmt: &ScheduleStmt| typed.stmt.is_none_or(|own| own.span != stmt.span);
    analysis.parsed().file.stmts.iter().any(|stmt| is_other(stmt) && wanted(&stmt.kind))
}

/// The templates of directives that add no error to a text without directives.
pub(super) fn directives(analysis: ScheduleAnalysis, typed: Typed) -> Vec<Completion> {
    if has_other(analysis, typed, |kind| matches!(kind, StmtKind::Directive(_) | StmtKind::When(_))) {
        return Vec::new();
    }
    let source = analysis.source();
    let (before, after) = (source.get(..typed.span.start as usize), source.get(typed.span.end as usize..));
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    let errors = |insert: &str| {
        let text = format!("{before}{insert}{after}");
        let checked = Outcome::brief_diagnostics(&text, (source, analysis.parsed()), analysis.options());
        checked.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
    };
    let most = errors("");
    let legal = TEMPLATES.into_iter().filter(|(.., lines)| errors(lines) <= most);
    legal.map(|(label, about, lines)| item(label, about, lines, typed)).collect()
}

/// The example of a schedule in the menu of an empty text.
pub(super) fn example(typed: Typed) -> Completion {
    item(EXAMPLE_LABEL, "Blocks of rows in parallel. Each tree walks a whole block.", BLOCKS, typed)
}

/// The first lines of an empty text.
pub(super) fn header(typed: Typed) -> Completion {
    Completion::new(CompletionKind::Keyword, "header", typed.span)
        .detail("three lines")
        .documentation("The edition, a model, and a number to tune.")
        .snippet(HEADER)
}

fn item(label: &str, about: &str, lines: &str, typed: Typed) -> Completion {
    let detail = match lines.lines().count() {
        3 => "three lines",
        4 => "four lines",
        _ => "five lines",
    };
    Completion::new(CompletionKind::Keyword, label, typed.span)
        .detail(detail)
        .documentation(format!("{about}\n```sched\n{lines}```"))
        .snippet(escape(lines))
}
