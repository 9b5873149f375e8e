//! From the builder to the plain [`Nest`].

use foldhash::{HashMap, HashMapExt};

use super::names::bare;
use super::{LoopBody, LoopNode, Loops, NestBuilder};
use crate::accumulation;
use sched_nest::sym::Sym;
use sched_nest::{Body, Constraint, Loop, LoopId, Nest};

impl NestBuilder {
    /// The current nest, and the index variable of each of its loops.
    pub fn nest(&self) -> (Nest, Vec<LoopId>) {
        let order = self.tree().loops();
        let export = Export::new(self, &order);
        let nest = Nest {
            loops: order.iter().map(|id| export.loop_of(*id)).collect(),
            roots: export.renumber(self.tree().roots()),
            constraints: export.constraints(&order),
            computed_columns: self.model().map_or(0, |model| model.computed_columns),
            tree_order: self.tree_order(),
            representation: None,
            tile_trees: self.forest().tile_trees().map(|(tiles, _)| tiles),
            accumulation: accumulation::infer(self),
            batch_size: None,
            shared_memory: None,
            stages: Vec::new(),
        };
        (nest, order)
    }
}

/// A nest that is exported.
struct Export<'a> {
    builder: &'a NestBuilder,
    /// Positions of index variables in the plain nest.
    ids: HashMap<LoopId, LoopId>,
    /// Number of loops of each name, copies of `splitByDepth` apart.
    counts: HashMap<(&'a str, Option<u32>), usize>,
}

impl<'a> Export<'a> {
    fn new(builder: &'a NestBuilder, order: &[LoopId]) -> Self {
        let ids = order.iter().enumerate().map(|(at, id)| (*id, LoopId(at as u32))).collect();
        let mut counts = HashMap::new();
        for id in order {
            let node = builder.node(*id);
            *counts.entry((&*node.name, node.number)).or_insert(0) += 1;
        }
        Export { builder, ids, counts }
    }

    /// Positions of these loops in the plain nest.
    fn renumber(&self, loops: &[LoopId]) -> Vec<LoopId> {
        loops.iter().filter_map(|id| self.ids.get(id).copied()).collect()
    }

    fn loop_of(&self, id: LoopId) -> Loop {
        let node = self.builder.node(id);
        let body = match self.builder.tree().inside(id) {
            LoopBody::Seq(list) if list.is_empty() => Body::Walk,
            LoopBody::Seq(list) => Body::Seq(self.renumber(list)),
            LoopBody::Cases(cases) => Body::Cases(cases.iter().map(|case| self.renumber(case)).collect()),
        };
        let is_unique = self.counts.get(&(&*node.name, node.number)).is_none_or(|count| *count == 1);
        Loop {
            name: if is_unique { bare(node).to_string() } else { self.builder.name(id) },
            axis: node.axis,
            start: node.start.clone(),
            stop: node.stop.clone(),
            step: node.step.clone(),
            body,
            annotations: node.effective_annotations(),
        }
    }

    /// Bounds on sums of loop values, such as `block + row < n_rows`, that the loops' own ranges do not
    /// imply. Each occurs once.
    fn constraints(&self, order: &[LoopId]) -> Vec<Constraint> {
        let mut seen: HashMap<Loops, Vec<&Sym>> = HashMap::new();
        let mut found = Vec::new();
        let sums = self.builder.constraints();
        for index in sums.of_any(order) {
            let sum = sums.get(index);
            if self.is_implied(&sum.loops, &sum.bound) {
                continue;
            }
            let mut key = sum.loops.clone();
            key.sort_unstable();
            let bounds = seen.entry(key).or_default();
            if !bounds.contains(&&sum.bound) {
                bounds.push(&sum.bound);
                let mut loops = self.renumber(&sum.loops);
                // Numbers grow from the outside inwards.
                loops.sort_unstable();
                found.push(Constraint { loops, bound: sum.bound.clone() });
            }
        }
        found
    }

    /// Whether the ranges of the loops keep the sum below the bound.
    fn is_implied(&self, loops: &[LoopId], bound: &Sym) -> bool {
        let mut most = Some(0_i64);
        let mut by_stop = false;
        for id in loops {
            let node = self.builder.node(*id);
            match last(node) {
                Some(last) => most = most.and_then(|sum| sum.checked_add(last)),
                None if node.stop == *bound && !by_stop => by_stop = true,
                None => return false,
            }
        }
        match (by_stop, bound.as_int(), most) {
            (true, _, Some(rest)) => rest <= 0,
            (false, Some(bound), Some(most)) => most < bound,
            _ => false,
        }
    }
}

/// The last value of a loop with known bounds; its start if it has none.
fn last(node: &LoopNode) -> Option<i64> {
    let (start, _, step) = node.range()?;
    start.checked_add(step.checked_mul((node.trips()? - 1).max(0))?)
}
