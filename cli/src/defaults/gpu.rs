//! The schedules that are used on GPUs where none is given.
//!
//! Each is tried on the checker, which knows what fits the memory of a block, and the first one that is legal is taken.

use sched_lang::{Options, Supported, Target, check};
use sched_nest::ModelInfo;
use std::sync::Arc;

/// Deepest trees whose nodes lie in levels of bins.
const LEVELS_LIMIT: u32 = 10;
/// Trees of which a thread walks one or more for a row, where there are few rows.
const TREE_THREADS: u32 = 256;
/// Small-batch limit: with fewer rows, rows alone do not keep a GPU busy.
const FEW: u32 = 4096;

/// A schedule for a model, as the text that the user could have written.
pub fn chosen(model: &ModelInfo, target: &Target) -> String {
    let facts = Arc::new(model.clone());
    let is_legal = |text: &String| {
        let options = Options {
            model: Some(Arc::clone(&facts)),
            target: Some(target.clone()),
            supported: Supported::Compilable,
            ..Options::default()
        };
        !check(text, &options).has_errors()
    };
    let few = candidates(&few_rows(model), model);
    let many = candidates(&many_rows(), model);
    let pick = |all: Vec<String>| all.into_iter().find(is_legal);
    let mut text = String::from("// chosen by schedc\ntarget gpu\n\n");
    text += &pick(many).unwrap_or_else(|| lines(&many_rows()));
    if let Some(few) = pick(few) {
        text += &format!("\nwhen n_rows <= {FEW} {{\n");
        text.extend(few.lines().map(|line| format!("    {line}\n")));
        text += "}\n";
    }
    text
}

/// The loops with all that may be worth its while, the best first, and last without anything.
fn candidates(loops: &Loops, model: &ModelInfo) -> Vec<String> {
    let cached = format!("cache({})", loops.cached);
    let layout = match model.max_depth() <= LEVELS_LIMIT {
        true => "representation(quantized)",
        false => "representation(preorder)",
    };
    let with = |more: &[&str]| {
        let more = more.iter().map(|line| (*line).to_string());
        Loops { lines: loops.lines.iter().cloned().chain(more).collect(), cached: loops.cached }
    };
    [with(&[&cached, layout]), with(&[&cached]), with(&[])].iter().map(lines).collect()
}

/// Loops on a GPU.
struct Loops {
    lines: Vec<String>,
    /// The loop whose rows a block may copy.
    cached: &'static str,
}

fn lines(loops: &Loops) -> String {
    loops.lines.join("\n") + "\n"
}

/// A row for each thread, which walks all trees.
fn many_rows() -> Loops {
    let lines = ["tile(batch, b0, b1, 256)", "gpuDimension(b0, grid.x)", "gpuDimension(b1, block.x)"];
    Loops { lines: lines.map(str::to_string).to_vec(), cached: "b0" }
}

/// A row for each block, whose threads share the trees.
fn few_rows(model: &ModelInfo) -> Loops {
    let each = model.num_trees.div_ceil(TREE_THREADS).max(1);
    let lines = vec![
        "gpuDimension(batch, grid.x)".to_string(),
        format!("tile(tree, t0, t1, {each})"),
        "gpuDimension(t0, block.x)".to_string(),
    ];
    Loops { lines, cached: "batch" }
}
