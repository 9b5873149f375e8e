//! Applies fixes to a text.

use super::helps::{Applied, errors};
use super::{Applicability, CODES, Diagnostic, Edit, Fix, Severity};
use crate::check::check;
use crate::options::Options;
use crate::schedule::Checked;

pub use super::edits::{apply, whole_line};

/// Most rounds of fixing; a fix may make place for another one.
const MOST_ROUNDS: usize = 32;
/// Most checks of one round that look for fixes that help where all together do not.
const MOST_TRIALS: usize = 64;

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
/// until there is none left. Fixes that contain a value to be chosen are never applied, and neither are those of hints,
/// which say that all is well.
///
/// Every round makes progress: each finding that it fixes is gone, no directive is said twice that was not before, there are
/// no more errors, and of the kinds of findings that are fewer or more than before the first, in the order of the codes and
/// errors before warnings, is fewer. What does not help so is left as it is.
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
            (so_far.text.as_str(), so_far.checked.diagnostics.as_slice(), so_far.count)
        });
        let Some(next) = Round { text, found, options, trials: MOST_TRIALS }.run(unsure) else { break };
        fixed = Some(Fixed { count: count + next.count, ..next });
    }
    fixed
}

/// A finding with one of its fixes.
type Chosen<'d> = (&'d Diagnostic, &'d Fix);

/// One round of fixing.
struct Round<'a> {
    text: &'a str,
    found: &'a [Diagnostic],
    options: &'a Options,
    /// How many more texts may be checked.
    trials: usize,
}

impl Round<'_> {
    /// The first fix of every finding where all of them together make progress, else those that do by themselves.
    fn run(mut self, unsure: bool) -> Option<Fixed> {
        let first = chosen(self.found, unsure);
        let others: Vec<Chosen> = wanted(self.found, unsure)
            .filter(|(_, fix)| !first.iter().any(|(_, known)| std::ptr::eq(*known, *fix)))
            .collect();
        self.best(&first).or_else(|| others.into_iter().find_map(|other| self.attempt(&[other])))
    }

    fn best(&mut self, all: &[Chosen]) -> Option<Fixed> {
        if all.is_empty() {
            return None;
        }
        if let Some(fixed) = self.attempt(all) {
            return Some(fixed);
        }
        let (few, rest) = all.split_at(all.len() / 2);
        let helpful: Vec<Chosen> = [few, rest].into_iter().flat_map(|part| self.helpful(part)).collect();
        let fixed = if helpful.is_empty() { None } else { self.attempt(&helpful) };
        fixed.or_else(|| helpful.first().and_then(|one| self.attempt(&[*one])))
    }

    /// Those of some fixes that help, found by halving.
    fn helpful<'d>(&mut self, some: &[Chosen<'d>]) -> Vec<Chosen<'d>> {
        if some.is_empty() || self.attempt(some).is_some() {
            return some.to_vec();
        }
        match some.len() {
            1 => Vec::new(),
            length => {
                let (few, rest) = some.split_at(length / 2);
                let mut all = self.helpful(few);
                all.extend(self.helpful(rest));
                all
            }
        }
    }

    /// The text with these fixes, if that is progress.
    fn attempt(&mut self, some: &[Chosen]) -> Option<Fixed> {
        self.trials = self.trials.checked_sub(1)?;
        let applied = Applied::new(self.text, some.iter().map(|(_, fix)| *fix))?;
        let checked = check(&applied.text, self.options);
        let after = &checked.diagnostics;
        let all_help = some.iter().all(|one| applied.helps(*one, self.found, after));
        let is_progress =
            all_help && errors(after) <= errors(self.found) && severities(after) < severities(self.found);
        is_progress.then_some(Fixed { text: applied.text, count: some.len(), checked })
    }
}

/// How many errors there are of each code, then how many warnings: it falls with every round, so rounds come to an end.
fn severities(found: &[Diagnostic]) -> Vec<usize> {
    let mut counts = vec![0; 2 * CODES.len()];
    for diagnostic in found.iter().filter(|diagnostic| diagnostic.severity > Severity::Hint) {
        let of_warnings = if diagnostic.severity == Severity::Error { 0 } else { CODES.len() };
        let at = CODES.partition_point(|code| *code < diagnostic.code);
        counts[of_warnings + at.min(CODES.len() - 1)] += 1;
    }
    counts
}

/// The fixes that may be applied, with what they are for.
fn wanted(found: &[Diagnostic], unsure: bool) -> impl Iterator<Item = Chosen<'_>> {
    let is_wanted = move |fix: &&Fix| match fix.applicability {
        Applicability::Safe => true,
        Applicability::Unsure => unsure,
        Applicability::Placeholder => false,
    };
    let matters = found.iter().filter(|diagnostic| diagnostic.severity > Severity::Hint);
    matters.flat_map(move |finding| finding.fixes.iter().filter(is_wanted).map(move |fix| (finding, fix)))
}

/// The first applicable fix of each diagnostic, as far as they do not touch each other.
fn chosen(found: &[Diagnostic], unsure: bool) -> Vec<Chosen<'_>> {
    let mut chosen: Vec<Chosen> = Vec::new();
    // Sorted by place; edits of one fix may be far apart, so every chosen edit is compared.
    let mut taken: std::collections::BTreeSet<(u32, u32)> = std::collections::BTreeSet::new();
    let mut last: Option<&Diagnostic> = None;
    for (finding, fix) in wanted(found, unsure) {
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

/// Whether an edit neither overlaps nor touches those that are taken.
fn is_free(taken: &std::collections::BTreeSet<(u32, u32)>, edit: &Edit) -> bool {
    let (start, end) = (edit.span.start, edit.span.end);
    let before = taken.range(..=(start, u32::MAX)).next_back();
    let after = taken.range((start, 0)..).next();
    before.is_none_or(|(_, stop)| *stop < start) && after.is_none_or(|(from, _)| *from > end)
}
