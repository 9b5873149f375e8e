//! The check itself, and what it leaves: what there is to tell, and the builders that all pictures of the nests are made from.

use std::borrow::Cow;

use sched_grammar::Parsed;
use sched_grammar::ast::File;

use super::merge::merge;
use super::prepare::{Prepared, prepare_part};
use super::target::target;
use super::variant::{Judged, Resolved, Variant};
use crate::diagnostics::{Diagnostic, Fix, FixTrial, Severity};
use crate::lints;
use crate::options::{Options, Target};
use crate::part::{Part, options_within, part_at, parts};
use crate::report::Report;
use crate::resolve;
use crate::schedule::{Checked, Header, Lineage, Param};
use sched_nest::{Nest, Variants};

/// Most loops of a text whose fixes are tried before they are offered.
const FEW_LOOPS: usize = 400;
/// Fixes of a text that are tried at once; those behind them are offered as they are.
const MOST_FIXES: usize = 32;

/// What a check says of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What the header says.
    pub header: Header,
    /// What the schedule is for: from the options, else from the header, else from the use of `gpuDimension`.
    pub target: Target,
    /// The params in order.
    pub params: Vec<Param>,
    /// Everything to tell, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Verdict {
    /// Whether there is any error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// What a check leaves.
#[derive(Debug)]
pub struct Outcome {
    /// What is to be said.
    pub verdict: Verdict,
    /// The schedule outside of all blocks.
    rest: Variant,
    /// Those in blocks, in the order of the text.
    blocks: Vec<Variant>,
    is_legal: bool,
}

impl Outcome {
    /// Checks a text. What the fixes do that it offers is not looked at: see [`Outcome::helpful`].
    pub fn of(source: &str, parsed: &Parsed, options: &Options) -> Self {
        Outcome::first(source, parsed, options, false)
    }

    /// The fixes of one of the diagnostics that help. Each is tried, where that takes little time; as it is a check, nobody
    /// who types waits for it.
    pub fn helpful(
        &self,
        source: &str,
        parsed: &Parsed,
        options: &Options,
        finding: &Diagnostic,
    ) -> Vec<Fix> {
        let loops: usize = self.variants().map(|variant| variant.builder.nodes.len()).sum();
        if loops > FEW_LOOPS {
            return finding.fixes.clone();
        }
        let check = |text: &str| Outcome::brief(text, (source, parsed), options);
        let found = &self.verdict.diagnostics;
        FixTrial { text: source, found, check: &check }.helpful(finding)
    }

    /// What is wrong with a text, in few words: without alternatives, and fixes may be of no help. What stands in lines that are
    /// as in a text that was parsed before is taken from there.
    pub fn brief(text: &str, (source, parsed): (&str, &Parsed), options: &Options) -> Vec<Diagnostic> {
        let edited = sched_grammar::parse_edited(text, source, parsed);
        Outcome::first(text, &edited, options, true).verdict.diagnostics
    }

    /// Checks a text to see whether it is legal and what its nests are.
    pub fn quick(source: &str, parsed: &Parsed, options: &Options) -> Self {
        Outcome::first(source, parsed, options, true)
    }

