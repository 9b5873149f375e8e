//! Attribution: the share of each origin in the cycles of a loop or of a call. An origin is a loop of the
//! nest, with the task for which code was generated.
//!
//! For each piece of code, its work is noted, and the cycles by which it makes its iteration longer. At the
//! end of a loop, either the latency of its iterations or a resource of the core has limited the loop. The
//! cycles of the loop then go to the origins inside by their share in that limit. The cycles of all origins
//! add up to those of the call.

use super::limit::{Limit, LimitCycles, MEMORY_LEVELS};
use crate::machine::Machine;
use crate::memory::Residency;
use crate::work::{CoreUnit, Resource, Work};

/// The cost that is attributed to one origin.
#[derive(Clone, Copy, Debug, Default)]
struct OriginCost {
    cycles: LimitCycles,
    work: Work,
    /// Cycles for cache lines, by the level of memory that serves them.
    lines: [f64; MEMORY_LEVELS],
    /// Cycles that the current statement waits for cache lines.
    waits: f64,
}

impl OriginCost {
    /// The level of memory whose lines take most cycles, from 2 on.
    fn main_level(&self) -> usize {
        let levels = self.lines.iter().enumerate();
        levels.max_by(|one, other| one.1.total_cmp(other.1)).map_or(2, |(level, _)| level.max(2))
    }

    /// The limit of a loop in which `resource` is the busiest resource.
    fn limit(&self, resource: Resource) -> Limit {
        let exceeds = |unit, other| self.work.unit(unit) > self.work.unit(other);
        match resource {
            Resource::Vectors => Limit::Arithmetic,
            Resource::Lookups => Limit::Lookups,
            Resource::Ports if exceeds(CoreUnit::Gathers, CoreUnit::Memory) => Limit::Gathers,
            Resource::Ports => Limit::Accesses,
            Resource::Lines => Limit::Lines(self.main_level()),
            Resource::Instructions => Limit::Instructions,
            Resource::Branches => Limit::Branches,
        }
    }
}

/// Costs of all origins, indexed by the origin's number.
#[derive(Clone, Debug, Default)]
pub struct Attribution(Vec<OriginCost>);

impl Attribution {
    fn of(&mut self, origin: Option<usize>) -> &mut OriginCost {
        let number = origin.unwrap_or(0);
        if self.0.len() <= number {
            self.0.resize(number + 1, OriginCost::default());
        }
        &mut self.0[number]
    }

    /// Adds `factor` times the costs of `other`.
    pub fn merge(&mut self, other: &Attribution, factor: f64) {
        for (number, others) in other.0.iter().enumerate() {
            let mine = self.of(Some(number));
            mine.cycles.merge(&others.cycles, factor);
            for (sum, cycles) in mine.lines.iter_mut().zip(others.lines) {
                *sum += cycles * factor;
            }
            mine.work.merge(&others.work.scaled(factor));
        }
    }

    /// Scales all costs by `factor`.
    pub fn scaled(&self, factor: f64) -> Attribution {
        let mut all = Attribution::default();
        all.merge(self, factor);
        all
    }

    /// Notes a piece of code: its work, and the cycles by which it makes its iteration longer.
    pub fn note(&mut self, origin: Option<usize>, work: &Work, added_cycles: f64) {
        let of = self.of(origin);
        of.work.merge(work);
        // The waits of accesses noted since the last piece are part of these cycles.
        let far = added_cycles.clamp(0.0, std::mem::take(&mut of.waits));
        of.cycles.add(Limit::Lines(of.main_level()), far);
        of.cycles.add(Limit::Latency, added_cycles.max(0.0) - far);
    }

    /// Adds the cycles of the cache lines that an access touches to the access's origin. Call it before
    /// [`Attribution::note`] for the same piece of code. Stores do not wait for cache lines.
    pub fn note_access(
        &mut self,
        origin: Option<usize>,
        is_load: bool,
        residency: &Residency,
        machine: &Machine,
    ) {
        let of = self.of(origin);
        for cost in residency.costs(machine).filter(|cost| cost.busy > 0.0 || cost.wait > 0.0) {
            let holding = machine.caches.iter().position(|cache| cache.bytes >= cost.bytes);
            let level =
                holding.unwrap_or(machine.caches.len().saturating_sub(1)).clamp(1, MEMORY_LEVELS - 2) + 1;
            let wait = if is_load { cost.wait } else { 0.0 };
            of.lines[level] += cost.busy + wait;
            of.waits += wait;
        }
    }

    /// Gives the `elapsed` cycles of a loop to the origins inside. Their shares are proportional to their use
    /// of `resource` if it limits the loop, else to the cycles noted for them. The core issues `issue`
    /// instructions a cycle.
    pub fn distribute(&mut self, elapsed: f64, resource: Option<Resource>, issue: f64) {
        let Some(resource) = resource else {
            let all: f64 = self.0.iter().flat_map(|of| of.cycles.all()).sum();
            let factor = if all > 0.0 { elapsed / all } else { 0.0 };
            return self.0.iter_mut().for_each(|of| of.cycles.scale(factor));
        };
        let all: f64 = self.0.iter().map(|of| of.work.busy(resource, issue)).sum();
        for of in &mut self.0 {
            let share = if all > 0.0 { of.work.busy(resource, issue) / all } else { 0.0 };
            let limit = of.limit(resource);
            of.cycles = LimitCycles::default();
            of.cycles.add(limit, elapsed * share);
        }
    }

    /// Adds cycles for entering and leaving the code, which belong to no loop.
    pub fn note_call(&mut self, cycles: f64) {
        self.of(None).cycles.add(Limit::Call, cycles);
    }

    /// The limits of each origin with their cycles, in the order of the origins' numbers.
    pub fn limits(&self) -> impl Iterator<Item = Vec<(Limit, f64)>> + '_ {
        self.0.iter().map(|of| of.cycles.sorted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::InstructionKind;

    /// An attribution in which origin 1 waits for 30 cycles, and origin 2 waits for 10 and looks up for 8.
    fn noted() -> Attribution {
        let mut work = Work::default();
        work.add(InstructionKind::Shuffle, 8.0, 8.0);
        let mut attribution = Attribution::default();
        attribution.note(Some(1), &Work::default(), 30.0);
        attribution.note(Some(2), &work, 10.0);
        attribution
    }

    #[test]
    fn cycles_go_to_origins_by_what_limits_the_loop() {
        let mut by_latency = noted();
        by_latency.distribute(80.0, None, 4.0);
        let limits: Vec<_> = by_latency.limits().collect();
        let expected = [vec![], vec![(Limit::Latency, 60.0)], vec![(Limit::Latency, 20.0)]];
        assert_eq!(limits, expected);
        let mut by_resource = noted();
        by_resource.distribute(80.0, Some(Resource::Lookups), 4.0);
        let limits: Vec<_> = by_resource.limits().collect();
        assert_eq!(limits, [vec![], vec![], vec![(Limit::Lookups, 80.0)]]);
    }

    #[test]
    fn scaled_costs_merge() {
        let mut all = noted().scaled(2.0);
        all.merge(&noted(), 0.5);
        all.note_call(7.0);
        let limits: Vec<_> = all.limits().collect();
        let expected = [vec![(Limit::Call, 7.0)], vec![(Limit::Latency, 75.0)], vec![(Limit::Latency, 25.0)]];
        assert_eq!(limits, expected);
    }
}
