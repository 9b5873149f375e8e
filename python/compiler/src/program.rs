//! The command line `schedc`, run by this module: a wheel contains LLVM once.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Exit status of a panic, as that of the program.
const PANICKED: u8 = 101;

/// Runs a command line and returns the exit status. `arguments` begins with the program's name; `program` is
/// the file that runs it. Replaces the handlers of signals, so it is the only thing that a process does.
#[pyfunction]
pub fn run_program(py: Python<'_>, arguments: Vec<OsString>, program: PathBuf) -> u8 {
    py.detach(|| std::panic::catch_unwind(|| schedc_cli::run(arguments, Some(program))).unwrap_or(PANICKED))
}
