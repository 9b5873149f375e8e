//! `sortTrees(depth)` and `splitByDepth(v)`: operations on the depths of the trees.
//!
//! ```text
//! for v in 0..100      for v[0] in 0..30      // trees of depth 4
//!   BODY          -->    BODY
//!                      for v[1] in 30..100    // trees of depth 6
//!                        BODY
//! ```

use std::collections::HashMap;

use super::split::SplitPart;
use super::{DirectiveIndex, Inside, MAX_EXPANSION, NestBuilder, RemarkKind, Select};
use crate::illegal::{Illegal, Problem};
use crate::obligation::Obligation;
use sched_nest::sym::Sym;
use sched_nest::{Axis, LoopId, TreeOrder};

/// Largest number of points visited to find the trees of an iteration.
const BUDGET: usize = 4_000_000;

impl NestBuilder {
    /// Sorts the trees stably by depth, shallowest first.
    ///
    /// # Errors
    /// After an operation that has fixed tree positions, and when said twice.
    pub fn sort_trees(&mut self, step: DirectiveIndex) -> Result<(), Illegal> {
        if let Some(earlier) = self.sorted_by {
            return Err(Illegal::at(step, Problem::Repeated { earlier }, Vec::new()));
        }
        if let Some(by) = self.positions_fixed_by {
            return Err(Illegal::at(step, Problem::SortTooLate { by }, Vec::new()));
        }
        self.order = TreeOrder::ByDepth;
        self.sorted_by = Some(step);
        Ok(())
    }

    /// Depths of the trees in the order of the nest.
    fn depths(&self) -> Option<Vec<u32>> {
        let mut depths = self.model.as_ref()?.depths.to_vec();
        if self.order == TreeOrder::ByDepth {
            depths.sort_unstable();
        }
        Some(depths)
    }

    /// Cuts each copy of the tree loop into runs of iterations whose trees have the same depth. The parts
    /// keep the name and are numbered.
    ///
    /// # Errors Names that are unknown or consumed; row loops; loops cut by depth before; loops whose trees
    /// are not known because an outer tree loop iterates. Nothing has changed then.
    pub fn split_by_depth(&mut self, step: DirectiveIndex, v: &Select) -> Result<(), Illegal> {
        let loops = self.select(step, 0, v)?;
        let refuse = |problem, loops| Err(Illegal { argument: Some(0), ..Illegal::at(step, problem, loops) });
        for id in &loops {
            if let Some(by) = self.node(*id).specialized_by {
                return refuse(Problem::Specialized { by }, vec![*id]);
            }
            if self.axis(*id) != Axis::Tree {
                return refuse(Problem::NotTrees, vec![*id]);
            }
            if let Some(by) = self.node(*id).split_by_depth {
                return refuse(Problem::DepthTwice { by }, vec![*id]);
            }
        }
        self.positions_fixed_by.get_or_insert(step);
        let Some(depths) = self.depths() else {
            self.remark(step, loops[0], RemarkKind::Unverified(Obligation::EquallyDeep));
            self.uncounted.insert(v.name.clone());
            return Ok(());
        };
        let mut cuts = Vec::new();
        for id in loops {
            let parts = self.runs(step, id, &depths)?;
            self.check_copies(step, &[id], parts.len())?;
            cuts.push((id, parts));
        }
        for (id, parts) in cuts {
            self.check_copies(step, &[id], parts.len())?;
            self.fission(step, id, &parts);
        }
        Ok(())
    }

