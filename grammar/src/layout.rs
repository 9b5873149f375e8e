//! Cuts raw tokens into statements.
//!
//! A statement ends at a newline or `;`. Inside brackets a newline means nothing, unless the next line plainly
//! begins another statement: then a bracket was forgotten, and the mistake must not swallow the file. Each
//! statement leaves here with balanced brackets and bounded nesting, so that the parser can recover inside it
//! and never needs to look beyond it.

use std::cell::OnceCell;

use crate::ast::{Ident, Span, Stmt};
use crate::brackets::{Bracket, partners};
use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::lexer::{Raw, RawToken, bom_len};
use crate::reuse::Reusable;
use crate::statement::StatementBuilder;
use crate::token::{Spanned, is_reserved_for_later};

/// The tokens of one statement.
#[derive(Debug)]
pub(crate) struct Statement<'s> {
    pub body: Body<'s>,
    /// From the first to the last token, without a closing `;`.
    pub span: Span,
    /// Whether an error has been reported, so that what follows from it stays unsaid.
    pub faulty: bool,
}

/// What the parser gets to see of a statement.
#[derive(Debug)]
pub(crate) enum Body<'s> {
    Tokens(Vec<Spanned<'s>>),
    /// A statement that begins with a word kept for later.
    Reserved(Ident),
    /// A statement too deep to be parsed.
    Unparsable,
}

/// Hands out one statement after the other.
pub(crate) struct Layout<'s> {
    pub source: &'s str,
    tokens: Vec<RawToken>,
    /// For each token the one that closes it, once somebody asks: only texts with mistakes do.
    partner: OnceCell<Vec<Option<usize>>>,
    next: usize,
    /// Where the current line begins.
    line_start: usize,
    /// Index of the token that ends the current line or statement, or of an earlier one.
    line_end: usize,
    /// Reserved words already reported as names: renaming corrects all uses at once.
    pub reported: Vec<&'s str>,
    pub errors: Vec<SyntaxError>,
}

/// How a line may begin.
enum LineStart {
    /// `param X`, `model "m"`: nothing inside brackets looks like this.
    Header,
    /// `name(`: a directive, or a call inside an expression.
    Call,
    /// Anything else.
    Other,
}

impl<'s> Layout<'s> {
    pub fn new(source: &'s str, tokens: Vec<RawToken>) -> Self {
        let line_start = bom_len(source);
        let (reported, errors) = (Vec::new(), Vec::new());
        Layout {
            source,
            tokens,
            partner: OnceCell::new(),
            next: 0,
            line_start,
            line_end: 0,
            reported,
            errors,
        }
    }

