//! Collects the tokens of one statement. It refuses bad literals, balances brackets and bounds the nesting.
//! Missing commas, brackets and keywords are inserted, each with its own error.

use crate::ast::{Ident, Relation, Span};
use crate::brackets::{Bracket, OpenBrackets};
use crate::error::{MAX_NESTING, SyntaxErrorKind};
use crate::lexer::{RawKind, RawToken};
use crate::stream::TokenStream;
use crate::text::{integer, unescape};
use crate::token::{Spanned, Token, first_word, is_reserved};

/// One statement, ready for the parser.
#[derive(Debug)]
pub(crate) struct Statement<'s> {
    pub body: StatementBody<'s>,
    /// Span from the first to the last token, without a closing `;`.
    pub span: Span,
    /// Whether an error was reported. Errors that follow from it are then dropped.
    pub has_error: bool,
}

/// Content of a statement for the parser.
#[derive(Debug)]
pub(crate) enum StatementBody<'s> {
    Tokens(Vec<Spanned<'s>>),
    /// A statement that begins with a word reserved for later.
    Reserved(Ident),
    /// A statement too deep to be parsed, or a block inside another one.
    Unparsable,
}

/// An open bracket of the statement.
struct OpenBracket {
    kind: Bracket,
    /// Index of the bracket's raw token in the stream.
    index: usize,
    span: Span,
    /// Nesting depth outside the bracket.
    outer: usize,
}

/// The statement up to the cursor.
pub(crate) struct StatementBuilder<'s> {
    tokens: Vec<Spanned<'s>>,
    frames: Vec<OpenBracket>,
    open: OpenBrackets,
    span: Span,
    /// Byte offset of the end of the last token.
    end: usize,
    /// Number of brackets and signs around the next operand.
    level: usize,
    /// Nesting depth of the next operand, without the signs directly before it.
    base: usize,
    has_error: bool,
    too_deep: bool,
}

impl<'s> StatementBuilder<'s> {
    pub fn new(first: RawToken) -> Self {
        StatementBuilder {
            tokens: Vec::new(),
            frames: Vec::new(),
            open: OpenBrackets::default(),
            span: first.span(),
            end: first.start,
            level: 0,
            base: 0,
            has_error: false,
            too_deep: false,
        }
    }

    /// Raw index of the outermost open bracket.
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

    /// Whether the statement may end here, so that another one may follow.
    pub fn is_complete(&self) -> bool {
        let header = self.tokens.first().is_some_and(|(_, token, _)| token.is_header());
        let operand = matches!(self.tokens.last(), Some((_, Token::Str(_), _))) || self.ends_operand();
        let call = matches!(self.tokens.last(), Some((_, Token::RParen, _)));
        self.frames.is_empty() && (call || header && operand)
    }

    /// Reports an error of this statement.
    pub fn report(&mut self, stream: &mut TokenStream<'s>, span: Span, kind: SyntaxErrorKind) {
        if !self.too_deep {
            self.has_error = true;
            stream.report(span, kind);
        }
    }

    /// Adds the token under the cursor.
    pub fn push(&mut self, stream: &mut TokenStream<'s>) {
        let Some(raw) = stream.peek() else { return };
        if let Some(kind) = Bracket::opened_by(raw.kind) {
            self.open(stream, raw, kind);
        } else if let Some(kind) = Bracket::closed_by(raw.kind) {
            self.close(stream, raw, kind);
        } else {
            if self.begins_choices(stream, raw) {
                self.close_until(stream, |_| false);
            }
            self.push_plain(stream, raw);
        }
        self.span = self.span.to(raw.span());
        self.end = raw.end;
    }

    /// Whether `raw` is the `in` of `in {` after a complete value. It is outside of all brackets.
    fn begins_choices(&self, stream: &TokenStream<'s>, raw: RawToken) -> bool {
        let param = matches!(self.tokens.first(), Some((_, Token::Param, _)));
        param
            && self.ends_operand()
            && stream.text(raw) == "in"
            && stream.kind(stream.next + 1) == Some(RawKind::LBrace)
    }

