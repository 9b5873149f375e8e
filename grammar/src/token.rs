//! The tokens that the grammar sees, after the layout pass has cut the text into statements.

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
    /// A number that was refused; an error has been reported.
    BadInt,
    /// A string with its escapes resolved.
    Str(String),
    Sched,
    Model,
    Target,
    Param,
    Const,
    In,
    /// Text that is no token. No rule accepts it, so the parser recovers there.
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

/// The words that begin a header line.
pub(crate) fn header_word(name: &str) -> Option<Token<'static>> {
    Some(match name {
        "sched" => Token::Sched,
        "model" => Token::Model,
        "target" => Token::Target,
        "param" => Token::Param,
        "const" => Token::Const,
        _ => return None,
    })
}

/// Whether `name` is kept for a later edition of the language: `use`, `def`, `when`, `require`, `tune`.
pub fn is_reserved_for_later(name: &str) -> bool {
    matches!(name, "use" | "def" | "when" | "require" | "tune")
}

/// Whether `name` belongs to the language, so that no index, param or const may have it.
pub fn is_reserved(name: &str) -> bool {
    name == "in" || header_word(name).is_some() || is_reserved_for_later(name)
}
