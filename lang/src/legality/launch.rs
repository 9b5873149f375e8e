//! Launches: whether they contain all walks, and whether the threads of a block can make the copies of rows
//! that the nest needs.

use super::find::layout_of;
use super::launches::{FoundProblems, Launches};
use super::paths::{LeafPath, PathLoop};
use crate::device::Limits;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, DirectiveIndex};
use sched_nest::{Axis, GpuAxis, GpuLevel, LoopId};

/// Checks the launches of a nest; `mapped` is a directive that maps a loop.
pub fn check(launches: &Launches, mapped: DirectiveIndex, limits: &Limits, found: &mut FoundProblems) {
    for path in &launches.paths.leaves {
        launches.outside(path, mapped, found);
        launches.copies(path, found);
    }
    if launches.paths.are_known() {
        launches.threads(limits, found);
    }
}

impl Launches<'_> {
    /// Refuses walks outside all launches.
    fn outside(&self, path: &LeafPath, mapped: DirectiveIndex, found: &mut FoundProblems) {
        if path.iter().all(|around| self.paths.dimension(around.id).is_none()) {
            let loops = path.last().map(|leaf| self.index(leaf.id)).into_iter().collect();
            found.add(Illegal::at(mapped, Problem::WalksOutsideLaunch, loops));
        }
    }

    /// Refuses copies of rows that single threads would make, or of rows without a limit, and bins that no
    /// block copies.
    fn copies(&self, path: &LeafPath, found: &mut FoundProblems) {
        let is_cached = |around: &PathLoop| {
            let this = self.paths.get(around.id);
            this.axis == Axis::Row && this.annotations.cache
        };
        for (at, cached) in path.iter().enumerate().filter(|(_, around)| is_cached(around)) {
            let Some(step) = self.directive(cached.id, |one| matches!(one, Annotation::Cache)) else {
                continue;
            };
            let thread = path[..=at].iter().find(|around| self.paths.is_on(around.id, GpuLevel::Block));
            let unlimited = (at + 1..path.len()).find(|inner| {
                let is_of_rows = self.paths.get(path[*inner].id).axis == Axis::Row;
                is_of_rows && path[*inner].fixed.is_none() && self.paths.values(path, *inner).most.is_none()
            });
            let (problem, other) = match (thread, unlimited) {
                (Some(thread), _) => (Problem::ThreadCache, thread.id),
                (None, Some(inner)) if self.paths.are_known() => (Problem::UnlimitedCache, path[inner].id),
                _ => continue,
            };
            let mut loops = vec![self.index(cached.id), self.index(other)];
            loops.dedup();
            found.add(Illegal::argument(step, 0, problem, loops));
        }
        let Some(leaf) = path.last().map(|leaf| self.index(leaf.id)) else { return };
        if let Some((layout, step)) = layout_of(self.builder, leaf)
            && layout.compares_bins()
            && !path.iter().any(is_cached)
        {
            let grid = path.iter().rev().find(|around| {
                self.paths.is_on(around.id, GpuLevel::Grid) && self.paths.get(around.id).axis == Axis::Row
            });
            let loops = [Some(leaf), grid.map(|grid| self.index(grid.id))];
            let problem = Problem::BinsNotCached { layout };
            found.add(Illegal::at(step, problem, loops.into_iter().flatten().collect()));
        }
    }

    /// Refuses launches whose blocks have too many threads because loops beside each other have different
    /// lengths.
    fn threads(&self, limits: &Limits, found: &mut FoundProblems) {
        for launch in self.launches() {
            let mut longest: [(i64, Option<LoopId>); 3] = [(1, None); 3];
            for path in launch {
                for (at, around) in path.iter().enumerate() {
                    let Some(dimension) = self.paths.dimension(around.id) else { continue };
                    let values = self.paths.values(path, at);
                    let step = values.step.saturating_mul(self.paths.group(around.id));
                    let trips = values.most.map_or(0, |most| most.saturating_sub(values.least) / step + 1);
                    let axis = &mut longest[match dimension.axis {
                        GpuAxis::X => 0,
                        GpuAxis::Y => 1,
                        GpuAxis::Z => 2,
                    }];
                    if dimension.level == GpuLevel::Block && trips > axis.0 {
                        *axis = (trips, Some(around.id));
                    }
                }
            }
            let threads = longest.iter().fold(1_i64, |all, (trips, _)| all.saturating_mul(*trips));
            let (limit, loops) = (limits.gpu.threads, longest.iter().filter_map(|(_, id)| *id));
            let loops: Vec<LoopId> = loops.collect();
            if threads > limit
                && let Some(step) = loops.last().and_then(|id| self.mapping(*id))
            {
                let loops = loops.into_iter().map(|id| self.index(id)).collect();
                found.add(Illegal::argument(step, 0, Problem::TooManyThreads { threads, limit }, loops));
            }
        }
    }
}
