//! Raw tokens and comments of a text. The lexer accepts any text: unknown characters become tokens too. So
//! later stages see every byte except blanks and comments.

use logos::{Lexer, Logos};

use crate::ast::{Comment, Span};

/// The kinds of raw tokens.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\x0c]+")]
pub(crate) enum RawKind {
    #[token("\n")]
    Newline,
    #[token(";")]
    Semicolon,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token(",")]
    Comma,
    #[token(".")]
    Dot,
    #[token("=")]
    Equals,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    /// A comparison with angle brackets.
    #[regex("[<>]=?")]
    Compare,
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*", priority = 10)]
    Name,
    /// A name with non-ASCII letters. As one token, it gives one error.
    #[regex(r"[\p{XID_Start}_]\p{XID_Continue}*", priority = 5)]
    ForeignName,
    /// Text that begins like a number, including `0x10`, `1.5` and `2e3`. The parser refuses these later.
    #[regex(r"[0-9][0-9A-Za-z_]*(\.[0-9][0-9A-Za-z_]*)?")]
    Number,
    /// A string; the flag tells whether it has a closing quote.
    #[token("\"", string)]
    Str(bool),
    /// Text in typographic or single quotes, as word processors and other languages write strings; the flag
    /// tells whether it has a closing quote.
    #[regex("[“”„«»'‘’]", other_quotes)]
    QuotedStr(bool),
    #[regex(r"(//|#)[^\n]*", allow_greedy = true)]
    Comment,
    /// A comment as other languages write it, from `/*` to `*/` or to the end of the line.
    #[token("/*", block_comment)]
    BlockComment,
    /// One or more adjacent characters that begin no token.
    Bad,
}

/// Moves to the end of the string, at the closing quote or before the end of the line.
fn string(lexer: &mut Lexer<RawKind>) -> bool {
    let rest = lexer.remainder();
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'\n' => {
                let line = &rest[..at];
                lexer.bump(line.strip_suffix('\r').unwrap_or(line).len());
                return false;
            }
            b'"' if !escaped => {
                lexer.bump(at + 1);
                return true;
            }
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    lexer.bump(rest.len());
    false
}

/// Moves to the end of a string in other quotes. Without a closing quote on the line, the opening quote is
/// the token.
fn other_quotes(lexer: &mut Lexer<RawKind>) -> bool {
    let quotes: &[char] = if matches!(lexer.slice(), "'" | "‘" | "’") {
        &['\'', '‘', '’']
    } else {
        &['“', '”', '„', '«', '»']
    };
    let rest = lexer.remainder();
    match rest.find(|c| c == '\n' || quotes.contains(&c)).map(|at| (at, rest[at..].chars().next())) {
        Some((at, Some(quote))) if quote != '\n' => {
            lexer.bump(at + quote.len_utf8());
            true
        }
        _ => false,
    }
}

/// Moves to the end of a comment between `/*` and `*/`, or before the end of the line.
fn block_comment(lexer: &mut Lexer<RawKind>) {
    let line = lexer.remainder().lines().next().unwrap_or_default();
    lexer.bump(line.find("*/").map_or(line.len(), |end| end + "*/".len()));
}

/// A raw token with its byte range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawToken {
    pub kind: RawKind,
    pub start: usize,
    pub end: usize,
}

impl RawToken {
    pub fn span(&self) -> Span {
        Span::new(self.start, self.end)
    }
}

/// The length of a byte-order mark at the start of `source`.
pub(crate) fn bom_len(source: &str) -> usize {
    if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// All raw tokens of `source` in order, and its comments.
pub(crate) fn lex(source: &str) -> (Vec<RawToken>, Vec<Comment>) {
    let mut tokens: Vec<RawToken> = Vec::new();
    let mut comments = Vec::new();
    let mut lexer = RawKind::lexer(source);
    lexer.bump(bom_len(source));
    while let Some(kind) = lexer.next() {
        let range = lexer.span();
        match kind {
            Ok(RawKind::Comment) => {
                let text = lexer.slice().trim_end_matches('\r');
                let span = Span::new(range.start, range.start + text.len());
                comments.push(Comment { text: text.to_owned(), span });
            }
            Ok(RawKind::QuotedStr(false)) | Err(()) => match tokens.last_mut() {
                Some(last) if last.kind == RawKind::Bad && last.end == range.start => last.end = range.end,
                _ => tokens.push(RawToken { kind: RawKind::Bad, start: range.start, end: range.end }),
            },
            Ok(kind) => tokens.push(RawToken { kind, start: range.start, end: range.end }),
        }
    }
    (tokens, comments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<RawKind> {
        lex(source).0.into_iter().map(|token| token.kind).collect()
    }

    fn texts(source: &str) -> Vec<&str> {
        lex(source).0.into_iter().map(|token| &source[token.start..token.end]).collect()
    }

    #[test]
    fn punctuation_names_and_numbers() {
        assert_eq!(texts("a1.b_[3]/2%N_t"), ["a1", ".", "b_", "[", "3", "]", "/", "2", "%", "N_t"]);
        assert_eq!(texts("1_000 0x10 1.5 2e3 3.x"), ["1_000", "0x10", "1.5", "2e3", "3", ".", "x"]);
    }

    #[test]
    fn comments_are_kept_beside_the_tokens() {
        let (tokens, comments) = lex("a // one\r\n# two\n/ b");
        assert_eq!(tokens.len(), 5);
        let texts: Vec<_> = comments.iter().map(|c| (c.text.as_str(), c.span.range())).collect();
        assert_eq!(texts, [("// one", 2..8), ("# two", 10..15)]);
    }

    #[test]
    fn strings_end_at_the_quote_or_at_the_line() {
        assert_eq!(kinds(r#""a // b" "c\"d" "e\\""#), [RawKind::Str(true); 3]);
        assert_eq!(kinds("\"a\r\n\"b"), [RawKind::Str(false), RawKind::Newline, RawKind::Str(false)]);
        assert_eq!(texts("\"a\r\n\"b\\"), ["\"a", "\n", "\"b\\"]);
        assert_eq!(kinds("\"é\\é\""), [RawKind::Str(true)]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_start_only() {
        let (tokens, _) = lex("\u{feff}a");
        assert_eq!(tokens, [RawToken { kind: RawKind::Name, start: 3, end: 4 }]);
        assert_eq!(kinds("a\u{feff}"), [RawKind::Name, RawKind::Bad]);
    }

    #[test]
    fn unknown_characters_become_one_token_each_run() {
        assert_eq!(texts("a @§ $ größe"), ["a", "@§", "$", "größe"]);
        assert_eq!(kinds("a @§ $ größe"), [RawKind::Name, RawKind::Bad, RawKind::Bad, RawKind::ForeignName]);
    }
}
