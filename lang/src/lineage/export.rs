//! From the builder's arena to the plain [`Nest`].

use foldhash::{HashMap, HashMapExt};

use super::{Inside, LoopNode, Loops, NestBuilder};
use crate::accumulation;
use sched_nest::sym::Sym;
use sched_nest::{Annotations, Body, Constraint, Loop, LoopId, Nest};

impl NestBuilder {
    /// The current nest, and the index variable of each of its loops.
    pub fn nest(&self) -> (Nest, Vec<LoopId>) {
        let order = self.loops();
        let ids: HashMap<LoopId, LoopId> =
            order.iter().enumerate().map(|(at, id)| (*id, LoopId(at as u32))).collect();
        let renumber =
            |list: &[LoopId]| list.iter().filter_map(|id| ids.get(id).copied()).collect::<Vec<_>>();
        let counts = self.count_names(&order);
        let loops = order.iter().map(|id| self.export(*id, &counts, &renumber)).collect();
        let nest = Nest {
            loops,
            roots: renumber(&self.roots),
            constraints: self.constraints(&order, &renumber),
            tree_order: self.order,
            representation: None,
            tile_trees: self.tile_trees.map(|(tiles, _)| tiles),
            accumulation: accumulation::infer(self),
            batch_size: None,
            shared_memory: None,
        };
        (nest, order)
    }

    fn count_names(&self, order: &[LoopId]) -> HashMap<(&str, Option<u32>), usize> {
        let mut counts = HashMap::new();
        for id in order {
            let node = self.node(*id);
            *counts.entry((&*node.name, node.number)).or_insert(0) += 1;
        }
        counts
    }

    fn export(
        &self,
        id: LoopId,
        counts: &HashMap<(&str, Option<u32>), usize>,
        renumber: &dyn Fn(&[LoopId]) -> Vec<LoopId>,
    ) -> Loop {
        let node = self.node(id);
        let body = match &node.inside {
            Inside::Seq(list) if list.is_empty() => Body::Walk,
            Inside::Seq(list) => Body::Seq(renumber(list)),
            Inside::Cases(cases) => Body::Cases(cases.iter().map(|case| renumber(case)).collect()),
        };
        let unique = counts.get(&(&*node.name, node.number)).is_none_or(|count| *count == 1);
        Loop {
            name: if unique { plain_name(node) } else { self.name(id) },
            axis: node.axis,
            start: node.start.clone(),
            stop: node.stop.clone(),
            step: node.step.clone(),
            body,
            annotations: self.annotations(id),
        }
    }

    /// Annotations of a loop, with the checker's defaults.
    pub fn annotations(&self, id: LoopId) -> Annotations {
        let mut annotations = Annotations::default();
        let trips = || self.trips(id);
        for (annotation, _) in &self.node(id).annotations {
            annotation.export(trips, &mut annotations);
        }
        annotations
    }

    /// Sums that the loops' own ranges do not imply, each once.
    fn constraints(&self, order: &[LoopId], renumber: &dyn Fn(&[LoopId]) -> Vec<LoopId>) -> Vec<Constraint> {
        let mut indices: Vec<u32> = order.iter().flat_map(|id| self.node(*id).sums.iter().copied()).collect();
        indices.sort_unstable();
        indices.dedup();
        let mut seen: HashMap<Loops, Vec<&Sym>> = HashMap::new();
        let mut found = Vec::new();
        for index in indices {
            let sum = &self.sums[index as usize];
            if self.is_implied(&sum.loops, &sum.bound) {
                continue;
            }
            let mut key = sum.loops.clone();
            key.sort_unstable();
            let bounds = seen.entry(key).or_default();
            if !bounds.contains(&&sum.bound) {
                bounds.push(&sum.bound);
                let mut loops = renumber(&sum.loops);
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
            let node = self.node(*id);
            match self.last(node) {
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

    /// The last value of a loop with known bounds; its start if it has none.
    fn last(&self, node: &LoopNode) -> Option<i64> {
        let (start, stop, step) = (node.start.as_int()?, node.stop.as_int()?, node.step.as_int()?);
        let trips = super::trips(start, stop, step)?;
        start.checked_add(step.checked_mul((trips - 1).max(0))?)
    }
}

fn plain_name(node: &LoopNode) -> String {
    match node.number {
        Some(number) => format!("{}[{number}]", node.name),
        None => node.name.to_string(),
    }
}
