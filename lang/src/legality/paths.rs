//! The leaf loops of a nest with the loops around them, and the values of these loops.

use sched_nest::sym::{Property, Sym};
use sched_nest::{Axis, Body, GpuDimension, GpuLevel, Loop, LoopId, Nest};

/// A loop around a walk. `fixed` is the value of a specialized loop in one of its cases.
#[derive(Clone, Copy, PartialEq)]
pub struct PathLoop {
    pub id: LoopId,
    pub fixed: Option<i64>,
}

/// The loops around a leaf loop, outermost first, and the leaf loop at the end.
pub type LeafPath = Vec<PathLoop>;

/// The values of a loop: from `least` in steps of `step` to `most`, which is `None` if the number of rows
/// limits it.
#[derive(Clone, Copy, PartialEq)]
pub struct LoopValues {
    pub least: i64,
    pub step: i64,
    pub most: Option<i64>,
}

/// A nest whose bounds are known, except for the number of rows.
pub struct Paths<'n> {
    nest: &'n Nest,
    pub leaves: Vec<LeafPath>,
}

impl<'n> Paths<'n> {
    pub fn of(nest: &'n Nest) -> Paths<'n> {
        let mut paths = Paths { nest, leaves: Vec::new() };
        for root in &nest.roots {
            paths.collect(*root, &mut Vec::new());
        }
        paths
    }

    fn collect(&mut self, id: LoopId, path: &mut LeafPath) {
        path.push(PathLoop { id, fixed: None });
        let this = self.nest.get(id);
        match &this.body {
            Body::Walk => self.leaves.push(path.clone()),
            Body::Seq(inner) => inner.iter().for_each(|child| self.collect(*child, path)),
            Body::Cases(cases) => {
                let first = this.start.as_int().zip(this.step.as_int());
                for (case, children) in (0..).zip(cases) {
                    path.pop();
                    path.push(PathLoop {
                        id,
                        fixed: first.map(|(start, step)| start.saturating_add(step.saturating_mul(case))),
                    });
                    children.iter().for_each(|child| self.collect(*child, path));
                }
            }
        }
        path.pop();
    }

    pub fn get(&self, id: LoopId) -> &'n Loop {
        self.nest.get(id)
    }

    /// Whether all bounds are numbers or the number of rows.
    pub fn are_known(&self) -> bool {
        let is_known = |sym: &Sym| matches!(sym, Sym::Int(_) | Sym::Property(Property::Rows));
        let of_loop = |this: &Loop| {
            this.start.as_int().is_some() && this.step.as_int().is_some() && is_known(&this.stop)
        };
        self.nest.loops.iter().all(of_loop) && self.nest.constraints.iter().all(|sum| is_known(&sum.bound))
    }

    /// The values of a loop of a path, between its own bounds and below the constraints of which it is the
    /// innermost loop.
    pub fn values(&self, path: &[PathLoop], at: usize) -> LoopValues {
        let PathLoop { id, .. } = path[at];
        let this = self.get(id);
        let least = this.start.as_int().unwrap_or(0);
        let step = this.step.as_int().unwrap_or(1).max(1);
        let around = &path[..at];
        let mut stop = this.stop.as_int();
        for sum in self.nest.constraints.iter().filter(|sum| sum.loops.contains(&id)) {
            let others = sum.loops.iter().filter(|other| **other != id);
            let below = others.map(|other| self.least(around, *other));
            let below = below.reduce(|sum, other| Some(sum?.saturating_add(other?))).unwrap_or(Some(0));
            let bound = sum.bound.as_int().zip(below).map(|(bound, below)| bound.saturating_sub(below));
            stop = stop.into_iter().chain(bound).min();
        }
        let last = |stop: i64| stop.saturating_sub(1).saturating_sub(least).max(0) / step * step;
        let most = stop.map(|stop| least.saturating_add(last(stop)));
        LoopValues { least, step, most }
    }

    /// The least value of a loop, if it is on the path.
    fn least(&self, path: &[PathLoop], id: LoopId) -> Option<i64> {
        let around = path.iter().find(|around| around.id == id)?;
        around.fixed.or_else(|| self.get(id).start.as_int())
    }

    /// Number of walks of a leaf loop that one block, thread or copy of the code runs together.
    pub fn group(&self, id: LoopId) -> i64 {
        let this = self.get(id);
        let one = |number: Option<u32>| i64::from(number.unwrap_or(1).max(1));
        let annotations = &this.annotations;
        let is_grouped = annotations.gpu_dimension.is_some() || annotations.cache || annotations.unroll;
        if this.body == Body::Walk && is_grouped {
            one(annotations.interleave) * one(annotations.vectorize)
        } else {
            1
        }
    }

    pub fn dimension(&self, id: LoopId) -> Option<GpuDimension> {
        self.get(id).annotations.gpu_dimension
    }

    pub fn is_on(&self, id: LoopId, level: GpuLevel) -> bool {
        self.dimension(id).is_some_and(|dimension| dimension.level == level)
    }

    /// Whether a loop over trees runs as blocks or threads.
    pub fn spreads_trees(&self, id: LoopId) -> bool {
        self.get(id).axis == Axis::Tree && self.dimension(id).is_some()
    }

    /// A loop and all loops inside.
    pub fn subtree(&self, id: LoopId) -> Vec<LoopId> {
        let mut all = vec![id];
        let mut next = 0;
        while let Some(at) = all.get(next).copied() {
            all.extend(self.get(at).body.loops());
            next += 1;
        }
        all
    }
}
