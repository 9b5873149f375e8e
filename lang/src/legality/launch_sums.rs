//! Sums of launches: whether all additions to a sum run in one thread, or their threads wait for each other.
//!
//! Iterations of mapped loops over trees have slots, which are folded after the launch, or, under
//! `sharedReduce`, by the threads of a block after their loops. No barrier separates leaf loops, so those
//! that add to the same sums must run in the same threads. A block waits before and after it folds its slots.
//! So a fold only needs the same blocks as other additions to its target.

use super::launches::{FoundProblems, Launches};
use super::paths::{LeafPath, PathLoop};
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, DirectiveIndex};
use sched_nest::{Axis, Body, GpuDimension, GpuLevel, LoopId, Reduce};

pub fn check(launches: &Launches, found: &mut FoundProblems) {
    if !launches.paths.are_known() {
        return;
    }
    for launch in launches.launches() {
        let Some(root) = launch.first().and_then(|path| launches.root(path)) else { continue };
        if launches.count_slot_loops(root, found).is_none() || launches.adds_atomically(root) {
            continue;
        }
        let mut adders = Vec::new();
        for path in &launch {
            adders.push(launches.walks(path));
            let fold = launches.fold(path, &launch, found);
            adders
                .extend(fold.filter(|fold: &Addition| adders.iter().all(|other| other.key() != fold.key())));
        }
        let used = used_dimensions(&adders);
        adders.iter_mut().for_each(|adder| adder.add_first_owners(&used));
        launches.conflicts(&adders, found);
    }
}

/// The threads that run an addition.
#[derive(Clone, PartialEq)]
enum AddingThreads {
    /// One iteration for each block or thread.
    Each { dimension: GpuDimension, least: i64, step: i64, most: Option<i64> },
    /// Only the first block or thread.
    First(GpuDimension),
}

impl AddingThreads {
    fn dimension(&self) -> GpuDimension {
        match self {
            AddingThreads::Each { dimension, .. } | AddingThreads::First(dimension) => *dimension,
        }
    }
}

/// Rows that loops cover: sums of the loops' values, with the least and the largest sum.
#[derive(Clone)]
struct CoveredRows {
    loops: Vec<(LoopId, i64, Option<i64>)>,
    low: i64,
    high: Option<i64>,
}

impl CoveredRows {
    /// The least and the largest row, without the loops for which `without` is true.
    fn range_without(&self, without: impl Fn(LoopId) -> bool) -> (i64, Option<i64>) {
        let others = self.loops.iter().filter(|(id, ..)| !without(*id));
        others.fold((self.low, self.high), |(low, high), (_, least, most)| {
            (low.saturating_add(*least), high.zip(*most).map(|(high, most)| high.saturating_add(most)))
        })
    }
}

/// A leaf loop, or the fold of slots that a block shares, which add to sums.
struct Addition {
    /// The leaf loop, or the outermost loop over trees with slots.
    id: LoopId,
    /// The loop whose slots are the target; the output's sums if there is none.
    target: Option<LoopId>,
    rows: CoveredRows,
    owners: Vec<AddingThreads>,
    is_fold: bool,
}

impl Addition {
    fn key(&self) -> (LoopId, bool) {
        (self.id, self.is_fold)
    }

    /// Adds the first block or thread as an owner, for each used dimension that no loop of this adder is
    /// mapped to. For a fold, only dimensions of the grid count.
    fn add_first_owners(&mut self, used: &[GpuDimension]) {
        for dimension in used {
            let is_of_blocks = dimension.level == GpuLevel::Grid;
            let is_covered = self.owners.iter().any(|owner| owner.dimension() == *dimension);
            if !is_covered && (is_of_blocks || !self.is_fold) {
                self.owners.push(AddingThreads::First(*dimension));
            }
        }
    }

    /// Whether the same threads run both adders. If one of them is a fold, the same blocks suffice.
    fn has_owners_of(&self, other: &Addition) -> bool {
        let only_blocks = self.is_fold || other.is_fold;
        let counts = |owner: &&AddingThreads| !only_blocks || owner.dimension().level == GpuLevel::Grid;
        let own: Vec<&AddingThreads> = self.owners.iter().filter(counts).collect();
        let others: Vec<&AddingThreads> = other.owners.iter().filter(counts).collect();
        own.len() == others.len() && own.iter().all(|owner| others.contains(owner))
    }

