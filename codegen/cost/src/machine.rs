//! Machines: costs of a processor's instructions, and sizes of its caches.

use crate::operation::{Amount, InstructionKind};
use crate::probe::WINDOW_STEPS;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The cost of a kind of instruction on one register, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    /// Distance between independent instructions: the reciprocal throughput.
    pub each: f64,
    /// Time from operands to result.
    pub latency: f64,
}

/// A level of memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryLevel {
    /// Bytes of the cache that one core can use.
    pub bytes: f64,
    /// Cycles from the address of a load to its value.
    pub latency: f64,
    /// Cycles for each line of 64 bytes if many consecutive ones are loaded.
    pub line: f64,
    /// Cycles for each line if many lines far from each other are loaded, at addresses that do not depend on
    /// earlier loads.
    pub scattered: f64,
}

/// Memory that a core's TLB covers, as a multiple of the size of its second-level cache: an approximation.
/// Beyond it, each access to the last-level cache also waits for the address of its page.
const TLB_FACTOR: f64 = 4.0;

/// The figures of a processor that the cost model uses. Times are cycles of one core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// LLVM's name for the processor.
    pub name: String,
    /// Clock rate in cycles per nanosecond.
    pub ghz: f64,
    /// Bits of the vector registers that code for it uses.
    pub register_bits: u32,
    /// Instructions that the core issues in a cycle.
    pub issue: f64,
    /// Instructions that may wait for operands while later ones run, as measured by
    /// [`crate::window_probe`]; fewer than [`Machine::in_flight`].
    pub window: f64,
    /// Most instructions in flight: the length of the core's reorder buffer.
    pub in_flight: f64,
    /// Cycles that a mispredicted branch costs.
    pub mispredict: f64,
    /// Whether the core has separate units for multiplications and additions of floats. Files of earlier
    /// calibrations lack this field.
    #[serde(default)]
    pub multiplies_apart: bool,
    /// Cycles to enter the code and to leave it.
    pub call: f64,
    /// Cycles that LLVM takes to compile one more operation of a kernel.
    pub compile: f64,
    /// Cycles to wake another thread and to wait for it at the end.
    pub wake: f64,
    /// Levels of memory, the fastest first, main memory last.
    pub caches: Vec<MemoryLevel>,
    /// Bytes of the first-level instruction cache.
    #[serde(rename = "code_bytes")]
    pub code_cache_bytes: f64,
    /// Costs of instructions, by the bits of the vectors that they work on. Vectors of other lengths cost as
    /// much as the next longer ones.
    pub charges: BTreeMap<u32, BTreeMap<InstructionKind, Charge>>,
}

impl Machine {
    /// Parses the output of [`Machine::to_json`].
    ///
    /// # Errors
    /// If the text is no such output; the error is a message.
    pub fn from_json(text: &str) -> Result<Machine, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The machine with caches of other sizes, in bytes, the nearest first. It is unchanged if there are none
    /// or if they are not sorted.
    pub fn with_caches(mut self, sizes: &[f64]) -> Machine {
        let Some(memory) = self.caches.last().copied().filter(|_| sizes.is_sorted() && !sizes.is_empty())
        else {
            return self;
        };
        let mut sizes = sizes.to_vec();
        // The part of the last-level cache that the TLB covers is a separate level, since it is much faster.
        if let [.., before, last] = *sizes.as_slice()
            && TLB_FACTOR * before < last
        {
            sizes.insert(sizes.len() - 1, TLB_FACTOR * before);
        }
        let of = |level: usize| self.caches.get(level).filter(|cache| cache.bytes < f64::MAX).copied();
        let caches = sizes.iter().enumerate();
        let caches: Vec<MemoryLevel> = caches
            .map(|(level, bytes)| MemoryLevel { bytes: *bytes, ..of(level).unwrap_or(memory) })
            .collect();
        self.caches = caches.into_iter().chain([memory]).collect();
        self
    }

    /// The machine as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Scheduler entries: how many instructions may wait for operands at once, derived from what
    /// [`crate::window_probe`] measured. When one of the probe's chains starts, the rest of the
    /// previous chain still waits; its length is the number of entries.
    pub fn scheduler_entries(&self) -> f64 {
        let steps = f64::from(WINDOW_STEPS);
        steps * self.window / (steps + self.window)
    }

