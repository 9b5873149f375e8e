//! Checks that stay open because a number is unknown.

use sched_nest::sym::{Property, Sym};
use std::fmt;

/// A check that an unknown number leaves open. Its text continues "it is unknown".
#[derive(Clone, Debug, PartialEq)]
pub enum Obligation {
    /// Whether a split point is a value of the loop.
    SplitOnStep {
        /// The split point.
        at: Sym,
        /// The loop's step.
        step: Sym,
    },
    /// Whether a split point lies inside the loop.
    SplitInside {
        /// The split point.
        at: Sym,
        /// Start of the loop.
        start: Sym,
        /// End of the loop.
        stop: Sym,
    },
    /// Whether a tile fits the loop's step.
    TileOnStep {
        /// The tile's size.
        size: Sym,
        /// The loop's step.
        step: Sym,
    },
    /// Whether a tile's size is legal.
    TileSize {
        /// The size.
        size: Sym,
        /// The loop's step, unless that is 1.
        step: Option<Sym>,
    },
    /// Runs of iterations whose deepest trees have the same depth, into which `splitByDepth` cuts a loop.
    DepthRuns,
    /// Number of iterations of a loop.
    Trips {
        /// The loop.
        name: String,
    },
    /// Number of GPU threads of a loop that is mapped to a block dimension, which a block limits.
    Threads {
        /// The loop.
        name: String,
    },
    /// Whether the model has a stage.
    Stage {
        /// The stage.
        name: String,
    },
    /// Whether a number is in the directive's range.
    NumberInRange {
        /// The number.
        number: Sym,
    },
}

impl Obligation {
    /// Whether a property for which `test` holds could settle it.
    pub fn mentions(&self, test: &dyn Fn(Property) -> bool) -> bool {
        let syms: [Option<&Sym>; 3] = match self {
            Obligation::SplitOnStep { at, step } => [Some(at), Some(step), None],
            Obligation::SplitInside { at, start, stop } => [Some(at), Some(start), Some(stop)],
            Obligation::TileOnStep { size, step } => [Some(size), Some(step), None],
            Obligation::TileSize { size, step } => [Some(size), step.as_ref(), None],
            Obligation::NumberInRange { number } => [Some(number), None, None],
            Obligation::DepthRuns => return test(Property::MaxDepth),
            Obligation::Trips { .. } | Obligation::Threads { .. } => return test(Property::NumTrees),
            Obligation::Stage { .. } => return test(Property::Units),
        };
        let known = |property| property != Property::Rows && test(property);
        syms.into_iter().flatten().any(|sym| sym.mentions(&known))
    }
}

impl fmt::Display for Obligation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obligation::SplitOnStep { at, step } => write!(f, "whether {at} falls on a step of {step}"),
            Obligation::SplitInside { at, start, stop } => {
                write!(f, "whether {at} lies between {start} and {stop}")
            }
            Obligation::TileOnStep { size, step } => {
                write!(f, "whether {size} is a multiple of the step {step}")
            }
            Obligation::TileSize { size, step: None } => write!(f, "whether the size {size} is at least 1"),
            Obligation::TileSize { size, step: Some(step) } => {
                write!(f, "whether the size {size} is at least 1 and a multiple of the step {step}")
            }
            Obligation::DepthRuns => f.write_str("which trees have the same depth"),
            Obligation::Trips { name } => write!(f, "how many iterations `{name}` has"),
            Obligation::Threads { name } => write!(f, "how many threads `{name}` needs"),
            Obligation::Stage { name } => write!(f, "whether the model has a stage `{name}`"),
            Obligation::NumberInRange { number } => write!(f, "whether {number} is in range"),
        }
    }
}
