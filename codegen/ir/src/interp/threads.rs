//! Race detection between threads of a launch.
//!
//! Time in a launch is a sequence of intervals: each block and each barrier begins one. Threads of a
//! block are concurrent within an interval; threads of different blocks are concurrent in all intervals
//! of the launch. The interpreter runs blocks one after the other and numbers their intervals as they
//! begin. Fences and tickets order intervals of different blocks (`tickets.rs`).
//!
//! For each byte, at most two accesses of each kind are kept. One access by a finished block suffices, since
//! it is concurrent with all later accesses in the launch. In the current interval, two accesses by different
//! threads are kept, because the next access can be by one of these threads. In a launch with tickets, an
//! access of each block is kept until an access that is in order with it replaces it.

use super::conflict::{Concurrent, Conflict};
use super::error::AccessKind;
use super::order::Order;
use super::tickets::{TicketCounter, Tickets};
use crate::lir::{GpuAxis, GpuDimension, GpuLevel, Launch};

/// Coordinates of the running thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThreadCoordinates {
    /// Coordinates of the block in the grid.
    pub block: [i64; 3],
    /// Coordinates of the thread in the block.
    pub thread: [i64; 3],
}

impl ThreadCoordinates {
    /// Number of the block or the thread in a dimension.
    pub fn get(&self, dimension: GpuDimension) -> i64 {
        let numbers = match dimension.level {
            GpuLevel::Grid => self.block,
            GpuLevel::Block => self.thread,
        };
        match dimension.axis {
            GpuAxis::X => numbers[0],
            GpuAxis::Y => numbers[1],
            GpuAxis::Z => numbers[2],
        }
    }
}

/// Time in a running launch.
pub(super) struct LaunchTime<'f> {
    launch: &'f Launch,
    order: Order,
    blocks_left: u64,
    /// For each block that has begun, the number of its first interval.
    begun: Vec<u32>,
    /// Number of the last interval before the launch.
    before: u32,
    /// Number of the running interval.
    pub interval_index: u32,
    /// Number of the running thread in its block.
    pub thread: u32,
    /// Fences and tickets; `None` if the launch has none.
    tickets: Option<Tickets>,
}

/// An access by a thread in an interval. Interval 0 stands for no access.
#[derive(Clone, Copy, Default, PartialEq)]
struct AccessStamp {
    interval_index: u32,
    thread: u32,
}

/// Accesses of threads to a byte that are remembered, by [`AccessKind`].
#[derive(Clone, Default)]
pub(super) struct ThreadTouches {
    latest: [[AccessStamp; 2]; 3],
    /// Accesses of earlier blocks of a launch with tickets.
    earlier: Option<Box<[Vec<AccessStamp>; 3]>>,
}

impl ThreadTouches {
    /// The remembered accesses of a kind.
    fn of(&self, kind: AccessKind) -> impl Iterator<Item = AccessStamp> {
        let earlier = self.earlier.iter().flat_map(move |earlier| &earlier[kind as usize]);
        self.latest[kind as usize].iter().chain(earlier).copied()
    }
}

