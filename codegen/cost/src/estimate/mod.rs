//! Estimates: cycles of a call, from two passes over the statements of a kernel.
//!
//! A pass visits statements in program order, as a core would run them, and one iteration of a loop for all
//! iterations like it. The first pass records the accesses to memory. From these follow the bytes that each
//! loop touches. The second pass adds up cycles. [`Estimator`] has one part for each idea:
//!
//! | part | knows |
//! |---|---|
//! | [`prepared::PreparedKernel`] | the costs of operations, and loads from the same address |
//! | [`values::ValueStates`] | the integers that need no data, and when results are available |
//! | [`MemoryModel`] | sizes of buffers, and the level of the caches that serves an access |
//! | [`timeline::Timeline`] | the cycles that the current code covers, and the instructions in flight |
//! | [`loop_stack::LoopStack`] | loops around the statement, and whether their iterations differ |
//! | [`steady::SteadyStates`] | the distance between iterations of innermost loops |
//! | [`Profiler`] | the cycles of each loop of the nest, if a breakdown is requested |
//!
//! Loops are estimated in `loops.rs`. There, [`loop_sample::LoopSample`] derives the time of all iterations
//! from the simulated ones, and [`recurrence::Recurrence`] knows the values that an iteration passes on.

mod costs;
mod folded;
mod in_flight;
mod loop_sample;
mod loop_stack;
mod loops;
mod prepared;
mod recurrence;
mod reuse;
mod steady;
mod timeline;
mod values;

pub use prepared::PreparedKernel;

use costs::{OperationCost, OperationCosts};
use loop_sample::{Iteration, LoopSample};
use loop_stack::LoopStack;
use steady::{SteadyState, SteadyStates};
use timeline::Timeline;
use values::ValueStates;

use crate::breakdown::Profiler;
use crate::call::KernelCall;
use crate::machine::Machine;
use crate::memory::{LoopAround, MemoryModel, MemoryOperand};
use crate::value::{DependenceChain, StaticValue, ValueState};
use crate::work::Work;
use sched_ir::lir::{Address, Alloc, Block, Function, If, Op, Stmt, Value};

/// Fewest consecutive iterations that are simulated to find the steady-state distance between iterations.
/// Half of them fill the queues and do not count.
const LEAST_CONSECUTIVE: usize = 3;

/// Instructions that are simulated to find the steady-state distance, as a multiple of the length of the
/// machine's reorder buffer. The first buffer's worth of instructions fills the queues, the second one is
/// measured. More would make estimates slower.
const BUFFERS_SIMULATED: f64 = 2.0;

/// Instructions that allocate one temporary buffer: an assumption, not measured. They matter only in calls of
/// few rows.
const ALLOCATION_INSTRUCTIONS: f64 = 40.0;

/// Estimates the cycles of a function's code on a machine, for one call.
pub struct Estimator<'a> {
    function: &'a Function,
    machine: &'a Machine,
    call: KernelCall<'a>,
    costs: &'a OperationCosts,
    values: ValueStates<'a>,
    memory: MemoryModel,
    timeline: Timeline,
    loops: LoopStack,
    steady_states: SteadyStates,
    profiler: Profiler<'a>,
}

impl<'a> Estimator<'a> {
    /// An estimator for the first pass, which records accesses to memory.
    pub fn new(kernel: &'a PreparedKernel<'a>, call: KernelCall<'a>) -> Estimator<'a> {
        let PreparedKernel { module, function, machine, costs, loads } = kernel;
        Estimator {
            function,
            machine,
            call,
            costs,
            values: ValueStates::new(module, function, loads, call),
            memory: MemoryModel::new(module, function, call),
            timeline: Timeline::new(machine),
            loops: LoopStack::default(),
            steady_states: SteadyStates::default(),
            profiler: Profiler::new(&function.origins, false),
        }
    }

    /// The estimator for the second pass. It knows which level of memory serves each access that the first
    /// pass recorded.
    pub fn into_second_pass(self, is_profiled: bool) -> Estimator<'a> {
        Estimator {
            values: self.values.reset(),
            memory: self.memory.place_accesses(self.function, self.machine),
            timeline: Timeline::new(self.machine),
            loops: LoopStack::default(),
            profiler: Profiler::new(&self.function.origins, is_profiled),
            ..self
        }
    }

    /// Estimates statements in order, and returns their work.
    pub fn block(&mut self, block: &Block) -> Work {
        let mut work = Work::default();
        for stmt in block {
            self.statement(stmt, &mut work);
        }
        work
    }

    /// Cycle in which the last result is available.
    pub fn latest(&self) -> f64 {
        self.timeline.latest()
    }

