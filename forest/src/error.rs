//! Errors of models: a diagnostic with a code, a place and help.

use sched_diagnostics::{Code, Diagnostic, Place};

sched_diagnostics::error! {
    /// The error for a model that cannot be used. Its place is the path of a value in the document, such as
    /// `learner.gradient_booster.model.trees[3].left_children[17]`, or the first byte that could not be read.
    /// Callers that know the file add its name.
    ModelError
}

impl ModelError {
    /// An error about a whole model.
    pub fn new(code: Code, message: impl Into<String>) -> ModelError {
        ModelError::of(Diagnostic::new(code, Place::Whole, message))
    }

    /// The error with a place.
    #[must_use]
    pub fn at(mut self, place: impl Into<Place>) -> ModelError {
        self.0.place = place.into();
        self
    }

    /// The error with a suggestion.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> ModelError {
        self.0.help = Some(help.into());
        self
    }

    /// Prefixes the place of an error with the path of the value that contains it.
    #[must_use]
    pub fn within(mut self, container: &str) -> ModelError {
        self.0.place = match (container.is_empty(), &self.place) {
            (false, Place::Element(path)) => format!("{container}.{path}").into(),
            (false, Place::Whole) => container.into(),
            _ => return self,
        };
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes;

    #[test]
    fn an_error_reads_as_a_line_and_its_help() {
        let error = ModelError::new(codes::CHILD_OUT_OF_RANGE, "child 9 does not exist")
            .at("left_children[0]")
            .within("trees[1]")
            .help("save the model again");
        assert_eq!(
            error.to_string(),
            "M0011: trees[1].left_children[0]: child 9 does not exist\n  help: save the model again"
        );
    }
}
