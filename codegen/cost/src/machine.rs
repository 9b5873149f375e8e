//! Machines: what a processor takes for each kind of instruction, and how large its caches are.

use crate::operation::{Amount, Kind};
use crate::probe::WINDOW_STEPS;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one register of a kind of instruction costs, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    /// From one to the next where none waits for another.
    pub each: f64,
    /// From operands to result.
    pub latency: f64,
}

/// A level of memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// What it holds, in bytes, for one core.
    pub bytes: f64,
    /// Cycles from an address to the value.
    pub latency: f64,
    /// Cycles for each line of 64 bytes where many are asked for one after the other.
    pub line: f64,
    /// Cycles for each line where many are asked for whose addresses are known, and far from each other.
    pub scattered: f64,
}

/// How many times the second level of caches the pages have whose addresses a core remembers, more or less.
const PAGES: f64 = 4.0;

/// A processor, as far as costs go. Times are cycles of one core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// What its name is.
    pub name: String,
    /// Cycles of a nanosecond.
    pub ghz: f64,
    /// Bits of the registers that code for it uses.
    pub register_bits: u32,
    /// Instructions that it begins in a cycle.
    pub issue: f64,
    /// Instructions that may wait for their operands while others go on: as many as fit its queues, not all that are in flight.
    pub window: f64,
    /// Instructions that are read before the first of them is done: the length of its reorder buffer.
    pub in_flight: f64,
    /// Cycles that a branch costs that was guessed wrong.
    pub mispredict: f64,
    /// Cycles to enter the code and to leave it.
    pub call: f64,
    /// Cycles in which LLVM makes code of one operation, beside what all kernels have in common.
    pub compile: f64,
    /// Cycles to wake another thread and to wait for it at the end.
    pub wake: f64,
    /// The levels of memory, the fastest first, main memory last.
    pub caches: Vec<Cache>,
    /// Bytes of code that the first cache of instructions holds.
    pub code_bytes: f64,
    /// What instructions on vectors of so many bits cost. On shorter vectors they cost what they do on the next longer ones.
    pub charges: BTreeMap<u32, BTreeMap<Kind, Charge>>,
}

impl Machine {
    /// Reads what [`Machine::to_json`] wrote.
    ///
    /// # Errors
    /// When the text is something else.
    pub fn from_json(text: &str) -> Result<Machine, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The same with caches of other sizes, in bytes, the nearest first. None at all changes nothing.
    pub fn with_caches(mut self, sizes: &[f64]) -> Machine {
        let Some(memory) = self.caches.last().copied().filter(|_| sizes.is_sorted() && !sizes.is_empty())
        else {
            return self;
        };
        let mut sizes = sizes.to_vec();
        // As far as a core remembers the addresses of pages, the last cache answers much faster.
        if let [.., before, last] = *sizes.as_slice()
            && PAGES * before < last
        {
            sizes.insert(sizes.len() - 1, PAGES * before);
        }
        let of = |level: usize| self.caches.get(level).filter(|cache| cache.bytes < f64::MAX).copied();
        let caches = sizes.iter().enumerate();
        let caches: Vec<Cache> =
            caches.map(|(level, bytes)| Cache { bytes: *bytes, ..of(level).unwrap_or(memory) }).collect();
        self.caches = caches.into_iter().chain([memory]).collect();
        self
    }

    /// It as text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Instructions that wait for operands at a time, at most: those of the chains of [`crate::window`] that are left when the next
    /// chain begins.
    pub fn queue(&self) -> f64 {
        let steps = f64::from(WINDOW_STEPS);
        steps * self.window / (steps + self.window)
    }

