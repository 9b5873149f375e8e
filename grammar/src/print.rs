//! The canonical text of a tree: one statement a line, with the statements of a block indented by four,
//! single blanks, and only necessary parentheses.
//!
//! A tree without `Error` nodes reads back as the same tree, except for spans. `Error` nodes print as `?`,
//! which does not parse. Printing recurses as deep as the tree. Trees from the parser are at most
//! [`MAX_NESTING`](crate::MAX_NESTING) deep.

use std::fmt::{self, Display, Formatter, Write};

use crate::ast::{
    BinOp, Directive, ExprKind, Ident, Path, Relation, ScheduleExpr, ScheduleFile, ScheduleStmt, Segment,
    StmtKind, Str, When,
};
use crate::escape::escape;

/// Precedence of an expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Sum,
    Product,
    Unary,
}

/// The text of a whole file, each statement ended by a newline.
pub fn print_file(file: &ScheduleFile) -> String {
    file.to_string()
}

/// Writes one statement without a newline at its end.
///
/// # Errors
///
/// Errors of `out`.
pub fn write_stmt(out: &mut impl Write, stmt: &ScheduleStmt) -> fmt::Result {
    match &stmt.kind {
        StmtKind::Edition(edition) => write!(out, "sched {edition}"),
        StmtKind::Model { path, fingerprint: None } => write!(out, "model {path}"),
        StmtKind::Model { path, fingerprint: Some(fingerprint) } => write!(out, "model {path} {fingerprint}"),
        StmtKind::Target { kind, options } => {
            write!(out, "target {}", kind.text)?;
            if options.is_empty() {
                return Ok(());
            }
            let words: Vec<&str> = options.iter().map(|option| option.text.as_str()).collect();
            write!(out, "({})", words.join(", "))
        }
        StmtKind::Param { name, default, choices } => {
            write!(out, "param {} = {default}", name.text)?;
            if choices.is_empty() {
                return Ok(());
            }
            out.write_str(" in {")?;
            write_list(out, choices)?;
            out.write_char('}')
        }
        StmtKind::Const { name, value } => write!(out, "const {} = {value}", name.text),
        StmtKind::Directive(Directive { name, args, .. }) => write_call(out, name, args),
        StmtKind::When(When { left, comparison, right, body, .. }) => {
            writeln!(out, "when {left} {comparison} {right} {{")?;
            for stmt in body {
                out.write_str("    ")?;
                write_stmt(out, stmt)?;
                out.write_char('\n')?;
            }
            out.write_char('}')
        }
        StmtKind::Reserved(word) => out.write_str(&word.text),
        StmtKind::Error => out.write_char('?'),
    }
}

/// Writes an expression.
///
/// # Errors
///
/// Errors of `out`.
pub fn write_expr(out: &mut impl Write, expr: &ScheduleExpr) -> fmt::Result {
    write_in(out, expr, Precedence::Sum)
}

/// Writes `expr`, in parentheses if its precedence is below `needed`.
fn write_in(out: &mut impl Write, expr: &ScheduleExpr, needed: Precedence) -> fmt::Result {
    if precedence(expr) >= needed {
        return write_bare(out, expr);
    }
    out.write_char('(')?;
    write_bare(out, expr)?;
    out.write_char(')')
}

fn precedence(expr: &ScheduleExpr) -> Precedence {
    match &expr.kind {
        ExprKind::Binary(op, ..) => op_precedence(*op),
        // The smallest integer has no literal and is written as a difference.
        ExprKind::Int(i64::MIN) => Precedence::Sum,
        _ => Precedence::Unary,
    }
}

fn op_precedence(op: BinOp) -> Precedence {
    match op {
        BinOp::Add | BinOp::Sub => Precedence::Sum,
        BinOp::Mul | BinOp::Div | BinOp::Rem => Precedence::Product,
    }
}

fn write_bare(out: &mut impl Write, expr: &ScheduleExpr) -> fmt::Result {
    match &expr.kind {
        ExprKind::Int(i64::MIN) => write!(out, "{} - 1", i64::MIN + 1),
        ExprKind::Int(value) => write!(out, "{value}"),
        ExprKind::Path(path) => write!(out, "{path}"),
        ExprKind::Neg(operand) => {
            out.write_char('-')?;
            write_in(out, operand, Precedence::Unary)
        }
        ExprKind::Binary(op, a, b) => {
            // Operators of one precedence group to the left.
            let here = op_precedence(*op);
            write_in(out, a, here)?;
            write!(out, " {op} ")?;
            let right = if here == Precedence::Sum { Precedence::Product } else { Precedence::Unary };
            write_in(out, b, right)
        }
        ExprKind::Call(name, args) => write_call(out, name, args),
        ExprKind::Error => out.write_char('?'),
    }
}

fn write_call(out: &mut impl Write, name: &Ident, args: &[ScheduleExpr]) -> fmt::Result {
    write!(out, "{}(", name.text)?;
    write_list(out, args)?;
    out.write_char(')')
}

fn write_list(out: &mut impl Write, exprs: &[ScheduleExpr]) -> fmt::Result {
    for (i, expr) in exprs.iter().enumerate() {
        if i > 0 {
            out.write_str(", ")?;
        }
        write_expr(out, expr)?;
    }
    Ok(())
}

impl Display for BinOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char(match self {
            BinOp::Add => '+',
            BinOp::Sub => '-',
            BinOp::Mul => '*',
            BinOp::Div => '/',
            BinOp::Rem => '%',
        })
    }
}

impl Display for Relation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::Less => "<",
            Relation::AtMost => "<=",
            Relation::Greater => ">",
            Relation::AtLeast => ">=",
            Relation::Equal => "=",
        })
    }
}

impl Display for ScheduleExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_expr(f, self)
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, Segment { name, index }) in self.segments.iter().enumerate() {
            let dot = if i > 0 { "." } else { "" };
            write!(f, "{dot}{}", name.text)?;
            if let Some(index) = index {
                write!(f, "[{index}]")?;
            }
        }
        Ok(())
    }
}

impl Display for Str {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.value))
    }
}

impl Display for ScheduleStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_stmt(f, self)
    }
}

impl Display for ScheduleFile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.stmts.iter().try_for_each(|stmt| writeln!(f, "{stmt}"))
    }
}
