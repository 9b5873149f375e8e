//! Collects the tokens of one statement: refuses bad literals, balances the brackets, bounds the nesting, and
//! fills in the small things that people forget, each with its own error.

use crate::ast::{Comparison, Span};
use crate::brackets::{Bracket, Open};
use crate::error::{MAX_NESTING, SyntaxErrorKind};
use crate::layout::{Body, Layout, Statement};
use crate::lexer::{Raw, RawToken};
use crate::text::{integer, unescape};
use crate::token::{Spanned, Token, first_word, is_reserved};

/// An open bracket of the statement.
struct Frame {
    kind: Bracket,
    /// Index of the raw token.
    index: usize,
    span: Span,
    /// The nesting outside of the bracket.
    outer: usize,
}

/// The statement read so far.
pub(crate) struct StatementBuilder<'s> {
    tokens: Vec<Spanned<'s>>,
    frames: Vec<Frame>,
    open: Open,
    span: Span,
    /// Where the last token ends.
    end: usize,
    /// Brackets and signs around the next operand.
    level: usize,
    /// The same without the signs directly before the operand.
    base: usize,
    faulty: bool,
    too_deep: bool,
}

impl<'s> StatementBuilder<'s> {
    pub fn new(first: RawToken) -> Self {
        StatementBuilder {
            tokens: Vec::new(),
            frames: Vec::new(),
            open: Open::default(),
            span: first.span(),
            end: first.start,
            level: 0,
            base: 0,
            faulty: false,
            too_deep: false,
        }
    }

    /// The raw index of the outermost open bracket.
    pub fn outermost_open(&self) -> Option<usize> {
        self.frames.first().map(|frame| frame.index)
    }

    /// Whether a brace of the statement is open.
    pub fn has_open_brace(&self) -> bool {
        self.open.has(Bracket::Brace)
    }

    pub fn ends_operand(&self) -> bool {
        self.tokens.last().is_some_and(|(_, token, _)| token.ends_operand())
    }

    /// Whether the statement could end here, so that what follows may be another one.
    pub fn is_complete(&self) -> bool {
        let header = self.tokens.first().is_some_and(|(_, token, _)| token.is_header());
        let operand = matches!(self.tokens.last(), Some((_, Token::Str(_), _))) || self.ends_operand();
        let call = matches!(self.tokens.last(), Some((_, Token::RParen, _)));
        self.frames.is_empty() && (call || header && operand)
    }

    /// Reports an error of this statement.
    pub fn report(&mut self, layout: &mut Layout<'s>, span: Span, kind: SyntaxErrorKind) {
        if !self.too_deep {
            self.faulty = true;
            layout.report(span, kind);
        }
    }

    /// Adds the raw token at `index`.
    pub fn push(&mut self, layout: &mut Layout<'s>, index: usize, raw: RawToken) {
        if let Some(kind) = Bracket::opened_by(raw.kind) {
            self.open(layout, index, raw, kind);
        } else if let Some(kind) = Bracket::closed_by(raw.kind) {
            self.close(layout, raw, kind);
        } else {
            if self.begins_choices(layout, index, raw) {
                self.close_until(layout, |_| false);
            }
            self.push_plain(layout, raw);
        }
        self.span = self.span.to(raw.span());
        self.end = raw.end;
    }

    /// Whether `raw` is the `in` of `in {` after a complete value, which stands outside of all brackets.
    fn begins_choices(&self, layout: &Layout<'s>, index: usize, raw: RawToken) -> bool {
        let param = matches!(self.tokens.first(), Some((_, Token::Param, _)));
        param
            && self.ends_operand()
            && layout.text(raw) == "in"
            && layout.kind(index + 1) == Some(Raw::LBrace)
    }

