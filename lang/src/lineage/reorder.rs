//! `reorder(v1, v2, ...)`
//!
//! ```text
//! for a        for c
//!   for b  -->   for a      // reorder(c, a, b)
//!     for c        for b
//! ```

use std::collections::{BTreeSet, HashMap};

use smallvec::smallvec;

use super::modifier::Modifier;
use super::{DirectiveIndex, LoopBody, LoopSelector, NestBuilder};
use crate::illegal::{Illegal, Problem};
use sched_nest::LoopId;

/// Permutes loops of one contiguous, perfectly nested chain, on each path that contains a copy of all of
/// them. Refuses names that are unknown or consumed; fewer than two loops, or one twice; loops that do not
/// form such a chain.
pub(crate) struct ReorderLoops<'a> {
    order: &'a [LoopSelector],
}

impl<'a> ReorderLoops<'a> {
    /// A `reorder` with these arguments, the new outermost loop first.
    pub fn new(order: &'a [LoopSelector]) -> Self {
        ReorderLoops { order }
    }

    /// Copies of the loops, each with its position in the new order.
    fn wanted(&self, nest: &NestBuilder, step: DirectiveIndex) -> Result<Wanted, Illegal> {
        let mut wanted = Wanted::new();
        for (argument, select) in self.order.iter().enumerate() {
            for id in nest.select(step, argument, select)? {
                if wanted.insert(id, argument).is_some() {
                    let problem = Problem::ReorderTwice { name: nest.name(id) };
                    return Err(Illegal::argument(step, argument, problem, vec![id]));
                }
            }
        }
        Ok(wanted)
    }
}

/// Loops with their positions in the new order.
type Wanted = HashMap<LoopId, usize>;

/// Loops of a chain, from the outermost one inwards.
pub(crate) struct Permutation {
    chain: Vec<LoopId>,
    order: Vec<LoopId>,
}

impl Modifier for ReorderLoops<'_> {
    type Rewrite = Permutation;

    fn plan(&self, nest: &mut NestBuilder, step: DirectiveIndex) -> Result<Vec<Permutation>, Illegal> {
        let wanted = self.wanted(nest, step)?;
        // A map has no order, but messages name copies in the order in which they were made.
        let in_order = |wanted: Wanted| {
            let mut loops: Vec<LoopId> = wanted.into_keys().collect();
            loops.sort_unstable();
            loops
        };
        if self.order.len() < 2 {
            return Err(Illegal::at(step, Problem::ReorderFew, in_order(wanted)));
        }
        let chains = chains(nest, &wanted, self.order.len());
        if chains.is_empty() {
            let mut loops = in_order(wanted);
            loops.truncate(16);
            return Err(Illegal::at(step, Problem::ReorderNoPath, loops));
        }
        for chain in &chains {
            check_chain(nest, step, chain, &wanted)?;
        }
        let permutation = |chain: Vec<LoopId>| {
            let mut order = chain.clone();
            order.sort_by_key(|id| wanted.get(id).copied());
            Permutation { chain, order }
        };
        Ok(chains.into_iter().map(permutation).collect())
    }

    fn rewrite(
        &self,
        nest: &mut NestBuilder,
        step: DirectiveIndex,
        rewrite: Permutation,
    ) -> Result<(), Illegal> {
        let Permutation { chain, order } = rewrite;
        let around = |loops: &[LoopId], id: LoopId| -> BTreeSet<LoopId> {
            loops.iter().copied().take_while(|other| *other != id).collect()
        };
        for moved in order.iter().copied().filter(|id| around(&chain, *id) != around(&order, *id)) {
            nest.indices.node_mut(moved).moved_by = Some(step);
        }
        let body = nest.tree.inside(chain[chain.len() - 1]).clone();
        nest.tree.replace(chain[0], &order[..1]);
        for pair in order.windows(2) {
            nest.tree.set_inside(pair[0], LoopBody::Seq(smallvec![pair[1]]));
        }
        nest.tree.set_inside(order[order.len() - 1], body);
        Ok(())
    }
}

/// For each path with all wanted loops, these loops from the outermost one inwards.
fn chains(nest: &NestBuilder, wanted: &Wanted, count: usize) -> Vec<Vec<LoopId>> {
    let mut chains: Vec<Vec<LoopId>> = Vec::new();
    for id in wanted.keys() {
        let chain: Vec<LoopId> =
            nest.tree.path(*id).into_iter().filter(|on| wanted.contains_key(on)).collect();
        let mut names: Vec<usize> = chain.iter().map(|on| wanted[on]).collect();
        names.sort_unstable();
        names.dedup();
        // Each path is found once, with `id` as the innermost loop.
        if names.len() == count && chain.len() == count {
            chains.push(chain);
        }
    }
    chains.sort_unstable();
    chains
}

/// Refuses a chain with other loops between, and one in which a specialized loop would change its body.
fn check_chain(
    nest: &NestBuilder,
    step: DirectiveIndex,
    chain: &[LoopId],
    wanted: &Wanted,
) -> Result<(), Illegal> {
    let check_body = |id: LoopId| match (nest.tree.inside(id), nest.node(id).specialized_by) {
        (LoopBody::Cases(_), Some(by)) => {
            let illegal = Illegal::at(step, Problem::Specialized { by }, vec![id]);
            Err(Illegal { argument: wanted.get(&id).copied(), ..illegal })
        }
        _ => Ok(()),
    };
    for pair in chain.windows(2) {
        let (outer, inner) = (pair[0], pair[1]);
        check_body(outer)?;
        if nest.tree.inside(outer).only() != Some(inner) {
            return Err(Illegal::at(step, interruption(nest, outer, inner), chain.to_vec()));
        }
    }
    let innermost = chain[chain.len() - 1];
    match wanted.get(&innermost) {
        Some(place) if place + 1 != chain.len() => check_body(innermost),
        _ => Ok(()),
    }
}

/// Other loops beside or around `inner` in the body of `outer`.
fn interruption(nest: &NestBuilder, outer: LoopId, inner: LoopId) -> Problem {
    let body = nest.tree.inside(outer);
    let outer_name = nest.name(outer);
    if body.only().is_none() {
        let inside = body.children().take(4).map(|id| nest.name(id)).collect();
        return Problem::ReorderFork { outer: outer_name, inside };
    }
    let path = nest.tree.path(inner);
    let from = path.iter().position(|id| *id == outer).map_or(0, |at| at + 1);
    let between = path[from..path.len() - 1].iter().map(|id| nest.name(*id)).collect();
    Problem::ReorderGap { outer: outer_name, inner: nest.name(inner), between }
}
