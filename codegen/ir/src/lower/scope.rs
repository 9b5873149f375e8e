//! Scope of a point in a nest: values of loop variables, copies of rows, private sums.

use super::ports::Ports;
use super::row_source::RowBuffer;
use super::sum_target::{CopiedSums, KeptSums, PrivateBuffer, SlotLayout, SumTarget};
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, BufferId, Builder, Value};
use crate::mir::{
    Accumulator, Affine, Bound, CacheId, Iter, Minuend, PrivateId, SlotMargins, SumDestination, Var, Window,
};
use crate::repr::{Buffers, Storage};
use std::collections::BTreeMap;

/// A variable in scope.
#[derive(Clone, Copy, Debug)]
pub struct InScope {
    /// Value of the variable.
    pub value: Value,
    /// Number of the iteration, for loops whose iterations have slots of sums.
    pub iteration: Option<Value>,
}

impl InScope {
    /// A variable of a loop whose iterations have no slots.
    pub fn value(value: Value) -> InScope {
        InScope { value, iteration: None }
    }

    /// The variable of a loop in the iteration with this number, which has a slot of sums.
    pub fn of_iteration(b: &mut Builder, iter: &Iter, iteration: Value) -> InScope {
        let offset = b.mul_int(iteration, iter.step);
        let value = b.add_int(offset, iter.start);
        InScope { value, iteration: Some(iteration) }
    }
}

/// First row and number of rows of a MIR `Window`, as LIR values.
#[derive(Clone, Copy, Debug)]
pub struct WindowRows {
    /// First row of the window.
    pub first: Value,
    /// Number of rows, at least 0.
    pub count: Value,
}

/// Variables, copies and sums that the current statements can use.
#[derive(Debug, Default)]
pub struct Scope {
    /// Loop variables.
    vars: BTreeMap<Var, InScope>,
    /// Private sums.
    privates: BTreeMap<PrivateId, PrivateBuffer>,
    /// Copies of rows.
    copies: BTreeMap<CacheId, RowBuffer>,
    /// Copies of some trees, which replace the tables of a storage.
    trees: BTreeMap<Storage, Buffers>,
    /// Copied sums, to which walks add instead of the output.
    copied_sums: Option<CopiedSums>,
    /// Sums that a thread keeps in registers.
    kept_sums: Option<KeptSums>,
    /// Columns in a device's memory, which launches read in place of the call's rows.
    device_columns: Option<BufferId>,
}

/// Changes of the scope. Those that can replace an entry of an outer scope return it.
impl Scope {
    /// Binds a variable, or removes it.
    pub fn set_var(&mut self, var: Var, bound: Option<InScope>) -> Option<InScope> {
        match bound {
            Some(bound) => self.vars.insert(var, bound),
            None => self.vars.remove(&var),
        }
    }

    /// Adds a copy of rows, or removes it.
    pub fn set_copy(&mut self, id: CacheId, copy: Option<RowBuffer>) {
        match copy {
            Some(copy) => self.copies.insert(id, copy),
            None => self.copies.remove(&id),
        };
    }

    /// Adds a private buffer, or removes it.
    pub fn set_private(&mut self, id: PrivateId, buffer: Option<PrivateBuffer>) {
        match buffer {
            Some(buffer) => self.privates.insert(id, buffer),
            None => self.privates.remove(&id),
        };
    }

    /// Sets the columns in a device's memory, or removes them.
    pub fn set_device_columns(&mut self, columns: Option<BufferId>) {
        self.device_columns = columns;
    }

    /// Columns in a device's memory.
    pub fn device_columns(&self) -> Option<BufferId> {
        self.device_columns
    }

    /// Replaces the copied sums.
    pub fn set_copied_sums(&mut self, sums: Option<CopiedSums>) -> Option<CopiedSums> {
        std::mem::replace(&mut self.copied_sums, sums)
    }

    /// Replaces the sums that the thread keeps.
    pub fn set_kept_sums(&mut self, sums: Option<KeptSums>) -> Option<KeptSums> {
        std::mem::replace(&mut self.kept_sums, sums)
    }

    /// Adds copies of trees.
    pub fn add_trees(
        &mut self,
        copies: impl IntoIterator<Item = (Storage, Buffers)>,
    ) -> BTreeMap<Storage, Buffers> {
        let outer = self.trees.clone();
        self.trees.extend(copies);
        outer
    }

    /// Replaces the copies of trees.
    pub fn set_trees(&mut self, trees: BTreeMap<Storage, Buffers>) {
        self.trees = trees;
    }
}

impl Scope {
    /// A copy of rows in scope.
    pub fn copy(&self, id: CacheId) -> Option<RowBuffer> {
        self.copies.get(&id).copied()
    }

    /// A private buffer in scope.
    pub fn private(&self, id: PrivateId) -> Option<&PrivateBuffer> {
        self.privates.get(&id)
    }

    /// Copies of trees that replace the tables of a storage.
    pub fn trees(&self, storage: Storage) -> Option<&Buffers> {
        self.trees.get(&storage)
    }

    /// Whether the thread keeps the sums of an accumulator.
    pub fn keeps(&self, accumulator: Accumulator) -> bool {
        self.kept_sums.as_ref().is_some_and(|kept| kept.of == accumulator)
    }

    /// Value of a sum of variables and a constant.
    pub fn affine(&self, b: &mut Builder, sum: &Affine) -> Value {
        let mut total = b.int(sum.plus);
        for var in &sum.vars {
            let value = self.value(b, *var);
            total = b.add(total, value);
        }
        total
    }

