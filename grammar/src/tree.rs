//! Builds the syntax tree for the grammar's actions, and bounds its depth.

use lalrpop_util::{ErrorRecovery, ParseError};
use std::convert::Infallible;

use crate::ast::{BinOp, ExprKind, Ident, Path, Relation, ScheduleExpr, Segment, Span, StmtKind, When};
use crate::error::{
    BLOCK_START_TERM, MAX_NESTING, NAME_TERM, STATEMENT_END_TERM, STRING_TERM, SyntaxError, SyntaxErrorKind,
};
use crate::token::Token;

/// An expression with the depth of its tree.
#[derive(Clone, Debug)]
pub(crate) struct SyntaxNode {
    pub expr: ScheduleExpr,
    pub depth: usize,
}

/// A path segment with the depth of its index expression.
#[derive(Clone, Debug)]
pub(crate) struct SegmentNode {
    pub segment: Segment,
    pub depth: usize,
}

impl SegmentNode {
    pub fn indexed(name: Ident, index: SyntaxNode) -> Self {
        SegmentNode { segment: Segment { name, index: Some(Box::new(index.expr)) }, depth: index.depth }
    }
}

/// State shared by the actions of one statement.
pub(crate) struct ParseContext<'s> {
    pub source: &'s str,
    /// First parse error of the statement. Later ones follow from it and are dropped.
    pub error: Option<SyntaxError>,
}

/// A parse error as LALRPOP reports it.
pub(crate) type ParserError<'s> = ParseError<usize, Token<'s>, Infallible>;

impl<'s> ParseContext<'s> {
    pub fn text(&self, l: usize, r: usize) -> &'s str {
        self.source.get(l..r).unwrap_or_default()
    }

    pub fn span(&self, l: usize, r: usize) -> Span {
        Span::new(l, r.max(l))
    }

    /// Notes an error that the parser recovered from.
    pub fn note_recovery(&mut self, recovery: ErrorRecovery<usize, Token<'s>, Infallible>) {
        self.note_failure(recovery.error);
    }

    /// Notes a parse error.
    pub fn note_failure(&mut self, error: ParserError<'s>) {
        let (l, r, expected) = match error {
            ParseError::UnrecognizedToken { token: (l, _, r), expected } => (l, r, expected),
            ParseError::UnrecognizedEof { location, expected } => (location, location, expected),
            ParseError::ExtraToken { token: (l, _, r) } => (l, r, Vec::new()),
            ParseError::InvalidToken { location } => (location, location, Vec::new()),
            ParseError::User { error } => match error {},
        };
        let found = if l == r { STATEMENT_END_TERM.to_owned() } else { quoted(self.text(l, r)) };
        let expected = expected_terms(&expected);
        self.note(Span::new(l, r), SyntaxErrorKind::Unexpected { found, expected });
    }

    fn note(&mut self, span: Span, kind: SyntaxErrorKind) {
        self.error.get_or_insert_with(|| SyntaxError::new(span, kind));
    }

    /// Makes a node of this depth, or an error if it is too deep.
    fn node(&mut self, kind: ExprKind, depth: usize, span: Span) -> SyntaxNode {
        if depth > MAX_NESTING {
            self.note(span, SyntaxErrorKind::TooDeep);
            return SyntaxNode { expr: ScheduleExpr { kind: ExprKind::Error, span }, depth: 1 };
        }
        SyntaxNode { expr: ScheduleExpr { kind, span }, depth }
    }

    pub fn error(&self, l: usize, r: usize) -> SyntaxNode {
        SyntaxNode { expr: ScheduleExpr { kind: ExprKind::Error, span: self.span(l, r) }, depth: 1 }
    }

    pub fn int(&mut self, value: i64, l: usize, r: usize) -> SyntaxNode {
        self.node(ExprKind::Int(value), 1, Span::new(l, r))
    }

    pub fn negate(&mut self, operand: SyntaxNode, l: usize, r: usize) -> SyntaxNode {
        self.node(ExprKind::Neg(Box::new(operand.expr)), operand.depth + 1, Span::new(l, r))
    }

    pub fn binary(&mut self, op: BinOp, a: SyntaxNode, b: SyntaxNode) -> SyntaxNode {
        let depth = a.depth.max(b.depth) + 1;
        let span = a.expr.span.to(b.expr.span);
        self.node(ExprKind::Binary(op, Box::new(a.expr), Box::new(b.expr)), depth, span)
    }

    pub fn call(&mut self, name: Ident, args: Vec<SyntaxNode>, l: usize, r: usize) -> SyntaxNode {
        let depth = 1 + args.iter().map(|arg| arg.depth).max().unwrap_or(0);
        self.node(ExprKind::Call(name, Self::exprs(args)), depth, Span::new(l, r))
    }

    pub fn path(&mut self, segments: Vec<SegmentNode>, l: usize, r: usize) -> SyntaxNode {
        let depth = 1 + segments.iter().map(|segment| segment.depth).max().unwrap_or(0);
        let span = Span::new(l, r);
        let segments = segments.into_iter().map(|node| node.segment).collect();
        self.node(ExprKind::Path(Path { segments, span }), depth, span)
    }

    /// Extends the span by parentheses, which are not part of the tree.
    pub fn paren(&self, mut inner: SyntaxNode, l: usize, r: usize) -> SyntaxNode {
        inner.expr.span = Span::new(l, r);
        inner
    }

    /// A word made of parts joined by hyphens.
    pub fn word(&self, first: &str, rest: Vec<&str>, l: usize, r: usize) -> Ident {
        let mut text = first.to_owned();
        for part in rest {
            text.push('-');
            text.push_str(part);
        }
        Ident { text, span: Span::new(l, r) }
    }

    /// A block without statements, which follow later.
    pub fn when(left: SyntaxNode, comparison: Relation, right: SyntaxNode) -> StmtKind {
        let (body, block) = (Vec::new(), Span::default());
        StmtKind::When(When { left: left.expr, comparison, right: right.expr, body, block })
    }

    pub fn exprs(nodes: Vec<SyntaxNode>) -> Vec<ScheduleExpr> {
        nodes.into_iter().map(|node| node.expr).collect()
    }
}