    pub fn text(&self, token: RawToken) -> &'s str {
        self.source.get(token.start..token.end).unwrap_or_default()
    }

    /// The kind of the token at `index`.
    pub fn kind(&self, index: usize) -> Option<Raw> {
        self.tokens.get(index).map(|token| token.kind)
    }

    pub fn report(&mut self, span: Span, kind: SyntaxErrorKind) {
        self.errors.push(SyntaxError::new(span, kind));
    }

    /// Whether the bracket at `index` is closed somewhere.
    pub fn is_closed(&self, index: usize) -> bool {
        self.partner(index).is_some()
    }

    /// The token that closes the bracket at `index`.
    fn partner(&self, index: usize) -> Option<usize> {
        self.partner.get_or_init(|| partners(&self.tokens)).get(index).copied().flatten()
    }

    /// Whether the bracket at `index` is closed before the line or the statement ends.
    pub fn is_closed_on_this_line(&mut self, index: usize) -> bool {
        if self.line_end <= self.next {
            let rest = self.tokens.get(self.next..).unwrap_or_default();
            let len = rest.iter().position(|token| matches!(token.kind, Raw::Newline | Raw::Semicolon));
            self.line_end = self.next + len.unwrap_or(rest.len());
        }
        self.partner(index).is_some_and(|partner| partner < self.line_end)
    }

    /// The token at `next`, without blank lines and empty statements before it.
    fn skip_blank(&mut self) -> Option<RawToken> {
        loop {
            let token = *self.tokens.get(self.next)?;
            match token.kind {
                Raw::Newline => self.line_start = token.end,
                Raw::Semicolon => {}
                _ => return Some(token),
            }
            self.next += 1;
        }
    }

    /// The next statement, if it is known from before an edit.
    pub fn known(&mut self, known: &mut Reusable<'_>) -> Option<Stmt> {
        let first = self.skip_blank()?;
        let rest = self.tokens.get(self.next..)?;
        let count = rest.iter().position(|token| matches!(token.kind, Raw::Newline | Raw::Semicolon));
        let count = count.unwrap_or(rest.len());
        let last = rest.get(count.checked_sub(1)?)?;
        let stmt = known.statement(first.start, last.end, rest.get(count).map(|token| token.end))?;
        self.next += count;
        Some(stmt)
    }

    /// The next statement.
    pub fn statement(&mut self) -> Option<Statement<'s>> {
        let first = self.skip_blank()?;
        let word = self.text(first);
        if first.kind == Raw::Name && is_reserved_for_later(word) {
            return Some(self.reserved(first, word));
        }
        let indent = first.start.saturating_sub(self.line_start);
        let mut builder = StatementBuilder::new(first);
        while let Some(&token) = self.tokens.get(self.next) {
            let ends = match token.kind {
                Raw::Semicolon => true,
                Raw::Newline => self.newline_ends(&builder, indent),
                Raw::Name => builder.is_complete() && self.line_start_at(self.next).is_statement(),
                _ => false,
            };
            if ends {
                if token.kind == Raw::Name {
                    builder.report(self, token.span(), SyntaxErrorKind::MissingSeparator);
                }
                break;
            }
            if token.kind != Raw::Newline {
                builder.push(self, self.next, token);
            }
            self.next += 1;
        }
        Some(builder.finish(self))
    }

    /// A statement of a later edition: to the end of the line, brackets that are closed skipped as one.
    fn reserved(&mut self, first: RawToken, word: &str) -> Statement<'s> {
        self.report(first.span(), SyntaxErrorKind::ReservedStatement(word.to_owned()));
        let mut span = first.span();
        while let Some(token) = self.tokens.get(self.next) {
            if matches!(token.kind, Raw::Newline | Raw::Semicolon) {
                break;
            }
            let last = self.partner(self.next).unwrap_or(self.next);
            span = self.tokens.get(last).map_or(span, |token| span.to(token.span()));
            self.next = last + 1;
        }
        let word = Ident { text: word.to_owned(), span: first.span() };
        Statement { body: Body::Reserved(word), span, faulty: true }
    }

    /// Whether the newline at `next` ends the statement.
    fn newline_ends(&mut self, builder: &StatementBuilder<'s>, indent: usize) -> bool {
        let Some(opener) = builder.outermost_open() else { return true };
        while let Some(token) = self.tokens.get(self.next + 1).filter(|token| token.kind == Raw::Newline) {
            self.line_start = token.end;
            self.next += 1;
        }
        let (Some(newline), Some(first)) = (self.tokens.get(self.next), self.tokens.get(self.next + 1))
        else {
            return true;
        };
        let outdented = first.start.saturating_sub(newline.end) <= indent;
        match self.line_start_at(self.next + 1) {
            LineStart::Other => false,
            LineStart::Header => true,
            // Between two operands nothing of an expression can stand. A bracket that is closed further down
            // and a deeper indent speak for a list over several lines.
            LineStart::Call if self.is_closed(opener) => builder.ends_operand() && outdented,
            LineStart::Call => builder.ends_operand() || outdented,
        }
    }

    fn line_start_at(&self, index: usize) -> LineStart {
        let (Some(&first), Some(second)) = (self.tokens.get(index), self.tokens.get(index + 1)) else {
            return LineStart::Other;
        };
        if first.kind != Raw::Name {
            return LineStart::Other;
        }
        match (self.text(first), second.kind) {
            ("param" | "const" | "target", Raw::Name) | ("model", Raw::Str(_)) | ("sched", Raw::Number) => {
                LineStart::Header
            }
            (_, kind) if Bracket::opened_by(kind) == Some(Bracket::Paren) => LineStart::Call,
            _ => LineStart::Other,
        }
    }
}

impl LineStart {
    fn is_statement(&self) -> bool {
        !matches!(self, LineStart::Other)
    }
}
