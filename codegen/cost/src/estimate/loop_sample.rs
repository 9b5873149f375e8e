//! Loops whose iterations are sampled: the choice of iterations to simulate, and the time of the loop, which
//! follows from theirs.

use crate::breakdown::Attribution;
use crate::machine::Machine;
use crate::work::Work;

/// Most interior iterations that are sampled when iterations differ, besides the first and the last one. With
/// six, the estimates of node sweeps for covtype, where trees of different classes alternate, were a third
/// too low.
const MOST_INTERIOR: u32 = 16;

/// Fractional part of the golden ratio. Its multiples modulo 1 spread evenly over the unit interval.
const GOLDEN_FRACTION: f64 = 0.618_033_988_749_895;

/// Exponent of the p-norm that combines the throughput bound and the latency bound. Larger exponents come
/// closer to the maximum of both bounds. If both are equal, an exponent of 3 adds 26%.
const NORM_EXPONENT: i32 = 3;

/// A simulated iteration of a loop.
#[derive(Debug)]
pub struct Iteration {
    /// Work of the iteration.
    pub work: Work,
    /// Latency of the iteration, in cycles, as if no other iteration overlapped with it.
    pub span: f64,
    /// Its costs by origin, if a breakdown is requested.
    pub attribution: Option<Attribution>,
}

impl Iteration {
    /// Whether an iteration takes the same work and time as another one.
    pub fn takes_as_long_as(&self, other: &Iteration) -> bool {
        self.work == other.work && self.span == other.span
    }
}

/// Weighted sums over the simulated iterations of a loop.
#[derive(Debug, Default)]
pub struct LoopSample {
    work: Work,
    /// Sum of the iterations' latencies, in cycles, each as if no other iteration overlapped with it.
    span: f64,
    /// Number of iterations that the sums represent.
    weight: f64,
    /// Costs by origin, if a breakdown is requested.
    attribution: Attribution,
    has_inner_loops: bool,
    /// Cycles from the end of an iteration to the end of the next one, if consecutive ones were simulated.
    distance: Option<f64>,
}

/// The time of all iterations of a loop, in cycles.
#[derive(Clone, Copy, Debug)]
pub struct LoopTime {
    /// Cycles from the first instruction to the last result.
    pub elapsed: f64,
    /// Cycles from the first instruction to the last result, if no resource of the core were scarce.
    pub latency_bound: f64,
}

impl LoopSample {
    /// The iterations to simulate between the first one and the last one, each with the number of iterations
    /// that it represents.
    pub fn interior(trips: f64) -> impl Iterator<Item = (f64, f64)> {
        let count = (trips - 2.0).clamp(0.0, f64::from(MOST_INTERIOR));
        let each = (trips - 2.0) / count.max(1.0);
        // The loop is cut into `count` equal parts, and one iteration of each is simulated, at a different
        // position in each part. Fixed positions could select trees of one class alone if classes alternate.
        (1..=count as u32).map(move |n| {
            let position = f64::from(n - 1) + (f64::from(n) * GOLDEN_FRACTION).fract();
            ((1.0 + position * each).floor(), each)
        })
    }

    /// Adds an iteration that represents `weight` iterations.
    pub fn add(&mut self, one: &Iteration, weight: f64) {
        self.work.merge(&one.work.scaled(weight));
        self.span += one.span * weight;
        self.weight += weight;
        if let Some(attribution) = &one.attribution {
            self.attribution.merge(attribution, weight);
        }
    }

    /// Sets the distance between the ends of consecutive iterations.
    pub fn set_distance(&mut self, cycles: f64) {
        self.distance = Some(cycles);
    }

    /// The sums of all `trips` iterations.
    pub fn scaled_to(mut self, trips: f64, has_inner_loops: bool) -> LoopSample {
        self.has_inner_loops = has_inner_loops;
        if self.weight > 0.0 && self.weight < trips {
            let factor = trips / self.weight;
            self.work = self.work.scaled(factor);
            self.span *= factor;
            self.attribution = self.attribution.scaled(factor);
        }
        self
    }

    /// The work of all iterations.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// The costs of all iterations by origin.
    pub fn into_attribution(self) -> Attribution {
        self.attribution
    }

    /// The time of all `trips` iterations on a machine. Iterations overlap if the window of instructions in
    /// flight allows it, but consecutive ones are at least `chain` cycles apart.
    pub fn time(&self, trips: f64, chain: f64, machine: &Machine) -> LoopTime {
        let one = self.span / trips;
        let bound = self.work.bound(machine.issue);
        let distance = self.distance.unwrap_or_else(|| {
            // While an iteration ends, the next iterations start if the instruction window has room for them.
            // Cycles in which inner loops occupy the core do not overlap.
            let instructions = self.work.instructions() / trips;
            let apart = instructions / (instructions + machine.window);
            let busy = (bound / trips).min(one);
            busy + (one - busy) * apart
        });
        let latency_bound = one + (trips - 1.0) * distance.max(chain);
        // With inner loops, the latency is a sum of their times, which already combine both bounds.
        let elapsed =
            if self.has_inner_loops { bound.max(latency_bound) } else { p_norm(bound, latency_bound) };
        LoopTime { elapsed, latency_bound }
    }
}

/// The p-norm of two bounds: the larger one, and more if both are close.
fn p_norm(a: f64, b: f64) -> f64 {
    let largest = a.max(b);
    if largest <= 0.0 {
        return 0.0;
    }
    let power = |bound: f64| (bound / largest).powi(NORM_EXPONENT);
    largest * (power(a) + power(b)).powf(1.0 / f64::from(NORM_EXPONENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use crate::operation::InstructionKind;

    #[test]
    fn sampled_iterations_stand_for_all() {
        for trips in [2.0, 3.0, 18.0, 19.0, 800.0] {
            let interior: Vec<_> = LoopSample::interior(trips).collect();
            let weight: f64 = interior.iter().map(|(_, weight)| weight).sum();
            assert!((2.0 + weight - trips).abs() < 1e-9, "{trips}: {interior:?}");
            assert!(interior.iter().all(|(at, _)| (1.0..trips - 1.0).contains(at)), "{trips}: {interior:?}");
            assert!(interior.is_sorted_by(|one, next| one.0 <= next.0), "{trips}: {interior:?}");
        }
    }

    #[test]
    fn two_equal_bounds_add_a_quarter() {
        assert!((p_norm(100.0, 100.0) - 126.0).abs() < 0.1);
        assert!((p_norm(100.0, 10.0) - 100.0).abs() < 0.1);
        assert_eq!(p_norm(0.0, 0.0), 0.0);
    }

    #[test]
    fn carried_values_keep_iterations_apart() {
        let machine = Machine::like("znver4", Level::V4);
        let mut work = Work::default();
        work.add(InstructionKind::Vector, 1.0, 1.0);
        let mut sample = LoopSample::default();
        sample.add(&Iteration { work, span: 20.0, attribution: None }, 1.0);
        sample.set_distance(2.0);
        let sample = sample.scaled_to(100.0, false);
        let latency = |chain| sample.time(100.0, chain, &machine).latency_bound;
        assert_eq!([latency(0.0), latency(2.0), latency(10.0)], [218.0, 218.0, 1010.0]);
        let time = sample.time(100.0, 10.0, &machine);
        assert!(time.elapsed > time.latency_bound && time.elapsed < 1.01 * time.latency_bound);
    }
}