/// Longest quote of the text in a message, in characters.
const LONGEST_QUOTE: usize = 30;

fn quoted(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("`{}...`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// Expected terms in a user's words. Operators that could continue an expression are left out, since another
/// term always fits too.
fn expected_terms(terminals: &[String]) -> Vec<String> {
    let has = |name: &str| terminals.iter().any(|terminal| terminal.trim_matches('"') == name);
    let after_operand = has("+");
    let value = has("number") && has("(");
    let closes = [",", ")", "]", "}"].into_iter().any(has);
    let terms = [
        (has("sched"), "a directive"),
        (has("sched"), "a header line such as `param`"),
        (value, "a value"),
        (has("number") && !value, "a processor name"),
        (has("name") && !has("number") && !has("sched"), NAME_TERM),
        (has("string"), STRING_TERM),
        (has("comparison"), "`<=`"),
        (has("=") && !has("comparison"), "`=`"),
        (has("in"), "`in`"),
        (has("{") && !after_operand, "`{`"),
        (has("{") && after_operand, BLOCK_START_TERM),
        (has("(") && !value && !after_operand, "`(`"),
        (has(","), "`,`"),
        (has(")"), "`)`"),
        (has("]"), "`]`"),
        (has("}"), "`}`"),
        (
            terminals.is_empty() || after_operand && !closes && !has("{") && !has("comparison"),
            STATEMENT_END_TERM,
        ),
    ];
    terms.into_iter().filter(|(wanted, _)| *wanted).map(|(_, term)| term.to_owned()).collect()
}
