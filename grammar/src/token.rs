//! Tokens of the grammar, after the layout pass cut the text into statements.

use crate::ast::Relation;

/// A token of one statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'s> {
    LParen,
    RParen,
    LBrace,
    RBrace,
    LBracket,
    RBracket,
    Comma,
    Dot,
    Equals,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Name(&'s str),
    Int(i64),
    /// A refused number. The error was reported.
    BadInt,
    /// A string with resolved escapes.
    Str(String),
    Sched,
    Model,
    Target,
    Param,
    Const,
    When,
    In,
    /// A comparison other than `=`.
    Compare(Relation),
    /// Text that is not a token. No rule accepts it, so the parser recovers there.
    Bad,
}

impl Token<'_> {
    /// Whether an operand may end with this token.
    pub fn ends_operand(&self) -> bool {
        matches!(
            self,
            Token::Name(_) | Token::Int(_) | Token::BadInt | Token::RParen | Token::RBracket | Token::RBrace
        )
    }

    /// Whether this token begins a header line.
    pub fn is_header(&self) -> bool {
        matches!(self, Token::Sched | Token::Model | Token::Target | Token::Param | Token::Const)
    }

    /// Whether this token is an operand or its first token, brackets and signs aside.
    pub fn is_operand(&self) -> bool {
        matches!(self, Token::Name(_) | Token::Int(_) | Token::BadInt)
    }
}

/// A token with its byte range, in the form that LALRPOP reads.
pub(crate) type Spanned<'s> = (usize, Token<'s>, usize);

/// The token of a word that begins a statement other than a directive.
pub(crate) fn first_word(name: &str) -> Option<Token<'static>> {
    Some(match name {
        "sched" => Token::Sched,
        "model" => Token::Model,
        "target" => Token::Target,
        "param" => Token::Param,
        "const" => Token::Const,
        "when" => Token::When,
        _ => return None,
    })
}

/// Whether `name` is reserved for a later edition of the language: `use`, `def`, `require`, `tune`.
pub fn is_reserved_for_later(name: &str) -> bool {
    matches!(name, "use" | "def" | "require" | "tune")
}

/// Words that begin a statement other than a directive, or are reserved for a later edition.
pub const RESERVED: [&str; 11] =
    ["sched", "model", "target", "param", "const", "in", "use", "def", "when", "require", "tune"];

/// Whether `name` is reserved, so that no index, param or const may have it.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}
