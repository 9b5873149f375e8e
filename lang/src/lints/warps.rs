//! Threads of a warp that run different code.

use crate::device::Limits;
use crate::illegal::{Illegal, Problem};
use crate::lineage::NestBuilder;
use sched_nest::{GpuDimension, GpuLevel, LoopId};

/// Each iteration of a specialized loop over threads has separate code. A warp does not diverge if the
/// threads along the earlier axes fill warps.
pub(super) fn check(builder: &NestBuilder, id: LoopId, limits: &Limits, problems: &mut Vec<Illegal>) {
    let (Some(step), Some(own)) = (builder.node(id).specialized_by, on_block(builder, id)) else { return };
    if builder.node(id).trips().is_none_or(|trips| trips < 2) {
        return;
    }
    let path = builder.tree().path(id);
    let Some(launch) = path.iter().find(|on| builder.node(**on).gpu_dimension().is_some()) else { return };
    let inside = builder.tree().subtree(*launch);
    // Threads are numbered along x first.
    let before = (0..own.axis as usize).map(|axis| {
        let along =
            inside.iter().filter(|on| on_block(builder, **on).is_some_and(|d| d.axis as usize == axis));
        along.filter_map(|on| builder.node(*on).trips()).max().unwrap_or(1)
    });
    let together = before.fold(1, i64::saturating_mul);
    if together % limits.warp != 0 {
        let problem = Problem::DivergentWarp { together, warp: limits.warp };
        problems.push(Illegal::argument(step, 0, problem, vec![id]));
    }
}

fn on_block(builder: &NestBuilder, id: LoopId) -> Option<GpuDimension> {
    let dimension = builder.node(id).gpu_dimension().map(|(dimension, _)| dimension);
    dimension.filter(|dimension| dimension.level == GpuLevel::Block)
}
