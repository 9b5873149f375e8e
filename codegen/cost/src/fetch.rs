//! Costs of the fetch strategies: the ways in which a vector of rows can fetch its bins.

use crate::machine::Machine;
use crate::operation::InstructionKind;
use sched_ir::FetchCosts;

impl Machine {
    /// The costs of the operations of which fetch strategies consist, in cycles.
    pub fn fetch_costs(&self) -> FetchCosts {
        let each = |kind| self.charge(kind).each;
        let look_up = |entries| each(InstructionKind::Lookup { element: 1, entries, index: 1 });
        FetchCosts {
            register_bytes: u16::try_from(self.register_bits / 8).unwrap_or(u16::MAX),
            load: each(InstructionKind::Load),
            choose: each(InstructionKind::Vector),
            test: each(InstructionKind::Compare),
            look_up: [16, 32, 64, 128].map(look_up),
            gather: each(InstructionKind::Gather { element: 4 }) * 32.0
                / f64::from(self.register_bits.max(1)),
            convert: each(InstructionKind::Convert),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Level, Machine};

    #[test]
    fn gathers_cost_cycles_for_each_lane() {
        let of = |name, level| Machine::like(name, level).fetch_costs();
        assert_eq!(of("znver4", Level::V3).register_bytes, 32);
        let (slow, fast) = (of("skylake-avx512", Level::V4), of("sapphirerapids", Level::V4));
        assert!((slow.gather - 2.0).abs() < 1e-9 && (fast.gather - 0.4).abs() < 1e-9, "{slow:?} {fast:?}");
    }
}
