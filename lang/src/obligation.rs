//! What the checker leaves open because a number is not known.

use sched_nest::sym::{Property, Sym};
use std::fmt;

/// What cannot be decided because a number is not known. Displayed, it goes on from "it is not known".
#[derive(Clone, Debug, PartialEq)]
pub enum Obligation {
    /// Whether a split point is a value of the loop.
    OnStep {
        /// The split point.
        at: Sym,
        /// The loop's step.
        step: Sym,
    },
    /// Whether a split point lies inside the loop.
    Between {
        /// The split point.
        at: Sym,
        /// Where the loop starts.
        start: Sym,
        /// Where it stops.
        stop: Sym,
    },
    /// Whether a tile fits the loop's step.
    Multiple {
        /// The tile's size.
        size: Sym,
        /// The loop's step.
        step: Sym,
    },
    /// Whether a tile's size can be one.
    Size {
        /// The size.
        size: Sym,
        /// The loop's step, unless that is 1.
        step: Option<Sym>,
    },
    /// Where the depth of the trees changes.
    EquallyDeep,
    /// How often a loop iterates.
    Trips {
        /// The loop.
        name: String,
    },
    /// How many threads a loop needs.
    Threads {
        /// The loop.
        name: String,
    },
    /// Whether a number is one that the directive takes.
    InRange {
        /// The number.
        number: Sym,
    },
}

impl Obligation {
    /// Whether it would be settled by a fact for which `test` holds. What cannot be told apart would be by any.
    pub fn mentions(&self, test: &dyn Fn(Property) -> bool) -> bool {
        let syms: [Option<&Sym>; 3] = match self {
            Obligation::OnStep { at, step } => [Some(at), Some(step), None],
            Obligation::Between { at, start, stop } => [Some(at), Some(start), Some(stop)],
            Obligation::Multiple { size, step } => [Some(size), Some(step), None],
            Obligation::Size { size, step } => [Some(size), step.as_ref(), None],
            Obligation::InRange { number } => [Some(number), None, None],
            Obligation::EquallyDeep => return test(Property::MaxDepth),
            Obligation::Trips { .. } | Obligation::Threads { .. } => return test(Property::NumTrees),
        };
        let known = |property| property != Property::Rows && test(property);
        syms.into_iter().flatten().any(|sym| sym.mentions(&known))
    }
}

impl fmt::Display for Obligation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obligation::OnStep { at, step } => write!(f, "whether {at} falls on a step of {step}"),
            Obligation::Between { at, start, stop } => {
                write!(f, "whether {at} lies between {start} and {stop}")
            }
            Obligation::Multiple { size, step } => {
                write!(f, "whether {size} is a multiple of the step {step}")
            }
            Obligation::Size { size, step: None } => write!(f, "whether the size {size} is at least 1"),
            Obligation::Size { size, step: Some(step) } => {
                write!(f, "whether the size {size} is at least 1 and a multiple of the step {step}")
            }
            Obligation::EquallyDeep => f.write_str("which trees have the same depth"),
            Obligation::Trips { name } => write!(f, "how many iterations `{name}` has"),
            Obligation::Threads { name } => write!(f, "how many threads `{name}` needs"),
            Obligation::InRange { number } => write!(f, "whether {number} is in range"),
        }
    }
}
