//! Random forests under random schedules.

use sched_forest::Forest;
use sched_ir::lir::OutputKind;
use sched_ir::{Budget, Compiled, compile};
use sched_lang::{CheckOptions, CheckPurpose, ModelInfo, check};
use sched_nest::{Nest, Variants};
use sched_testing::forests;
use sched_testing::schedules::{Rng, schedule};

/// Number of random cases, which covers every layout and every traversal.
pub const CASES: u64 = 400;

/// All kernels.
pub const KERNELS: [OutputKind; 4] =
    [OutputKind::Raw, OutputKind::Leaf, OutputKind::Value, OutputKind::Class];

/// Options of the checker for schedules that are compiled for a model.
fn compilable(model: ModelInfo) -> CheckOptions {
    CheckOptions { model: Some(model.into()), purpose: CheckPurpose::Compile, ..CheckOptions::default() }
}

/// The nests of a legal schedule for a model.
pub fn nests(schedule: &str, model: ModelInfo) -> Variants<Nest> {
    let checked = check(schedule, &compilable(model));
    checked.nests.unwrap_or_else(|| panic!("{schedule}: {:?}", checked.diagnostics))
}

/// The case of a seed, with its rows and its schedule, compiled with 64-bit and with 32-bit indices.
/// `None` if the schedule does not compile for the model.
pub fn case(seed: u64) -> Option<(Forest, Vec<f64>, String, [Compiled; 2])> {
    let mut rng = Rng(seed);
    let forest = forests::forest(&mut rng);
    let count = 1 + rng.below(40);
    let rows = forests::rows(&mut rng, &forest, count);
    let model = forests::model_info(&forest);
    let text = schedule(seed, &model);
    let nests = check(&text, &compilable(model)).nests?;
    let compiled = |narrow_indices| {
        let budget = Budget { narrow_indices, ..Budget::default() };
        compile(forest.clone(), None, nests.clone(), &KERNELS, &budget).ok()
    };
    let both = [compiled(false)?, compiled(true)?];
    Some((forest, rows, text, both))
}