    /// Runs of iterations whose deepest trees have the same depth.
    fn runs(&self, step: DirectiveIndex, v: LoopId, depths: &[u32]) -> Result<Vec<SplitPart>, Illegal> {
        let refuse = |problem, loops| Err(Illegal { argument: Some(0), ..Illegal::at(step, problem, loops) });
        let mut scan = Scan { builder: self, depths, values: HashMap::new(), budget: BUDGET };
        let position = match self.known_position(v, &mut scan.values) {
            Ok(position) => position,
            Err(outer) => {
                return refuse(Problem::PositionUnknown { outer: self.name(outer) }, vec![v, outer]);
            }
        };
        let mut runs: Vec<(i64, u32)> = Vec::new();
        let node = self.node(v);
        let stride = node.step.as_int().unwrap_or(1).max(1);
        let mut value = node.start.as_int().unwrap_or(0);
        let Some(stop) = scan.stop(v) else { return refuse(Problem::TreesUnknown, vec![v]) };
        while value < stop {
            scan.values.insert(v, value);
            let Some(deepest) = scan.deepest(v, position.saturating_add(value)) else {
                return refuse(Problem::TreesUnknown, vec![v]);
            };
            let same = runs.last().is_some_and(|(_, depth)| deepest.is_none_or(|d| d == *depth));
            if !same {
                runs.push((value, deepest.unwrap_or(0)));
            }
            value = value.saturating_add(stride);
        }
        if runs.is_empty() {
            runs.push((node.start.as_int().unwrap_or(0), 0));
        }
        if runs.len() as i64 > MAX_EXPANSION {
            return refuse(Problem::TripsHuge { trips: runs.len() as i64, limit: MAX_EXPANSION }, vec![v]);
        }
        let stops = runs.iter().skip(1).map(|(start, _)| Sym::Int(*start)).chain([node.stop.clone()]);
        let part = |(number, ((start, depth), stop)): (usize, (&(i64, u32), Sym))| SplitPart {
            name: node.name.clone(),
            number: Some(number as u32),
            start: Sym::Int(*start),
            stop,
            run_depth: Some(*depth),
        };
        Ok(runs.iter().zip(stops).enumerate().map(part).collect())
    }

    /// Sum of the values of the enclosing tree loops if each has a single value, or else a loop with more.
    fn known_position(&self, v: LoopId, values: &mut HashMap<LoopId, i64>) -> Result<i64, LoopId> {
        let path = self.path(v);
        let mut position: i64 = 0;
        for pair in path.windows(2) {
            let (outer, inner) = (pair[0], pair[1]);
            let node = self.node(outer);
            if node.axis != Axis::Tree {
                continue;
            }
            let iteration = match &node.inside {
                Inside::Cases(cases) => cases.iter().position(|case| case.contains(&inner)),
                Inside::Seq(_) => (self.trips(outer) == Some(1)).then_some(0),
            };
            let (Some(iteration), Some(start), Some(stride)) =
                (iteration, node.start.as_int(), node.step.as_int())
            else {
                return Err(outer);
            };
            let value = start.saturating_add(stride.saturating_mul(iteration as i64));
            values.insert(outer, value);
            position = position.saturating_add(value);
        }
        Ok(position)
    }
}

/// A visit of the tree loops below one iteration.
struct Scan<'a> {
    builder: &'a NestBuilder,
    depths: &'a [u32],
    values: HashMap<LoopId, i64>,
    budget: usize,
}

impl Scan<'_> {
    /// End of the loop, given the values of the loops around it.
    fn stop(&self, id: LoopId) -> Option<i64> {
        let node = self.builder.node(id);
        let mut stop = node.stop.as_int()?;
        for index in &node.sums {
            let sum = &self.builder.sums[*index as usize];
            if !self.limits(&sum.loops, id) {
                continue;
            }
            let mut rest = sum.bound.as_int()?;
            for other in sum.loops.iter().filter(|other| **other != id) {
                let value = match self.values.get(other) {
                    Some(value) => *value,
                    None => self.builder.node(*other).start.as_int()?,
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
            let Inside::Seq(list) = &self.builder.node(at).inside else { return false };
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
        let node = self.builder.node(id);
        if node.inside.is_leaf() {
            let depth = usize::try_from(position).ok().and_then(|at| self.depths.get(at).copied());
            return Some(depth);
        }
        let inside = match &node.inside {
            Inside::Seq(list) => list,
            Inside::Cases(cases) => {
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

    /// [`Scan::deepest`] over all iterations of `id`.
    fn deepest_loop(&mut self, id: LoopId, position: i64) -> Option<Option<u32>> {
        let node = self.builder.node(id);
        if node.axis == Axis::Row {
            return match &node.inside {
                Inside::Cases(cases) => {
                    let mut deepest = None;
                    for child in cases.iter().flatten() {
                        deepest = deepest.max(self.deepest_loop(*child, position)?);
                    }
                    Some(deepest)
                }
                Inside::Seq(_) => self.deepest(id, position),
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
