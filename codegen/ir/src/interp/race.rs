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

use super::fault::Touch;
use super::threads::Clock;
use crate::lir::{Launch, Parallel, Stmt};

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
        if nth >= level.order.trip {
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

/// What runs at the same time.
#[derive(Clone, Copy)]
pub(super) enum Around<'f> {
    /// The iterations of a loop.
    Parallel(&'f Parallel),
    /// The threads of a launch.
    Launch(&'f Launch),
}

impl Around<'_> {
    /// The statement without what is nested in it.
    pub fn head(&self) -> Stmt {
        match *self {
            Around::Parallel(p) => Stmt::Parallel(Box::new(Parallel { body: Vec::new(), ..*p })),
            Around::Launch(l) => {
                let Launch { name, grid, block, .. } = l;
                Stmt::Launch(Box::new(Launch {
                    name: name.clone(),
                    grid: *grid,
                    block: *block,
                    body: Vec::new(),
                }))
            }
        }
    }
}

/// The iterations of one loop, or the threads of one launch, that do not agree.
pub(super) struct Conflict<'f> {
    pub around: Around<'f>,
    pub iteration: i64,
    pub other_iteration: i64,
    pub other_touch: Touch,
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
            around: Around::Parallel(self.parallel),
            iteration: iteration(self.now),
            other_iteration: iteration(time),
            other_touch,
        }
    }
}

/// A scrambled order of `0..trip`: the n-th is `(first + n * stride) mod trip`, with a stride coprime to
/// `trip`.
pub(super) struct Order {
    trip: u64,
    first: u64,
    stride: u64,
}

impl Order {
    pub fn new(seed: u64, trip: u64) -> Order {
        let first = mix(seed) % trip.max(1);
        let mut stride = mix(seed ^ first) % trip.max(1);
        while trip > 0 && gcd(stride, trip) != 1 {
            stride += 1;
        }
        Order { trip, first, stride }
    }

    /// How many there are.
    pub fn trip(&self) -> u64 {
        self.trip
    }

    /// The `n`-th of them.
    pub fn nth(&self, n: u64) -> i64 {
        let position = u128::from(self.first) + u128::from(n) * u128::from(self.stride);
        (position % u128::from(self.trip.max(1))) as i64
    }
}

/// Spreads a number over 64 bits (the finaliser of the SplitMix64 generator).
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_permutations_and_depend_on_the_seed() {
        for trip in (1..40).chain([97, 256]) {
            for seed in 0..8 {
                let order = Order::new(seed, trip);
                let mut seen: Vec<i64> = (0..trip).map(|n| order.nth(n)).collect();
                seen.sort_unstable();
                assert!(seen.iter().copied().eq(0..trip as i64), "trip {trip} seed {seed}");
            }
        }
        let orders: std::collections::BTreeSet<Vec<i64>> =
            (0..32).map(|seed| Order::new(seed, 16)).map(|o| (0..16).map(|n| o.nth(n)).collect()).collect();
        assert!(orders.len() > 16);
    }

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
