//! `reorder(v1, v2, ...)`
//!
//! ```text
//! for a        for c
//!   for b  -->   for a      // reorder(c, a, b)
//!     for c        for b
//! ```

use std::collections::HashMap;

use smallvec::smallvec;

use super::{DirectiveIndex, Inside, NestBuilder, Select};
use crate::illegal::{Illegal, Problem};
use sched_nest::LoopId;

impl NestBuilder {
    /// Permutes loops of one contiguous, perfectly nested chain, on each path that contains a copy of all of
    /// them.
    ///
    /// # Errors Names that are unknown or consumed; fewer than two loops, or one twice; loops that do not
    /// form such a chain. Nothing has changed then.
    pub fn reorder(&mut self, step: DirectiveIndex, order: &[Select]) -> Result<(), Illegal> {
        let mut wanted: HashMap<LoopId, usize> = HashMap::new();
        for (argument, select) in order.iter().enumerate() {
            for id in self.select(step, argument, select)? {
                if wanted.insert(id, argument).is_some() {
                    let problem = Problem::ReorderTwice { name: self.name(id) };
                    return Err(Illegal { argument: Some(argument), ..Illegal::at(step, problem, vec![id]) });
                }
            }
        }
        if order.len() < 2 {
            let loops = wanted.into_keys().collect();
            return Err(Illegal::at(step, Problem::ReorderFew, loops));
        }
        let chains = self.chains(&wanted, order.len());
        if chains.is_empty() {
            let mut loops: Vec<LoopId> = wanted.into_keys().collect();
            loops.sort_unstable();
            loops.truncate(16);
            return Err(Illegal::at(step, Problem::ReorderNoPath, loops));
        }
        for chain in &chains {
            self.check_chain(step, chain, &wanted)?;
        }
        for chain in chains {
            self.permute(chain, &wanted);
        }
        Ok(())
    }

    /// For each path with all wanted loops, these loops from the outermost one inwards.
    fn chains(&self, wanted: &HashMap<LoopId, usize>, count: usize) -> Vec<Vec<LoopId>> {
        let mut chains: Vec<Vec<LoopId>> = Vec::new();
        for id in wanted.keys() {
            let chain: Vec<LoopId> =
                self.path(*id).into_iter().filter(|on| wanted.contains_key(on)).collect();
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

    fn check_chain(
        &self,
        step: DirectiveIndex,
        chain: &[LoopId],
        wanted: &HashMap<LoopId, usize>,
    ) -> Result<(), Illegal> {
        let refuse = |problem, loops| Err(Illegal::at(step, problem, loops));
        for pair in chain.windows(2) {
            let (outer, inner) = (pair[0], pair[1]);
            let node = self.node(outer);
            if let (Inside::Cases(_), Some(by)) = (&node.inside, node.specialized_by) {
                let argument = wanted.get(&outer).copied();
                return Err(Illegal {
                    argument,
                    ..Illegal::at(step, Problem::Specialized { by }, vec![outer])
                });
            }
            let only = node.inside.only();
            if only == Some(inner) {
                continue;
            }
            if only.is_none() {
                let inside = node.inside.children().take(4).map(|id| self.name(id)).collect();
                let problem = Problem::ReorderFork { outer: self.name(outer), inside };
                return refuse(problem, chain.to_vec());
            }
            let path = self.path(inner);
            let from = path.iter().position(|id| *id == outer).map_or(0, |at| at + 1);
            let between: Vec<LoopId> = path[from..path.len() - 1].to_vec();
            let names = between.iter().map(|id| self.name(*id)).collect();
            let problem =
                Problem::ReorderGap { outer: self.name(outer), inner: self.name(inner), between: names };
            return refuse(problem, chain.to_vec());
        }
        let innermost = chain[chain.len() - 1];
        let node = self.node(innermost);
        let moves = wanted.get(&innermost).is_some_and(|place| place + 1 != chain.len());
        if let (Inside::Cases(_), Some(by), true) = (&node.inside, node.specialized_by, moves) {
            let argument = wanted.get(&innermost).copied();
            return Err(Illegal {
                argument,
                ..Illegal::at(step, Problem::Specialized { by }, vec![innermost])
            });
        }
        Ok(())
    }

    fn permute(&mut self, chain: Vec<LoopId>, wanted: &HashMap<LoopId, usize>) {
        let (outermost, innermost) = (chain[0], chain[chain.len() - 1]);
        let body = self.node(innermost).inside.clone();
        let mut order = chain;
        order.sort_by_key(|id| wanted.get(id).copied());
        let (first, last) = (order[0], order[order.len() - 1]);
        self.replace_in_nest(outermost, &[first]);
        for pair in order.windows(2) {
            self.node_mut(pair[0]).inside = Inside::Seq(smallvec![pair[1]]);
            self.node_mut(pair[1]).parent = Some(pair[0]);
        }
        for child in body.children() {
            self.node_mut(child).parent = Some(last);
        }
        self.node_mut(last).inside = body;
    }
}
