//! Whole numbers in arguments.

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

#[cfg(test)]
mod tests {
    use super::whole;

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
}
