//! The legal next steps: which directives, with which arguments, a schedule can go on with.
//!
//! Candidates are made up from the loops there are and tried on a copy of the builder, so nothing here knows what is
//! legal and nothing can disagree with the checker. What is proposed gives no error and no warning that was not there
//! before; hints, such as that of a tile that does not divide, are fine.

mod candidates;
mod operation;

use std::collections::HashMap;
use std::sync::Arc;

use sched_grammar::ast::{Span, StmtKind};

use crate::check::{Checked, check, prepare};
use crate::device::Limits;
use crate::diagnostics::{Code, Severity};
use crate::directives::{Op, SIGNATURES};
use crate::illegal::Illegal;
use crate::lineage::{Builder, Step};
use crate::options::{Options, Supported, Target};
use crate::{legality, lints};

pub use operation::{Argument, Operation};

/// A legal next step.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    /// The directive with the most likely arguments.
    pub operation: Operation,
    /// The same directive about the same loops with other numbers, which are legal too.
    pub others: Vec<Operation>,
}

impl Next {
    /// The directive as text: `tile(batch, b0, b1, 64)`.
    pub fn text(&self) -> String {
        self.operation.to_string()
    }

    /// What the directive does, in one sentence.
    pub fn why(&self) -> &'static str {
        self.operation.signature().map_or("", |signature| signature.summary)
    }

    /// The other values of the number, as text.
    pub fn choices(&self) -> Vec<String> {
        let last = |operation: &Operation| operation.arguments().pop();
        self.others.iter().filter_map(last).map(|argument| argument.text().to_owned()).collect()
    }
}

/// The legal next operations on a builder, of one directive or of all that `supported` allows. Its cost is about that
/// of one legality check for each proposal.
pub fn of(builder: &Builder, limits: &Limits, supported: Supported, only: Option<Op>) -> Vec<Next> {
    proposals(builder, limits, &wanted(supported, only), &|_| false)
}

/// The legal next steps at a place in a text: what can be written there such that everything before and after it is as
/// legal as it was. A directive in which `offset` lies is left out first, as the one that is being written.
///
/// Steps that the rest of the text makes illegal are left out too. Where something follows, the cost is about that of
/// one check for each proposal.
pub fn at(source: &str, offset: usize, options: &Options, only: Option<Op>) -> Vec<Next> {
    let gap = Gap::find(source, offset);
    let prepared = prepare(&gap.text, options);
    let builder = prepared.until(gap.at);
    let is_taken = |name: &str| prepared.is_taken(name);
    let wanted = wanted(options.supported, only);
    let (on_gpu, others): (Vec<Op>, Vec<Op>) = wanted.into_iter().partition(|op| *op == Op::GpuDimension);
    let limits = Limits::of(prepared.target());
    let mut all = proposals(&builder, &limits, &others, &is_taken);
    // The first mapped loop makes a schedule without a target one for a GPU.
    let gpu = if prepared.is_target_free() { Limits::of(&Target::gpu()) } else { limits };
    all.extend(proposals(&builder, &gpu, &on_gpu, &is_taken));
    let before = counts(&check(&gap.text, options));
    let fits = |operation: &Operation| {
        let after = counts(&check(&gap.with(&operation.to_string()), options));
        after.iter().all(|(code, count)| before.get(code).is_some_and(|known| count <= known))
    };
    all.into_iter().filter_map(|next| keep(next, &fits)).collect()
}

fn wanted(supported: Supported, only: Option<Op>) -> Vec<Op> {
    let signatures = SIGNATURES.iter();
    let can = signatures.filter(|signature| signature.lowered || supported == Supported::Everything);
    can.map(|signature| signature.op).filter(|op| only.is_none_or(|only| only == *op)).collect()
}

/// The step with those of its forms that fit.
fn keep(next: Next, fits: &dyn Fn(&Operation) -> bool) -> Option<Next> {
    let mut forms = std::iter::once(next.operation).chain(next.others).filter(|form| fits(form));
    let operation = forms.next()?;
    Some(Next { operation, others: forms.collect() })
}

fn proposals(builder: &Builder, limits: &Limits, ops: &[Op], is_taken: &dyn Fn(&str) -> bool) -> Vec<Next> {
    let before = problems(builder, limits);
    let is_legal = |operation: &Operation| {
        let mut trial = builder.clone();
        operation.apply(NEW, &mut trial).is_ok()
            && problems(&trial, limits).into_iter().all(|problem| before.contains(&problem))
    };
    let mut all = Vec::new();
    for op in ops {
        for forms in candidates::of(*op, builder, is_taken) {
            let mut legal = forms.into_iter().filter(|form| is_legal(form));
            if let Some(operation) = legal.next() {
                all.push(Next { operation, others: legal.collect() });
            }
        }
    }
    all
}

/// The operation that is tried.
const NEW: Step = Step(u32::MAX);

/// What is wrong or silly about a nest: by operation and code, since loops have other numbers after each operation.
fn problems(builder: &Builder, limits: &Limits) -> std::collections::HashSet<(Step, Code)> {
    let all = legality::check(builder, limits).into_iter().chain(lints::problems(builder, limits));
    let matters = |illegal: &Illegal| {
        let code = illegal.problem.code().filter(|code| severity(*code) >= Severity::Warning)?;
        Some((illegal.step, code))
    };
    all.filter_map(|illegal| matters(&illegal)).collect()
}

fn severity(code: Code) -> Severity {
    crate::diagnostics::info(code).map_or(Severity::Error, |info| info.severity)
}

/// How many errors and warnings of each code there are.
fn counts(checked: &Checked) -> HashMap<Code, usize> {
    let mut counts = HashMap::new();
    for diagnostic in checked.diagnostics.iter().filter(|d| d.severity >= Severity::Warning) {
        *counts.entry(diagnostic.code).or_insert(0) += 1;
    }
    counts
}

/// A text with a place for one more directive.
struct Gap {
    /// The text without the directive at the place.
    text: Arc<str>,
    /// The place.
    at: usize,
}

impl Gap {
    fn find(source: &str, offset: usize) -> Gap {
        let parsed = sched_grammar::parse(source);
        let is_directive = |kind: &StmtKind| matches!(kind, StmtKind::Directive(_) | StmtKind::Error);
        let touches = |span: Span| (span.start as usize) < offset && offset <= span.end as usize;
        let typed = parsed.file.stmts.iter().find(|stmt| touches(stmt.span) && is_directive(&stmt.kind));
        let span = typed.map(|stmt| stmt.span.range()).filter(|range| source.get(range.clone()).is_some());
        match span {
            // At its very end a whole directive is finished, and the next one follows.
            Some(range) if range.end > offset || !source[range.clone()].ends_with(')') => {
                let text = format!("{}{}", &source[..range.start], &source[range.end..]);
                Gap { text: text.into(), at: range.start }
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
                Gap { text: source.into(), at: if blank { line } else { end } }
            }
        }
    }

    fn with(&self, directive: &str) -> String {
        let (before, after) = self.text.split_at(self.at);
        let separator = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        format!("{before}{separator}{directive}\n{after}")
    }
}
