//! The file of the program that runs, for commands that start it again or look beside it.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The file that the caller named.
static EXECUTABLE: OnceLock<PathBuf> = OnceLock::new();

/// Sets the file, if it is not the process's own.
pub fn set(program: Option<PathBuf>) {
    if let Some(program) = program {
        let _ = EXECUTABLE.set(program);
    }
}

/// The file of the program.
///
/// # Errors
/// The system does not say which file the process runs.
pub fn executable() -> io::Result<PathBuf> {
    EXECUTABLE.get().cloned().map_or_else(std::env::current_exe, Ok)
}
