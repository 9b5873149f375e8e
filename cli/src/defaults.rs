//! The schedule that is used where none is given.

use sched_lang::ModelFacts;

/// Deepest walk that is unrolled completely: deeper trees would need too much padding and code.
const UNROLL_LIMIT: u32 = 10;

/// A good schedule for a model, as the text that the user could have written.
///
/// Blocks of rows run in parallel and each tree is walked for a whole block, so that its nodes stay in the first-level
/// cache; eight rows advance together to hide latencies. A single row has no block: there eight trees advance together.
pub fn default_schedule(facts: &ModelFacts, rows: Option<usize>) -> String {
    let deepest = facts.max_depth();
    let mut lines = vec!["// chosen by schedc".to_string()];
    let leaf = if rows == Some(1) {
        "tree"
    } else {
        lines.push("tile(batch, b0, b1, 64)".to_string());
        lines.push("reorder(b0, tree, b1)".to_string());
        lines.push("parallel(b0)".to_string());
        "b1"
    };
    lines.push(format!("interleave({leaf}, 8)"));
    if (1..=UNROLL_LIMIT).contains(&deepest) {
        lines.push(format!("unrollWalk({leaf}, {deepest})"));
    }
    lines.push(String::new());
    lines.join("\n")
}
