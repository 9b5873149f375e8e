//! Tries fixes: a fix helps if its finding is gone and its text is legal.

use std::ops::Range;

use foldhash::HashMap;

use super::edits::{apply, whole_line};
use super::{Code, Diagnostic, Edit, Fix, Severity, codes};

/// Longest text, in bytes, whose fixes are tried before they are offered.
const MAX_TRIED_TEXT_BYTES: usize = 16 * 1024;

/// Tries the fixes of the findings of a text, one by one.
pub(crate) struct FixTrial<'a> {
    pub text: &'a str,
    pub found: &'a [Diagnostic],
    /// Checks a similar text.
    pub check: &'a dyn Fn(&str) -> Vec<Diagnostic>,
}

impl FixTrial<'_> {
    /// Returns the fixes of a finding that correct it. In a text longer than
    /// [`MAX_TRIED_TEXT_BYTES`] no fix is tried, and all are returned.
    pub fn verified_fixes(&self, finding: &Diagnostic) -> Vec<Fix> {
        let is_tried = self.text.len() <= MAX_TRIED_TEXT_BYTES;
        finding.fixes.iter().filter(|fix| !is_tried || self.helps_alone(finding, fix)).cloned().collect()
    }

    /// Whether a fix without the others corrects its finding. Correcting a syntax error may reveal more
    /// errors.
    fn helps_alone(&self, finding: &Diagnostic, fix: &Fix) -> bool {
        FixedText::new(self.text, [fix]).is_some_and(|applied| {
            let after = (self.check)(&applied.text);
            let is_no_worse = finding.code < codes::UNKNOWN_DIRECTIVE || errors(&after) <= errors(self.found);
            is_no_worse && applied.helps((finding, fix), self.found, &after)
        })
    }
}

/// Codes whose help names the fixes, since only a check of the whole text decides which of them are legal.
const CODES_WITH_FIXES_IN_HELP: [Code; 5] = [
    codes::NOT_LEAF,
    codes::NOT_IN_STAGE,
    codes::TERMS_OUT_OF_ORDER,
    codes::STAGE_ROWS,
    codes::NOTHING_MAPPED,
];

/// Adds the fixes of a finding to its help, if its code asks for that. All of them must have been tried.
pub(crate) fn name_fixes(finding: &mut Diagnostic) {
    if !CODES_WITH_FIXES_IN_HELP.contains(&finding.code) {
        return;
    }
    let own = finding.span().start;
    let removes = |fix: &&Fix| fix.edits.iter().all(|edit| edit.text.is_empty());
    let removes_own = |fix: &&Fix| {
        removes(fix) && fix.edits.iter().any(|edit| edit.span.start <= own && own <= edit.span.end)
    };
    let (mut written, mut others) = (Vec::new(), Vec::new());
    for fix in finding.fixes.iter().filter(|fix| !removes_own(fix)) {
        match fix.title.strip_prefix("write ").filter(|text| text.matches('`').count() == 2) {
            Some(text) => written.push(text.to_owned()),
            None => others.push(fix.title.clone()),
        }
    }
    if let Some(last) = written.pop() {
        let list = if written.is_empty() { last } else { format!("{} or {last}", written.join(", ")) };
        others.insert(0, format!("write {list}"));
    }
    let own = finding.fixes.iter().find(removes_own).and_then(|fix| fix.title.strip_prefix("remove "));
    others.extend(own.map(|directive| format!("leave {directive} out")));
    let sentence = others.join(", or ");
    let mut letters = sentence.chars();
    if let Some(first) = letters.next() {
        let help = finding.help.take().map(|help| help + " ").unwrap_or_default();
        finding.help = Some(format!("{help}{}{}.", first.to_ascii_uppercase(), letters.as_str()));
    }
}

/// Number of errors.
pub(super) fn errors(found: &[Diagnostic]) -> usize {
    found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
}

/// Number of occurrences of each directive in a text, judging by lines and semicolons.
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

/// A text with applied fixes.
pub(crate) struct FixedText {
    pub text: String,
    /// All edits in the order of the text.
    edits: Vec<Edit>,
    /// Whether a directive occurs twice, and more often than before.
    duplicates: bool,
}

impl FixedText {
    /// Applies fixes together; `None` if they overlap or change nothing.
    pub fn new<'f>(text: &str, fixes: impl IntoIterator<Item = &'f Fix>) -> Option<FixedText> {
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
        Some(FixedText { text: next, edits, duplicates })
    }

    /// Whether the fix removed its finding, wrote only legal text, and made no new duplicate directive.
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

    /// Whether the fix left no finding with the same code at this place, and none in its text.
    fn is_clean(&self, finding: &Diagnostic, fix: &Fix, after: &[Diagnostic]) -> bool {
        let own = self.edits.iter().filter(|edit| fix.edits.iter().any(|one| covers(edit, one)));
        let written: Vec<Range<usize>> = own.clone().map(|edit| self.range_after(edit)).collect();
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

    /// Span of an edit's text in the new text.
    fn range_after(&self, edit: &Edit) -> Range<usize> {
        let start = self.place(edit.span.start as usize);
        // Inserted text is before the old text at its position.
        let start = if edit.span.start == edit.span.end { start - edit.text.len() } else { start };
        start..start + edit.text.len()
    }

    /// New position of `offset`. Replaced text maps to the start of its replacement.
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