    /// The profiler after the pass.
    pub fn into_profiler(self) -> Profiler<'a> {
        self.profiler
    }

    fn statement(&mut self, stmt: &Stmt, work: &mut Work) {
        match stmt {
            Stmt::Let(value, op) => {
                self.profile_statement(*value, work, |estimator, work| estimator.operation(*value, op, work));
            }
            Stmt::Store(at, value) | Stmt::StoreMasked(at, value, _) | Stmt::AtomicAdd(at, value) => {
                let defined_last = at.index.max(*value);
                self.profile_statement(defined_last, work, |estimator, work| {
                    estimator.store(at, *value, work)
                });
            }
            Stmt::Prefetch(_) => {
                let OperationCost { kind, busy, instructions, .. } = costs::prefetch(self.machine);
                work.add(kind, busy, instructions);
            }
            Stmt::For(this) => self.for_loop(this, work),
            Stmt::While(this) => self.while_loop(this, work),
            Stmt::If(this) => self.branch(this, work),
            Stmt::Parallel(this) => self.parallel_loop(this, work),
            Stmt::Alloc(this) => self.alloc(this, work),
            // Statements of GPU kernels have no cost here, since the module `gpu` estimates launches.
            Stmt::Launch(_) | Stmt::Barrier | Stmt::Fence | Stmt::Ticket(_) | Stmt::Product(_) => {}
        }
    }

    /// Estimates a statement, and notes it in the profiler as code of `value`'s origin.
    fn profile_statement(&mut self, value: Value, work: &mut Work, visit: impl FnOnce(&mut Self, &mut Work)) {
        if !self.profiler.is_on() {
            return visit(self, work);
        }
        let (mut own, before) = (Work::default(), self.timeline.latest());
        visit(self, &mut own);
        work.merge(&own);
        self.profiler.note(value, &own, self.timeline.latest() - before);
    }

    fn operation(&mut self, value: Value, op: &Op, work: &mut Work) {
        if let Some(state) = self.values.reuse_load(value) {
            return self.define(value, state);
        }
        let (mut start, chain) = self.values.operands(op, self.timeline.earliest_start(), self.loops.depth());
        let mut latency = 0.0;
        if let Some(cost) = self.costs.of(value) {
            work.add(cost.kind, cost.busy, cost.instructions);
            start = self.timeline.start(start, cost.kind, cost.instructions);
            latency = cost.latency + self.load_wait(value, op, work);
            self.timeline.finish(start + latency);
        }
        let content = self.values.evaluate(op, self.function.ty(value).lanes == 1);
        let chain = chain.map(|chain| DependenceChain { cycles: chain.cycles + latency, ..chain });
        self.define(value, ValueState { content, ready: start + latency, chain });
    }

    fn define(&mut self, value: Value, state: ValueState) {
        self.timeline.reach(state.ready);
        self.values.set(value, state);
    }

    /// Adds the cache lines that a load fetches to the work, and returns the cycles for which its result
    /// waits for them.
    fn load_wait(&mut self, value: Value, op: &Op, work: &mut Work) -> f64 {
        let operand = match op {
            Op::Load(at, _) | Op::LoadMasked(at, _) => MemoryOperand::load(self.function, value, at),
            Op::Gather(gather) => MemoryOperand::gather(self.function, value, gather),
            _ => return 0.0,
        };
        self.access(&operand, work)
    }

    fn store(&mut self, at: &Address, value: Value, work: &mut Work) {
        let ty = self.function.ty(value);
        let OperationCost { kind, busy, instructions, .. } = costs::store(ty, self.machine);
        work.add(kind, busy, instructions);
        self.access(&MemoryOperand::store(at, ty.bytes()), work);
        self.timeline.reach(self.values.get(value).ready);
    }

    /// Records an access in the first pass. In the second pass, adds the access's cache lines to the work,
    /// and returns the cycles for which the result waits.
    fn access(&mut self, operand: &MemoryOperand, work: &mut Work) -> f64 {
        let index = &self.values.get(operand.index).content;
        let Some(placed) = self.memory.access(operand, index, self.loops.around()) else { return 0.0 };
        self.profiler.note_access(operand, &placed.residency, self.machine);
        work.add_lines(placed.busy);
        placed.wait
    }

    fn alloc(&mut self, this: &Alloc, work: &mut Work) {
        let bytes = self.values.get(this.bytes).content.int.unwrap_or(0).max(0);
        self.memory.allocate(this.buffer, bytes as f64);
        work.add_instructions(ALLOCATION_INSTRUCTIONS);
        let inside = self.block(&this.body);
        work.merge(&inside);
    }

    /// Estimates the arm of an `if` that runs in this iteration, or `then` if data decides. Conditions on
    /// data ask whether some row of a vector still needs a step, which is usually so.
    fn branch(&mut self, this: &If, work: &mut Work) {
        let condition = self.values.get(this.cond).content;
        self.loops.decide_by(condition.dependences);
        let holds = condition.int.is_none_or(|int| int != 0);
        let arm = self.block(if holds { &this.then } else { &this.otherwise });
        work.merge(&arm);
        work.add_instructions(1.0);
        for joined in &this.joined {
            let state = *self.values.get(if holds { joined.then } else { joined.otherwise });
            let dependences = state.content.dependences | condition.dependences;
            let content = StaticValue { dependences, ..state.content };
            self.define(joined.after, ValueState { content, ..state });
        }
    }

    /// Estimates some iterations of a loop, and returns the sums over all `trips` iterations. `visit`
    /// estimates the iteration with a given number.
    fn iterations(
        &mut self,
        around: LoopAround,
        mut visit: impl FnMut(&mut Self, f64) -> Work,
    ) -> LoopSample {
        let trips = around.trips;
        let (earliest_start, begin) = (self.timeline.earliest_start(), self.timeline.latest());
        let entered = self.loops.enter(around);
        let mut sample = LoopSample::default();
        let first = self.iteration(begin, 0.0, &mut visit);
        let (is_innermost, first_end) = (!self.loops.has_inner_loops(&entered), self.timeline.latest());
        let has_more = !self.memory.is_recording() && trips > 1.0;
        if has_more && self.loops.iterations_differ() {
            self.add_differing(&mut sample, &first, trips, &mut |this, at| {
                this.iteration(begin, at, &mut visit)
            });
        }
        sample.add(&first, 1.0);
        if has_more && is_innermost {
            let known = self.steady_states.find(around.name, &first, trips);
            let state = known.unwrap_or_else(|| {
                let state = self.simulate_steady_state((begin, first_end), trips, &mut visit);
                self.steady_states.add(around.name, &first, trips, state);
                state
            });
            sample.set_distance(state.distance);
        }
        self.timeline.restart(earliest_start, begin);
        let has_inner_loops = self.loops.has_inner_loops(&entered);
        self.loops.leave(&entered);
        sample.scaled_to(trips, has_inner_loops)
    }

    /// Estimates iteration `at` as if it were the first of the loop and began in cycle `begin`.
    fn iteration(&mut self, begin: f64, at: f64, visit: &mut dyn FnMut(&mut Self, f64) -> Work) -> Iteration {
        self.timeline.restart(begin, begin);
        let loads = self.values.reusable_loads();
        let outside = self.profiler.begin_iteration();
        let work = visit(self, at);
        self.values.forget_loads(loads);
        let attribution = self.profiler.end_iteration(outside);
        Iteration { work, span: self.timeline.latest() - begin, attribution }
    }

    /// Adds iterations after the first one to the sample of a loop whose iterations differ. If they depend on
    /// the counter alone, the interior ones are like the first one: only the last may have fewer rows.
    fn add_differing(
        &mut self,
        sample: &mut LoopSample,
        first: &Iteration,
        trips: f64,
        iteration: &mut dyn FnMut(&mut Self, f64) -> Iteration,
    ) {
        let last = iteration(self, trips - 1.0);
        sample.add(&last, 1.0);
        let interior = trips - 2.0;
        if interior <= 0.0 {
            return;
        }
        let is_like_first = !self.loops.iterations_differ_by_table()
            && (last.takes_as_long_as(first) || iteration(self, interior).takes_as_long_as(first));
        if is_like_first {
            return sample.add(first, interior);
        }
        for (at, weight) in LoopSample::interior(trips) {
            let one = iteration(self, at);
            sample.add(&one, weight);
        }
    }

    /// Simulates consecutive iterations of a loop up to its steady state. Its first iteration begins and ends
    /// in the given cycles.
    fn simulate_steady_state(
        &mut self,
        (begin, first_end): (f64, f64),
        trips: f64,
        visit: &mut dyn FnMut(&mut Self, f64) -> Work,
    ) -> SteadyState {
        let paused = self.profiler.pause();
        let mut ends = vec![first_end];
        let enough = BUFFERS_SIMULATED * self.machine.in_flight;
        self.loops.set_consecutive(true);
        while (ends.len() as f64) < trips
            && (ends.len() < LEAST_CONSECUTIVE || self.timeline.entered_instructions() < enough)
        {
            let loads = self.values.reusable_loads();
            self.timeline.set_earliest_start(begin);
            visit(self, 0.0);
            self.values.forget_loads(loads);
            ends.push(self.timeline.latest());
        }
        self.loops.set_consecutive(false);
        self.profiler.resume(paused);
        // The first half fills the queues.
        let last = ends.len() - 1;
        let from = last / 2;
        let distance = match (ends.get(from), ends.get(last)) {
            (Some(begin), Some(end)) if from < last => (end - begin) / (last - from) as f64,
            _ => 0.0,
        };
        let simulated = ends.len() as f64;
        SteadyState { distance, simulated, ended_early: simulated < trips }
    }
}
