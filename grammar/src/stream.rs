//! The raw tokens of a text, with a cursor and the errors so far. The layout pass moves the cursor; the
//! builder of a statement reads the token there.

use std::cell::OnceCell;

use crate::ast::Span;
use crate::brackets::partners;
use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::lexer::{RawKind, RawToken};

/// The raw tokens of a text, of which those before `next` are read.
pub(crate) struct TokenStream<'s> {
    pub source: &'s str,
    tokens: Vec<RawToken>,
    /// Index of the token under the cursor.
    pub next: usize,
    /// For each token, the index of its closing bracket. Computed at the first use: only texts with mistakes
    /// need it.
    partners: OnceCell<Vec<Option<usize>>>,
    /// Index of the token that ends the current line or statement, or of an earlier one.
    line_end: usize,
    /// Reserved words already reported as names: renaming corrects all uses at once.
    pub reported_words: Vec<&'s str>,
    pub errors: Vec<SyntaxError>,
}

impl<'s> TokenStream<'s> {
    pub fn new(source: &'s str, tokens: Vec<RawToken>) -> Self {
        TokenStream {
            source,
            tokens,
            next: 0,
            partners: OnceCell::new(),
            line_end: 0,
            reported_words: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Text of a token.
    pub fn text(&self, token: RawToken) -> &'s str {
        self.source.get(token.start..token.end).unwrap_or_default()
    }

    /// Token at `index`.
    pub fn get(&self, index: usize) -> Option<RawToken> {
        self.tokens.get(index).copied()
    }

    /// Token under the cursor.
    pub fn peek(&self) -> Option<RawToken> {
        self.get(self.next)
    }

    /// Kind of the token at `index`.
    pub fn kind(&self, index: usize) -> Option<RawKind> {
        self.get(index).map(|token| token.kind)
    }

    /// Tokens before the cursor.
    pub fn consumed(&self) -> &[RawToken] {
        self.tokens.get(..self.next).unwrap_or_default()
    }

    /// Tokens from the cursor on.
    pub fn rest(&self) -> &[RawToken] {
        self.tokens.get(self.next..).unwrap_or_default()
    }

    /// Reports an error.
    pub fn report(&mut self, span: Span, kind: SyntaxErrorKind) {
        self.errors.push(SyntaxError::new(span, kind));
    }

    /// Index of the token that closes the bracket at `index`.
    pub fn partner(&self, index: usize) -> Option<usize> {
        self.partners.get_or_init(|| partners(&self.tokens)).get(index).copied().flatten()
    }

    /// Whether the bracket at `index` is closed before the line or the statement ends.
    pub fn is_closed_on_this_line(&mut self, index: usize) -> bool {
        if self.line_end <= self.next {
            self.line_end = self.next + tokens_of_line(self.rest());
        }
        self.partner(index).is_some_and(|partner| partner < self.line_end)
    }

    /// Whether the token at `index` is the first one on its line.
    pub fn begins_line(&self, index: usize) -> bool {
        index.checked_sub(1).and_then(|before| self.kind(before)).is_none_or(|kind| kind == RawKind::Newline)
    }
}

/// Number of tokens before the line or the statement ends.
pub(crate) fn tokens_of_line(tokens: &[RawToken]) -> usize {
    let end = tokens.iter().position(|token| matches!(token.kind, RawKind::Newline | RawKind::Semicolon));
    end.unwrap_or(tokens.len())
}
