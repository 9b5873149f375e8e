//! What there is to know of a schedule as plain data: what its header says, its params, its nest, and where its index
//! variables come from.

use sched_grammar::ast::Span;

use crate::diagnostics::{Diagnostic, Severity};
use crate::lineage::{DirectiveIndex, Index};
use crate::options::Target;
use sched_nest::sym::Sym;
use sched_nest::{Nest, Variants};

/// What the header of a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The language edition, if given.
    pub edition: Option<i64>,
    /// The model's path relative to the schedule, and where it stands.
    pub model: Option<(String, Span)>,
    /// The fingerprint that the model must have, and where it stands.
    pub fingerprint: Option<(String, Span)>,
    /// The target line, if given.
    pub target: Option<Target>,
    /// Where the target line stands.
    pub target_span: Option<Span>,
}

/// A named number that can be set from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// Its value unless it is set.
    pub default: Sym,
    /// Its value in this check.
    pub value: Sym,
    /// The values worth trying.
    pub choices: Vec<Sym>,
    /// Whether it was set from outside.
    pub overridden: bool,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The loop nests, if there are no errors: for calls of few rows as the blocks of the text say, and for all other calls.
    pub nests: Option<Variants<Nest>>,
    /// What the header says.
    pub header: Header,
    /// What the schedule is for: from the options, else from the header, else from the use of `gpuDimension`.
    pub target: Target,
    /// The params in order.
    pub params: Vec<Param>,
    /// Everything to tell, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    /// The loop nest for calls that no block covers, if there are no errors.
    pub fn nest(&self) -> Option<&Nest> {
        self.nests.as_ref().map(Variants::rest)
    }

    /// Whether there is any error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Where the index variables of a schedule come from and what became of them, as far as it is legal.
#[derive(Clone, Debug, PartialEq)]
pub struct Lineage {
    /// All index variables there ever were, in the order in which they were made; the two roots come first.
    pub indices: Vec<Index>,
    /// The directives in order; an operation's number is its position.
    pub events: Vec<Event>,
}

/// A directive of the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where it stands.
    pub span: Span,
    /// The line where it begins, from 1.
    pub line: usize,
    /// Its text, or its name if that is long.
    pub text: String,
}

impl Lineage {
    /// The directive that an operation comes from.
    pub fn event(&self, step: DirectiveIndex) -> Option<&Event> {
        self.events.get(step.0 as usize)
    }
}
