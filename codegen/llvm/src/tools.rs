//! Temporary folders, and other programs that read and write files in them.

use crate::codes;
use crate::error::LlvmError;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// Files and programs that would outlive the process if it ended now.
struct Pending {
    /// Temporary folders.
    folders: Vec<PathBuf>,
    /// Running programs, each the leader of its process group.
    programs: Vec<u32>,
}

static PENDING: Mutex<Pending> = Mutex::new(Pending { folders: Vec::new(), programs: Vec::new() });

fn pending() -> MutexGuard<'static, Pending> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the running programs of the C toolchain, and removes the temporary folders. A process calls this when
/// it is about to end immediately, for example after a signal. From then on, every attempt to link waits
/// forever.
pub fn abandon_tools() {
    // A stopped thread may hold the lock, so the wait is bounded.
    for _ in 0..100 {
        match PENDING.try_lock() {
            Ok(pending) => {
                for program in &pending.programs {
                    if let Some(group) = i32::try_from(*program).ok().and_then(Pid::from_raw) {
                        let _ = kill_process_group(group, Signal::KILL);
                    }
                }
                for folder in &pending.folders {
                    let _ = std::fs::remove_dir_all(folder);
                }
                std::mem::forget(pending);
                return;
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// A temporary folder for programs that read and write files; it is removed when dropped.
pub(crate) struct ToolFolder {
    folder: TempDir,
}

impl ToolFolder {
    /// Makes an empty folder.
    pub(crate) fn new() -> Result<ToolFolder, LlvmError> {
        let mut pending = pending();
        let folder = tempfile::Builder::new().prefix("schedc-").tempdir().map_err(|error| {
            let message =
                format!("cannot make a temporary folder in {}: {error}", std::env::temp_dir().display());
            LlvmError::new(codes::TEMPORARY_FILE, message)
                .with_help("set TMPDIR to a folder that can be written to")
        })?;
        pending.folders.push(folder.path().to_path_buf());
        Ok(ToolFolder { folder })
    }

    /// Runs a program whose own temporary files also go into the folder.
    pub(crate) fn run(&self, mut command: Command, need: ToolNeed) -> Result<Output, LlvmError> {
        command.env("TMPDIR", self.folder.path());
        run(command, need)
    }

    /// Path of a file of the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the folder, and returns its path.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, LlvmError> {
        let path = self.path(name);
        std::fs::write(&path, bytes).map_err(|error| temporary_file_error(&path, &error))?;
        Ok(path)
    }
}

impl Drop for ToolFolder {
    fn drop(&mut self) {
        pending().folders.retain(|folder| folder != self.folder.path());
    }
}

/// Reads a file that a program has written.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, LlvmError> {
    std::fs::read(path).map_err(|error| temporary_file_error(path, &error))
}

fn temporary_file_error(path: &Path, error: &io::Error) -> LlvmError {
    LlvmError::new(codes::TEMPORARY_FILE, format!("temporary file {}: {error}", path.display()))
        .with_help("set TMPDIR to a folder with enough space")
}

/// Runs a program, with the programs that it starts, in a separate process group.
fn output_of(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = {
        let mut pending = pending();
        let child = command.spawn()?;
        pending.programs.push(child.id());
        child
    };
    let id = child.id();
    let output = child.wait_with_output();
    pending().programs.retain(|program| *program != id);
    output
}

/// The task that needs a program, and how to install the program.
#[derive(Clone, Copy)]
pub(crate) struct ToolNeed {
    /// The task, as the subject of a sentence.
    pub(crate) task: &'static str,
    /// Help if the program is missing.
    pub(crate) help: &'static str,
}

/// Runs a program to its end. If it fails, the error has the program's output.
pub(crate) fn run(mut command: Command, need: ToolNeed) -> Result<Output, LlvmError> {
    let name = command.get_program().to_owned();
    let name = Path::new(&name).file_name().unwrap_or(OsStr::new("cc")).to_string_lossy().into_owned();
    let output = output_of(&mut command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let message = format!("{} needs the program `{name}`, which is not installed", need.task);
            LlvmError::new(codes::NO_TOOL, message).with_help(need.help)
        }
        _ => LlvmError::new(codes::TOOL_FAILED, format!("cannot run `{name}`: {error}")),
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let message = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    let message = String::from_utf8_lossy(message);
    Err(LlvmError::new(codes::TOOL_FAILED, format!("`{name}` fails: {}", message.trim())))
}
