//! Copying the loops below a loop, with every constraint that concerns them.

use std::collections::{HashMap, HashSet};

use super::{Builder, Inside, Node, ScopeId, Tag};
use crate::nest::LoopId;

impl Builder {
    /// A copy of the loops at and below `id`, unlinked from the nest, and where each went. Facts are kept; sums are
    /// left to [`Builder::copy_sums`].
    pub(super) fn copy_subtree(&mut self, id: LoopId, went: &mut HashMap<LoopId, LoopId>) -> LoopId {
        // Recursion is as deep as the nest, which `MAX_DEPTH` bounds.
        let source = self.node(id).clone();
        let inside = match &source.inside {
            Inside::Seq(list) => Inside::Seq(self.copy_all(list, went)),
            Inside::Cases(cases) => {
                Inside::Cases(cases.iter().map(|list| self.copy_all(list, went)).collect())
            }
        };
        let children = inside.children();
        let copy = self.add(Node { inside, sums: Vec::new(), parent: None, ..source });
        self.set_parent(&children, copy);
        went.insert(id, copy);
        copy
    }

    pub(super) fn copy_all(&mut self, list: &[LoopId], went: &mut HashMap<LoopId, LoopId>) -> Vec<LoopId> {
        list.iter().map(|id| self.copy_subtree(*id, went)).collect()
    }

    /// The sums that mention any of `loops`, in the order in which they were made.
    pub(super) fn sums_of(&self, loops: &[LoopId]) -> Vec<usize> {
        let found: HashSet<usize> = loops.iter().flat_map(|id| self.node(*id).sums.iter().copied()).collect();
        let mut found: Vec<usize> = found.into_iter().collect();
        found.sort_unstable();
        found
    }

    /// Adds a copy of each sum for loops that were copied; loops that were not stay.
    pub(super) fn copy_sums(&mut self, sums: &[usize], went: &HashMap<LoopId, LoopId>) {
        for &index in sums {
            let loops = self.sums[index].loops.iter().map(|id| *went.get(id).unwrap_or(id)).collect();
            let bound = self.sums[index].bound.clone();
            self.add_sum(loops, bound);
        }
    }

    /// Says that these loops lie in the copy `tag` from now on.
    pub(super) fn tag(&mut self, loops: &[LoopId], tag: &Tag) {
        for id in loops {
            let scope = self.scopes.inside(self.node(*id).scope, tag);
            self.scopes.enter(scope, *id);
            self.node_mut(*id).scope = scope;
        }
    }

    /// Where the loops lie that `v` becomes: in its own scope, or in that of the run that `v` is, since one name for the
    /// successors of all runs would not tell them apart.
    pub(super) fn scope_of_successors(&mut self, v: LoopId) -> ScopeId {
        let Node { scope, name, number, .. } = self.node(v);
        let (scope, tag) = (*scope, Tag { name: name.clone(), number: *number });
        if tag.number.is_some() { self.scopes.inside(scope, &tag) } else { scope }
    }

    /// How many mentions in sums a copy of `loops` adds.
    pub(super) fn mentions_of(&self, loops: &[LoopId]) -> usize {
        self.sums_of(loops).iter().map(|index| self.sums[*index].loops.len()).sum()
    }
}
