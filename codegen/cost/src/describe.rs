//! Descriptions of processors that were not measured: figures that their makers publish, and costs of
//! instructions measured on processors of the same level.

use crate::machine::{Charge, Machine, MemoryLevel};
use crate::operation::InstructionKind;
use sched_machines::{Family, Level};
use std::collections::BTreeMap;

/// Whether a kind is a look-up of bytes or words in a table longer than one register. Only registers of 512
/// bits have such an instruction.
fn is_paired(kind: InstructionKind, register_bits: u32) -> bool {
    let InstructionKind::Lookup { element, entries, .. } = kind else { return false };
    register_bits >= 512 && element <= 2 && u32::from(entries) * u32::from(element) * 8 > register_bits
}

/// Kinds whose instructions some cores with 512-bit registers execute as two halves of 256 bits. Half
/// registers cost less there ([`Family::half_width_cost`]).
const HALVED_KINDS: [InstructionKind; 6] = [
    InstructionKind::Vector,
    InstructionKind::Compare,
    InstructionKind::Float,
    InstructionKind::Expand,
    InstructionKind::Load,
    InstructionKind::Store,
];

/// Cycles that LLVM takes to compile one operation. Measured: 20 to 25 microseconds on a core of 3.6 GHz,
/// over ten schedules of 80 to 3500 operations.
const COMPILE_CYCLES: f64 = 80_000.0;

/// Cycles to wake a waiting thread and to learn that it has finished. Assumed, not measured: 2.7 microseconds
/// at 3 GHz. Estimates of calls with several threads include it once for each parallel loop.
const WAKE_CYCLES: f64 = 8_000.0;

/// Bytes of the first-level instruction cache of x86-64 servers. Eight interleaved vectors are candidates
/// only if their code fits it.
const CODE_CACHE_BYTES: f64 = 32_768.0;

impl Machine {
    /// Whether the table of processor families has the processor that LLVM calls `name`.
    pub fn is_described(name: &str) -> bool {
        Family::of(name).is_some()
    }

    /// The processor that LLVM calls `name`: the figures of its family, with the costs of the instructions of
    /// `level`.
    pub fn like(name: &str, level: Level) -> Machine {
        let known = Family::of(name);
        let family = known.unwrap_or(&Family::OTHER);
        let register_bits = level.register_bits();
        let cache = |bytes, latency, line, scattered| MemoryLevel { bytes, latency, line, scattered };
        // Clock rate, call and caches are typical of servers. The third level is the part of the last-level
        // cache that the TLB covers. `schedc calibrate` measures all of them.
        Machine {
            name: name.to_string(),
            ghz: 3.0,
            register_bits,
            issue: family.issue,
            window: family.window,
            in_flight: family.in_flight,
            mispredict: family.mispredict,
            multiplies_apart: family.multiplies_apart,
            call: 200.0,
            compile: COMPILE_CYCLES,
            wake: WAKE_CYCLES,
            caches: vec![
                cache(32_768.0, 6.0, 0.5, 0.8),
                cache(1_048_576.0, 17.0, 1.1, 1.1),
                cache(4_194_304.0, 60.0, 2.2, 2.3),
                cache(33_554_432.0, 150.0, 4.0, 5.0),
                cache(f64::MAX, 700.0, 9.0, 25.0),
            ],
            code_cache_bytes: CODE_CACHE_BYTES,
            charges: charges(level, known),
        }
    }
}

/// Costs of instructions by bits of their vectors: the measured ones of the level, adjusted by the figures of
/// a family.
fn charges(level: Level, known: Option<&Family>) -> BTreeMap<u32, BTreeMap<InstructionKind, Charge>> {
    let family = known.unwrap_or(&Family::OTHER);
    let charge = |each: f64, latency: f64| Charge { each, latency };
    let register_bits = level.register_bits();
    let is_long = register_bits >= 512;
    let mut all: BTreeMap<u32, BTreeMap<InstructionKind, Charge>> =
        serde_json::from_str(family.costs(level)).unwrap_or_default();
    let whole = all.entry(register_bits).or_default();
    // Every core loads two registers of at most 256 bits per cycle.
    let load = if is_long { 1.0 / family.loads_per_cycle } else { 0.5 };
    whole.extend([
        (InstructionKind::Convert, charge(1.0, 4.0)),
        (InstructionKind::Mask, charge(1.0, 4.0)),
        (InstructionKind::Shuffle, charge(1.0, 3.0)),
        (InstructionKind::Load, charge(load, 6.0)),
        (InstructionKind::Store, charge(1.0, 1.0)),
        (InstructionKind::Math, charge(20.0, 40.0)),
    ]);
    if known.is_some() && register_bits > 128 {
        let each = f64::from(register_bits / 32) * family.lane_gather_cycles;
        whole.extend([4, 8].map(|element| (InstructionKind::Gather { element }, charge(each, each + 12.0))));
    }
    for (kind, charge) in whole.iter_mut() {
        charge.each *= if is_paired(*kind, register_bits) { family.pair_lookup_cost } else { 1.0 };
    }
    if is_long {
        let halves = HALVED_KINDS.map(|kind| {
            let charge = whole.get(&kind).copied();
            charge.map(|charge| (kind, Charge { each: charge.each * family.half_width_cost, ..charge }))
        });
        let shorter = all.entry(register_bits / 2).or_default();
        for (kind, charge) in halves.into_iter().flatten() {
            shorter.entry(kind).or_insert(charge);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_has_costs_of_its_instructions() {
        let levels = Level::ALL.iter().map(|level| ("znver4", *level));
        for (name, level) in levels.chain([("znver5", Level::Vbmi)]) {
            let text = Family::of(name).map_or("", |family| family.costs(level));
            let charges =
                serde_json::from_str::<BTreeMap<u32, BTreeMap<InstructionKind, Charge>>>(text).expect(text);
            assert!(charges.get(&level.register_bits()).is_some_and(|whole| whole.len() > 20), "{level:?}");
            let machine = Machine::like(name, level);
            let read = Machine::from_json(&machine.to_json());
            assert_eq!(read.as_ref(), Ok(&machine));
            let each =
                |entries| machine.charge(InstructionKind::Lookup { element: 1, entries, index: 1 }).each;
            assert!(each(16) <= 1.1 * each(64) && each(64) < each(256) && each(256) < each(512), "{level:?}");
        }
    }

    #[test]
    fn unknown_processors_have_common_figures() {
        let (some, none) = (Machine::like("znver5", Level::V3), Machine::like("mystery", Level::V3));
        assert!(some.window > none.window);
        assert_eq!(some.charge(InstructionKind::Vector), none.charge(InstructionKind::Vector));
    }
}