    /// Value of a variable.
    pub fn value(&self, b: &mut Builder, var: Var) -> Value {
        match self.vars.get(&var) {
            Some(bound) => bound.value,
            None => b.int(0),
        }
    }

    /// Number of the current iteration of the loop with this variable.
    pub fn iteration(&self, b: &mut Builder, var: Var) -> Value {
        let bound = self.vars.get(&var).and_then(|bound| bound.iteration);
        bound.unwrap_or_else(|| b.int(0))
    }

    /// Exclusive end of a loop.
    pub fn loop_end(&self, b: &mut Builder, iter: &Iter) -> Value {
        let mut least = None;
        for bound in &iter.stops {
            let value = self.bound(b, bound);
            least = Some(match least {
                None => value,
                Some(other) => b.min(other, value),
            });
        }
        least.unwrap_or_else(|| b.int(iter.start))
    }

    fn bound(&self, b: &mut Builder, bound: &Bound) -> Value {
        let limit = match bound.limit {
            Minuend::Const(n) => b.int(n),
            Minuend::Rows => b.n_rows(),
        };
        let less = self.affine(b, &bound.less);
        b.sub(limit, less)
    }

    /// Number of iterations of a loop, at least 0.
    pub fn trip(&self, b: &mut Builder, iter: &Iter) -> Value {
        let stop = self.loop_end(b, iter);
        let length = b.add_int(stop, iter.step - 1 - iter.start);
        let step = b.int(iter.step);
        let trip = b.bin(Bin::IDiv, length, step);
        let zero = b.int(0);
        b.bin(Bin::Max, trip, zero)
    }

    /// First row and number of rows of a MIR `Window`, as LIR values.
    pub fn window(&self, b: &mut Builder, window: &Window) -> WindowRows {
        let base = self.affine(b, &window.base);
        let first = b.add_int(base, window.low);
        let mut end = b.n_rows();
        if let Some(high) = window.high {
            let high = b.add_int(base, high);
            end = b.min(high, end);
        }
        let count = b.sub(end, first);
        let zero = b.int(0);
        WindowRows { first, count: b.bin(Bin::Max, count, zero) }
    }

    /// Index of the current row among the rows whose sums the thread keeps in registers, if it is known at
    /// compile time.
    pub fn kept_row(&self, b: &Builder, accumulator: Accumulator) -> Option<i64> {
        let kept = self.kept_sums.as_ref().filter(|kept| kept.of == accumulator)?;
        kept.loops
            .iter()
            .try_fold(0, |place, (var, start)| Some(place + b.as_int(self.vars.get(var)?.value)? - start))
    }

    /// Buffer and position of a target's sums.
    pub fn sums(&self, b: &mut Builder, ports: &Ports, target: &SumDestination) -> SumTarget {
        let (element, margins, tree_margins) = (ports.accumulator, ports.margins(), ports.tree_margins);
        let output = SumTarget {
            buffer: ports.out,
            origin: b.int(0),
            atomic: target.atomic,
            block_rows: None,
            element,
            margins,
            row_distance: margins,
            margin_distance: 1,
            rows_together: None,
            tree_margins,
            rounding: ports.rounding,
        };
        if let Some(kept) = &self.kept_sums
            && kept.of == target.accumulator
        {
            return SumTarget {
                buffer: kept.buffer,
                origin: b.mul_int(kept.first_row, -1),
                atomic: false,
                margins: kept.margins,
                row_distance: 1,
                margin_distance: kept.rows,
                ..output
            };
        }
        match target.accumulator {
            Accumulator::Output => match self.copied_sums {
                None => output,
                Some(CopiedSums { buffer, first_row, block_rows }) => {
                    let origin = b.mul_int(first_row, -margins);
                    SumTarget { buffer, origin, block_rows: Some(block_rows), ..output }
                }
            },
            Accumulator::Slot(id, _) => match self.privates.get(&id) {
                None => output,
                Some(private) => self.slot(b, private, output),
            },
        }
    }

    /// Sums of the current iteration's slot. `all` are the sums of the output.
    fn slot(&self, b: &mut Builder, private: &PrivateBuffer, all: SumTarget) -> SumTarget {
        let mut slot = b.int(0);
        for (var, trips) in &private.loops {
            let before = b.mul(slot, *trips);
            let iteration = self.iteration(b, *var);
            slot = b.add(before, iteration);
        }
        if seeded(Fault::SlotShared) {
            slot = b.int(0);
        }
        let SlotLayout { margins, slot_distance, row_distance, margin_distance } = private.layout;
        let start = b.mul(slot, slot_distance);
        let skipped = b.mul_int(private.first_row, row_distance);
        SumTarget {
            buffer: private.buffer,
            origin: b.sub(start, skipped),
            margins: if margins == SlotMargins::InTurn { 1 } else { all.margins },
            row_distance,
            margin_distance,
            rows_together: private.rows_together,
            ..all
        }
    }
}

/// Least end of a loop whose bounds are constants, with variables in the bounds taken as 0. The loop's start
/// if no bound has a constant limit.
pub fn constant_stop(iter: &Iter) -> i64 {
    let constant = |stop: &Bound| match stop.limit {
        Minuend::Const(n) => Some(n - stop.less.plus),
        Minuend::Rows => None,
    };
    iter.stops.iter().filter_map(constant).min().unwrap_or(iter.start)
}
