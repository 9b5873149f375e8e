//! Copies of a loop's body, with all constraints on its loops.

use smallvec::SmallVec;

use super::constraints::SumIndices;
use super::{LoopBody, LoopNode, Loops, NestBuilder};
use sched_nest::LoopId;

/// Copied loops and their copies.
#[derive(Debug, Default)]
struct LoopMap {
    pairs: SmallVec<[(LoopId, LoopId); 2]>,
}

impl LoopMap {
    /// The copy of a loop, or the loop itself if there is no copy. The pairs must be sorted.
    fn get(&self, id: LoopId) -> LoopId {
        let at = self.pairs.binary_search_by_key(&id, |(from, _)| *from).ok();
        at.and_then(|at| self.pairs.get(at)).map_or(id, |(_, copy)| *copy)
    }

    /// Copies the loops at and below each of `list`, unlinked from the nest. Annotations are copied, sums are
    /// not.
    fn copy_all(&mut self, nest: &mut NestBuilder, list: &[LoopId]) -> Loops {
        list.iter().map(|id| self.copy_subtree(nest, *id)).collect()
    }

    fn copy_subtree(&mut self, nest: &mut NestBuilder, id: LoopId) -> LoopId {
        // Recursion is as deep as the nest, which `MAX_DEPTH` bounds.
        let inside = match nest.tree.inside(id).clone() {
            LoopBody::Seq(list) => LoopBody::Seq(self.copy_all(nest, &list)),
            LoopBody::Cases(cases) => {
                LoopBody::Cases(cases.iter().map(|list| self.copy_all(nest, list)).collect())
            }
        };
        let copy = nest.add(LoopNode { successors: Loops::new(), ..nest.node(id).clone() });
        nest.tree.set_inside(copy, inside);
        self.pairs.push((id, copy));
        copy
    }
}

/// One copy of a body.
pub(super) struct BodyCopy {
    /// The loops directly inside, not linked into the nest.
    pub children: Loops,
    /// All loops, inner ones first.
    pub loops: Loops,
}

/// The body of a loop as the original of copies.
pub(super) struct BodyTemplate {
    v: LoopId,
    children: Loops,
    below: Loops,
    sums: SumIndices,
}

impl BodyTemplate {
    /// The body of `v`, to be copied for iterations of `v`.
    pub fn of_iteration(nest: &NestBuilder, v: LoopId) -> Self {
        let below: Loops = nest.tree.subtree(v).into_iter().skip(1).collect();
        let sums = nest.constraints.of_any(&below);
        BodyTemplate { v, children: nest.tree.inside(v).children().collect(), below, sums }
    }

    /// The body of `v`, to be copied for loops that replace `v`. Copies include the constraints on `v`.
    pub fn of_loop(nest: &NestBuilder, v: LoopId) -> Self {
        let sums = nest.constraints.of_any(&nest.tree.subtree(v));
        BodyTemplate { sums, ..Self::of_iteration(nest, v) }
    }

    /// The original as one of the copies.
    pub fn original(&self) -> BodyCopy {
        BodyCopy { children: self.children.clone(), loops: self.below.clone() }
    }

    /// Copies the body for the loop `around`, which is `v` or replaces it.
    pub fn copy(&self, nest: &mut NestBuilder, around: LoopId) -> BodyCopy {
        let mut map = LoopMap::default();
        let children = map.copy_all(nest, &self.children);
        let loops = map.pairs.iter().map(|(_, copy)| *copy).collect();
        map.pairs.push((self.v, around));
        map.pairs.sort_unstable();
        nest.constraints.copy_sums(&self.sums, |id| map.get(id));
        BodyCopy { children, loops }
    }
}
