//! Applies fixes to a text.

use sched_grammar::ast::Span;

use super::{Applicability, Diagnostic, Edit, Fix, Severity};
use crate::check::{Checked, check};
use crate::options::Options;

/// Most rounds of fixing; a fix may make place for another one.
const MOST_ROUNDS: usize = 32;

/// A text after fixing.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The text.
    pub text: String,
    /// How many diagnostics were fixed.
    pub count: usize,
    /// What the check says of the text now.
    pub checked: Checked,
}

/// Checks a text and applies fixes that are safe, or with `unsure` also those that are legal and may be what was meant,
/// until there is none left. Fixes that contain a value to be chosen are never applied, and a round of fixes that leads
/// to more errors than there were is undone.
pub fn fix_all(source: &str, options: &Options, unsure: bool) -> Fixed {
    let checked = check(source, options);
    fix_checked(source, &checked.diagnostics, options, unsure).unwrap_or_else(|| Fixed {
        text: source.to_owned(),
        count: 0,
        checked,
    })
}

/// As [`fix_all`] for a text that has been checked; nothing if there is nothing to fix.
pub fn fix_checked(source: &str, first: &[Diagnostic], options: &Options, unsure: bool) -> Option<Fixed> {
    let mut fixed: Option<Fixed> = None;
    for _ in 0..MOST_ROUNDS {
        let (text, found, count) = fixed.as_ref().map_or((source, first, 0), |so_far| {
            (so_far.text.as_str(), &so_far.checked.diagnostics, so_far.count)
        });
        let fixes = chosen(found, unsure);
        let edits: Vec<Edit> =
            fixes.iter().flat_map(|fix| &fix.edits).map(|edit| whole_line(text, edit)).collect();
        let Some(next) = apply(text, &edits) else { break };
        if next == text {
            break;
        }
        let after = check(&next, options);
        if errors(&after.diagnostics) > errors(found) {
            break;
        }
        fixed = Some(Fixed { count: count + fixes.len(), text: next, checked: after });
    }
    fixed
}

fn errors(found: &[Diagnostic]) -> usize {
    found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
}

/// The first applicable fix of each diagnostic, as far as they do not touch each other.
fn chosen(diagnostics: &[Diagnostic], unsure: bool) -> Vec<&Fix> {
    let is_wanted = |fix: &&Fix| match fix.applicability {
        Applicability::Safe => true,
        Applicability::Unsure => unsure,
        Applicability::Placeholder => false,
    };
    let mut chosen: Vec<&Fix> = Vec::new();
    // Sorted by place; edits of one fix may be far apart, so every chosen edit is compared.
    let mut taken: std::collections::BTreeSet<(u32, u32)> = std::collections::BTreeSet::new();
    for fix in diagnostics.iter().filter_map(|diagnostic| diagnostic.fixes.iter().find(is_wanted)) {
        if fix.edits.iter().all(|edit| is_free(&taken, edit)) {
            taken.extend(fix.edits.iter().map(|edit| (edit.span.start, edit.span.end)));
            chosen.push(fix);
        }
    }
    chosen
}

/// Whether an edit neither overlaps nor touches those that are taken.
fn is_free(taken: &std::collections::BTreeSet<(u32, u32)>, edit: &Edit) -> bool {
    let (start, end) = (edit.span.start, edit.span.end);
    let before = taken.range(..=(start, u32::MAX)).next_back();
    let after = taken.range((start, 0)..).next();
    before.is_none_or(|(_, stop)| *stop < start) && after.is_none_or(|(from, _)| *from > end)
}

/// An edit that removes all there is on a line removes the line.
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

/// The text after edits in any order; nothing if two of them overlap or one lies outside of the text.
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
