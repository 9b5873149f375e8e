//! Columns that forests of single linear leaves add, as trees whose leaf is a weighted sum of columns.

use super::CopyPlan;
use crate::hir::Hir;
use crate::rows::features::FeatureSubset;
use std::ops::Range;

/// Largest number of ranges of columns for which code is written out. For more ranges, the code reads the
/// column numbers from a table.
const MOST_RANGES: usize = 8;

/// Ranges of the columns whose values each tree adds, in order: columns of the copy of rows that walks read,
/// or of the call's rows. Copies that do not hold all features have the columns of `subset`. `None` if trees
/// add different columns, or if the columns have more than `MOST_RANGES` ranges.
pub fn shared_column_ranges(
    hir: &Hir,
    copy: CopyPlan,
    subset: Option<&FeatureSubset>,
) -> Option<Vec<Range<u32>>> {
    let subset = subset.filter(|_| copy.holds_subset());
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for feature in hir.shared_term_features()? {
        let column = subset.map_or(feature, |subset| subset.column(feature));
        match ranges.last_mut() {
            Some(range) if range.end == column => range.end += 1,
            _ => ranges.push(column..column + 1),
        }
    }
    (ranges.len() <= MOST_RANGES).then_some(ranges)
}
