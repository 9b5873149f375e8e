//! Forests whose file has both comparisons, `<` and `<=`.

use crate::codes;
use crate::error::ModelError;
use crate::forest::{Comparison, Float};

/// A numeric test with its own comparison, as some formats have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NumericTest {
    /// The comparison; true goes left.
    pub comparison: Comparison,
    /// The threshold.
    pub threshold: f64,
}

impl NumericTest {
    /// An equivalent test with the given comparison. If that differs, the threshold becomes its neighbour in
    /// the type `float`; `None` if an infinite threshold has no such neighbour.
    pub fn with_comparison(self, comparison: Comparison, float: Float) -> Option<NumericTest> {
        use Comparison::{Less, LessOrEqual};
        let NumericTest { comparison: own, threshold } = self;
        let (up, down) = match float {
            Float::F32 => ((threshold as f32).next_up().into(), (threshold as f32).next_down().into()),
            Float::F64 => (threshold.next_up(), threshold.next_down()),
        };
        let threshold = match (own, comparison) {
            (Less, LessOrEqual) if threshold > f64::NEG_INFINITY => down,
            (LessOrEqual, Less) if threshold < f64::INFINITY => up,
            (Less, LessOrEqual) | (LessOrEqual, Less) => return None,
            _ => threshold,
        };
        Some(NumericTest { comparison, threshold })
    }
}

/// Gives all tests of a forest the same comparison. If both occur, `<` becomes `<=` with the lower neighbour
/// of the threshold.
///
/// # Errors
/// `M0015` if a threshold has no neighbour.
pub(crate) fn unify_comparisons<'a>(
    tests: impl Iterator<Item = &'a mut NumericTest> + 'a,
    float: Float,
) -> Result<Comparison, ModelError> {
    let mut tests: Vec<&mut NumericTest> = tests.collect();
    let Some(first) = tests.first().map(|test| test.comparison) else { return Ok(Comparison::LessOrEqual) };
    if tests.iter().all(|test| test.comparison == first) {
        return Ok(first);
    }
    for test in &mut tests {
        **test = test.with_comparison(Comparison::LessOrEqual, float).ok_or_else(|| {
            let message =
                "a node tests whether a value is below minus infinity, while other nodes compare with `<=`";
            ModelError::new(codes::BAD_VALUE, message).help("no value passes such a test: remove the node")
        })?;
    }
    Ok(Comparison::LessOrEqual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Comparison::{Less, LessOrEqual};

    #[test]
    fn tests_are_the_same_by_either_comparison() {
        let passes = |test: NumericTest, x: f64| match test.comparison {
            Less => x < test.threshold,
            LessOrEqual => x <= test.threshold,
        };
        let values = [0.0f32, -0.0, 1.0, -1.0, f32::MAX, f32::MIN, f32::from_bits(1), f32::INFINITY, 0.1];
        for threshold in values {
            let near = [threshold.next_down(), threshold, threshold.next_up(), 0.0, f32::INFINITY];
            for (own, other) in [(Less, LessOrEqual), (LessOrEqual, Less)] {
                let test = NumericTest { comparison: own, threshold: threshold.into() };
                let Some(same) = test.with_comparison(other, Float::F32) else {
                    assert_eq!((own, threshold), (LessOrEqual, f32::INFINITY));
                    continue;
                };
                for x in near.into_iter().chain(near.map(|x| -x)) {
                    assert_eq!(passes(test, x.into()), passes(same, x.into()), "{x} {test:?} {same:?}");
                }
            }
        }
        let never = NumericTest { comparison: Less, threshold: f64::NEG_INFINITY };
        assert_eq!(never.with_comparison(LessOrEqual, Float::F64), None);
    }

    #[test]
    fn a_forest_gets_one_comparison() {
        let less = NumericTest { comparison: Less, threshold: 1.0 };
        let or_equal = NumericTest { comparison: LessOrEqual, threshold: 1.0 };
        let mut tests = [less, less];
        assert_eq!(unify_comparisons(tests.iter_mut(), Float::F32), Ok(Less));
        let mut tests = [less, or_equal];
        assert_eq!(unify_comparisons(tests.iter_mut(), Float::F64), Ok(LessOrEqual));
        assert_eq!(tests[0].threshold, 1.0f64.next_down());
        let mut tests = [NumericTest { threshold: f64::NEG_INFINITY, ..less }, or_equal];
        assert_eq!(unify_comparisons(tests.iter_mut(), Float::F64).unwrap_err().code, codes::BAD_VALUE);
    }
}
