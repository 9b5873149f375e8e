//! Instructions in flight: the window of a core that starts instructions out of order.
//!
//! Instructions enter in program order. They wait in a scheduler queue for their operands and leave the
//! reorder buffer in order once they are done. No instruction enters while its queue or the reorder buffer is
//! full, even if its operands are available.

use crate::machine::Machine;
use crate::operation::InstructionKind;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// Reorder buffer and scheduler queues of a core.
#[derive(Clone, Debug)]
pub struct InFlight {
    /// Instructions that the reorder buffer holds.
    buffer: f64,
    /// Operations that a scheduler queue holds.
    queue: f64,
    /// Instructions that have entered so far.
    entered: f64,
    /// Pairs of a number of instructions and the cycle by which that many are done, counted from the first;
    /// oldest pair first.
    done: VecDeque<(f64, f64)>,
    /// Start cycles of the operations in each scheduler queue (vector, scalar); a queue holds at most
    /// [`Machine::scheduler_entries`] of them.
    waiting: [BinaryHeap<Reverse<Cycle>>; 2],
    /// First cycle in which the next instruction can enter.
    next_entry: f64,
}

impl InFlight {
    /// The empty window of a machine.
    pub fn new(machine: &Machine) -> InFlight {
        InFlight {
            buffer: machine.in_flight,
            queue: machine.scheduler_entries(),
            entered: 0.0,
            done: VecDeque::new(),
            waiting: Default::default(),
            next_entry: 0.0,
        }
    }

    /// Empties the window.
    pub fn clear(&mut self) {
        (self.entered, self.next_entry) = (0.0, 0.0);
        self.done.clear();
        self.waiting.iter_mut().for_each(BinaryHeap::clear);
    }

    /// Enters an operation of `instructions` instructions whose operands are available in cycle `operands`,
    /// and returns its start cycle.
    pub fn start(&mut self, operands: f64, kind: InstructionKind, instructions: f64) -> f64 {
        self.entered += instructions;
        while let Some((number, at)) = self.done.front()
            && number + self.buffer <= self.entered
        {
            self.next_entry = self.next_entry.max(*at);
            self.done.pop_front();
        }
        let waiting = &mut self.waiting[usize::from(kind == InstructionKind::Scalar)];
        if waiting.len() as f64 >= self.queue
            && let Some(Reverse(Cycle(first))) = waiting.pop()
        {
            self.next_entry = self.next_entry.max(first);
        }
        let start = operands.max(self.next_entry);
        waiting.push(Reverse(Cycle(start)));
        start
    }

    /// Instructions that have entered since the window was empty.
    pub fn entered_instructions(&self) -> f64 {
        self.entered
    }

    /// Notes that the operation that entered last is done in cycle `at`.
    pub fn finish(&mut self, at: f64) {
        let before = self.done.back().map_or(0.0, |(_, before)| *before);
        self.done.push_back((self.entered, before.max(at)));
    }
}

/// A cycle number with a total order.
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

    /// End of the last of `operations` operations of ten cycles each, in one chain or independent.
    fn end(operations: usize, is_chain: bool, machine: &Machine) -> f64 {
        let mut in_flight = InFlight::new(machine);
        let mut end = 0.0;
        for _ in 0..operations {
            end = in_flight.start(if is_chain { end } else { 0.0 }, InstructionKind::Vector, 1.0) + 10.0;
            in_flight.finish(end);
        }
        end
    }

    #[test]
    fn a_full_reorder_buffer_stops_entry() {
        let machine = Machine { in_flight: 100.0, ..Machine::like("znver4", Level::V4) };
        assert_eq!([100, 101, 200, 201].map(|n| end(n, false, &machine)), [10.0, 20.0, 20.0, 30.0]);
        assert_eq!(end(5, true, &machine), 50.0);
    }

    #[test]
    fn a_full_scheduler_queue_stops_entry() {
        let machine = Machine { in_flight: 1e6, ..Machine::like("znver4", Level::V4) };
        let mut in_flight = InFlight::new(&machine);
        let mut chain = 0.0;
        let queue = machine.scheduler_entries() as usize;
        for _ in 0..2 * queue {
            chain = in_flight.start(chain, InstructionKind::Vector, 1.0) + 10.0;
            in_flight.finish(chain);
        }
        // Half of the chain must have started before another instruction enters.
        let next = in_flight.start(0.0, InstructionKind::Vector, 1.0);
        assert!((0.4..0.6).contains(&(next / chain)), "{next} of {chain}");
        in_flight.clear();
        assert_eq!(
            (in_flight.start(0.0, InstructionKind::Vector, 1.0), in_flight.entered_instructions()),
            (0.0, 1.0)
        );
    }
}
