//! Columns whose rounding errors can change a result by more than rounding.
//!
//! Most operations keep a small difference of their operand small. A comparison does not: a value on the
//! other side of a threshold leads a row to another leaf. Large factors do not, either. Sums may add their
//! terms in any order if all steps from them to results, directly or through other columns, enlarge
//! differences by a bounded factor, and if the product of the factors is not large. The condition of an
//! activation such as ReLU does not count: both of its sides have the same value at the threshold.
//!
//! Each result, and each column that scores add, then changes by at most a millionth of the sum of the
//! magnitudes of all terms, or by a hundred-thousandth where a step is in single precision. Each sum counts
//! with at least 1 there, since numbers that a step adds have a size of their own. Scores change by their
//! weights times that.
//!
//! [`gains`] says how much a difference of each column changes results, and [`ColumnSizes`] how large the
//! numbers are that rounding changes.

use super::gains::{DifferenceGain, gains, of_results};
use super::margins::{LinearTerms, margin_gains};
use super::sizes::ColumnSizes;
use sched_columns::{ColumnId, Columns};
use sched_pipeline::PreparedForest;
use std::collections::{HashMap, HashSet};

/// The columns that a step compares, or whose differences a step can enlarge, directly or through other
/// columns, before the expressions of `results`.
pub(super) fn compared_by_results(columns: &Columns, results: &[ColumnId]) -> HashSet<ColumnId> {
    let needed = columns.needed_for(results);
    let sizes = ColumnSizes::of_sums(columns, (&needed, results));
    let results = of_results(columns, results.iter().map(|result| (*result, DifferenceGain::of(1.0))));
    large(&gains((columns, &needed), &sizes, results))
}

/// As [`compared_by_results`], for the nodes, leaves and outputs of a prepared forest. `tested` are the
/// columns of its features.
pub(super) fn compared_by_forest(prepared: &PreparedForest, tested: &[ColumnId]) -> HashSet<ColumnId> {
    let forest = &*prepared.forest;
    let (columns, needed) = (&prepared.columns, prepared.columns.needed_for(tested));
    let sizes = ColumnSizes::of_sums(columns, (&needed, tested));
    let terms = LinearTerms { forest, tested, sizes: &sizes };
    let mut results = terms.gains(&margin_gains(&terms));
    for inner in forest.trees.iter().flat_map(|tree| &tree.inner) {
        if let Some(column) = tested.get(inner.feature as usize) {
            results.insert(*column, DifferenceGain::of(f64::INFINITY));
        }
    }
    large(&gains((columns, &needed), &sizes, results))
}

fn large(gains: &HashMap<ColumnId, DifferenceGain>) -> HashSet<ColumnId> {
    gains.iter().filter(|(_, gain)| !gain.is_small()).map(|(column, _)| *column).collect()
}

#[cfg(test)]
mod forest_tests;
#[cfg(test)]
mod rounding_tests;
#[cfg(test)]
mod tests;
