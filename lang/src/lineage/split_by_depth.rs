//! `splitByDepth(v)`
//!
//! ```text
//! for v in 0..100      for v[0] in 0..30      // trees of depth 4
//!   BODY          -->    BODY
//!                      for v[1] in 30..100    // trees of depth 6
//!                        BODY
//! ```

use super::checks::{check_copies, check_not_specialized};
use super::depth_scan::{DepthRun, DepthScan};
use super::fission::{self, SplitPart};
use super::modifier::Modifier;
use super::{DirectiveIndex, LoopSelector, MAX_EXPANSION, NestBuilder};
use crate::illegal::{Illegal, Problem};
use crate::obligation::Obligation;
use sched_nest::sym::Sym;
use sched_nest::{Axis, LoopId};

/// Cuts each copy of the tree loop into runs of iterations whose deepest trees have the same depth. The parts
/// keep the name and are numbered. Refuses names that are unknown or consumed; row loops; loops cut by depth
/// before; loops whose trees are not known because an outer tree loop iterates.
pub(crate) struct SplitLoopByDepth<'a> {
    v: &'a LoopSelector,
}

impl<'a> SplitLoopByDepth<'a> {
    /// A `splitByDepth` with this argument.
    pub fn new(v: &'a LoopSelector) -> Self {
        SplitLoopByDepth { v }
    }
}

impl Modifier for SplitLoopByDepth<'_> {
    type Rewrite = (LoopId, Vec<SplitPart>);

    fn plan(&self, nest: &mut NestBuilder, step: DirectiveIndex) -> Result<Vec<Self::Rewrite>, Illegal> {
        let loops = nest.select(step, 0, self.v)?;
        for id in &loops {
            check_tree_loop(nest, step, *id)?;
        }
        nest.positions.fix(step);
        let Some(depths) = nest.model().map(|model| nest.positions.depths(model)) else {
            nest.remarks.add_unverified(step, loops[0], Obligation::DepthRuns);
            nest.names.poison_copies(&self.v.name);
            return Ok(Vec::new());
        };
        let mut cuts = Vec::new();
        for id in loops {
            let parts = parts(nest, step, id, &depths)?;
            check_copies(nest, step, &[id], parts.len())?;
            cuts.push((id, parts));
        }
        Ok(cuts)
    }

    fn rewrite(
        &self,
        nest: &mut NestBuilder,
        step: DirectiveIndex,
        (v, parts): Self::Rewrite,
    ) -> Result<(), Illegal> {
        check_copies(nest, step, &[v], parts.len())?;
        fission::cut(nest, step, v, &parts);
        Ok(())
    }
}

/// Refuses specialized loops, row loops, and loops cut by depth before.
fn check_tree_loop(nest: &NestBuilder, step: DirectiveIndex, v: LoopId) -> Result<(), Illegal> {
    check_not_specialized(nest, step, v)?;
    let refuse = |problem| Err(Illegal::argument(step, 0, problem, vec![v]));
    if nest.node(v).axis != Axis::Tree {
        return refuse(Problem::NotTrees);
    }
    match nest.node(v).split_by_depth {
        Some(by) => refuse(Problem::DepthTwice { by }),
        None => Ok(()),
    }
}

/// One part of the loop for each run of iterations whose deepest trees have the same depth.
fn parts(
    nest: &NestBuilder,
    step: DirectiveIndex,
    v: LoopId,
    depths: &[u32],
) -> Result<Vec<SplitPart>, Illegal> {
    let refuse = |(problem, loops)| Illegal::argument(step, 0, problem, loops);
    let runs = DepthScan::new(nest, depths).runs(v).map_err(refuse)?;
    let trips = runs.len() as i64;
    if trips > MAX_EXPANSION {
        return Err(refuse((Problem::TripsHuge { trips, limit: MAX_EXPANSION }, vec![v])));
    }
    let node = nest.node(v);
    let stops = runs.iter().skip(1).map(|(start, _)| Sym::Int(*start)).chain([node.stop.clone()]);
    let part = |(number, ((start, depth), stop)): (usize, (&DepthRun, Sym))| SplitPart {
        name: node.name.clone(),
        number: Some(number as u32),
        start: Sym::Int(*start),
        stop,
        run_depth: Some(*depth),
    };
    Ok(runs.iter().zip(stops).enumerate().map(part).collect())
}
