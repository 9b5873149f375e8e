//! Unroll-and-jam: several trees at once where rows are few, of a loop over trees whose body is one leaf loop
//! over vectors of rows.
//!
//! `interleave` says how many vectors advance together. If there are fewer rows than that, the vectors of
//! several trees make up the number. Every row's sum still adds the trees in their order.

use super::kernel_builder::KernelBuilder;
use super::scope::InScope;
use super::walk::{Group, Lane, WalkContext};
use crate::fault::{Fault, seeded};
use crate::lir::{Build, Cmp, Task, Value};
use crate::mir::{Loop, Stmt, Walks};

/// Rows that a leaf loop walks.
#[derive(Clone, Copy)]
struct RowsLeft {
    /// How many there are.
    count: Value,
    /// The first number that is none of them.
    stop: Value,
}

/// A loop over trees, and the leaf loop over rows that it repeats.
#[derive(Clone, Copy)]
pub(super) struct TreeLoop<'m> {
    this: &'m Loop,
    /// What else is done for each tree before its walks.
    before: &'m [Stmt],
    walks: &'m Walks,
}

impl KernelBuilder<'_> {
    /// The leaf loop of a loop whose trees are walked together where rows are few. Where no sums are wanted they
    /// are not.
    pub(super) fn tree_loop<'m>(&self, this: &'m Loop) -> Option<TreeLoop<'m>> {
        let (before, walks) = this.only_walks()?;
        let plan = self.ports.lowering.plan.walks.get(&walks.id)?;
        let unroll_and_jam = self.ports.results.are_sums() && plan.unroll_and_jam > 1;
        unroll_and_jam.then_some(TreeLoop { this, before, walks })
    }

    /// The loop over trees, chosen by the number of rows: as it stands if there are rows for more than half
    /// of the vectors that advance together, else with several trees at once. `whole` emits the loop as it
    /// stands.
    pub(super) fn unroll_and_jam(&mut self, tree_loop: TreeLoop, whole: impl Fn(&mut Self)) {
        let walks = tree_loop.walks;
        let stop = self.scope.stop(&mut self.b, &walks.iter);
        let rows = self.b.add_int(stop, -walks.iter.start);
        let zero = self.b.int(0);
        let some = self.b.cmp(Cmp::Lt, zero, rows);
        self.when(some, |k| {
            k.by_rows_left(tree_loop, RowsLeft { count: rows, stop }, i64::from(walks.group), &whole)
        });
    }

    /// The case that there are `rows`, up to number `stop`, for at most `vectors` vectors.
    fn by_rows_left(
        &mut self,
        tree_loop: TreeLoop,
        rows: RowsLeft,
        vectors: i64,
        whole: &impl Fn(&mut Self),
    ) {
        let walks = tree_loop.walks;
        let fewer = vectors / 2;
        let emit = |k: &mut Self| {
            if vectors == i64::from(walks.group) {
                whole(k)
            } else {
                k.together(tree_loop, rows.stop, vectors)
            }
        };
        if fewer == 0 {
            return emit(self);
        }
        let bound = fewer * i64::from(walks.lanes);
        if self.ports.most(&walks.iter).is_some_and(|end| end - walks.iter.start <= bound) {
            return self.by_rows_left(tree_loop, rows, fewer, whole);
        }
        let bound = self.b.int(bound);
        let few = self.b.cmp(Cmp::Le, rows.count, bound);
        self.if_else(
            few,
            |k| {
                k.by_rows_left(tree_loop, rows, fewer, whole);
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
    fn together(&mut self, tree_loop: TreeLoop, rows: Value, vectors: i64) {
        let TreeLoop { this, walks, .. } = tree_loop;
        let trees = i64::from(walks.group) / vectors;
        let group = Group::full(vectors, walks.lanes as u16).below(rows);
        let stop = self.scope.stop(&mut self.b, &this.iter);
        let step = this.iter.step;
        let start = self.b.int(this.iter.start);
        let end = self.b.add_int(stop, step - step * trees);
        let next = self.for_loop((start, end, step * trees), &[start], |k, first, _| {
            k.for_loop_of(walks.iter.var, |k| k.trees(tree_loop, group, first, trees));
            vec![k.b.add_int(first, step * trees)]
        });
        let known = self.b.as_int(stop).map(|stop| (stop - this.iter.start + step - 1) / step);
        if seeded(Fault::RemainderDropped) || known.is_some_and(|count| count % trees == 0) {
            return;
        }
        self.for_loop((next[0], stop, step), &[], |k, first, _| {
            k.for_loop_of(walks.iter.var, |k| k.trees(tree_loop, group, first, 1));
            Vec::new()
        });
    }

    /// Walks some trees, from the value `first` of their loop on, with all rows.
    fn trees(&mut self, tree_loop: TreeLoop, group: Group, first: Value, trees: i64) {
        let TreeLoop { this, before, walks } = tree_loop;
        let row = self.b.int(walks.iter.start);
        let Some(buffers) = self.tables_of(walks) else { return };
        self.with_var(walks.iter.var, InScope::value(row), |k| {
            let mut contexts: Vec<(WalkContext, usize)> = Vec::new();
            let mut lanes: Vec<Lane> = Vec::new();
            for tree in 0..trees {
                let ahead = if seeded(Fault::TogetherRepeatsTree) { 0 } else { tree * this.iter.step };
                let value = k.b.add_int(first, ahead);
                k.with_var(this.iter.var, InScope::value(value), |k| {
                    k.block(before);
                    let Some(context) = k.context(walks, &buffers) else { return };
                    let of_tree = k.lanes(&context, group);
                    contexts.push((context, of_tree.len()));
                    lanes.extend(of_tree);
                });
            }
            let Some((context, _)) = contexts.first() else { return };
            let nodes = context.advance(k, &lanes);
            let owners = contexts.iter().flat_map(|(context, count)| std::iter::repeat_n(context, *count));
            for ((context, lane), node) in owners.zip(&lanes).zip(nodes) {
                k.doing(Task::Sums, |k| k.use_leaf(context, lane, node, None));
            }
        });
    }
}
