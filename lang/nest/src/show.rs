//! Prints loop nests for people.
//!
//! ```text
//! for b0 in 0..n_rows step 64 [parallel]
//!   for tree in 0..100
//!     for b1 in 0..64 while b0 + b1 < n_rows [interleave 8, unrollWalk 8]
//!       walk
//! order of accumulation: exact
//! ```

mod json;
mod variants;

use std::fmt::Write;

use serde_json::Value;

use crate::sym::Sym;
use crate::{
    Accumulation, AnnotationValue, Annotations, Axis, Body, Constraint, LoopId, Nest, StageKind, StageNest,
    TreeOrder,
};

pub use json::nest_json;
pub use variants::{nests_json, show_nests, show_rows, show_variants, variants_json};

/// Longest nest in a diagnostic, in lines. Longer ones are cut.
const MOST_LINES: usize = 40;

/// The nest, one loop a line, with ranges, constraints and annotations.
pub fn show_nest(nest: &Nest) -> String {
    let mut out = String::new();
    for StageNest { stage, nest } in &nest.stages {
        let _ = writeln!(out, "{}:", stage.title());
        let leaf = lines(nest, stage.kind.leaf_work());
        leaf.iter().for_each(|line| line.write(&mut out, 1));
    }
    lines(nest, StageKind::Trees.leaf_work()).iter().for_each(|line| line.write(&mut out, 0));
    if nest.computed_columns > 0 {
        let _ = writeln!(out, "columns: {} computed for each row before its walks", nest.computed_columns);
    }
    if let Some(layout) = nest.representation {
        let _ = writeln!(out, "representation: {}", layout.word());
    }
    if let Some(tiles) = nest.tile_trees {
        let how = if tiles.by_probability { " by probability" } else { "" };
        let _ = writeln!(out, "tiles of nodes: at most {}{how}", tiles.nodes);
    }
    if nest.tree_order == TreeOrder::ByDepth {
        let _ = writeln!(out, "order of trees: by depth");
    }
    if let Some(rows) = nest.batch_size {
        let _ = writeln!(out, "rows in one run: at most {rows}");
    }
    match &nest.accumulation {
        Accumulation::Exact => out.push_str("order of accumulation: exact\n"),
        Accumulation::Reassociated(why) => {
            let _ = writeln!(out, "order of accumulation: reassociated ({})", why.trim_end_matches('.'));
        }
    }
    out
}

/// The loops alone, with `>` before `marks`.
pub fn show_marked(nest: &Nest, marks: &[LoopId]) -> String {
    show_window(nest, marks, MOST_LINES)
}

/// Like [`show_marked`], with at most `max_lines` lines around the first marked loop.
pub fn show_window(nest: &Nest, marks: &[LoopId], max_lines: usize) -> String {
    let all = lines(nest, leaf_work_of(nest));
    let first = all.iter().position(|line| line.id.is_some_and(|id| marks.contains(&id))).unwrap_or(0);
    // A window around the first marked loop, if there are too many lines.
    let from = if all.len() <= max_lines { 0 } else { first.saturating_sub(max_lines / 2) };
    let mut out = String::new();
    if from > 0 {
        let _ = writeln!(out, "  ... {from} lines");
    }
    for line in all.iter().skip(from).take(max_lines) {
        let mark = if line.id.is_some_and(|id| marks.contains(&id)) { "> " } else { "  " };
        let _ = writeln!(out, "{mark}{}{}", "  ".repeat(line.depth), line.text);
    }
    let left = all.len().saturating_sub(from + max_lines);
    if left > 0 {
        let _ = writeln!(out, "  ... {left} lines");
    }
    out
}

/// `for b1 in 0..64 while b0 + b1 < n_rows [interleave 8]`: one loop without its content, with the conditions
/// that the nest shows at this loop.
pub fn show_line(nest: &Nest, id: LoopId) -> String {
    let all = innermost_constraints(nest);
    header(nest, id, all.get(id.0 as usize).map_or(&[], Vec::as_slice))
}

struct NestLine {
    depth: usize,
    text: String,
    id: Option<LoopId>,
}

impl NestLine {
    fn write(&self, out: &mut String, further: usize) {
        let _ = writeln!(out, "{}{}", "  ".repeat(self.depth + further), self.text);
    }
}

/// The work in the leaf loops of a nest of trees or of a stage of columns.
fn leaf_work_of(nest: &Nest) -> &'static str {
    let has_terms = nest.loops.iter().any(|this| this.axis == Axis::Feature);
    if has_terms { "add a term" } else { StageKind::Trees.leaf_work() }
}

