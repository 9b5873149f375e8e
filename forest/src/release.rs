//! Releases of XGBoost, and the rules that depend on them.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The last minor release of each major release, up to the newest one that was tested.
const LAST_MINORS: [(u64, u64); 3] = [(1, 7), (2, 1), (3, 4)];

/// A release of XGBoost without its patch number, since patches do not change the meaning of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    major: u64,
    minor: u64,
}

impl Release {
    /// The newest release that was tested.
    pub(crate) const NEWEST: Release = Release::of(3, 4);

    /// A release, whether or not it exists.
    pub(crate) const fn of(major: u64, minor: u64) -> Release {
        Release { major, minor }
    }

    /// The preceding release with the same major number. For a minor number of 0, the release itself.
    pub(crate) fn previous_minor(self) -> Release {
        Release { minor: self.minor.saturating_sub(1), ..self }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A text that names no release of XGBoost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseReleaseError {
    /// The text.
    pub text: String,
}

impl fmt::Display for ParseReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges: Vec<_> =
            LAST_MINORS.iter().map(|(major, minor)| format!("{major}.0 to {major}.{minor}")).collect();
        let text = self.text.escape_debug();
        write!(f, "`{text}` is not a known release of XGBoost; write one of {}", ranges.join(", "))
    }
}

impl std::error::Error for ParseReleaseError {}

impl FromStr for Release {
    type Err = ParseReleaseError;

    /// Reads `3.4`, or `3.4.1`, whose patch number is ignored.
    fn from_str(text: &str) -> Result<Release, ParseReleaseError> {
        let number =
            |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u64>().ok());
        let parts: Option<Vec<_>> = text.split('.').map(|part| number(part).flatten()).collect();
        let known =
            |&[major, minor]: &[u64; 2]| LAST_MINORS.iter().any(|last| major == last.0 && minor <= last.1);
        let release =
            parts.as_deref().filter(|parts| parts.len() <= 3).and_then(|parts| parts.first_chunk::<2>());
        match release.filter(|release| known(release)) {
            Some(&[major, minor]) => Ok(Release { major, minor }),
            None => Err(ParseReleaseError { text: text.to_owned() }),
        }
    }
}

/// A rule that differs between releases of the trainer, and on which the model depends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReleaseRule {
    /// The releases that follow the rule, such as `1.0 to 3.1` or `3.2 and later`.
    pub releases: String,
    /// The rule in words.
    pub meaning: &'static str,
}

impl fmt::Display for ReleaseRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "XGBoost {}: {}", self.releases, self.meaning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_from_text() {
        let read = |text: &str| text.parse::<Release>().ok().map(|release| release.to_string());
        for (text, release) in [("3.4", "3.4"), ("3.4.1", "3.4"), ("1.0.2", "1.0"), ("2.1", "2.1")] {
            assert_eq!(read(text).as_deref(), Some(release), "{text}");
        }
        for text in [
            "", "3", "3.", ".4", "0.90", "1.8", "2.2", "3.5", "4.0", "3.4.1.2", "+3.4", "3.x", "v3.4", "3.4 ",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        let message = "2.2".parse::<Release>().unwrap_err().to_string();
        assert!(message.contains("`2.2`") && message.contains("2.0 to 2.1, 3.0 to 3.4"), "{message}");
        assert!(Release::of(3, 10) > Release::NEWEST && Release::NEWEST > Release::of(2, 9));
    }
}
