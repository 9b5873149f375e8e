//! The estimator's knowledge of the values of the code: integers that do not depend on data, and the cycles
//! in which results are available.

use std::ops::BitOr;

/// Number of loop depths with a separate slope; deeper loops share the last slope. Nests of generated code
/// are less deep. Each value stores one `f32` for each depth.
pub const DEPTHS: usize = 12;

/// Everything on which a value depends: loops, by their counters alone or through the model's tables, and
/// data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dependences(u32);

impl Dependences {
    /// The empty set: the value is constant during a call.
    pub const NOTHING: Dependences = Dependences(0);
    /// The contents of rows or nodes.
    pub const DATA: Dependences = Dependences(1 << (2 * DEPTHS));
    /// The counters of all loops.
    const COUNTERS: u32 = (1 << DEPTHS) - 1;

    /// The counter of the loop at a depth.
    pub fn with_loop(depth: usize) -> Dependences {
        Dependences(1 << depth.min(DEPTHS - 1))
    }

    /// The dependences of a table's element, if `self` has those of its position.
    pub fn through_table(self) -> Dependences {
        Dependences(self.0 & !Dependences::COUNTERS | (self.0 & Dependences::COUNTERS) << DEPTHS)
    }

    /// Whether the loop at a depth is in the set.
    pub fn includes_loop(self, depth: usize) -> bool {
        self.intersects(Dependences::with_loop(depth)) || self.includes_table_of(depth)
    }

    /// Whether the loop at a depth is in the set through tables.
    pub fn includes_table_of(self, depth: usize) -> bool {
        self.intersects(Dependences::with_loop(depth).through_table())
    }

    /// The set without the loop at a depth.
    pub fn without_loop(self, depth: usize) -> Dependences {
        let counter = Dependences::with_loop(depth);
        self.without(counter | counter.through_table())
    }

    /// Whether both sets have a member in common.
    pub fn intersects(self, other: Dependences) -> bool {
        self.0 & other.0 != 0
    }

    /// The set without the members of another one.
    pub fn without(self, other: Dependences) -> Dependences {
        Dependences(self.0 & !other.0)
    }
}

impl BitOr for Dependences {
    type Output = Dependences;

    fn bitor(self, other: Dependences) -> Dependences {
        Dependences(self.0 | other.0)
    }
}

/// The content of a value in the current iterations of the loops around it, if it follows without data.
#[derive(Clone, Copy, Debug, Default)]
pub struct StaticValue {
    /// The integer; `None` if data decides it, or if the value is no integer.
    pub int: Option<i64>,
    /// For each loop depth, the growth of the integer from one iteration of that loop to the next.
    pub slopes: [f32; DEPTHS],
    /// Loops and data on which the value depends.
    pub dependences: Dependences,
}

impl StaticValue {
    /// An integer that no loop changes.
    pub fn constant(int: i64) -> StaticValue {
        StaticValue { int: Some(int), ..StaticValue::default() }
    }

    /// Growth of the integer with each iteration of the loop at a depth; 0 beyond [`DEPTHS`].
    pub fn slope(&self, depth: usize) -> f64 {
        f64::from(self.slopes.get(depth).copied().unwrap_or(0.0))
    }

    /// Replaces the slope of the loop at a depth.
    pub fn set_slope(&mut self, depth: usize, slope: f32) {
        if let Some(place) = self.slopes.get_mut(depth) {
            *place = slope;
        }
    }

    /// The slopes of `factor * self + other_factor * other`.
    pub fn combined_slopes(&self, factor: f64, other: &StaticValue, other_factor: f64) -> [f32; DEPTHS] {
        let mut slopes = [0.0; DEPTHS];
        for (slope, (a, b)) in slopes.iter_mut().zip(self.slopes.iter().zip(other.slopes)) {
            *slope = *a * factor as f32 + b * other_factor as f32;
        }
        slopes
    }
}

/// A dependence chain that begins at a value which a loop carries into its iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DependenceChain {
    /// Number of loops around the body of that loop.
    pub depth: usize,
    /// Latency since the beginning of the iteration, in cycles.
    pub cycles: f64,
}

/// A value during a pass: its content and its time.
#[derive(Clone, Copy, Debug, Default)]
pub struct ValueState {
    /// The content.
    pub content: StaticValue,
    /// Cycle in which the result is available.
    pub ready: f64,
    /// The longest chain that ends in it, if it depends on a carried value of the innermost loop.
    pub chain: Option<DependenceChain>,
}

impl ValueState {
    /// The state of a value that was not visited.
    pub const UNKNOWN: ValueState = ValueState {
        content: StaticValue { int: None, slopes: [0.0; DEPTHS], dependences: Dependences::NOTHING },
        ready: 0.0,
        chain: None,
    };
}
