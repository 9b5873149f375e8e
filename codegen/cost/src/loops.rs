//! Loops: how many iterations there are, and how much one hides behind others.

use crate::breakdown::Told;
use crate::operation::Kind;
use crate::read::Reader;
use crate::value::{Known, Varies};
use crate::work::Work;
use sched_ir::lir::{Carried, For, Parallel, While};

/// Iterations that stand for others where they differ, besides the first and the last.
const BETWEEN: u32 = 16;
/// The golden ratio's part behind the point, whose multiples are spread evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;
/// How little two limits of a core add to each other: the power of their mean.
const SHARPNESS: i32 = 3;
/// Instructions to count and to go on.
pub const COUNTING: f64 = 2.0;

/// The iterations of a loop, of which some were read.
#[derive(Debug, Default)]
pub struct Sampled {
    work: Work,
    span: f64,
    weight: f64,
    /// What is told of their origins, if it is asked for.
    pub told: Told,
    /// Whether there are loops inside.
    pub has_loops: bool,
    /// Cycles from one iteration to the next, if they have been read one after the other.
    pub following: Option<f64>,
}

impl Sampled {
    /// Adds an iteration that stands for so many.
    pub fn add(&mut self, work: &Work, span: f64, weight: f64) {
        self.work.and(&work.times(weight));
        self.span += span * weight;
        self.weight += weight;
    }

    /// The iterations that are read besides the first, and how many each stands for. The first counts for one.
    pub fn others(trips: f64) -> Vec<(f64, f64)> {
        let last = trips - 1.0;
        let between = (trips - 2.0).clamp(0.0, f64::from(BETWEEN));
        let each = (trips - 2.0) / between.max(1.0);
        // One of each part of the loop, at another place of each: trees of several classes take turns.
        let inner = (1..=between as u32).map(|n| {
            let place = f64::from(n - 1) + (f64::from(n) * GOLDEN).fract();
            ((1.0 + place * each).floor(), each)
        });
        inner.chain((last >= 1.0).then_some((last, 1.0))).collect()
    }

    /// All iterations.
    pub fn scaled(mut self, trips: f64) -> Sampled {
        if self.weight > 0.0 && self.weight < trips {
            self.work = self.work.times(trips / self.weight);
            self.span *= trips / self.weight;
            self.told = self.told.times(trips / self.weight);
        }
        self
    }

    /// The work of all.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// The cycles of all iterations, each alone.
    pub fn span(&self) -> f64 {
        self.span
    }
}

/// What two limits amount to: the larger one, and more where both are close.
fn together(a: f64, b: f64) -> f64 {
    let largest = a.max(b);
    if largest <= 0.0 {
        return 0.0;
    }
    largest * ((a / largest).powi(SHARPNESS) + (b / largest).powi(SHARPNESS)).powf(1.0 / f64::from(SHARPNESS))
}

