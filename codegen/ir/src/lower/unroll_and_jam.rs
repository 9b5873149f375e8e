//! Unroll-and-jam: several trees at once for remainder rows, in a tree loop whose body is one leaf loop over
//! vectors of rows.
//!
//! `interleave` sets the number of vectors in a group. Rows that fill groups walk all trees first. The
//! remainder runs in groups of a half, a quarter, ... of the vectors; each group
//! interleaves 2, 4, ... trees, so that the same number of vectors is in flight. Every row's sum still
//! adds the trees in their order.
//!
//! Walks that look up nodes in registers take much code, and are bound by instructions instead of waits. So
//! their remainder has one size of groups, a single vector: 64 to 230 rows of models of 100 trees of depth 8
//! take as long as with groups of all sizes (0.99 to 1.01), and LLVM compiles an eighth less.

use super::group::Group;
use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::scope::InScope;
use super::walk::{WalkContext, WalkLane, tables_of};
use crate::budget::MOST_LOOKUP_TREES;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BuildStmts, Cmp, Task, Ty, Value};
use crate::mir::{Accumulator, MirLoop, MirStmt, Walks};
use crate::plan::{SumAccess, WalkPlan};
use crate::repr::Buffers;
use crate::repr::traverse::Traversal;
use crate::rows::lanes_below;

/// Rows that walk the trees: `count` vectors from row `first` on.
#[derive(Clone, Copy)]
struct RemainderVectors {
    first: Value,
    /// Exclusive end of the rows.
    stop: Value,
    count: i64,
}

/// Sums of a vector of rows in memory.
#[derive(Clone, Copy)]
struct VectorOfSums {
    at: Address,
    ty: Ty,
    /// Mask of the lanes that are rows.
    mask: Value,
}

/// A tree loop with the leaf loop over rows that it repeats.
pub(super) struct TreeLoop<'m> {
    this: &'m MirLoop,
    /// Statements before the walks of each tree: prefetches.
    before: &'m [MirStmt],
    walks: &'m Walks,
    plan: &'m WalkPlan,
    buffers: Buffers,
}

impl<'m> TreeLoop<'m> {
    /// The tree loop, if the plan has unroll-and-jam for it. Kernels without sums never do.
    pub(super) fn of<'k: 'm>(k: &KernelBuilder<'k>, this: &'m MirLoop) -> Option<TreeLoop<'m>> {
        let (before, walks) = this.only_walks()?;
        let plan = k.ports.lowering.plan.walks.get(&walks.id)?;
        let buffers = tables_of(k, walks)?;
        let unroll_and_jam = k.ports.results.are_sums() && plan.unroll_and_jam > 1;
        unroll_and_jam.then_some(TreeLoop { this, before, walks, plan, buffers })
    }
}

impl EmitStmt for TreeLoop<'_> {
    /// Emits the tree loop several times: with the rows that fill whole groups, then with the remainder in
    /// smaller groups, with several trees at once.
    fn emit(&self, k: &mut KernelBuilder) {
        let walks = self.walks;
        let lanes = i64::from(walks.lanes);
        let in_group = i64::from(walks.group) * lanes;
        let stop = k.loop_end(&walks.iter);
        let most = k.ports.largest_end(&walks.iter).map(|end| end - walks.iter.start);
        let mut at = k.b.int(walks.iter.start);
        // A node sweep takes so long per tree that masks hardly matter. So a group is whole if its last
        // vector has one row.
        let is_masked = self.plan.traversal == Traversal::NodeSweep;
        let missing = if is_masked { lanes - 1 } else { 0 };
        if most.is_none_or(|most| most + missing >= in_group) {
            let zero = k.b.int(0);
            let rows = k.b.sub(stop, at);
            let rows = k.b.add_int(rows, missing);
            let rows = k.b.bin(Bin::Max, rows, zero);
            let size = k.b.int(in_group);
            let groups = k.b.bin(Bin::IDiv, rows, size);
            let grouped = k.b.mul(groups, size);
            let end = k.b.add(at, grouped);
            let any = k.b.cmp(Cmp::Lt, at, end);
            let group = Group::full(i64::from(walks.group), walks.lanes as u16);
            let group = if is_masked { group.masked_below(stop) } else { group };
            k.when(any, |k| self.whole_groups(k, end, group));
            at = end;
        }
        if seeded(Fault::RemainderDropped) {
            return;
        }
        let halves = std::iter::successors(Some(i64::from(walks.group) / 2), |n| (*n > 1).then_some(n / 2));
        for count in halves.filter(|count| *count == 1 || !self.looks_up()) {
            // The last vector needs one row.
            let before_last = (count - 1) * lanes;
            if most.is_some_and(|most| most <= before_last) {
                continue;
            }
            let end = k.b.add_int(stop, -before_last);
            let after = k.for_loop((at, end, count * lanes), &[at], |k, first, _| {
                self.remainder(k, RemainderVectors { first, stop, count });
                vec![k.b.add_int(first, count * lanes)]
            });
            at = after[0];
        }
    }
}

