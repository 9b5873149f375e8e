//! `gpuDimension`, and its conflicts with `parallel`.

use crate::device::Limits;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, DirectiveIndex, NestBuilder};
use crate::obligation::Obligation;
use crate::options::TargetKind;
use sched_nest::sym::{Property, Sym};
use sched_nest::{GpuDimension, GpuLevel, LoopId};

pub(super) fn check(builder: &NestBuilder, id: LoopId, limits: &Limits, problems: &mut Vec<Illegal>) {
    let parallel = builder.node(id).directive_of(|annotation| matches!(annotation, Annotation::Parallel));
    let Some((dimension, step)) = builder.node(id).gpu_dimension() else {
        if let Some(parallel) = parallel.filter(|_| limits.kind == TargetKind::Gpu) {
            beside_launch(builder, id, parallel, problems);
        }
        return;
    };
    if limits.kind == TargetKind::Cpu {
        problems.push(Illegal::at(step, Problem::GpuOnCpu, vec![id]));
        return;
    }
    if let Some(parallel) = parallel {
        problems.push(Illegal::at(parallel, Problem::ParallelOnGpu { gpu: step }, vec![id]));
    }
    let path = builder.tree().path(id);
    let outer: Vec<(LoopId, GpuDimension, DirectiveIndex)> = path
        .iter()
        .filter(|on| **on != id)
        .filter_map(|on| builder.node(*on).gpu_dimension().map(|(dimension, step)| (*on, dimension, step)))
        .collect();
    if let Some((on, _, earlier)) = outer.iter().find(|(_, other, _)| *other == dimension) {
        let problem = Problem::DimensionTwice { outer: builder.name(*on), earlier: *earlier };
        problems.push(Illegal::argument(step, 1, problem, vec![*on, id]));
        return;
    }
    let most = match dimension.level {
        GpuLevel::Grid => limits.max_grid_iterations(dimension.axis),
        GpuLevel::Block => limits.max_block_iterations(dimension.axis),
    };
    if let Some(count) = builder.node(id).trips().filter(|trips| *trips > most)
        && (dimension.level == GpuLevel::Grid || most < limits.gpu.threads)
    {
        let problem = Problem::DimensionTooLarge { dimension, count, limit: most };
        problems.push(Illegal::argument(step, 1, problem, vec![id]));
        return;
    }
    if dimension.level == GpuLevel::Block {
        check_block_loop(builder, id, step, &outer, limits, problems);
    }
}

/// Refuses a parallel loop around or inside loops on the GPU. Launches run one after the other, and GPU
/// threads cannot start CPU threads.
fn beside_launch(builder: &NestBuilder, id: LoopId, parallel: DirectiveIndex, problems: &mut Vec<Illegal>) {
    let mut others = builder.tree().path(id).into_iter().chain(builder.tree().subtree(id));
    if let Some((other, gpu)) =
        others.find_map(|on| builder.node(on).gpu_dimension().map(|(_, gpu)| (on, gpu)))
    {
        problems.push(Illegal::at(parallel, Problem::ParallelOnGpu { gpu }, vec![id, other]));
    }
}

/// Checks a loop mapped to a block dimension: it is inside a grid loop, its length is constant, and the block
/// has not too many threads.
fn check_block_loop(
    builder: &NestBuilder,
    id: LoopId,
    step: DirectiveIndex,
    outer: &[(LoopId, GpuDimension, DirectiveIndex)],
    limits: &Limits,
    problems: &mut Vec<Illegal>,
) {
    let below = builder.tree().subtree(id);
    let is_grid = |dimension: &GpuDimension| dimension.level == GpuLevel::Grid;
    let grid_below = below
        .iter()
        .find(|on| builder.node(**on).gpu_dimension().is_some_and(|(dimension, _)| is_grid(&dimension)));
    if let Some(grid) = grid_below {
        problems.push(Illegal::argument(step, 1, Problem::BlockOutsideGrid, vec![id, *grid]));
        return;
    }
    if !outer.iter().any(|(_, dimension, _)| is_grid(dimension)) {
        problems.push(Illegal::argument(step, 1, Problem::BlockOutsideGrid, vec![id]));
        return;
    }
    let Some(own) = builder.node(id).trips() else {
        problems.push(Illegal::argument(step, 0, unknown_length(builder, id), vec![id]));
        return;
    };
    let repeats = |at: usize| outer[..at].iter().any(|(_, earlier, _)| *earlier == outer[at].1);
    if (0..outer.len()).any(repeats) {
        // A dimension is used twice, which is another problem. The number of threads has no meaning then.
        return;
    }
    let blocks = outer.iter().filter(|(_, dimension, _)| dimension.level == GpuLevel::Block);
    let around: i64 = blocks.filter_map(|(on, ..)| builder.node(*on).trips()).fold(1, i64::saturating_mul);
    let threads = own.saturating_mul(around);
    let limit = limits.gpu.threads;
    if threads > limit {
        let mut loops: Vec<LoopId> = outer.iter().map(|(on, ..)| *on).collect();
        loops.push(id);
        problems.push(Illegal::argument(step, 0, Problem::TooManyThreads { threads, limit }, loops));
    }
}

/// Problem of a loop over threads whose number of iterations is not known.
fn unknown_length(builder: &NestBuilder, id: LoopId) -> Problem {
    let node = builder.node(id);
    let is_of_rows = |bound: &Sym| bound.mentions(&|property| property == Property::Rows);
    if [&node.start, &node.stop, &node.step].into_iter().any(is_of_rows) {
        Problem::BlockNotConstant
    } else {
        Problem::Unverified { what: Obligation::Threads { name: builder.name(id) }.into() }
    }
}
