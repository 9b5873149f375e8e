//! The text shown for a word, with the word's place.

use sched_grammar::ast::{ExprKind, ScheduleExpr, Span};

/// The text to show for a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// The word.
    pub span: Span,
    /// The answer, in Markdown.
    pub markdown: String,
    /// The page about the word, relative to the book and without an ending: `directives/tile`,
    /// `errors/S0040`.
    pub page: Option<String>,
}

impl Hover {
    pub(super) fn new(span: Span, markdown: impl Into<String>) -> Self {
        Hover { span, markdown: markdown.into(), page: None }
    }

    pub(super) fn page(mut self, page: impl Into<String>) -> Self {
        self.page = Some(page.into());
        self
    }
}

/// Whether a place is in or at the end of a span.
pub(super) fn touches(span: Span, offset: usize) -> bool {
    span.start as usize <= offset && offset <= span.end as usize
}

/// The part of an expression at `offset`: a name, or a call's function.
pub(super) fn part_at(expr: &ScheduleExpr, offset: usize) -> &ScheduleExpr {
    // The parser bounds the depth of expressions.
    let inner: Vec<&ScheduleExpr> = match &expr.kind {
        ExprKind::Neg(inner) => vec![inner],
        ExprKind::Binary(_, a, b) => vec![a, b],
        ExprKind::Call(_, args) => args.iter().collect(),
        _ => Vec::new(),
    };
    inner.into_iter().rfind(|inner| touches(inner.span, offset)).map_or(expr, |inner| part_at(inner, offset))
}