    /// What an amount costs: cycles until others of its kind may begin, and cycles from its operands to its result.
    pub fn cost(&self, amount: Amount) -> Charge {
        if let Some(charge) = self.narrow(amount) {
            return charge;
        }
        let Charge { each, latency } = self.charge(amount.kind);
        let share = match amount.kind {
            // Gathers are paid for by the lane.
            Kind::Gather { .. } => amount.registers,
            // Elements that are longer than their numbers fill several registers, of which fewer numbers fill fewer.
            Kind::Lookup { element, index, .. } if element > index => {
                amount.registers.max(f64::from(index) / f64::from(element))
            }
            _ => amount.registers.max(1.0),
        };
        Charge { each: each * share, latency: latency + each * (amount.registers - 1.0).max(0.0) }
    }

    /// What an amount of less than a register costs, where that is known.
    fn narrow(&self, amount: Amount) -> Option<Charge> {
        let bits = (amount.registers * f64::from(self.register_bits)).ceil() as u32;
        let mut longer = self.charges.range(bits..self.register_bits.max(bits));
        longer.find_map(|(_, charges)| charge_in(charges, amount.kind))
    }

    /// What a kind of instruction costs on a register. A table of a length that was not measured costs what the next longer one does,
    /// or as much more than the longest as it is longer.
    pub fn charge(&self, kind: Kind) -> Charge {
        let charges = self.charges.get(&self.register_bits);
        charges.and_then(|charges| charge_in(charges, kind)).unwrap_or(Charge { each: 1.0, latency: 1.0 })
    }

    /// What an access to so many bytes takes that are in use at a time, beyond one to the first cache: cycles until the value
    /// is there, and cycles for each line, of those that follow each other or of scattered ones. Each level of memory has as many of the bytes as it can hold.
    pub fn beyond_first(&self, bytes: f64, scattered: bool) -> (f64, f64) {
        let (mut latency, mut line, mut held) = (0.0, 0.0, 0.0);
        let first = self.caches.first().map_or(0.0, |cache| cache.latency);
        for (level, cache) in self.caches.iter().enumerate() {
            let share = (cache.bytes / bytes.max(1.0)).min(1.0);
            if level > 0 {
                latency += (share - held) * (cache.latency - first).max(0.0);
                line += (share - held) * if scattered { cache.scattered } else { cache.line };
            }
            held = share;
        }
        (latency, line)
    }

    /// So many bytes that the first two caches hold few of them, and pages that a core remembers all.
    pub fn beyond_core(&self) -> f64 {
        self.caches.get(1).map_or(0.0, |cache| PAGES * cache.bytes)
    }

    /// Whether the first cache holds so many bytes.
    pub fn is_near(&self, bytes: f64) -> bool {
        self.caches.first().is_some_and(|cache| bytes <= cache.bytes)
    }
}

/// What a kind of instruction costs, of those whose costs are known on vectors of some length.
fn charge_in(charges: &BTreeMap<Kind, Charge>, kind: Kind) -> Option<Charge> {
    if let Some(charge) = charges.get(&kind) {
        return Some(*charge);
    }
    match kind {
        Kind::Lookup { element, entries, index } => look_up(charges, element, entries, index),
        Kind::Gather { element } => {
            let element = if element > 4 { 8 } else { 4 };
            charges.get(&Kind::Gather { element }).copied()
        }
        _ => None,
    }
}

fn look_up(charges: &BTreeMap<Kind, Charge>, element: u8, entries: u16, index: u8) -> Option<Charge> {
    let measured = |element: u8, index: u8| {
        charges.iter().filter_map(move |(kind, charge)| match kind {
            Kind::Lookup { element: e, entries, index: i } if (*e, *i) == (element, index) => {
                Some((*entries, *charge))
            }
            _ => None,
        })
    };
    // Elements are widened to the index.
    for element in [element, index.max(element)] {
        if let Some((_, charge)) = measured(element, index).find(|(length, _)| *length >= entries) {
            return Some(charge);
        }
        if let Some((longest, charge)) = measured(element, index).next_back() {
            let times = f64::from(entries) / f64::from(longest);
            return Some(Charge { each: charge.each * times, latency: charge.latency + times });
        }
    }
    None
}
