//! Thresholds of single precision for rows of double precision.
//!
//! A trainer that rounds rows to single precision compares `round(x) <= t`. Rounding is monotone, so this
//! equals `x <= w` for the largest double `w` that rounds to `t` or below. Rows then need no rounding.

/// The largest double that single precision rounds to `threshold` or to a smaller number.
pub(crate) fn widened(threshold: f32) -> f64 {
    // Doubles round to infinity from the midpoint between the largest finite single and the next power of two
    // on.
    const STEP_BEYOND: f64 = (1u128 << 127) as f64 * 2.0;
    let finite = |x: f32| match x {
        x if x == f32::INFINITY => STEP_BEYOND,
        x if x == f32::NEG_INFINITY => -STEP_BEYOND,
        x => f64::from(x),
    };
    if threshold == f32::INFINITY || threshold.is_nan() {
        return f64::from(threshold);
    }
    let middle = f64::midpoint(finite(threshold), finite(threshold.next_up()));
    if middle as f32 <= threshold { middle } else { middle.next_down() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_compare_as_their_roundings_do() {
        let thresholds = [
            0.0,
            -0.0,
            0.1,
            -0.1,
            1.0,
            16_777_217.0,
            f32::MAX,
            -f32::MAX,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MIN_POSITIVE,
            f32::from_bits(1),
            -f32::from_bits(1),
        ];
        for threshold in thresholds {
            let wide = widened(threshold);
            for x in [wide, wide.next_up(), wide.next_down(), f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
                assert_eq!(x as f32 <= threshold, x <= wide, "{x} <= {threshold}");
            }
        }
    }
}