    /// Adds a token that is no bracket.
    fn push_plain(&mut self, layout: &mut Layout<'s>, raw: RawToken) {
        if let Some(inner) = self.quoted_value(layout, raw) {
            return self.push_quoted(layout, raw, inner);
        }
        if let Some(token) = self.token(layout, raw) {
            self.nest(layout, &token, raw);
            if token.is_operand() && self.ends_operand() && !self.frames.is_empty() {
                self.insert_comma(layout);
            }
            self.emit(raw, token);
        }
    }

    /// What stands between quotes that no string belongs between: a number, or a name with dots.
    fn quoted_value(&self, layout: &Layout<'s>, raw: RawToken) -> Option<&'s str> {
        if !matches!(raw.kind, Raw::Str(true) | Raw::QuotedStr(_)) {
            return None;
        }
        // Only the first word of a statement says whether a string may follow.
        let (_, first, _) = self.tokens.first()?;
        let mut inner = layout.text(raw).chars();
        inner.next();
        inner.next_back();
        let inner = inner.as_str();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_name = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let is_number = integer(inner).is_ok();
        let is_path = inner.split('.').all(|name| is_name(name) && name.chars().all(is_part));
        let takes_none = !matches!(first, Token::Model | Token::Str(_));
        (takes_none && (is_number || is_path)).then_some(inner)
    }

    /// Reads a quoted value as if the quotes were not there.
    fn push_quoted(&mut self, layout: &mut Layout<'s>, raw: RawToken, inner: &'s str) {
        if self.ends_operand() && !self.frames.is_empty() {
            self.insert_comma(layout);
        }
        self.report(layout, raw.span(), SyntaxErrorKind::Quoted(inner.to_owned()));
        self.level = self.base;
        if let Ok(number) = integer(inner) {
            return self.emit(raw, Token::Int(number));
        }
        for (at, name) in inner.split('.').enumerate() {
            if at > 0 {
                self.emit(raw, Token::Dot);
            }
            self.emit(raw, Token::Name(name));
        }
    }

    fn emit(&mut self, raw: RawToken, token: Token<'s>) {
        if !self.too_deep {
            self.tokens.push((raw.start, token, raw.end));
        }
    }

    /// Follows the nesting: a sign adds a level to its operand.
    fn nest(&mut self, layout: &mut Layout<'s>, token: &Token<'s>, raw: RawToken) {
        match token {
            Token::Minus if !self.ends_operand() => self.deepen(layout, raw),
            _ => self.level = self.base,
        }
    }

    /// The list of a directive is one level of its own, which the limit does not count.
    fn deepen(&mut self, layout: &mut Layout<'s>, raw: RawToken) {
        self.level += 1;
        if self.level > MAX_NESTING + 1 && !self.too_deep {
            self.report(layout, raw.span(), SyntaxErrorKind::TooDeep);
            self.too_deep = true;
            self.tokens.clear();
        }
    }

    fn open(&mut self, layout: &mut Layout<'s>, index: usize, raw: RawToken, kind: Bracket) {
        self.frames.push(Frame { kind, index, span: raw.span(), outer: self.base });
        self.open.add(kind);
        self.deepen(layout, raw);
        self.base = self.level;
        self.emit(raw, kind.open_token());
    }

    /// Closes the innermost bracket with a token at `at`.
    fn pop(&mut self, at: RawToken) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.open.remove(frame.kind);
        self.base = frame.outer;
        self.level = frame.outer;
        self.emit(at, frame.kind.close_token());
        Some(frame)
    }

    fn close(&mut self, layout: &mut Layout<'s>, raw: RawToken, kind: Bracket) {
        let Some(top) = self.frames.last() else {
            self.report(layout, raw.span(), SyntaxErrorKind::StrayClose(kind.close_char()));
            return;
        };
        if self.open.has(kind) {
            self.close_until(layout, |frame| frame.kind == kind);
            self.pop(raw);
        } else if layout.is_closed_on_this_line(top.index) {
            self.report(layout, raw.span(), SyntaxErrorKind::StrayClose(kind.close_char()));
        } else {
            let wrong = SyntaxErrorKind::WrongClose {
                found: kind.close_char(),
                expected: top.kind.close_char(),
                opener: top.span,
            };
            self.report(layout, raw.span(), wrong);
            self.pop(raw);
        }
    }

