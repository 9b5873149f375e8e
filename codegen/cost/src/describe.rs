//! What processors are like that nobody has measured: from what their makers say of them.

use crate::machine::{Cache, Charge, Machine};
use crate::operation::Kind;
use std::collections::BTreeMap;

/// What is said of a family of processors.
struct Family {
    /// How LLVM's names for them begin.
    name: &'static str,
    /// Instructions begun in a cycle.
    issue: f64,
    /// Instructions that may wait for others while later ones begin: what [`crate::window`] found (Zen 4, Zen 5), what the queues
    /// hold that look-ups wait in, or about a quarter of what is in flight.
    window: f64,
    /// Instructions in flight: the length of its reorder buffer.
    in_flight: f64,
    /// Cycles that a wrong guess costs.
    mispredict: f64,
    /// Registers of 512 bits loaded in a cycle.
    loads: f64,
    /// Cycles of a gather, for each lane.
    gather: f64,
    /// What 256 bits cost where 512 cost 1.
    half: f64,
    /// What a look-up of bytes or words in two registers costs where one in one register costs 1.
    pair: f64,
}

/// Families, those with longer names first. The figures of each stand in the order of [`Family`]'s fields.
const FAMILIES: [Family; 18] = [
    family("znver5", [8.0, 103.0, 448.0, 15.0, 2.0, 0.8, 1.0, 1.0]),
    family("znver4", [6.0, 80.0, 320.0, 13.0, 1.0, 1.1, 0.5, 1.0]),
    family("znver3", [6.0, 64.0, 256.0, 13.0, 1.0, 1.2, 0.7, 1.0]),
    family("znver", [5.0, 56.0, 224.0, 16.0, 1.0, 1.6, 0.7, 1.0]),
    family("haswell", [4.0, 48.0, 192.0, 16.0, 2.0, 2.5, 0.7, 2.0]),
    family("broadwell", [4.0, 48.0, 192.0, 16.0, 2.0, 2.2, 0.7, 2.0]),
    family("skylake", [4.0, 56.0, 224.0, 16.0, 2.0, 2.0, 0.7, 2.0]),
    family("cascadelake", [4.0, 56.0, 224.0, 16.0, 2.0, 2.0, 0.7, 2.0]),
    family("cooperlake", [4.0, 56.0, 224.0, 16.0, 2.0, 2.0, 0.7, 2.0]),
    family("icelake", [5.0, 88.0, 352.0, 17.0, 2.0, 2.0, 0.7, 2.0]),
    family("tigerlake", [5.0, 88.0, 352.0, 17.0, 2.0, 2.0, 0.7, 2.0]),
    family("rocketlake", [5.0, 88.0, 352.0, 17.0, 2.0, 2.0, 0.7, 2.0]),
    family("alderlake", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
    family("raptorlake", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
    family("meteorlake", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
    family("sapphirerapids", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
    family("emeraldrapids", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
    family("graniterapids", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
];

/// What is assumed of others.
const OTHER: Family = family("", [5.0, 64.0, 256.0, 16.0, 1.0, 1.0, 0.7, 1.0]);

const fn family(name: &'static str, figures: [f64; 8]) -> Family {
    let [issue, window, in_flight, mispredict, loads, gather, half, pair] = figures;
    Family { name, issue, window, in_flight, mispredict, loads, gather, half, pair }
}

fn family_of(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| name.starts_with(family.name))
}

/// Whether a kind is a look-up of bytes or words in a table that one register does not hold. Where registers are shorter than
/// 512 bits there is no such instruction.
fn is_paired(kind: Kind, register_bits: u32) -> bool {
    let Kind::Lookup { element, entries, .. } = kind else { return false };
    register_bits >= 512 && element <= 2 && u32::from(entries) * u32::from(element) * 8 > register_bits
}

/// What is done in two halves where whole registers take longer than half ones.
const IN_HALVES: [Kind; 6] =
    [Kind::Vector, Kind::Compare, Kind::Float, Kind::Expand, Kind::Load, Kind::Store];

/// Cycles in which LLVM makes code of one operation: over ten schedules of 80 to 3500 operations it took 20 to 25 microseconds of a
/// core of 3.6 GHz.
const COMPILE: f64 = 80_000.0;

/// Cycles to wake a thread that waits, and to hear that it has ended.
const WAKE: f64 = 8_000.0;

/// Bytes of the first cache of instructions of x86-64 servers.
const CODE_BYTES: f64 = 32_768.0;

/// What instructions of a level cost in a family, as [`crate::probes`] found it; where the name is empty, in all others, as on a
/// processor of 2023 (Zen 4).
const MEASURED: [(&str, Level, &str); 5] = [
    ("znver5", Level::Vbmi, include_str!("../machines/znver5.json")),
    ("", Level::V2, include_str!("../machines/x86-64-v2.json")),
    ("", Level::V3, include_str!("../machines/x86-64-v3.json")),
    ("", Level::V4, include_str!("../machines/x86-64-v4.json")),
    ("", Level::Vbmi, include_str!("../machines/avx512vbmi.json")),
];

/// Instruction sets that differ in how they look tables up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Registers of 128 bits, tables of 16 bytes.
    V2,
    /// Registers of 256 bits, whose halves have tables of 16 bytes.
    V3,
    /// Registers of 512 bits, tables of 32 words and more.
    V4,
    /// The same with tables of 64 bytes and more.
    Vbmi,
}

impl Level {
    /// Bits of its registers.
    pub fn register_bits(self) -> u32 {
        match self {
            Level::V2 => 128,
            Level::V3 => 256,
            Level::V4 | Level::Vbmi => 512,
        }
    }
}

impl Machine {
    /// Whether something is known of a processor, by LLVM's name for it.
    pub fn is_described(name: &str) -> bool {
        family_of(name).is_some()
    }

    /// A processor as far as its description goes: how long kinds of instructions take is what most processors take.
    pub fn like(name: &str, level: Level) -> Machine {
        let known = family_of(name);
        let family = known.unwrap_or(&OTHER);
        let register_bits = level.register_bits();
        let cache = |bytes, latency, line, scattered| Cache { bytes, latency, line, scattered };
        Machine {
            name: name.to_string(),
            ghz: 3.0,
            register_bits,
            issue: family.issue,
            window: family.window,
            in_flight: family.in_flight,
            mispredict: family.mispredict,
            call: 200.0,
            compile: COMPILE,
            wake: WAKE,
            caches: vec![
                cache(32_768.0, 6.0, 0.5, 0.8),
                cache(1_048_576.0, 17.0, 1.1, 1.1),
                cache(4_194_304.0, 60.0, 2.2, 2.3),
                cache(33_554_432.0, 150.0, 4.0, 5.0),
                cache(f64::MAX, 700.0, 9.0, 25.0),
            ],
            code_bytes: CODE_BYTES,
            charges: charges(name, level, known),
        }
    }
}

/// What instructions cost, by bits of their vectors, as far as it was measured, and as is said of a family.
fn charges(name: &str, level: Level, known: Option<&Family>) -> BTreeMap<u32, BTreeMap<Kind, Charge>> {
    let family = known.unwrap_or(&OTHER);
    let charge = |each: f64, latency: f64| Charge { each, latency };
    let register_bits = level.register_bits();
    let is_long = register_bits >= 512;
    let is_measured = |(family, of, _): &&(&str, Level, &str)| *of == level && name.starts_with(family);
    let measured = MEASURED.iter().find(is_measured).map_or("{}", |(_, _, text)| text);
    let mut all: BTreeMap<u32, BTreeMap<Kind, Charge>> = serde_json::from_str(measured).unwrap_or_default();
    let whole = all.entry(register_bits).or_default();
    // Shorter registers are loaded two at a time everywhere.
    let load = if is_long { 1.0 / family.loads } else { 0.5 };
    whole.extend([
        (Kind::Convert, charge(1.0, 4.0)),
        (Kind::Mask, charge(1.0, 4.0)),
        (Kind::Shuffle, charge(1.0, 3.0)),
        (Kind::Load, charge(load, 6.0)),
        (Kind::Store, charge(1.0, 1.0)),
        (Kind::Math, charge(20.0, 40.0)),
    ]);
    if known.is_some() && register_bits > 128 {
        let each = f64::from(register_bits / 32) * family.gather;
        whole.extend([4, 8].map(|element| (Kind::Gather { element }, charge(each, each + 12.0))));
    }
    for (kind, charge) in whole.iter_mut() {
        charge.each *= if is_paired(*kind, register_bits) { family.pair } else { 1.0 };
    }
    if is_long {
        let halves = IN_HALVES.map(|kind| {
            let charge = whole.get(&kind).copied();
            charge.map(|charge| (kind, Charge { each: charge.each * family.half, ..charge }))
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
    fn every_level_has_what_its_instructions_cost() {
        for (family, level, text) in MEASURED {
            let charges = serde_json::from_str::<BTreeMap<u32, BTreeMap<Kind, Charge>>>(text).expect(text);
            assert!(charges.get(&level.register_bits()).is_some_and(|whole| whole.len() > 20), "{level:?}");
            let machine = Machine::like(if family.is_empty() { "znver4" } else { family }, level);
            let read = Machine::from_json(&machine.to_json());
            assert_eq!(read.as_ref(), Ok(&machine));
            let each = |entries| machine.charge(Kind::Lookup { element: 1, entries, index: 1 }).each;
            assert!(each(16) <= 1.1 * each(64) && each(64) < each(256) && each(256) < each(512), "{level:?}");
        }
    }

    #[test]
    fn processors_that_nobody_knows_are_like_most() {
        let (some, none) = (Machine::like("znver5", Level::V3), Machine::like("mystery", Level::V3));
        assert!(some.window > none.window);
        assert_eq!(some.charge(Kind::Vector), none.charge(Kind::Vector));
    }
}
