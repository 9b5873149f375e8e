//! Families of processors: figures that their makers publish, by LLVM's names for the processors.

use crate::Level;

/// A family of processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Family {
    /// Prefix of LLVM's names for the processors of the family.
    pub name: &'static str,
    /// Instructions that a core issues per cycle.
    pub issue: f64,
    /// Scheduler entries: instructions that may wait for operands at once. The figure is what the probe
    /// `window` measured (Zen 4, Zen 5), the length of the queues where look-ups wait, or about a quarter of
    /// `in_flight`.
    pub window: f64,
    /// Entries of the reorder buffer.
    pub in_flight: f64,
    /// Cycles that a mispredicted branch costs.
    pub mispredict: f64,
    /// Registers of 512 bits loaded per cycle.
    pub loads_per_cycle: f64,
    /// Cycles of a gather for each lane.
    pub lane_gather_cycles: f64,
    /// Cost of an instruction on 256 bits as a share of the same on 512 bits.
    pub half_width_cost: f64,
    /// Cost of a look-up of bytes or words in two registers as a multiple of one in one register.
    pub pair_lookup_cost: f64,
    /// Whether gathers wait for each other, so that loads lane by lane are no slower. These processors leak
    /// what gathers have loaded (Gather Data Sampling), and newer microcode prevents that at this price.
    pub gathers_slowly: bool,
    /// Whether separate units add and multiply floats, so that both run at once.
    pub multiplies_apart: bool,
    /// A level whose instructions were measured on the family, and their costs as in [`Level::costs`].
    pub measured_costs: Option<(Level, &'static str)>,
}

impl Family {
    /// The family that is assumed for unknown processors.
    pub const OTHER: Family = family("", [5.0, 64.0, 256.0, 16.0, 1.0, 1.0, 0.7, 1.0]);

    /// The family of a processor, by LLVM's name for it.
    pub fn of(name: &str) -> Option<&'static Family> {
        FAMILIES.iter().find(|family| name.starts_with(family.name))
    }

    /// Costs of a level's instructions on the family.
    pub fn costs(&self, level: Level) -> &'static str {
        let measured = self.measured_costs.filter(|(of, _)| *of == level);
        measured.map_or(level.costs(), |(_, costs)| costs)
    }

    const fn with_slow_gathers(self) -> Family {
        Family { gathers_slowly: true, ..self }
    }

    const fn with_multipliers_apart(self) -> Family {
        Family { multiplies_apart: true, ..self }
    }

    const fn with_measured_costs(self, level: Level, costs: &'static str) -> Family {
        Family { measured_costs: Some((level, costs)), ..self }
    }
}

/// Families, longer names before their prefixes. Figures are in the order of [`Family`]'s fields.
const FAMILIES: &[Family] = &[
    family("znver5", [8.0, 103.0, 448.0, 15.0, 2.0, 0.8, 1.0, 1.0])
        .with_multipliers_apart()
        .with_measured_costs(Level::Vbmi, include_str!("../costs/znver5.json")),
    family("znver4", [6.0, 80.0, 320.0, 13.0, 1.0, 1.1, 0.5, 1.0]).with_multipliers_apart(),
    family("znver3", [6.0, 64.0, 256.0, 13.0, 1.0, 1.2, 0.7, 1.0]).with_multipliers_apart(),
    family("znver", [5.0, 56.0, 224.0, 16.0, 1.0, 1.6, 0.7, 1.0]).with_multipliers_apart(),
    family("haswell", [4.0, 48.0, 192.0, 16.0, 2.0, 2.5, 0.7, 2.0]),
    family("broadwell", [4.0, 48.0, 192.0, 16.0, 2.0, 2.2, 0.7, 2.0]),
    family("skylake", [4.0, 56.0, 224.0, 16.0, 2.0, 2.0, 0.7, 2.0]).with_slow_gathers(),
    family("cascadelake", [4.0, 56.0, 224.0, 16.0, 2.0, 2.0, 0.7, 2.0]).with_slow_gathers(),
    family("cooperlake", [4.0, 56.0, 224.0, 16.0, 2.0, 2.0, 0.7, 2.0]).with_slow_gathers(),
    family("cannonlake", [4.0, 56.0, 224.0, 16.0, 2.0, 2.0, 0.7, 2.0]).with_slow_gathers(),
    family("icelake", [5.0, 88.0, 352.0, 17.0, 2.0, 2.0, 0.7, 2.0]).with_slow_gathers(),
    family("tigerlake", [5.0, 88.0, 352.0, 17.0, 2.0, 2.0, 0.7, 2.0]).with_slow_gathers(),
    family("rocketlake", [5.0, 88.0, 352.0, 17.0, 2.0, 2.0, 0.7, 2.0]).with_slow_gathers(),
    family("alderlake", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
    family("raptorlake", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
    family("meteorlake", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
    family("sapphirerapids", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
    family("emeraldrapids", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
    family("graniterapids", [6.0, 168.0, 512.0, 17.0, 2.0, 0.4, 0.7, 2.0]),
];

const fn family(name: &'static str, figures: [f64; 8]) -> Family {
    let [
        issue,
        window,
        in_flight,
        mispredict,
        loads_per_cycle,
        lane_gather_cycles,
        half_width_cost,
        pair_lookup_cost,
    ] = figures;
    Family {
        name,
        issue,
        window,
        in_flight,
        mispredict,
        loads_per_cycle,
        lane_gather_cycles,
        half_width_cost,
        pair_lookup_cost,
        gathers_slowly: false,
        multiplies_apart: false,
        measured_costs: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_family_that_fits_is_the_closest() {
        for (at, family) in FAMILIES.iter().enumerate() {
            let hidden = FAMILIES[..at].iter().find(|before| family.name.starts_with(before.name));
            assert!(hidden.is_none(), "{} hides {}", hidden.map_or("", |by| by.name), family.name);
        }
        assert_eq!(Family::of("znver2").map(|family| family.issue), Some(5.0));
        assert_eq!(Family::of("mystery"), None);
    }

    #[test]
    fn gathers_are_slow_until_sapphire_rapids() {
        let slow = |name: &str| Family::of(name).is_some_and(|family| family.gathers_slowly);
        assert!(
            ["skylake", "skylake-avx512", "cannonlake", "icelake-client", "rocketlake"].into_iter().all(slow)
        );
        assert!(!["haswell", "sapphirerapids", "znver4", "mystery"].into_iter().any(slow));
    }
}