    /// Closes the open brackets, innermost first, until one is `wanted`; one error covers them all.
    fn close_until(&mut self, layout: &mut Layout<'s>, wanted: impl Fn(&Frame) -> bool) {
        let here = RawToken { kind: Raw::Bad, start: self.end, end: self.end };
        let mut close = String::new();
        let mut outermost = None;
        while self.frames.last().is_some_and(|frame| !wanted(frame)) {
            outermost = self.pop(here);
            close.extend(outermost.as_ref().map(|frame| frame.kind.close_char()));
        }
        if let Some(frame) = outermost {
            let open = frame.kind.open_char();
            let kind = SyntaxErrorKind::Unclosed { open, opener: frame.span, close };
            self.report(layout, here.span(), kind);
        }
    }

    fn insert_comma(&mut self, layout: &mut Layout<'s>) {
        let here = RawToken { kind: Raw::Comma, start: self.end, end: self.end };
        self.report(layout, here.span(), SyntaxErrorKind::MissingComma);
        self.emit(here, Token::Comma);
    }

    /// The token for a raw one that is no bracket.
    fn token(&mut self, layout: &mut Layout<'s>, raw: RawToken) -> Option<Token<'s>> {
        Some(match raw.kind {
            Raw::Comma => Token::Comma,
            Raw::Dot => Token::Dot,
            Raw::Equals => Token::Equals,
            Raw::Plus => Token::Plus,
            Raw::Minus => Token::Minus,
            Raw::Star => Token::Star,
            Raw::Slash => Token::Slash,
            Raw::Percent => Token::Percent,
            Raw::Compare => self.comparison(layout, raw),
            Raw::Name => self.name(layout, raw),
            Raw::ForeignName => self.foreign_name(layout, raw),
            Raw::Number => self.number(layout, raw),
            Raw::Str(closed) => self.string(layout, raw, closed),
            Raw::QuotedStr(_) => self.quoted_string(layout, raw),
            Raw::Bad => self.bad(layout, raw),
            _ => return None,
        })
    }

    fn bad(&mut self, layout: &mut Layout<'s>, raw: RawToken) -> Token<'s> {
        let c = layout.text(raw).chars().next().unwrap_or_default();
        self.report(layout, raw.span(), SyntaxErrorKind::BadCharacter(c));
        Token::Bad
    }

    /// Only the head of a block compares.
    fn comparison(&mut self, layout: &mut Layout<'s>, raw: RawToken) -> Token<'s> {
        if !matches!(self.tokens.first(), Some((_, Token::When, _))) {
            return self.bad(layout, raw);
        }
        Token::Compare(match layout.text(raw) {
            "<" => Comparison::Less,
            ">" => Comparison::Greater,
            ">=" => Comparison::AtLeast,
            _ => Comparison::AtMost,
        })
    }

    fn name(&mut self, layout: &mut Layout<'s>, raw: RawToken) -> Token<'s> {
        let text = layout.text(raw);
        if let (true, Some(word)) = (self.tokens.is_empty(), first_word(text)) {
            return word;
        }
        let names_follow = match self.tokens.as_slice() {
            [(_, Token::Param | Token::Const, _)] => false,
            _ => self.frames.is_empty(),
        };
        if text == "in" && names_follow {
            return Token::In;
        }
        let free = matches!(self.tokens.first(), Some((_, Token::Target, _)));
        if is_reserved(text) && !free && !layout.reported.contains(&text) {
            layout.reported.push(text);
            self.report(layout, raw.span(), SyntaxErrorKind::ReservedName(text.to_owned()));
        }
        Token::Name(text)
    }

    fn foreign_name(&mut self, layout: &mut Layout<'s>, raw: RawToken) -> Token<'s> {
        let text = layout.text(raw);
        if let Some((at, c)) = text.char_indices().find(|(_, c)| !c.is_ascii()) {
            let span = Span::new(raw.start + at, raw.start + at + c.len_utf8());
            self.report(layout, span, SyntaxErrorKind::BadCharacter(c));
        }
        Token::Name(text)
    }

    fn number(&mut self, layout: &mut Layout<'s>, raw: RawToken) -> Token<'s> {
        integer(layout.text(raw)).map_or_else(
            |kind| {
                self.report(layout, raw.span(), kind);
                Token::BadInt
            },
            Token::Int,
        )
    }

    fn string(&mut self, layout: &mut Layout<'s>, raw: RawToken, closed: bool) -> Token<'s> {
        let text = layout.text(raw);
        let inner = text.strip_prefix('"').unwrap_or(text);
        let inner = if closed { inner.strip_suffix('"').unwrap_or(inner) } else { inner };
        if !closed {
            self.report(layout, raw.span(), SyntaxErrorKind::UnterminatedString);
        }
        Token::Str(unescape(inner, raw.start + 1, |span, kind| {
            // Text after a quote that was never closed is not meant as a string.
            if closed {
                self.report(layout, span, kind);
            }
        }))
    }

    /// A string in other quotes than the language's.
    fn quoted_string(&mut self, layout: &mut Layout<'s>, raw: RawToken) -> Token<'s> {
        let mut inner = layout.text(raw).chars();
        inner.next();
        inner.next_back();
        let value = inner.as_str().to_owned();
        self.report(layout, raw.span(), SyntaxErrorKind::WrongQuotes(value.clone()));
        Token::Str(value)
    }

    /// The finished head of a block, whose `{` is `open`; without one it is read as if it were there.
    pub fn finish_head(
        mut self,
        layout: &mut Layout<'s>,
        open: Option<RawToken>,
        is_closed: bool,
    ) -> Statement<'s> {
        self.close_until(layout, |_| false);
        let here = RawToken { kind: Raw::LBrace, start: self.end, end: self.end };
        if open.is_none() {
            self.report(layout, here.span(), SyntaxErrorKind::MissingBlock { is_closed });
        }
        self.emit(open.unwrap_or(here), Token::LBrace);
        let body = if self.too_deep { Body::Unparsable } else { Body::Tokens(self.tokens) };
        Statement { body, span: self.span, faulty: self.faulty }
    }

    /// The finished statement.
    pub fn finish(mut self, layout: &mut Layout<'s>) -> Statement<'s> {
        self.close_until(layout, |_| false);
        self.add_parens(layout);
        self.add_keyword(layout);
        let body = if self.too_deep { Body::Unparsable } else { Body::Tokens(self.tokens) };
        Statement { body, span: self.span, faulty: self.faulty }
    }

    /// `parallel b0` and `tile batch, b0, b1, 64` are read as if the parentheses were there.
    fn add_parens(&mut self, layout: &mut Layout<'s>) {
        let [(_, Token::Name(_), _), (start, second, _), rest @ ..] = self.tokens.as_slice() else { return };
        let third = rest.first().map(|(_, token, _)| token);
        let listed = matches!(third, None | Some(Token::Comma | Token::Dot | Token::LBracket));
        if !second.is_operand() || !listed {
            return;
        }
        let start = *start;
        let args = Span::new(start, self.end);
        self.tokens.insert(1, (start, Token::LParen, start));
        self.tokens.push((self.end, Token::RParen, self.end));
        self.report(layout, args, SyntaxErrorKind::MissingParens { args });
    }

    /// `ROWS = 64` is read as a param.
    fn add_keyword(&mut self, layout: &mut Layout<'s>) {
        let [(start, Token::Name(name), end), (_, Token::Equals, _), ..] = self.tokens.as_slice() else {
            return;
        };
        let (start, end, name) = (*start, *end, (*name).to_owned());
        self.tokens.insert(0, (start, Token::Param, start));
        self.report(layout, Span::new(start, end), SyntaxErrorKind::MissingKeyword(name));
    }
}
