//! Groups: adjacent products of a sum that one table replaces.

use super::entries::{Entries, LOOK_UP};
use super::steps::Steps;
use crate::pieces::domain::FeatureDomain;
use sched_columns::{ColumnId, Columns, Expr};
use sched_forest::Float;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A term of a sum: its feature and weight, and the column that the feature is.
type ColumnTerm = (u32, f64, ColumnId);

/// Operations of a product in the only sum: it loads a value and a weight, multiplies and adds.
const PRODUCT: usize = 3;

/// Operations of a product in each of several sums, which share the loaded value.
const SHARED_PRODUCT: usize = 2;

/// Operations of an entry in a sum: it loads a value and adds. Entries of several sums are columns of their
/// own, each of which takes one more for each sum. With 8 classes and 10 bins, tables took as long as
/// products for many rows of a call, and 1.4 times as long for one, on Zen 5.
const ENTRY: usize = 2;

/// Terms of a sum.
pub(super) enum TermGroup {
    /// The product of a feature with a weight.
    Product(u32, f64),
    /// The product of a feature that is the same in every row with a weight, and its value.
    Constant(u32, f64, f64),
    /// Products of columns that encode one feature.
    Steps(FeatureTerms),
}

impl TermGroup {
    /// The products of columns that encode one feature; None for another term.
    pub fn steps(&self) -> Option<&FeatureTerms> {
        match self {
            TermGroup::Steps(group) => Some(group),
            TermGroup::Product(..) | TermGroup::Constant(..) => None,
        }
    }

    /// The value of a constant product; None for another term.
    pub fn constant(&self) -> Option<f64> {
        match self {
            TermGroup::Constant(_, _, value) => Some(*value),
            TermGroup::Product(..) | TermGroup::Steps(_) => None,
        }
    }
}

/// Adjacent products over one feature. For each value of the feature at most one is not 0.
pub(super) struct FeatureTerms {
    /// The terms, in order.
    pub terms: Vec<ColumnTerm>,
    /// The feature.
    pub feature: u32,
    domain: FeatureDomain,
    accumulator: Float,
    steps: Vec<Rc<Steps>>,
    /// Indices at which a product is not 0: the last one of each interval, by the first one.
    occupied: BTreeMap<i64, i64>,
    /// Whether a product is not 0 for a missing value.
    is_missing_occupied: bool,
}

impl FeatureTerms {
    /// A group of one term.
    pub fn new(term: ColumnTerm, steps: &Rc<Steps>, accumulator: Float) -> Option<FeatureTerms> {
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

    /// Adds a term, if it is of the same feature, and 0 where another term is not.
    pub fn add(&mut self, term: ColumnTerm, steps: &Rc<Steps>) -> bool {
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

    /// Whether a table takes fewer operations than products, in each of `sums` sums that read the columns.
    pub fn is_worth(&self, entries: &Entries, columns: &Columns, sums: usize) -> bool {
        let operations = operations(columns, &self.columns().collect::<Vec<_>>(), LOOK_UP);
        let (product, entry) = if sums > 1 { (SHARED_PRODUCT, ENTRY + sums) } else { (PRODUCT, ENTRY) };
        entries.work() + entry < operations.div_ceil(sums.max(1)) + self.terms.len() * product
    }

    /// The sum of the group's products on each piece of the feature. None if it tells -0 from 0.
    pub fn entries(&self, rows: Float) -> Option<Entries> {
        let mut ends: Vec<i64> = self.steps.iter().flat_map(|of| &of.pieces).map(|(last, _)| *last).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut values: Vec<Option<f64>> = vec![None; ends.len()];
        // Changes in the number of products that are 0, not -0, from a piece to the next one.
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

/// A weight times a value, in the type of sums.
pub(super) fn product(weight: f64, value: f64, accumulator: Float) -> f64 {
    match accumulator {
        Float::F32 => f64::from((weight * value) as f32),
        Float::F64 => weight * value,
    }
}

/// Number of operations of the columns that some columns are computed from, a look-up counting `look_up`.
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
