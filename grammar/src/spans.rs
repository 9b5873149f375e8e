//! Visits every span of a tree, for callers that move or forget them.

use crate::ast::{ExprKind, Ident, Path, ScheduleExpr, ScheduleFile, ScheduleStmt, Span, StmtKind, When};

/// Calls `f` with every span of `file`, each node's before those of its parts.
pub fn each_span(file: &mut ScheduleFile, f: &mut dyn FnMut(&mut Span)) {
    for stmt in &mut file.stmts {
        stmt_spans(stmt, f);
    }
}

/// Sets every span to the empty one at 0, so that trees compare by content.
pub fn erase_spans(file: &mut ScheduleFile) {
    each_span(file, &mut |span| *span = Span::default());
}

pub(crate) fn stmt_spans(stmt: &mut ScheduleStmt, f: &mut dyn FnMut(&mut Span)) {
    f(&mut stmt.span);
    match &mut stmt.kind {
        StmtKind::Edition(edition) => expr_spans(edition, f),
        StmtKind::Model { path, fingerprint } => {
            f(&mut path.span);
            if let Some(fingerprint) = fingerprint {
                f(&mut fingerprint.span);
            }
        }
        StmtKind::Target { kind, options } => {
            f(&mut kind.span);
            idents(options, f);
        }
        StmtKind::Param { name, default, choices } => {
            f(&mut name.span);
            expr_spans(default, f);
            exprs(choices, f);
        }
        StmtKind::Const { name, value } => {
            f(&mut name.span);
            expr_spans(value, f);
        }
        StmtKind::Directive(directive) => {
            f(&mut directive.name.span);
            f(&mut directive.args_span);
            exprs(&mut directive.args, f);
        }
        StmtKind::When(When { left, right, body, block, .. }) => {
            expr_spans(left, f);
            expr_spans(right, f);
            f(block);
            // Blocks do not nest, so recursion is bounded.
            body.iter_mut().for_each(|stmt| stmt_spans(stmt, f));
        }
        StmtKind::Reserved(word) => f(&mut word.span),
        StmtKind::Error => {}
    }
}

fn idents(idents: &mut [Ident], f: &mut dyn FnMut(&mut Span)) {
    idents.iter_mut().for_each(|ident| f(&mut ident.span));
}

fn exprs(exprs: &mut [ScheduleExpr], f: &mut dyn FnMut(&mut Span)) {
    exprs.iter_mut().for_each(|expr| expr_spans(expr, f));
}

fn expr_spans(expr: &mut ScheduleExpr, f: &mut dyn FnMut(&mut Span)) {
    f(&mut expr.span);
    match &mut expr.kind {
        ExprKind::Int(_) | ExprKind::Error => {}
        ExprKind::Path(path) => path_spans(path, f),
        ExprKind::Neg(operand) => expr_spans(operand, f),
        ExprKind::Binary(_, a, b) => {
            expr_spans(a, f);
            expr_spans(b, f);
        }
        ExprKind::Call(name, args) => {
            f(&mut name.span);
            exprs(args, f);
        }
    }
}

fn path_spans(path: &mut Path, f: &mut dyn FnMut(&mut Span)) {
    f(&mut path.span);
    for segment in &mut path.segments {
        f(&mut segment.name.span);
        if let Some(index) = &mut segment.index {
            expr_spans(index, f);
        }
    }
}