impl<'f> LaunchTime<'f> {
    /// Time of a launch whose blocks run in the given order; `before` is the latest interval of earlier
    /// launches.
    pub fn new(launch: &'f Launch, order: Order, before: u32) -> LaunchTime<'f> {
        let blocks_left = order.trip();
        LaunchTime {
            launch,
            order,
            blocks_left,
            begun: Vec::new(),
            before,
            interval_index: before,
            thread: 0,
            tickets: Tickets::of(launch),
        }
    }

    /// Starts a block; `None` after the last one.
    pub fn next_block(&mut self) -> Option<i64> {
        self.blocks_left = self.blocks_left.checked_sub(1)?;
        self.barrier()?;
        self.begun.push(self.interval_index);
        if let Some(tickets) = &mut self.tickets {
            tickets.begin_block(self.interval_index);
        }
        Some(self.order.nth(self.begun.len() as u64 - 1))
    }

    /// Starts an interval; `None` if numbers have run out.
    pub fn barrier(&mut self) -> Option<()> {
        self.interval_index = self.interval_index.checked_add(1)?;
        if let Some(tickets) = &mut self.tickets {
            tickets.barrier();
        }
        Some(())
    }

    /// Passes a fence of the block.
    pub fn fence(&mut self) {
        if let Some(tickets) = &mut self.tickets {
            tickets.fence(self.interval_index);
        }
    }

    /// Takes a ticket of a counter.
    pub fn take_ticket(&mut self, counter: TicketCounter) {
        if let Some(tickets) = &mut self.tickets {
            tickets.take(counter, self.interval_index);
        }
    }

    fn now(&self) -> AccessStamp {
        AccessStamp { interval_index: self.interval_index, thread: self.thread }
    }

    /// Whether an access was made by an earlier block of this launch.
    fn of_other_block(&self, stamp: AccessStamp) -> bool {
        stamp.interval_index > self.before
            && self.begun.last().is_some_and(|first| stamp.interval_index < *first)
    }

    /// Whether an access may be concurrent with one of the running thread.
    fn concurrent(&self, stamp: AccessStamp) -> bool {
        let here = stamp.interval_index == self.interval_index && stamp.thread != self.thread;
        let in_order = || self.tickets.as_ref().is_some_and(|tickets| tickets.precedes(stamp.interval_index));
        here || self.of_other_block(stamp) && !in_order()
    }

    /// Number of a thread over all blocks.
    fn number(&self, stamp: AccessStamp) -> i64 {
        let nth = self.begun.partition_point(|first| *first <= stamp.interval_index).saturating_sub(1);
        self.order.nth(nth as u64) * i64::from(self.launch.threads()) + i64::from(stamp.thread)
    }
}

/// Records an access to a byte, unless it is a race.
pub(super) fn record_thread<'f>(
    clock: &LaunchTime<'f>,
    touches: &mut ThreadTouches,
    kind: AccessKind,
) -> Result<(), Box<Conflict<'f>>> {
    for &other in kind.conflicting() {
        let found = touches.of(other).find(|stamp| clock.concurrent(*stamp));
        if let Some(stamp) = found {
            return Err(Box::new(Conflict {
                loop_or_launch: Concurrent::Launch(clock.launch),
                iteration: clock.number(clock.now()),
                other_iteration: clock.number(stamp),
                other_kind: other,
            }));
        }
    }
    let [first, second] = &mut touches.latest[kind as usize];
    if clock.of_other_block(*first) {
        if clock.tickets.is_none() {
            return Ok(());
        }
        let earlier = &mut touches.earlier.get_or_insert_default()[kind as usize];
        earlier.push(*first);
        earlier.retain(|stamp| clock.concurrent(*stamp));
    }
    if first.interval_index != clock.interval_index {
        (*first, *second) = (clock.now(), AccessStamp::default());
    } else if *first != clock.now() {
        *second = clock.now();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lir::{Address, BufferId, Stmt, Ticket, Value};

    /// One access of a random launch: its block, interval in the block, thread, and kind.
    type Seen = (i64, u32, u32, AccessKind);

    /// A ticket of a random launch: its block, its counter, the interval of the block's last fence before it,
    /// and its position in the block.
    type Taken = (i64, u64, Option<u32>, usize);

    /// Fences and tickets of the blocks of a random launch.
    #[derive(Default)]
    struct Log {
        tickets: Vec<Taken>,
        /// Fences: block, interval and position in the block.
        fences: Vec<(i64, u32, usize)>,
    }

    impl Log {
        /// Whether an interval of a block is in order before an interval of another block, by the definition.
        fn precedes(&self, first: (i64, u32), block: i64, interval: u32) -> bool {
            let own = self.tickets.iter().enumerate().filter(|(_, ticket)| ticket.0 == block);
            own.into_iter().any(|(at, &(_, counter, _, position))| {
                let fences = self.fences.iter();
                let mut later = fences.filter(|fence| fence.0 == block && fence.2 > position);
                later.any(|fence| fence.1 < interval)
                    && self.tickets[..at].iter().any(|&(other, of, fence, _)| {
                        let before = |fence| first.0 == other && first.1 < fence;
                        let through = |fence| first.0 != other && self.precedes(first, other, fence);
                        of == counter && other != block && fence.is_some_and(|f| before(f) || through(f))
                    })
            })
        }
    }

    /// Finds the first race of random launches with fences and tickets on one byte, and nothing else.
    #[test]
    fn the_first_race_of_a_launch_with_tickets_is_found_and_nothing_else() {
        let ticket = Ticket {
            number: Value(0),
            counter: Address { buffer: BufferId(0), index: Value(0), stride: 4, offset: 0 },
            shared: BufferId(1),
        };
        let body = vec![Stmt::Ticket(ticket)];
        let launch =
            Launch { name: "l".to_string(), grid: [Value(0); 3], block: [4, 1, 1], registers: None, body };
        let (mut racy, mut ordered) = (0, 0);
        let programs = 40_000u64;
        for program in 0..programs {
            let mut random = program.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut below = |n: u64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 33) % n
            };
            let mut clock = LaunchTime::new(&launch, Order::new(program, 3), below(9) as u32);
            let mut touches = ThreadTouches::default();
            let (mut seen, mut log) = (Vec::<Seen>::new(), Log::default());
            let mut found = false;
            'all: while let Some(block) = clock.next_block() {
                let (mut interval, mut fence) = (0, None);
                for position in 0..below(14) as usize {
                    match below(8) {
                        0 | 1 => {
                            clock.barrier();
                            interval += 1;
                            continue;
                        }
                        2 | 3 => {
                            clock.fence();
                            log.fences.push((block, interval, position));
                            fence = Some(interval);
                            continue;
                        }
                        4 | 5 => {
                            let counter = below(2);
                            clock.barrier();
                            clock.take_ticket((0, counter.into()));
                            clock.barrier();
                            log.tickets.push((block, counter, fence, position));
                            interval += 2;
                            continue;
                        }
                        _ => {}
                    }
                    clock.thread = below(2) as u32;
                    let kinds =
                        [AccessKind::Read; 6].into_iter().chain([AccessKind::Atomic, AccessKind::Write]);
                    let kinds: Vec<AccessKind> = kinds.collect();
                    let kind = kinds[below(kinds.len() as u64) as usize];
                    let races = |&(b, i, t, other): &Seen| {
                        let in_order = match b == block {
                            true => i != interval || t == clock.thread,
                            false => log.precedes((b, i), block, interval),
                        };
                        !in_order && (kind != other || kind == AccessKind::Write)
                    };
                    ordered += u64::from(
                        seen.iter().any(|&(b, i, ..)| b != block && log.precedes((b, i), block, interval)),
                    );
                    let expected = seen.iter().any(races);
                    found = record_thread(&clock, &mut touches, kind).is_err();
                    assert_eq!(found, expected, "program {program}");
                    if found {
                        break 'all;
                    }
                    seen.push((block, interval, clock.thread, kind));
                }
            }
            racy += u64::from(found);
        }
        assert!(racy > programs / 20 && racy < programs * 19 / 20, "{racy} of {programs} programs race");
        assert!(ordered > programs / 100, "{ordered} accesses are ordered by tickets");
    }

    /// Detects the first race of a random launch on one byte, and nothing else.
    #[test]
    fn the_first_race_of_a_launch_is_found_and_nothing_else() {
        let launch = Launch {
            name: "l".to_string(),
            grid: [Value(0); 3],
            block: [4, 1, 1],
            registers: None,
            body: Vec::new(),
        };
        let mut racy = 0;
        let programs = 20_000u64;
        for program in 0..programs {
            let mut random = program.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut below = |n: u64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 33) % n
            };
            let mut clock = LaunchTime::new(&launch, Order::new(program, 3), below(9) as u32);
            let mut touches = ThreadTouches::default();
            let mut seen: Vec<Seen> = Vec::new();
            let mut found = false;
            'all: while let Some(block) = clock.next_block() {
                for interval in 0..1 + below(3) as u32 {
                    if interval > 0 {
                        clock.barrier();
                    }
                    for _ in 0..below(3) {
                        clock.thread = below(4) as u32;
                        let kinds = [
                            AccessKind::Read,
                            AccessKind::Read,
                            AccessKind::Read,
                            AccessKind::Read,
                            AccessKind::Read,
                            AccessKind::Atomic,
                            AccessKind::Write,
                        ];
                        let kind = kinds[below(kinds.len() as u64) as usize];
                        let races = |&(b, i, t, other): &Seen| {
                            let ordered = b == block && (i != interval || t == clock.thread);
                            !ordered && (kind != other || kind == AccessKind::Write)
                        };
                        let expected = seen.iter().any(races);
                        found = record_thread(&clock, &mut touches, kind).is_err();
                        assert_eq!(found, expected, "program {program}");
                        if found {
                            break 'all;
                        }
                        seen.push((block, interval, clock.thread, kind));
                    }
                }
            }
            racy += u64::from(found);
        }
        assert!(racy > programs / 20 && racy < programs * 19 / 20, "{racy} of {programs} programs race");
    }
}
