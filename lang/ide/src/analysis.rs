//! A text with everything that is known of it.

use std::sync::{Arc, OnceLock};

use sched_grammar::ast::{Comment, Span, Stmt};
use sched_grammar::{Parsed, parse, parse_edited};

use super::names::Names;
use sched_lang::Lineage;
use sched_lang::check::{Outcome, Prepared, Verdict, prepare};
use sched_lang::diagnostics::apply::fix_checked;
use sched_lang::lineage::NestBuilder;
use sched_lang::options::Options;
use sched_nest::Nest;

/// One state of a schedule, checked. Features share it; what only some of them need is made when it is asked for.
#[derive(Debug)]
pub struct Analysis {
    source: Arc<str>,
    options: Options,
    parsed: Parsed,
    outcome: Outcome,
    lineage: OnceLock<Lineage>,
    names: OnceLock<Names>,
    fixed: OnceLock<Option<String>>,
    prepared: OnceLock<Prepared>,
}

impl Analysis {
    /// Checks a text.
    pub fn new(source: impl Into<Arc<str>>, options: Options) -> Self {
        let source = source.into();
        let parsed = parse(&source);
        Analysis::of(source, parsed, options)
    }

    /// Checks a text that this one has become: the same as [`Analysis::new`], but what an edit has left alone is not parsed
    /// again.
    pub fn edited(&self, source: impl Into<Arc<str>>, options: Options) -> Self {
        let source = source.into();
        let parsed = parse_edited(&source, &self.source, &self.parsed);
        Analysis::of(source, parsed, options)
    }

    fn of(source: Arc<str>, parsed: Parsed, options: Options) -> Self {
        let outcome = Outcome::of(&source, &parsed, &options);
        Analysis {
            source,
            options,
            parsed,
            outcome,
            lineage: OnceLock::new(),
            names: OnceLock::new(),
            fixed: OnceLock::new(),
            prepared: OnceLock::new(),
        }
    }

    /// The text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What the check was told besides the text.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What the checker says.
    pub fn checked(&self) -> &Verdict {
        &self.outcome.verdict
    }

    /// The loop nest, if there are no errors.
    pub fn nest(&self) -> Option<&Nest> {
        self.outcome.nest()
    }

    /// Whether there are no errors, and so a nest.
    pub fn is_legal(&self) -> bool {
        self.outcome.is_legal()
    }

    /// Where the index variables come from and what became of them, as far as the schedule is legal.
    pub fn lineage(&self) -> &Lineage {
        self.lineage.get_or_init(|| self.outcome.lineage(&self.source, &self.parsed.file))
    }

    /// The syntax tree with its comments.
    pub fn parsed(&self) -> &Parsed {
        &self.parsed
    }

    /// What every name of the text means.
    pub(crate) fn names(&self) -> &Names {
        self.names.get_or_init(|| Names::new(&self.source, self.parsed()))
    }

    /// The text after everything that is safe to fix has been fixed; nothing if that changes nothing.
    pub(crate) fn fixed(&self) -> Option<&str> {
        let fixed = || {
            fix_checked(&self.source, &self.checked().diagnostics, &self.options, false)
                .map(|fixed| fixed.text)
        };
        self.fixed.get_or_init(fixed).as_deref()
    }

    /// The directives with their arguments resolved.
    pub(crate) fn prepared(&self) -> &Prepared {
        let calls = || Some(Arc::clone(&self.outcome.calls));
        let prepare = || prepare(&self.source, &self.parsed.file, &self.options, calls());
        self.prepared.get_or_init(prepare)
    }

    /// The final nest with its facts, as far as the schedule is legal.
    pub(crate) fn whole(&self) -> &NestBuilder {
        &self.outcome.builder
    }

    /// The statement in which `offset` lies or at whose end it stands; of two that touch, the latter.
    pub fn statement_at(&self, offset: usize) -> Option<&Stmt> {
        let stmts = &self.parsed().file.stmts;
        let after = stmts.partition_point(|stmt| stmt.span.start as usize <= offset);
        let stmt = stmts.get(after.checked_sub(1)?)?;
        (offset <= stmt.span.end as usize).then_some(stmt)
    }

    /// The comment in which `offset` lies or at whose end it stands.
    pub fn comment_at(&self, offset: usize) -> Option<&Comment> {
        let comments = &self.parsed().comments;
        let after = comments.partition_point(|comment| (comment.span.start as usize) < offset);
        let comment = comments.get(after.checked_sub(1)?)?;
        (offset <= comment.span.end as usize).then_some(comment)
    }

    /// The text of `span`, or nothing where it is no part of the source.
    pub fn text(&self, span: Span) -> &str {
        self.source.get(span.range()).unwrap_or_default()
    }
}
