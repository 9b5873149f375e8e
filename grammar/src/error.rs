//! Syntax errors as plain data, and their messages.

use std::fmt;

use crate::ast::Span;
use crate::escape::escape;
use crate::token::RESERVED;

/// Deepest nesting of brackets and signs, and greatest depth of an expression's tree. It bounds the recursion
/// of all code that visits a tree.
pub const MAX_NESTING: usize = 64;

/// One mistake in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Stable code of the kind, `S0001` to `S0019`. Some kinds share one.
    pub code: &'static str,
    /// Span of the mistake; may be empty if something is missing.
    pub span: Span,
    /// Kind of the mistake.
    pub kind: SyntaxErrorKind,
}

/// Kinds of mistakes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyntaxErrorKind {
    /// Unexpected text.
    Unexpected {
        /// The text, in a user's terms: `` `b0` `` or "the end of the statement".
        found: String,
        /// Expected terms, in a user's words: `` `,` ``, "a value".
        expected: Vec<String>,
    },
    /// A string without its closing quote.
    UnterminatedString,
    /// A character that means nothing in the language, or one that a name cannot contain.
    BadCharacter(char),
    /// An integer beyond the range of 64 bits.
    IntegerTooLarge,
    /// An expression nested more than [`MAX_NESTING`] levels deep.
    TooDeep,
    /// Brackets that are not closed before the statement ends.
    Unclosed {
        /// The outermost unclosed bracket.
        open: char,
        /// Span of the bracket.
        opener: Span,
        /// The text that would close all open brackets.
        close: String,
    },
    /// A reserved word as the name of an index, param or const. Reported once for each word.
    ReservedName(String),
    /// A statement that begins with a word reserved for a later edition of the language.
    ReservedStatement(String),
    /// A number other than a whole decimal number, such as `0x10` or `1.5`.
    BadNumber(String),
    /// An unknown escape in a string.
    BadEscape(String),
    /// A closing bracket without an opening one.
    StrayClose(char),
    /// A closing bracket of another kind than the opening one.
    WrongClose {
        /// The written bracket.
        found: char,
        /// The bracket that matches the opening one.
        expected: char,
        /// Span of the opening bracket.
        opener: Span,
    },
    /// A block without an end.
    UnclosedBlock {
        /// Start of the block.
        opener: Span,
    },
    /// The head of a block without its `{`.
    MissingBlock {
        /// Whether a `}` follows that would close the block.
        is_closed: bool,
    },
    /// A block inside another one.
    NestedBlock,
    /// Two neighbouring values of a list without a comma.
    MissingComma,
    /// A directive whose arguments have no parentheses: `parallel b0`.
    MissingParens {
        /// The blank between the name and the arguments.
        blank: Span,
        /// Whether the closing parenthesis is written, as in `parallel b0)`.
        is_closed: bool,
    },
    /// `ROWS = 64` without `param` or `const`.
    MissingKeyword(String),
    /// Two statements on one line without `;`.
    MissingSeparator,
    /// A comment between `/*` and `*/`.
    BlockComment,
    /// A string in other quotes than `"`; the text between them.
    WrongQuotes(String),
    /// A word or number in quotes; the text between them.
    Quoted(String),
}

impl SyntaxErrorKind {
    /// The stable code of this kind.
    pub fn code(&self) -> &'static str {
        match self {
            SyntaxErrorKind::Unexpected { .. } | SyntaxErrorKind::MissingBlock { .. } => "S0001",
            SyntaxErrorKind::UnterminatedString => "S0002",
            SyntaxErrorKind::BadCharacter(_) | SyntaxErrorKind::BlockComment => "S0003",
            SyntaxErrorKind::IntegerTooLarge => "S0004",
            SyntaxErrorKind::TooDeep => "S0005",
            SyntaxErrorKind::Unclosed { .. } | SyntaxErrorKind::UnclosedBlock { .. } => "S0006",
            SyntaxErrorKind::ReservedName(_) => "S0007",
            SyntaxErrorKind::ReservedStatement(_) => "S0008",
            SyntaxErrorKind::BadNumber(_) => "S0009",
            SyntaxErrorKind::BadEscape(_) => "S0010",
            SyntaxErrorKind::StrayClose(_) => "S0011",
            SyntaxErrorKind::WrongClose { .. } => "S0012",
            SyntaxErrorKind::MissingComma => "S0013",
            SyntaxErrorKind::MissingParens { .. } => "S0014",
            SyntaxErrorKind::MissingKeyword(_) => "S0015",
            SyntaxErrorKind::MissingSeparator => "S0016",
            SyntaxErrorKind::WrongQuotes(_) => "S0017",
            SyntaxErrorKind::Quoted(_) => "S0018",
            SyntaxErrorKind::NestedBlock => "S0019",
        }
    }
}

