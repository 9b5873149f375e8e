//! Shares of a row's work, if several threads of a GPU's block compute the columns of one row.

use crate::lir::{BuildStmts, Builder, Cmp, Value};

/// Share of a loop's iterations that a thread runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Share {
    /// All iterations.
    Whole,
    /// The iterations `part`, `part + parts` and so on.
    Part {
        /// Number of the thread's part, an index.
        part: Value,
        /// Number of parts.
        parts: i64,
    },
}

impl Share {
    /// Number of parts of the iterations.
    pub fn parts(self) -> i64 {
        match self {
            Share::Whole => 1,
            Share::Part { parts, .. } => parts,
        }
    }

    /// A loop from 0 to `end` in steps of `step`, of which the thread runs its share.
    pub fn for_each(self, b: &mut Builder, end: Value, step: i64, body: impl FnOnce(&mut Builder, Value)) {
        let (start, distance) = match self {
            Share::Whole => (b.int(0), step),
            Share::Part { part, parts } => (b.mul_int(part, step), parts * step),
        };
        b.for_loop((start, end, distance), &[], |b, number, _| {
            body(b, number);
            Vec::new()
        });
    }

    /// Runs `body` in the last part.
    pub fn if_last(self, b: &mut Builder, body: impl FnOnce(&mut Builder)) {
        match self {
            Share::Whole => body(b),
            Share::Part { part, parts } => {
                let last = b.int(parts - 1);
                let is_last = b.cmp(Cmp::Eq, part, last);
                b.when(is_last, body);
            }
        }
    }
}

/// `number / each`, rounded up.
pub(super) fn rounded_up(number: i64, each: i64) -> i64 {
    (number + each - 1) / each
}
