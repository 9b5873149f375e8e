//! Hints that spare the reader a calculation: ranges of new loops, names of parameters, values of names and
//! expressions.

use sched_grammar::ast::{Directive, ExprKind, ScheduleStmt, Span, StmtKind};

use super::hover::parameter;
use super::{Analysis, ScheduleAnalysis};
use sched_lang::directives::{Role, find};
use sched_lang::lineage::DirectiveIndex;
use sched_nest::show::range;
use sched_nest::sym::Sym;

/// Which hints are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InlayKinds {
    /// Ranges of the loops that a directive makes.
    pub ranges: bool,
    /// Names of parameters before numbers.
    pub parameters: bool,
    /// Numbers of iterations of new loops, where the range alone does not give them.
    pub iterations: bool,
    /// Values of names and expressions.
    pub values: bool,
}

/// The kind of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InlayKind {
    /// The range of a new loop.
    Range,
    /// The name of a parameter.
    Parameter,
    /// The value of an expression.
    Value,
}

/// Text to show between the characters of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlayHint {
    /// The byte before which the text is shown.
    pub offset: usize,
    /// The text to show.
    pub text: String,
    /// The kind of hint.
    pub kind: InlayKind,
    /// Tooltip, in Markdown.
    pub tooltip: String,
    /// Whether editors put a blank before the text.
    pub padding_left: bool,
}

/// The hints for the statements that touch `span`, in the order of the text.
pub fn inlay_hints(analysis: &Analysis, span: Span, wanted: InlayKinds) -> Vec<InlayHint> {
    let mut hints = Vec::new();
    let ranges = |here| if wanted.ranges || wanted.iterations { ranges(here) } else { Vec::new() };
    let schedules: Vec<(ScheduleAnalysis, Vec<MadeLoops>)> =
        analysis.schedules().map(|here| (here, ranges(here))).collect();
    let stmts = analysis.parsed().file.all_stmts();
    for stmt in stmts.filter(|stmt| stmt.span.start <= span.end && span.start <= stmt.span.end) {
        match &stmt.kind {
            StmtKind::Directive(directive) => {
                let here = analysis.schedule_at(stmt.span.start as usize);
                let made = schedules.iter().find(|(other, _)| *other == here);
                let made = made.map_or(&[][..], |(_, made)| made.as_slice());
                in_directive(here, stmt, directive, wanted, made, &mut hints);
            }
            StmtKind::When(when) if wanted.values && !matches!(when.right.kind, ExprKind::Int(_)) => {
                let known = analysis.max_rows(stmt).map(|rows| Sym::Int(rows.into()));
                hints.extend(known.and_then(|known| value_hint(analysis, when.right.span, &known)));
            }
            StmtKind::Const { name, value } if wanted.values && !matches!(value.kind, ExprKind::Int(_)) => {
                let number = analysis
                    .outside_blocks()
                    .prepared()
                    .numbers()
                    .iter()
                    .find(|number| number.span == name.span);
                let known = number.and_then(|number| number.value.as_ref());
                hints.extend(known.and_then(|known| value_hint(analysis, value.span, known)));
            }
            StmtKind::Param { name, default, .. } if wanted.values => {
                let mut params = analysis.verdict().params.iter();
                let Some(param) = params.find(|param| param.span == name.span) else { continue };
                // A value that an option sets is shown even if the default is a plain number.
                if param.overridden || !matches!(default.kind, ExprKind::Int(_)) {
                    let hint = value_hint(analysis, default.span, &param.value);
                    hints.extend(hint.map(|hint| match param.overridden {
                        true => {
                            InlayHint { tooltip: format!("An option sets it to {}.", param.value), ..hint }
                        }
                        false => hint,
                    }));
                }
            }
            _ => {}
        }
    }
    hints.retain(|hint| span.start as usize <= hint.offset && hint.offset <= span.end as usize);
    hints
}

/// A name of loops that a directive made, with the ranges of these loops, each once.
struct MadeLoops<'a> {
    step: DirectiveIndex,
    name: &'a str,
    ranges: Vec<MadeRange>,
}

/// A range of a loop.
#[derive(Clone, Debug, PartialEq)]
struct MadeRange {
    /// As in the nest: `0..100 step 25`.
    text: String,
    /// The number of iterations, if it is known.
    iterations: Option<i64>,
    /// Whether the range shows the number of iterations: it begins at 0 and has no step.
    is_plain: bool,
}

impl MadeRange {
    fn new(start: &Sym, stop: &Sym, step: &Sym) -> Self {
        let bounds = start.as_int().zip(stop.as_int()).zip(step.as_int().filter(|step| *step > 0));
        let iterations = bounds.and_then(|((start, stop), step)| {
            let length = stop.checked_sub(start)?.max(0);
            Some(length / step + i64::from(length % step > 0))
        });
        let is_plain = start.as_int() == Some(0) && step.as_int() == Some(1);
        MadeRange { text: range(start, stop, step), iterations, is_plain }
    }

