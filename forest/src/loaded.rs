//! Options of the readers of models, and their results.

use std::fmt;
use std::str::FromStr;

use crate::codes;
use crate::error::ModelError;
use crate::forest::Forest;
use crate::format::{ModelFormat, Quirk};
use crate::release::{Release, ReleaseRule};

/// Which boosting iterations of a model are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Iterations {
    /// All iterations, as the default. If early stopping found a smaller number better, a note says so.
    #[default]
    Unchosen,
    /// All iterations, as the trainer's own `Booster.predict` uses them.
    All,
    /// Iterations up to and including the best one of early stopping, as scikit-learn wrappers use them.
    Best,
    /// Iterations from the first number on, up to but without the second.
    Range(usize, usize),
}

impl Iterations {
    /// The chosen range of a model with `count` iterations: the first one, and the number after the last one.
    ///
    /// # Errors
    /// `M0018` if the model does not have these iterations.
    pub(crate) fn select(&self, count: usize, best: Option<usize>) -> Result<(usize, usize), ModelError> {
        let missing = |message: String| ModelError::new(codes::NO_SUCH_ITERATIONS, message);
        match *self {
            Iterations::Unchosen | Iterations::All => Ok((0, count)),
            Iterations::Best => match best {
                Some(best) if best < count => Ok((0, best + 1)),
                Some(best) => Err(missing(format!(
                    "the file names iteration {best} as the best, and the model has only {count} iterations"
                ))
                .help("the model was sliced after training; choose iterations by number, as in `0..10`")),
                None => Err(missing("the model does not say which iteration is the best".into()).help(
                    "only XGBoost's files name it, after early stopping; use all iterations, or a range \
                         such as `0..10`",
                )),
            },
            Iterations::Range(first, last) if first >= last => {
                Err(missing(format!("the range of iterations {first}..{last} is empty"))
                    .help("the end is excluded: `0..1` is the first iteration"))
            }
            Iterations::Range(first, last) if last > count => {
                Err(missing(format!("iterations {first}..{last} were chosen, and the model has {count}"))
                    .help(format!("the whole model is `0..{count}`")))
            }
            Iterations::Range(first, last) => Ok((first, last)),
        }
    }
}

/// The error for a text that is no choice of iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseIterationsError {
    /// The text.
    pub text: String,
}

impl fmt::Display for ParseIterationsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.escape_debug();
        write!(f, "`{text}` is no choice of iterations; write `all`, `best`, or a range such as `0..10`")
    }
}

impl std::error::Error for ParseIterationsError {}

impl FromStr for Iterations {
    type Err = ParseIterationsError;

    /// Reads `all`, `best`, or `a..b` (the end excluded).
    fn from_str(text: &str) -> Result<Iterations, ParseIterationsError> {
        let range = || {
            let (first, last) = text.split_once("..")?;
            Some(Iterations::Range(first.trim().parse().ok()?, last.trim().parse().ok()?))
        };
        match text {
            "all" => Ok(Iterations::All),
            "best" => Ok(Iterations::Best),
            _ => range().ok_or_else(|| ParseIterationsError { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for Iterations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Iterations::Unchosen | Iterations::All => f.write_str("all"),
            Iterations::Best => f.write_str("best"),
            Iterations::Range(first, last) => write!(f, "{first}..{last}"),
        }
    }
}

/// Options of the readers.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Iterations that become trees of the forest.
    pub iterations: Iterations,
    /// Release of the trainer by whose rules the file is read, in place of the one that saved it. An error
    /// for formats without [`Quirk::DependsOnRelease`](crate::Quirk::DependsOnRelease).
    pub as_release: Option<Release>,
}

/// A remark for the user about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note(pub String);

/// A model and the facts of its file that the forest does not hold.
#[derive(Clone, Debug)]
pub struct LoadedForest {
    /// The model.
    pub forest: Forest,
    /// Release of the trainer that saved the model, most significant part first; empty if the file does not
    /// say.
    pub version: Vec<u64>,
    /// Remarks for the user.
    pub notes: Vec<Note>,
    /// Facts that no prediction needs.
    pub source: ModelSource,
}

/// Facts of a model's file that no prediction needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSource {
    /// Format of the file; none for forests that come from no file. [`load`](crate::load) fills it in.
    pub format: Option<&'static ModelFormat>,
    /// Program that trained the model, such as `XGBoost`; empty if the file does not say.
    pub trainer: &'static str,
    /// Type of each feature in the trainer's words, such as `float` or `c`; empty if the file does not say.
    pub feature_types: Vec<String>,
    /// Rules that differ between releases of the trainer and on which the model depends.
    pub rules: Vec<ReleaseRule>,
}

impl ModelSource {
    /// Whether the format of the file has a quirk.
    pub fn has(&self, quirk: Quirk) -> bool {
        self.format.is_some_and(|format| format.has(quirk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_read_from_text() {
        let cases = [
            ("auto", None),
            ("3..", None),
            ("all", Some(Iterations::All)),
            ("best", Some(Iterations::Best)),
            ("0..10", Some(Iterations::Range(0, 10))),
            ("3 .. 4", Some(Iterations::Range(3, 4))),
            ("..4", None),
            ("-1..4", None),
            ("", None),
            ("10", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
        assert!("x".parse::<Iterations>().unwrap_err().to_string().contains("`0..10`"));
    }

    #[test]
    fn iterations_are_selected() {
        let select = |iterations: Iterations, best| iterations.select(5, best).map_err(|error| error.code);
        assert_eq!(select(Iterations::All, Some(2)), Ok((0, 5)));
        assert_eq!(select(Iterations::Unchosen, Some(2)), Ok((0, 5)));
        assert_eq!(select(Iterations::Best, Some(2)), Ok((0, 3)));
        assert_eq!(select(Iterations::Range(1, 5), None), Ok((1, 5)));
        for (iterations, best) in [
            (Iterations::Best, None),
            (Iterations::Best, Some(5)),
            (Iterations::Range(2, 2), None),
            (Iterations::Range(0, 6), None),
        ] {
            assert_eq!(select(iterations, best), Err(codes::NO_SUCH_ITERATIONS));
        }
    }
}
