//! Steady states of innermost loops. Each is simulated once for all iterations that take the same work and
//! time, since the loops around simulate an innermost loop many times.

use super::loop_sample::Iteration;
use crate::work::Work;
use sched_ir::lir::Value;

/// The steady state of a loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// Cycles from the end of an iteration to the end of the next one.
    pub distance: f64,
    /// Iterations that were simulated.
    pub simulated: f64,
    /// Whether the simulation ended before the loop, so that more iterations change nothing.
    pub ended_early: bool,
}

/// A simulated loop: its first iteration, its number of iterations and its steady state.
#[derive(Clone, Copy, Debug)]
struct Simulation {
    counter: Value,
    work: Work,
    span: f64,
    trips: f64,
    state: SteadyState,
}

/// The steady states that an estimate has simulated so far.
#[derive(Clone, Debug, Default)]
pub struct SteadyStates(Vec<Simulation>);

impl SteadyStates {
    /// The state of the loop with this counter and `trips` iterations, if it was simulated with a first
    /// iteration of the same work and time.
    pub fn find(&self, counter: Value, first: &Iteration, trips: f64) -> Option<SteadyState> {
        let is_same = |one: &&Simulation| {
            let ends_alike = one.trips == trips || (one.state.ended_early && trips >= one.state.simulated);
            one.counter == counter && one.span == first.span && one.work == first.work && ends_alike
        };
        self.0.iter().find(is_same).map(|one| one.state)
    }

    /// Adds a state.
    pub fn add(&mut self, counter: Value, first: &Iteration, trips: f64, state: SteadyState) {
        self.0.push(Simulation { counter, work: first.work, span: first.span, trips, state });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_serve_loops_that_end_alike() {
        let first = |span| Iteration { work: Work::default(), span, attribution: None };
        let (short, long) = (
            SteadyState { distance: 2.0, simulated: 5.0, ended_early: false },
            SteadyState { distance: 3.0, simulated: 9.0, ended_early: true },
        );
        let mut states = SteadyStates::default();
        states.add(Value(1), &first(4.0), 5.0, short);
        states.add(Value(1), &first(4.0), 100.0, long);
        let find = |counter, span, trips| states.find(Value(counter), &first(span), trips);
        assert_eq!([find(1, 4.0, 5.0), find(1, 4.0, 9.0)], [Some(short), Some(long)]);
        assert_eq!([find(1, 4.0, 1e6), find(1, 4.0, 8.0)], [Some(long), None]);
        assert_eq!([find(2, 4.0, 5.0), find(1, 4.5, 5.0)], [None, None]);
    }
}
