//! Actions that replace all uses of a param or const by its value, and that remove an unused one.

use sched_grammar::ast::{ExprKind, Ident, ScheduleExpr, ScheduleStmt, Span, StmtKind};

use super::super::{Analysis, Edit};
use super::action::{Action, ActionKind};
use sched_lang::diagnostics::apply::whole_line;
use sched_lang::diagnostics::{Diagnostic, codes};

pub(super) fn inline(a: &Analysis, span: Span) -> Option<Action> {
    let names = a.names();
    let here = names.at(span.start as usize).filter(|here| span.end <= here.span.end)?;
    let named = names.meaning(here);
    let [declared] = named.declarations.as_slice() else { return None };
    let stmts = &a.parsed().file.stmts;
    let (stmt, name, value) = stmts.iter().find_map(|stmt| declares(stmt, *declared))?;
    // A value from the command line may differ from the one in the text.
    let is_set = a.options().param_values.iter().any(|(set, _)| *set == name.text);
    if is_set || !is_sound(value) || has_comment(a, value.span) {
        return None;
    }
    let mut uses = Vec::new();
    a.parsed().file.all_stmts().for_each(|stmt| find_uses(stmt, &name.text, &mut uses));
    // A use that is not an operand, such as the number of a copy, cannot be replaced.
    let is_complete = uses.len() + 1 == names.with_same_meaning(here).count();
    let is_recursive =
        uses.iter().any(|found| stmt.span.start <= found.0.start && found.0.end <= stmt.span.end);
    if uses.is_empty() || !is_complete || is_recursive {
        return None;
    }
    let text = a.text(value.span);
    let replace = |(span, is_operand): &(Span, bool)| {
        let bare = !is_operand || is_closed(value);
        Edit { span: *span, text: if bare { text.to_owned() } else { format!("({text})") } }
    };
    let mut edits: Vec<Edit> = uses.iter().map(replace).collect();
    edits.push(removal(a.source(), stmt.span));
    edits.sort_by_key(|edit| edit.span);
    let (title, kind) = (format!("Inline `{}`", name.text), ActionKind::RefactorInline);
    Some(Action { title, kind, edits, fixes: None, preferred: false })
}

/// The fix for an unused name: removes its declaration.
pub(super) fn remove(a: &Analysis, at: usize, diagnostic: &Diagnostic) -> Option<Action> {
    if diagnostic.code != codes::UNUSED {
        return None;
    }
    let stmt = a.statement_at(diagnostic.span().start as usize)?;
    let (_, name, _) = declares(stmt, diagnostic.span())?;
    Some(Action {
        title: format!("Remove `{}`, which nothing uses", name.text),
        kind: ActionKind::QuickFix,
        edits: vec![removal(a.source(), stmt.span)],
        fixes: Some(at),
        preferred: false,
    })
}

/// The statement that declares the name at `at`, with its name and value.
fn declares(stmt: &ScheduleStmt, at: Span) -> Option<(&ScheduleStmt, &Ident, &ScheduleExpr)> {
    let (name, value) = match &stmt.kind {
        StmtKind::Param { name, default, .. } => (name, default),
        StmtKind::Const { name, value } => (name, value),
        _ => return None,
    };
    (name.span == at).then_some((stmt, name, value))
}

/// Whether an expression has no syntax error.
fn is_sound(expr: &ScheduleExpr) -> bool {
    // The parser bounds the depth of expressions.
    match &expr.kind {
        ExprKind::Error => false,
        ExprKind::Int(_) => true,
        ExprKind::Path(path) => path.segments.iter().all(|s| s.index.iter().all(|index| is_sound(index))),
        ExprKind::Neg(inner) => is_sound(inner),
        ExprKind::Binary(_, left, right) => is_sound(left) && is_sound(right),
        ExprKind::Call(_, args) => args.iter().all(is_sound),
    }
}

fn has_comment(a: &Analysis, span: Span) -> bool {
    let comments = &a.parsed().comments;
    let after = comments.partition_point(|comment| comment.span.end <= span.start);
    comments.get(after).is_some_and(|comment| comment.span.start < span.end)
}

/// Whether an expression needs no parentheses between operators.
fn is_closed(expr: &ScheduleExpr) -> bool {
    match &expr.kind {
        ExprKind::Neg(inner) => expr.span.end > inner.span.end,
        ExprKind::Binary(_, left, _) => expr.span.start < left.span.start,
        _ => true,
    }
}

/// Uses of this name in expressions, each with whether it is an operand of an operator.
fn find_uses(stmt: &ScheduleStmt, name: &str, uses: &mut Vec<(Span, bool)>) {
    let mut each = |expr: &ScheduleExpr| find_in(expr, name, false, uses);
    match &stmt.kind {
        StmtKind::Edition(expr) | StmtKind::Const { value: expr, .. } => each(expr),
        StmtKind::Param { default, choices, .. } => {
            each(default);
            choices.iter().for_each(each);
        }
        StmtKind::Directive(directive) => directive.args.iter().for_each(each),
        StmtKind::When(when) => [&when.left, &when.right].into_iter().for_each(each),
        _ => {}
    }
}

fn find_in(expr: &ScheduleExpr, name: &str, is_operand: bool, uses: &mut Vec<(Span, bool)>) {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Error => {}
        ExprKind::Neg(inner) => find_in(inner, name, true, uses),
        ExprKind::Binary(_, left, right) => {
            find_in(left, name, true, uses);
            find_in(right, name, true, uses);
        }
        ExprKind::Call(_, args) => args.iter().for_each(|arg| find_in(arg, name, false, uses)),
        ExprKind::Path(path) => match path.as_ident() {
            // Parentheses around the name stay: the edit replaces only the name.
            Some(found) if found.text == name => uses.push((found.span, is_operand)),
            _ => {
                let indices = path.segments.iter().filter_map(|segment| segment.index.as_deref());
                indices.for_each(|index| find_in(index, name, false, uses));
            }
        },
    }
}

/// The edit that removes a statement with its `;`, and its line if the rest is empty.
fn removal(source: &str, span: Span) -> Edit {
    let (start, end) = (span.start as usize, span.end as usize);
    let rest = source.get(end..).unwrap_or_default();
    let before = source.get(..start).unwrap_or_default();
    let is_first = before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
    let blanks = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    let mut len = blanks(rest);
    match rest.get(len..).and_then(|rest| rest.strip_prefix(';')) {
        Some(after) => len += 1 + blanks(after),
        None if !is_first => len = 0,
        None => {}
    }
    whole_line(source, &Edit { span: Span::new(start, end + len), text: String::new() })
}
