//! Origins of a function's values: the loop of the nest and the task that a value's code belongs to. Origins
//! change no result. Profiles show by them which loops take time, and which instructions a line of the
//! schedule causes.

use super::value::Value;

/// Task that code in a loop performs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Task {
    /// Iterations; walks in a leaf loop.
    #[default]
    Iterations,
    /// Copies or quantization of rows for the loops inside.
    Copies,
    /// Start, addition and storage of sums.
    Sums,
    /// Computation of columns from the features of rows.
    Columns,
}

/// A loop of the nest, with a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Name of the loop; empty outside of all loops.
    pub name: String,
    /// Largest number of rows of the calls of the code's variant; `None` for the last variant.
    pub max_rows: Option<u32>,
    /// Task of the code.
    pub task: Task,
    /// Name of the stage whose results the columns are, if the task is to compute columns of a stage.
    pub stage: Option<String>,
}

/// Origins of all values of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Origins {
    all: Vec<Origin>,
    /// Number of each value's origin.
    of: Vec<u32>,
    /// Number of the next values' origin.
    next: u32,
}

impl Default for Origins {
    /// Origins of a function without values. The first values belong to no loop.
    fn default() -> Origins {
        Origins { all: vec![Origin::default()], of: Vec::new(), next: 0 }
    }
}

impl Origins {
    /// All origins, by number.
    pub fn all(&self) -> &[Origin] {
        &self.all
    }

    /// Number of a value's origin, if it was recorded.
    pub fn number(&self, value: Value) -> Option<usize> {
        let number = *self.of.get(value.0 as usize)? as usize;
        (number < self.all.len()).then_some(number)
    }

    /// The origin of a value.
    pub fn of(&self, value: Value) -> Option<&Origin> {
        self.all.get(self.number(value)?)
    }

    /// Records the origin of a new value.
    pub(super) fn record(&mut self) {
        self.of.push(self.next);
    }

    /// Origin of the next value.
    pub(super) fn next(&self) -> Origin {
        self.all.get(self.next as usize).cloned().unwrap_or_default()
    }

    /// Sets the origin of the next values by its number.
    pub(super) fn set_next(&mut self, number: u32) {
        self.next = number;
    }

    /// Sets the origin of the next values. Returns the number of the earlier origin.
    pub(super) fn replace_next(&mut self, origin: Origin) -> u32 {
        let known = self.all.iter().position(|known| *known == origin);
        let number = known.unwrap_or_else(|| {
            self.all.push(origin);
            self.all.len() - 1
        });
        std::mem::replace(&mut self.next, number as u32)
    }
}