/// Lines of a nest, with the work in its leaf loops. An explicit stack allows any depth.
fn lines(nest: &Nest, leaf: &str) -> Vec<NestLine> {
    enum PendingLine {
        Loop(LoopId),
        Text(String),
    }
    let own = innermost_constraints(nest);
    let mut lines = Vec::new();
    let mut stack: Vec<(usize, PendingLine)> =
        nest.roots.iter().rev().map(|id| (0, PendingLine::Loop(*id))).collect();
    while let Some((depth, todo)) = stack.pop() {
        let id = match todo {
            PendingLine::Text(text) => {
                lines.push(NestLine { depth, text, id: None });
                continue;
            }
            PendingLine::Loop(id) => id,
        };
        let constraints = own.get(id.0 as usize).map_or(&[][..], Vec::as_slice);
        lines.push(NestLine { depth, text: header(nest, id, constraints), id: Some(id) });
        match &nest.get(id).body {
            Body::Walk => stack.push((depth + 1, PendingLine::Text(leaf.to_owned()))),
            Body::Seq(list) => stack.extend(list.iter().rev().map(|id| (depth + 1, PendingLine::Loop(*id)))),
            Body::Cases(cases) => {
                for (number, case) in cases.iter().enumerate().rev() {
                    stack.extend(case.iter().rev().map(|id| (depth + 2, PendingLine::Loop(*id))));
                    stack.push((depth + 1, PendingLine::Text(format!("iteration {number}:"))));
                }
            }
        }
    }
    lines
}

/// Constraints by the number of the loop that shows them, the innermost of their loops.
pub fn innermost_constraints(nest: &Nest) -> Vec<Vec<&Constraint>> {
    let depths = depths(nest);
    let mut own: Vec<Vec<&Constraint>> = vec![Vec::new(); nest.loops.len()];
    for constraint in &nest.constraints {
        let innermost = constraint.loops.iter().max_by_key(|id| depths.get(id.0 as usize));
        if let Some(list) = innermost.and_then(|id| own.get_mut(id.0 as usize)) {
            list.push(constraint);
        }
    }
    own
}

/// `b0 + b1 < n_rows and b1 + b2 < 64`; nothing without constraints.
pub fn condition(nest: &Nest, constraints: &[&Constraint]) -> Option<String> {
    let one = |constraint: &&Constraint| {
        let names: Vec<&str> = constraint.loops.iter().map(|id| nest.get(*id).name.as_str()).collect();
        format!("{} < {}", names.join(" + "), constraint.bound)
    };
    let all: Vec<String> = constraints.iter().map(one).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

/// Number of loops around each loop.
fn depths(nest: &Nest) -> Vec<usize> {
    let mut depths = vec![0; nest.loops.len()];
    let mut stack: Vec<(LoopId, usize)> = nest.roots.iter().map(|id| (*id, 0)).collect();
    while let Some((id, depth)) = stack.pop() {
        if let Some(slot) = depths.get_mut(id.0 as usize) {
            *slot = depth;
        }
        stack.extend(nest.get(id).body.loops().into_iter().map(|id| (id, depth + 1)));
    }
    depths
}

fn header(nest: &Nest, id: LoopId, constraints: &[&Constraint]) -> String {
    let this = nest.get(id);
    let mut text = format!("for {} in {}", this.name, range(&this.start, &this.stop, &this.step));
    if let Some(condition) = condition(nest, constraints) {
        let _ = write!(text, " while {condition}");
    }
    let annotations = annotations(&this.annotations);
    if !annotations.is_empty() {
        let _ = write!(text, " [{}]", annotations.join(", "));
    }
    text
}

/// A bound of a range, in parentheses if it has spaces.
fn bound(sym: &Sym) -> String {
    let text = sym.to_string();
    if text.contains(" + ") || text.contains(" - ") { format!("({text})") } else { text }
}

/// `0..64 step 8`
pub fn range(start: &Sym, stop: &Sym, step: &Sym) -> String {
    let range = format!("{}..{}", bound(start), bound(stop));
    if *step == Sym::Int(1) { range } else { format!("{range} step {step}") }
}

/// An integer, or an expression as text.
pub fn sym_value(sym: &Sym) -> Value {
    sym.as_int().map_or_else(|| sym.to_string().into(), Value::from)
}

/// Word for an axis: `row`, `tree`, `unit` or `feature`.
pub fn axis_name(axis: Axis) -> &'static str {
    match axis {
        Axis::Row => "row",
        Axis::Tree => "tree",
        Axis::Unit => "unit",
        Axis::Feature => "feature",
    }
}

/// Annotations of a loop, in words.
pub fn annotations(annotations: &Annotations) -> Vec<String> {
    let text = |(name, value): (&str, AnnotationValue)| match value {
        AnnotationValue::Flag => name.to_owned(),
        AnnotationValue::Number(n) => format!("{name} {n}"),
        AnnotationValue::Word(word) => word,
    };
    annotations.by_directive().into_iter().map(text).collect()
}
