//! Semantic tokens: the kind of each word of the text.

use sched_grammar::ast::Span;
use sched_grammar::{LexemeKind, is_reserved, lexemes};

use super::Analysis;
use super::names::{NameKind, NameMeaning, Occurrence};
use sched_nest::Axis;

/// A word of the text, on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SemanticToken {
    /// The position of the word.
    pub span: Span,
    /// The kind of word.
    pub kind: TokenKind,
    /// Further properties.
    pub modifiers: TokenModifiers,
}

/// The kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// An existing directive.
    Directive,
    /// A function of expressions.
    Function,
    /// A loop over rows.
    RowIndex,
    /// A loop over trees.
    TreeIndex,
    /// A param.
    Param,
    /// A const.
    Const,
    /// A number that the language names, such as `num_trees`.
    Property,
    /// A number.
    Number,
    /// A string.
    Text,
    /// A word that begins a header line, or `in`.
    Keyword,
    /// A word that a directive or the target line takes.
    Word,
    /// A comment.
    Comment,
}

/// Further properties of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TokenModifiers {
    /// Whether the word declares a name.
    pub declaration: bool,
    /// Whether the language names the object, not the text.
    pub built_in: bool,
}

/// All words that mean something, in the order of the text.
pub fn semantic_tokens(a: &Analysis) -> Vec<SemanticToken> {
    let names = a.names();
    let mut occurrences = names.all().iter().peekable();
    let mut tokens = Vec::new();
    for lexeme in lexemes(a.source()) {
        while occurrences.next_if(|occurrence| occurrence.span.end <= lexeme.span.start).is_some() {}
        let inside = occurrences.peek().filter(|occurrence| occurrence.span.start <= lexeme.span.start);
        let found = match (lexeme.kind, inside) {
            (LexemeKind::Name | LexemeKind::Number, Some(occurrence)) => {
                named(names.meaning(occurrence), occurrence)
            }
            (LexemeKind::Name, None) if is_reserved(a.text(lexeme.span)) => Some(plain(TokenKind::Keyword)),
            (LexemeKind::Number, None) => Some(plain(TokenKind::Number)),
            (LexemeKind::Text, _) => Some(plain(TokenKind::Text)),
            _ => None,
        };
        tokens.extend(found.map(|(kind, modifiers)| SemanticToken { span: lexeme.span, kind, modifiers }));
    }
    let (kind, modifiers) = plain(TokenKind::Comment);
    let comments = a.parsed().comments.iter();
    tokens.extend(comments.map(|comment| SemanticToken { span: comment.span, kind, modifiers }));
    tokens.sort_by_key(|token| token.span);
    tokens
}

fn plain(kind: TokenKind) -> (TokenKind, TokenModifiers) {
    (kind, TokenModifiers::default())
}

/// The kind of a name; `None` for a name without a meaning.
fn named(named: &NameMeaning, occurrence: &Occurrence) -> Option<(TokenKind, TokenModifiers)> {
    let kind = match named.kind {
        NameKind::Root | NameKind::Index if named.axis == Some(Axis::Tree) => TokenKind::TreeIndex,
        NameKind::Root | NameKind::Index => TokenKind::RowIndex,
        NameKind::Param => TokenKind::Param,
        NameKind::Const => TokenKind::Const,
        NameKind::Property => TokenKind::Property,
        NameKind::Function if sched_lang::resolve::FUNCTIONS.contains(&named.name.as_str()) => {
            TokenKind::Function
        }
        NameKind::Directive if sched_lang::directives::find(&named.name).is_some() => TokenKind::Directive,
        NameKind::Word => TokenKind::Word,
        NameKind::Function | NameKind::Directive | NameKind::Undeclared => return None,
    };
    let built_in = matches!(named.kind, NameKind::Root | NameKind::Property | NameKind::Function);
    Some((kind, TokenModifiers { declaration: occurrence.declares, built_in }))
}
