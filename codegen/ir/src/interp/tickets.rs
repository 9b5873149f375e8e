//! Order between the blocks of a launch, by fences and tickets.
//!
//! Intervals of a block that precede one of its fences are *published* by its next tickets: later blocks that
//! take a ticket of the same counter, then make a fence and a barrier, are in order after these intervals.
//! The order is transitive: if block A is in order after block B, a ticket of A also publishes what B has
//! published.

use crate::lir::{Launch, Stmt};
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// A counter: the number of its buffer, and its first byte.
pub(super) type TicketCounter = (usize, i128);

/// Consecutive intervals of a block.
type Intervals = RangeInclusive<u32>;

/// Fences and tickets of a running launch.
#[derive(Default)]
pub(super) struct Tickets {
    /// First interval of the running block.
    begin: u32,
    /// The last interval of the running block before its last fence; less than `begin` if there is none.
    fenced_until: u32,
    /// For each counter, the intervals that earlier tickets published.
    published: HashMap<TicketCounter, Vec<Intervals>>,
    /// Intervals published by tickets before those of the running block, without a fence yet.
    taken: Vec<Intervals>,
    /// Intervals that have a fence after their ticket, but no barrier yet.
    fenced: Vec<Intervals>,
    /// Intervals of other blocks that are in order before the running interval.
    before: Vec<Intervals>,
    /// Number of these at the last fence.
    fenced_before: usize,
}

impl Tickets {
    /// Fences and tickets of a launch; `None` if it has no tickets.
    pub fn of(launch: &Launch) -> Option<Tickets> {
        let mut has_tickets = false;
        Stmt::visit_all(&launch.body, |stmt| has_tickets |= matches!(stmt, Stmt::Ticket(_)));
        has_tickets.then(Tickets::default)
    }

    /// Starts a block with this interval.
    pub fn begin_block(&mut self, interval: u32) {
        let published = std::mem::take(&mut self.published);
        *self = Tickets { begin: interval, fenced_until: 0, published, ..Tickets::default() };
    }

    /// Passes a barrier of the running block.
    pub fn barrier(&mut self) {
        self.before.append(&mut self.fenced);
    }

    /// Passes a fence in this interval of the running block.
    pub fn fence(&mut self, interval: u32) {
        (self.fenced_until, self.fenced_before) = (interval - 1, self.before.len());
        self.fenced.append(&mut self.taken);
    }

    /// Takes a ticket for the running block in this interval, which has no other access. The interval itself
    /// is published, too, since the numbers of the counter are in order without a fence.
    pub fn take(&mut self, counter: TicketCounter, interval: u32) {
        let published = self.published.entry(counter).or_default();
        self.taken.extend(published.iter().cloned());
        published.push(interval..=interval);
        if self.begin <= self.fenced_until {
            published.push(self.begin..=self.fenced_until);
            published.extend(self.before[..self.fenced_before].iter().cloned());
        }
    }

    /// Whether an interval of another block is in order before the running one.
    pub fn precedes(&self, interval: u32) -> bool {
        self.before.iter().any(|intervals| intervals.contains(&interval))
    }
}
