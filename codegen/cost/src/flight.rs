//! Instructions in flight: how far a core looks ahead of those that are not done.
//!
//! Instructions are read in order. They wait in queues until their operands are there, and leave in order when they are done. When
//! the queues are full, or too many have been read that are not done, no further one is read, whether its operands are there
//! or not.

use crate::machine::Machine;
use crate::operation::Kind;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// The instructions that were read last.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    /// How many have been read.
    read: f64,
    /// Up to which of them all are done, and when.
    done: VecDeque<(f64, f64)>,
    /// When those begin that may still wait: the latest ones, as many as fit a queue; scalar ones have a queue of their own.
    waiting: [BinaryHeap<Reverse<Cycle>>; 2],
    /// When the next one can be read.
    reads: f64,
}

impl Flight {
    /// When an operation begins whose operands are there at a time. It is so many instructions of a kind.
    pub fn begin(&mut self, ready: f64, (kind, instructions): (Kind, f64), machine: &Machine) -> f64 {
        self.read += instructions;
        while let Some((number, at)) = self.done.front()
            && number + machine.in_flight <= self.read
        {
            self.reads = self.reads.max(*at);
            self.done.pop_front();
        }
        let waiting = &mut self.waiting[usize::from(kind == Kind::Scalar)];
        if waiting.len() as f64 >= machine.queue()
            && let Some(Reverse(Cycle(first))) = waiting.pop()
        {
            self.reads = self.reads.max(first);
        }
        let begins = ready.max(self.reads);
        waiting.push(Reverse(Cycle(begins)));
        begins
    }

    /// How many instructions have been read.
    pub fn read(&self) -> f64 {
        self.read
    }

    /// The operation that began last is done at a time.
    pub fn end(&mut self, at: f64) {
        let before = self.done.back().map_or(0.0, |(_, before)| *before);
        self.done.push_back((self.read, before.max(at)));
    }
}

/// A time that can be ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cycle(f64);

impl Eq for Cycle {}

impl PartialOrd for Cycle {
    fn partial_cmp(&self, other: &Cycle) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cycle {
    fn cmp(&self, other: &Cycle) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    /// When the last of so many operations is done, of which each takes ten cycles, and waits for the one before it or for none.
    fn ends(operations: usize, waits: bool, machine: &Machine) -> f64 {
        let mut flight = Flight::default();
        let mut ends = 0.0;
        for _ in 0..operations {
            ends = flight.begin(if waits { ends } else { 0.0 }, (Kind::Vector, 1.0), machine) + 10.0;
            flight.end(ends);
        }
        ends
    }

    #[test]
    fn a_core_looks_no_farther_than_its_buffer() {
        let machine = Machine { in_flight: 100.0, ..Machine::like("znver4", Level::V4) };
        assert_eq!([100, 101, 200, 201].map(|n| ends(n, false, &machine)), [10.0, 20.0, 20.0, 30.0]);
    }

    #[test]
    fn what_waits_fills_the_queues() {
        let machine = Machine { in_flight: 1e6, ..Machine::like("znver4", Level::V4) };
        let mut flight = Flight::default();
        let mut chain = 0.0;
        let queue = machine.queue() as usize;
        for _ in 0..2 * queue {
            chain = flight.begin(chain, (Kind::Vector, 1.0), &machine) + 10.0;
            flight.end(chain);
        }
        // Half of the chain must have begun before another instruction is read.
        let next = flight.begin(0.0, (Kind::Vector, 1.0), &machine);
        assert!((0.4..0.6).contains(&(next / chain)), "{next} of {chain}");
    }
}
