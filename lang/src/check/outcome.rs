//! The check, and its outcome: diagnostics, and the builders from which all views of the nests are made.

use std::borrow::Cow;

use sched_grammar::Parsed;
use sched_grammar::ast::ScheduleFile;

use super::merge::merge;
use super::prepare::{ResolvedSchedule, prepare_part};
use super::target::{report_implied, report_unmapped, target};
use super::variant::{PartOutcome, ResolvedPart, Variant};
use crate::diagnostics::{Diagnostic, Fix, FixTrial, Severity, name_fixes};
use crate::lints;
use crate::options::{CheckOptions, Target};
use crate::part::{SchedulePart, options_within, part_at, parts};
use crate::report::Report;
use crate::resolve;
use crate::schedule::{CheckedSchedule, Header, Lineage, Param};
use sched_nest::{Nest, Variants};

/// Largest number of loops of a text whose fixes are tried before they are offered.
const MAX_LOOPS_TO_TRY_FIXES: usize = 400;
/// Largest number of fixes that are tried at once. Further ones are offered untried.
const MOST_FIXES: usize = 32;

/// Result of a check without the nests: header, target, params and diagnostics.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The header.
    pub header: Header,
    /// Target: from the options, else from the header, else from the use of `gpuDimension`.
    pub target: Target,
    /// The params in order.
    pub params: Vec<Param>,
    /// All diagnostics in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Verdict {
    /// Whether there is any error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Outcome of a check.
#[derive(Debug)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// The schedule outside of all blocks.
    rest: Variant,
    /// Schedules in blocks, in the order of the text.
    blocks: Vec<Variant>,
    is_legal: bool,
}

impl Outcome {
    /// Checks a text. Fixes are not tried, see [`Outcome::verified_fixes`].
    pub fn of(source: &str, parsed: &Parsed, options: &CheckOptions) -> Self {
        Outcome::first(source, parsed, options, false)
    }

    /// Returns the fixes of a diagnostic that correct it: applies each fix and checks the new text. In a text
    /// of more than `MAX_LOOPS_TO_TRY_FIXES` loops, returns all fixes untried. Too slow for each keystroke.
    pub fn verified_fixes(
        &self,
        source: &str,
        parsed: &Parsed,
        options: &CheckOptions,
        finding: &Diagnostic,
    ) -> Vec<Fix> {
        let loops: usize = self.variants().map(|variant| variant.builder.indices().iter().len()).sum();
        if loops > MAX_LOOPS_TO_TRY_FIXES {
            return finding.fixes.clone();
        }
        let check = |text: &str| Outcome::brief_diagnostics(text, (source, parsed), options);
        let found = &self.verdict.diagnostics;
        FixTrial { text: source, found, check: &check }.verified_fixes(finding)
    }

    /// Diagnostics of a text, without alternatives and with untried fixes. Statements of unchanged lines come
    /// from a text that was parsed before.
    pub fn brief_diagnostics(
        text: &str,
        (source, parsed): (&str, &Parsed),
        options: &CheckOptions,
    ) -> Vec<Diagnostic> {
        let edited = sched_grammar::parse_edited(text, source, parsed);
        Outcome::first(text, &edited, options, true).verdict.diagnostics
    }

    /// Checks whether a text is legal, and makes its nests.
    pub fn quick(source: &str, parsed: &Parsed, options: &CheckOptions) -> Self {
        Outcome::first(source, parsed, options, true)
    }

    /// Checks a text without trying fixes. If `brief` is set, searches for no alternatives and shows no
    /// nests.
    fn first(source: &str, parsed: &Parsed, options: &CheckOptions, brief: bool) -> Self {
        let plain = SchedulePart { file: Cow::Borrowed(&parsed.file), block: None };
        let mut rest = ResolvedPart::new(source, &plain, None, options);
        parsed.errors.iter().for_each(|error| rest.report.syntax(error));
        let bounds = resolve::bounds(&parsed.file, &rest.scope, &mut rest.report);

        let parts = parts(&parsed.file);
        let own: Vec<Cow<CheckOptions>> = bounds.iter().map(|most| options_within(options, *most)).collect();
        let blocks = parts.iter().skip(1).zip(&bounds).zip(&own);
        let mut blocks: Vec<ResolvedPart> = blocks
            .map(|((part, max_rows), options)| ResolvedPart::new(source, part, *max_rows, options))
            .collect();
        blocks.iter_mut().for_each(|block| block.report.declare_as(&rest.report));

        let (header, params) = (rest.header.clone(), std::mem::take(&mut rest.params));
        let calls = rest.calls.iter().chain(blocks.iter().flat_map(|block| &block.calls));
        let target = target(&header, options, calls);
        report_implied(&target, &header, options, &parsed.file, &mut rest.report);
        let calls = rest.calls.iter().chain(blocks.iter().flat_map(|block| &block.calls));
        report_unmapped(&target, &header, calls, &mut rest.report);
        let judge = |part: ResolvedPart| part.judge(&target, source, parsed, brief);
        let rest = judge(rest);
        let blocks: Vec<PartOutcome> = blocks.into_iter().map(judge).collect();

        let is_legal = rest.is_legal && blocks.iter().all(|block| block.is_legal);
        let (rest, first) = (rest.variant, rest.diagnostics);
        let (blocks, others): (Vec<_>, Vec<_>) =
            blocks.into_iter().map(|block| (block.variant, block.diagnostics)).unzip();
        let diagnostics =
            lints::without_allowed(merge(source, &parsed.file, first, others), &parsed.comments);
        Outcome { verdict: Verdict { header, target, params, diagnostics }, rest, blocks, is_legal }
    }

