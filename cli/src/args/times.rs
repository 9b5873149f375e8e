//! Times in arguments.

use std::time::Duration;

/// The longest time that an option accepts.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Parses a time with a unit: `500ms`, `1.5s`, `2m`.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0)];
    let known = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let (number, seconds) = known.ok_or("write a number with a unit, for example 500ms or 2s")?;
    let number: f64 = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
    let time = Duration::try_from_secs_f64(number * seconds);
    time.ok()
        .filter(|time| *time <= LONGEST)
        .ok_or_else(|| format!("`{text}` is not a time of at most a day"))
}

#[cfg(test)]
mod tests {
    use super::parse_time;
    use std::time::Duration;

    #[test]
    fn times_have_units() {
        let time = |text| parse_time(text).ok().map(|time| time.as_millis());
        assert_eq!([time("500ms"), time("1.5s"), time("2m")], [Some(500), Some(1500), Some(120_000)]);
        assert_eq!(parse_time("0s"), Ok(Duration::ZERO));
        assert!(["", "5", "s", "-1s", "NaNs", "1e99s", "1441m"].iter().all(|text| parse_time(text).is_err()));
    }
}
