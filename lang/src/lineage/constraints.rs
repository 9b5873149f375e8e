//! Constraints on sums of index variables, which keep partial tiles within the tiled loop.

use sched_nest::LoopId;
use sched_nest::sym::Sym;
use smallvec::SmallVec;

use super::tree::{Loops, replace};

/// Positions of sums in the order in which they were made.
pub(super) type SumIndices = SmallVec<[u32; 8]>;

/// `sum(loops) < bound`.
#[derive(Clone, Debug)]
pub(crate) struct SumConstraint {
    pub(crate) loops: Loops,
    pub(crate) bound: Sym,
}

/// The constraints `sum(loops) < bound` of a nest, indexed by loop.
#[derive(Clone, Debug)]
pub(crate) struct Constraints {
    sums: Vec<SumConstraint>,
    /// Sums that mention a loop, by the loop's id.
    of_loop: Vec<SmallVec<[u32; 4]>>,
    /// Number of loops in all sums. It bounds memory if long chains of tiles are copied often.
    mentions: usize,
}

impl Constraints {
    /// No sums, with room for those of `loops` loops.
    pub fn with_room(loops: usize) -> Self {
        Constraints { sums: Vec::with_capacity(loops), of_loop: Vec::with_capacity(loops), mentions: 0 }
    }

    /// Number of loops in all sums.
    pub fn mentions(&self) -> usize {
        self.mentions
    }

    /// The sum at this position.
    pub fn get(&self, index: u32) -> &SumConstraint {
        &self.sums[index as usize]
    }

    /// Sums that mention a loop.
    pub fn of(&self, id: LoopId) -> impl Iterator<Item = &SumConstraint> {
        self.positions(id).iter().map(|index| self.get(*index))
    }

    fn positions(&self, id: LoopId) -> &[u32] {
        self.of_loop.get(id.0 as usize).map_or(&[], SmallVec::as_slice)
    }

    /// Positions of the sums that mention any of `loops`, in ascending order.
    pub fn of_any(&self, loops: &[LoopId]) -> SumIndices {
        let mut found: SumIndices = loops.iter().flat_map(|id| self.positions(*id)).copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Number of mentions of loops in all sums that mention any of `loops`. Copying `loops` once increases
    /// [`Self::mentions`] by this number.
    pub fn mentions_of(&self, loops: &[LoopId]) -> usize {
        self.of_any(loops).iter().map(|index| self.get(*index).loops.len()).sum()
    }

    /// Adds a sum.
    pub fn add(&mut self, loops: Loops, bound: Sym) {
        self.mentions += loops.len();
        for id in &loops {
            self.mention(*id, self.sums.len() as u32);
        }
        self.sums.push(SumConstraint { loops, bound });
    }

    /// Records that a sum mentions a loop.
    fn mention(&mut self, id: LoopId, index: u32) {
        let at = id.0 as usize;
        if self.of_loop.len() <= at {
            self.of_loop.resize_with(at + 1, SmallVec::new);
        }
        self.of_loop[at].push(index);
    }

    /// Replaces `old` by `new` in every sum that mentions it.
    pub fn replace(&mut self, old: LoopId, new: &[LoopId]) {
        let indices = self.of_loop.get_mut(old.0 as usize).map(std::mem::take).unwrap_or_default();
        for index in indices {
            let loops = &mut self.sums[index as usize].loops;
            let Some(at) = loops.iter().position(|id| *id == old) else { continue };
            replace(loops, at, new);
            self.mentions += new.len() - 1;
            for id in new {
                self.mention(*id, index);
            }
        }
    }

    /// Adds a copy of the sum at each of `positions`, with every loop replaced by its copy.
    pub fn copy_sums(&mut self, positions: &[u32], copy_of: impl Fn(LoopId) -> LoopId) {
        for position in positions {
            let SumConstraint { loops, bound } = self.get(*position).clone();
            self.add(loops.into_iter().map(&copy_of).collect(), bound);
        }
    }
}
