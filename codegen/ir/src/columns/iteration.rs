//! Loops of arranged stages as code: the values of all enclosing loops, and one loop around its body.

use super::arrangement::{Arrangement, StageLoop, ValueRange};
use crate::lir::{BuildStmts, Builder, Value};
use sched_nest::Axis;

/// The current iteration of all enclosing loops. The value of an axis is a sum: a value that loops of LIR
/// have, plus a constant of unrolled loops.
#[derive(Clone)]
pub(super) struct CurrentIteration {
    /// For rows, units or trees, and terms, the sum of the values of loops of LIR; 0 if `None`.
    pub at: [Option<Value>; 3],
    /// For rows, units or trees, and terms, the constants that unrolled loops add.
    pub plus: [i64; 3],
    /// The exclusive bounds of partial tiles that remain inside the enclosing loops.
    pub remaining_bounds: Vec<i64>,
    /// Number of terms that a vector adds.
    pub term_lanes: u16,
}

/// Position of rows in arrays of axes.
pub(super) const ROW: usize = 0;
/// Position of units, or of trees.
pub(super) const UNIT: usize = 1;
/// Position of terms.
pub(super) const TERM: usize = 2;

impl CurrentIteration {
    /// The iteration inside a loop in which the loop has a value of `range`: the value `at`, if any, plus a
    /// constant.
    pub fn moved(
        &self,
        this: &StageLoop,
        range: &ValueRange,
        (at, plus): (Option<Value>, i64),
        b: &mut Builder,
    ) -> CurrentIteration {
        let mut point = self.inside(this, range);
        let axis = axis_number(this.axis);
        if let Some(value) = at {
            point.at[axis] = Some(match point.at[axis] {
                Some(outer) => b.add(outer, value),
                None => value,
            });
        }
        point.plus[axis] += plus;
        point
    }

    /// The iteration inside a loop in a value of `range` that is not added.
    pub fn inside(&self, this: &StageLoop, range: &ValueRange) -> CurrentIteration {
        let term_lanes = if this.axis == Axis::Feature { range.lanes } else { 1 };
        CurrentIteration {
            remaining_bounds: range.remaining_bounds.clone(),
            term_lanes: self.term_lanes.max(term_lanes),
            ..self.clone()
        }
    }

    /// The value of an axis as a value of LIR.
    pub fn value(&self, b: &mut Builder, axis: usize) -> Value {
        match self.at[axis] {
            Some(value) => b.add_int(value, self.plus[axis]),
            None => b.int(self.plus[axis]),
        }
    }

    /// The number of the current row without the constants of unrolled loops, if rows begin with `first`;
    /// `None` if it is 0.
    pub fn row_from(&self, b: &mut Builder, first: Option<Value>) -> Option<Value> {
        match (first, self.at[ROW]) {
            (Some(first), Some(row)) => Some(b.add(first, row)),
            (first, row) => first.or(row),
        }
    }
}

fn axis_number(axis: Axis) -> usize {
    match axis {
        Axis::Row => ROW,
        Axis::Unit | Axis::Tree => UNIT,
        Axis::Feature => TERM,
    }
}

impl Arrangement {
    /// The iteration outside of all loops.
    pub(super) fn before_loops(&self) -> CurrentIteration {
        CurrentIteration {
            at: [None; 3],
            plus: [0; 3],
            remaining_bounds: self.initial_bounds(),
            term_lanes: 1,
        }
    }

    /// Calls `body` for the values of a loop: in loops of LIR, shared by threads or not, or unrolled.
    pub(super) fn for_each_value(
        &self,
        b: &mut Builder,
        at: usize,
        point: &CurrentIteration,
        body: &mut dyn FnMut(&mut Builder, &CurrentIteration),
    ) {
        let this = self.loops[at];
        for range in self.ranges(at, &point.remaining_bounds) {
            if range.count == 1 || this.unroll {
                for nth in 0..range.count {
                    let value = range.first + nth * range.step;
                    let inner = point.moved(&this, &range, (None, value), b);
                    body(b, &inner);
                }
                continue;
            }
            if this.parallel {
                let trip = b.int(range.count);
                b.parallel(trip, |b, iteration| {
                    let value = b.mul_int(iteration, range.step);
                    let value = b.add_int(value, range.first);
                    let inner = point.moved(&this, &range, (Some(value), 0), b);
                    body(b, &inner);
                });
                continue;
            }
            let (first, end) = (b.int(range.first), b.int(range.first + range.count * range.step));
            b.for_loop((first, end, range.step), &[], |b, value, _| {
                let inner = point.moved(&this, &range, (Some(value), 0), b);
                body(b, &inner);
                Vec::new()
            });
        }
    }
}
