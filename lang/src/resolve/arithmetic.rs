//! Arithmetic of a text's expressions, with the errors of operations that have no value.

use sched_grammar::ast::Span;

use crate::diagnostics::{Diagnostic, codes};
use crate::report::Report;
use sched_nest::sym::{ArithmeticError, Sym, SymOp};

/// Computes `a op b` and reports errors.
pub(super) fn apply(op: SymOp, a: &Sym, b: &Sym, span: Span, report: &mut Report) -> Option<Sym> {
    let (code, message, label, help) = match Sym::apply(op, a, b) {
        Ok(sym) => return Some(sym),
        Err(ArithmeticError::Overflow) => (
            codes::OVERFLOW,
            "the value of this expression does not fit in 64 bits",
            "too large",
            "Use smaller numbers: a value is at most 9223372036854775807.",
        ),
        Err(ArithmeticError::DivisionByZero) => (
            codes::DIVISION_BY_ZERO,
            "this divides by zero",
            "the divisor is 0",
            "Write a divisor of at least 1.",
        ),
        Err(ArithmeticError::TooLarge) => (
            codes::EXPRESSION_TOO_LARGE,
            "this expression has too many terms",
            "too large without a model",
            "Name a model, so that properties are numbers, or write a shorter expression.",
        ),
    };
    report.push(Diagnostic::new(code, span, message).label(label).help(help));
    None
}
