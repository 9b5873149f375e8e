//! The pass over loops.

use super::Estimator;
use super::loop_sample::{LoopSample, LoopTime};
use super::recurrence::Recurrence;
use crate::memory::LoopAround;
use crate::value::{Dependences, StaticValue, ValueState};
use crate::work::Work;
use sched_ir::lir::{For, Parallel, Value, While};

/// Instructions of a loop's control: an addition to the counter, and a fused compare-and-branch.
const LOOP_CONTROL: f64 = 2.0;

impl Estimator<'_> {
    /// Estimates a counted loop.
    pub(super) fn for_loop(&mut self, this: &For, work: &mut Work) {
        let (lo, hi) = (self.values.get(this.lo).content, self.values.get(this.hi).content);
        self.loops.decide_by(lo.dependences | hi.dependences);
        let begin = lo.int.unwrap_or(0);
        let trips = match (lo.int, hi.int) {
            (Some(lo), Some(hi)) => ((hi - lo).max(0) as f64 / this.step as f64).ceil(),
            _ => 1.0,
        };
        let depth = self.loops.depth();
        let mut recurrence = Recurrence::new(&this.carried, depth);
        if trips < 1.0 {
            return recurrence.skip(&mut self.values, &mut self.timeline);
        }
        let sample = self.iterations(LoopAround { name: this.iv, trips }, |estimator, at| {
            let mut counter = lo;
            counter.int = Some(begin + this.step * at as i64);
            counter.set_slope(depth, this.step as f32);
            counter.dependences = counter.dependences | Dependences::with_loop(depth);
            estimator.define_counter(this.iv, counter);
            recurrence.enter(&mut estimator.values, &mut estimator.timeline, &estimator.loops, at);
            let mut work = estimator.block(&this.body);
            estimator.add_loop_control(this.iv, &mut work);
            if at == 0.0 {
                recurrence.measure_growth(&estimator.values);
            }
            recurrence.measure_chain(&estimator.values);
            work
        });
        let time = sample.time(trips, recurrence.chain(), self.machine);
        self.overlap_following_code(time.elapsed, sample.work().instructions());
        work.merge(sample.work());
        self.attribute(sample, time);
        recurrence.leave(&mut self.values, &mut self.timeline, time.elapsed, trips);
        recurrence.set_totals(&mut self.values, trips, hi.dependences);
    }

    /// Estimates a loop whose iterations are divided among threads.
    pub(super) fn parallel_loop(&mut self, this: &Parallel, work: &mut Work) {
        let trip = self.values.get(this.trip).content;
        self.loops.decide_by(trip.dependences);
        let trips = trip.int.unwrap_or(1).max(0) as f64;
        if trips < 1.0 {
            return;
        }
        let depth = self.loops.depth();
        let sample = self.iterations(LoopAround { name: this.iv, trips }, |estimator, at| {
            let mut counter = StaticValue::constant(at as i64);
            counter.set_slope(depth, 1.0);
            counter.dependences = Dependences::with_loop(depth);
            estimator.define_counter(this.iv, counter);
            estimator.block(&this.body)
        });
        let threads = (self.call.threads as f64).min(trips);
        // Threads run whole iterations, so the busiest one may have more than its share.
        let share = (trips / threads).ceil() / trips;
        let mut time = sample.time(trips, 0.0, self.machine);
        time.elapsed *= share;
        let mut own = sample.work().scaled(share);
        if threads > 1.0 {
            own.add_serial(self.machine.wake);
        }
        work.merge(&own);
        self.attribute(sample, time);
        self.timeline.lengthen(time.elapsed);
    }

    /// Estimates a loop of walks, which takes the expected number of steps.
    pub(super) fn while_loop(&mut self, this: &While, work: &mut Work) {
        let Some(first) = this.carried.first().map(|carried| carried.inside) else { return };
        let lanes = this.carried.iter().map(|carried| f64::from(self.function.ty(carried.inside).lanes));
        let walks = lanes.sum::<f64>().max(1.0);
        let expected = self.call.shape.steps(walks, this.walk_steps);
        let trips = expected.steps.max(1.0);
        let mut recurrence = Recurrence::new(&this.carried, self.loops.depth());
        let sample = self.iterations(LoopAround { name: first, trips }, |estimator, _| {
            recurrence.enter(&mut estimator.values, &mut estimator.timeline, &estimator.loops, 0.0);
            recurrence.mark_data(&mut estimator.values);
            let mut work = estimator.block(&this.test);
            let body = estimator.block(&this.body);
            work.merge(&body);
            estimator.add_loop_control(first, &mut work);
            recurrence.measure_chain(&estimator.values);
            work
        });
        let time = sample.time(trips, recurrence.chain(), self.machine);
        let mut all = *sample.work();
        self.overlap_following_code(time.elapsed, all.instructions());
        // After a misprediction, no later instruction runs before the loop's last comparison has its result.
        let mispredicted = expected.misprediction * (time.elapsed + self.machine.mispredict);
        all.add_serial(mispredicted);
        work.merge(&all);
        self.attribute(sample, time);
        self.profiler.note(first, &Work::serial(mispredicted), 0.0);
        recurrence.leave(&mut self.values, &mut self.timeline, time.elapsed, expected.steps);
        recurrence.mark_data_after(&mut self.values);
    }

    fn define_counter(&mut self, counter: Value, content: StaticValue) {
        let ready = self.timeline.earliest_start();
        self.define(counter, ValueState { content, ready, chain: None });
    }

    /// Adds the loop's own instructions to an iteration.
    fn add_loop_control(&mut self, counter: Value, work: &mut Work) {
        work.add_instructions(LOOP_CONTROL);
        let mut own = Work::default();
        own.add_instructions(LOOP_CONTROL);
        self.profiler.note(counter, &own, 0.0);
    }

    /// Raises the first cycle for the code after a loop of `elapsed` cycles. That code overlaps with the end
    /// of the loop if [`Machine::window`](crate::Machine) has room for its instructions.
    fn overlap_following_code(&mut self, elapsed: f64, instructions: f64) {
        let passed = elapsed * instructions / (instructions + self.machine.window);
        self.timeline.raise_earliest_start(self.timeline.latest() + passed);
    }

    /// Gives the cycles of a loop to the origins of its code.
    fn attribute(&mut self, sample: LoopSample, time: LoopTime) {
        let (work, issue) = (*sample.work(), self.machine.issue);
        let is_busy = work.bound(issue) >= time.latency_bound;
        let resource = is_busy.then(|| work.bottleneck(issue));
        self.profiler.add_loop(sample.into_attribution(), time.elapsed, resource, issue);
    }
}
