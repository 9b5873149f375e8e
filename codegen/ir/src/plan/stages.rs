//! Stages whose results are columns, and arrangements of sums, made from the loop nests of stages.
//!
//! An arrangement leaves out loops over rows that are outside of all loops over units and terms: it is the
//! same in each of their iterations. If such a loop has `vectorize` or `interleave`, the arrangement has it
//! and the loops inside it. The loop over the vectors of a group, or over its trees, becomes the innermost
//! loop.

use crate::columns::arrangement::{Arrangement, StageBound, StageLoop};
use crate::columns::stage::ColumnStage;
use crate::error::CompileError;
use crate::hir::{Hir, number_of};
use sched_nest::{Axis, Body, Constraint, LoopId, Nest, StageInfo, StageKind, StageNest};

/// The stages whose results are columns, in order, with the loops that the schedule has for them.
///
/// # Errors
///
/// If a bound of a loop is not a constant, or the nest names a stage that the model lacks.
pub fn column_stages(hir: &Hir) -> Result<Vec<ColumnStage>, CompileError> {
    let Some(columns) = &hir.columns else { return Ok(Vec::new()) };
    let infos = StageInfo::of_model(columns.stages(), ("", 0)).into_iter();
    let infos = infos.filter(|info| info.kind != StageKind::Trees);
    let mut stages: Vec<ColumnStage> = infos.map(|info| ColumnStage { info, arrangement: None }).collect();
    let batch_size = hir.nest.batch_size.and_then(|rows| i64::try_from(rows).ok());
    let on_gpu = hir.nest.loops.iter().any(|this| this.annotations.gpu_dimension.is_some());
    for StageNest { stage, nest } in &hir.nest.stages {
        let at = stages.iter().position(|known| known.info.name == stage.name).ok_or_else(unknown_stage)?;
        let loops = arrangement(nest, columns.panel(at), batch_size)?;
        let lanes = loops.lanes(Axis::Feature);
        let is_product = on_gpu && lanes > 1 && stages[at].info.terms >= lanes.into();
        stages[at].arrangement = Some(Arrangement { is_product, ..loops });
    }
    Ok(stages)
}

/// Largest number of rows or terms in the lanes of a vector. Wider vectors become several vectors of this
/// many lanes.
const MOST_LANES: u16 = 16;

/// A loop of a chain: a nest in which each loop has one loop inside.
struct ChainLoop {
    id: LoopId,
    parts: StageLoop,
    /// Number of interleaved vectors or trees.
    group: i64,
}

/// The arrangement of a stage's nest. `batch_size` is the largest number of rows that the loops process at
/// once, if known.
fn arrangement(nest: &Nest, panel: u16, batch_size: Option<i64>) -> Result<Arrangement, CompileError> {
    let chain = chain(nest);
    let is_row = |id: &LoopId| nest.get(*id).axis == Axis::Row;
    let outer = chain.iter().take_while(|id| is_row(id)).count();
    let mut kept: Vec<ChainLoop> = Vec::new();
    for id in &chain[outer..] {
        kept.push(chain_loop(nest, *id, most_lanes(nest, &chain, *id, panel)?, batch_size)?);
    }
    // Rows of a group are adjacent.
    let first = chain[..outer].iter().position(|id| has_vectors(nest, *id)).unwrap_or(outer);
    let mut leading: Vec<ChainLoop> = Vec::new();
    for (at, id) in chain[..outer].iter().enumerate().rev() {
        let all: Vec<&ChainLoop> = leading.iter().chain(&kept).collect();
        let adjacent = adjacent_rows(&all);
        if adjacent.is_some() && at < first {
            continue;
        }
        let mut this = chain_loop(nest, *id, MOST_LANES, None)?;
        let is_tiled =
            adjacent.is_some_and(|rows| this.parts.step <= rows.saturating_mul(this.parts.lanes.into()));
        if is_tiled && at == first {
            // The arrangement computes one group of vectors, and is repeated for the others.
            this.parts.stop = this.parts.stop.min(this.parts.step.saturating_mul(this.group));
        }
        leading.insert(0, this);
    }
    leading.extend(kept);
    Ok(with_groups_inside(leading, &nest.constraints))
}

/// The loops of a nest in which each loop has one loop inside, outermost first.
fn chain(nest: &Nest) -> Vec<LoopId> {
    let mut chain = Vec::new();
    let mut next = nest.roots.first().copied();
    while let Some(id) = next {
        chain.push(id);
        next = match &nest.get(id).body {
            Body::Seq(list) => list.first().copied(),
            Body::Walk | Body::Cases(_) => None,
        };
    }
    chain
}

