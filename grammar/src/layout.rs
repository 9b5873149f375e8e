//! Cuts raw tokens into statements.
//!
//! A statement ends at a newline or `;`, and in a block at its `}`. Inside brackets, a newline does not end
//! it unless the next line clearly begins another statement. Then a bracket is missing, and one mistake must
//! not swallow the rest of the file. Each statement has balanced brackets and bounded nesting, so the parser
//! can recover inside it.

use crate::ast::{Ident, ScheduleStmt, Span};
use crate::brackets::Bracket;
use crate::error::SyntaxErrorKind;
use crate::lexer::{RawKind, RawToken, bom_len};
use crate::reuse::Reusable;
use crate::statement::{Statement, StatementBody, StatementBuilder};
use crate::stream::{TokenStream, tokens_of_line};
use crate::token::is_reserved_for_later;

/// Cuts the tokens of a text into statements.
pub(crate) struct LayoutPass<'s> {
    pub stream: TokenStream<'s>,
    /// Byte at which the current line begins.
    line_start: usize,
    /// The block whose statements are being read.
    block: Option<OpenBlock>,
}

/// A block `{ ... }` of statements.
#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    /// Span of the block's `{`, or of the position where it is expected.
    open: Span,
    /// Byte at which the line with the block's `{` begins.
    line_start: usize,
    /// Indent of the first word of the block's head.
    indent: usize,
    /// Whether the block has a closing brace.
    is_closed: bool,
}

/// Beginnings of a line.
enum LineStart {
    /// `param X`, `model "m"`, `when n_rows`: never occurs inside brackets.
    Header,
    /// `name(`: a directive, or a call inside an expression.
    Call,
    /// Other text.
    Other,
}

impl<'s> LayoutPass<'s> {
    pub fn new(source: &'s str, tokens: Vec<RawToken>) -> Self {
        LayoutPass { stream: TokenStream::new(source, tokens), line_start: bom_len(source), block: None }
    }

    /// The next token, after blank lines and empty statements.
    fn skip_blank(&mut self) -> Option<RawToken> {
        loop {
            let token = self.stream.peek()?;
            match token.kind {
                RawKind::Newline => self.line_start = token.end,
                RawKind::Semicolon => {}
                _ => return Some(token),
            }
            self.stream.next += 1;
        }
    }

    /// The next statement, if `known` has it from before an edit.
    pub fn reuse_statement(&mut self, known: &mut Reusable<'_>) -> Option<ScheduleStmt> {
        let first = self.skip_blank()?;
        let rest = self.stream.rest();
        let count = tokens_of_line(rest);
        let last = rest.get(count.checked_sub(1)?)?;
        let stmt = known.statement(first.start, last.end, rest.get(count).map(|token| token.end))?;
        self.stream.next += count;
        Some(stmt)
    }

    /// Whether the text, or the current block, has no more statements.
    pub fn is_at_end(&mut self) -> bool {
        let Some(first) = self.skip_blank() else { return true };
        let Some(block) = self.block else { return false };
        let outdented = first.start.saturating_sub(self.line_start) <= block.indent;
        first.kind == RawKind::RBrace
            || !block.is_closed && self.stream.begins_line(self.stream.next) && outdented
    }

    /// Whether the next statements belong to a block.
    pub fn is_in_block(&self) -> bool {
        self.block.is_some()
    }

    /// Ends the current block and returns its span.
    pub fn close_block(&mut self) -> Span {
        let Some(block) = self.block.take() else { return Span::default() };
        if let Some(close) = self.stream.peek().filter(|token| token.kind == RawKind::RBrace) {
            self.stream.next += 1;
            let is_apart = |kind| {
                use RawKind::{BlockComment, Newline, RBrace, Semicolon};
                matches!(kind, Newline | Semicolon | RBrace | BlockComment)
            };
            if let Some(next) = self.stream.peek().filter(|next| !is_apart(next.kind)) {
                self.stream.report(next.span(), SyntaxErrorKind::MissingSeparator);
            }
            return block.open.to(close.span());
        }
        let last = self
            .stream
            .consumed()
            .iter()
            .rfind(|token| !matches!(token.kind, RawKind::Newline | RawKind::Semicolon));
        let block_span = last.map_or(block.open, |last| block.open.to(last.span()));
        let here = Span { start: block_span.end, end: block_span.end };
        self.stream.report(here, SyntaxErrorKind::UnclosedBlock { opener: block.open });
        block_span
    }

