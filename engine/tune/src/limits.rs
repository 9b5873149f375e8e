//! Limits that the searches for processors and GPUs share.

/// Candidates above this multiple of the lowest estimated cost are not compiled and timed. Estimates are off
/// by a factor of 1.3 to 1.7 (docs/choice.md): a larger limit misses fewer fast schedules, and leaves less
/// time for each.
pub const MAX_COST_RATIO: f64 = 1.6;
/// Share of the remaining time of a call size that goes into a race of many candidates. The rest is for later
/// races.
pub const CANDIDATES_RACE_SHARE: f64 = 0.3;
/// Share of the remaining time of a call size that goes into its last race. The rest is for work outside of
/// samples.
pub const LAST_RACE_SHARE: f64 = 0.95;
/// Schedules up to this multiple of the lowest time may serve a call size together with the next larger one.
/// A larger limit gives fewer blocks, and slower ones.
pub const NEARLY_BEST_RATIO: f64 = 1.02;
/// Ratio of schedc's own choice to a found schedule, in time, from which the found one replaces it. A smaller
/// gain is within the noise of a race: a larger ratio keeps the choice more often.
pub const MIN_GAIN_OVER_CHOSEN: f64 = 1.01;