    /// Adds a token other than a bracket.
    fn push_plain(&mut self, stream: &mut TokenStream<'s>, raw: RawToken) {
        if let Some(inner) = self.quoted_value(stream, raw) {
            return self.push_quoted(stream, raw, inner);
        }
        if let Some(token) = self.token(stream, raw) {
            self.track_nesting(stream, &token, raw);
            if token.is_operand() && self.ends_operand() && !self.frames.is_empty() {
                self.insert_comma(stream);
            }
            self.emit(raw, token);
        }
    }

    /// Content of quotes that should not be a string: a number, or a name with dots.
    fn quoted_value(&self, stream: &TokenStream<'s>, raw: RawToken) -> Option<&'s str> {
        if !matches!(raw.kind, RawKind::Str(true) | RawKind::QuotedStr(_)) {
            return None;
        }
        // The first word of a statement decides whether a string may follow.
        let (_, first, _) = self.tokens.first()?;
        let mut inner = stream.text(raw).chars();
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

    /// Reads a quoted value without its quotes.
    fn push_quoted(&mut self, stream: &mut TokenStream<'s>, raw: RawToken, inner: &'s str) {
        if self.ends_operand() && !self.frames.is_empty() {
            self.insert_comma(stream);
        }
        self.report(stream, raw.span(), SyntaxErrorKind::Quoted(inner.to_owned()));
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

    /// Tracks the nesting: a sign adds a level to its operand.
    fn track_nesting(&mut self, stream: &mut TokenStream<'s>, token: &Token<'s>, raw: RawToken) {
        match token {
            Token::Minus if !self.ends_operand() => self.add_level(stream, raw),
            _ => self.level = self.base,
        }
    }

    /// Adds a level. The list of a directive is one level, which the limit does not count.
    fn add_level(&mut self, stream: &mut TokenStream<'s>, raw: RawToken) {
        self.level += 1;
        if self.level > MAX_NESTING + 1 && !self.too_deep {
            self.report(stream, raw.span(), SyntaxErrorKind::TooDeep);
            self.too_deep = true;
            self.tokens.clear();
        }
    }

    fn open(&mut self, stream: &mut TokenStream<'s>, raw: RawToken, kind: Bracket) {
        self.frames.push(OpenBracket { kind, index: stream.next, span: raw.span(), outer: self.base });
        self.open.add(kind);
        self.add_level(stream, raw);
        self.base = self.level;
        self.emit(raw, kind.open_token());
    }

    /// Closes the innermost bracket with a token at `at`.
    fn pop(&mut self, at: RawToken) -> Option<OpenBracket> {
        let frame = self.frames.pop()?;
        self.open.remove(frame.kind);
        self.base = frame.outer;
        self.level = frame.outer;
        self.emit(at, frame.kind.close_token());
        Some(frame)
    }

    fn close(&mut self, stream: &mut TokenStream<'s>, raw: RawToken, kind: Bracket) {
        let Some(top) = self.frames.last() else {
            if kind == Bracket::Paren && self.open_arguments(stream, true) {
                return self.emit(raw, Token::RParen);
            }
            self.report(stream, raw.span(), SyntaxErrorKind::StrayClose(kind.close_char()));
            return;
        };
        if self.open.has(kind) {
            self.close_until(stream, |frame| frame.kind == kind);
            self.pop(raw);
        } else if stream.is_closed_on_this_line(top.index) {
            self.report(stream, raw.span(), SyntaxErrorKind::StrayClose(kind.close_char()));
        } else {
            let wrong = SyntaxErrorKind::WrongClose {
                found: kind.close_char(),
                expected: top.kind.close_char(),
                opener: top.span,
            };
            self.report(stream, raw.span(), wrong);
            self.pop(raw);
        }
    }

    /// Closes the open brackets, innermost first, until one is `wanted`; one error covers them all.
    fn close_until(&mut self, stream: &mut TokenStream<'s>, wanted: impl Fn(&OpenBracket) -> bool) {
        let here = RawToken { kind: RawKind::Bad, start: self.end, end: self.end };
        let mut close = String::new();
        let mut outermost = None;
        while self.frames.last().is_some_and(|frame| !wanted(frame)) {
            outermost = self.pop(here);
            close.extend(outermost.as_ref().map(|frame| frame.kind.close_char()));
        }
        if let Some(frame) = outermost {
            let open = frame.kind.open_char();
            let kind = SyntaxErrorKind::Unclosed { open, opener: frame.span, close };
            self.report(stream, here.span(), kind);
        }
    }

    fn insert_comma(&mut self, stream: &mut TokenStream<'s>) {
        let here = RawToken { kind: RawKind::Comma, start: self.end, end: self.end };
        self.report(stream, here.span(), SyntaxErrorKind::MissingComma);
        self.emit(here, Token::Comma);
    }

    /// The token for a raw one other than a bracket.
    fn token(&mut self, stream: &mut TokenStream<'s>, raw: RawToken) -> Option<Token<'s>> {
        Some(match raw.kind {
            RawKind::Comma => Token::Comma,
            RawKind::Dot => Token::Dot,
            RawKind::Equals => Token::Equals,
            RawKind::Plus => Token::Plus,
            RawKind::Minus => Token::Minus,
            RawKind::Star => Token::Star,
            RawKind::Slash => Token::Slash,
            RawKind::Percent => Token::Percent,
            RawKind::Compare => self.comparison(stream, raw),
            RawKind::Name => self.name(stream, raw),
            RawKind::ForeignName => self.foreign_name(stream, raw),
            RawKind::Number => self.number(stream, raw),
            RawKind::Str(closed) => self.string(stream, raw, closed),
            RawKind::QuotedStr(_) => self.quoted_string(stream, raw),
            RawKind::Bad => self.bad(stream, raw),
            RawKind::BlockComment => {
                self.report(stream, raw.span(), SyntaxErrorKind::BlockComment);
                return None;
            }
            _ => return None,
        })
    }

    fn bad(&mut self, stream: &mut TokenStream<'s>, raw: RawToken) -> Token<'s> {
        let c = stream.text(raw).chars().next().unwrap_or_default();
        self.report(stream, raw.span(), SyntaxErrorKind::BadCharacter(c));
        Token::Bad
    }

    /// Reads a comparison. Only heads of blocks have one.
    fn comparison(&mut self, stream: &mut TokenStream<'s>, raw: RawToken) -> Token<'s> {
        if !matches!(self.tokens.first(), Some((_, Token::When, _))) {
            return self.bad(stream, raw);
        }
        Token::Compare(match stream.text(raw) {
            "<" => Relation::Less,
            ">" => Relation::Greater,
            ">=" => Relation::AtLeast,
            _ => Relation::AtMost,
        })
    }

    fn name(&mut self, stream: &mut TokenStream<'s>, raw: RawToken) -> Token<'s> {
        let text = stream.text(raw);
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
        // The name of a stage, which its model gives: `when.tree`.
        let is_stage = !self.frames.is_empty() && stream.kind(stream.next + 1) == Some(RawKind::Dot);
        if is_reserved(text) && !free && !is_stage && !stream.reported_words.contains(&text) {
            stream.reported_words.push(text);
            self.report(stream, raw.span(), SyntaxErrorKind::ReservedName(text.to_owned()));
        }
        Token::Name(text)
    }

    fn foreign_name(&mut self, stream: &mut TokenStream<'s>, raw: RawToken) -> Token<'s> {
        let text = stream.text(raw);
        if let Some((at, c)) = text.char_indices().find(|(_, c)| !c.is_ascii()) {
            let span = Span::new(raw.start + at, raw.start + at + c.len_utf8());
            self.report(stream, span, SyntaxErrorKind::BadCharacter(c));
        }
        Token::Name(text)
    }

    fn number(&mut self, stream: &mut TokenStream<'s>, raw: RawToken) -> Token<'s> {
        integer(stream.text(raw)).map_or_else(
            |kind| {
                self.report(stream, raw.span(), kind);
                Token::BadInt
            },
            Token::Int,
        )
    }

    fn string(&mut self, stream: &mut TokenStream<'s>, raw: RawToken, closed: bool) -> Token<'s> {
        let text = stream.text(raw);
        let inner = text.strip_prefix('"').unwrap_or(text);
        let inner = if closed { inner.strip_suffix('"').unwrap_or(inner) } else { inner };
        if !closed {
            self.report(stream, raw.span(), SyntaxErrorKind::UnterminatedString);
        }
        Token::Str(unescape(inner, raw.start + 1, |span, kind| {
            // Text after an unclosed quote is probably not a string.
            if closed {
                self.report(stream, span, kind);
            }
        }))
    }

    /// Reads a string in unsupported quotes.
    fn quoted_string(&mut self, stream: &mut TokenStream<'s>, raw: RawToken) -> Token<'s> {
        let mut inner = stream.text(raw).chars();
        inner.next();
        inner.next_back();
        let value = inner.as_str().to_owned();
        self.report(stream, raw.span(), SyntaxErrorKind::WrongQuotes(value.clone()));
        Token::Str(value)
    }

    /// Finishes the head of a block. `open` is the block's `{`; if it is missing, the parser assumes it.
    pub fn finish_head(
        mut self,
        stream: &mut TokenStream<'s>,
        open: Option<RawToken>,
        is_closed: bool,
    ) -> Statement<'s> {
        self.close_until(stream, |_| false);
        let here = RawToken { kind: RawKind::LBrace, start: self.end, end: self.end };
        if open.is_none() {
            self.report(stream, here.span(), SyntaxErrorKind::MissingBlock { is_closed });
        }
        self.emit(open.unwrap_or(here), Token::LBrace);
        let body = if self.too_deep { StatementBody::Unparsable } else { StatementBody::Tokens(self.tokens) };
        Statement { body, span: self.span, has_error: self.has_error }
    }

    /// Finishes the statement.
    pub fn finish(mut self, stream: &mut TokenStream<'s>) -> Statement<'s> {
        self.close_until(stream, |_| false);
        if self.open_arguments(stream, false) {
            self.tokens.push((self.end, Token::RParen, self.end));
        }
        self.add_keyword(stream);
        let body = if self.too_deep { StatementBody::Unparsable } else { StatementBody::Tokens(self.tokens) };
        Statement { body, span: self.span, has_error: self.has_error }
    }

    /// Adds the missing `(` to `parallel b0` and `tile batch, b0, b1, 64`, whose `)` may be written. Returns
    /// whether it did.
    fn open_arguments(&mut self, stream: &mut TokenStream<'s>, is_closed: bool) -> bool {
        let [(_, Token::Name(_), name_end), (start, second, _), rest @ ..] = self.tokens.as_slice() else {
            return false;
        };
        let third = rest.first().map(|(_, token, _)| token);
        let listed = matches!(third, None | Some(Token::Comma | Token::Dot | Token::LBracket));
        if !second.is_operand() || !listed {
            return false;
        }
        let (name_end, start) = (*name_end, *start);
        let blank = Span::new(name_end, start);
        self.tokens.insert(1, (start, Token::LParen, start));
        let kind = SyntaxErrorKind::MissingParens { blank, is_closed };
        self.report(stream, Span::new(start, self.end), kind);
        true
    }

    /// Adds a missing `param` to `ROWS = 64`.
    fn add_keyword(&mut self, stream: &mut TokenStream<'s>) {
        let [(start, Token::Name(name), end), (_, Token::Equals, _), ..] = self.tokens.as_slice() else {
            return;
        };
        let (start, end, name) = (*start, *end, (*name).to_owned());
        self.tokens.insert(0, (start, Token::Param, start));
        self.report(stream, Span::new(start, end), SyntaxErrorKind::MissingKeyword(name));
    }
}
