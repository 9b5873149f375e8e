//! Checker options as text.
#![allow(clippy::panic, reason = "a test fails by panicking")]

use sched_lang::{CheckOptions, CheckPurpose, Target};
use sched_nest::{ModelInfo, StageInfo, StageKind};

/// Parses options from words such as `trees=100 depth=8 features=28 batch-size=4096 set=ROWS:32 target=gpu
/// vector-bits=512 bin-bytes=1 compile strict`. `depths=1,1,2` gives the depth of each tree, repeated up to
/// the number of `trees`; `oblivious=yes,no,yes` says whether each one is oblivious. `leaves=3:7,4..6:1,7:2`
/// gives all trees the same number of leaves at each depth. `layers=64x20,d30x4,t3x200` are stages before the
/// last trees, which test their sums, unless there is the word `untested`. Sums are in double precision, or
/// in single precision with the word `singles`. `step=when` gives the last trees the name of a model's step,
/// and `steps=hidden,hidden,svc` gives names to the stages before them, in order.
pub fn options(words: &str) -> CheckOptions {
    let mut options = CheckOptions::default();
    let mut model = ModelInfo { num_features: 1, num_classes: 1, ..ModelInfo::default() };
    let mut depth = 6;
    let (mut leaves, mut step) = (Vec::new(), "");
    let (mut layers, mut steps): (Vec<StageInfo>, Vec<String>) = Default::default();
    let (mut are_tested, mut in_doubles) = (true, true);
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<u32>().expect("a number");
        match key {
            "trees" => model.num_trees = number(),
            "depth" => depth = number(),
            "depths" => model.depths = value.split(',').map(|d| d.parse().expect("a depth")).collect(),
            "oblivious" => model.oblivious = value.split(',').map(|tree| tree == "yes").collect(),
            "leaves" => leaves = leaves_at(value),
            "layers" => layers = value.split(',').map(layer).collect(),
            "step" => step = value,
            "steps" => steps = value.split(',').map(str::to_owned).collect(),
            "features" => model.num_features = number(),
            "classes" => model.num_classes = number(),
            "bin-bytes" => model.bin_bytes = number(),
            "vector-bits" => options.vector_bits = Some(number()),
            "batch-size" => options.batch_size = Some(number().into()),
            "target" => options.target = Some(if value == "gpu" { Target::gpu() } else { Target::cpu() }),
            "set" => {
                let (name, value) = value.split_once(':').expect("NAME:value");
                options.param_values.push((name.to_owned(), value.parse().expect("a number")));
            }
            "compile" => options.purpose = CheckPurpose::Compile,
            "strict" => options.strict = true,
            "untested" => are_tested = false,
            "singles" => in_doubles = false,
            other => panic!("unknown option {other}"),
        }
    }
    if !leaves.is_empty() {
        depth = leaves.len() as u32 - 1;
        model.leaves = vec![leaves; model.num_trees as usize];
    }
    if model.depths.is_empty() {
        model.depths = vec![depth; model.num_trees as usize].into();
    } else {
        let num_trees = model.depths.len().max(model.num_trees as usize);
        model.depths = model.depths.iter().copied().cycle().take(num_trees).collect();
        model.num_trees = num_trees as u32;
    }
    for (number, layer) in layers.iter_mut().enumerate() {
        layer.is_ordered = are_tested || layer.kind == StageKind::ColumnTrees;
        layer.in_doubles = in_doubles;
        layer.steps = steps.get(number).filter(|step| !step.is_empty()).into_iter().cloned().collect();
    }
    model.stages = StageInfo::of_model(layers, (step, model.num_trees));
    if model.num_trees > 0 {
        options.model = Some(model.into());
    }
    options
}

/// A layer of `64x20`: 64 sums of 20 products; `d64x20` has squared differences, `t3x200` 3 results of 200
/// trees, and `s3x64` the sums that are scores.
fn layer(value: &str) -> StageInfo {
    let (kind, sizes) = match value.split_at(1) {
        ("d", sizes) => (StageKind::Distances, sizes),
        ("t", sizes) => (StageKind::ColumnTrees, sizes),
        ("s", sizes) => (StageKind::Scores, sizes),
        _ => (StageKind::Products, value),
    };
    let (units, terms) = sizes.split_once('x').expect("units x terms");
    let [units, terms] = [units, terms].map(|count| count.parse().expect("a number"));
    StageInfo { kind, units, terms, ..StageInfo::default() }
}

/// Number of leaves at each depth: `3:7` means seven leaves at depth 3, `4..6:1` one at each of the depths 4,
/// 5 and 6.
fn leaves_at(value: &str) -> Vec<u32> {
    let mut leaves = Vec::new();
    for part in value.split(',') {
        let (at, count) = part.split_once(':').expect("depth:count");
        let (first, last) = at.split_once("..").unwrap_or((at, at));
        let [first, last]: [usize; 2] = [first, last].map(|depth| depth.parse().expect("a depth"));
        leaves.resize(leaves.len().max(last + 1), 0);
        leaves[first..=last].fill(count.parse().expect("a number"));
    }
    leaves
}

/// Options from the line `// facts: ...` of a schedule, if it has one.
pub fn options_of_schedule(source: &str) -> CheckOptions {
    let line = source.lines().find_map(|line| line.strip_prefix("// facts:"));
    options(line.unwrap_or_default())
}