/// Whether a loop has `vectorize` or `interleave`.
fn has_vectors(nest: &Nest, id: LoopId) -> bool {
    let annotations = &nest.get(id).annotations;
    [annotations.vectorize, annotations.interleave].into_iter().flatten().any(|number| number > 1)
}

/// Largest number of lanes of a loop's vectors. Vectors of units begin at multiples of their lanes, and end
/// with the tile: so their lanes divide the steps of the other loops over units.
fn most_lanes(nest: &Nest, chain: &[LoopId], id: LoopId, panel: u16) -> Result<u16, CompileError> {
    if nest.get(id).axis != Axis::Unit {
        return Ok(MOST_LANES);
    }
    let mut most = panel.max(1);
    for other in chain.iter().filter(|other| **other != id && nest.get(**other).axis == Axis::Unit) {
        let step = number_of(&nest.get(*other).step)?;
        while step % i64::from(most) != 0 {
            most /= 2;
        }
    }
    Ok(most)
}

/// A loop of the chain. A loop over all rows of a call goes through `all_rows`, or through one group of
/// vectors. Vectors have at most `most` lanes.
fn chain_loop(nest: &Nest, id: LoopId, most: u16, all_rows: Option<i64>) -> Result<ChainLoop, CompileError> {
    let this = nest.get(id);
    let lanes = this.annotations.vectorize.unwrap_or(1);
    let lanes = u16::try_from(lanes).unwrap_or(most).clamp(1, most);
    let group = i64::from(this.annotations.interleave.unwrap_or(1));
    let step = number_of(&this.step)?.saturating_mul(lanes.into());
    let stop = number_of(&this.stop).unwrap_or(all_rows.unwrap_or(step.saturating_mul(group)));
    let annotations = &this.annotations;
    let parallel = annotations.parallel && this.axis == Axis::Unit;
    let (axis, unroll) = (this.axis, annotations.unroll);
    let parts = StageLoop { axis, stop, step, lanes, unroll, parallel, interleaved: false };
    Ok(ChainLoop { id, parts, group })
}

/// Number of rows that some loops go through, if these are all rows from 0 on.
fn adjacent_rows(loops: &[&ChainLoop]) -> Option<i64> {
    let mut rows: Vec<&StageLoop> =
        loops.iter().map(|this| &this.parts).filter(|this| this.axis == Axis::Row).collect();
    rows.sort_by_key(|this| this.step);
    let mut reached = 1;
    for this in rows {
        if this.step / i64::from(this.lanes) > reached {
            return None;
        }
        reached = reached.max(this.stop);
    }
    Some(reached)
}

/// The arrangement of a chain. An interleaved loop becomes two loops: one over groups, in its position, and
/// one over the vectors or trees of a group, innermost.
fn with_groups_inside(loops: Vec<ChainLoop>, constraints: &[Constraint]) -> Arrangement {
    let ids: Vec<LoopId> = loops.iter().map(|this| this.id).collect();
    let place = |id: &LoopId| ids.iter().position(|known| known == id);
    let bound = |constraint: &Constraint| {
        let loops: Option<Vec<usize>> = constraint.loops.iter().map(place).collect();
        Some(StageBound { loops: loops?, bound: number_of(&constraint.bound).ok()? })
    };
    let mut bounds: Vec<StageBound> = constraints.iter().filter_map(bound).collect();
    let mut all: Vec<StageLoop> = loops.iter().map(|this| this.parts).collect();
    // A tile that is larger than the stage ends where the stage ends.
    for (at, this) in all.iter_mut().enumerate() {
        let ends = bounds.iter().filter(|bound| bound.loops.contains(&at)).map(|bound| bound.bound);
        this.stop = ends.fold(this.stop, i64::min);
    }
    for (at, this) in loops.iter().enumerate().filter(|(_, this)| this.group > 1) {
        let stop = this.parts.step.saturating_mul(this.group);
        let inner = StageLoop { stop, unroll: false, parallel: false, interleaved: true, ..this.parts };
        let place = all.len();
        for bound in bounds.iter_mut().filter(|bound| bound.loops.contains(&at)) {
            bound.loops.push(place);
        }
        bounds.push(StageBound { loops: vec![at, place], bound: all[at].stop });
        all[at].step = inner.stop;
        all[at].lanes = 1;
        all.push(inner);
    }
    Arrangement::new(all, bounds)
}

fn unknown_stage() -> CompileError {
    CompileError::ill_formed("a nest arranges a stage that the model lacks")
}
