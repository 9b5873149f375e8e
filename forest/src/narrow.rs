//! Thresholds in the type of rows.
//!
//! A threshold in double precision may lie between two neighbouring singles. For rows of singles it can be
//! rounded, down for `x <= t` and up for `x < t`. Every row still goes the same way. So later stages never
//! see a threshold that is wider than the values that are compared with it.

use crate::forest::{Comparison, Float, Forest, Predicate};

impl Forest {
    /// Whether thresholds are wider than the rows that they are compared with.
    pub fn has_wide_thresholds(&self) -> bool {
        (self.types.input, self.types.threshold) == (Float::F32, Float::F64)
    }

    /// The forest for rows of this type. If rows are singles, features are compared in single precision, so
    /// that thresholds can be narrowed. If rows are doubles, the forest stays as it is: a model in single
    /// precision rounds the values, as its trainer does. A forest with computed columns always stays as it
    /// is.
    pub fn for_rows(mut self, rows: Float) -> Forest {
        if rows == Float::F32 && self.computed.read_by_trees.is_empty() {
            self.types.input = Float::F32;
        }
        self
    }

    /// An equal forest with thresholds that are no wider than rows: every row reaches the same leaves.
    pub fn with_narrow_thresholds(mut self) -> Forest {
        if !self.has_wide_thresholds() {
            return self;
        }
        let comparison = self.comparison;
        for inner in self.trees.iter_mut().flat_map(|tree| &mut tree.inner) {
            match &mut inner.predicate {
                Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold } => {
                    *threshold = f64::from(narrowed(*threshold, comparison));
                }
                // These tests have no thresholds; later stages replace them by columns.
                Predicate::Equal { .. } | Predicate::Member { .. } => {}
            }
        }
        self.types.threshold = Float::F32;
        self
    }
}

/// The single that gives the same result as `threshold` in comparisons with singles.
fn narrowed(threshold: f64, comparison: Comparison) -> f32 {
    let near = threshold as f32;
    match comparison {
        Comparison::Less if f64::from(near) < threshold => near.next_up(),
        Comparison::LessOrEqual if f64::from(near) > threshold => near.next_down(),
        _ => near,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowed_thresholds_compare_alike() {
        let near = |x: f32| [x.next_down(), x, x.next_up()];
        let tenth = f64::from(0.1f32);
        let thresholds = [
            0.1,
            -0.1,
            1e300,
            -1e300,
            1e-300,
            -1e-300,
            1e-40,
            -1e-40,
            0.0,
            -0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            tenth,
            tenth.next_up(),
            tenth.next_down(),
            f64::from(f32::MAX),
            f64::from(f32::MAX).next_up(),
        ];
        for threshold in thresholds {
            let extremes =
                [f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 0.0, -0.0, f32::from_bits(1)];
            for x in near(threshold as f32).into_iter().chain(extremes) {
                let wide = f64::from(x);
                let less = narrowed(threshold, Comparison::Less);
                assert_eq!(wide < threshold, x < less, "{x} < {threshold}");
                let or_equal = narrowed(threshold, Comparison::LessOrEqual);
                assert_eq!(wide <= threshold, x <= or_equal, "{x} <= {threshold}");
            }
        }
    }
}
