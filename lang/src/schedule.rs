//! A schedule as plain data: its header, its params, its nest, and the lineage of its index variables.

use sched_grammar::ast::Span;

use crate::diagnostics::{Diagnostic, Severity};
use crate::lineage::{DirectiveIndex, IndexRecord};
use crate::options::Target;
use sched_nest::sym::Sym;
use sched_nest::{Nest, Variants};

/// The header of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The language edition, if given.
    pub edition: Option<i64>,
    /// Path of the model relative to the schedule, with its span.
    pub model: Option<(String, Span)>,
    /// Required fingerprint of the model, with its span.
    pub fingerprint: Option<(String, Span)>,
    /// The target line, if given.
    pub target: Option<Target>,
    /// Span of the target line.
    pub target_span: Option<Span>,
}

/// A named number that options such as `--set` can change.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Name of the param.
    pub name: String,
    /// Span of the declaration.
    pub span: Span,
    /// Default value.
    pub default: Sym,
    /// Value in this check.
    pub value: Sym,
    /// Choices to try.
    pub choices: Vec<Sym>,
    /// Whether an option changed the value.
    pub overridden: bool,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedSchedule {
    /// Loop nests, if there are no errors: one for each block, and one for all other calls.
    pub nests: Option<Variants<Nest>>,
    /// The header.
    pub header: Header,
    /// Target: from the options, else from the header, else from the use of `gpuDimension`.
    pub target: Target,
    /// The params in order.
    pub params: Vec<Param>,
    /// All diagnostics in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl CheckedSchedule {
    /// The loop nest for calls that no block covers, if there are no errors.
    pub fn nest(&self) -> Option<&Nest> {
        self.nests.as_ref().map(Variants::rest)
    }

    /// Whether there is any error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Origins and successors of the index variables of a schedule, up to the first directive that is not legal.
#[derive(Clone, Debug, PartialEq)]
pub struct Lineage {
    /// All index variables in the order in which they were made; the two roots come first.
    pub indices: Vec<IndexRecord>,
    /// The stages of columns.
    pub stages: Vec<StageLineage>,
    /// Directives in order, by directive index.
    pub directives: Vec<DirectiveText>,
}

/// The index variables of a stage of columns.
#[derive(Clone, Debug, PartialEq)]
pub struct StageLineage {
    /// The name of the stage.
    pub name: String,
    /// The name with those of its steps, as in `layer1 (hidden)`.
    pub title: String,
    /// Whether the schedule arranges the stage. Otherwise the compiler does, from the initial loops.
    pub is_arranged: bool,
    /// All index variables in the order in which they were made; the roots come first.
    pub indices: Vec<IndexRecord>,
}

/// A directive of the text.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectiveText {
    /// Span.
    pub span: Span,
    /// Line at which the directive begins, from 1.
    pub line: usize,
    /// Text of the directive, or only its name if the text is long.
    pub text: String,
}

impl Lineage {
    /// The directive of an operation.
    pub fn directive(&self, step: DirectiveIndex) -> Option<&DirectiveText> {
        self.directives.get(step.0 as usize)
    }
}