    /// The number of iterations in words.
    fn count(&self) -> Option<String> {
        self.iterations.map(|count| match count {
            1 => "1 iteration".to_owned(),
            count => format!("{count} iterations"),
        })
    }

    /// The text of a hint.
    fn hint_text(&self, wanted: InlayKinds) -> Option<String> {
        let count = self.count().filter(|_| wanted.iterations && !(wanted.ranges && self.is_plain));
        match (wanted.ranges, count) {
            (true, Some(count)) => Some(format!("{} ({count})", self.text)),
            (true, None) => Some(self.text.clone()),
            (false, count) => count,
        }
    }
}

/// The ranges of all loops that directives made, by directive.
fn ranges(here: ScheduleAnalysis) -> Vec<MadeLoops> {
    let mut all: Vec<MadeLoops> = Vec::new();
    for index in &here.lineage().indices {
        let Some(step) = index.made_by else { continue };
        all.push(MadeLoops {
            step,
            name: index.name.as_str(),
            ranges: vec![MadeRange::new(&index.start, &index.stop, &index.step)],
        });
    }
    all.sort_by_key(|made| (made.step, made.name));
    all.dedup_by(|next, made| {
        let is_same = (next.step, next.name) == (made.step, made.name);
        if is_same {
            let new = next.ranges.drain(..).find(|range| !made.ranges.contains(range));
            made.ranges.extend(new);
        }
        is_same
    });
    all
}

fn in_directive(
    here: ScheduleAnalysis,
    stmt: &ScheduleStmt,
    directive: &Directive,
    wanted: InlayKinds,
    made: &[MadeLoops],
    hints: &mut Vec<InlayHint>,
) {
    let Some(signature) = find(&directive.name.text) else { return };
    let prepared = here.prepared();
    let Some(step) = prepared.step_at(stmt.span) else { return };
    let call = prepared.call(step);
    for (at, expr) in directive.args.iter().enumerate() {
        let Some(parameter) = parameter(signature, directive, at) else { continue };
        match (parameter.role, &expr.kind) {
            (Role::NewIndex, ExprKind::Path(path)) if wanted.ranges || wanted.iterations => {
                let Some(name) = path.as_ident() else { continue };
                let found =
                    made.binary_search_by_key(&(step, name.text.as_str()), |made| (made.step, made.name));
                if let Some(made) = found.ok().and_then(|at| made.get(at)) {
                    hints.extend(range_hint(name.span, made, wanted));
                }
            }
            (Role::Number, kind) => {
                if wanted.parameters && !matches!(kind, ExprKind::Error) {
                    hints.push(InlayHint {
                        offset: expr.span.start as usize,
                        text: format!("{}:", parameter.name),
                        kind: InlayKind::Parameter,
                        tooltip: format!("`{}`", signature.usage()),
                        padding_left: false,
                    });
                }
                let value = call.filter(|call| !call.has_wrong_count).and_then(|call| call.number(at));
                if let (true, Some(value), false) = (wanted.values, value, matches!(kind, ExprKind::Int(_))) {
                    hints.extend(value_hint(&here, expr.span, value));
                }
            }
            _ => {}
        }
    }
}

fn range_hint(span: Span, made: &MadeLoops, wanted: InlayKinds) -> Option<InlayHint> {
    const SHOWN: usize = 2;
    let shown: Vec<String> =
        made.ranges.iter().take(SHOWN).filter_map(|range| range.hint_text(wanted)).collect();
    if shown.is_empty() {
        return None;
    }
    let more = if made.ranges.len() > SHOWN { " or ..." } else { "" };
    let about = |range: &MadeRange| {
        let count = range.count().map(|count| format!(" ({count})")).unwrap_or_default();
        format!("`{}`{count}", range.text)
    };
    let all = made.ranges.iter().take(20).map(about).collect::<Vec<_>>().join(", ");
    Some(InlayHint {
        offset: span.end as usize,
        text: format!(": {}{more}", shown.join(" or ")),
        kind: InlayKind::Range,
        tooltip: format!("The range of `{}`: {all}", made.name),
        padding_left: false,
    })
}

/// The value of an expression, unless it is a literal.
fn value_hint(analysis: &Analysis, span: Span, value: &Sym) -> Option<InlayHint> {
    let value = value.as_int()?;
    let text = analysis.text(span);
    (text != value.to_string()).then(|| InlayHint {
        offset: span.end as usize,
        text: format!("= {value}"),
        kind: InlayKind::Value,
        tooltip: format!("`{text}` is {value} here."),
        padding_left: true,
    })
}
