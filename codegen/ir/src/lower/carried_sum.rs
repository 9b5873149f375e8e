//! Sums that a leaf loop carries in a register: loaded before it, stored after it.

use super::kernel_builder::KernelBuilder;
use super::sum_target::SumTarget;
use super::walk::WalkContext;
use crate::lir::{Address, Ty, Value};
use crate::plan::SumAccess;
use crate::rows::lanes_below;

impl WalkContext<'_> {
    /// Loads the sum that the loop carries in a register: a row's sum, or all margins in the first
    /// lanes of a vector. Atomic targets start from 0.0 and get one addition at the end.
    pub(super) fn open_sum(&self, k: &mut KernelBuilder) -> Option<Value> {
        let sums = self.sums.filter(|_| self.plan.sums == SumAccess::Register)?;
        let lanes = sums.margins.max(1).unsigned_abs().next_power_of_two() as u16;
        let ty = Ty::vector(sums.element, lanes);
        if sums.atomic {
            return Some(k.b.float(ty, 0.0));
        }
        let at = self.sum_of_row(k, &sums);
        let from = Address::element(sums.buffer, at, sums.element);
        let beyond = sums.margins < i64::from(lanes);
        let mask = beyond.then(|| margins_in(k, lanes, sums.margins));
        Some(match mask {
            Some(mask) => k.b.load_masked(ty, from, mask),
            None => k.b.load(ty, from),
        })
    }

    /// Stores the sum that the loop carried, or adds it to an atomic target.
    pub(super) fn close_sum(&self, k: &mut KernelBuilder, sum: Option<Value>) {
        let (Some(sums), Some(sum)) = (self.sums, sum) else { return };
        let index = self.sum_of_row(k, &sums);
        let lanes = k.b.ty(sum).lanes;
        let at = Address::element(sums.buffer, index, sums.element);
        if sums.atomic {
            for margin in 0..sums.margins {
                let sum = if lanes == 1 { sum } else { k.b.extract(sum, margin as u16) };
                let at = k.b.address_after(at, margin);
                k.b.atomic_add(at, sum);
            }
        } else if sums.margins < i64::from(lanes) {
            let mask = margins_in(k, lanes, sums.margins);
            k.b.store_masked(at, sum, mask);
        } else {
            k.b.store(at, sum);
        }
    }

    fn sum_of_row(&self, k: &mut KernelBuilder, sums: &SumTarget) -> Value {
        let row = k.affine(&self.walks.row);
        let kept_row = k.kept_row(self.walks.target.accumulator);
        sums.first_margin(&mut k.b, row, kept_row)
    }
}

/// Mask of the lanes that hold margins.
fn margins_in(k: &mut KernelBuilder, lanes: u16, margins: i64) -> Value {
    let margins = k.b.int(margins);
    lanes_below(&mut k.b, margins, lanes)
}
