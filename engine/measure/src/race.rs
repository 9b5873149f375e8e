//! Races: compiled schedules are timed in turns on the same calls.

use crate::calls::{Contender, Workload, clock, now, time_calls, warm_up};
use crate::samples::Quartiles;
use rustix::time::ClockId;
use schedc_driver::{Failure, RowMemory};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Wall-clock time limit of a race, as a multiple of its budget of processor time.
const WALL_CLOCK_FACTOR: u32 = 3;
/// Samples of each contender that the equal division of the budget does not limit.
const UNDIVIDED_SAMPLES: usize = 3;
/// Samples at least this long need no warm-up call: refilling the caches is a negligible part of them.
const WARM_UP_FREE_SAMPLE: Duration = Duration::from_millis(20);

/// The limits of a race.
#[derive(Clone, Copy, Debug)]
pub struct RaceLimits {
    /// Most samples of a contender.
    pub max_samples: u32,
    /// Samples of a contender that the budget does not limit. More give a spread within a small budget, and
    /// exceed it by the time of these samples.
    pub min_samples: usize,
    /// Shortest duration of a sample. It is long against the clock's resolution.
    pub min_sample: Duration,
    /// The time after which no further turn begins. Every contender still has its first `min_samples` turns.
    /// `None`: no limit.
    pub budget: Option<Duration>,
    /// Ratio to the fastest contender's time above which a contender drops out. With few samples the ratio
    /// must be larger.
    pub drop_out_ratio: Option<f64>,
}

impl Default for RaceLimits {
    fn default() -> RaceLimits {
        RaceLimits {
            max_samples: 15,
            min_samples: 1,
            min_sample: Duration::from_millis(2),
            budget: None,
            drop_out_ratio: None,
        }
    }
}

/// The progress of a race, for display.
#[derive(Clone, Copy, Debug)]
pub struct RaceProgress {
    /// Samples taken so far.
    pub samples: usize,
    /// Samples at the end, if no contender falls behind and the time suffices.
    pub max_samples: usize,
    /// The fastest contender so far, with the time of a row in microseconds.
    pub best: Option<(usize, f64)>,
    /// The spent part of the budget.
    pub elapsed: Duration,
}

/// The samples of a contender.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timing {
    /// Times of one row, in microseconds, in the order in which they were taken.
    pub samples: Vec<f64>,
    /// Whether the contender dropped out, because it was clearly slower than the fastest.
    pub fell_behind: bool,
}

impl Timing {
    /// Median and quartiles of the samples; `None` if the race ended before the first sample.
    pub fn quartiles(&self) -> Option<Quartiles> {
        Quartiles::of(&self.samples)
    }

    fn min_sample_time(&self) -> Option<f64> {
        self.samples.iter().copied().min_by(f64::total_cmp)
    }
}

/// Times contenders in turns. Calls `watch` after each sample; if it ends the race, returns the timings so
/// far.
///
/// # Errors
///
/// When a call fails, for example because there is no GPU.
pub fn race(
    contenders: &[Contender],
    workload: &Workload,
    limits: &RaceLimits,
    watch: &mut dyn FnMut(&RaceProgress) -> ControlFlow<()>,
) -> Result<Vec<Timing>, Failure> {
    let clock = clock(workload.threads, contenders.iter().any(|contender| contender.on_device));
    let mut race = RunningRace::new(contenders.len(), *limits, clock);
    let mut calls = Vec::with_capacity(contenders.len());
    for contender in contenders {
        // Calibration comes before the first sample: `watch` may end the race here, too.
        if watch(&race.progress()).is_break() {
            return Ok(race.timings);
        }
        // The first call on a GPU loads the code, while the GPU waits.
        if workload.rows_in == RowMemory::Device {
            warm_up(contender, workload, clock)?;
        }
        let (number, spent) = calibrate(contender, workload, limits.min_sample, clock)?;
        // Within a budget, a call that is as long as a sample counts as the first sample.
        if limits.budget.is_some() && number == 1 {
            race.add_sample(calls.len(), spent, workload.batch);
        }
        calls.push((number, spent));
    }
    for _ in 0..limits.max_samples {
        for (at, (contender, (calls, takes))) in contenders.iter().zip(&calls).enumerate() {
            if !race.has_turn(at) {
                continue;
            }
            // Other contenders ran since its last turn: one call outside of the sample refills the caches.
            if contenders.len() > 1 && *takes < WARM_UP_FREE_SAMPLE {
                warm_up(contender, workload, clock)?;
            }
            let spent = time_calls(contender, workload, *calls, clock)?;
            race.add_sample(at, spent, *calls * workload.batch);
            if watch(&race.progress()).is_break() {
                return Ok(race.timings);
            }
        }
        race.drop_slow_contenders();
    }
    Ok(race.timings)
}

/// The state of a race.
struct RunningRace {
    limits: RaceLimits,
    began: Instant,
    /// The clock of the samples, and its time at the beginning.
    clock: (ClockId, Duration),
    timings: Vec<Timing>,
    /// Time spent on each contender's samples.
    spent: Vec<Duration>,
}

impl RunningRace {
    fn new(contenders: usize, limits: RaceLimits, clock: ClockId) -> RunningRace {
        RunningRace {
            limits,
            began: Instant::now(),
            clock: (clock, now(clock)),
            timings: vec![Timing::default(); contenders],
            spent: vec![Duration::ZERO; contenders],
        }
    }

    /// The spent part of the budget. Processor time, if samples are timed by it, so that other programs do
    /// not reduce the number of samples; wall-clock time counts from [`WALL_CLOCK_FACTOR`] budgets on.
    fn elapsed(&self) -> Duration {
        let (clock, at_first) = self.clock;
        now(clock).saturating_sub(at_first).max(self.began.elapsed() / WALL_CLOCK_FACTOR)
    }

