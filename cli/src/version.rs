//! The text of `schedc --version --verbose`: the parts that the program was built from, and the processor
//! that it runs on.

use sched_llvm::{Cpu, host_cpu_name, llvm_info};
use sched_machines::Level;
use std::ffi::OsString;

/// Whether the command line is `--version --verbose`, in either order.
pub fn is_asked_for(arguments: impl Iterator<Item = OsString>) -> bool {
    let (mut version, mut verbose) = (false, false);
    for argument in arguments {
        match argument.to_str() {
            Some("-V" | "--version") => version = true,
            Some("-v" | "--verbose") => verbose = true,
            Some("-Vv" | "-vV") => (version, verbose) = (true, true),
            _ => return false,
        }
    }
    version && verbose
}

/// The version in detail.
pub fn details() -> String {
    let about = llvm_info();
    let llvm = if about.is_static { "in the program" } else { "the system's library" };
    let linker = match about.has_linker {
        true => format!("LLD {}, in the program", about.llvm),
        false => "the programs cc and objcopy".to_string(),
    };
    let cuda = if cfg!(feature = "cuda") { "yes" } else { "no" };
    // The highest level that the machine runs.
    let level = Cpu::all().rfind(|cpu| *cpu != Cpu::Native && cpu.runs_here());
    let level = level.map_or_else(|| format!("less than {}", Level::ALL[0].word()), |cpu| cpu.to_string());
    let lines = [
        ("commit", option_env!("SCHEDC_COMMIT").unwrap_or("not recorded").to_string()),
        ("LLVM", format!("{}, {llvm}", about.llvm)),
        ("linker", linker),
        ("targets", about.targets.join(", ")),
        ("names of GPUs", cuda.to_string()),
        ("processor", format!("{}, {level}", host_cpu_name())),
        ("instructions", Cpu::Native.features().join(", ")),
    ];
    let lines = lines.map(|(name, what)| format!("{:15}{what}\n", format!("{name}:")));
    format!("schedc {}\n{}", env!("CARGO_PKG_VERSION"), lines.concat())
}

#[cfg(test)]
mod tests {
    use super::is_asked_for;

    #[test]
    fn only_both_words_ask_for_details() {
        let asks = |line: &str| is_asked_for(line.split_whitespace().map(Into::into));
        assert!(["--version --verbose", "-v --version", "-V -v", "-Vv"].into_iter().all(asks));
        let others = ["", "--version", "-v", "build --version --verbose", "--version --verbose x"];
        assert!(!others.into_iter().any(asks));
    }
}