impl TreeLoop<'_> {
    /// Emits the tree loop with groups of rows up to row `stop`.
    fn whole_groups(&self, k: &mut KernelBuilder, stop: Value, group: Group) {
        let TreeLoop { this, before, walks, buffers, .. } = self;
        let start = k.b.int(walks.iter.start);
        let in_group = i64::from(walks.group) * i64::from(walks.lanes);
        let trees = (k.b.int(this.iter.start), k.loop_end(&this.iter), this.iter.step);
        k.for_loop(trees, &[], |k, tree, _| {
            k.with_var(this.iter.var, InScope::value(tree), |k| {
                before.emit(k);
                k.attribute_to_loop(walks.iter.var, |k| {
                    let Some(context) = WalkContext::new(k, walks, buffers) else { return };
                    k.for_loop((start, stop, in_group), &[], |k, row, _| {
                        context.walk_group(k, row, group, None);
                        Vec::new()
                    });
                });
            });
            Vec::new()
        });
    }

    /// Emits the tree loop for remainder rows: with several trees at once, whose vectors fill a group, then
    /// with the remaining trees one by one.
    fn remainder(&self, k: &mut KernelBuilder, vectors: RemainderVectors) {
        let (this, walks) = (self.this, self.walks);
        let together = i64::from(self.plan.unroll_and_jam) / vectors.count;
        let trees = if self.looks_up() { together.min(MOST_LOOKUP_TREES.into()) } else { together };
        let stop = k.loop_end(&this.iter);
        let step = this.iter.step;
        let start = k.b.int(this.iter.start);
        let end = k.b.add_int(stop, step - step * trees);
        let places = self.sums_in_registers(k, vectors);
        let open = |place: &VectorOfSums| k.b.load_masked(place.ty, place.at, place.mask);
        let sums: Vec<Value> = places.iter().map(open).collect();
        let carried: Vec<Value> = std::iter::once(start).chain(sums).collect();
        let mut after = k.for_loop((start, end, step * trees), &carried, |k, first, inside| {
            let mut sums = inside.get(1..).unwrap_or_default().to_vec();
            k.attribute_to_loop(walks.iter.var, |k| self.trees(k, vectors, (first, trees), &mut sums));
            std::iter::once(k.b.add_int(first, step * trees)).chain(sums).collect()
        });
        let known = k.b.as_int(stop).map(|stop| (stop - this.iter.start + step - 1) / step);
        let is_done = seeded(Fault::RemainderDropped) || known.is_some_and(|count| count % trees == 0);
        let next = after.remove(0);
        if !is_done {
            after = k.for_loop((next, stop, step), &after, |k, first, inside| {
                let mut sums = inside.to_vec();
                k.attribute_to_loop(walks.iter.var, |k| self.trees(k, vectors, (first, 1), &mut sums));
                sums
            });
        }
        for (place, sum) in places.into_iter().zip(after) {
            k.b.store_masked(place.at, sum, place.mask);
        }
    }

    /// Whether walks look up nodes in vector registers.
    fn looks_up(&self) -> bool {
        matches!(self.plan.traversal, Traversal::LevelLookup { .. })
    }

    /// Addresses of the sums that all trees add to, for each vector of rows. The sums are carried in
    /// registers across the tree loop, since processors do not forward masked stores to later loads.
    fn sums_in_registers(&self, k: &mut KernelBuilder, vectors: RemainderVectors) -> Vec<VectorOfSums> {
        let walks = self.walks;
        let are_vectors = self.plan.sums == SumAccess::RowVector;
        if !are_vectors
            || self.has_own_slots(k)
            || k.ports.vectors.is_some()
            || k.ports.tree_margins.is_some()
        {
            return Vec::new();
        }
        let mut places = Vec::new();
        k.with_var(walks.iter.var, InScope::value(vectors.first), |k| {
            let sums = k.sums(&walks.target);
            let first_row = k.affine(&walks.row);
            let lanes = i64::from(walks.lanes);
            for ahead in (0..vectors.count).map(|vector| vector * lanes) {
                let number = k.b.add_int(first_row, ahead);
                let index = sums.first_margin(&mut k.b, number, None);
                let left = k.b.sub(vectors.stop, vectors.first);
                let left = k.b.add_int(left, -ahead);
                let mask = lanes_below(&mut k.b, left, walks.lanes as u16);
                let at = Address::element(sums.buffer, index, sums.element);
                places.push(VectorOfSums { at, ty: Ty::vector(sums.element, walks.lanes as u16), mask });
            }
        });
        places
    }

    /// Whether each tree adds to a different slot.
    fn has_own_slots(&self, k: &KernelBuilder) -> bool {
        let Accumulator::Slot(id, _) = self.walks.target.accumulator else { return false };
        let private = k.scope().private(id);
        private.is_some_and(|private| private.loops.iter().any(|(var, _)| *var == self.this.iter.var))
    }

    /// Walks `trees` trees, the first at value `first` of their loop. `sums` are the carried sums of the
    /// vectors; if it is empty, sums are in memory.
    fn trees(
        &self,
        k: &mut KernelBuilder,
        vectors: RemainderVectors,
        (first, trees): (Value, i64),
        sums: &mut [Value],
    ) {
        let TreeLoop { this, before, walks, buffers, .. } = self;
        let group = Group::full(vectors.count, walks.lanes as u16).masked_below(vectors.stop);
        k.with_var(walks.iter.var, InScope::value(vectors.first), |k| {
            let mut contexts: Vec<(WalkContext, usize)> = Vec::new();
            let mut lanes: Vec<WalkLane> = Vec::new();
            for tree in 0..trees {
                let ahead = if seeded(Fault::UnrollAndJamRepeatsTree) { 0 } else { tree * this.iter.step };
                let value = k.b.add_int(first, ahead);
                k.with_var(this.iter.var, InScope::value(value), |k| {
                    before.emit(k);
                    let Some(context) = WalkContext::new(k, walks, buffers) else { return };
                    let of_tree = context.lanes(k, group);
                    contexts.push((context, of_tree.len()));
                    lanes.extend(of_tree);
                });
            }
            let Some((context, _)) = contexts.first() else { return };
            let nodes = context.walk_to_leaves(k, &lanes);
            let mut nodes = lanes.iter().zip(nodes);
            for (context, count) in &contexts {
                for (vector, (lane, node)) in nodes.by_ref().take(*count).enumerate() {
                    let sum = sums.get(vector).copied();
                    let next = k.attribute_to_task(Task::Sums, |k| context.use_leaf(k, lane, node, sum));
                    if let (Some(sum), Some(next)) = (sums.get_mut(vector), next) {
                        *sum = next;
                    }
                }
            }
        });
    }
}
