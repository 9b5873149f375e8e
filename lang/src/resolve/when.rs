//! Blocks: their bounds, and the statements that they may not contain.

use sched_grammar::ast::{
    ExprKind, Relation, ScheduleExpr, ScheduleFile, ScheduleStmt, Span, StmtKind, When,
};

use super::scope::NameScope;
use crate::diagnostics::{Applicability, Diagnostic, Edit, Fix, codes};
use crate::part::{MOST_BLOCKS, WhenBlock};
use crate::report::Report;

/// Name of the number of rows of a call.
const ROW_COUNT_NAME: &str = "n_rows";
/// Help about unsupported conditions.
const CONDITION_HELP: &str = "Write `when n_rows <= 8 { ... }` for calls of at most 8 rows. Directives \
                              outside of all blocks apply to the other calls.";

/// Largest number of rows of each block's calls; `None` if it is wrong or a duplicate. Problems with the
/// blocks are reported.
pub(crate) fn bounds(file: &ScheduleFile, scope: &NameScope, report: &mut Report) -> Vec<Option<u32>> {
    let mut known: Vec<(u32, Span)> = Vec::new();
    let mut bounds = Vec::new();
    for (at, block) in file.stmts.iter().filter_map(WhenBlock::of).enumerate() {
        if at == MOST_BLOCKS {
            report.push(too_many_blocks(head_span(block)));
            break;
        }
        block.when.body.iter().for_each(|stmt| report_header_line(stmt, block, report));
        let max_rows = bound(block.when, scope, report);
        let earlier = known.iter().find(|(other, _)| Some(*other) == max_rows);
        if let (Some(max_rows), Some((_, first))) = (max_rows, earlier) {
            report.push(duplicate_bound(max_rows, block.when.right.span, *first));
            bounds.push(None);
            continue;
        }
        known.extend(max_rows.map(|max_rows| (max_rows, block.when.right.span)));
        bounds.push(max_rows);
    }
    bounds
}

/// The head of a block.
fn head_span(block: WhenBlock) -> Span {
    Span { start: block.span.start, end: block.when.right.span.end.max(block.span.start) }
}

fn too_many_blocks(span: Span) -> Diagnostic {
    let message = format!("a schedule has at most {MOST_BLOCKS} blocks");
    let help = "Leave out blocks whose bounds are close to each other.";
    Diagnostic::new(codes::TOO_MANY_BLOCKS, span, message).label("one too many").help(help)
}

/// Reports a header line in a block.
fn report_header_line(stmt: &ScheduleStmt, block: WhenBlock, report: &mut Report) {
    let word = match &stmt.kind {
        StmtKind::Edition(_) => "sched",
        StmtKind::Model { .. } => "model",
        StmtKind::Target { .. } => "target",
        StmtKind::Param { .. } => "param",
        StmtKind::Const { .. } => "const",
        _ => return,
    };
    let text = report.source_text(stmt.span);
    let before = Span { start: block.span.start, end: block.span.start };
    let edits = vec![
        Edit { span: before, text: report.line_before(before, text) },
        Edit { span: stmt.span, text: String::new() },
    ];
    let title = format!("move this `{word}` line before the block");
    let fix = Fix { title, edits, applicability: Applicability::Unsure };
    let message = format!("a `{word}` line applies to the whole file and cannot be in a block");
    let mut diagnostic = Diagnostic::new(codes::HEADER_IN_BLOCK, stmt.span, message)
        .label("in a block")
        .help("Move it before the block: the header applies to all blocks.");
    diagnostic.fixes.push(fix);
    report.push(diagnostic);
}

