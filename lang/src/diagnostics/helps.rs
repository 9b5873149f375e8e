//! Whether a fix does what it promises: its finding is gone, and what it writes is right.

use std::ops::Range;

use foldhash::HashMap;

use super::edits::{apply, whole_line};
use super::{Diagnostic, Edit, Fix, Severity, codes};

/// Longest text for which fixes are tried before they are offered.
const LONGEST: usize = 16 * 1024;

/// Tries the fixes of what was found in a text, each by itself.
pub(crate) struct FixTrial<'a> {
    pub text: &'a str,
    pub found: &'a [Diagnostic],
    /// What there is to tell of a text that is nearly the same.
    pub check: &'a dyn Fn(&str) -> Vec<Diagnostic>,
}

impl FixTrial<'_> {
    /// The fixes of one of the findings that help. In a long text they are not tried.
    pub fn helpful(&self, finding: &Diagnostic) -> Vec<Fix> {
        let is_tried = self.text.len() <= LONGEST;
        finding.fixes.iter().filter(|fix| !is_tried || self.alone(finding, fix)).cloned().collect()
    }

    /// Whether a fix helps that is applied alone. Behind a mistake in the text more errors may come to light.
    fn alone(&self, finding: &Diagnostic, fix: &Fix) -> bool {
        Applied::new(self.text, [fix]).is_some_and(|applied| {
            let after = (self.check)(&applied.text);
            let is_no_worse = finding.code < codes::UNKNOWN_DIRECTIVE || errors(&after) <= errors(self.found);
            is_no_worse && applied.helps((finding, fix), self.found, &after)
        })
    }
}

/// How many errors there are.
pub(super) fn errors(found: &[Diagnostic]) -> usize {
    found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
}

/// How often each directive stands in a text, as far as lines and semicolons tell.
fn directives(text: &str) -> HashMap<String, usize> {
    let mut all = HashMap::default();
    let pieces = text.split(['\n', ';']).map(|piece| piece.split("//").next().unwrap_or_default());
    for piece in pieces.map(|piece| piece.split_whitespace().collect::<String>()) {
        if piece.ends_with(')') {
            *all.entry(piece).or_insert(0) += 1;
        }
    }
    all
}

/// A text with fixes applied, and where everything is now.
pub(crate) struct Applied {
    pub text: String,
    /// All edits in the order of the text.
    edits: Vec<Edit>,
    /// Whether a directive stands there twice, and more often than before.
    duplicates: bool,
}

impl Applied {
    /// Applies fixes together; nothing if they overlap or change nothing.
    pub fn new<'f>(text: &str, fixes: impl IntoIterator<Item = &'f Fix>) -> Option<Applied> {
        let all = fixes.into_iter().flat_map(|fix| &fix.edits).map(|edit| whole_line(text, edit));
        let mut edits: Vec<Edit> = all.collect();
        edits.sort_by_key(|edit| edit.span);
        let next = apply(text, &edits)?;
        if next == text {
            return None;
        }
        let before = directives(text);
        let is_more = |(piece, count): (&String, &usize)| {
            *count > 1 && *count > before.get(piece).copied().unwrap_or(0)
        };
        let duplicates = directives(&next).iter().any(is_more);
        Some(Applied { text: next, edits, duplicates })
    }

    /// Whether one of the fixes has done away with its finding, nothing that it has written is wrong, and no directive
    /// stands there twice that did not before.
    pub fn helps(
        &self,
        (finding, fix): (&Diagnostic, &Fix),
        found: &[Diagnostic],
        after: &[Diagnostic],
    ) -> bool {
        let same = |all: &[Diagnostic]| {
            all.iter().filter(|one| one.code == finding.code && one.message == finding.message).count()
        };
        same(after) < same(found) && self.is_clean(finding, fix, after) && !self.duplicates
    }

    /// Whether the finding is not told of the same place again, nor anything of what the fix has written.
    fn is_clean(&self, finding: &Diagnostic, fix: &Fix, after: &[Diagnostic]) -> bool {
        let own = self.edits.iter().filter(|edit| fix.edits.iter().any(|one| covers(edit, one)));
        let written: Vec<Range<usize>> = own.clone().map(|edit| self.written(edit)).collect();
        let is_removed = own.into_iter().any(|edit| {
            edit.text.is_empty()
                && edit.span.start <= finding.span().start
                && finding.span().end <= edit.span.end
        });
        let place = (!is_removed).then(|| self.place(finding.span().start as usize));
        let syntax = finding.code < codes::UNKNOWN_DIRECTIVE;
        !after.iter().any(|other| {
            let start = other.span().start as usize;
            let is_written = written.iter().any(|range| range.contains(&start));
            let is_same = other.code == finding.code && (is_written || Some(start) == place);
            is_same || is_written && !syntax && other.severity >= Severity::Warning
        })
    }

    /// Where the text of an edit stands.
    fn written(&self, edit: &Edit) -> Range<usize> {
        let start = self.place(edit.span.start as usize);
        // What is inserted stands before what was at its place.
        let start = if edit.span.start == edit.span.end { start - edit.text.len() } else { start };
        start..start + edit.text.len()
    }

    /// Where something stands that stood at `offset`; what was replaced stands where the replacement begins.
    fn place(&self, offset: usize) -> usize {
        let mut place = offset;
        for edit in &self.edits {
            let (start, end) = (edit.span.start as usize, edit.span.end as usize);
            if end <= offset {
                place = place + edit.text.len() - (end - start);
            } else if start < offset {
                place -= offset - start;
            }
        }
        place
    }
}

/// Whether an edit is `other`, or removes its whole line.
fn covers(edit: &Edit, other: &Edit) -> bool {
    edit.text == other.text && edit.span.start <= other.span.start && other.span.end <= edit.span.end
}
