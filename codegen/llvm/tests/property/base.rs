//! Base margins of calls, which a quarter of the cases pass.

use super::case::{Case, bytes, doubles, same_bits};
use sched_forest::{Forest, WalkError};
use sched_ir::Compiled;
use sched_ir::lir::KernelKind;
use sched_llvm::runtime::OutputKind;
use std::borrow::Cow;

/// Number of different base margins.
const BASES: usize = 3;

impl Case {
    /// Whether calls pass base margins. The runtime accepts only base margins of the type of results.
    pub fn base_is_given(&self) -> bool {
        self.seed % 4 == 1 && self.forest.types.accumulator == self.forest.types.output
    }

    /// The base margin of a row.
    pub fn base_of(&self, row: usize) -> Cow<'_, [f64]> {
        if !self.base_is_given() {
            return Cow::Borrowed(&self.forest.base);
        }
        let value = |margin: usize| match (row % BASES, margin) {
            (0, _) => -0.0,
            (number, margin) => number as f64 * 0.75 - margin as f64 * 2.5,
        };
        (0..self.forest.num_margins).map(value).collect()
    }

    /// The base margins of all rows; none if calls pass none.
    pub fn base_margins(&self) -> Option<Vec<f64>> {
        let all = || (0..self.num_rows()).flat_map(|row| self.base_of(row).into_owned()).collect();
        self.base_is_given().then(all)
    }

    /// Results of the walker, which starts each row's sums with its base margin: `per_row` numbers for each
    /// row.
    pub fn walked<T: Copy + Default>(
        &self,
        per_row: usize,
        predict: impl Fn(&Forest, &[f64], &mut [T]) -> Result<(), WalkError>,
    ) -> Result<Vec<T>, String> {
        let given: Vec<f64> = self.given().collect();
        let mut all = vec![T::default(); self.num_rows() * per_row];
        let bases = if self.base_is_given() { BASES } else { 1 };
        for number in 0..bases {
            let mut forest = self.forest.clone();
            forest.base = self.base_of(number).into_owned();
            let mut found = vec![T::default(); all.len()];
            predict(&forest, &given, &mut found).map_err(|error| error.to_string())?;
            let rows = all.chunks_mut(per_row.max(1)).zip(found.chunks(per_row.max(1)));
            rows.skip(number).step_by(bases).for_each(|(to, from)| to.copy_from_slice(from));
        }
        Ok(all)
    }

    /// The content of a kernel's output before it runs, and whether the kernel adds to it.
    pub fn output_before(&self, kernel: KernelKind, size: usize) -> (Vec<u8>, bool) {
        let sums = matches!(kernel, KernelKind::Output(OutputKind::Raw) | KernelKind::RawOfBins);
        match self.base_margins().filter(|_| sums) {
            Some(base) => (bytes(base.into_iter(), self.forest.types.accumulator), true),
            None => (vec![0; size], false),
        }
    }

    /// Compares the margins that the kernel for the model's own base values writes.
    pub fn interpret_base(&self, compiled: &Compiled) -> Result<(), String> {
        if !self.base_is_given() {
            return Ok(());
        }
        let accumulator = self.forest.types.accumulator;
        let wanted: Vec<f64> = (0..self.num_rows()).flat_map(|_| self.forest.base.clone()).collect();
        let size = wanted.len() * accumulator.bytes();
        let found = self.run_kernel(compiled, KernelKind::Base, &[], size)?;
        same_bits("base value", &doubles(&found, accumulator), &wanted)
    }
}
