//! Edits of a text.

use sched_grammar::ast::Span;

use super::Edit;

/// Extends an edit that removes all text of a line to the whole line.
pub fn whole_line(text: &str, edit: &Edit) -> Edit {
    let (before, after) = text
        .split_at_checked(edit.span.start as usize)
        .map_or(("", ""), |(before, _)| (before, text.get(edit.span.end as usize..).unwrap_or_default()));
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let stop = after.find('\n').map_or(after.len(), |at| at + 1);
    let is_blank = |part: &str| part.trim().is_empty();
    let alone = is_blank(before.get(start..).unwrap_or_default()) && is_blank(&after[..stop]);
    if !edit.text.is_empty() || !alone {
        return edit.clone();
    }
    Edit { span: Span::new(start, edit.span.end as usize + stop), text: String::new() }
}

/// The text after edits in any order; `None` if two of them overlap or one is outside of the text.
pub fn apply<'a>(text: &str, edits: impl IntoIterator<Item = &'a Edit>) -> Option<String> {
    let mut edits: Vec<&Edit> = edits.into_iter().collect();
    edits.sort_by_key(|edit| edit.span);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(text.get(at..edit.span.start as usize)?);
        out.push_str(&edit.text);
        text.get(edit.span.range())?;
        at = edit.span.end as usize;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}
