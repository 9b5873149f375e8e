//! Rows that a part of the nest touches, and the size of buffers for them.

use super::{Affine, LeafUse, VarInfo, Window};
use crate::budget::Budget;
use crate::codes;
use crate::error::CompileError;

/// The least and the largest value of `sum - base`, where `base` is a part of the sum.
pub fn difference_range(sum: &Affine, base: &Affine, vars: &[VarInfo]) -> (i64, Option<i64>) {
    let plus = sum.plus - base.plus;
    let inner = sum.vars.iter().filter(|var| !base.vars.contains(var)).map(|var| &vars[var.0 as usize]);
    inner.fold((plus, Some(plus)), |(low, high), info| {
        let most = info.most.map(|most| most.max(info.least));
        (low.saturating_add(info.least), high.zip(most).map(|(a, b)| a.saturating_add(b)))
    })
}

/// Rows that leaf loops touch, relative to `base`, the sum of the enclosing row loops.
pub fn window_of(uses: &[LeafUse], base: &Affine, vars: &[VarInfo]) -> Window {
    let mut hull: Option<(i64, Option<i64>)> = None;
    for leaf in uses {
        let (low, high) = difference_range(&leaf.row, &leaf.in_case(base), vars);
        let high = high.map(|high| high.saturating_add(1));
        hull = Some(match hull {
            None => (low, high),
            Some((least, most)) => (least.min(low), most.zip(high).map(|(a, b)| a.max(b))),
        });
    }
    let (low, high) = hull.unwrap_or((0, Some(0)));
    Window { base: base.clone(), low, high }
}

impl Window {
    /// All rows of the call.
    pub fn all_rows() -> Window {
        Window { base: Affine::default(), low: 0, high: None }
    }

    /// Largest number of rows; `None` if only the number of rows of the call bounds it.
    pub fn rows(&self) -> Option<i64> {
        self.high.map(|high| high - self.low)
    }

    /// Whether the window has all rows of the call.
    pub fn is_whole(&self) -> bool {
        self.base.vars.is_empty() && self.base.plus + self.low == 0 && self.high.is_none()
    }
}

/// Sum of a nest's scratch memory, which limits the rows of a run.
#[derive(Clone, Debug)]
pub struct ScratchBytes {
    budget: u64,
    per_row: u64,
}

impl ScratchBytes {
    /// No scratch memory yet.
    pub fn new(budget: &Budget) -> ScratchBytes {
        ScratchBytes { budget: budget.scratch, per_row: 0 }
    }

    /// Adds a buffer of `per_row` bytes for each row of the window. If the buffer exceeds the budget, runs of
    /// the nest take fewer rows. Fails if buffers of a single row exceed it.
    pub fn add(&mut self, window: &Window, per_row: u64) -> Result<(), CompileError> {
        let rows = window.high.map_or(u64::MAX, |high| u64::try_from(high - window.low).unwrap_or(0));
        if rows.saturating_mul(per_row) > self.budget {
            self.per_row = self.per_row.saturating_add(per_row);
        }
        if self.per_row > self.budget {
            return Err(CompileError::new(
                codes::PRIVATE_BUDGET,
                format!("the schedule needs {} MiB of partial results for a single row", self.per_row >> 20),
                "use larger tiles of trees in the parallel loop, or atomicReduce, so that there are \
                 fewer partial sums",
            ));
        }
        Ok(())
    }

    /// Largest number of rows of a run within the budget, if the buffers depend on it.
    pub fn rows_per_run(&self) -> Option<i64> {
        let rows = self.budget.checked_div(self.per_row)?;
        Some(i64::try_from(rows).unwrap_or(i64::MAX))
    }
}