/// Largest number of rows of a block's calls.
fn bound(when: &When, scope: &NameScope, report: &mut Report) -> Option<u32> {
    let is_rows = |expr: &ScheduleExpr| match &expr.kind {
        ExprKind::Path(path) => path.as_ident().is_some_and(|name| name.text == ROW_COUNT_NAME),
        _ => false,
    };
    let is_error = |expr: &ScheduleExpr| matches!(expr.kind, ExprKind::Error);
    if is_error(&when.left) || is_error(&when.right) {
        return None;
    }
    let is_other_name = |expr: &ScheduleExpr| match &expr.kind {
        ExprKind::Path(path) => path.as_ident().is_some_and(|name| scope.is_unknown(name, report)),
        _ => false,
    };
    // An unknown name that is compared with a number, such as `rows`, probably means `n_rows`.
    let has_rows = is_rows(&when.left) || is_rows(&when.right);
    let stands_for_rows =
        |expr: &ScheduleExpr, other: &ScheduleExpr| !has_rows && is_other_name(expr) && !is_other_name(other);
    let left_is_name = stands_for_rows(&when.left, &when.right);
    if left_is_name || stands_for_rows(&when.right, &when.left) {
        let side = if left_is_name { &when.right } else { &when.left };
        scope.eval(side, report)?;
        report.push(condition(when, (left_is_name, !left_is_name), Applicability::Unsure, report));
        return None;
    }
    if !is_rows(&when.left) || when.comparison != Relation::AtMost {
        let side = if is_rows(&when.left) { &when.right } else { &when.left };
        // The expression counts as a use of its names.
        if !is_rows(side) {
            scope.eval(side, report)?;
        }
        let sides = (is_rows(&when.left), is_rows(&when.right));
        report.push(condition(when, sides, Applicability::Safe, report));
        return None;
    }
    let value = scope.eval(&when.right, report)?;
    let span = when.right.span;
    let Some(value) = value.as_int() else {
        let text = report.source_text(span);
        let message = format!("the bound of a block must be a known number, and `{text}` is not");
        let help = "Write a number, or an expression of params and consts that have values.";
        report.push(Diagnostic::new(codes::BLOCK_BOUND, span, message).label("unknown").help(help));
        return None;
    };
    let found = u32::try_from(value).ok().filter(|rows| *rows > 0);
    if found.is_none() {
        let (message, help) = if value < 1 {
            let help = "Write a bound of at least 1, or remove the block.";
            (format!("no call has at most {value} rows"), help.to_owned())
        } else {
            let help = "Remove the block, or write a smaller bound. Directives outside of blocks apply to \
                        large calls.";
            (format!("the bound of a block is at most {}", u32::MAX), help.to_owned())
        };
        let label = format!("is {value}");
        report.push(Diagnostic::new(codes::BLOCK_BOUND, span, message).label(label).help(help));
    }
    found
}

/// The diagnostic for a condition other than `n_rows <= 8`. `left` and `right` tell on which side the rows
/// are; `fix` is the applicability of its fix.
fn condition(when: &When, (left, right): (bool, bool), fix: Applicability, report: &Report) -> Diagnostic {
    let span = when.left.span.to(when.right.span);
    let diagnostic =
        |message: &str| Diagnostic::new(codes::BLOCK_CONDITION, span, message).label("not `n_rows <= ...`");
    if left == right {
        return diagnostic("the condition of a block must test `n_rows`").help(CONDITION_HELP);
    }
    let other = if left { &when.right } else { &when.left };
    let side = report.source_text(other.span);
    let bound = match (left, when.comparison) {
        (true, Relation::Less) | (false, Relation::Greater) => Some(match other.kind {
            ExprKind::Int(value) => value.saturating_sub(1).to_string(),
            _ => format!("{side} - 1"),
        }),
        (true, Relation::AtMost) | (false, Relation::AtLeast) => Some(side.to_owned()),
        _ => None,
    };
    match bound {
        Some(bound) => {
            let text = format!("{ROW_COUNT_NAME} <= {bound}");
            diagnostic("the condition of a block is written as `n_rows <= ...`")
                .help(format!("Write `when {text} {{ ... }}`."))
                .fix(format!("write `{text}`"), span, &text, fix)
        }
        None => diagnostic("`when` only supports `n_rows <= N`").help(CONDITION_HELP),
    }
}

fn duplicate_bound(max_rows: u32, span: Span, first: Span) -> Diagnostic {
    let message = format!("another block is also for calls of at most {max_rows} rows");
    Diagnostic::new(codes::BLOCK_TWICE, span, message)
        .label("same bound")
        .and(first, "first here")
        .help("Remove one of the blocks, or give it another bound.")
}
