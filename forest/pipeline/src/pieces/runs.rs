//! Runs: parts of an interval on which a column keeps a property, such as its sign.

use super::chain::FeatureChain;
use sched_columns::ColumnValue;
use sched_forest::CategoryRule;
use std::cmp::Ordering;

/// Consecutive indices that share a property.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IndexRun {
    /// First index of the run, in the feature's domain.
    pub first: i64,
    /// Last index of the run, inclusive.
    pub last: i64,
}

/// Maximum number of runs of an interval, more than any known table of categories has.
const MOST_RUNS: usize = 1 << 17;

/// The last index from `first` to `last` with a property. `first` must have it, and once it ends it must not
/// return.
pub(crate) fn last_with(first: i64, last: i64, mut has: impl FnMut(i64) -> bool) -> i64 {
    if has(last) {
        return last;
    }
    // The property holds at `inside`, and not at `outside`.
    let (mut inside, mut outside) = (first, last);
    while outside.abs_diff(inside) > 1 {
        let middle = inside.midpoint(outside);
        if has(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

/// Divides an interval into runs by a property of a column. Indices with the same property must be
/// consecutive, as they are if the column rises or falls. `None` if there are too many runs.
pub(crate) fn in_runs<K: PartialEq>(
    chain: &mut FeatureChain,
    column: usize,
    (first, last): (i64, i64),
    property: impl Fn(ColumnValue) -> K,
) -> Option<Vec<IndexRun>> {
    let mut runs = Vec::new();
    let mut next = first;
    while next <= last {
        let key = property(chain.value_at(column, next));
        let end = last_with(next, last, |index| property(chain.value_at(column, index)) == key);
        runs.push(IndexRun { first: next, last: end });
        if runs.len() > MOST_RUNS {
            return None;
        }
        next = end + 1;
    }
    Some(runs)
}

/// The sign of a number, as its order relative to 0.
pub(crate) fn sign(value: ColumnValue) -> Ordering {
    value.to_f64().partial_cmp(&0.0).unwrap_or(Ordering::Equal)
}

/// A key of a value: its category, if that is below `count`, and otherwise a position between categories.
/// Values with the same key are consecutive.
pub(crate) fn category(rule: CategoryRule, count: usize, value: f64) -> (Option<u32>, i64) {
    let category = rule.category(value).filter(|category| (*category as usize) < count);
    let between = match category {
        Some(_) => 0,
        None if value < 0.0 => -1,
        None => value.floor().min(count as f64) as i64,
    };
    (category, between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::domain::FeatureDomain;
    use sched_columns::Columns;
    use sched_forest::Float;

    #[test]
    fn runs_have_exact_ends() {
        let mut columns = Columns::default();
        let x = columns.input(0, Float::F64);
        let mut chain = FeatureChain::new(&columns, x, 0, FeatureDomain::Float(Float::F64));
        let (low, high) = chain.domain.bounds();
        let runs = in_runs(&mut chain, 0, (low, high), sign).expect("three runs");
        let ends: Vec<[f64; 2]> =
            runs.iter().map(|run| [run.first, run.last].map(|index| chain.domain.value(index))).collect();
        let least = f64::from_bits(1);
        assert_eq!(ends, [[f64::NEG_INFINITY, -least], [-0.0, 0.0], [least, f64::INFINITY]]);
    }

    #[test]
    fn categories_are_consecutive() {
        for rule in [CategoryRule::Whole, CategoryRule::Truncated, CategoryRule::Positive { below: 2.0 }] {
            let values = [-7.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 9.0, 1e300];
            let mut keys: Vec<_> = values.map(|value| category(rule, 3, value)).to_vec();
            keys.dedup();
            let mut distinct = keys.clone();
            distinct.sort();
            distinct.dedup();
            assert_eq!(keys.len(), distinct.len(), "{rule:?} {keys:?}");
        }
    }
}
