//! The analysis of a schedule's text, which all features of editors share.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use sched_grammar::ast::{Comment, ScheduleStmt, Span};
use sched_grammar::{Parsed, parse, parse_edited};

use super::names::TextNames;
use sched_lang::Lineage;
use sched_lang::check::{Outcome, ResolvedSchedule, Variant, Verdict};
use sched_lang::diagnostics::apply::fix_checked;
use sched_lang::diagnostics::{Applicability, Diagnostic, Fix};
use sched_lang::lineage::NestBuilder;
use sched_lang::options::CheckOptions;
use sched_nest::{ModelInfo, Nest, Variants};

/// One state of a schedule, checked. Features share it; parts that only some of them need are computed on
/// demand.
#[derive(Debug)]
pub struct Analysis {
    source: Arc<str>,
    options: CheckOptions,
    parsed: Parsed,
    outcome: Outcome,
    names: OnceLock<TextNames>,
    /// For each diagnostic, the fixes that help; computed on demand.
    verified_fixes: Vec<OnceLock<Vec<Fix>>>,
    fixed: OnceLock<Option<String>>,
    /// Parts computed on demand: of the schedule outside of blocks, and of each block.
    rest: OnDemand,
    blocks: Vec<OnDemand>,
}

/// Parts of one schedule that only some features need.
#[derive(Debug, Default)]
struct OnDemand {
    lineage: OnceLock<Lineage>,
    prepared: OnceLock<ResolvedSchedule>,
}

/// One schedule of a text: the one outside of all blocks, or a block's. Dereferences to the analysis of the
/// whole text.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleAnalysis<'a> {
    analysis: &'a Analysis,
    /// The schedule's position among those of the text.
    at: usize,
}

impl PartialEq for ScheduleAnalysis<'_> {
    /// Whether both are the same schedule of the same text.
    fn eq(&self, other: &ScheduleAnalysis) -> bool {
        std::ptr::eq(self.analysis, other.analysis) && self.at == other.at
    }
}

impl Deref for ScheduleAnalysis<'_> {
    type Target = Analysis;

    fn deref(&self) -> &Analysis {
        self.analysis
    }
}

impl Analysis {
    /// Checks a text.
    pub fn new(source: impl Into<Arc<str>>, options: CheckOptions) -> Self {
        let source = source.into();
        let parsed = parse(&source);
        Analysis::of(source, parsed, options)
    }

    /// Checks an edited text. Gives the result of [`Analysis::new`], but parses only the edited part again.
    pub fn after_edit(&self, source: impl Into<Arc<str>>, options: CheckOptions) -> Self {
        let source = source.into();
        let parsed = parse_edited(&source, &self.source, &self.parsed);
        Analysis::of(source, parsed, options)
    }

    fn of(source: Arc<str>, parsed: Parsed, options: CheckOptions) -> Self {
        let outcome = Outcome::of(&source, &parsed, &options);
        let blocks = outcome.variants().skip(1).map(|_| OnDemand::default()).collect();
        let verified_fixes = outcome.verdict.diagnostics.iter().map(|_| OnceLock::new()).collect();
        Analysis {
            source,
            options,
            parsed,
            outcome,
            names: OnceLock::new(),
            verified_fixes,
            fixed: OnceLock::new(),
            rest: OnDemand::default(),
            blocks,
        }
    }

    /// The text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The options of the check.
    pub fn options(&self) -> &CheckOptions {
        &self.options
    }

    /// The checker's verdict. [`Analysis::verified_fixes`] selects the fixes that correct something.
    pub fn verdict(&self) -> &Verdict {
        &self.outcome.verdict
    }

    /// The fixes of a diagnostic that help. The first call tries all of its fixes.
    pub fn verified_fixes(&self, diagnostic: usize) -> &[Fix] {
        let finding = self.verdict().diagnostics.get(diagnostic);
        let Some((known, finding)) = self.verified_fixes.get(diagnostic).zip(finding) else { return &[] };
        known.get_or_init(|| self.outcome.verified_fixes(&self.source, &self.parsed, &self.options, finding))
    }

    /// The loop nest for calls that no block covers, if there are no errors.
    pub fn nest(&self) -> Option<&Nest> {
        self.outcome.nest()
    }

    /// All loop nests, if there are no errors.
    pub fn nests(&self) -> Option<Variants<Nest>> {
        self.outcome.nests()
    }

    /// Whether there are no errors, and so a nest.
    pub fn is_legal(&self) -> bool {
        self.outcome.is_legal()
    }

    /// For each schedule, the lineage of its index variables, up to the first directive that is not legal.
    pub fn lineages(&self) -> Variants<Lineage> {
        self.outcome.lineages(&self.source, &self.parsed.file)
    }