    /// All schedules of the text: the one outside of all blocks, then those in blocks in the order of the
    /// text.
    pub fn variants(&self) -> impl Iterator<Item = &Variant> {
        std::iter::once(&self.rest).chain(&self.blocks)
    }

    /// A schedule by its position; for unknown positions the one outside of all blocks.
    pub fn variant(&self, at: usize) -> &Variant {
        at.checked_sub(1).and_then(|at| self.blocks.get(at)).unwrap_or(&self.rest)
    }

    /// Position of the schedule at `offset`.
    pub fn variant_at(&self, source: &str, file: &ScheduleFile, offset: usize) -> usize {
        if self.blocks.is_empty() { 0 } else { part_at(source, file, offset) }
    }

    /// The loop nest for calls that no block covers, if there are no errors.
    pub fn nest(&self) -> Option<&Nest> {
        self.is_legal.then(|| self.rest.nest())
    }

    /// All loop nests, if there are no errors.
    pub fn nests(&self) -> Option<Variants<Nest>> {
        self.is_legal.then(|| self.by_rows(|_, variant| variant.nest().clone()))
    }

    /// Whether there are no errors, and so nests.
    pub fn is_legal(&self) -> bool {
        self.is_legal
    }

    /// Converts each schedule by `make`. A block with a wrong bound has none.
    fn by_rows<T>(&self, make: impl Fn(usize, &Variant) -> T) -> Variants<T> {
        let mut all = Variants::only(make(0, &self.rest));
        for (at, variant) in self.blocks.iter().enumerate() {
            if let Some(max_rows) = variant.max_rows {
                // Duplicate bounds were refused.
                let _ = all.insert(max_rows, make(at + 1, variant));
            }
        }
        all
    }

    /// Lineage of one of the schedules.
    pub fn lineage(&self, source: &str, file: &ScheduleFile, at: usize) -> Lineage {
        let variant = self.variant(at);
        let indices = crate::lineage::record(&variant.builder);
        let part = parts(file).into_iter().nth(at);
        let directives = part.map(|part| Report::new(source, &part.file, false).directive_texts());
        Lineage { indices, stages: variant.stage_lineages(), directives: directives.unwrap_or_default() }
    }

    /// Lineages of all schedules.
    pub fn lineages(&self, source: &str, file: &ScheduleFile) -> Variants<Lineage> {
        self.by_rows(|at, _| self.lineage(source, file, at))
    }

    /// One of the schedules with resolved arguments.
    pub fn prepared(
        &self,
        source: &str,
        file: &ScheduleFile,
        options: &CheckOptions,
        at: usize,
    ) -> ResolvedSchedule {
        let variant = self.variant(at);
        let parts = parts(file);
        let part = parts.get(at).or_else(|| parts.first());
        let file = part.map_or(file, |part| &part.file);
        let options = options_within(options, variant.max_rows);
        prepare_part(source, file, &options, Some(&self.verdict.target))
    }

    /// Result for the checked text with its nests, and only with [verified fixes](Outcome::verified_fixes).
    pub fn into_checked(self, source: &str, parsed: &Parsed, options: &CheckOptions) -> CheckedSchedule {
        let nests = self.nests();
        let mut tried = 0;
        let mut with_helpful = |finding: &Diagnostic| {
            let mut finding = finding.clone();
            let count = finding.fixes.len();
            if tried < MOST_FIXES {
                finding.fixes = self.verified_fixes(source, parsed, options, &finding);
                name_fixes(&mut finding);
            }
            tried += count;
            finding
        };
        let diagnostics = self.verdict.diagnostics.iter().map(&mut with_helpful).collect();
        let Verdict { header, target, params, .. } = self.verdict;
        CheckedSchedule { nests, header, target, params, diagnostics }
    }
}