    /// The next statement. For a block it is the head; the statements of the block follow.
    pub fn statement(&mut self) -> Option<Statement<'s>> {
        let first = self.skip_blank()?;
        let word = self.stream.text(first);
        let is_name = first.kind == RawKind::Name;
        if is_name && word == "when" && self.block.is_none() {
            return Some(self.head(first));
        }
        if is_name && (word == "when" || is_reserved_for_later(word)) {
            return Some(self.reserved(first, word));
        }
        let indent = first.start.saturating_sub(self.line_start);
        let mut builder = StatementBuilder::new(first);
        while let Some(token) = self.stream.peek() {
            let ends = match token.kind {
                RawKind::Semicolon => true,
                RawKind::Newline => self.newline_ends(&builder, indent),
                RawKind::RBrace => self.closes_block(&builder),
                RawKind::Name => builder.is_complete() && self.line_start_at(self.stream.next).is_statement(),
                _ => false,
            };
            if ends {
                if token.kind == RawKind::Name {
                    builder.report(&mut self.stream, token.span(), SyntaxErrorKind::MissingSeparator);
                }
                break;
            }
            if token.kind != RawKind::Newline {
                builder.push(&mut self.stream);
            }
            self.stream.next += 1;
        }
        Some(builder.finish(&mut self.stream))
    }

    /// Whether the `}` under the cursor closes the block, not a bracket of the statement.
    fn closes_block(&self, builder: &StatementBuilder<'s>) -> bool {
        let Some(block) = self.block.filter(|_| !builder.has_open_brace()) else { return false };
        // A wrong bracket at the end of a list is on the line of the list.
        let is_open = builder.outermost_open().is_some();
        !is_open || self.stream.begins_line(self.stream.next) || block.line_start == self.line_start
    }

    /// The head of a block, up to its `{`. If there is a block, its statements follow.
    fn head(&mut self, first: RawToken) -> Statement<'s> {
        let indent = first.start.saturating_sub(self.line_start);
        let mut builder = StatementBuilder::new(first);
        let mut open = None;
        while let Some(token) = self.stream.peek() {
            match token.kind {
                RawKind::LBrace => {
                    open = Some(token);
                    break;
                }
                RawKind::Semicolon | RawKind::RBrace => break,
                RawKind::Newline if self.newline_ends(&builder, indent) && !self.is_before_brace() => break,
                RawKind::Name
                    if builder.ends_operand() && self.line_start_at(self.stream.next).is_statement() =>
                {
                    break;
                }
                RawKind::Newline => {}
                _ => builder.push(&mut self.stream),
            }
            self.stream.next += 1;
        }
        let is_closed = match open {
            Some(_) => self.stream.partner(self.stream.next).is_some(),
            None => self.has_brace_to_close(),
        };
        let statement = builder.finish_head(&mut self.stream, open, is_closed);
        self.stream.next += usize::from(open.is_some());
        if open.is_some() || is_closed {
            let here = Span { start: statement.span.end, end: statement.span.end };
            let open = open.map_or(here, |token| token.span());
            self.block = Some(OpenBlock { open, line_start: self.line_start, indent, is_closed });
        }
        statement
    }

    /// Whether a `{` follows, after line ends alone.
    fn is_before_brace(&self) -> bool {
        self.stream
            .rest()
            .iter()
            .find(|token| token.kind != RawKind::Newline)
            .is_some_and(|token| token.kind == RawKind::LBrace)
    }

    /// Whether a `}` without an opening brace follows, before the head of another block.
    fn has_brace_to_close(&self) -> bool {
        let mut open = 0_usize;
        for (index, token) in (self.stream.next..).zip(self.stream.rest()) {
            match token.kind {
                RawKind::LBrace => open += 1,
                RawKind::RBrace if open == 0 => return true,
                RawKind::RBrace => open -= 1,
                RawKind::Name if self.stream.text(*token) == "when" && self.stream.begins_line(index) => {
                    return false;
                }
                _ => {}
            }
        }
        false
    }

    /// Skips a reserved statement to the end of its line, and brackets as a whole.
    fn reserved(&mut self, first: RawToken, word: &str) -> Statement<'s> {
        let is_block = word == "when";
        let later = || SyntaxErrorKind::ReservedStatement(word.to_owned());
        self.stream.report(first.span(), if is_block { SyntaxErrorKind::NestedBlock } else { later() });
        let mut span = first.span();
        while let Some(token) = self.stream.peek() {
            let ends = match token.kind {
                RawKind::Newline => !is_block || !self.is_before_brace(),
                RawKind::Semicolon => true,
                RawKind::RBrace => self.block.is_some(),
                _ => false,
            };
            if ends {
                break;
            }
            let last = self.stream.partner(self.stream.next).unwrap_or(self.stream.next);
            span = self.stream.get(last).map_or(span, |token| span.to(token.span()));
            self.stream.next = last + 1;
        }
        let word = Ident { text: word.to_owned(), span: first.span() };
        let body = if is_block { StatementBody::Unparsable } else { StatementBody::Reserved(word) };
        Statement { body, span, has_error: true }
    }

    /// Whether the newline under the cursor ends the statement.
    fn newline_ends(&mut self, builder: &StatementBuilder<'s>, indent: usize) -> bool {
        let Some(opener) = builder.outermost_open() else { return true };
        while let Some(token) =
            self.stream.get(self.stream.next + 1).filter(|token| token.kind == RawKind::Newline)
        {
            self.line_start = token.end;
            self.stream.next += 1;
        }
        let (Some(newline), Some(first)) = (self.stream.peek(), self.stream.get(self.stream.next + 1)) else {
            return true;
        };
        let outdented = first.start.saturating_sub(newline.end) <= indent;
        match self.line_start_at(self.stream.next + 1) {
            LineStart::Other => false,
            LineStart::Header => true,
            // An expression has nothing between two operands. A bracket that is closed below and a deeper
            // indent indicate a list over several lines.
            LineStart::Call if self.stream.partner(opener).is_some() => builder.ends_operand() && outdented,
            LineStart::Call => builder.ends_operand() || outdented,
        }
    }

    fn line_start_at(&self, index: usize) -> LineStart {
        let (Some(first), Some(second)) = (self.stream.get(index), self.stream.get(index + 1)) else {
            return LineStart::Other;
        };
        if first.kind != RawKind::Name {
            return LineStart::Other;
        }
        match (self.stream.text(first), second.kind) {
            ("param" | "const" | "target" | "when", RawKind::Name)
            | ("model", RawKind::Str(_))
            | ("sched", RawKind::Number) => LineStart::Header,
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
