//! Applies fixes to a text.

use super::helps::{FixedText, errors};
use super::{Applicability, CODES, Diagnostic, Edit, Fix, Severity};
use crate::check::check;
use crate::options::CheckOptions;
use crate::schedule::CheckedSchedule;

pub use super::edits::{apply, whole_line};

/// Largest number of rounds of fixing. A fix may enable another one.
const MOST_ROUNDS: usize = 32;
/// Largest number of checks in a round that search for fixes that make progress, if all together make none.
const MOST_TRIALS: usize = 64;

/// A text after fixing.
#[derive(Clone, Debug)]
pub struct FixResult {
    /// The text.
    pub text: String,
    /// Number of fixed diagnostics.
    pub count: usize,
    /// Result of checking the fixed text.
    pub checked: CheckedSchedule,
}

/// Checks a text and applies safe fixes until none are left. With `include_unsure`, also applies legal fixes
/// that may change the meaning. Placeholders and fixes of hints are never applied.
///
/// Every round makes progress. Each fixed finding is gone, there is no new duplicate directive, and there are
/// not more errors. The counts of findings, errors first and then by code, decrease in lexicographic order.
/// Other fixes are left out.
pub fn fix_all(source: &str, options: &CheckOptions, include_unsure: bool) -> FixResult {
    let checked = check(source, options);
    fix_checked(source, &checked.diagnostics, options, include_unsure).unwrap_or_else(|| FixResult {
        text: source.to_owned(),
        count: 0,
        checked,
    })
}

/// [`fix_all`] for a checked text; `None` if there is nothing to fix.
pub fn fix_checked(
    source: &str,
    first: &[Diagnostic],
    options: &CheckOptions,
    include_unsure: bool,
) -> Option<FixResult> {
    let mut fixed: Option<FixResult> = None;
    for _ in 0..MOST_ROUNDS {
        let (text, found, count) = fixed.as_ref().map_or((source, first, 0), |so_far| {
            (so_far.text.as_str(), so_far.checked.diagnostics.as_slice(), so_far.count)
        });
        let Some(next) = Round { text, found, options, trials: MOST_TRIALS }.run(include_unsure) else {
            break;
        };
        fixed = Some(FixResult { count: count + next.count, ..next });
    }
    fixed
}

/// A finding with one of its fixes.
type ChosenFix<'d> = (&'d Diagnostic, &'d Fix);

/// One round of fixing.
struct Round<'a> {
    text: &'a str,
    found: &'a [Diagnostic],
    options: &'a CheckOptions,
    /// Number of further checks that this round may run.
    trials: usize,
}

impl Round<'_> {
    /// Applies the first fix of each finding, or as many of these fixes as make progress. If none does,
    /// applies one of the other fixes.
    fn run(mut self, include_unsure: bool) -> Option<FixResult> {
        let first = first_fixes(self.found, include_unsure);
        let others: Vec<ChosenFix> = applicable_fixes(self.found, include_unsure)
            .filter(|(_, fix)| !first.iter().any(|(_, known)| std::ptr::eq(*known, *fix)))
            .collect();
        self.best(&first).or_else(|| others.into_iter().find_map(|other| self.attempt(&[other])))
    }

    fn best(&mut self, all: &[ChosenFix]) -> Option<FixResult> {
        if all.is_empty() {
            return None;
        }
        if let Some(fixed) = self.attempt(all) {
            return Some(fixed);
        }
        let (few, rest) = all.split_at(all.len() / 2);
        let some: Vec<ChosenFix> =
            [few, rest].into_iter().flat_map(|part| self.progressing_fixes(part)).collect();
        let fixed = if some.is_empty() { None } else { self.attempt(&some) };
        fixed.or_else(|| some.first().and_then(|one| self.attempt(&[*one])))
    }

    /// Finds the fixes that make progress, by halving the list.
    fn progressing_fixes<'d>(&mut self, some: &[ChosenFix<'d>]) -> Vec<ChosenFix<'d>> {
        if some.is_empty() || self.attempt(some).is_some() {
            return some.to_vec();
        }
        match some.len() {
            1 => Vec::new(),
            length => {
                let (few, rest) = some.split_at(length / 2);
                let mut all = self.progressing_fixes(few);
                all.extend(self.progressing_fixes(rest));
                all
            }
        }
    }

    /// Applies these fixes and checks the new text. `None` unless the fixes are progress.
    fn attempt(&mut self, some: &[ChosenFix]) -> Option<FixResult> {
        self.trials = self.trials.checked_sub(1)?;
        let applied = FixedText::new(self.text, some.iter().map(|(_, fix)| *fix))?;
        let checked = check(&applied.text, self.options);
        let after = &checked.diagnostics;
        let all_help = some.iter().all(|one| applied.helps(*one, self.found, after));
        let is_progress = all_help
            && errors(after) <= errors(self.found)
            && counts_by_code(after) < counts_by_code(self.found);
        is_progress.then_some(FixResult { text: applied.text, count: some.len(), checked })
    }
}

/// Numbers of errors by code, then of warnings by code. Every round decreases the list in lexicographic
/// order, so rounds end.
fn counts_by_code(found: &[Diagnostic]) -> Vec<usize> {
    let mut counts = vec![0; 2 * CODES.len()];
    for diagnostic in found.iter().filter(|diagnostic| diagnostic.severity > Severity::Hint) {
        let of_warnings = if diagnostic.severity == Severity::Error { 0 } else { CODES.len() };
        let at = CODES.partition_point(|code| *code < diagnostic.code);
        counts[of_warnings + at.min(CODES.len() - 1)] += 1;
    }
    counts
}

/// Applicable fixes with their findings.
fn applicable_fixes(found: &[Diagnostic], include_unsure: bool) -> impl Iterator<Item = ChosenFix<'_>> {
    let is_wanted = move |fix: &&Fix| match fix.applicability {
        Applicability::Safe => true,
        Applicability::Unsure => include_unsure,
        Applicability::Placeholder => false,
    };
    let matters = found.iter().filter(|diagnostic| diagnostic.severity > Severity::Hint);
    matters.flat_map(move |finding| finding.fixes.iter().filter(is_wanted).map(move |fix| (finding, fix)))
}

/// First applicable fix of each diagnostic, without overlaps.
fn first_fixes(found: &[Diagnostic], include_unsure: bool) -> Vec<ChosenFix<'_>> {
    let mut chosen: Vec<ChosenFix> = Vec::new();
    // Sorted by position. Edits of one fix may be far apart, so every chosen edit is compared.
    let mut taken: std::collections::BTreeSet<(u32, u32)> = std::collections::BTreeSet::new();
    let mut last: Option<&Diagnostic> = None;
    for (finding, fix) in applicable_fixes(found, include_unsure) {
        if last.replace(finding).is_some_and(|last| std::ptr::eq(last, finding)) {
            continue;
        }
        if fix.edits.iter().all(|edit| is_free(&taken, edit)) {
            taken.extend(fix.edits.iter().map(|edit| (edit.span.start, edit.span.end)));
            chosen.push((finding, fix));
        }
    }
    chosen
}

/// Whether an edit neither overlaps nor touches those in `taken`.
fn is_free(taken: &std::collections::BTreeSet<(u32, u32)>, edit: &Edit) -> bool {
    let (start, end) = (edit.span.start, edit.span.end);
    let before = taken.range(..=(start, u32::MAX)).next_back();
    let after = taken.range((start, 0)..).next();
    before.is_none_or(|(_, stop)| *stop < start) && after.is_none_or(|(from, _)| *from > end)
}