impl Reader<'_> {
    pub(crate) fn for_loop(&mut self, this: &For, work: &mut Work) {
        let (lo, hi) = (self.get(this.lo), self.get(this.hi));
        self.sensitive = self.sensitive | (lo.varies | hi.varies).without(Varies::DATA);
        let first = lo.int.unwrap_or(0);
        let trips = match (lo.int, hi.int) {
            (Some(lo), Some(hi)) => ((hi - lo).max(0) as f64 / this.step as f64).ceil(),
            _ => 1.0,
        };
        if trips < 1.0 {
            return self.skip(&this.carried);
        }
        let depth = self.around.len();
        let mut chain: f64 = 0.0;
        let mut growth = Vec::new();
        let sampled = self.iterations(this.iv, trips, |reader, at| {
            let mut slopes = lo.slopes;
            if let Some(slope) = slopes.get_mut(depth) {
                *slope = this.step as f32;
            }
            let int = Some(first + this.step * at as i64);
            let varies = lo.varies | Varies::with_loop(depth);
            let ready = reader.floor;
            reader.set(this.iv, Known { int, slopes, varies, ready, chain: None });
            reader.carry_in(&this.carried, depth + 1, at, &growth);
            let mut work = reader.block(&this.body);
            work.add(Kind::Scalar, 0.0, COUNTING);
            reader.note_counting(this.iv);
            if at == 0.0 {
                growth = reader.growth(&this.carried);
            }
            chain = chain.max(reader.chain_of(&this.carried, depth + 1));
            work
        });
        let (elapsed, waiting) = self.elapsed(&sampled, trips, chain);
        self.go_on_after(elapsed, sampled.work().instructions);
        work.and(sampled.work());
        self.tell(sampled, waiting, elapsed);
        self.carry_out(&this.carried, elapsed, chain * trips);
        for (carried, growth) in this.carried.iter().zip(growth) {
            let first = self.get(carried.first);
            let mut after = self.get(carried.after);
            after.int = first.int.zip(growth).map(|(first, growth)| first + growth * trips as i64);
            after.slopes = first.slopes;
            after.varies = (after.varies | hi.varies).without(Varies::with_loop(depth));
            self.set(carried.after, after);
        }
    }

    pub(crate) fn parallel(&mut self, this: &Parallel, work: &mut Work) {
        let trip = self.get(this.trip);
        self.sensitive = self.sensitive | trip.varies.without(Varies::DATA);
        let trips = trip.int.unwrap_or(1).max(0) as f64;
        if trips < 1.0 {
            return;
        }
        let depth = self.around.len();
        let sampled = self.iterations(this.iv, trips, |reader, at| {
            let mut slopes = Known::default().slopes;
            if let Some(slope) = slopes.get_mut(depth) {
                *slope = 1.0;
            }
            let (varies, ready) = (Varies::with_loop(depth), reader.floor);
            reader.set(this.iv, Known { int: Some(at as i64), slopes, varies, ready, chain: None });
            reader.block(&this.body)
        });
        let threads = (self.call.threads as f64).min(trips);
        // The busiest thread has whole iterations.
        let share = (trips / threads).ceil() / trips;
        let (elapsed, waiting) = self.elapsed(&sampled, trips, 0.0);
        let elapsed = elapsed * share;
        let mut shared = sampled.work().times(share);
        if threads > 1.0 {
            shared.serial += self.machine.wake;
        }
        work.and(&shared);
        self.tell(sampled, waiting, elapsed);
        self.latest += elapsed;
    }

    pub(crate) fn while_loop(&mut self, this: &While, work: &mut Work) {
        let lanes: f64 =
            this.carried.iter().map(|carried| f64::from(self.function.ty(carried.inside).lanes)).sum();
        let expected = self.call.facts.steps(lanes.max(1.0), this.walks);
        let depth = self.around.len();
        let mut chain: f64 = 0.0;
        let Some(first) = this.carried.first() else { return };
        let sampled = self.iterations(first.inside, expected.steps.max(1.0), |reader, _| {
            reader.carry_in(&this.carried, depth + 1, 0.0, &[]);
            for carried in &this.carried {
                let mut known = reader.get(carried.inside);
                known.varies = known.varies | Varies::DATA;
                reader.set(carried.inside, known);
            }
            let mut work = reader.block(&this.test);
            let body = reader.block(&this.body);
            work.and(&body);
            work.add(Kind::Scalar, 0.0, COUNTING);
            reader.note_counting(first.inside);
            chain = chain.max(reader.chain_of(&this.carried, depth + 1));
            work
        });
        let (elapsed, waiting) = self.elapsed(&sampled, expected.steps.max(1.0), chain);
        let mut all = *sampled.work();
        self.go_on_after(elapsed, all.instructions);
        // Until the end is known, nothing behind it goes on where the guess was wrong.
        let wrong = expected.surprise * (elapsed + self.machine.mispredict);
        all.serial += wrong;
        work.and(&all);
        self.tell(sampled, waiting, elapsed);
        self.note_branches(first.inside, wrong);
        self.carry_out(&this.carried, elapsed, chain * expected.steps);
        for carried in &this.carried {
            let mut known = self.get(carried.after);
            (known.int, known.varies) = (None, known.varies | Varies::DATA);
            self.set(carried.after, known);
        }
    }

    /// Cycles of a loop from its first instruction to its last result: iterations overlap as far as there are instructions in
    /// flight, and as what they carry allows. The second number is what they are without what iterations share.
    fn elapsed(&self, sampled: &Sampled, trips: f64, chain: f64) -> (f64, f64) {
        let one = sampled.span() / trips;
        let instructions = sampled.work().instructions / trips;
        let bound = sampled.work().bound(self.machine.issue);
        let next = sampled.following.unwrap_or_else(|| {
            // While one iteration ends, the next ones have begun as far as there is room for their instructions. What loops inside
            // keep busy is in their time already, and does not hide.
            let alone = instructions / (instructions + self.machine.window);
            let busy = (bound / trips).min(one);
            busy + (one - busy) * alone
        });
        let waiting = one + (trips - 1.0) * next.max(chain);
        // What loops inside have waited for is in the sum of their times.
        (if sampled.has_loops { bound.max(waiting) } else { together(bound, waiting) }, waiting)
    }

    /// What follows a loop begins when there is room for it.
    fn go_on_after(&mut self, elapsed: f64, instructions: f64) {
        let passed = elapsed * instructions / (instructions + self.machine.window);
        self.floor = self.floor.max(self.latest + passed);
    }

    /// What a loop carries, at the beginning of an iteration, if numbers grow by so much with each.
    fn carry_in(&mut self, carried: &[Carried], depth: usize, at: f64, growth: &[Option<i64>]) {
        for (n, one) in carried.iter().enumerate() {
            let first = self.get(one.first);
            let ready = self.floor.max(if self.follows { self.get(one.next).ready } else { first.ready });
            let varies = first.varies | Varies::with_loop(depth - 1);
            let growth = growth.get(n).copied().unwrap_or((at == 0.0).then_some(0));
            let int = first.int.zip(growth).map(|(first, growth)| first + growth * at as i64);
            let mut slopes = first.slopes;
            if let Some(slope) = slopes.get_mut(depth - 1) {
                *slope = growth.unwrap_or(0) as f32;
            }
            self.set(one.inside, Known { int, slopes, varies, ready, chain: Some((depth, 0.0)) });
        }
    }

    /// How much the numbers that a loop carries grow in its first iteration.
    fn growth(&self, carried: &[Carried]) -> Vec<Option<i64>> {
        let of = |one: &Carried| Some(self.get(one.next).int? - self.get(one.inside).int?);
        carried.iter().map(of).collect()
    }

    /// Cycles from what a loop carries into an iteration to what it carries into the next.
    fn chain_of(&self, carried: &[Carried], depth: usize) -> f64 {
        let chains = carried.iter().filter_map(|one| self.get(one.next).chain);
        chains.filter(|(of, _)| *of == depth).map(|(_, cycles)| cycles).fold(0.0, f64::max)
    }

    fn carry_out(&mut self, carried: &[Carried], elapsed: f64, chain: f64) {
        let ready = self.latest + elapsed;
        for one in carried {
            let (first, next) = (self.get(one.first), self.get(one.next));
            let chain = first.chain.map(|(of, cycles)| (of, cycles + chain));
            let varies = first.varies | next.varies;
            self.set(one.after, Known { varies, ready, chain, ..Known::default() });
        }
        self.latest = self.latest.max(ready);
    }

    /// A loop without iterations.
    fn skip(&mut self, carried: &[Carried]) {
        for one in carried {
            let first = self.get(one.first);
            self.set(one.after, first);
        }
    }
}
