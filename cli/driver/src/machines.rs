//! The machine that code is for, as far as the cost model knows it: measured on it, or else described.

use sched_cost::{Level, Machine};
use sched_llvm::{Cpu, host_name};
use std::path::PathBuf;

/// The machine that code of a level is for. What was measured here counts for code that is made for this machine.
pub fn of(cpu: Cpu) -> Machine {
    let register_bits = level_of(cpu).register_bits();
    if cpu != Cpu::Native {
        return Machine::like(cpu.name(), level_of(cpu));
    }
    let measured = file(cpu).and_then(|path| std::fs::read_to_string(path).ok());
    let measured = measured.and_then(|text| Machine::from_json(&text).ok());
    let fits = |machine: &Machine| machine.name == host_name() && machine.register_bits == register_bits;
    measured.filter(fits).unwrap_or_else(|| Machine::like(&host_name(), level_of(cpu)))
}

/// The instruction sets of code of a level, as far as look-ups go.
pub fn level_of(cpu: Cpu) -> Level {
    match cpu.lookup_bits() {
        512 if cpu.features().contains(&"avx512vbmi") => Level::Vbmi,
        512 => Level::V4,
        256 => Level::V3,
        _ => Level::V2,
    }
}

/// Where what was measured is kept: in the user's folder for what can be made anew. None if there is no such folder.
pub fn file(cpu: Cpu) -> Option<PathBuf> {
    let named =
        |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = named("SCHEDC_CACHE")
        .or_else(|| named("XDG_CACHE_HOME").map(|folder| folder.join("schedc")))
        .or_else(|| named("HOME").map(|folder| folder.join(".cache/schedc")))?;
    Some(folder.join(format!("machine-{}-{}.json", host_name(), cpu.lookup_bits())))
}
