//! Rows or trees that the loops of a path cover, whatever the order of the loops.

use sched_nest::LoopId;

/// A loop over rows or trees, with constant bounds.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The loop.
    pub id: LoopId,
    /// Its end minus its start.
    pub length: u64,
    /// Rows or trees from one iteration to the next one.
    pub step: u64,
}

/// The loops of a path over one axis. Tiles divide the axis: an iteration of a loop is divided by the loop
/// with the next smaller step. So the number of iterations depends on the steps, and not on the nesting.
#[derive(Debug)]
pub struct AxisLoops {
    /// Rows of the call, or trees of the model.
    whole: u64,
    /// Loops from the largest step to the smallest one.
    loops: Vec<CoveringLoop>,
}

#[derive(Debug)]
struct CoveringLoop {
    id: LoopId,
    step: u64,
    trips: u64,
    /// Rows or trees that all iterations of the loop and of those with smaller steps cover.
    divides: u64,
    /// Rows or trees of one iteration.
    inside: u64,
}

impl AxisLoops {
    /// The loops of a path over an axis with `whole` rows or trees. `clamps` says whether `whole` bounds the
    /// rows or trees of one iteration. It bounds trees only: a block has all its threads even if the call has
    /// fewer rows.
    pub fn of(mut extents: Vec<Extent>, whole: u64, clamps: bool) -> AxisLoops {
        // If two steps are equal, the shorter loop is the inner part of a tile of one iteration.
        extents.sort_by_key(|extent| std::cmp::Reverse((extent.step, extent.length)));
        let mut divides = whole;
        let cover = |Extent { id, length, step }| {
            let step = step.max(1);
            // The constraints of tiles shorten only the last iterations, so `divides` bounds the length.
            let trips = length.min(divides).div_ceil(step).max(1);
            let inside = if clamps { step.min(divides) } else { step };
            let this = CoveringLoop { id, step, trips, divides, inside };
            divides = inside;
            this
        };
        let loops = extents.into_iter().map(cover).collect();
        AxisLoops { whole, loops }
    }

    /// Iterations of a loop, each time that it runs; 1 if the loop is not over this axis.
    pub fn trips(&self, id: LoopId) -> u64 {
        self.loops.iter().find(|this| this.id == id).map_or(1, |this| this.trips)
    }

    /// Rows or trees from one iteration of a loop to the next one; 1 if the loop is not over this axis.
    pub fn step(&self, id: LoopId) -> u64 {
        self.loops.iter().find(|this| this.id == id).map_or(1, |this| this.step)
    }

    /// Rows or trees that some of the loops cover together, in one iteration of the others.
    pub fn covered(&self, includes: impl Fn(LoopId) -> bool) -> u64 {
        if self.loops.iter().all(|this| includes(this.id)) {
            return self.whole;
        }
        let mut rest = self.loops.as_slice();
        let mut covered: u64 = 1;
        while let Some(start) = rest.iter().position(|this| includes(this.id)) {
            rest = &rest[start..];
            let end = rest.iter().position(|this| !includes(this.id));
            let run = &rest[..end.unwrap_or(rest.len())];
            rest = &rest[run.len()..];
            let (Some(first), Some(last)) = (run.first(), run.last()) else { break };
            let of_run = match end {
                None => first.divides,
                Some(_) => {
                    let trips = run.iter().fold(1, |trips: u64, this| trips.saturating_mul(this.trips));
                    trips.min(first.divides.div_ceil(last.inside))
                }
            };
            covered = of_run.saturating_mul(covered);
        }
        covered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loops over `whole` trees, given by their lengths and steps from the outermost to the innermost.
    fn trees(whole: u64, loops: &[(u64, u64)]) -> AxisLoops {
        let extent = |(id, (length, step)): (u32, &(u64, u64))| Extent {
            id: LoopId(id),
            length: *length,
            step: *step,
        };
        AxisLoops::of((0..).zip(loops).map(extent).collect(), whole, true)
    }

    fn trips(of: &AxisLoops, loops: u32) -> Vec<u64> {
        (0..loops).map(|id| of.trips(LoopId(id))).collect()
    }

    #[test]
    fn iterations_do_not_depend_on_the_nesting() {
        assert_eq!(trips(&trees(100, &[(100, 32), (32, 1)]), 2), [4, 32]);
        assert_eq!(trips(&trees(100, &[(32, 1), (100, 32)]), 2), [32, 4]);
        assert_eq!(trips(&trees(100, &[(8, 2), (100, 8), (2, 1)]), 3), [4, 13, 2]);
        assert_eq!(trips(&trees(100, &[(2, 1), (8, 2), (100, 8)]), 3), [2, 4, 13]);
    }

    #[test]
    fn tiles_can_be_of_one_iteration_or_longer_than_the_axis() {
        for loops in [[(100, 1), (1, 1)], [(1, 1), (100, 1)]] {
            let of = trees(100, &loops);
            assert_eq!(trips(&of, 2).iter().product::<u64>(), 100);
        }
        assert_eq!(trips(&trees(100, &[(128, 1), (100, 128)]), 2), [100, 1]);
    }

    #[test]
    fn loops_cover_what_the_others_leave() {
        let of = trees(100, &[(8, 2), (100, 8), (2, 1)]);
        let covered = |ids: &[u32]| of.covered(|id| ids.contains(&id.0));
        assert_eq!(covered(&[0, 1, 2]), 100);
        assert_eq!(covered(&[1, 2]), 13 * 2);
        assert_eq!(covered(&[0, 2]), 8);
        assert_eq!(covered(&[0, 1]), 50);
        assert_eq!(covered(&[2]), 2);
        assert_eq!(covered(&[]), 1);
    }

    #[test]
    fn a_block_has_all_its_rows_in_a_shorter_call() {
        let extent = |id, length, step| Extent { id: LoopId(id), length, step };
        let of = AxisLoops::of(vec![extent(0, 5, 64), extent(1, 64, 1)], 5, false);
        assert_eq!((of.trips(LoopId(0)), of.trips(LoopId(1))), (1, 64));
        assert_eq!(of.covered(|id| id == LoopId(1)), 64);
    }
}
