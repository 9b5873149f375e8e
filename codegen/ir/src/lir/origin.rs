//! What the values of a function are made for: which loop of the nest, and what is done there. It changes no result; it tells
//! people where time goes, and which instructions belong to which line of their schedule.

use super::value::Value;

/// What is done for a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Task {
    /// Its iterations: walks, in a leaf loop.
    #[default]
    Iterations,
    /// Rows are copied, or quantized, for the loops inside.
    Copies,
    /// Sums are begun, added to, or written back.
    Sums,
}

/// A loop of the nest, and what is done for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The loop's name; empty outside of all loops.
    pub name: String,
    /// Most rows of the calls that its schedule is for, if it is not for all others.
    pub max_rows: Option<u32>,
    /// What is done.
    pub task: Task,
}

/// The origins of all values of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Origins {
    all: Vec<Origin>,
    /// The number of each value's origin.
    of: Vec<u32>,
    /// The number of the origin of the values that are made next.
    next: u32,
}

impl Default for Origins {
    /// Those of a function without values: what is made first is for no loop.
    fn default() -> Origins {
        Origins { all: vec![Origin::default()], of: Vec::new(), next: 0 }
    }
}

impl Origins {
    /// All origins, by number.
    pub fn all(&self) -> &[Origin] {
        &self.all
    }

    /// The number of a value's origin. Values of functions that nothing is known of have none.
    pub fn number(&self, value: Value) -> Option<usize> {
        let number = *self.of.get(value.0 as usize)? as usize;
        (number < self.all.len()).then_some(number)
    }

    /// The origin of a value.
    pub fn of(&self, value: Value) -> Option<&Origin> {
        self.all.get(self.number(value)?)
    }

    /// One more value.
    pub(super) fn made(&mut self) {
        self.of.push(self.next);
    }

    /// The origin of what is made next.
    pub(super) fn next(&self) -> Origin {
        self.all.get(self.next as usize).cloned().unwrap_or_default()
    }

    /// What is made from here on is for what has a number.
    pub(super) fn go_on(&mut self, number: u32) {
        self.next = number;
    }

    /// What is made from here on is for this. The number of what it was for before is returned.
    pub(super) fn begin(&mut self, origin: Origin) -> u32 {
        let known = self.all.iter().position(|known| *known == origin);
        let number = known.unwrap_or_else(|| {
            self.all.push(origin);
            self.all.len() - 1
        });
        std::mem::replace(&mut self.next, number as u32)
    }
}
