//! The arrangement of a stage whose results are columns: its loops over rows, units or trees, and terms, as a
//! schedule has them.
//!
//! All bounds are constants. Loops over rows go through the rows of one group; code repeats the arrangement
//! for the groups of a block.

use crate::fault::{Fault, seeded};
use crate::lir::greatest_common_divisor;
use sched_nest::Axis;

/// Loops of a stage, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// The loops. The value of an axis is the sum of the values of its loops.
    pub loops: Vec<StageLoop>,
    /// Bounds of partial tiles.
    pub bounds: Vec<StageBound>,
    /// Number of rows that the loops go through: the rows of a group.
    pub rows: i64,
    /// Whether the stage is a product of matrices by the warps of a GPU's block, without loops of its own.
    pub is_product: bool,
}

/// A loop of a stage. Its first value is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageLoop {
    /// Things that the loop counts: rows, units, terms or trees.
    pub axis: Axis,
    /// Exclusive end.
    pub stop: i64,
    /// Distance between values.
    pub step: i64,
    /// Number of rows, units or terms in the lanes of a vector; 1 without vectors.
    pub lanes: u16,
    /// Whether the loop is unrolled.
    pub unroll: bool,
    /// Whether threads share the loop's iterations.
    pub parallel: bool,
    /// Whether the loop goes through the vectors or walks of an interleaved group.
    pub interleaved: bool,
}

/// A condition of partial tiles: the sum of the values of some loops is below a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageBound {
    /// Positions of the loops.
    pub loops: Vec<usize>,
    /// The exclusive bound.
    pub bound: i64,
}

/// Consecutive values of a loop for which the loops inside have the same ranges, so that one loop of LIR can
/// run them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueRange {
    /// First value.
    pub first: i64,
    /// Number of values.
    pub count: i64,
    /// Distance between values.
    pub step: i64,
    /// Number of rows, units or terms in the lanes of a vector: those of the loop, or 1 for the terms after
    /// its last whole vector.
    pub lanes: u16,
    /// For each bound, the exclusive bound for the loops inside.
    pub remaining_bounds: Vec<i64>,
}

impl Arrangement {
    /// The arrangement of loops with the bounds of partial tiles.
    pub fn new(loops: Vec<StageLoop>, bounds: Vec<StageBound>) -> Arrangement {
        let all = Arrangement { loops, bounds, rows: 1, is_product: false };
        let of_rows = all.for_axes(&[Axis::Row]);
        let mut last = 0;
        of_rows.visit_points(0, &of_rows.initial_bounds(), (0, 0), &mut |(row, _)| {
            last = last.max(row);
            true
        });
        Arrangement { rows: last + i64::from(all.lanes(Axis::Row)), ..all }
    }

    /// The exclusive bounds as they are outside of all loops.
    pub(super) fn initial_bounds(&self) -> Vec<i64> {
        self.bounds.iter().map(|bound| bound.bound).collect()
    }

    /// Position of the first loop over terms.
    pub(super) fn first_term_loop(&self) -> usize {
        let is_term = |this: &StageLoop| this.axis == Axis::Feature;
        self.loops.iter().position(is_term).unwrap_or(self.loops.len())
    }

    /// Position of the first of the innermost loops that go through interleaved groups.
    pub(super) fn first_interleaved_loop(&self) -> usize {
        self.loops.iter().rposition(|this| !this.interleaved).map_or(0, |last| last + 1)
    }

    /// The values of the loop at position `at`, where `remaining_bounds` are the bounds that remain inside
    /// the enclosing loops. Consecutive values that leave the same bounds to the loops inside are one range.
    pub(super) fn ranges(&self, at: usize, remaining_bounds: &[i64]) -> Vec<ValueRange> {
        let Some(this) = self.loops.get(at) else { return Vec::new() };
        let bounds = || self.bounds.iter().zip(remaining_bounds);
        let own = bounds().filter(|(bound, _)| bound.loops.contains(&at)).map(|(_, left)| *left);
        let end = own.fold(this.stop, i64::min);
        // Rows and units have padding. Terms after the last whole vector are added one by one.
        let is_partial = |value: i64| this.axis == Axis::Feature && value + i64::from(this.lanes) > end;
        let mut ranges: Vec<ValueRange> = Vec::new();
        let mut value = 0;
        while value < end {
            let (step, lanes) = if is_partial(value) { (1, 1) } else { (this.step.max(1), this.lanes) };
            let remaining_bounds: Vec<i64> = bounds()
                .map(|(bound, left)| match bound.loops.contains(&at) {
                    true => (left - value).min(self.unreachable_bound(bound, at)),
                    false => *left,
                })
                .collect();
            match ranges.last_mut() {
                Some(last) if last.remaining_bounds == remaining_bounds && last.lanes == lanes => {
                    last.count += 1;
                }
                _ => ranges.push(ValueRange { first: value, count: 1, step, lanes, remaining_bounds }),
            }
            value += step;
        }
        if matches!(this.axis, Axis::Feature | Axis::Tree)
            && seeded(Fault::ArrangedTermsLost)
            && let Some(last) = ranges.last_mut()
        {
            last.count = (last.count - 1).max(1);
        }
        ranges
    }

