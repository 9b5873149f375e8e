//! The legal next steps: directives with arguments that may follow in a schedule.
//!
//! Candidates are made from the existing loops and tried on a copy of the builder. So the checker's
//! rules alone decide. A proposal gives no new error and no new warning.
//! Hints, such as that of a tile that does not divide, are fine.

pub mod candidates;

use std::sync::Arc;

use sched_grammar::ast::{Span, StmtKind};

use crate::check::{ProblemCounter, Trial, WorkBudget, judge, prepare};
use crate::device::Limits;
use crate::directives::{DirectiveOp, SIGNATURES};
use crate::lineage::NestBuilder;
use crate::options::CheckOptions;

use crate::operation::TRIED_OPERATION;
pub use crate::operation::{Argument, Operation};
pub(crate) use candidates::Forms;

/// A legal next step.
#[derive(Clone, Debug, PartialEq)]
pub struct NextStep {
    /// The directive with the most likely arguments.
    pub operation: Operation,
    /// The directive with other legal numbers for the same loops.
    pub with_other_numbers: Vec<Operation>,
}

impl NextStep {
    /// The directive as text: `tile(batch, b0, b1, 64)`.
    pub fn text(&self) -> String {
        self.operation.to_string()
    }

    /// Effect of the directive, in one sentence.
    pub fn effect(&self) -> &'static str {
        self.operation.signature().map_or("", |signature| signature.summary)
    }

    /// The other values of the number, as text.
    pub fn choices(&self) -> Vec<String> {
        let last = |operation: &Operation| operation.arguments().pop();
        self.with_other_numbers.iter().filter_map(last).map(|argument| argument.text().to_owned()).collect()
    }
}

/// The legal next operations on a builder, of one directive or of all. Each proposal costs about one legality
/// check.
pub fn of(builder: &NestBuilder, limits: &Limits, only: Option<DirectiveOp>) -> Vec<NextStep> {
    let mut known = ProblemCounter::default();
    judge(builder, limits, &mut known);
    let mut trial = builder.clone();
    let mut is_legal = |operation: &Operation| {
        let mut found = Trial::new(&known);
        let result = operation.apply(TRIED_OPERATION, &mut trial);
        if result.is_ok() {
            judge(&trial, limits, &mut found);
        }
        // Annotations are taken back. A refused modifier did not change the nest.
        if !operation.is_modifier() {
            trial.forget(TRIED_OPERATION);
        } else if result.is_ok() {
            trial = builder.clone();
        }
        result.is_ok() && !found.has_new()
    };
    let ops = candidate_ops(only);
    let forms = ops.into_iter().flat_map(|op| candidates::of(op, builder, &|_| false));
    forms.filter_map(|forms| legal_step(forms, &mut is_legal)).collect()
}

/// The legal next steps at `offset`: directives that leave everything before and after it as legal as before.
/// A directive at `offset` is being written, so it is left out first.
///
/// Steps that the rest of the text makes illegal are left out too. An annotation costs about one legality
/// check of the whole nest. A modifier also repeats the later modifiers.
pub fn at(source: &str, offset: usize, options: &CheckOptions, only: Option<DirectiveOp>) -> Vec<NextStep> {
    let gap = InsertionGap::find(source, offset);
    let prepared = prepare(&gap.text, &sched_grammar::parse(&gap.text).file, options, gap.at);
    let mut point = prepared.insertion_point(gap.at, None);
    let is_taken = |name: &str| prepared.is_taken(name);
    let wanted = candidate_ops(only);
    let (on_gpu, others): (Vec<DirectiveOp>, Vec<DirectiveOp>) =
        wanted.into_iter().partition(|op| *op == DirectiveOp::GpuDimension);
    let forms = others.into_iter().chain(on_gpu).flat_map(|op| candidates::of(op, point.nest(), &is_taken));
    let all: Vec<Forms> = forms.collect();
    all.into_iter()
        .filter_map(|forms| legal_step(forms, &mut |form| point.fits(form, &mut { WorkBudget::ENDLESS })))
        .collect()
}

/// The directives to propose: all, or `only`.
pub fn candidate_ops(only: Option<DirectiveOp>) -> Vec<DirectiveOp> {
    let signatures = SIGNATURES.iter();
    signatures.map(|signature| signature.op).filter(|op| only.is_none_or(|only| only == *op)).collect()
}

/// The legal forms of a step, if there are any.
fn legal_step(forms: Forms, is_legal: &mut dyn FnMut(&Operation) -> bool) -> Option<NextStep> {
    let mut legal = forms.into_iter().filter(is_legal);
    let operation = legal.next()?;
    Some(NextStep { operation, with_other_numbers: legal.collect() })
}

/// A text with a gap for one more directive.
struct InsertionGap {
    /// The text without the directive in the gap.
    text: Arc<str>,
    /// Byte of the gap.
    at: usize,
}

impl InsertionGap {
    fn find(source: &str, offset: usize) -> InsertionGap {
        let parsed = sched_grammar::parse(source);
        let is_directive = |kind: &StmtKind| matches!(kind, StmtKind::Directive(_) | StmtKind::Error);
        let touches = |span: Span| (span.start as usize) < offset && offset <= span.end as usize;
        let typed = parsed.file.all_stmts().find(|stmt| touches(stmt.span) && is_directive(&stmt.kind));
        let span = typed.map(|stmt| stmt.span.range()).filter(|range| source.get(range.clone()).is_some());
        match span {
            // A directive that ends at `offset` is complete, and the gap follows it.
            Some(range) if range.end > offset || !source[range.clone()].ends_with(')') => {
                let text = format!("{}{}", &source[..range.start], &source[range.end..]);
                InsertionGap { text: text.into(), at: range.start }
            }
            _ => {
                let mut at = offset.min(source.len());
                while !source.is_char_boundary(at) {
                    at -= 1;
                }
                // Not within a line of the header or a comment.
                let line = source[..at].rfind('\n').map_or(0, |end| end + 1);
                let rest = &source[line..];
                let blank = source[line..at].trim().is_empty();
                let end = line + rest.find('\n').map_or(rest.len(), |end| end + 1);
                InsertionGap { text: source.into(), at: if blank { line } else { end } }
            }
        }
    }
}
