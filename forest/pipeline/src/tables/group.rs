//! Groups: adjacent products of a sum that one table can replace.

use super::entries::{Entries, LOOK_UP_WORK};
use super::steps::StepColumn;
use crate::pieces::domain::FeatureDomain;
use sched_columns::{ColumnId, Columns, Expr};
use sched_forest::Float;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A term of a sum: the feature of the forest, its weight, and the column of the feature.
type ColumnTerm = (u32, f64, ColumnId);

/// Work of a product if there is one sum: it loads a value and a weight, multiplies and adds.
const PRODUCT_WORK: usize = 3;

/// Work of a product in each of several sums, which share the loaded value.
const SHARED_PRODUCT_WORK: usize = 2;

/// Work of an entry in a sum: it loads a value and adds. With several sums, each has its own columns of
/// entries, and each column costs one operation more for each sum. With 8 classes and 10 bins on Zen 5,
/// tables took as long as products in calls of many rows, and 1.4 times as long in calls of one row.
const ENTRY_WORK: usize = 2;

/// A group of terms of a sum.
pub(super) enum TermGroup {
    /// A single product of a feature and a weight.
    Product(u32, f64),
    /// A product of a constant feature and a weight, with the value of the product.
    Constant(u32, f64, f64),
    /// Products of columns that encode one feature.
    Steps(FeatureTerms),
}

impl TermGroup {
    /// The products of columns that encode one feature; `None` for other groups.
    pub fn steps(&self) -> Option<&FeatureTerms> {
        match self {
            TermGroup::Steps(group) => Some(group),
            TermGroup::Product(..) | TermGroup::Constant(..) => None,
        }
    }

    /// The value of a constant product; `None` for other groups.
    pub fn constant(&self) -> Option<f64> {
        match self {
            TermGroup::Constant(_, _, value) => Some(*value),
            TermGroup::Product(..) | TermGroup::Steps(_) => None,
        }
    }
}

/// Adjacent products of columns over one input. For each value of the input, at most one product is not 0.
pub(super) struct FeatureTerms {
    /// The terms, in order.
    pub terms: Vec<ColumnTerm>,
    /// The input on which all columns depend.
    pub feature: u32,
    domain: FeatureDomain,
    accumulator: Float,
    steps: Vec<Rc<StepColumn>>,
    /// Intervals of indices on which a product is not 0: the last index by the first index.
    occupied: BTreeMap<i64, i64>,
    /// Whether a product is not 0 for a missing value.
    is_missing_occupied: bool,
}

impl FeatureTerms {
    /// A group of one term.
    pub fn new(term: ColumnTerm, steps: &Rc<StepColumn>, accumulator: Float) -> Option<FeatureTerms> {
        let mut group = FeatureTerms {
            terms: Vec::new(),
            feature: steps.feature,
            domain: steps.domain,
            accumulator,
            steps: Vec::new(),
            occupied: BTreeMap::new(),
            is_missing_occupied: false,
        };
        group.add(term, steps).then_some(group)
    }

    /// Adds a term and returns true, if it is over the same input and at most one product stays different
    /// from 0.
    pub fn add(&mut self, term: ColumnTerm, steps: &Rc<StepColumn>) -> bool {
        if steps.feature != self.feature {
            return false;
        }
        let (low, _) = self.domain.bounds();
        let mut first = low;
        let mut added: Vec<(i64, i64)> = Vec::new();
        for &(last, value) in &steps.pieces {
            if self.product(term.1, value) != 0.0 {
                let before = self.occupied.range(..=last).next_back();
                if before.is_some_and(|(_, end)| *end >= first) {
                    return false;
                }
                added.push((first, last));
            }
            first = last + 1;
        }
        let is_missing = self.product(term.1, steps.missing) != 0.0;
        if is_missing && self.is_missing_occupied {
            return false;
        }
        self.is_missing_occupied |= is_missing;
        self.occupied.extend(added);
        self.terms.push(term);
        self.steps.push(Rc::clone(steps));
        true
    }

    /// The values of the feature.
    pub fn domain(&self) -> FeatureDomain {
        self.domain
    }

    /// The columns of the terms.
    pub fn columns(&self) -> impl Iterator<Item = ColumnId> + '_ {
        self.terms.iter().map(|(_, _, column)| *column)
    }

    fn product(&self, weight: f64, value: f64) -> f64 {
        product(weight, value, self.accumulator)
    }

    /// Whether a table takes less work than the products, if `sums` sums read the columns.
    pub fn is_worth(&self, entries: &Entries, columns: &Columns, sums: usize) -> bool {
        let operations = operations(columns, &self.columns().collect::<Vec<_>>(), LOOK_UP_WORK);
        let (product, entry) =
            if sums > 1 { (SHARED_PRODUCT_WORK, ENTRY_WORK + sums) } else { (PRODUCT_WORK, ENTRY_WORK) };
        entries.work() + entry < operations.div_ceil(sums.max(1)) + self.terms.len() * product
    }

    /// The sum of the group's products for each piece of the input's values. `None` if -0 and 0 have
    /// different sums.
    pub fn entries(&self, rows: Float) -> Option<Entries> {
        let mut ends: Vec<i64> = self.steps.iter().flat_map(|of| &of.pieces).map(|(last, _)| *last).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut values: Vec<Option<f64>> = vec![None; ends.len()];
        // For each piece, the change in the number of products that are 0, not -0.
        let mut zeros = vec![0_isize; ends.len() + 1];
        let mut missing = -0.0;
        for (steps, (_, weight, _)) in self.steps.iter().zip(&self.terms) {
            let mut next = 0;
            for &(last, value) in &steps.pieces {
                let (first, product) = (next, self.product(*weight, value));
                next = ends.partition_point(|end| *end <= last);
                if product != 0.0 {
                    values[first..next].fill(Some(product));
                } else if product.is_sign_positive() {
                    zeros[first] += 1;
                    zeros[next] -= 1;
                }
            }
            missing += self.product(*weight, steps.missing);
        }
        let mut positive = 0;
        let sum = |(value, change): (Option<f64>, isize)| {
            positive += change;
            value.unwrap_or(if positive > 0 { 0.0 } else { -0.0 })
        };
        let sums = values.into_iter().zip(zeros).map(sum);
        Entries::new((self.feature, self.domain), rows, ends.iter().copied().zip(sums), missing)
    }
}

/// A weight times a value, rounded to the type of sums.
pub(crate) fn product(weight: f64, value: f64, accumulator: Float) -> f64 {
    match accumulator {
        Float::F32 => f64::from((weight * value) as f32),
        Float::F64 => weight * value,
    }
}

/// Work of the columns `of` and of all columns on which they depend, in operations. A look-up counts as
/// `look_up`.
pub(super) fn operations(columns: &Columns, of: &[ColumnId], look_up: usize) -> usize {
    let operations = |column: ColumnId| match columns.expr(column) {
        Expr::Input { .. } | Expr::Const(_) => 0,
        Expr::Table { .. } | Expr::Pick { .. } => look_up,
        Expr::Step { edges, .. } => 2 * edges.at.len(),
        Expr::Trees { trees, .. } => trees.steps(),
        _ => 1,
    };
    columns.needed_for(of).into_iter().map(operations).sum()
}
