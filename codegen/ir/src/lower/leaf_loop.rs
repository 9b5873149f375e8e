//! Leaf loops: the groups of walks that they run, depending on what is known of their number of iterations.

use super::group::{Group, GroupSize, MaskedVectors, group_sizes};
use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::walk::{WalkContext, tables_of};
use crate::fault::{Fault, seeded};
use crate::lir::{BuildStmts, Cmp, Value};
use crate::mir::{Affine, Bound, Iter, Minuend, Walks};
use sched_nest::Axis;

/// Largest number of rows of a thread that are walked without a loop.
const MOST_UNROLLED_ROWS: i64 = 8;
/// Largest number of groups of rows that are walked without a loop.
const MOST_UNROLLED_GROUPS: i64 = 4;

/// Length of a leaf loop at compile time.
enum Length {
    /// A constant number of trees.
    Trees(i64),
    /// At most this many rows, for which the loop is written out.
    UnrolledRows(i64),
    Unknown,
}

impl EmitStmt for Walks {
    /// Emits a leaf loop. The plan has an entry for every leaf loop of the nest.
    fn emit(&self, k: &mut KernelBuilder) {
        let Some(buffers) = tables_of(k, self) else { return };
        let Some(context) = WalkContext::new(k, self, &buffers) else { return };
        let sum = context.open_sum(k);
        match Length::of(k, self) {
            Length::Trees(trips) => emit_constant(k, &context, trips, sum),
            Length::UnrolledRows(rows) => emit_unrolled(k, &context, rows),
            Length::Unknown => emit_unknown(k, &context, sum),
        }
    }
}

impl Length {
    fn of(k: &KernelBuilder, walks: &Walks) -> Length {
        match (constant_trips(walks), rows_to_unroll(k, walks)) {
            (Some(trips), _) => Length::Trees(trips),
            (None, Some(rows)) => Length::UnrolledRows(rows),
            (None, None) => Length::Unknown,
        }
    }
}

/// Number of iterations of a leaf loop over trees, if it is constant.
fn constant_trips(walks: &Walks) -> Option<i64> {
    let iter = &walks.iter;
    let [Bound { limit: Minuend::Const(stop), less: Affine { vars, plus } }] = iter.stops.as_slice() else {
        return None;
    };
    let trees = walks.over == Axis::Tree && vars.is_empty();
    trees.then(|| ((stop - plus - iter.start + iter.step - 1) / iter.step).max(0))
}

/// Largest number of rows of a thread's leaf loop, if the loop is to be written out: it has one group, or at
/// most `MOST_UNROLLED_GROUPS` whose sums the thread keeps.
fn rows_to_unroll(k: &KernelBuilder, walks: &Walks) -> Option<i64> {
    let (start, step, group) = (walks.iter.start, walks.iter.step, i64::from(walks.group));
    let rows = (k.ports.largest_end(&walks.iter)? - start + step - 1) / step;
    let kept = k.scope().keeps(walks.target.accumulator);
    let few = kept && rows <= MOST_UNROLLED_ROWS && rows <= MOST_UNROLLED_GROUPS * group;
    let one_group = k.is_on_device() && group > 1 && rows <= group;
    let single = walks.over == Axis::Row && walks.lanes == 1;
    (single && rows > 0 && (few || one_group)).then_some(rows)
}

/// Emits a leaf loop over at most `rows` rows, written out. Row numbers relative to the thread's first row
/// are constants, so the thread's sums can be in registers. If some rows are missing, each row is walked
/// alone.
fn emit_unrolled(k: &mut KernelBuilder, context: &WalkContext, rows: i64) {
    let Iter { start, step, .. } = context.walks.iter;
    let stop = k.loop_end(&context.walks.iter);
    let at = |k: &mut KernelBuilder, row: i64| k.b.int(start + row * step);
    let last = at(k, rows - 1);
    let all = k.b.cmp(Cmp::Lt, last, stop);
    let whole = |k: &mut KernelBuilder| {
        let mut done = 0;
        while done < rows {
            let together = i64::from(context.walks.group).min(rows - done);
            let first = at(k, done);
            context.walk_group(k, first, Group::full(together, 1), None);
            done += together;
        }
        Vec::new()
    };
    let rest = |k: &mut KernelBuilder| {
        let left = if seeded(Fault::RemainderDropped) { 0 } else { rows };
        for row in 0..left {
            let value = at(k, row);
            let exists = k.b.cmp(Cmp::Lt, value, stop);
            k.when(exists, |k| {
                context.walk_group(k, value, Group::full(1, 1), None);
            });
        }
        Vec::new()
    };
    k.if_else(all, whole, rest);
}

