//! Machines of the cost model: measured by `schedc calibrate`, or described by the tables of
//! `sched_machines`.

use sched_cost::{Level, Machine};
use sched_llvm::{Cpu, host_cpu_name};
use std::path::{Path, PathBuf};

/// The costs of the machine that runs code for `cpu`: those that `schedc calibrate` measured here, if the
/// code is native, otherwise those of the tables.
pub fn of(cpu: Cpu) -> Machine {
    measured(cpu).unwrap_or_else(|| described(cpu))
}

/// Costs that [`calibrate`](crate::calibrate) has measured and saved on this machine; only for native code.
fn measured(cpu: Cpu) -> Option<Machine> {
    let path = calibration_file(cpu).filter(|_| cpu == Cpu::Native)?;
    let machine = Machine::from_json(&std::fs::read_to_string(path).ok()?).ok()?;
    let fits = machine.name == host_cpu_name() && machine.register_bits == level_of(cpu).register_bits();
    fits.then_some(machine)
}

/// The costs of a processor from the cost model's tables; for native code, with the cache sizes
/// of this machine.
pub(crate) fn described(cpu: Cpu) -> Machine {
    if cpu != Cpu::Native {
        return Machine::like(cpu.name(), level_of(cpu));
    }
    let machine = Machine::like(&host_cpu_name(), level_of(cpu)).with_caches(&cache_sizes());
    let code_cache_bytes = caches().iter().find(|cache| cache.kind == "Instruction").map(|cache| cache.bytes);
    Machine { code_cache_bytes: code_cache_bytes.unwrap_or(machine.code_cache_bytes), ..machine }
}

/// A note for users if the cost model has no figures for the processor that a schedule is chosen for.
pub fn note(cpu: Cpu) -> Option<String> {
    if cpu != Cpu::Native || measured(cpu).is_some() {
        return None;
    }
    note_on(&host_cpu_name())
}

fn note_on(name: &str) -> Option<String> {
    let unknown = !Machine::is_described(name);
    unknown.then(|| {
        format!(
            "the cost model has no figures for the processor `{name}`, and uses common ones to choose the \
             schedule; `schedc calibrate` measures the processor in a few seconds"
        )
    })
}

/// The level whose costs describe code for a processor. Code for the baseline is priced as code for the
/// lowest level.
pub fn level_of(cpu: Cpu) -> Level {
    cpu.level().unwrap_or(Level::V2)
}

/// The user's folder for caches of schedc: `$SCHEDC_CACHE`, `$XDG_CACHE_HOME/schedc` or `~/.cache/schedc`.
/// `None` if no variable names it.
pub fn cache_folder() -> Option<PathBuf> {
    let named =
        |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("SCHEDC_CACHE")
        .or_else(|| named("XDG_CACHE_HOME").map(|folder| folder.join("schedc")))
        .or_else(|| named("HOME").map(|folder| folder.join(".cache/schedc")))
}

/// The file that calibration writes, in the user's folder for caches. None if there is no such folder.
pub fn calibration_file(cpu: Cpu) -> Option<PathBuf> {
    Some(cache_folder()?.join(format!("machine-{}-{}.json", host_cpu_name(), cpu.lookup_register_bits())))
}

/// Bytes of the data caches of the first core, the nearest first.
pub(crate) fn cache_sizes() -> Vec<f64> {
    let of_data = caches().into_iter().filter(|cache| cache.kind != "Instruction");
    of_data.map(|cache| cache.bytes).collect()
}

/// A cache of the first core.
struct CoreCache {
    /// Type as Linux names it: `Data`, `Instruction` or `Unified`.
    kind: String,
    bytes: f64,
}

/// The caches of the first core, the nearest first, as Linux reports them.
fn caches() -> Vec<CoreCache> {
    let folder = Path::new("/sys/devices/system/cpu/cpu0/cache");
    let read = |n: usize, name: &str| {
        let text = std::fs::read_to_string(folder.join(format!("index{n}/{name}"))).ok()?;
        Some(text.trim().to_string())
    };
    let one = |n: usize| Some(CoreCache { kind: read(n, "type")?, bytes: bytes_of(&read(n, "size")?)? });
    (0..8).filter_map(one).collect()
}

/// Bytes of a size such as `48K` or `32M`.
fn bytes_of(size: &str) -> Option<f64> {
    let (number, unit) = match size.strip_suffix('K') {
        Some(kibi) => (kibi, 1024.0),
        None => (size.strip_suffix('M')?, 1_048_576.0),
    };
    Some(number.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_processor_gets_a_note() {
        assert_eq!(note_on("znver4"), None);
        assert!(
            note_on("mystery").is_some_and(|note| note.contains("`mystery`") && note.contains("calibrate"))
        );
        // A level of instruction sets is no processor.
        assert_eq!(note(Cpu::X86_64V3), None);
    }

    #[test]
    fn sizes_of_caches_are_read_as_the_system_writes_them() {
        assert_eq!((bytes_of("48K"), bytes_of("2M")), (Some(49_152.0), Some(2_097_152.0)));
        assert_eq!((bytes_of("48"), bytes_of("manyK"), bytes_of("")), (None, None, None));
    }
}
