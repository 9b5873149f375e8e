//! Input and output of the wording of problems.

use crate::diagnostics::{Applicability, Edit, Fix};
use crate::illegal::Illegal;
use crate::lineage::{DirectiveIndex, NestBuilder, is_first_loop};
use crate::report::Report;
use crate::resolve::quoted_list;
use sched_nest::Axis;

/// An illegal operation in words.
#[derive(Default)]
pub(crate) struct Wording {
    pub message: String,
    pub label: String,
    /// Labels: operation, argument and text.
    pub labels: Vec<(DirectiveIndex, Option<usize>, String)>,
    pub help: Option<String>,
    pub fixes: Vec<Fix>,
}

impl Wording {
    pub(super) fn new(message: impl Into<String>, label: impl Into<String>) -> Self {
        Wording { message: message.into(), label: label.into(), ..Wording::default() }
    }

    pub(super) fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    pub(super) fn and(mut self, step: DirectiveIndex, text: impl Into<String>) -> Self {
        self.labels.push((step, None, text.into()));
        self
    }

    pub(super) fn fix(mut self, fix: Option<Fix>) -> Self {
        self.fixes.extend(fix);
        self
    }

    pub(super) fn fixes(mut self, fixes: impl IntoIterator<Item = Fix>) -> Self {
        self.fixes.extend(fixes);
        self
    }
}

/// Input of the wording.
pub(super) struct MessageContext<'a> {
    pub(super) illegal: &'a Illegal,
    pub(super) builder: &'a NestBuilder,
    pub(super) report: &'a Report<'a>,
    /// Whether the target is explicitly a CPU.
    pub(super) for_cpu: bool,
    /// Loops that only stages of columns have, by their bare names, if the nest of trees lacks the named
    /// loop.
    pub(super) other_loops: &'a [String],
}

impl MessageContext<'_> {
    /// The name of the directive at fault.
    pub(super) fn directive(&self) -> &str {
        self.report.directive_name(self.illegal.step)
    }

    /// An operation's text in quotes.
    pub(super) fn quote(&self, step: DirectiveIndex) -> String {
        format!("`{}`", self.report.text(step))
    }

    /// The name of the first loop concerned.
    pub(super) fn first(&self) -> String {
        self.illegal.loops.first().map(|id| self.builder.name(*id)).unwrap_or_default()
    }

    /// The names of the loops concerned, each once.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for id in self.illegal.loops.iter().take(8) {
            let name = self.builder.name(*id);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A fix that replaces the argument at fault.
    pub(super) fn replace(&self, text: &str, applicability: Applicability) -> Option<Fix> {
        let argument = self.illegal.argument?;
        let span = self.report.place(self.illegal.step, Some(argument));
        let edits = vec![Edit { span, text: text.to_owned() }];
        Some(Fix { title: format!("write `{text}`"), edits, applicability })
    }

    /// Fixes that replace the argument at fault by one of these.
    pub(super) fn replace_by_any<'t>(&self, texts: impl IntoIterator<Item = &'t String>) -> Vec<Fix> {
        texts.into_iter().filter_map(|text| self.replace(text, Applicability::Unsure)).collect()
    }

    /// Fixes that name one of these loops first in the directive.
    pub(super) fn with_other_loops<'t>(&self, loops: impl IntoIterator<Item = &'t String>) -> Vec<Fix> {
        let arguments = self.report.argument_texts(self.illegal.step);
        let rest: String = arguments.iter().skip(1).map(|argument| format!(", {argument}")).collect();
        let text = |name: &String| format!("{}({name}{rest})", self.directive());
        loops.into_iter().map(|name| self.rewrite(text(name))).collect()
    }

    /// Names of the loops of one of these kinds in the nest.
    pub(super) fn loops_over(&self, axes: &[Axis]) -> Vec<String> {
        let loops = self.builder.tree().loops().into_iter();
        loops
            .filter(|id| axes.contains(&self.builder.node(*id).axis))
            .map(|id| self.builder.name(id))
            .collect()
    }

    /// Whether another stage begins with a loop of this name, and this one has none.
    pub(super) fn is_of_another_stage(&self, name: &str) -> bool {
        !self.builder.names().is_declared(name)
            && is_first_loop(self.builder.model().map(|model| &**model), name)
    }

    /// A fix that removes the directive.
    pub(super) fn remove(&self, step: DirectiveIndex) -> Fix {
        let span = self.report.place(step, None);
        let title = format!("remove {}", self.quote(step));
        Fix { title, edits: vec![Edit { span, text: String::new() }], applicability: Applicability::Unsure }
    }

    /// A fix that writes a directive before another one.
    pub(super) fn insert_before(&self, step: DirectiveIndex, text: &str) -> Fix {
        let start = self.report.place(step, None).start;
        let span = sched_grammar::ast::Span { start, end: start };
        let edits = vec![Edit { span, text: self.report.line_before(span, text) }];
        let title = format!("write `{text}` before {}", self.quote(step));
        Fix { title, edits, applicability: Applicability::Unsure }
    }
}

/// "Use `a`, `b` or `c`."
pub(super) fn use_one_of(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("Use `{only}`."),
        [rest @ .., last] => format!("Use {} or `{last}`.", quoted_list(rest).replace(" and ", ", ")),
    }
}
