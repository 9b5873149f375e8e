//! Which accesses may happen at the same time.
//!
//! Iterations run one after the other, so time is a counter: each iteration gets the next number when it
//! begins. While an iteration of a parallel loop runs, the numbers given since the loop began, but before the
//! iteration began, belong to its sister iterations and to what is nested in them. An earlier access may
//! happen at the same time as the current one exactly if its number lies in such a range of a loop that is
//! still running.
//!
//! Each byte remembers one touch of every kind: the latest one, or an older one if the current one may happen
//! at the same time as it. Being concurrent carries over from the forgotten touch to the kept one (as in the
//! SP-bags algorithm of Feng and Leiserson), so if a run has a race on a byte, one is found.

use super::conflict::{Concurrent, Conflict};
use super::fault::Touch;
use super::order::Order;
use super::threads::Clock;
use crate::lir::{Launch, Parallel};

/// When something happened: the number of its iteration. Zero is outside all iterations, or never.
pub(super) type Time = u32;

/// The parallel loops that are running, outermost first, or the launch.
pub(super) struct Tasks<'f> {
    levels: Vec<Level<'f>>,
    clock: Option<Clock<'f>>,
    /// The latest number of an interval between barriers.
    interval: u32,
    /// The latest number given.
    last: Time,
    /// How many loops have begun; makes their orders differ.
    loops: u64,
    seed: u64,
}

struct Level<'f> {
    parallel: &'f Parallel,
    /// The latest number when the loop began.
    before: Time,
    /// The number of the running iteration.
    now: Time,
    /// The numbers of the iterations that have begun.
    begun: Vec<Time>,
    order: Order,
}

impl<'f> Tasks<'f> {
    pub fn new(seed: u64) -> Tasks<'f> {
        Tasks { levels: Vec::new(), clock: None, interval: 0, last: 0, loops: 0, seed }
    }

    /// Whether a launch is running.
    #[inline]
    pub fn in_launch(&self) -> bool {
        self.clock.is_some()
    }

    /// The time in the launch that is running.
    pub fn clock(&self) -> Option<&Clock<'f>> {
        self.clock.as_ref()
    }

    /// A launch of so many blocks begins.
    pub fn enter_launch(&mut self, launch: &'f Launch, blocks: u64) {
        self.loops += 1;
        let order = Order::new(self.seed.wrapping_add(self.loops), blocks);
        self.clock = Some(Clock::new(launch, order, self.interval));
    }

    /// The next block of the launch begins. Nothing once all have begun, or if numbers have run out.
    pub fn next_block(&mut self) -> Option<i64> {
        self.clock.as_mut()?.next_block()
    }

    /// All threads of the block have come to a barrier. Nothing if numbers have run out.
    pub fn barrier(&mut self) -> Option<()> {
        self.clock.as_mut()?.barrier()
    }

    /// A thread of the block goes on.
    pub fn run_thread(&mut self, number: u32) {
        if let Some(clock) = &mut self.clock {
            clock.thread = number;
        }
    }

    /// The launch ends.
    pub fn leave_launch(&mut self) {
        if let Some(clock) = self.clock.take() {
            self.interval = clock.interval;
        }
    }

    /// How many parallel loops are running.
    #[inline]
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// A parallel loop of at least one iteration begins.
    pub fn enter(&mut self, parallel: &'f Parallel, trip: u64) {
        self.loops += 1;
        let order = Order::new(self.seed.wrapping_add(self.loops), trip);
        let begun = Vec::new();
        self.levels.push(Level { parallel, before: self.last, now: self.last, begun, order });
    }

    /// The next iteration of the innermost loop begins. Nothing once all have begun, or if numbers have run
    /// out.
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

    /// The innermost loop ends.
    pub fn leave(&mut self) {
        self.levels.pop();
    }

    /// The running iteration.
    #[inline]
    fn now(&self) -> Time {
        self.levels.last().map_or(0, |level| level.now)
    }

    /// The running loop that makes an access of that time concurrent with the current one.
    #[inline]
    fn concurrent(&self, time: Time) -> Option<&Level<'f>> {
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

/// When a byte was touched, by [`Touch`]. An array, because the allocator hands out zeroed arrays for free.
pub(super) type Touches = [Time; 3];

/// Records a touch of the byte, unless it is a race.
#[inline]
pub(super) fn record<'f>(
    tasks: &Tasks<'f>,
    touches: Touches,
    touch: Touch,
) -> Result<Touches, Box<Conflict<'f>>> {
    for &other in touch.conflicting() {
        let time = touches[other as usize];
        if let Some(level) = tasks.concurrent(time) {
            return Err(Box::new(level.conflict(other, time)));
        }
    }
    let mut touches = touches;
    let kept = &mut touches[touch as usize];
    if tasks.concurrent(*kept).is_none() {
        *kept = tasks.now();
    }
    Ok(touches)
}

impl<'f> Level<'f> {
    fn conflict(&self, other_touch: Touch, time: Time) -> Conflict<'f> {
        let iteration = |time: Time| {
            let nth = self.begun.partition_point(|&began| began <= time).saturating_sub(1);
            self.order.nth(nth as u64)
        };
        Conflict {
            loop_or_launch: Concurrent::Parallel(self.parallel),
            iteration: iteration(self.now),
            other_iteration: iteration(time),
            other_touch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::order::mix;

    /// The running loops, each with its number and iteration.
    type Path = Vec<(u64, i64)>;

    /// A random program over two bytes that is run, with all of its accesses so far kept as they are.
    struct Program<'f> {
        tasks: Tasks<'f>,
        parallel: &'f Parallel,
        random: u64,
        bytes: [Touches; 2],
        path: Path,
        accesses: Vec<(usize, Touch, Path)>,
    }

    impl Program<'_> {
        fn below(&mut self, n: u64) -> u64 {
            self.random = self.random.wrapping_add(1);
            mix(self.random) % n
        }

        /// Whether an earlier access races with this one, by the paths of all.
        fn races(&self, byte: usize, touch: Touch) -> bool {
            self.accesses.iter().any(|(other_byte, other_touch, path)| {
                let both_the_same_kind = touch == *other_touch && touch != Touch::Write;
                let parted = path.iter().zip(&self.path).find(|(a, b)| a != b);
                byte == *other_byte && !both_the_same_kind && parted.is_some_and(|(a, b)| a.0 == b.0)
            })
        }

        /// Runs some statements; false once a race was found.
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
                let touch = [Touch::Read, Touch::Write, Touch::Atomic, Touch::Read][self.below(4) as usize];
                let found = record(&self.tasks, self.bytes[byte], touch);
                assert_eq!(found.is_err(), self.races(byte, touch), "program {}", self.random);
                let Ok(touches) = found else { return false };
                self.bytes[byte] = touches;
                self.accesses.push((byte, touch, self.path.clone()));
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