    /// A value of a bound that the loops inside position `at` cannot reach.
    fn unreachable_bound(&self, bound: &StageBound, at: usize) -> i64 {
        let inside = bound.loops.iter().filter(|other| **other > at);
        1 + inside.filter_map(|other| self.loops.get(*other)).map(|this| this.stop).sum::<i64>()
    }

    /// The pairs of a row and a unit or tree that the loops from position `at` on go through, in order.
    /// `None` if there are more than `most`.
    pub(super) fn points(&self, at: usize, remaining_bounds: &[i64], most: usize) -> Option<Vec<(i64, i64)>> {
        let mut points = Vec::new();
        self.visit_points(at, remaining_bounds, (0, 0), &mut |point| {
            points.push(point);
            points.len() <= most
        });
        (points.len() <= most).then_some(points)
    }

    /// Calls `see` for each pair of a row and a unit or tree until `see` returns false. Returns whether it
    /// was true for all pairs.
    fn visit_points(
        &self,
        at: usize,
        remaining_bounds: &[i64],
        point: (i64, i64),
        see: &mut dyn FnMut((i64, i64)) -> bool,
    ) -> bool {
        let Some(this) = self.loops.get(at) else { return see(point) };
        if this.axis == Axis::Feature {
            return self.visit_points(at + 1, remaining_bounds, point, see);
        }
        self.ranges(at, remaining_bounds).iter().all(|range| {
            (0..range.count).all(|nth| {
                let value = range.first + nth * range.step;
                self.visit_points(at + 1, &range.remaining_bounds, this.moved(point, value), see)
            })
        })
    }

    /// The loops for a single row, without those over rows.
    pub fn for_single_row(&self) -> Arrangement {
        self.for_axes(&[Axis::Unit, Axis::Feature, Axis::Tree])
    }

    /// The loops over some axes, for a single row.
    pub(super) fn for_axes(&self, axes: &[Axis]) -> Arrangement {
        let is_kept = |at: &usize| axes.contains(&self.loops[*at].axis);
        let kept: Vec<usize> = (0..self.loops.len()).filter(is_kept).collect();
        let place = |old: &usize| kept.iter().position(|at| at == old);
        let bound = |bound: &StageBound| {
            let loops: Option<Vec<usize>> = bound.loops.iter().map(place).collect();
            Some(StageBound { loops: loops?, bound: bound.bound })
        };
        Arrangement {
            loops: kept.iter().map(|at| self.loops[*at]).collect(),
            bounds: self.bounds.iter().filter_map(bound).collect(),
            rows: 1,
            is_product: self.is_product,
        }
    }

    /// The loops without vectors if `register_bytes` is `None`, otherwise unchanged.
    #[must_use]
    pub(super) fn without_vectors_unless(mut self, register_bytes: Option<u32>) -> Arrangement {
        for this in self.loops.iter_mut().filter(|this| register_bytes.is_none() && this.lanes > 1) {
            (this.step, this.lanes) = (1, 1);
        }
        self
    }

    /// Number of lanes that are rows, units or terms.
    pub fn lanes(&self, axis: Axis) -> u16 {
        self.loops.iter().filter(|this| this.axis == axis).map(|this| this.lanes).max().unwrap_or(1)
    }

    /// Greatest number that divides all values of the unit loops outside position `before`; 0 without such
    /// loops.
    pub(super) fn unit_step(&self, before: usize) -> i64 {
        let outer = self.loops.iter().take(before).filter(|this| this.axis == Axis::Unit);
        outer.fold(0, |divisor, this| greatest_common_divisor(divisor, this.step.unsigned_abs())) as i64
    }
}

impl std::fmt::Display for Arrangement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_product {
            return write!(f, "a product of matrices");
        }
        write!(f, "groups of {} rows, loops", self.rows)?;
        for (number, this) in self.loops.iter().enumerate() {
            let axis = match this.axis {
                Axis::Row => "rows",
                Axis::Unit => "units",
                Axis::Feature => "terms",
                Axis::Tree => "trees",
            };
            let separator = if number == 0 { " " } else { ", " };
            write!(f, "{separator}{axis} 0..{}", this.stop)?;
            if this.step > 1 {
                write!(f, " step {}", this.step)?;
            }
            if this.lanes > 1 {
                write!(f, " in lanes")?;
            }
            if this.parallel {
                write!(f, " parallel")?;
            }
            if this.interleaved {
                write!(f, " interleaved")?;
            }
        }
        Ok(())
    }
}

impl StageLoop {
    /// A plain loop.
    pub fn over(axis: Axis, stop: i64, step: i64) -> StageLoop {
        StageLoop { axis, stop, step, lanes: 1, unroll: false, parallel: false, interleaved: false }
    }

    /// A pair of a row and a unit or tree, with a value of the loop added to the number that the loop counts.
    pub(super) fn moved(&self, (row, unit): (i64, i64), value: i64) -> (i64, i64) {
        match self.axis {
            Axis::Row => (row + value, unit),
            Axis::Unit | Axis::Tree => (row, unit + value),
            Axis::Feature => (row, unit),
        }
    }
}
