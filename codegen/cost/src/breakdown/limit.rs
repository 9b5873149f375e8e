//! Limits: the causes for which code takes cycles.

/// A cause for which code takes cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Instructions wait for results of others.
    Latency,
    /// All issue slots of the core are taken.
    Instructions,
    /// Arithmetic, comparisons and selects.
    Arithmetic,
    /// Look-ups in registers, shuffles and conversions.
    Lookups,
    /// Gathers.
    Gathers,
    /// Loads and stores that the first-level cache serves.
    Accesses,
    /// Lines from beyond the first-level cache. Levels count from 2; the last one is main memory.
    Lines(usize),
    /// Mispredicted branches.
    Branches,
    /// Entering and leaving the code.
    Call,
}

/// The limits that are no memory level, in index order; those of `Lines(level)` follow.
const NON_MEMORY_LIMITS: [Limit; 8] = [
    Limit::Latency,
    Limit::Instructions,
    Limit::Arithmetic,
    Limit::Lookups,
    Limit::Gathers,
    Limit::Accesses,
    Limit::Branches,
    Limit::Call,
];

/// Levels of memory that are counted separately, from 0 on; deeper ones share the last counter.
pub(super) const MEMORY_LEVELS: usize = 6;

/// Number of limits.
const LIMIT_COUNT: usize = NON_MEMORY_LIMITS.len() + MEMORY_LEVELS;

impl Limit {
    fn index(self) -> usize {
        match self {
            Limit::Lines(level) => NON_MEMORY_LIMITS.len() + level.min(MEMORY_LEVELS - 1),
            other => NON_MEMORY_LIMITS.iter().position(|limit| *limit == other).unwrap_or(0),
        }
    }

    fn at(index: usize) -> Limit {
        NON_MEMORY_LIMITS
            .get(index)
            .copied()
            .unwrap_or(Limit::Lines(index.saturating_sub(NON_MEMORY_LIMITS.len())))
    }
}

/// Cycles by limit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LimitCycles([f64; LIMIT_COUNT]);

impl LimitCycles {
    /// Adds cycles to a limit.
    pub fn add(&mut self, limit: Limit, cycles: f64) {
        self.0[limit.index()] += cycles;
    }

    /// Adds `factor` times other cycles.
    pub fn merge(&mut self, other: &LimitCycles, factor: f64) {
        for (sum, cycles) in self.0.iter_mut().zip(other.0) {
            *sum += cycles * factor;
        }
    }

    /// Multiplies all cycles.
    pub fn scale(&mut self, factor: f64) {
        self.0.iter_mut().for_each(|cycles| *cycles *= factor);
    }

    /// The cycles in index order.
    pub fn all(&self) -> [f64; LIMIT_COUNT] {
        self.0
    }

    /// The limits with cycles, largest first.
    pub fn sorted(&self) -> Vec<(Limit, f64)> {
        let all = self.0.iter().enumerate().filter(|(_, cycles)| **cycles > 0.0);
        let mut limits: Vec<(Limit, f64)> = all.map(|(index, cycles)| (Limit::at(index), *cycles)).collect();
        limits.sort_by(|one, other| other.1.total_cmp(&one.1));
        limits
    }
}
