//! Categories: the numbers that trainers read from values.

/// The rule that turns a feature value into a category, unless it is missing. A value that is no category is
/// in no set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CategoryRule {
    /// The value without its fraction, if the result is from 0 to 2^31 - 1: -0.5 is category 0 (LightGBM).
    Truncated,
    /// The value without its fraction, if the value itself is from 0 to below a bound: -0.5 is no category
    /// (XGBoost, with a bound of 2^24).
    Positive {
        /// The first value that is too large.
        below: f64,
    },
    /// The value itself, if it is a whole number from 0 to 2^32 - 1: 2.5 is no category (ONNX).
    Whole,
}

impl CategoryRule {
    /// The category of a value, if it has one.
    pub fn category(self, value: f64) -> Option<u32> {
        const MOST: f64 = 4_294_967_296.0;
        let whole = value.trunc();
        let is_one = match self {
            CategoryRule::Truncated => (0.0..2_147_483_648.0).contains(&whole),
            CategoryRule::Positive { below } => value >= 0.0 && value < below.min(MOST),
            CategoryRule::Whole => value == whole && (0.0..MOST).contains(&value),
        };
        is_one.then_some(whole as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trainers_differ_in_odd_categories() {
        let limit = 16_777_216.0;
        let rules = [CategoryRule::Truncated, CategoryRule::Positive { below: limit }, CategoryRule::Whole];
        let cases: [(f64, [Option<u32>; 3]); 12] = [
            (0.0, [Some(0); 3]),
            (-0.0, [Some(0); 3]),
            (3.0, [Some(3); 3]),
            (-0.5, [Some(0), None, None]),
            (-1.0, [None; 3]),
            (2.7, [Some(2), Some(2), None]),
            (limit - 1.0, [Some(16_777_215); 3]),
            (limit, [Some(16_777_216), None, Some(16_777_216)]),
            (2_147_483_648.0, [None, None, Some(2_147_483_648)]),
            (4_294_967_296.0, [None; 3]),
            (f64::INFINITY, [None; 3]),
            (f64::NEG_INFINITY, [None; 3]),
        ];
        for (value, expected) in cases {
            assert_eq!(rules.map(|rule| rule.category(value)), expected, "{value}");
        }
        assert_eq!(CategoryRule::Positive { below: f64::INFINITY }.category(4_294_967_296.0), None);
    }
}
