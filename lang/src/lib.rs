//! Names, lineage, ranges, legality and diagnostics of `.sched` schedules.

pub mod nest;
pub mod sym;
