//! Why a model cannot be used: plain data with a code, a place and a way out.

use std::fmt;

/// One kind of problem with a model. The number is stable and is what documentation refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// `M0001`: the content matches no model format that is known here.
    UnknownFormat,
    /// `M0002`: a known format that is not read.
    UnsupportedFormat,
    /// `M0003`: the file breaks the rules of its own format, or ends too early.
    Syntax,
    /// `M0004`: a field is missing or has the wrong type.
    Structure,
    /// `M0005`: a booster other than trees.
    UnsupportedBooster,
    /// `M0006`: a split by category.
    UnsupportedCategorical,
    /// `M0007`: leaves that hold a vector.
    UnsupportedVectorLeaf,
    /// `M0008`: an objective whose prediction cannot be computed from margins here.
    UnsupportedObjective,
    /// `M0009`: a parameter, such as `num_feature` or `base_score`, has a value that makes no sense.
    BadParameter,
    /// `M0010`: arrays or counts that belong together have different lengths.
    LengthMismatch,
    /// `M0011`: a child number that is no node of the tree.
    ChildOutOfRange,
    /// `M0012`: a node that is reached twice, so the nodes do not form a tree.
    NotATree,
    /// `M0013`: a feature number that is not below the number of features.
    FeatureOutOfRange,
    /// `M0014`: a tree deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    TooDeep,
    /// `M0015`: a threshold, a leaf or a base value that is not a number, or does not fit the model's types.
    BadValue,
    /// `M0016`: a tree that adds to a margin which does not exist.
    TargetOutOfRange,
    /// `M0017`: the table of boosting iterations does not fit the trees.
    BadIterations,
    /// `M0018`: the iterations asked for do not exist in this model.
    NoSuchIterations,
    /// `M0019`: a count beyond what any usable model has.
    TooLarge,
    /// `M0020`: nodes or leaves that the root does not reach, or that are not in depth-first order.
    NodeOrder,
    /// `M0021`: a file that shall be a profile and is none.
    BadProfile,
    /// `M0022`: the profile of another model, or of other trees of it.
    OtherProfile,
    /// `M0023`: a file that does not exist or cannot be read.
    Unreadable,
    /// `M0024`: a model with another fingerprint than the schedule asks for.
    OtherModel,
}

impl Code {
    /// Every code, in ascending order.
    pub const ALL: [Code; 24] = [
        Code::UnknownFormat,
        Code::UnsupportedFormat,
        Code::Syntax,
        Code::Structure,
        Code::UnsupportedBooster,
        Code::UnsupportedCategorical,
        Code::UnsupportedVectorLeaf,
        Code::UnsupportedObjective,
        Code::BadParameter,
        Code::LengthMismatch,
        Code::ChildOutOfRange,
        Code::NotATree,
        Code::FeatureOutOfRange,
        Code::TooDeep,
        Code::BadValue,
        Code::TargetOutOfRange,
        Code::BadIterations,
        Code::NoSuchIterations,
        Code::TooLarge,
        Code::NodeOrder,
        Code::BadProfile,
        Code::OtherProfile,
        Code::Unreadable,
        Code::OtherModel,
    ];

    /// The number after the `M`.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// The code in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Code::UnknownFormat => "unknown model format",
            Code::UnsupportedFormat => "model format that is not read",
            Code::Syntax => "damaged or truncated model file",
            Code::Structure => "missing field or wrong type in a model file",
            Code::UnsupportedBooster => "booster without trees",
            Code::UnsupportedCategorical => "categorical split",
            Code::UnsupportedVectorLeaf => "leaves that hold a vector",
            Code::UnsupportedObjective => "objective whose prediction cannot be computed",
            Code::BadParameter => "model parameter that makes no sense",
            Code::LengthMismatch => "arrays of different lengths",
            Code::ChildOutOfRange => "child that is no node of the tree",
            Code::NotATree => "node that is reached twice",
            Code::FeatureOutOfRange => "feature that does not exist",
            Code::TooDeep => "tree that is too deep",
            Code::BadValue => "value that is not a usable number",
            Code::TargetOutOfRange => "tree for an output that does not exist",
            Code::BadIterations => "iterations that do not fit the trees",
            Code::NoSuchIterations => "iterations that the model does not have",
            Code::TooLarge => "count that is too large",
            Code::NodeOrder => "nodes that are unreachable or out of order",
            Code::BadProfile => "file that is no profile",
            Code::OtherProfile => "profile of another model",
            Code::Unreadable => "model file that cannot be read",
            Code::OtherModel => "model with another fingerprint",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "M{:04}", self.number())
    }
}

/// A model that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// The kind of problem.
    pub code: Code,
    /// What is wrong, one sentence without a final stop.
    pub message: String,
    /// Where: a path into the document such as `learner.gradient_booster.model.trees[3].left_children[17]`, or
    /// `byte 120` when the file could not be read that far. Empty when it is the file as a whole.
    pub place: String,
    /// A way out, empty when there is none to offer.
    pub help: String,
}

impl ModelError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> ModelError {
        ModelError { code, message: message.into(), place: String::new(), help: String::new() }
    }

    pub(crate) fn at(mut self, place: impl Into<String>) -> ModelError {
        self.place = place.into();
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> ModelError {
        self.help = help.into();
        self
    }

    /// Puts the place of an error below the place of what contains it.
    pub(crate) fn below(mut self, container: &str) -> ModelError {
        self.place = match (container.is_empty(), self.place.is_empty()) {
            (true, _) => self.place,
            (false, true) => container.to_owned(),
            (false, false) => format!("{container}.{}", self.place),
        };
        self
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if !self.place.is_empty() {
            write!(f, " (at {})", self.place)?;
        }
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for ModelError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_numbered_in_order() {
        for (index, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(code.to_string(), format!("M{:04}", index + 1));
            assert!(!code.title().is_empty());
        }
    }

    #[test]
    fn an_error_reads_as_one_line() {
        let error = ModelError::new(Code::ChildOutOfRange, "child 9 does not exist")
            .at("left_children[0]")
            .below("trees[1]")
            .help("save the model again");
        assert_eq!(
            error.to_string(),
            "M0011: child 9 does not exist (at trees[1].left_children[0]); save the model again"
        );
    }
}
