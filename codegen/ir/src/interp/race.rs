//! Race detection between iterations of parallel loops.
//!
//! Iterations run one after the other, and each gets the next number as its time when it begins. Consider a
//! running iteration of a parallel loop. Numbers that were given after the loop began, and before this
//! iteration began, belong to other iterations and to loops nested in these. So an earlier access may be
//! concurrent with the current one exactly if its number is in such a range of a running loop.
//!
//! For each byte, the detector keeps one access of each kind: the latest access, or an older one that may be
//! concurrent with the current access. An access that is concurrent with the forgotten one is also concurrent
//! with the kept one. This is the SP-bags algorithm of Feng and Leiserson. So if a run has a race on a byte,
//! the detector reports a race.

use super::conflict::{Concurrent, Conflict};
use super::error::AccessKind;
use super::order::Order;
use super::threads::LaunchTime;
use super::tickets::TicketCounter;
use crate::lir::{Launch, Parallel};

/// Time of an access: the number of its iteration. Zero is an access outside all iterations, or none.
pub(super) type AccessTime = u32;

/// Running parallel loops, outermost first, or the running launch.
pub(super) struct Tasks<'f> {
    levels: Vec<RunningLoop<'f>>,
    clock: Option<LaunchTime<'f>>,
    /// Number of the latest interval between barriers of a launch.
    interval_index: u32,
    /// Number of the iteration that began last.
    last: AccessTime,
    /// Number of loops that have begun, from which the order of the next loop follows.
    loops: u64,
    seed: u64,
}

struct RunningLoop<'f> {
    parallel: &'f Parallel,
    /// Number of the iteration that had begun last when the loop began.
    before: AccessTime,
    /// Number of the running iteration.
    now: AccessTime,
    /// Numbers of the iterations that have begun.
    begun: Vec<AccessTime>,
    order: Order,
}

impl<'f> Tasks<'f> {
    pub fn new(seed: u64) -> Tasks<'f> {
        Tasks { levels: Vec::new(), clock: None, interval_index: 0, last: 0, loops: 0, seed }
    }

    /// Whether a launch is running.
    #[inline]
    pub fn in_launch(&self) -> bool {
        self.clock.is_some()
    }

    /// Time in the running launch, if one is running.
    pub fn clock(&self) -> Option<&LaunchTime<'f>> {
        self.clock.as_ref()
    }

    /// Starts a launch of `blocks` blocks.
    pub fn enter_launch(&mut self, launch: &'f Launch, blocks: u64) {
        self.loops += 1;
        let order = Order::new(self.seed.wrapping_add(self.loops), blocks);
        self.clock = Some(LaunchTime::new(launch, order, self.interval_index));
    }

    /// Starts the next block of the launch. `None` after the last block, or if numbers have run out.
    pub fn next_block(&mut self) -> Option<i64> {
        self.clock.as_mut()?.next_block()
    }

    /// Passes a barrier of the block. `None` if numbers have run out.
    pub fn barrier(&mut self) -> Option<()> {
        self.clock.as_mut()?.barrier()
    }

    /// Passes a fence of the block.
    pub fn fence(&mut self) {
        if let Some(clock) = &mut self.clock {
            clock.fence();
        }
    }

    /// Takes a ticket of a counter for the block.
    pub fn take_ticket(&mut self, counter: TicketCounter) {
        if let Some(clock) = &mut self.clock {
            clock.take_ticket(counter);
        }
    }

    /// Switches to a thread of the block.
    pub fn run_thread(&mut self, number: u32) {
        if let Some(clock) = &mut self.clock {
            clock.thread = number;
        }
    }

    /// Ends the launch.
    pub fn leave_launch(&mut self) {
        if let Some(clock) = self.clock.take() {
            self.interval_index = clock.interval_index;
        }
    }

    /// Number of running parallel loops.
    #[inline]
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Starts a parallel loop of `trip` iterations.
    pub fn enter(&mut self, parallel: &'f Parallel, trip: u64) {
        self.loops += 1;
        let order = Order::new(self.seed.wrapping_add(self.loops), trip);
        let begun = Vec::new();
        self.levels.push(RunningLoop { parallel, before: self.last, now: self.last, begun, order });
    }

    /// Starts the next iteration of the innermost loop. `None` after the last iteration, or if numbers
    /// have run out.
    pub fn next(&mut self) -> Option<i64> {
        let level = self.levels.last_mut()?;
        let nth = level.begun.len() as u64;
        if nth >= level.order.trip() {
            return None;
        }
        self.last = self.last.checked_add(1)?;
        level.now = self.last;
        level.begun.push(self.last);
        Some(level.order.nth(nth))
    }

    /// Ends the innermost loop.
    pub fn leave(&mut self) {
        self.levels.pop();
    }

    /// Time of the running iteration.
    #[inline]
    fn now(&self) -> AccessTime {
        self.levels.last().map_or(0, |level| level.now)
    }

    /// The running loop that makes an access at that time concurrent with the current one.
    #[inline]
    fn concurrent(&self, time: AccessTime) -> Option<&RunningLoop<'f>> {
        for level in self.levels.iter().rev() {
            if time >= level.now {
                return None;
            }
            if time > level.before {
                return Some(level);
            }
        }
        None
    }
}

