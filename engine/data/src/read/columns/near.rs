//! Similar names, which messages propose in place of unknown ones.

/// Most characters of a name that are compared.
const MOST_COMPARED: usize = 64;
/// Fewest letters that a common prefix or suffix of similar names has.
const LEAST_SHARED: usize = 3;

/// The name of `others` that `name` most likely means: equal except for case, blanks and punctuation, or with
/// a prefix or suffix, or with a few other letters.
pub(in crate::read) fn near<'a>(name: &str, others: &[&'a str]) -> Option<&'a str> {
    let wanted = plain(name);
    let score = |other: &&'a str| Some((distance(&wanted, &plain(other))?, *other));
    others.iter().filter_map(score).min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// The letters and digits of a name, in lower case.
fn plain(name: &str) -> String {
    name.chars().take(MOST_COMPARED).filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The distance of two plain names, if they are similar at all.
fn distance(wanted: &str, other: &str) -> Option<usize> {
    if wanted.is_empty() || other.is_empty() {
        return None;
    }
    if wanted == other {
        return Some(0);
    }
    let (short, long) = if wanted.len() < other.len() { (wanted, other) } else { (other, wanted) };
    if short.len() >= LEAST_SHARED && (long.starts_with(short) || long.ends_with(short)) {
        return Some(1);
    }
    let edits = strsim::osa_distance(wanted, other);
    (edits <= wanted.chars().count() / 3).then_some(edits + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_found() {
        let others = ["petal_length", "sepalWidth", "df.age", "wieght", "label", "x1"];
        let cases = [
            ("petal length", Some("petal_length")),
            ("sepal width", Some("sepalWidth")),
            ("age", Some("df.age")),
            ("weight", Some("wieght")),
            ("x_1", Some("x1")),
            ("colour", None),
            ("x2", None),
            ("", None),
            ("___", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(near(name, &others), wanted, "{name}");
        }
    }
}
