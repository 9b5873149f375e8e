//! Time of a pass: the interval that the current piece of code covers.

use super::in_flight::InFlight;
use crate::machine::Machine;
use crate::operation::InstructionKind;

/// The cycles of a loop iteration, or of a call: its first cycle, the cycle of its last result, and the
/// instructions in flight.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// No operation starts before this cycle.
    earliest_start: f64,
    /// Cycle in which the last result is available.
    latest: f64,
    /// Instructions since the last loop began or ended.
    in_flight: InFlight,
}

impl Timeline {
    /// A timeline that begins in cycle 0.
    pub fn new(machine: &Machine) -> Timeline {
        Timeline { earliest_start: 0.0, latest: 0.0, in_flight: InFlight::new(machine) }
    }

    /// First cycle in which an operation can start.
    pub fn earliest_start(&self) -> f64 {
        self.earliest_start
    }

    /// Cycle in which the last result is available.
    pub fn latest(&self) -> f64 {
        self.latest
    }

    /// Starts an operation, and returns its start cycle; see [`InFlight::start`].
    pub fn start(&mut self, operands: f64, kind: InstructionKind, instructions: f64) -> f64 {
        self.in_flight.start(operands, kind, instructions)
    }

    /// Notes the end of the operation that started last.
    pub fn finish(&mut self, at: f64) {
        self.in_flight.finish(at);
    }

    /// Instructions since the last loop began or ended.
    pub fn entered_instructions(&self) -> f64 {
        self.in_flight.entered_instructions()
    }

    /// Extends the interval to cycle `ready`, in which a result is available.
    pub fn reach(&mut self, ready: f64) {
        self.latest = self.latest.max(ready);
    }

    /// Extends the interval by `cycles` cycles.
    pub fn lengthen(&mut self, cycles: f64) {
        self.latest += cycles;
    }

    /// Sets the first cycle of the next iteration, which overlaps with those before it.
    pub fn set_earliest_start(&mut self, earliest_start: f64) {
        self.earliest_start = earliest_start;
    }

    /// Raises the first cycle of the code that follows to at least `earliest_start`.
    pub fn raise_earliest_start(&mut self, earliest_start: f64) {
        self.earliest_start = self.earliest_start.max(earliest_start);
    }

    /// Replaces the interval, and empties the window of instructions in flight.
    pub fn restart(&mut self, earliest_start: f64, latest: f64) {
        (self.earliest_start, self.latest) = (earliest_start, latest);
        self.in_flight.clear();
    }
}