/// A replacement of text that corrects a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxFix {
    /// Span to replace; empty to insert.
    pub span: Span,
    /// The new text.
    pub text: String,
}

impl SyntaxError {
    /// The error of `kind` at `span`.
    pub fn new(span: Span, kind: SyntaxErrorKind) -> Self {
        SyntaxError { code: kind.code(), span, kind }
    }

    /// The message, in one line without a full stop.
    pub fn message(&self) -> String {
        match &self.kind {
            SyntaxErrorKind::Unexpected { found, expected } if expected.is_empty() => {
                format!("unexpected {found}")
            }
            SyntaxErrorKind::Unexpected { found, expected } => {
                format!("expected {}, found {found}", alternatives(expected))
            }
            SyntaxErrorKind::UnterminatedString => "this string has no closing quote".to_owned(),
            SyntaxErrorKind::BadCharacter(c) if c.is_alphabetic() => {
                format!("`{c}` cannot be part of a name")
            }
            SyntaxErrorKind::BadCharacter(c) => {
                format!("unexpected character {}", quote_char(*c))
            }
            SyntaxErrorKind::IntegerTooLarge => "this number does not fit in 64 bits".to_owned(),
            SyntaxErrorKind::TooDeep => {
                format!("this expression is nested more than {MAX_NESTING} levels deep")
            }
            SyntaxErrorKind::Unclosed { open, .. } => format!("this statement does not close its `{open}`"),
            SyntaxErrorKind::UnclosedBlock { .. } => "this block is not closed with `}`".to_owned(),
            SyntaxErrorKind::MissingBlock { .. } => "expected `{` before the directives of `when`".to_owned(),
            SyntaxErrorKind::NestedBlock => "a `when` block cannot be inside another one".to_owned(),
            SyntaxErrorKind::ReservedName(word) => {
                format!("`{word}` is a reserved word and cannot be a name")
            }
            SyntaxErrorKind::ReservedStatement(word) => {
                format!("`{word}` is reserved for a later edition of the language")
            }
            SyntaxErrorKind::BadNumber(text) => format!("`{text}` is not a whole decimal number"),
            SyntaxErrorKind::BadEscape(text) => format!("`{text}` is not a known escape"),
            SyntaxErrorKind::StrayClose(c) => format!("this `{c}` has no opening bracket"),
            SyntaxErrorKind::WrongClose { found, expected, .. } => {
                format!("expected `{expected}`, found `{found}`")
            }
            SyntaxErrorKind::MissingComma => "a `,` is missing between two values".to_owned(),
            SyntaxErrorKind::MissingParens { is_closed: true, .. } => {
                "the `(` before the arguments is missing".to_owned()
            }
            SyntaxErrorKind::MissingParens { is_closed: false, .. } => {
                "the arguments of a directive need parentheses".to_owned()
            }
            SyntaxErrorKind::BlockComment => "comments begin with `//`, not with `/*`".to_owned(),
            SyntaxErrorKind::MissingKeyword(name) => {
                format!("to define `{name}`, write `param {name} = ...` or `const {name} = ...`")
            }
            SyntaxErrorKind::MissingSeparator => {
                "two statements on one line need a `;` between them".to_owned()
            }
            SyntaxErrorKind::WrongQuotes(_) => "strings need straight double quotes".to_owned(),
            SyntaxErrorKind::Quoted(_) => "names, words and numbers take no quotes".to_owned(),
        }
    }

