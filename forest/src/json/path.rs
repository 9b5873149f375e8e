//! The place of a value in a document, for messages about values of the wrong type.

use std::fmt;

/// The keys and item numbers from the root of a document to the value that a reader is at. A reader records
/// them only if it is asked to, since that takes time for every value. After an error the path stays at the
/// value that caused it.
#[derive(Debug, Default)]
pub(crate) struct ValuePath {
    /// `None` if the path is not recorded.
    steps: Option<Vec<PathStep>>,
}

/// One step from a container into an item.
#[derive(Debug)]
enum PathStep {
    Key(String),
    Item(usize),
}

impl ValuePath {
    /// The path of a document's root, from which steps are recorded.
    pub fn recorded() -> ValuePath {
        ValuePath { steps: Some(Vec::new()) }
    }

    /// Enters an item of a list.
    pub fn enter_item(&mut self, number: usize) {
        if let Some(steps) = &mut self.steps {
            steps.push(PathStep::Item(number));
        }
    }

    /// Enters the value of a key of an object.
    pub fn enter_key(&mut self, key: impl FnOnce() -> String) {
        if let Some(steps) = &mut self.steps {
            steps.push(PathStep::Key(key()));
        }
    }

    /// Leaves an item or a value.
    pub fn leave(&mut self) {
        if let Some(steps) = &mut self.steps {
            steps.pop();
        }
    }
}

impl fmt::Display for ValuePath {
    /// Writes `b[1].c`; nothing for the root.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().flatten().enumerate() {
            match step {
                PathStep::Key(key) => write!(f, "{}{key}", if at == 0 { "" } else { "." })?,
                PathStep::Item(number) => write!(f, "[{number}]")?,
            }
        }
        Ok(())
    }
}
