//! Words for illegal operations: what is wrong, what is to be seen, and the ways out.

mod alternatives;
mod annotations;
mod device;
mod lints;
mod rewrites;
mod shape;

use crate::device::Limits;
use crate::diagnostics::{Applicability, Edit, Fix};
use crate::illegal::Illegal;
use crate::lineage::{DirectiveIndex, NestBuilder};
use crate::report::Report;
use crate::resolve::list;

/// An illegal operation in words.
#[derive(Default)]
pub(crate) struct Wording {
    pub message: String,
    pub label: String,
    /// Operation, argument and what is there.
    pub labels: Vec<(DirectiveIndex, Option<usize>, String)>,
    pub help: Option<String>,
    pub fixes: Vec<Fix>,
}

impl Wording {
    fn new(message: impl Into<String>, label: impl Into<String>) -> Self {
        Wording { message: message.into(), label: label.into(), ..Wording::default() }
    }

    fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    fn and(mut self, step: DirectiveIndex, text: impl Into<String>) -> Self {
        self.labels.push((step, None, text.into()));
        self
    }

    fn fix(mut self, fix: Option<Fix>) -> Self {
        self.fixes.extend(fix);
        self
    }

    fn fixes(mut self, fixes: impl IntoIterator<Item = Fix>) -> Self {
        self.fixes.extend(fixes);
        self
    }
}

/// What the words can draw on.
struct Context<'a> {
    illegal: &'a Illegal,
    builder: &'a NestBuilder,
    report: &'a Report<'a>,
}

/// Puts an illegal operation into words. With `limits`, legal alternatives are looked for where the words offer nothing
/// but to leave it out.
pub(crate) fn word(
    illegal: &Illegal,
    builder: &NestBuilder,
    report: &Report,
    limits: Option<&Limits>,
) -> Wording {
    let context = Context { illegal, builder, report };
    let mut wording = words(&context);
    let deletes = |fix: &Fix| fix.edits.iter().all(|edit| edit.text.is_empty());
    if let Some(limits) = limits.filter(|_| wording.fixes.iter().all(deletes)) {
        wording.fixes.splice(0..0, alternatives::alternatives(&context, limits));
    }
    wording
}

fn words(context: &Context) -> Wording {
    shape::word(context)
        .or_else(|| annotations::word(context))
        .or_else(|| device::word(context))
        .or_else(|| lints::word(context))
        .unwrap_or_default()
}

impl Context<'_> {
    /// The name of the directive at fault.
    fn directive(&self) -> &str {
        self.report.directive_name(self.illegal.step)
    }

    /// An operation's text in quotes.
    fn quote(&self, step: DirectiveIndex) -> String {
        format!("`{}`", self.report.text(step))
    }

    /// The name of the first loop concerned.
    fn first(&self) -> String {
        self.illegal.loops.first().map(|id| self.builder.name(*id)).unwrap_or_default()
    }

    /// The names of the loops concerned, each once.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for id in self.illegal.loops.iter().take(8) {
            let name = self.builder.name(*id);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A fix that writes something else for the argument at fault.
    fn replace(&self, text: &str, applicability: Applicability) -> Option<Fix> {
        let argument = self.illegal.argument?;
        let span = self.report.place(self.illegal.step, Some(argument));
        let edits = vec![Edit { span, text: text.to_owned() }];
        Some(Fix { title: format!("write `{text}`"), edits, applicability })
    }

    /// Fixes that write one of these for the argument at fault.
    fn replace_by_any<'t>(&self, texts: impl IntoIterator<Item = &'t String>) -> Vec<Fix> {
        texts.into_iter().filter_map(|text| self.replace(text, Applicability::Unsure)).collect()
    }

    /// A fix that removes the directive.
    fn remove(&self, step: DirectiveIndex) -> Fix {
        let span = self.report.place(step, None);
        let title = format!("remove {}", self.quote(step));
        Fix { title, edits: vec![Edit { span, text: String::new() }], applicability: Applicability::Unsure }
    }

    /// A fix that writes a directive before another one.
    fn insert_before(&self, step: DirectiveIndex, text: &str) -> Fix {
        let start = self.report.place(step, None).start;
        let span = sched_grammar::ast::Span { start, end: start };
        let edits = vec![Edit { span, text: format!("{text}\n") }];
        Fix { title: format!("write `{text}` before it"), edits, applicability: Applicability::Unsure }
    }
}

/// "Use `a`, `b` or `c`."
fn use_one_of(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("Use `{only}`."),
        [rest @ .., last] => format!("Use {} or `{last}`.", list(rest).replace(" and ", ", ")),
    }
}