    /// The schedule that a place belongs to.
    pub fn schedule_at(&self, offset: usize) -> ScheduleAnalysis<'_> {
        ScheduleAnalysis {
            analysis: self,
            at: self.outcome.variant_at(&self.source, &self.parsed.file, offset),
        }
    }

    /// Most rows of the calls that the schedule at a place serves, if that is known.
    pub fn rows_at(&self, offset: usize) -> Option<u64> {
        self.schedule_at(offset).batch_size()
    }

    /// The schedule outside of all blocks.
    pub fn outside_blocks(&self) -> ScheduleAnalysis<'_> {
        ScheduleAnalysis { analysis: self, at: 0 }
    }

    /// The checked bound of a block: the most rows of its calls.
    pub(crate) fn max_rows(&self, stmt: &ScheduleStmt) -> Option<u32> {
        let block = self.outcome.variants().find(|variant| variant.block == Some(stmt.span))?;
        block.max_rows
    }

    /// All schedules: the one outside of blocks, then those in blocks in the order of the text.
    pub(crate) fn schedules(&self) -> impl Iterator<Item = ScheduleAnalysis<'_>> {
        (0..=self.blocks.len()).map(|at| ScheduleAnalysis { analysis: self, at })
    }

    fn on_demand(&self, at: usize) -> &OnDemand {
        at.checked_sub(1).and_then(|at| self.blocks.get(at)).unwrap_or(&self.rest)
    }

    /// The syntax tree with its comments.
    pub fn parsed(&self) -> &Parsed {
        &self.parsed
    }

    /// The meaning of every name of the text.
    pub(crate) fn names(&self) -> &TextNames {
        self.names.get_or_init(|| TextNames::new(&self.source, self.parsed()))
    }

    /// The text after all safe fixes; `None` if they change nothing.
    pub(crate) fn fixed_text(&self) -> Option<&str> {
        let is_safe = |fix: &Fix| fix.applicability == Applicability::Safe;
        let with_helpful = |(at, finding): (usize, &Diagnostic)| {
            let fixes = if finding.fixes.iter().any(is_safe) { self.verified_fixes(at) } else { &[] };
            Diagnostic { fixes: fixes.to_vec(), ..finding.clone() }
        };
        let fixed = || {
            let found: Vec<Diagnostic> =
                self.verdict().diagnostics.iter().enumerate().map(with_helpful).collect();
            fix_checked(&self.source, &found, &self.options, false).map(|fixed| fixed.text)
        };
        self.fixed.get_or_init(fixed).as_deref()
    }

    /// The statement that contains `offset` or ends there; the second of two that touch, and the innermost in
    /// a block.
    pub fn statement_at<'s>(&'s self, offset: usize) -> Option<&'s ScheduleStmt> {
        let at = |stmts: &'s [ScheduleStmt]| {
            let after = stmts.partition_point(|stmt| stmt.span.start as usize <= offset);
            let stmt = stmts.get(after.checked_sub(1)?)?;
            (offset <= stmt.span.end as usize).then_some(stmt)
        };
        let stmt = at(&self.parsed().file.stmts)?;
        Some(at(stmt.body()).unwrap_or(stmt))
    }

    /// The comment that contains `offset` or ends there.
    pub fn comment_at(&self, offset: usize) -> Option<&Comment> {
        let comments = &self.parsed().comments;
        let after = comments.partition_point(|comment| (comment.span.start as usize) < offset);
        let comment = comments.get(after.checked_sub(1)?)?;
        (offset <= comment.span.end as usize).then_some(comment)
    }

    /// The text of `span`; empty if the span is not inside the source.
    pub fn text(&self, span: Span) -> &str {
        self.source.get(span.range()).unwrap_or_default()
    }
}

impl<'a> ScheduleAnalysis<'a> {
    /// The checker's result for this schedule.
    pub(crate) fn variant(&self) -> &'a Variant {
        self.analysis.outcome.variant(self.at)
    }

    /// The loop nest of this schedule, if the whole text has no error.
    pub fn nest(&self) -> Option<&'a Nest> {
        self.analysis.is_legal().then(|| self.variant().nest())
    }

    /// The lineage of the index variables, up to the first directive that is not legal.
    pub fn lineage(&self) -> &'a Lineage {
        let a = self.analysis;
        a.on_demand(self.at).lineage.get_or_init(|| a.outcome.lineage(&a.source, &a.parsed.file, self.at))
    }

    /// The directives with their arguments resolved.
    pub(crate) fn prepared(&self) -> &'a ResolvedSchedule {
        let a = self.analysis;
        let prepare = || a.outcome.prepared(&a.source, &a.parsed.file, &a.options, self.at);
        a.on_demand(self.at).prepared.get_or_init(prepare)
    }

    /// The nest with its annotations after all directives that are legal.
    pub(crate) fn final_nest(&self) -> &'a NestBuilder {
        &self.variant().builder
    }

    /// The text of `span`; empty if the span is not inside the source.
    pub fn text(&self, span: Span) -> &'a str {
        self.analysis.text(span)
    }

    /// The properties of the model, if there is one.
    pub(crate) fn model(&self) -> Option<&'a ModelInfo> {
        self.analysis.options.model.as_deref()
    }

    /// Whether the schedule is that of a block.
    pub(crate) fn is_in_block(&self) -> bool {
        self.at > 0
    }

    /// Most rows that the loops process at once, if that is known.
    pub(crate) fn batch_size(&self) -> Option<u64> {
        self.variant().batch_size()
    }
}
