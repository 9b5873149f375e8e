//! Breakdowns: the cycles of a call by the loops of the nest, with the limits of each loop.

mod attribution;
mod limit;
mod profiler;

pub use attribution::Attribution;
pub use limit::Limit;
pub use profiler::Profiler;

use crate::call::Cost;
use sched_ir::lir::{Origin, Origins};

/// The cost of a call by origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// The cost of the whole call.
    pub cost: Cost,
    /// The cycles of each origin, which add up to those of the call.
    pub by_origin: Vec<OriginCycles>,
}

/// The cycles of one origin, without those of loops inside.
#[derive(Clone, Debug, PartialEq)]
pub struct OriginCycles {
    /// The loop of the nest, and the task that the code does for it.
    pub origin: Origin,
    /// Cycles by limit, largest first.
    pub limits: Vec<(Limit, f64)>,
}

impl OriginCycles {
    /// The cycles of all limits.
    pub fn cycles(&self) -> f64 {
        self.limits.iter().map(|(_, cycles)| cycles).sum()
    }
}

impl Breakdown {
    /// The breakdown of a call's cost. Origins without cycles are left out.
    pub fn new(cost: Cost, attribution: &Attribution, origins: &Origins) -> Breakdown {
        let all = attribution.limits().enumerate().filter(|(_, limits)| !limits.is_empty());
        let by_origin = all.filter_map(|(number, limits)| {
            let origin = origins.all().get(number)?.clone();
            Some(OriginCycles { origin, limits })
        });
        Breakdown { cost, by_origin: by_origin.collect() }
    }
}