    /// Advice in one or two sentences, if there is any.
    pub fn help(&self) -> Option<String> {
        Some(match &self.kind {
            SyntaxErrorKind::Unexpected { found, expected } => return unexpected_help(found, expected),
            SyntaxErrorKind::UnterminatedString => "Close the string with `\"` on the same line.".to_owned(),
            SyntaxErrorKind::BadCharacter(c) => character_help(*c)?.to_owned(),
            SyntaxErrorKind::IntegerTooLarge => format!("The largest number is {}.", i64::MAX),
            SyntaxErrorKind::TooDeep => "Give a part of it a name with `const`.".to_owned(),
            SyntaxErrorKind::Unclosed { close, .. } => format!("Write `{close}` here."),
            SyntaxErrorKind::UnclosedBlock { .. } => {
                "Write `}` on the line after its last directive.".to_owned()
            }
            SyntaxErrorKind::MissingBlock { .. } => MISSING_BLOCK_HELP.to_owned(),
            SyntaxErrorKind::NestedBlock => {
                "Close the outer block first. If several blocks cover a call, the one with the smallest \
                 bound applies."
                    .to_owned()
            }
            SyntaxErrorKind::ReservedName(_) => {
                let [words @ .., last] = RESERVED;
                format!("Choose another name. The reserved words are {} and {last}.", words.join(", "))
            }
            SyntaxErrorKind::ReservedStatement(_) => "Remove the statement.".to_owned(),
            SyntaxErrorKind::BadNumber(_) => {
                "Numbers are whole and decimal. `_` may separate digits, as in `1_000`.".to_owned()
            }
            SyntaxErrorKind::BadEscape(_) => {
                "Write `\\\\` for a backslash. Paths may use `/` on every system.".to_owned()
            }
            SyntaxErrorKind::StrayClose(c) => format!("Remove the `{c}`, or add the opening bracket."),
            SyntaxErrorKind::WrongClose { expected, .. } => format!("Write `{expected}` instead."),
            SyntaxErrorKind::MissingComma => "Insert a `,`.".to_owned(),
            SyntaxErrorKind::MissingParens { is_closed: true, .. } => {
                "Write `(` directly after the name.".to_owned()
            }
            SyntaxErrorKind::MissingParens { is_closed: false, .. } => {
                "Put `(` and `)` around the arguments.".to_owned()
            }
            SyntaxErrorKind::BlockComment => {
                "Write `// ...`, on each line of the comment. It ends at the end of the line.".to_owned()
            }
            SyntaxErrorKind::MissingKeyword(name) => {
                format!(
                    "Write `param {name} = ...` for a tunable number, `const {name} = ...` for a fixed \
                         one."
                )
            }
            SyntaxErrorKind::MissingSeparator => {
                "Insert a `;`, or put the second statement on a line of its own.".to_owned()
            }
            SyntaxErrorKind::WrongQuotes(value) => format!("Write `{}`.", escape(value)),
            SyntaxErrorKind::Quoted(text) => format!("Write `{text}`."),
        })
    }

    /// A related place, with a note.
    pub fn related(&self) -> Option<(Span, &'static str)> {
        match self.kind {
            SyntaxErrorKind::Unclosed { opener, .. }
            | SyntaxErrorKind::UnclosedBlock { opener }
            | SyntaxErrorKind::WrongClose { opener, .. } => Some((opener, "opened here")),
            _ => None,
        }
    }

    /// Replacements in the order of the text that correct the mistake, if the obvious reading is intended.
    pub fn fixes(&self) -> Vec<SyntaxFix> {
        let insert =
            |at: u32, text: &str| SyntaxFix { span: Span { start: at, end: at }, text: text.to_owned() };
        let replace = |text: String| SyntaxFix { span: self.span, text };
        match &self.kind {
            SyntaxErrorKind::UnterminatedString => vec![insert(self.span.end, "\"")],
            SyntaxErrorKind::Unclosed { close, .. } => vec![insert(self.span.end, close)],
            SyntaxErrorKind::UnclosedBlock { .. } => vec![insert(self.span.end, "\n}")],
            SyntaxErrorKind::MissingBlock { is_closed: true } => vec![insert(self.span.end, " {")],
            SyntaxErrorKind::MissingBlock { is_closed: false } => vec![insert(self.span.end, " {\n}")],
            SyntaxErrorKind::StrayClose(_) => vec![replace(String::new())],
            SyntaxErrorKind::WrongClose { expected, .. } => vec![replace(expected.to_string())],
            SyntaxErrorKind::MissingComma => vec![insert(self.span.start, ",")],
            SyntaxErrorKind::MissingParens { blank, is_closed } => {
                let open = SyntaxFix { span: *blank, text: "(".to_owned() };
                let close = (!is_closed).then(|| insert(self.span.end, ")"));
                std::iter::once(open).chain(close).collect()
            }
            SyntaxErrorKind::MissingKeyword(_) => vec![insert(self.span.start, "param ")],
            SyntaxErrorKind::MissingSeparator => vec![insert(self.span.start, "; ")],
            SyntaxErrorKind::WrongQuotes(value) => vec![replace(escape(value))],
            SyntaxErrorKind::Quoted(text) => vec![replace(text.clone())],
            SyntaxErrorKind::BadEscape(text) => vec![replace(format!("\\{text}"))],
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message())
    }
}

