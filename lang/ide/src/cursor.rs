//! The construct at the cursor, in texts that may be incomplete.

use sched_grammar::ast::{ScheduleStmt, Span};
use sched_grammar::{LexemeKind, lexemes};
use sched_lang::part::block_at;

use super::Analysis;

/// The construct at the cursor.
#[derive(Debug)]
pub(crate) enum AtCursor<'a> {
    /// The first word of a statement.
    Statement(Typed<'a>),
    /// An argument between the brackets of a directive or of `target cpu(...)`.
    Call(CallAt<'a>),
    /// A word of a header line after the first one.
    Header {
        /// The first word.
        keyword: &'a str,
        /// Number of tokens between the first word and the word being written.
        words: usize,
        /// The word being written.
        typed: Typed<'a>,
    },
    /// A position at which nothing can be completed.
    Nowhere,
}

/// A word being written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Typed<'a> {
    /// The whole word, including its part after the cursor; empty if there is no word.
    pub span: Span,
    /// The statement that contains the word.
    pub stmt: Option<&'a ScheduleStmt>,
}

/// A call being written.
#[derive(Debug)]
pub(crate) struct CallAt<'a> {
    /// The statement.
    pub stmt: &'a ScheduleStmt,
    /// The name before the brackets: that of a directive or of a target.
    pub name: &'a str,
    /// Whether the call is in a header line, after a keyword such as `target`.
    pub in_header: bool,
    /// The spans of the arguments in order, without surrounding blanks.
    pub arguments: Vec<Span>,
    /// The index of the argument in which the cursor is.
    pub at: usize,
    /// If the cursor is between the brackets of a function in that argument: the function's name, and the
    /// index of its argument.
    pub function: Option<(&'a str, usize)>,
}

struct CursorToken<'a> {
    kind: LexemeKind,
    span: Span,
    text: &'a str,
}

/// The construct at `offset`.
pub(crate) fn cursor(analysis: &Analysis, offset: usize) -> AtCursor<'_> {
    let source = analysis.source();
    if !source.is_char_boundary(offset) || analysis.comment_at(offset).is_some() {
        return AtCursor::Nowhere;
    }
    let file = &analysis.parsed().file;
    let inside = block_at(source, file, offset);
    let (stmts, end) = match &inside {
        Some(inside) => (&inside.block.when.body, inside.end),
        None => (&file.stmts, source.len()),
    };
    let before = stmts.partition_point(|stmt| (stmt.span.start as usize) < offset);
    let stmt = before.checked_sub(1).and_then(|at| stmts.get(at));
    let Some(stmt) = stmt else {
        let here = word(source, offset, is_name);
        return AtCursor::Statement(Typed {
            span: here,
            stmt: stmts.first().filter(|stmt| stmt.span.start == here.start && here.start < here.end),
        });
    };
    let next = stmts.get(before).map_or(end, |next| next.span.start as usize);
    let end = next.max(offset);
    let tokens = tokens(source, stmt.span.start as usize, end);
    let left = tokens.partition_point(|token| (token.span.start as usize) < offset);
    let (left, rest) = tokens.split_at(left);
    if let Some(call) = call(stmt, left, rest) {
        return AtCursor::Call(call);
    }
    let between = source.get(stmt.span.end as usize..offset).unwrap_or_default();
    if between.contains(['\n', ';']) {
        return AtCursor::Statement(Typed { span: word(source, offset, is_name), stmt: None });
    }
    let typed = Typed { span: word(source, offset, is_name), stmt: Some(stmt) };
    match left {
        [] => AtCursor::Nowhere,
        [only] if offset <= only.span.end as usize => AtCursor::Statement(typed),
        [first, ..] => {
            let is_typed = left.last().is_some_and(|last| offset <= last.span.end as usize);
            let in_text = left.last().is_some_and(|last| last.kind == LexemeKind::Text) && is_typed;
            let words = left.len() - 1 - usize::from(is_typed && typed.span.start < typed.span.end);
            if in_text { AtCursor::Nowhere } else { AtCursor::Header { keyword: first.text, words, typed } }
        }
    }
}

fn tokens(source: &str, start: usize, end: usize) -> Vec<CursorToken<'_>> {
    let Some(text) = source.get(start..end) else { return Vec::new() };
    let token = |lexeme: sched_grammar::Lexeme| {
        let span = Span::new(lexeme.span.start as usize + start, lexeme.span.end as usize + start);
        CursorToken { kind: lexeme.kind, span, text: source.get(span.range()).unwrap_or_default() }
    };
    lexemes(text).into_iter().map(token).collect()
}

/// The call in whose brackets the cursor is.
fn call<'a>(
    stmt: &'a ScheduleStmt,
    left: &[CursorToken<'a>],
    rest: &[CursorToken<'a>],
) -> Option<CallAt<'a>> {
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, token) in left.iter().enumerate() {
        match token.kind {
            LexemeKind::Open => open.push((at, 0)),
            LexemeKind::Close => drop(open.pop()),
            LexemeKind::Comma => open.iter_mut().last().into_iter().for_each(|(_, commas)| *commas += 1),
            _ => {}
        }
    }
    let (paren, at) = *open.first()?;
    let name = left.get(paren.checked_sub(1)?)?;
    if name.kind != LexemeKind::Name || paren > 2 || left.get(paren)?.text != "(" {
        return None;
    }
    let innermost = open.last().filter(|_| open.len() > 1);
    let in_brackets = innermost.and_then(|(at, _)| left.get(*at)).is_some_and(|token| token.text == "[");
    let function = innermost.filter(|_| !in_brackets).and_then(|(at, commas)| {
        let name = left.get(at.checked_sub(1)?).filter(|token| token.kind == LexemeKind::Name)?;
        Some((name.text, *commas))
    });
    let arguments = arguments(left.get(paren + 1..).unwrap_or_default().iter().chain(rest));
    Some(CallAt { stmt, name: name.text, in_header: paren == 2, arguments, at, function })
}

/// The arguments after an opening bracket, up to its closing bracket or the end. An empty argument has an
/// empty span.
fn arguments<'t, 'a: 't>(tokens: impl Iterator<Item = &'t CursorToken<'a>>) -> Vec<Span> {
    let mut all = Vec::new();
    let mut now: Option<Span> = None;
    let mut depth = 0_usize;
    for token in tokens {
        match token.kind {
            LexemeKind::Open => depth += 1,
            LexemeKind::Close if depth == 0 => break,
            LexemeKind::Close => depth -= 1,
            LexemeKind::Comma if depth == 0 => {
                all.push(now.take().unwrap_or(Span { start: token.span.start, end: token.span.start }));
                continue;
            }
            _ => {}
        }
        now = Some(now.map_or(token.span, |before| before.to(token.span)));
    }
    all.extend(now);
    all
}

/// The longest span around `offset` whose characters all satisfy `wanted`.
pub(crate) fn word(source: &str, offset: usize, wanted: fn(char) -> bool) -> Span {
    let (left, right) = source.split_at_checked(offset).unwrap_or((source, ""));
    let start = left.trim_end_matches(wanted).len();
    let end = source.len().min(offset) + right.len() - right.trim_start_matches(wanted).len();
    Span::new(start, end)
}

/// Characters of names and numbers.
pub(crate) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Characters of the names of copies: `head.t0[1].b1`.
pub(crate) fn is_path(c: char) -> bool {
    is_name(c) || matches!(c, '.' | '[' | ']')
}
