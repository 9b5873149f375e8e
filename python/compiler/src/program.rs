//! The command line `schedc`. It is part of this module so that a wheel contains LLVM only once.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Exit status after a panic, the same as that of the program `schedc`.
const PANIC_STATUS: u8 = 101;

/// Runs a command line and returns the exit status. Ends the process instead for `--help`, `--version` and
/// arguments that do not parse. `arguments` begins with the program's name; `program` is the file that runs
/// it. Replaces the handlers of signals, so the process must do nothing else.
#[pyfunction]
pub fn run_program(py: Python<'_>, arguments: Vec<OsString>, program: PathBuf) -> u8 {
    py.detach(|| {
        std::panic::catch_unwind(|| schedc_cli::run(arguments, Some(program))).unwrap_or(PANIC_STATUS)
    })
}