/// Emits a leaf loop with a constant number of trees: whole groups, then one smaller group.
fn emit_constant(k: &mut KernelBuilder, context: &WalkContext, trips: i64, mut sum: Option<Value>) {
    let Iter { start, step, .. } = context.walks.iter;
    let (group, lanes) = (i64::from(context.walks.group), context.walks.lanes as u16);
    let per_group = group * i64::from(lanes);
    let end = start + trips / per_group * per_group * step;
    if trips >= per_group {
        let first: Vec<Value> = sum.into_iter().collect();
        let range = (k.b.int(start), k.b.int(end), per_group * step);
        let after = k.for_loop(range, &first, |k, value, inside| {
            let whole = Group::full(group, lanes);
            context.walk_group(k, value, whole, inside.first().copied()).into_iter().collect()
        });
        sum = after.first().copied();
    }
    let remainder = trips % per_group;
    if remainder > 0 && !seeded(Fault::RemainderDropped) {
        let at = k.b.int(end);
        sum = context.walk_group(k, at, Group::of(remainder, lanes), sum);
    }
    context.close_sum(k, sum);
}

/// Emits a leaf loop of unknown length: whole groups, then smaller groups for the remainder. With
/// masks, the last vector of each group may be partial.
fn emit_unknown(k: &mut KernelBuilder, context: &WalkContext, mut sum: Option<Value>) {
    let walks = context.walks;
    let stop = k.loop_end(&walks.iter);
    let mut at = k.b.int(walks.iter.start);
    let masked = masked_vectors(context, sum.is_some());
    let most = k.ports.largest_end(&walks.iter).map(|end| end - walks.iter.start);
    for GroupSize { vectors, width, is_masked } in group_sizes(walks, masked) {
        let group = Group::full(vectors, width);
        let span = walks.iter.step * vectors * i64::from(width);
        // With masks, the last vector needs at least one row. Without a row, it would be beyond the end of
        // the copy.
        let least = if is_masked { span - walks.iter.step * (i64::from(width) - 1) } else { span };
        // The last walk of a group begins one step before the group's end.
        if most.is_some_and(|most| most <= least - walks.iter.step) {
            continue;
        }
        let end = k.b.add_int(stop, walks.iter.step - least);
        let first: Vec<Value> = [Some(at), sum].into_iter().flatten().collect();
        let group = if is_masked { group.masked_below(stop) } else { group };
        let after = k.for_loop((at, end, span), &first, |k, value, inside| {
            let sum = context.walk_group(k, value, group, inside.get(1).copied());
            [Some(k.b.add_int(value, span)), sum].into_iter().flatten().collect()
        });
        at = after[0];
        sum = after.get(1).copied();
        if seeded(Fault::RemainderDropped) {
            break;
        }
    }
    context.close_sum(k, sum);
}

/// Vectors of the loop that may have lanes without an iteration.
fn masked_vectors(context: &WalkContext, is_carried: bool) -> MaskedVectors {
    let walks = context.walks;
    match context.has_contiguous_sums() {
        _ if walks.lanes == 1 => MaskedVectors::Never,
        true => MaskedVectors::Groups,
        // A carried sum would add the results of unused lanes, too. Masks need consecutive rows.
        false if walks.over == Axis::Row && walks.iter.step == 1 && !is_carried => {
            if context.adds_leaf_values() { MaskedVectors::LastVector } else { MaskedVectors::FewSizes }
        }
        false => MaskedVectors::Never,
    }
}
