//! Whether the annotations fit the final nest: one file for each family of directives.

mod find;
mod gpu;
mod launch;
mod launch_sums;
mod launches;
mod layout;
mod memory;
mod paths;
mod reduce;
mod shared;
mod size;
pub(crate) mod stage;
mod unroll_and_jam;
mod walks;

pub(crate) use find::{innermost, layout_of};
pub use shared::working_set;
pub(crate) use size::{is_large_code, large_code};

use self::launches::{FoundProblems, Launches};
use self::paths::Paths;
use crate::device::Limits;
use crate::illegal::Illegal;
use crate::lineage::NestBuilder;
use crate::options::TargetKind;

/// All problems of the final nest, as plain data. Empty means that it is legal for the target.
pub fn check(builder: &NestBuilder, limits: &Limits) -> Vec<Illegal> {
    let target = limits.kind;
    let loops = builder.tree().loops();
    let mut problems = Vec::new();
    for id in &loops {
        walks::check(builder, *id, target, &mut problems);
        unroll_and_jam::check(builder, *id, &mut problems);
        reduce::check(builder, *id, &mut problems);
        gpu::check(builder, *id, limits, &mut problems);
    }
    if target == TargetKind::Gpu && problems.is_empty() {
        check_launches(builder, limits, &mut problems);
    }
    layout::check(builder, &loops, target, &mut problems);
    memory::check(builder, &loops, &mut problems);
    if target == TargetKind::Gpu {
        shared::check(builder, limits, &mut problems);
    }
    size::check(builder, &mut problems);
    problems
}

/// Checks the launches of a nest, if some loop is mapped.
fn check_launches(builder: &NestBuilder, limits: &Limits, problems: &mut Vec<Illegal>) {
    let loops = builder.tree().loops();
    let Some((_, mapped)) = loops.iter().find_map(|id| builder.node(*id).gpu_dimension()) else { return };
    let (nest, origin) = builder.nest();
    let launches = Launches { builder, paths: &Paths::of(&nest), origin: &origin };
    let mut found = FoundProblems::new(problems);
    launch::check(&launches, mapped, limits, &mut found);
    launch_sums::check(&launches, &mut found);
}
