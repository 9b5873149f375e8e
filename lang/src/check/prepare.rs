//! A schedule up to a place in its text, for what asks how it could go on.

use std::collections::HashSet;
use std::sync::Arc;

use sched_grammar::ast::{File, StmtKind};

use super::{facts, modifiers};
use crate::lineage::Builder;
use crate::options::{ModelFacts, Options, Target};
use crate::report::Report;
use crate::resolve::{self, Call};

/// A text whose names and arguments are resolved.
pub(crate) struct Prepared {
    source: String,
    file: File,
    calls: Vec<Call>,
    names: HashSet<String>,
    target: Target,
    target_free: bool,
    model: Option<Arc<ModelFacts>>,
}

/// Resolves a text; what is wrong with it is left out.
pub(crate) fn prepare(source: &str, options: &Options) -> Prepared {
    let file = sched_grammar::parse(source).file;
    let mut report = Report::new(source, &file, false);
    let header = resolve::header(&file, &mut report);
    let (scope, _) = resolve::scope(&file, options, &mut report);
    let calls = resolve::calls(&file, &scope, options, &mut report);
    let names = scope.names();
    let target = super::target(&header, options, &calls);
    let target_free = options.target.is_none() && header.target.is_none();
    let model = options.facts.clone().map(Arc::new);
    drop(report);
    Prepared { source: source.to_owned(), file, calls, names, target, target_free, model }
}

impl Prepared {
    /// The nest that the directives before `at` make.
    pub fn until(&self, at: usize) -> Builder {
        let directives = self.file.stmts.iter().filter(|stmt| matches!(stmt.kind, StmtKind::Directive(_)));
        let before = directives.take_while(|stmt| stmt.span.end as usize <= at).count();
        let calls = self.calls.partition_point(|call| (call.step.0 as usize) < before);
        let calls = self.calls.get(..calls).unwrap_or_default();
        let mut report = Report::new(&self.source, &self.file, false);
        let mut builder = Builder::new(self.model.clone());
        if modifiers::apply(calls, &mut builder, &mut report) {
            facts::attach(calls, &mut builder, &mut report);
        }
        builder
    }

    /// Whether a name means something anywhere in the text.
    pub fn is_taken(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// What the schedule is for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Whether nobody has said what the schedule is for.
    pub fn is_target_free(&self) -> bool {
        self.target_free
    }
}
