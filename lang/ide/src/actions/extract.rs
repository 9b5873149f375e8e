//! A number of a directive becomes a param, so that it has a name and can be tuned.

use sched_grammar::ast::{Directive, ExprKind, ScheduleExpr, ScheduleStmt, Span, StmtKind};
use sched_grammar::is_reserved;

use super::super::names::parameter_at;
use super::super::{Analysis, Edit, edits};
use super::action::{Action, ActionKind};
use sched_lang::directives::{DirectiveOp, Role, Signature, find};
use sched_nest::Axis;

pub(super) fn extract(a: &Analysis, span: Span) -> Option<Action> {
    let stmt = a.statement_at(span.start as usize)?;
    let (number, base) = match &stmt.kind {
        StmtKind::Directive(directive) => in_directive(a, directive, span)?,
        StmtKind::When(when) => (number(&when.right, span)?, "FEW"),
        _ => return None,
    };
    let name = free(a, base);
    let text = a.text(number);
    let declaration = declaration(a, &format!("param {name} = {text}"))?;
    Some(Action {
        title: format!("Extract {text} to the param `{name}`"),
        kind: ActionKind::RefactorExtract,
        edits: vec![declaration, Edit { span: number, text: name }],
        fixes: None,
        preferred: false,
    })
}

/// The number of a directive that covers `span`, and the usual name of a param for it.
fn in_directive(a: &Analysis, directive: &Directive, span: Span) -> Option<(Span, &'static str)> {
    let signature = find(&directive.name.text)?;
    let (at, arg) = directive.args.iter().enumerate().find(|(_, arg)| covers(arg.span, span))?;
    let parameter = parameter_at(signature, directive.args.len(), at)?;
    let number = number(arg, span).filter(|_| parameter.role == Role::Number)?;
    Some((number, base(a, signature, directive)))
}

fn covers(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The number in an expression that covers `span`, parentheses around it left out.
fn number(expr: &ScheduleExpr, span: Span) -> Option<Span> {
    // The parser bounds the depth of expressions.
    if !covers(expr.span, span) {
        return None;
    }
    match &expr.kind {
        ExprKind::Int(_) => Some(expr.span),
        ExprKind::Neg(inner) => number(inner, span),
        ExprKind::Binary(_, left, right) => number(left, span).or_else(|| number(right, span)),
        ExprKind::Call(_, args) => args.iter().find_map(|arg| number(arg, span)),
        ExprKind::Path(_) | ExprKind::Error => None,
    }
}

/// The usual name of a param for a number of this directive.
fn base(a: &Analysis, signature: &Signature, directive: &Directive) -> &'static str {
    let names = a.names();
    let subject = || {
        let arg = directive.args.first()?;
        names.at(arg.span.end as usize).and_then(|occurrence| names.meaning(occurrence).axis)
    };
    match signature.op {
        DirectiveOp::Tile => match subject() {
            Some(Axis::Row) => "ROWS",
            Some(Axis::Tree) => "TREES",
            Some(Axis::Unit) => "UNITS",
            Some(Axis::Feature) => "TERMS",
            None => "SIZE",
        },
        DirectiveOp::Split => "AT",
        DirectiveOp::Interleave | DirectiveOp::Vectorize => "LANES",
        DirectiveOp::UnrollWalk | DirectiveOp::PeelWalk => "HOPS",
        DirectiveOp::SpeculateWalk => "LEVELS",
        DirectiveOp::VectorReduce => "WIDTH",
        DirectiveOp::TileTrees => "NODES",
        _ => "SIZE",
    }
}

/// The name `base`, with a number if another object has it.
fn free(a: &Analysis, base: &str) -> String {
    let is_free = |name: &str| a.names().find(name).is_none() && !is_reserved(name);
    let numbered = (2_usize..).map(|number| format!("{base}{number}"));
    std::iter::once(base.to_owned()).chain(numbered).find(|name| is_free(name)).unwrap_or_default()
}

/// The edit that declares a param: after the last param before the directives, or else before the first
/// directive.
fn declaration(a: &Analysis, text: &str) -> Option<Edit> {
    let source = a.source();
    let stmts = &a.parsed().file.stmts;
    let first =
        stmts.iter().position(|stmt| matches!(stmt.kind, StmtKind::Directive(_) | StmtKind::When(_)))?;
    let (header, directives) = stmts.split_at(first);
    let is_number =
        |stmt: &&ScheduleStmt| matches!(stmt.kind, StmtKind::Param { .. } | StmtKind::Const { .. });
    let end = edits::line_end(source);
    let start = directives.first()?.span.start as usize;
    let last = header.iter().rev().find(is_number);
    if let Some(at) =
        last.and_then(|last| next_line(source, last.span.end as usize)).filter(|at| *at <= start)
    {
        return Some(Edit { span: Span::new(at, at), text: format!("{text}{end}") });
    }
    let line = source.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let is_alone = source.get(line..start)?.trim().is_empty();
    let text = match (is_alone, last.is_some()) {
        (false, _) => format!("{text}; "),
        (true, true) => format!("{text}{end}"),
        (true, false) => format!("{text}{end}{end}"),
    };
    Some(Edit { span: Span::new(start, start), text })
}

/// The start of the line after `at`; `None` if the rest of the line has more than a comment.
fn next_line(source: &str, at: usize) -> Option<usize> {
    let rest = source.get(at..)?;
    let len = rest.find('\n')?;
    let behind = rest.get(..len)?.trim_matches([' ', '\t', '\r', ';']);
    let is_comment = behind.is_empty() || behind.starts_with("//") || behind.starts_with('#');
    is_comment.then_some(at + len + 1)
}
