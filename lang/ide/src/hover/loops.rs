//! Loops in words: their lines in the nest, and their iterations.

use sched_lang::lineage::LoopNode;
use sched_nest::show::{range, show_line};
use sched_nest::sym::{Property, Sym};
use sched_nest::{Constraint, LoopId, Nest};

/// Most loops that are listed.
pub(super) const MAX_LISTED_LOOPS: usize = 4;

/// The loops as the nest shows them.
pub(super) fn headers(nest: &Nest, origin: &[LoopId], ids: &[LoopId], node: &LoopNode) -> String {
    let shown: Vec<String> = (0_u32..)
        .zip(origin)
        .filter(|(_, from)| ids.contains(from))
        .map(|(at, _)| show_line(nest, LoopId(at)))
        .collect();
    let mut lines: Vec<String> = shown.iter().take(MAX_LISTED_LOOPS).cloned().collect();
    if shown.len() > MAX_LISTED_LOOPS {
        lines.push(format!("// and {} more copies", shown.len() - MAX_LISTED_LOOPS));
    }
    if lines.is_empty() {
        lines.push(format!("for {} in {}", node.name, range(&node.start, &node.stop, &node.step)));
    }
    lines.join("\n")
}

/// The number of iterations of a loop, in words.
pub(super) fn iterations(node: &LoopNode, is_limited: bool) -> String {
    if let Some(trips) = node.trips() {
        let most = if is_limited { "at most " } else { "" };
        return format!("{most}{trips} iteration{}", if trips == 1 { "" } else { "s" });
    }
    let rows = node.stop == Sym::Property(Property::Rows);
    match (rows, node.step.as_int()) {
        (true, Some(1)) => "one iteration for each row".to_owned(),
        (true, Some(step)) => format!("one iteration for each {step} rows"),
        (true, None) => format!("one iteration for each {} rows", node.step),
        (false, _) if node.stop.mentions(&|property| property == Property::Rows) => {
            "as many iterations as the call has rows for".to_owned()
        }
        _ => "the number of its iterations is known once the schedule has a model".to_owned(),
    }
}

/// Whether a loop may end before its own range does.
pub(super) fn is_limited(nest: &Nest, origin: &[LoopId], id: LoopId, node: &LoopNode) -> bool {
    let Some(at) = origin.iter().position(|from| *from == id) else { return false };
    let at_the_outside = |constraint: &Constraint| constraint.loops.first() == Some(&LoopId(at as u32));
    let is_far = |bound: &Sym| match (bound.as_int(), node.stop.as_int()) {
        (Some(bound), Some(stop)) => bound >= stop,
        _ => *bound == node.stop,
    };
    let limits = nest.limits();
    let own = limits.get(at).map_or(&[][..], Vec::as_slice);
    own.iter().any(|constraint| !at_the_outside(constraint) || !is_far(&constraint.bound))
}