    /// Whether two adders add to sums of common rows.
    fn shares_rows(&self, other: &Addition) -> bool {
        let is_in = |adder: &Addition, id: LoopId| adder.rows.loops.iter().any(|(own, ..)| *own == id);
        let is_common = |id: LoopId| is_in(self, id) && is_in(other, id);
        let ((low, high), (other_low, other_high)) =
            (self.rows.range_without(is_common), other.rows.range_without(is_common));
        let is_before = |high: Option<i64>, low: i64| high.is_some_and(|high| high < low);
        !is_before(high, other_low) && !is_before(other_high, low)
    }
}

/// Dimensions of a launch with several blocks or threads.
fn used_dimensions(adders: &[Addition]) -> Vec<GpuDimension> {
    let mut used = Vec::new();
    for owner in adders.iter().flat_map(|adder| &adder.owners) {
        let AddingThreads::Each { dimension, least, step, most } = owner else { continue };
        let several =
            dimension.level == GpuLevel::Grid || most.is_none_or(|most| most.saturating_sub(*least) >= *step);
        if several && !used.contains(dimension) {
            used.push(*dimension);
        }
    }
    used
}

impl Launches<'_> {
    /// The outermost mapped loop of a path.
    fn root(&self, path: &LeafPath) -> Option<LoopId> {
        path.iter().map(|around| around.id).find(|id| self.paths.dimension(*id).is_some())
    }

    /// Number of outermost loops with slots among a loop and the loops inside it. Refuses several loops with
    /// slots inside another one, and then returns `None`.
    fn count_slot_loops(&self, id: LoopId, found: &mut FoundProblems) -> Option<usize> {
        let this = self.paths.get(id);
        let mut inside = Vec::new();
        for child in this.body.loops() {
            let chains = self.count_slot_loops(child, found)?;
            inside.extend(std::iter::repeat_n(child, chains));
        }
        let is_atomic = this.annotations.reduce == Some(Reduce::Atomic) && inside.is_empty();
        if !self.paths.spreads_trees(id) || is_atomic {
            return Some(inside.len());
        }
        let Some(second) = inside.get(1) else { return Some(1) };
        let mapped = self.paths.subtree(*second).into_iter().find(|id| self.paths.spreads_trees(*id));
        if let Some(step) = mapped.and_then(|id| self.mapping(id)) {
            let loops = [mapped, Some(id)].into_iter().flatten().map(|id| self.index(id)).collect();
            found.add(Illegal::argument(step, 0, Problem::SeveralTreeLoops, loops));
        }
        None
    }

    /// Whether some mapped loop over trees adds atomically. All additions of its launch then do.
    fn adds_atomically(&self, root: LoopId) -> bool {
        let is_atomic = |id: &LoopId| self.paths.get(*id).annotations.reduce == Some(Reduce::Atomic);
        self.paths.subtree(root).iter().any(|id| self.paths.spreads_trees(*id) && is_atomic(id))
    }

    /// The position of the outermost loop over the threads of a block.
    fn threads_at(&self, path: &LeafPath) -> Option<usize> {
        path.iter().position(|around| self.paths.is_on(around.id, GpuLevel::Block))
    }

    /// The outermost mapped loop over trees.
    fn mapped_tree_loop(&self, path: &[PathLoop]) -> Option<LoopId> {
        path.iter().map(|around| around.id).find(|id| self.paths.spreads_trees(*id))
    }

    /// The outermost loop over trees whose slots a block folds after its threads, and the loop that requests
    /// it.
    fn shared_slot_loops(&self, path: &LeafPath) -> Option<(LoopId, LoopId)> {
        let head = self.mapped_tree_loop(&path[self.threads_at(path)?..])?;
        let shares = |id: &LoopId| self.paths.get(*id).annotations.reduce == Some(Reduce::Shared);
        let shared = self.paths.subtree(head).into_iter().find(shares)?;
        Some((head, shared))
    }

    /// Threads that run the loops of a path.
    fn owners(&self, path: &[PathLoop]) -> Vec<AddingThreads> {
        let of = |at: usize| {
            let dimension = self.paths.dimension(path[at].id)?;
            let values = self.paths.values(path, at);
            let step = values.step.saturating_mul(self.paths.group(path[at].id));
            Some(AddingThreads::Each { dimension, least: values.least, step, most: values.most })
        };
        (0..path.len()).filter_map(of).collect()
    }

    /// Rows of the loops of a path from a position on.
    fn rows(&self, path: &[PathLoop], from: usize) -> CoveredRows {
        let mut rows = CoveredRows { loops: Vec::new(), low: 0, high: Some(0) };
        for at in from..path.len() {
            let PathLoop { id, fixed } = path[at];
            let this = self.paths.get(id);
            if this.axis != Axis::Row {
                continue;
            }
            let values = self.paths.values(path, at);
            // The walks of a group have the rows after the loop's value.
            let group = if this.body == Body::Walk { self.paths.group(id) - 1 } else { 0 };
            match fixed {
                Some(value) => rows.low = rows.low.saturating_add(value),
                None => rows.loops.push((id, values.least, values.most)),
            }
            let more = fixed.unwrap_or(0).saturating_add(group.saturating_mul(values.step));
            rows.high = rows.high.map(|high| high.saturating_add(more));
        }
        rows
    }

    /// The adder of a leaf loop.
    fn walks(&self, path: &LeafPath) -> Addition {
        let target =
            self.shared_slot_loops(path).map(|(head, _)| head).or_else(|| self.mapped_tree_loop(path));
        let id = path.last().map_or(LoopId(0), |leaf| leaf.id);
        Addition { id, target, rows: self.rows(path, 0), owners: self.owners(path), is_fold: false }
    }

    /// The fold of the slots that a block shares, over all rows of the threads' loops. Refuses it if the rows
    /// are unlimited, or if other blocks have some of them.
    fn fold(&self, path: &LeafPath, launch: &[&LeafPath], found: &mut FoundProblems) -> Option<Addition> {
        let (at, (id, shared)) = (self.threads_at(path)?, self.shared_slot_loops(path)?);
        let around = &path[..at];
        let inside =
            launch.iter().filter(|other| other.get(at).is_some_and(|around| around.id == path[at].id));
        let hull = inside.map(|other| self.rows(other, at).range_without(|_| false)).reduce(|one, other| {
            (one.0.min(other.0), one.1.zip(other.1).map(|(high, other)| high.max(other)))
        });
        let (low, high) = hull?;
        let mut rows = self.rows(around, 0);
        let problem = match high {
            None => Some(Problem::UnlimitedSums),
            Some(high) => {
                self.reaches_other_blocks(around, &rows, (low, high)).then_some(Problem::RowsNotConsecutive)
            }
        };
        if let Some(problem) = problem
            && let Some(step) = self.directive(shared, |one| matches!(one, Annotation::SharedReduce))
        {
            let mut loops = vec![self.index(shared), self.index(path[at].id)];
            loops.dedup();
            found.add(Illegal::argument(step, 0, problem, loops));
        }
        rows.low = rows.low.saturating_add(low);
        rows.high = rows.high.zip(high).map(|(all, high)| all.saturating_add(high));
        Some(Addition {
            id,
            target: self.mapped_tree_loop(around),
            rows,
            owners: self.owners(around),
            is_fold: true,
        })
    }

    /// Whether the rows of a block, from the first to the last that its loops inside and its threads reach,
    /// go beyond the step to the next block.
    fn reaches_other_blocks(&self, around: &[PathLoop], rows: &CoveredRows, (low, high): (i64, i64)) -> bool {
        rows.loops.iter().enumerate().any(|(at, (block, ..))| {
            let Some(place) = around.iter().position(|around| around.id == *block) else { return false };
            if !self.paths.is_on(*block, GpuLevel::Grid) {
                return false;
            }
            let inside = CoveredRows { loops: rows.loops[at + 1..].to_vec(), low, high: Some(high) };
            let (low, high) = inside.range_without(|_| false);
            low < 0 || high.is_none_or(|high| high >= self.paths.values(around, place).step)
        })
    }

    /// Refuses additions to the same sums of the same rows in different threads.
    fn conflicts(&self, adders: &[Addition], found: &mut FoundProblems) {
        for (at, one) in adders.iter().enumerate() {
            let is_in_conflict = |other: &&Addition| {
                one.target == other.target && !one.has_owners_of(other) && one.shares_rows(other)
            };
            let Some(other) = adders[at + 1..].iter().find(is_in_conflict) else { continue };
            let mapped = [other, one].into_iter().find_map(|adder| self.mapping_of(adder));
            if let Some(step) = mapped {
                let loops = vec![self.index(one.id), self.index(other.id)];
                found.add(Illegal::at(step, Problem::SameSums, loops));
                return;
            }
        }
    }

    /// The directive that maps the innermost mapped loop around an addition.
    fn mapping_of(&self, adder: &Addition) -> Option<DirectiveIndex> {
        let path = self.paths.leaves.iter().find(|path| path.iter().any(|around| around.id == adder.id))?;
        let end = path.iter().position(|around| around.id == adder.id)?;
        path[..=end].iter().rev().find_map(|around| self.mapping(around.id))
    }
}
