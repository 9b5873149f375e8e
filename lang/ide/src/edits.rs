//! Edits that change no more than they must.

use sched_grammar::ast::Span;

use super::Edit;

/// The edit that turns the text at `span` into `new`, without their common beginning and end.
pub(super) fn replace(source: &str, span: Span, new: &str) -> Option<Edit> {
    let old = source.get(span.range())?;
    if old == new {
        return None;
    }
    let mut front = common(old.chars().zip(new.chars()));
    front -= splits_line_end(old, front).max(splits_line_end(new, front));
    let (old_rest, new_rest) = (&old[front..], &new[front..]);
    let mut back = common(old_rest.chars().rev().zip(new_rest.chars().rev()));
    let ends = [(old, old.len() - back), (new, new.len() - back)];
    if ends.iter().any(|(text, at)| splits_line_end(text, *at) > 0) {
        back -= 1;
    }
    let start = span.start as usize + front;
    let text = new_rest[..new_rest.len() - back].to_owned();
    Some(Edit { span: Span::new(start, span.end as usize - back), text })
}

/// The length in bytes of the equal characters at the front.
fn common(pairs: impl Iterator<Item = (char, char)>) -> usize {
    pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// 1 if `at` lies within `\r\n`, where editors know no position.
fn splits_line_end(text: &str, at: usize) -> usize {
    usize::from(text[..at].ends_with('\r') && text[at..].starts_with('\n'))
}

/// The line end of `source`: that of its first line.
pub(super) fn line_end(source: &str) -> &'static str {
    match source.find('\n') {
        Some(at) if source[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
