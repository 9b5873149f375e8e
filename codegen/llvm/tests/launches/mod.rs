//! Schedules and models compiled for GPUs, for several tests.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod fibers;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod host;

use sched_forest::Forest;
use sched_ir::lir::OutputKind;
use sched_ir::{Budget, Compiled, compile};
use sched_lang::{CheckOptions, CheckPurpose, Target, check};
use sched_testing::forests;
use std::path::{Path, PathBuf};

/// All kinds of kernels.
pub const ALL: [OutputKind; 4] = [OutputKind::Raw, OutputKind::Value, OutputKind::Class, OutputKind::Leaf];

/// Kinds of kernels that walk trees.
pub const WALKS: [OutputKind; 2] = [OutputKind::Raw, OutputKind::Leaf];

/// Blocks of threads with one row each.
pub const DIRECT: &str = "tile(batch, b0, b1, 128)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// The example schedules for GPUs, by name, in alphabetical order.
pub fn examples() -> Vec<Named> {
    let files =
        std::fs::read_dir(folder("gpu")).expect("a folder").map(|entry| entry.expect("a file").path());
    let text = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("text"))
    };
    let mut all: Vec<Named> = files.map(text).collect();
    all.sort();
    assert!(all.len() >= 6, "only {} examples were found", all.len());
    all
}

/// A schedule by name.
pub type Named = (String, String);

/// The examples, and schedules for every way to store and walk trees.
pub fn schedules() -> Vec<Named> {
    let more = [
        "",
        "cache(b0)",
        "representation(sparse)\ninterleave(tree, 2)",
        "representation(levels)",
        "cache(b0)\nrepresentation(quantized)",
        "cache(b0)\nrepresentation(preorder)",
        "cache(b0)\nrepresentation(hybrid)",
        "tile(tree, t0, t1, max(1, num_trees / 4))\ngpuDimension(t0, block.y)",
        "tile(tree, t0, t1, max(1, num_trees / 4))\ngpuDimension(t0, block.y)\natomicReduce(t0)",
        "tile(tree, t0, t1, max(1, num_trees / 4))\ngpuDimension(t0, block.y)\nsharedReduce(t0)",
        "tile(tree, t0, t1, 2)\ncache(t0)",
        "cache(b0)\ntile(tree, t0, t1, 2)\ncache(t0)\nrepresentation(quantized)",
        "tile(tree, t0, t1, 2)\nunrollWalk(t1, 2)",
    ];
    let mut all = examples();
    all.extend(more.map(|more| (more.replace('\n', "; "), format!("{DIRECT}{more}\n"))));
    all
}

/// The example model.
pub fn model() -> Forest {
    let bytes = std::fs::read(folder("model/breast_cancer.json")).expect("the example model");
    sched_forest::read(&bytes).expect("a model")
}

/// Compiles a schedule for a GPU, if it is legal for the forest.
pub fn compiled(forest: &Forest, schedule: &str, kernels: &[OutputKind]) -> Option<Compiled> {
    compiled_for(forest, schedule, kernels, &Budget::default())
}

/// Compiles as [`compiled`] does, under other limits or for rows with base margins.
pub fn compiled_for(
    forest: &Forest,
    schedule: &str,
    kernels: &[OutputKind],
    budget: &Budget,
) -> Option<Compiled> {
    let options = CheckOptions {
        model: Some(forests::model_info(forest).into()),
        purpose: CheckPurpose::Display,
        target: Some(Target::gpu()),
        ..CheckOptions::default()
    };
    let nest = check(schedule, &options).nests?;
    let compiled = compile(forest.clone(), None, nest, kernels, budget);
    Some(compiled.unwrap_or_else(|error| panic!("{schedule}: {error}")))
}
