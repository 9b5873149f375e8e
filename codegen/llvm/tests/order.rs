//! The order of work on devices. The runtime runs over a test driver that keeps only the order which CUDA's
//! documents promise, and that driver is tested itself. The runtime is compiled here without faults, and with
//! each seeded fault.

use crate::standin::{compiler, driver, folder, source, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The kernels as a module of the driver.
fn kernels() -> &'static Path {
    static KERNELS: OnceLock<PathBuf> = OnceLock::new();
    KERNELS.get_or_init(|| {
        let library = folder().join("kernels.so");
        let mut cc = compiler();
        succeed(cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source("kernels.c")), "kernels");
        library
    })
}

/// The test program, without the runtime.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let object = folder().join("order.o");
        succeed(compiler().args(["-c", "-o"]).arg(&object).arg(source("order.c")), "the program");
        object
    })
}

fn runtime() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime")
}

/// The test program with the runtime, which has one seeded fault.
fn with_fault(fault: &str) -> PathBuf {
    let program_of_fault = folder().join(fault);
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O0", "-w", "-pthread"]).arg(format!("-DSCHEDC_SEEDED={fault}"));
    cc.arg("-o").arg(&program_of_fault).arg(program()).arg(runtime().join("runtime.c"));
    succeed(cc.args(["-ldl", "-lm"]), fault);
    program_of_fault
}

/// The cases of the program, each with the mode of the driver.
fn cases() -> Vec<(&'static str, String)> {
    let turns = (1..=12).map(|seed| format!("turns:{seed}"));
    let modes = [String::new(), "pageable:1".to_string()].into_iter().chain(turns);
    let calls = modes.flat_map(|mode| [("calls", mode.clone()), ("counted", mode)]);
    let turns = ["", "turns:13", "turns:14", "capture:1", "instantiate:1", "graph:1"];
    let repeats = turns.map(|mode| ("repeats", mode.to_string()));
    let faulty = [
        ("fails", "launch:2"),
        ("split", "launch:2"),
        ("unrecorded", "record:1"),
        ("unloaded", "stream:1"),
        ("unloaded", "alloc:1"),
    ];
    calls.chain(repeats).chain(faulty.map(|(case, mode)| (case, mode.to_string()))).collect()
}

fn command(program: &Path, maker: &str, case: &str, mode: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(kernels()).args([maker, case]).env("FAKE_CUDA", mode);
    command.env("SCHEDC_CUDA_DRIVER", driver()).env("SCHEDC_HIP_DRIVER", driver());
    command
}

#[test]
fn the_driver_promises_what_cuda_does() {
    let program = folder().join("standin");
    succeed(compiler().arg("-o").arg(&program).arg(source("standin.c")).arg(driver()), "the program");
    succeed(Command::new(&program).arg(kernels()).env_remove("FAKE_CUDA"), "late");
    succeed(Command::new(&program).arg(kernels()).env("FAKE_CUDA", "pageable:1"), "pageable memory at once");
}

#[test]
fn work_is_done_in_order() {
    let program = with_fault("SCHEDC_NO_FAULT");
    for (case, mode) in cases() {
        for maker in ["nvidia", "amd"] {
            succeed(&mut command(&program, maker, case, &mode), &mode);
        }
    }
}

#[test]
fn seeded_faults_are_seen() {
    let header = std::fs::read_to_string(runtime().join("fault.h")).expect("the list of faults");
    let named = header.lines().filter_map(|line| line.trim().strip_prefix("SCHEDC_")?.split_once(','));
    let faults: Vec<String> = named.map(|(name, _)| format!("SCHEDC_{name}")).collect();
    let [none, seeded @ ..] = faults.as_slice() else { panic!("no faults") };
    assert!(none == "SCHEDC_NO_FAULT" && seeded.len() >= 12, "{faults:?}");
    for fault in seeded {
        let program = with_fault(fault);
        let fails = |(case, mode): &(&str, String)| {
            let output = command(&program, "nvidia", case, mode).output().expect("the program runs");
            !output.status.success()
        };
        assert!(cases().iter().any(fails), "nothing sees {fault}");
    }
}
