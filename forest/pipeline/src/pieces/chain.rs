//! A column over one feature, for fast evaluation at many values.

use super::domain::FeatureDomain;
use sched_columns::{ColumnId, ColumnValue, Columns, Expr};
use std::collections::HashMap;

/// A column and the columns on which it depends, all over one feature.
#[derive(Debug)]
pub(crate) struct FeatureChain {
    /// The columns, each after those that it reads, as expressions over feature 0.
    exprs: Columns,
    values: Vec<ColumnValue>,
    /// The feature.
    pub feature: u32,
    /// All values that the feature can have, except for a missing one.
    pub domain: FeatureDomain,
}

/// The case of a column that does not depend on exactly one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotOneFeature {
    /// The column is the same for every row.
    None,
    /// The column depends on several features.
    Several,
}

/// The feature of a column that depends on exactly one feature.
pub(crate) fn only_feature(columns: &Columns, column: ColumnId) -> Result<u32, NotOneFeature> {
    let mut features = columns.needed_for(&[column]).into_iter().filter_map(|it| match columns.expr(it) {
        Expr::Input { feature, .. } => Some(*feature),
        _ => None,
    });
    let first = features.next().ok_or(NotOneFeature::None)?;
    match features.all(|feature| feature == first) {
        true => Ok(first),
        false => Err(NotOneFeature::Several),
    }
}

impl FeatureChain {
    /// The chain of a column, which must depend on this feature alone.
    pub fn new(columns: &Columns, column: ColumnId, feature: u32, domain: FeatureDomain) -> FeatureChain {
        let mut exprs = Columns::default();
        let mut numbers = HashMap::new();
        for old in columns.needed_for(&[column]) {
            let expr = match columns.expr(old).clone() {
                Expr::Input { float, .. } => Expr::Input { feature: 0, float },
                other => other.with_operands(|operand| numbers[&operand]),
            };
            numbers.insert(old, exprs.insert(expr, columns.column_type(old)));
        }
        FeatureChain { values: Vec::with_capacity(exprs.len()), exprs, feature, domain }
    }

    /// The number of columns. The last one is the column of the chain.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// The expression of a column of the chain.
    pub fn expr(&self, column: usize) -> &Expr {
        self.exprs.expr(ColumnId::at(column))
    }

    /// The value of a column of the chain for a value of the feature, by its index in the domain.
    pub fn value_at(&mut self, column: usize, index: i64) -> ColumnValue {
        self.value_of(column, self.domain.value(index))
    }

    /// The value of a column of the chain for a value of the feature.
    pub fn value_of(&mut self, column: usize, value: f64) -> ColumnValue {
        self.values.clear();
        for number in 0..=column {
            let expr = self.exprs.expr(ColumnId::at(number));
            let value = Columns::value(expr, &[value], |operand| self.values[operand.index()]);
            self.values.push(value);
        }
        self.values[column]
    }
}
