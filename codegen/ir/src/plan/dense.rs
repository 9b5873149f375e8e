//! Columns of rows whose values trees of one leaf add.

use super::CopyPlan;
use crate::hir::Hir;
use crate::rows::features::FeatureSubset;
use std::ops::Range;

/// Most ranges of columns that have code of their own. Columns in more ranges are read from a table.
const MOST_RANGES: usize = 8;

/// Columns whose values all trees add, in order, in rows of a copy or of the call. The columns of transposed
/// copies are those of `subset`. `None` if trees add different columns, or columns of many ranges.
pub fn columns(hir: &Hir, copy: CopyPlan, subset: Option<&FeatureSubset>) -> Option<Vec<Range<u32>>> {
    let subset = subset.filter(|_| copy.blocks.is_some());
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for feature in hir.shared_terms()? {
        let column = subset.map_or(feature, |subset| subset.column(feature));
        match ranges.last_mut() {
            Some(range) if range.end == column => range.end += 1,
            _ => ranges.push(column..column + 1),
        }
    }
    (ranges.len() <= MOST_RANGES).then_some(ranges)
}
