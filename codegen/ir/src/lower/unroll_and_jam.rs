//! Unroll-and-jam: several trees at once where rows are few, of a loop over trees whose body is one leaf loop
//! over vectors of rows.
//!
//! `interleave` says how many vectors advance together. If there are fewer rows than that, the vectors of
//! several trees make up the number. Every row's sum still adds the trees in their order.

use super::kernel_builder::KernelBuilder;
use super::ports::Results;
use super::scope::InScope;
use super::walk::{Group, Lane, WalkContext};
use crate::fault::{Fault, seeded};
use crate::lir::{Build, Cmp, Value};
use crate::mir::{Loop, Walks};

/// Rows that a leaf loop walks.
#[derive(Clone, Copy)]
struct RowsLeft {
    /// How many there are.
    count: Value,
    /// The first number that is none of them.
    stop: Value,
}

impl KernelBuilder<'_> {
    /// Whether several trees of a loop over this leaf loop are walked at once where rows are few.
    pub(super) fn unrolls_and_jams(&self, walks: &Walks) -> bool {
        let plan = self.ports.lowering.plan.walks.get(&walks.id);
        self.ports.results == Results::Margins && plan.is_some_and(|plan| plan.unroll_and_jam > 1)
    }

    /// The loop over trees, chosen by the number of rows: as it stands if there are rows for more than half
    /// of the vectors that advance together, else with several trees at once. `whole` emits the loop as it
    /// stands.
    pub(super) fn unroll_and_jam(&mut self, this: &Loop, walks: &Walks, whole: impl Fn(&mut Self)) {
        let stop = self.scope.stop(&mut self.b, &walks.iter);
        let rows = self.b.add_int(stop, -walks.iter.start);
        let zero = self.b.int(0);
        let some = self.b.cmp(Cmp::Lt, zero, rows);
        self.when(some, |k| {
            k.jam_by(this, walks, RowsLeft { count: rows, stop }, i64::from(walks.group), &whole)
        });
    }

    /// The case that there are `rows`, up to number `stop`, for at most `vectors` vectors.
    fn jam_by(
        &mut self,
        this: &Loop,
        walks: &Walks,
        rows: RowsLeft,
        vectors: i64,
        whole: &impl Fn(&mut Self),
    ) {
        let fewer = vectors / 2;
        let emit = |k: &mut Self| {
            if vectors == i64::from(walks.group) {
                whole(k)
            } else {
                k.together(this, walks, rows.stop, vectors)
            }
        };
        if fewer == 0 {
            return emit(self);
        }
        let bound = fewer * i64::from(walks.lanes);
        if self.ports.most(&walks.iter).is_some_and(|end| end - walks.iter.start <= bound) {
            return self.jam_by(this, walks, rows, fewer, whole);
        }
        let bound = self.b.int(bound);
        let few = self.b.cmp(Cmp::Le, rows.count, bound);
        self.if_else(
            few,
            |k| {
                k.jam_by(this, walks, rows, fewer, whole);
                Vec::new()
            },
            |k| {
                emit(k);
                Vec::new()
            },
        );
    }

    /// The loop over trees with `vectors` vectors of rows, which end at number `rows`, for each tree; then
    /// the trees that are left one by one.
    fn together(&mut self, this: &Loop, walks: &Walks, rows: Value, vectors: i64) {
        let trees = i64::from(walks.group) / vectors;
        let group = Group::full(vectors, walks.lanes as u16).below(rows);
        let stop = self.scope.stop(&mut self.b, &this.iter);
        let step = this.iter.step;
        let start = self.b.int(this.iter.start);
        let end = self.b.add_int(stop, step - step * trees);
        let next = self.for_loop((start, end, step * trees), &[start], |k, first, _| {
            k.trees(this, walks, group, first, trees);
            vec![k.b.add_int(first, step * trees)]
        });
        let known = self.b.as_int(stop).map(|stop| (stop - this.iter.start + step - 1) / step);
        if seeded(Fault::RemainderDropped) || known.is_some_and(|count| count % trees == 0) {
            return;
        }
        self.for_loop((next[0], stop, step), &[], |k, first, _| {
            k.trees(this, walks, group, first, 1);
            Vec::new()
        });
    }

    /// Walks some trees, from the value `first` of their loop on, with all rows.
    fn trees(&mut self, this: &Loop, walks: &Walks, group: Group, first: Value, trees: i64) {
        let row = self.b.int(walks.iter.start);
        self.with_var(walks.iter.var, InScope::value(row), |k| {
            let mut contexts: Vec<(WalkContext, usize)> = Vec::new();
            let mut lanes: Vec<Lane> = Vec::new();
            for tree in 0..trees {
                let ahead = if seeded(Fault::TogetherRepeatsTree) { 0 } else { tree * this.iter.step };
                let value = k.b.add_int(first, ahead);
                k.with_var(this.iter.var, InScope::value(value), |k| {
                    let Some(context) = k.context(walks) else { return };
                    let of_tree = k.lanes(&context, group);
                    contexts.push((context, of_tree.len()));
                    lanes.extend(of_tree);
                });
            }
            let Some((context, _)) = contexts.first() else { return };
            let nodes = context.advance(k, &lanes);
            let owners = contexts.iter().flat_map(|(context, count)| std::iter::repeat_n(context, *count));
            for ((context, lane), node) in owners.zip(&lanes).zip(nodes) {
                k.use_leaf(context, lane, node, None);
            }
        });
    }
}
