//! Depths of the trees that the iterations of a loop walk.

use std::collections::HashMap;

use super::names::NameRefusal;
use super::{LoopBody, NestBuilder};
use crate::illegal::Problem;
use sched_nest::{Axis, LoopId};

/// Largest number of points visited to find the trees of an iteration.
const MAX_VISITED_POINTS: usize = 4_000_000;

/// First value of a run of iterations, and the depth of its deepest trees.
pub(super) type DepthRun = (i64, u32);

/// A visit of the tree loops below each iteration of a loop.
pub(super) struct DepthScan<'a> {
    nest: &'a NestBuilder,
    /// Depths of the trees in the order of the nest.
    depths: &'a [u32],
    /// Values of the loops around the current point.
    values: HashMap<LoopId, i64>,
    /// Number of points that may still be visited.
    budget: usize,
}

impl<'a> DepthScan<'a> {
    /// A scan of trees with these depths.
    pub fn new(nest: &'a NestBuilder, depths: &'a [u32]) -> Self {
        DepthScan { nest, depths, values: HashMap::new(), budget: MAX_VISITED_POINTS }
    }

    /// Runs of iterations of `v` whose deepest trees have the same depth; at least one.
    ///
    /// # Errors
    /// If the trees are unknown, with the loops that make them so.
    pub fn runs(mut self, v: LoopId) -> Result<Vec<DepthRun>, NameRefusal> {
        let unknown = || (Problem::TreesUnknown, vec![v]);
        let position = self
            .known_position(v)
            .map_err(|outer| (Problem::PositionUnknown { outer: self.nest.name(outer) }, vec![v, outer]))?;
        let node = self.nest.node(v);
        let stride = node.step.as_int().unwrap_or(1).max(1);
        let mut value = node.start.as_int().unwrap_or(0);
        let first = value;
        let stop = self.stop(v).ok_or_else(unknown)?;
        let mut runs: Vec<DepthRun> = Vec::new();
        while value < stop {
            self.values.insert(v, value);
            let deepest = self.deepest(v, position.saturating_add(value)).ok_or_else(unknown)?;
            let same = runs.last().is_some_and(|(_, depth)| deepest.is_none_or(|d| d == *depth));
            if !same {
                runs.push((value, deepest.unwrap_or(0)));
            }
            value = value.saturating_add(stride);
        }
        if runs.is_empty() {
            runs.push((first, 0));
        }
        Ok(runs)
    }

    /// Sum of the values of the enclosing tree loops if each has a single value, or else a loop with more.
    fn known_position(&mut self, v: LoopId) -> Result<i64, LoopId> {
        let path = self.nest.tree.path(v);
        let mut position: i64 = 0;
        for pair in path.windows(2) {
            let (outer, inner) = (pair[0], pair[1]);
            let node = self.nest.node(outer);
            if node.axis != Axis::Tree {
                continue;
            }
            let iteration = match self.nest.tree.inside(outer) {
                LoopBody::Cases(cases) => cases.iter().position(|case| case.contains(&inner)),
                LoopBody::Seq(_) => (node.trips() == Some(1)).then_some(0),
            };
            let (Some(iteration), Some(start), Some(stride)) =
                (iteration, node.start.as_int(), node.step.as_int())
            else {
                return Err(outer);
            };
            let value = start.saturating_add(stride.saturating_mul(iteration as i64));
            self.values.insert(outer, value);
            position = position.saturating_add(value);
        }
        Ok(position)
    }

    /// End of the loop, given the values of the loops around it.
    fn stop(&self, id: LoopId) -> Option<i64> {
        let node = self.nest.node(id);
        let mut stop = node.stop.as_int()?;
        for sum in self.nest.constraints.of(id) {
            if !self.limits(&sum.loops, id) {
                continue;
            }
            let mut rest = sum.bound.as_int()?;
            for other in sum.loops.iter().filter(|other| **other != id) {
                let value = match self.values.get(other) {
                    Some(value) => *value,
                    None => self.nest.node(*other).start.as_int()?,
                };
                rest = rest.checked_sub(value)?;
            }
            stop = stop.min(rest);
        }
        Some(stop)
    }

    /// Whether all walks inside `id` pass through all inner loops of the sum.
    fn limits(&self, loops: &[LoopId], id: LoopId) -> bool {
        let is_inside = |other: &&LoopId| **other != id && !self.values.contains_key(other);
        let mut missing = loops.iter().filter(is_inside).count();
        let mut at = id;
        while missing > 0 {
            let LoopBody::Seq(list) = self.nest.tree.inside(at) else { return false };
            let [only] = list.as_slice() else { return false };
            at = *only;
            missing -= usize::from(loops.contains(&at));
        }
        true
    }

    /// Depth of the deepest tree walked in the current iteration of `id`. `None` if the scan is too long,
    /// `Some(None)` if no tree is walked.
    fn deepest(&mut self, id: LoopId, position: i64) -> Option<Option<u32>> {
        self.budget = self.budget.checked_sub(1)?;
        let node = self.nest.node(id);
        if self.nest.tree.inside(id).is_leaf() {
            let depth = usize::try_from(position).ok().and_then(|at| self.depths.get(at).copied());
            return Some(depth);
        }
        let inside = match self.nest.tree.inside(id) {
            LoopBody::Seq(list) => list,
            LoopBody::Cases(cases) => {
                let value = self.values.get(&id).copied().unwrap_or(0);
                let start = node.start.as_int()?;
                let iteration = (value - start) / node.step.as_int()?.max(1);
                usize::try_from(iteration).ok().and_then(|k| cases.get(k))?
            }
        };
        let mut deepest = None;
        for child in inside {
            deepest = deepest.max(self.deepest_loop(*child, position)?);
        }
        Some(deepest)
    }

    /// [`DepthScan::deepest`] over all iterations of `id`.
    fn deepest_loop(&mut self, id: LoopId, position: i64) -> Option<Option<u32>> {
        let node = self.nest.node(id);
        if node.axis == Axis::Row {
            return match self.nest.tree.inside(id) {
                LoopBody::Cases(cases) => {
                    let mut deepest = None;
                    for child in cases.iter().flatten() {
                        deepest = deepest.max(self.deepest_loop(*child, position)?);
                    }
                    Some(deepest)
                }
                LoopBody::Seq(_) => self.deepest(id, position),
            };
        }
        let stride = node.step.as_int()?.max(1);
        let mut value = node.start.as_int()?;
        let stop = self.stop(id)?;
        let mut deepest = None;
        while value < stop {
            self.values.insert(id, value);
            deepest = deepest.max(self.deepest(id, position.checked_add(value)?)?);
            value = value.checked_add(stride)?;
        }
        self.values.remove(&id);
        Some(deepest)
    }
}