impl std::error::Error for SyntaxError {}

/// "a", "a or b", "a, b or c".
fn alternatives(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

/// A character for display: itself if it is visible, else its number.
fn quote_char(c: char) -> String {
    if is_visible(c) { format!("`{c}`") } else { format!("U+{:04X}", u32::from(c)) }
}

fn is_visible(c: char) -> bool {
    let formatting = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}');
    !c.is_control() && !c.is_whitespace() && !formatting
}

/// Advice about a character that people often type or paste by mistake.
fn character_help(c: char) -> Option<&'static str> {
    Some(match c {
        '“' | '”' | '„' | '«' | '»' | '\'' | '‘' | '’' | '`' => {
            "Write strings in straight double quotes: `\"`."
        }
        '−' | '–' | '—' => "Write the minus sign as `-`.",
        '×' | '·' => "Write the multiplication sign as `*`.",
        '÷' => "Write the division sign as `/`.",
        '，' => "Write the comma as `,`.",
        ':' => "To name one copy of a loop, write a dot, as in `first.b1`.",
        '\\' => "A statement continues on the next line inside its parentheses, without `\\`.",
        '<' | '>' => "Only the head of a block compares numbers, as in `when n_rows <= 8 { ... }`.",
        c if c.is_alphabetic() => "Names consist of the letters a to z and A to Z, digits and `_`.",
        c if !is_visible(c) => "Remove it. It is invisible and may come from a copied text.",
        _ => return None,
    })
}

/// Advice for an error that only lists expected terms.
fn unexpected_help(found: &str, expected: &[String]) -> Option<String> {
    if found == "`=`" && expected.iter().any(|term| term == "`)`") {
        return Some("Arguments have no names here: write the value alone.".to_owned());
    }
    let only = match expected {
        [only] => only.as_str(),
        _ => return None,
    };
    Some(match only {
        STRING_TERM => "Write the file name in double quotes, as in `model \"higgs.json\"`. A fingerprint \
                        may follow it, as in \
                        `\"sha256:...\"`."
            .to_owned(),
        "`(`" => "Arguments are in parentheses, as in `tile(batch, b0, b1, 64)` or `gpu(sm_90)`.".to_owned(),
        "`{`" => "Write the values in braces, as in `param ROWS = 64 in {32, 64}`.".to_owned(),
        "`<=`" => "Write the condition as in `when n_rows <= 8 { ... }`.".to_owned(),
        NAME_TERM => {
            "A name consists of letters, digits and `_`. After the name of a stage or of a copy comes \
                      that of a loop, as in `layer1.unit`."
                .to_owned()
        }
        BLOCK_START_TERM => MISSING_BLOCK_HELP.to_owned(),
        STATEMENT_END_TERM => "Put the rest on a line of its own, or remove it.".to_owned(),
        _ => return None,
    })
}

/// Term for a string literal in messages. Only `model` takes one.
pub(crate) const STRING_TERM: &str = "a string in quotes";
/// Term for a name in messages.
pub(crate) const NAME_TERM: &str = "a name";
/// Term for the end of a statement in messages.
pub(crate) const STATEMENT_END_TERM: &str = "the end of the statement";
/// Term for the start of a block in messages.
pub(crate) const BLOCK_START_TERM: &str = "the `{` of the block";
/// Advice if the start of a block is missing.
const MISSING_BLOCK_HELP: &str =
    "Write the directives in braces, as in `when n_rows <= 8 { parallel(tree) }`.";
