//! Values that a loop carries from one iteration to the next.

use super::loop_stack::LoopStack;
use super::timeline::Timeline;
use super::values::ValueStates;
use crate::value::{DependenceChain, Dependences, StaticValue, ValueState};
use sched_ir::lir::Carried;

/// The carried values of one loop: their growth, and the cycles for which an iteration waits for the one
/// before.
pub struct Recurrence<'l> {
    carried: &'l [Carried],
    /// Number of loops around this one.
    depth: usize,
    /// Growth of each carried integer in one iteration; empty until the first iteration was simulated.
    growth: Vec<Option<i64>>,
    /// Longest latency from a carried value to a value that is passed on to the next iteration, in cycles.
    chain: f64,
}

impl<'l> Recurrence<'l> {
    /// The carried values of a loop that is inside `depth` other loops.
    pub fn new(carried: &'l [Carried], depth: usize) -> Recurrence<'l> {
        Recurrence { carried, depth, growth: Vec::new(), chain: 0.0 }
    }

    /// Longest latency from a carried value to a value that is passed on to the next iteration, in cycles. It
    /// is the least distance between iterations.
    pub fn chain(&self) -> f64 {
        self.chain
    }

    /// Sets the carried values at the beginning of iteration `at`.
    pub fn enter(&self, values: &mut ValueStates<'_>, timeline: &mut Timeline, loops: &LoopStack, at: f64) {
        for (n, one) in self.carried.iter().enumerate() {
            let first = *values.get(one.first);
            let before = if loops.is_consecutive() { values.get(one.next).ready } else { first.ready };
            let growth = self.growth.get(n).copied().unwrap_or((at == 0.0).then_some(0));
            let mut content = first.content;
            content.dependences = content.dependences | Dependences::with_loop(self.depth);
            content.int = content.int.zip(growth).map(|(first, growth)| first + growth * at as i64);
            content.set_slope(self.depth, growth.unwrap_or(0) as f32);
            let chain = Some(DependenceChain { depth: self.depth + 1, cycles: 0.0 });
            let state = ValueState { content, ready: timeline.earliest_start().max(before), chain };
            timeline.reach(state.ready);
            values.set(one.inside, state);
        }
    }

    /// Marks the carried values as dependent on data, since data decides the number of iterations.
    pub fn mark_data(&self, values: &mut ValueStates<'_>) {
        self.carried.iter().for_each(|one| values.add_dependence(one.inside, Dependences::DATA));
    }

    /// Measures the growth of carried integers in the iteration that was just simulated.
    pub fn measure_growth(&mut self, values: &ValueStates<'_>) {
        let int = |value| values.get(value).content.int;
        let growth = |one: &Carried| Some(int(one.next)? - int(one.inside)?);
        self.growth = self.carried.iter().map(growth).collect();
    }

    /// Measures the latency from carried values to the values that are passed on to the next iteration.
    pub fn measure_chain(&mut self, values: &ValueStates<'_>) {
        let chains = self.carried.iter().filter_map(|one| values.get(one.next).chain);
        let own = chains.filter(|chain| chain.depth == self.depth + 1);
        self.chain = self.chain.max(own.map(|chain| chain.cycles).fold(0.0, f64::max));
    }

    /// Sets the values after a loop of `elapsed` cycles and `trips` iterations.
    pub fn leave(&self, values: &mut ValueStates<'_>, timeline: &mut Timeline, elapsed: f64, trips: f64) {
        let ready = timeline.latest() + elapsed;
        for one in self.carried {
            let (first, next) = (*values.get(one.first), *values.get(one.next));
            let chain = first
                .chain
                .map(|chain| DependenceChain { cycles: chain.cycles + self.chain * trips, ..chain });
            let dependences = first.content.dependences | next.content.dependences;
            let content = StaticValue { dependences, ..StaticValue::default() };
            values.set(one.after, ValueState { content, ready, chain });
        }
        timeline.reach(ready);
    }

    /// Sets the integers that carried values have after a counted loop of `trips` iterations. `bounds` has
    /// the dependences of the loop's bounds.
    pub fn set_totals(&self, values: &mut ValueStates<'_>, trips: f64, bounds: Dependences) {
        for (one, growth) in self.carried.iter().zip(&self.growth) {
            let first = values.get(one.first).content;
            let mut after = *values.get(one.after);
            let total = first.int.zip(*growth).map(|(first, growth)| first + growth * trips as i64);
            let dependences = (after.content.dependences | bounds).without_loop(self.depth);
            after.content = StaticValue { int: total, slopes: first.slopes, dependences };
            values.set(one.after, after);
        }
    }

    /// Marks the values after a loop as dependent on data, since data decides the number of iterations.
    pub fn mark_data_after(&self, values: &mut ValueStates<'_>) {
        self.carried.iter().for_each(|one| values.add_dependence(one.after, Dependences::DATA));
    }

    /// For a loop without iterations, sets the values after the loop to the initial ones.
    pub fn skip(&self, values: &mut ValueStates<'_>, timeline: &mut Timeline) {
        for one in self.carried {
            let first = *values.get(one.first);
            timeline.reach(first.ready);
            values.set(one.after, first);
        }
    }
}
