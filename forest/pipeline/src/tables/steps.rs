//! Columns that are constant on pieces of one feature's values.

use crate::pieces::chain::{FeatureChain, only_feature};
use crate::pieces::domain::FeatureDomain;
use crate::pieces::{Course, pieces};
use sched_columns::{Binary, ColumnId, ColumnType, Columns, Expr, Unary};
use std::collections::HashMap;
use std::rc::Rc;

/// A column that is a step function of one feature: constant on each piece of the feature's values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StepColumn {
    /// The feature.
    pub feature: u32,
    /// All values that the feature can have, except for a missing one.
    pub domain: FeatureDomain,
    /// The last index of each piece, ascending, and the column's value on it.
    pub pieces: Vec<(i64, f64)>,
    /// The column's value for a missing value.
    pub missing: f64,
}

/// Maximum number of evaluations of expressions in a search, about half a second. A feature of 4,000 names
/// with a one-hot column for each takes 64 million.
const MOST_EVALUATIONS: u64 = 1 << 26;

/// Domains with at most this many values are evaluated value by value.
const FEW_VALUES: u64 = 1 << 16;

/// Estimated evaluations of a chain over a larger domain, for the bisections that find a few pieces.
const BISECTION_EVALUATIONS: u64 = 1 << 9;

/// A search for columns that are constant on pieces. It remembers its results.
pub(super) struct StepSearch<'a> {
    /// The columns.
    pub columns: &'a Columns,
    domains: &'a [FeatureDomain],
    is_stepped: Vec<bool>,
    found: HashMap<ColumnId, Option<Rc<StepColumn>>>,
    evaluations: u64,
}

impl<'a> StepSearch<'a> {
    /// A search for columns that are constant on pieces of a feature's values. `domains` has each feature's
    /// domain.
    pub fn new(columns: &'a Columns, domains: &'a [FeatureDomain]) -> StepSearch<'a> {
        let is_stepped = may_be_stepped(columns, domains);
        StepSearch { columns, domains, is_stepped, found: HashMap::new(), evaluations: 0 }
    }

    /// The pieces of a column. `None` if some piece is not constant, or if the column depends on several
    /// features.
    pub fn of(&mut self, column: ColumnId) -> Option<Rc<StepColumn>> {
        if !self.is_stepped.get(column.index()).copied().unwrap_or(false) {
            return None;
        }
        if let Some(found) = self.found.get(&column) {
            return found.clone();
        }
        let found = self.search(column).map(Rc::new);
        self.found.insert(column, found.clone());
        found
    }

    fn search(&mut self, column: ColumnId) -> Option<StepColumn> {
        let feature = only_feature(self.columns, column).ok()?;
        let domain = *self.domains.get(feature as usize)?;
        let mut chain = FeatureChain::new(self.columns, column, feature, domain);
        let (low, high) = domain.bounds();
        let is_small = high.abs_diff(low) < FEW_VALUES;
        let values = if is_small { high.abs_diff(low) + 1 } else { BISECTION_EVALUATIONS };
        self.evaluations = self.evaluations.saturating_add(values.saturating_mul(chain.len() as u64));
        if self.evaluations > MOST_EVALUATIONS {
            return None;
        }
        let own = chain.len() - 1;
        let pieces = match is_small {
            true => (low..=high).map(|index| (index, chain.value_at(own, index).to_f64())).collect(),
            false => constant_pieces(&mut chain)?,
        };
        let missing = chain.value_of(own, f64::NAN).to_f64();
        Some(StepColumn { feature, domain, pieces, missing })
    }
}

/// The pieces of a chain's column, if it is constant on each.
fn constant_pieces(chain: &mut FeatureChain) -> Option<Vec<(i64, f64)>> {
    let constant = |course| match course {
        Course::Constant(value) => Some(value.to_f64()),
        Course::Rising | Course::Falling => None,
    };
    let found = pieces(chain).ok()?;
    found.into_iter().map(|piece| Some((piece.last, constant(piece.course)?))).collect()
}

/// For each column, whether it can have only few values: it depends on features with many values only through
/// comparisons, tables and similar operations.
fn may_be_stepped(columns: &Columns, domains: &[FeatureDomain]) -> Vec<bool> {
    let mut is_stepped = Vec::with_capacity(columns.len());
    for column in columns.all() {
        let expr = columns.expr(column);
        let of = |operand: ColumnId| is_stepped.get(operand.index()).copied().unwrap_or(false);
        let stepped = match expr {
            Expr::Input { feature, .. } => {
                matches!(domains.get(*feature as usize), Some(FeatureDomain::Codes { .. }))
            }
            Expr::Const(_) | Expr::Step { .. } | Expr::Table { .. } | Expr::Pick { .. } => true,
            Expr::Unary(Unary::IsNan | Unary::Not | Unary::Cast(ColumnType::Bool), _) => true,
            Expr::Binary(op, ..) if is_test(*op) => true,
            Expr::Select { then, otherwise, .. } => of(*then) && of(*otherwise),
            Expr::Dot { .. } | Expr::SquaredDistance { .. } | Expr::Trees { .. } => false,
            Expr::Unary(..) | Expr::Binary(..) | Expr::Bit { .. } => expr.operands().all(of),
        };
        is_stepped.push(stepped);
    }
    is_stepped
}

/// Whether the results of an operation are truth values.
fn is_test(op: Binary) -> bool {
    matches!(op, Binary::Less | Binary::LessOrEqual | Binary::Equal | Binary::And | Binary::Or)
}
