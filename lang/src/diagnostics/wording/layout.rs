//! Words for layouts that cannot store the trees of a model.

use super::context::{MessageContext, Wording};
use super::device::size;
use crate::diagnostics::{Applicability, Edit, Fix};
use sched_nest::Layout;

pub(super) fn too_large(context: &MessageContext, bytes: u64, limit: u64) -> Wording {
    let message = format!("stored as complete trees, trees of this depth need at least {}", size(bytes));
    Wording::new(message, format!("above {}", size(limit)))
        .help("Use `sparse`, or `preorder` for rows in vectors: both store only the nodes that exist.")
        .fix(Some(other_layout(context, Layout::Sparse)))
}

pub(super) fn not_oblivious(context: &MessageContext, tree: usize) -> Wording {
    let message =
        format!("tree {tree} is not oblivious: a level has several tests, or its leaves differ in depth");
    Wording::new(message, "needs oblivious trees")
        .help("Use `quantized`, which holds any trees, or walk the oblivious trees in a separate loop.")
        .fix(Some(other_layout(context, Layout::Quantized)))
}

/// A fix that writes another layout.
fn other_layout(context: &MessageContext, layout: Layout) -> Fix {
    let at = usize::from(!context.illegal.loops.is_empty());
    let span = context.report.place(context.illegal.step, Some(at));
    let word = layout.word();
    let edits = vec![Edit { span, text: word.to_owned() }];
    Fix { title: format!("write `{word}`"), edits, applicability: Applicability::Unsure }
}
