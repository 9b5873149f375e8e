//! Whole numbers in arguments.

use std::num::{IntErrorKind, ParseIntError};
use std::ops::RangeInclusive;

/// Returns a parser of whole numbers within bounds. An end of `u64::MAX` is no bound.
pub fn whole<T: TryFrom<u64>>(
    bounds: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            match (bounds.start(), *bounds.end()) {
                (least, u64::MAX) => format!("write a whole number from {least} on"),
                (least, most) => format!("write a whole number from {least} to {most}"),
            }
        })
    }
}

/// Parses an integer of 64 bits.
///
/// # Errors
/// If the text is no integer, or the integer does not fit.
pub fn integer(text: &str) -> Result<i64, String> {
    let text = text.trim();
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => format!("`{text}` is too large; the largest value is {}", i64::MAX),
        IntErrorKind::NegOverflow => format!("`{text}` is too small; the smallest value is {}", i64::MIN),
        _ => format!("`{text}` is not an integer"),
    })
}

#[cfg(test)]
mod tests {
    use super::{integer, whole};

    #[test]
    fn numbers_lie_within_bounds() {
        let few = whole::<u32>(1..=10);
        assert_eq!([few("1"), few("10")], [Ok(1), Ok(10)]);
        for text in ["", "0", "11", "-1", "two", "1.5", "99999999999999999999"] {
            assert_eq!(few(text), Err("write a whole number from 1 to 10".to_string()), "{text}");
        }
        assert_eq!(whole::<u64>(1..=u64::MAX)("0"), Err("write a whole number from 1 on".to_string()));
        assert!(whole::<i32>(0..=u64::MAX)("99999999999").is_err());
    }
    #[test]
    fn integers_that_do_not_fit_are_named() {
        assert_eq!(integer(" -7 "), Ok(-7));
        let error = |text| integer(text).unwrap_err();
        assert_eq!(error("many"), "`many` is not an integer");
        let large = "`9223372036854775808` is too large; the largest value is 9223372036854775807";
        assert_eq!(error("9223372036854775808"), large);
        let small = "`-9223372036854775809` is too small; the smallest value is -9223372036854775808";
        assert_eq!(error("-9223372036854775809"), small);
    }
}