/// Access times of a byte that are remembered, by [`AccessKind`]. An array of integers, because the allocator
/// zeroes it at no cost.
pub(super) type Touches = [AccessTime; 3];

/// Records an access to a byte, unless it is a race.
#[inline]
pub(super) fn record<'f>(
    tasks: &Tasks<'f>,
    touches: Touches,
    kind: AccessKind,
) -> Result<Touches, Box<Conflict<'f>>> {
    for &other in kind.conflicting() {
        let time = touches[other as usize];
        if let Some(level) = tasks.concurrent(time) {
            return Err(Box::new(level.conflict(other, time)));
        }
    }
    let mut touches = touches;
    let kept = &mut touches[kind as usize];
    if tasks.concurrent(*kept).is_none() {
        *kept = tasks.now();
    }
    Ok(touches)
}

impl<'f> RunningLoop<'f> {
    fn conflict(&self, other_kind: AccessKind, time: AccessTime) -> Conflict<'f> {
        let iteration = |time: AccessTime| {
            let nth = self.begun.partition_point(|&began| began <= time).saturating_sub(1);
            self.order.nth(nth as u64)
        };
        Conflict {
            loop_or_launch: Concurrent::Parallel(self.parallel),
            iteration: iteration(self.now),
            other_iteration: iteration(time),
            other_kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::order::mix;

    /// Running loops, each with its number and its current iteration.
    type Path = Vec<(u64, i64)>;

    /// A random program over two bytes, with a log of its accesses.
    struct Program<'f> {
        tasks: Tasks<'f>,
        parallel: &'f Parallel,
        random: u64,
        bytes: [Touches; 2],
        path: Path,
        accesses: Vec<(usize, AccessKind, Path)>,
    }

    impl Program<'_> {
        fn below(&mut self, n: u64) -> u64 {
            self.random = self.random.wrapping_add(1);
            mix(self.random) % n
        }

        /// Whether an earlier access races with this one, by comparison of all logged paths.
        fn races(&self, byte: usize, kind: AccessKind) -> bool {
            self.accesses.iter().any(|(other_byte, other_kind, path)| {
                let both_the_same_kind = kind == *other_kind && kind != AccessKind::Write;
                let parted = path.iter().zip(&self.path).find(|(a, b)| a != b);
                byte == *other_byte && !both_the_same_kind && parted.is_some_and(|(a, b)| a.0 == b.0)
            })
        }

        /// Runs some statements. Returns false after a race.
        fn block(&mut self) -> bool {
            for _ in 0..self.below(4) {
                if self.path.len() < 4 && self.below(3) == 0 {
                    let trip = 1 + self.below(3);
                    self.tasks.enter(self.parallel, trip);
                    let number = self.tasks.loops;
                    while let Some(iteration) = self.tasks.next() {
                        self.path.push((number, iteration));
                        if !self.block() {
                            return false;
                        }
                        self.path.pop();
                    }
                    self.tasks.leave();
                    continue;
                }
                let byte = self.below(2) as usize;
                let kind = [AccessKind::Read, AccessKind::Write, AccessKind::Atomic, AccessKind::Read]
                    [self.below(4) as usize];
                let found = record(&self.tasks, self.bytes[byte], kind);
                assert_eq!(found.is_err(), self.races(byte, kind), "program {}", self.random);
                let Ok(touches) = found else { return false };
                self.bytes[byte] = touches;
                self.accesses.push((byte, kind, self.path.clone()));
            }
            true
        }
    }

    #[test]
    fn the_first_race_of_a_program_is_found_and_nothing_else() {
        let parallel = Parallel { iv: crate::lir::Value(0), trip: crate::lir::Value(0), body: Vec::new() };
        let mut racy = 0;
        let programs = 20_000;
        for seed in 0..programs {
            let mut program = Program {
                tasks: Tasks::new(seed),
                parallel: &parallel,
                random: mix(seed),
                bytes: [[0; 3]; 2],
                path: Vec::new(),
                accesses: Vec::new(),
            };
            racy += u64::from(!program.block());
        }
        assert!(racy > programs / 20 && racy < programs * 19 / 20, "{racy} of {programs} programs race");
    }
}