    /// Checks a text without a look at what its fixes do; if `brief` is set, only to see what is wrong.
    fn first(source: &str, parsed: &Parsed, options: &Options, brief: bool) -> Self {
        let plain = Part { file: Cow::Borrowed(&parsed.file), block: None };
        let mut rest = Resolved::new(source, &plain, None, options);
        parsed.errors.iter().for_each(|error| rest.report.syntax(error));
        let bounds = resolve::bounds(&parsed.file, &rest.scope, &mut rest.report);

        let parts = parts(&parsed.file);
        let own: Vec<Cow<Options>> = bounds.iter().map(|most| options_within(options, *most)).collect();
        let blocks = parts.iter().skip(1).zip(&bounds).zip(&own);
        let mut blocks: Vec<Resolved> = blocks
            .map(|((part, max_rows), options)| Resolved::new(source, part, *max_rows, options))
            .collect();
        blocks.iter_mut().for_each(|block| block.report.declare_as(&rest.report));

        let (header, params) = (rest.header.clone(), std::mem::take(&mut rest.params));
        let calls = rest.calls.iter().chain(blocks.iter().flat_map(|block| &block.calls));
        let target = target(&header, options, calls);
        let judge = |part: Resolved| part.judge(&target, source, parsed, brief);
        let rest = judge(rest);
        let blocks: Vec<Judged> = blocks.into_iter().map(judge).collect();

        let is_legal = rest.is_legal && blocks.iter().all(|block| block.is_legal);
        let (rest, first) = (rest.variant, rest.diagnostics);
        let (blocks, others): (Vec<_>, Vec<_>) =
            blocks.into_iter().map(|block| (block.variant, block.diagnostics)).unzip();
        let diagnostics =
            lints::without_allowed(merge(source, &parsed.file, first, others), &parsed.comments);
        Outcome { verdict: Verdict { header, target, params, diagnostics }, rest, blocks, is_legal }
    }

    /// All schedules of the text: the one outside of all blocks, then those in blocks in the order of the text.
    pub fn variants(&self) -> impl Iterator<Item = &Variant> {
        std::iter::once(&self.rest).chain(&self.blocks)
    }

    /// One of them by its position, or the one outside of all blocks.
    pub fn variant(&self, at: usize) -> &Variant {
        at.checked_sub(1).and_then(|at| self.blocks.get(at)).unwrap_or(&self.rest)
    }

    /// The position of the schedule that a place belongs to.
    pub fn variant_at(&self, source: &str, file: &File, offset: usize) -> usize {
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

    /// Something made of each schedule and its position. A block whose bound is wrong has none.
    fn by_rows<T>(&self, make: impl Fn(usize, &Variant) -> T) -> Variants<T> {
        let mut all = Variants::only(make(0, &self.rest));
        for (at, variant) in self.blocks.iter().enumerate() {
            if let Some(max_rows) = variant.max_rows {
                // Bounds that are taken have been refused.
                let _ = all.insert(max_rows, make(at + 1, variant));
            }
        }
        all
    }

    /// Where the index variables of one of the schedules come from.
    pub fn lineage(&self, source: &str, file: &File, at: usize) -> Lineage {
        let indices = self.variant(at).builder.record();
        let part = parts(file).into_iter().nth(at);
        let events = part.map(|part| Report::new(source, &part.file, false).events());
        Lineage { indices, events: events.unwrap_or_default() }
    }

    /// Where the index variables of all schedules come from.
    pub fn lineages(&self, source: &str, file: &File) -> Variants<Lineage> {
        self.by_rows(|at, _| self.lineage(source, file, at))
    }

    /// One of the schedules with its arguments resolved, for what asks how it came about and could go on.
    pub fn prepared(&self, source: &str, file: &File, options: &Options, at: usize) -> Prepared {
        let variant = self.variant(at);
        let parts = parts(file);
        let part = parts.get(at).or_else(|| parts.first());
        let file = part.map_or(file, |part| &part.file);
        let options = options_within(options, variant.max_rows);
        prepare_part(source, file, &options, Some((&self.verdict.target, variant.calls.clone())))
    }

    /// The same of the text that was checked with its nests made, and with those fixes only that [help](Outcome::helpful).
    pub fn into_checked(self, source: &str, parsed: &Parsed, options: &Options) -> Checked {
        let nests = self.nests();
        let mut tried = 0;
        let mut with_helpful = |finding: &Diagnostic| {
            let fixes = if tried < MOST_FIXES {
                self.helpful(source, parsed, options, finding)
            } else {
                finding.fixes.clone()
            };
            tried += finding.fixes.len();
            Diagnostic { fixes, ..finding.clone() }
        };
        let diagnostics = self.verdict.diagnostics.iter().map(&mut with_helpful).collect();
        let Verdict { header, target, params, .. } = self.verdict;
        Checked { nests, header, target, params, diagnostics }
    }
}
