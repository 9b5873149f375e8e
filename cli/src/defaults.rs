//! The schedule that is used where none is given.

use sched_lang::ModelFacts;

/// Deepest walk that is unrolled completely: deeper trees would need too much padding and code.
const UNROLL_LIMIT: u32 = 10;
/// Deepest trees whose levels are looked up in registers.
const LEVELS_LIMIT: u32 = 8;
/// Bytes of a block of rows that leave room for trees in the first-level cache.
const BLOCK_BYTES: u32 = 32 << 10;

/// A good schedule for a model, as the text that the user could have written. `wide` says whether the code may look up
/// tables in 512-bit registers.
///
/// Blocks of rows run in parallel and each tree is walked for a whole block, so that its nodes stay in the first-level
/// cache; several walks advance together to hide latencies. Trees are added in the model's order.
pub fn default_schedule(facts: &ModelFacts, wide: bool) -> String {
    let lines =
        if wide && (1..=LEVELS_LIMIT).contains(&facts.max_depth()) { vectors(facts) } else { scalar(facts) };
    format!("// chosen by schedc\n{}\n", lines.join("\n"))
}

fn blocks(rows: u32) -> Vec<String> {
    vec![
        format!("tile(batch, b0, b1, {rows})"),
        "reorder(b0, tree, b1)".to_string(),
        "parallel(b0)".to_string(),
    ]
}

/// Walks one by one, eight advancing together.
fn scalar(facts: &ModelFacts) -> Vec<String> {
    let deepest = facts.max_depth();
    let mut lines = blocks(64);
    lines.push("interleave(b1, 8)".to_string());
    if (1..=UNROLL_LIMIT).contains(&deepest) {
        lines.push(format!("unrollWalk(b1, {deepest})"));
    }
    lines
}

/// Walks in the lanes of vectors. Turning a block of rows on its side pays if there are trees enough, or few features.
fn vectors(facts: &ModelFacts) -> Vec<String> {
    let features = facts.num_features.max(1);
    let fitting = (BLOCK_BYTES / 4 / features).clamp(64, 256);
    let mut lines = blocks(1 << fitting.ilog2());
    if features <= 64 || features <= facts.num_trees / 4 {
        lines.push("cache(b0)".to_string());
    }
    lines.extend(["representation(levels)", "vectorize(b1, 16)", "interleave(b1, 8)"].map(String::from));
    lines
}
