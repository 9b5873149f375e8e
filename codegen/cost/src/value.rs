//! What is known of a value while code is read.

use std::ops::BitOr;

/// Loops around a statement that are told apart; those deeper inside count as one.
pub const DEPTHS: usize = 12;

/// A set of loops, by depth, and whether data decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Varies(u16);

impl Varies {
    /// With nothing.
    pub const NOT: Varies = Varies(0);
    /// With the values of rows or nodes.
    pub const DATA: Varies = Varies(1 << 15);

    /// With the iterations of a loop.
    pub fn with_loop(depth: usize) -> Varies {
        Varies(1 << depth.min(DEPTHS - 1))
    }

    /// Whether it has some of another set.
    pub fn meets(self, other: Varies) -> bool {
        self.0 & other.0 != 0
    }

    /// Without some.
    pub fn without(self, other: Varies) -> Varies {
        Varies(self.0 & !other.0)
    }
}

impl BitOr for Varies {
    type Output = Varies;

    fn bitor(self, other: Varies) -> Varies {
        Varies(self.0 | other.0)
    }
}

/// What is known of a value at one iteration of the loops around it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// The number, if it is one that does not depend on data.
    pub int: Option<i64>,
    /// How much it grows from one iteration of a loop to the next.
    pub slopes: [f32; DEPTHS],
    /// What it varies with.
    pub varies: Varies,
    /// When it is there, in cycles.
    pub ready: f64,
    /// Cycles from what the loop with this depth carries into an iteration, if it depends on that.
    pub chain: Option<(usize, f64)>,
}

impl Known {
    /// How much it grows with a loop.
    pub fn slope(&self, depth: usize) -> f64 {
        f64::from(self.slopes.get(depth).copied().unwrap_or(0.0))
    }

    /// The slopes of a sum of multiples of two values.
    pub fn slopes_of(a: &Known, by: f64, b: &Known, and: f64) -> [f32; DEPTHS] {
        let mut slopes = [0.0; DEPTHS];
        for (slope, (a, b)) in slopes.iter_mut().zip(a.slopes.iter().zip(b.slopes)) {
            *slope = *a * by as f32 + b * and as f32;
        }
        slopes
    }
}
