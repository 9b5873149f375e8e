//! Copies the loops below a loop, with all constraints on them.

use smallvec::SmallVec;

use super::{Inside, LoopNode, Loops, NestBuilder, ScopeId, Tag};
use sched_nest::LoopId;

/// Copied loops and their copies.
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

    /// The copies, inner ones first.
    pub fn copies(&self) -> impl Iterator<Item = LoopId> {
        self.pairs.iter().map(|(_, copy)| *copy)
    }

    fn sort(&mut self) {
        if !self.is_sorted {
            self.pairs.sort_unstable();
            self.is_sorted = true;
        }
    }

    /// The copy of a loop, or the loop itself if it was not copied. The map must be sorted.
    fn get(&self, id: LoopId) -> LoopId {
        let at = self.pairs.binary_search_by_key(&id, |(from, _)| *from).ok();
        at.and_then(|at| self.pairs.get(at)).map_or(id, |(_, copy)| *copy)
    }
}

impl NestBuilder {
    /// Copies the loops at and below `id`, unlinked from the nest, and records them in `map`. Annotations are
    /// copied; [`NestBuilder::copy_sums`] copies the sums.
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

    /// Sums that mention any of `loops`, in the order in which they were made.
    pub(super) fn sums_of(&self, loops: &[LoopId]) -> SmallVec<[u32; 8]> {
        let mut found: SmallVec<[u32; 8]> =
            loops.iter().flat_map(|id| self.node(*id).sums.iter().copied()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Adds a copy of each sum with the copied loops. Other loops stay.
    pub(super) fn copy_sums(&mut self, sums: &[u32], map: &mut LoopMap) {
        map.sort();
        for &index in sums {
            let sum = &self.sums[index as usize];
            let loops = sum.loops.iter().map(|id| map.get(*id)).collect();
            let bound = sum.bound.clone();
            self.add_sum(loops, bound);
        }
    }

    /// Moves these loops into the copy `tag`.
    pub(super) fn tag(&mut self, loops: &[LoopId], tag: &Tag) {
        for id in loops {
            let scope = self.scopes.inside(self.node(*id).scope, tag);
            self.scopes.enter(scope, *id);
            self.node_mut(*id).scope = scope;
        }
    }

    /// Scope of the successors of `v`: its own, or that of the run if `v` is one. Otherwise successors of
    /// different runs would share a name.
    pub(super) fn scope_of_successors(&mut self, v: LoopId) -> ScopeId {
        let LoopNode { scope, name, number, .. } = self.node(v);
        let (scope, tag) = (*scope, Tag { name: name.clone(), number: *number });
        if tag.number.is_some() { self.scopes.inside(scope, &tag) } else { scope }
    }

    /// Number of mentions in sums that a copy of `loops` adds.
    pub(super) fn mentions_of(&self, loops: &[LoopId]) -> usize {
        self.sums_of(loops).iter().map(|index| self.sums[*index as usize].loops.len()).sum()
    }
}

impl LoopNode {
    /// Another loop like this one, with an empty body and no place yet.
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
