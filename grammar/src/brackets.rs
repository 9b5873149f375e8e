//! Brackets: their kinds, and the closing bracket of each opening one in the whole text.

use crate::lexer::{RawKind, RawToken};
use crate::token::Token;

/// The three kinds of brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bracket {
    Paren,
    Square,
    Brace,
}

impl Bracket {
    /// The kind that `raw` opens.
    pub fn opened_by(raw: RawKind) -> Option<Bracket> {
        match raw {
            RawKind::LParen => Some(Bracket::Paren),
            RawKind::LBracket => Some(Bracket::Square),
            RawKind::LBrace => Some(Bracket::Brace),
            _ => None,
        }
    }

    /// The kind that `raw` closes.
    pub fn closed_by(raw: RawKind) -> Option<Bracket> {
        match raw {
            RawKind::RParen => Some(Bracket::Paren),
            RawKind::RBracket => Some(Bracket::Square),
            RawKind::RBrace => Some(Bracket::Brace),
            _ => None,
        }
    }

    pub fn open_char(self) -> char {
        match self {
            Bracket::Paren => '(',
            Bracket::Square => '[',
            Bracket::Brace => '{',
        }
    }

    pub fn close_char(self) -> char {
        match self {
            Bracket::Paren => ')',
            Bracket::Square => ']',
            Bracket::Brace => '}',
        }
    }

    pub fn open_token(self) -> Token<'static> {
        match self {
            Bracket::Paren => Token::LParen,
            Bracket::Square => Token::LBracket,
            Bracket::Brace => Token::LBrace,
        }
    }

    pub fn close_token(self) -> Token<'static> {
        match self {
            Bracket::Paren => Token::RParen,
            Bracket::Square => Token::RBracket,
            Bracket::Brace => Token::RBrace,
        }
    }
}

/// Number of open brackets of each kind. A closing bracket finds out in constant time whether it has a
/// partner.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenBrackets([usize; 3]);

impl OpenBrackets {
    pub fn add(&mut self, kind: Bracket) {
        self.0[kind as usize] += 1;
    }

    pub fn remove(&mut self, kind: Bracket) {
        self.0[kind as usize] = self.0[kind as usize].saturating_sub(1);
    }

    pub fn has(&self, kind: Bracket) -> bool {
        self.0[kind as usize] > 0
    }
}

/// For each opening bracket, the index of its closing bracket anywhere in the text; `None` for other tokens.
pub(crate) fn partners(tokens: &[RawToken]) -> Vec<Option<usize>> {
    let mut partner = vec![None; tokens.len()];
    let mut stack: Vec<(usize, Bracket)> = Vec::new();
    let mut open = OpenBrackets::default();
    for (index, token) in tokens.iter().enumerate() {
        if let Some(kind) = Bracket::opened_by(token.kind) {
            stack.push((index, kind));
            open.add(kind);
        } else if let Some(kind) = Bracket::closed_by(token.kind).filter(|&kind| open.has(kind)) {
            while let Some((opener, opened)) = stack.pop() {
                open.remove(opened);
                if opened == kind {
                    partner[opener] = Some(index);
                    break;
                }
            }
        }
    }
    partner
}