    /// The cost of instructions: cycles until other instructions of their kind may start, and cycles from
    /// operands to result.
    pub fn cost(&self, amount: Amount) -> Charge {
        if let Some(charge) = self.narrow(amount) {
            return charge;
        }
        let Charge { each, latency } = self.charge(amount.kind);
        let share = match amount.kind {
            // Gathers cost cycles for each lane.
            InstructionKind::Gather { .. } => amount.registers,
            // The looked-up elements, which are longer than their indices, fill several registers. Fewer
            // indices fill fewer registers.
            InstructionKind::Lookup { element, index, .. } if element > index => {
                amount.registers.max(f64::from(index) / f64::from(element))
            }
            _ => amount.registers.max(1.0),
        };
        Charge { each: each * share, latency: latency + each * (amount.registers - 1.0).max(0.0) }
    }

    /// The cost on vectors shorter than a register, if the machine has it.
    fn narrow(&self, amount: Amount) -> Option<Charge> {
        let bits = (amount.registers * f64::from(self.register_bits)).ceil() as u32;
        let mut longer = self.charges.range(bits..self.register_bits.max(bits));
        longer.find_map(|(_, charges)| charge_in(charges, amount.kind))
    }

    /// The cost of a kind of instruction on one register. A look-up in a table of a length without a cost
    /// costs as much as in the next longer table. If no table is as long, the cost grows in proportion to the
    /// length. Kinds without any cost take one cycle.
    pub fn charge(&self, kind: InstructionKind) -> Charge {
        let charges = self.charges.get(&self.register_bits);
        charges.and_then(|charges| charge_in(charges, kind)).unwrap_or(Charge { each: 1.0, latency: 1.0 })
    }

    /// The cost of an access to a working set of `bytes` bytes beyond that of the first-level cache. Returns
    /// cycles until the value is available, and cycles for each line, for scattered lines or consecutive
    /// ones. Each level of memory serves the share of the bytes that it holds and no nearer level does.
    pub fn cost_beyond_first_cache(&self, bytes: f64, scattered: bool) -> (f64, f64) {
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

    /// Bytes of a working set for probes of shared caches: mostly larger than the core's own caches, and
    /// small enough for its TLB.
    pub fn shared_cache_probe_bytes(&self) -> f64 {
        self.caches.get(1).map_or(0.0, |cache| TLB_FACTOR * cache.bytes)
    }

    /// Whether the first-level cache holds `bytes` bytes.
    pub fn fits_first_cache(&self, bytes: f64) -> bool {
        self.caches.first().is_some_and(|cache| bytes <= cache.bytes)
    }
}

/// The cost of a kind of instruction among the costs for one length of vectors. Gathers have costs for
/// elements of 4 and of 8 bytes; shorter ones cost as much as those of 4. Multiplications cost as much as
/// other arithmetic on floats.
fn charge_in(charges: &BTreeMap<InstructionKind, Charge>, kind: InstructionKind) -> Option<Charge> {
    if let Some(charge) = charges.get(&kind) {
        return Some(*charge);
    }
    match kind {
        InstructionKind::Lookup { element, entries, index } => look_up(charges, element, entries, index),
        InstructionKind::Gather { element } => {
            let element = if element > 4 { 8 } else { 4 };
            charges.get(&InstructionKind::Gather { element }).copied()
        }
        InstructionKind::Multiply => charges.get(&InstructionKind::Float).copied(),
        _ => None,
    }
}

/// The cost of a look-up among the costs for one length of vectors.
fn look_up(
    charges: &BTreeMap<InstructionKind, Charge>,
    element: u8,
    entries: u16,
    index: u8,
) -> Option<Charge> {
    let measured = |element: u8, index: u8| {
        charges.iter().filter_map(move |(kind, charge)| match kind {
            InstructionKind::Lookup { element: e, entries, index: i } if (*e, *i) == (element, index) => {
                Some((*entries, *charge))
            }
            _ => None,
        })
    };
    // Elements shorter than the index are looked up as elements of the index's length if they have no
    // separate cost.
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
