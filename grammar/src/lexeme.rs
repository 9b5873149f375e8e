//! Words and signs of a text as written, for tools that rearrange text and ignore its meaning.

use crate::ast::Span;
use crate::brackets::Bracket;
use crate::lexer::{RawKind, lex};

/// Kind of a lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LexemeKind {
    /// A name or a word of the language.
    Name,
    /// A number.
    Number,
    /// A string.
    Text,
    /// An opening bracket of any kind.
    Open,
    /// A closing bracket of any kind.
    Close,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `=`, a comparison or an arithmetic operator.
    Operator,
    /// Text that is not a token.
    Bad,
}

/// A word or sign with its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// Kind of the word or sign.
    pub kind: LexemeKind,
    /// Span of the word or sign.
    pub span: Span,
}

/// All words and signs of `source` in order, without comments, blanks, line ends and `;`.
pub fn lexemes(source: &str) -> Vec<Lexeme> {
    let (tokens, _) = lex(source);
    let known = tokens.into_iter().filter_map(|token| {
        let kind = match token.kind {
            RawKind::Newline | RawKind::Semicolon | RawKind::Comment | RawKind::BlockComment => {
                return None;
            }
            RawKind::Name | RawKind::ForeignName => LexemeKind::Name,
            RawKind::Number => LexemeKind::Number,
            RawKind::Str(_) | RawKind::QuotedStr(_) => LexemeKind::Text,
            RawKind::Comma => LexemeKind::Comma,
            RawKind::Dot => LexemeKind::Dot,
            RawKind::Equals
            | RawKind::Plus
            | RawKind::Minus
            | RawKind::Star
            | RawKind::Slash
            | RawKind::Percent
            | RawKind::Compare => LexemeKind::Operator,
            raw if Bracket::opened_by(raw).is_some() => LexemeKind::Open,
            raw if Bracket::closed_by(raw).is_some() => LexemeKind::Close,
            _ => LexemeKind::Bad,
        };
        Some(Lexeme { kind, span: token.span() })
    });
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_blanks_comments_and_separators() {
        let source = "model \"a b\" // c\n;f(x[1], -é@)";
        let all = lexemes(source);
        let texts: Vec<&str> = all.iter().map(|lexeme| &source[lexeme.span.range()]).collect();
        assert_eq!(texts, ["model", "\"a b\"", "f", "(", "x", "[", "1", "]", ",", "-", "é", "@", ")"]);
        assert_eq!(all[1].kind, LexemeKind::Text);
        assert_eq!(all[11].kind, LexemeKind::Bad);
    }
}
