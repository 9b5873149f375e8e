//! Copying the loops below a loop, with every constraint that concerns them.

use smallvec::SmallVec;

use super::{Inside, LoopNode, Loops, NestBuilder, ScopeId, Tag};
use sched_nest::LoopId;

/// Loops that were copied, and where each map.
#[derive(Debug, Default)]
pub(super) struct LoopMap {
    pairs: SmallVec<[(LoopId, LoopId); 2]>,
    is_sorted: bool,
}

impl LoopMap {
    pub fn insert(&mut self, from: LoopId, to: LoopId) {
        self.pairs.push((from, to));
        self.is_sorted = false;
    }

    /// The copies, those further in first.
    pub fn copies(&self) -> impl Iterator<Item = LoopId> {
        self.pairs.iter().map(|(_, copy)| *copy)
    }

    fn sort(&mut self) {
        if !self.is_sorted {
            self.pairs.sort_unstable();
            self.is_sorted = true;
        }
    }

    /// The copy of a loop, or itself if it was not copied. They must be sorted.
    fn get(&self, id: LoopId) -> LoopId {
        let at = self.pairs.binary_search_by_key(&id, |(from, _)| *from).ok();
        at.and_then(|at| self.pairs.get(at)).map_or(id, |(_, copy)| *copy)
    }
}

impl NestBuilder {
    /// A copy of the loops at and below `id`, unlinked from the nest, and where each map. Annotations are kept; sums are
    /// left to [`NestBuilder::copy_sums`].
    pub(super) fn copy_subtree(&mut self, id: LoopId, map: &mut LoopMap) -> LoopId {
        // Recursion is as deep as the nest, which `MAX_DEPTH` bounds.
        let inside = match self.node(id).inside.clone() {
            Inside::Seq(list) => Inside::Seq(self.copy_all(&list, map)),
            Inside::Cases(cases) => {
                Inside::Cases(cases.iter().map(|list| self.copy_all(list, map)).collect())
            }
        };
        let copy = self.add(self.node(id).copy());
        for child in inside.children() {
            self.node_mut(child).parent = Some(copy);
        }
        self.node_mut(copy).inside = inside;
        map.insert(id, copy);
        copy
    }

    pub(super) fn copy_all(&mut self, list: &[LoopId], map: &mut LoopMap) -> Loops {
        list.iter().map(|id| self.copy_subtree(*id, map)).collect()
    }

    /// The sums that mention any of `loops`, in the order in which they were made.
    pub(super) fn sums_of(&self, loops: &[LoopId]) -> SmallVec<[u32; 8]> {
        let mut found: SmallVec<[u32; 8]> =
            loops.iter().flat_map(|id| self.node(*id).sums.iter().copied()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Adds a copy of each sum for loops that were copied; loops that were not stay.
    pub(super) fn copy_sums(&mut self, sums: &[u32], map: &mut LoopMap) {
        map.sort();
        for &index in sums {
            let sum = &self.sums[index as usize];
            let loops = sum.loops.iter().map(|id| map.get(*id)).collect();
            let bound = sum.bound.clone();
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
        let LoopNode { scope, name, number, .. } = self.node(v);
        let (scope, tag) = (*scope, Tag { name: name.clone(), number: *number });
        if tag.number.is_some() { self.scopes.inside(scope, &tag) } else { scope }
    }

    /// How many mentions in sums a copy of `loops` adds.
    pub(super) fn mentions_of(&self, loops: &[LoopId]) -> usize {
        self.sums_of(loops).iter().map(|index| self.sums[*index as usize].loops.len()).sum()
    }
}

impl LoopNode {
    /// Another loop like this one, with nothing inside and in no place yet.
    fn copy(&self) -> LoopNode {
        LoopNode {
            inside: Inside::Seq(Loops::new()),
            sums: SmallVec::new(),
            successors: Loops::new(),
            parent: None,
            name: self.name.clone(),
            start: self.start.clone(),
            stop: self.stop.clone(),
            step: self.step.clone(),
            place: self.place.clone(),
            annotations: self.annotations.clone(),
            ..*self
        }
    }
}
