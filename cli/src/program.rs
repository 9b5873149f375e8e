//! The path of the running program, for commands that start it again or start a program in the same folder.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The file that the caller named.
static EXECUTABLE: OnceLock<PathBuf> = OnceLock::new();

/// Sets the path, if it is not that of the process's own file.
pub fn set(program: Option<PathBuf>) {
    if let Some(program) = program {
        let _ = EXECUTABLE.set(program);
    }
}

/// The file of the program.
///
/// # Errors
/// When the system does not report which file the process runs.
pub fn executable() -> io::Result<PathBuf> {
    EXECUTABLE.get().cloned().map_or_else(std::env::current_exe, Ok)
}