    /// Whether a contender has another turn. A contender with long calls has no more turns once its part of
    /// the budget is spent.
    fn has_turn(&self, at: usize) -> bool {
        let (Some(timing), Some(spent)) = (self.timings.get(at), self.spent.get(at)) else { return false };
        let Some(budget) = self.limits.budget else { return !timing.fell_behind };
        let share = budget / u32::try_from(self.timings.len()).unwrap_or(u32::MAX).max(1);
        let in_time = self.elapsed() < budget && (timing.samples.len() < UNDIVIDED_SAMPLES || *spent < share);
        !timing.fell_behind && (timing.samples.len() < self.limits.min_samples || in_time)
    }

    fn add_sample(&mut self, at: usize, spent: Duration, rows: usize) {
        // At least a nanosecond: later code takes logarithms and reciprocals.
        let micros = spent.max(Duration::from_nanos(1)).as_secs_f64() * 1e6;
        if let (Some(timing), Some(all)) = (self.timings.get_mut(at), self.spent.get_mut(at)) {
            timing.samples.push(micros / rows as f64);
            *all += spent;
        }
    }

    /// Marks contenders that are clearly slower than the fastest. Compares minimum times, on which other load
    /// of the machine has little influence.
    fn drop_slow_contenders(&mut self) {
        let (Some(behind), Some((_, best))) = (self.limits.drop_out_ratio, self.best()) else { return };
        for timing in &mut self.timings {
            let slack = 1.0 + 1.0 / timing.samples.len().max(1) as f64;
            timing.fell_behind |= timing.min_sample_time().is_some_and(|least| least > best * behind * slack);
        }
    }

    fn best(&self) -> Option<(usize, f64)> {
        let least =
            self.timings.iter().enumerate().filter_map(|(at, timing)| Some((at, timing.min_sample_time()?)));
        least.min_by(|one, two| one.1.total_cmp(&two.1))
    }

    fn progress(&self) -> RaceProgress {
        RaceProgress {
            samples: self.timings.iter().map(|timing| timing.samples.len()).sum(),
            max_samples: self.timings.len() * self.limits.max_samples as usize,
            best: self.best(),
            elapsed: self.elapsed(),
        }
    }
}

/// Doubles the number of calls until they last as long as a sample. Returns the number and the time of its
/// calls.
fn calibrate(
    contender: &Contender,
    workload: &Workload,
    wanted: Duration,
    clock: ClockId,
) -> Result<(usize, Duration), Failure> {
    let mut calls = 1;
    loop {
        let spent = time_calls(contender, workload, calls, clock)?;
        if spent >= wanted || calls >= 1 << 24 {
            return Ok((calls, spent));
        }
        calls *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::{ClockId, RaceLimits, RunningRace, Timing};
    use std::time::Duration;

    fn race(limits: RaceLimits, micros: &[&[u64]]) -> RunningRace {
        let mut race = RunningRace::new(micros.len(), limits, ClockId::Monotonic);
        for (at, samples) in micros.iter().enumerate() {
            samples.iter().for_each(|sample| race.add_sample(at, Duration::from_micros(*sample), 10));
        }
        race
    }

    #[test]
    fn samples_are_times_of_a_row() {
        let race = race(RaceLimits::default(), &[&[20, 30], &[0]]);
        assert_eq!(race.timings[0], Timing { samples: vec![2.0, 3.0], fell_behind: false });
        assert!(race.timings[1].samples[0] > 0.0);
        let progress = race.progress();
        assert_eq!(
            (progress.samples, progress.max_samples, progress.best.map(|best| best.0)),
            (3, 30, Some(1))
        );
    }

    #[test]
    fn clearly_slower_contenders_have_no_more_turns() {
        let limits = RaceLimits { drop_out_ratio: Some(1.25), ..RaceLimits::default() };
        // After one sample more than 2.5 times the time of the fastest, after four more than 1.56 times.
        let mut early = race(limits, &[&[100], &[240], &[260]]);
        early.drop_slow_contenders();
        assert_eq!([0, 1, 2].map(|at| early.has_turn(at)), [true, true, false]);
        let mut late = race(limits, &[&[100; 4], &[150; 4], &[160; 4]]);
        late.drop_slow_contenders();
        assert_eq!([0, 1, 2].map(|at| late.has_turn(at)), [true, true, false]);
        let mut patient = race(RaceLimits::default(), &[&[100], &[900]]);
        patient.drop_slow_contenders();
        assert!(patient.has_turn(1));
    }

    #[test]
    fn long_calls_leave_time_to_others() {
        let limits = RaceLimits { budget: Some(Duration::from_secs(1000)), ..RaceLimits::default() };
        let second = 1_000_000;
        let race = race(limits, &[&[second; 3], &[400 * second; 2], &[400 * second; 3]]);
        assert_eq!([0, 1, 2].map(|at| race.has_turn(at)), [true, true, false]);
    }

    #[test]
    fn each_contender_has_a_sample_when_the_budget_is_spent() {
        let limits = RaceLimits { budget: Some(Duration::ZERO), ..RaceLimits::default() };
        let race = race(limits, &[&[100], &[]]);
        assert_eq!([0, 1].map(|at| race.has_turn(at)), [false, true]);
        let several = RunningRace { limits: RaceLimits { min_samples: 3, ..limits }, ..race };
        assert_eq!([0, 1].map(|at| several.has_turn(at)), [true, true]);
    }
}
