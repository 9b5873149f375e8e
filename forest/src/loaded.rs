//! The options of readers of models, and their results.

use std::fmt;
use std::str::FromStr;

use crate::codes;
use crate::error::ModelError;
use crate::forest::Forest;
use crate::release::{Release, ReleaseRule};

/// Which boosting iterations of a model are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Iterations {
    /// All of them, since nobody chose: a note says so where early stopping found fewer to be better.
    #[default]
    Unchosen,
    /// All of them, as the trainer's own `Booster.predict` does.
    All,
    /// The iterations up to and including the best one of early stopping, as scikit-learn wrappers do.
    Best,
    /// From the first number up to and excluding the second.
    Range(usize, usize),
}

impl Iterations {
    /// The first iteration and the one behind the last, of a model with `count` iterations.
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
                    "the best iteration is {best}, and the model has {count}"
                ))
                .help("the model was sliced after training; choose iterations by number, as in `0..10`")),
                None => Err(missing("the model does not say which iteration is the best".into())
                    .help("it was trained without early stopping; use all iterations")),
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

/// A text that chooses no iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseIterationsError {
    /// The text.
    pub text: String,
}

impl fmt::Display for ParseIterationsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.escape_debug();
        write!(f, "`{text}` chooses no iterations; write `all`, `best`, or a range such as `0..10`")
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

/// Choices when a model is read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Which iterations become trees of the forest.
    pub iterations: Iterations,
    /// The release of XGBoost whose meaning the file has, in place of the one that saved it.
    pub as_release: Option<Release>,
}

/// Something worth telling the user about a model that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note(pub String);

/// A model that was read, with what is known of the file beside the forest.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The model.
    pub forest: Forest,
    /// The release of the trainer that saved it, most significant part first; empty if the file does not say.
    pub version: Vec<u64>,
    /// Remarks for the user.
    pub notes: Vec<Note>,
    /// The facts of the file beside the model.
    pub source: Source,
}

/// Facts of a file that no prediction needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The format of the file, such as `JSON`; empty if the reader does not say.
    pub format: &'static str,
    /// The program that trained the model, such as `XGBoost`; empty if nobody knows.
    pub trainer: &'static str,
    /// For each feature its type in the trainer's words, such as `float` or `c`; empty if the file does not
    /// say.
    pub feature_types: Vec<String>,
    /// The meanings that releases of the trainer changed and that the model depends on.
    pub rules: Vec<ReleaseRule>,
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
