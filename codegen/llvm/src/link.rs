//! Linking in a temporary folder, with the C toolchain or in this process, and how other programs are run.

use crate::codes;
use crate::error::LlvmError;
use crate::runtime::RUNTIME_OBJECT;
use ar_archive_writer::{ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io::{self, Cursor};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// What an end of the process would leave behind.
struct Pending {
    /// Folders with objects to link.
    folders: Vec<PathBuf>,
    /// Programs that run, each the leader of its process group.
    programs: Vec<u32>,
}

static PENDING: Mutex<Pending> = Mutex::new(Pending { folders: Vec::new(), programs: Vec::new() });

fn pending() -> MutexGuard<'static, Pending> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the programs of the C toolchain that run and removes the temporary folders. To be called when the process is
/// about to end at once, as by a signal: whoever wants to link from now on waits for ever.
pub fn abandon_links() {
    // A thread that was stopped amidst its work may have the lock, so the wait is bounded.
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

/// Who links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Linker {
    /// The programs `cc` and `objcopy`.
    #[cfg_attr(all(feature = "lld", not(test)), allow(dead_code))]
    Toolchain,
    /// LLVM's linker in this process.
    #[cfg(feature = "lld")]
    Lld,
}

/// The one that needs nothing installed, where there is one.
#[cfg(feature = "lld")]
const LINKER: Linker = Linker::Lld;
#[cfg(not(feature = "lld"))]
const LINKER: Linker = Linker::Toolchain;

/// The version of exported symbols. Symbols that are added later get a version of their own, so that a program that uses them
/// is refused by older libraries when it is loaded.
const SYMBOL_VERSION: &str = "SCHEDC_1";

/// What a shared library is linked with besides its objects and libraries, for every linker that takes the options of GNU's.
fn shared_options(script: &Path, soname: Option<&str>) -> Vec<OsString> {
    let options = [
        // Unused parts go, the stack is not executable, and all symbols are found when the library is loaded, so that none
        // is looked for during a prediction.
        ["--gc-sections", "--no-undefined"].as_slice(),
        &["-z", "noexecstack", "-z", "now", "-z", "relro"],
        // A library calls its own functions, also where another model of the same prefix is in the program.
        &["-Bsymbolic"],
    ];
    let mut options: Vec<OsString> = options.concat().into_iter().map(OsString::from).collect();
    options.push(with_path("--version-script=", script));
    options.extend(soname.map(|soname| OsString::from(format!("-soname={soname}"))));
    options
}

/// Links generated code and the runtime into a shared library with the given exports, and with the name that programs ask for
/// which are linked with it.
pub(crate) fn shared_library(
    model: &[u8],
    exports: &[String],
    soname: Option<&str>,
) -> Result<Vec<u8>, LlvmError> {
    shared_library_by(LINKER, model, exports, soname)
}

fn shared_library_by(
    linker: Linker,
    model: &[u8],
    exports: &[String],
    soname: Option<&str>,
) -> Result<Vec<u8>, LlvmError> {
    let folder = Folder::with_objects(model)?;
    let names: String = exports.iter().map(|name| format!("    {name};\n")).collect();
    let script = format!("{SYMBOL_VERSION} {{\n  global:\n{names}  local: *;\n}};\n");
    let script = folder.write("exports.map", script.as_bytes())?;
    let out = folder.path("model.so");
    let options = shared_options(&script, soname);
    match linker {
        Linker::Toolchain => {
            let mut cc = Command::new("cc");
            cc.arg("-shared").arg("-o").arg(&out).args(folder.objects());
            for option in options {
                cc.arg("-Xlinker").arg(option);
            }
            cc.args(["-pthread", "-Wl,--as-needed", "-lm"]);
            folder.run(cc, LINKING)?;
        }
        #[cfg(feature = "lld")]
        Linker::Lld => crate::lld::shared_library(&folder, &options, &folder.objects(), &out)?,
    }
    read(&out)
}

/// A static library of one object, the same bytes each time.
pub(crate) fn archive(object: &[u8], name: &str) -> Result<Vec<u8>, LlvmError> {
    let member = NewArchiveMember::new(object, &DEFAULT_OBJECT_READER, name.to_string());
    let mut bytes = Cursor::new(Vec::new());
    write_archive_to_stream(&mut bytes, &[member], ArchiveKind::Gnu, false, Some(false)).map_err(
        |error| {
            LlvmError::new(codes::CODE_GENERATION, format!("the static library cannot be written: {error}"))
        },
    )?;
    Ok(bytes.into_inner())
}

/// Joins generated code and the runtime into one object in which only the exports are visible.
pub(crate) fn object(model: &[u8], exports: &[String]) -> Result<Vec<u8>, LlvmError> {
    object_by(LINKER, model, exports)
}

fn object_by(linker: Linker, model: &[u8], exports: &[String]) -> Result<Vec<u8>, LlvmError> {
    let folder = Folder::with_objects(model)?;
    let joined = folder.path("joined.o");
    match linker {
        Linker::Toolchain => {
            let out = folder.path("out.o");
            let mut cc = Command::new("cc");
            cc.args(["-r", "-nostdlib", "-o"]).arg(&joined).args(folder.objects());
            folder.run(cc, LINKING)?;
            let mut objcopy = Command::new("objcopy");
            objcopy.args(exports.iter().map(|name| format!("--keep-global-symbol={name}")));
            objcopy.arg(&joined).arg(&out);
            folder.run(objcopy, LINKING)?;
            read(&out)
        }
        #[cfg(feature = "lld")]
        Linker::Lld => crate::lld::object(&folder.objects(), &joined, exports),
    }
}

/// A temporary folder for programs that read and write files; it is removed when dropped.
pub(crate) struct Folder {
    folder: TempDir,
}

impl Folder {
    /// An empty one.
    pub(crate) fn new() -> Result<Folder, LlvmError> {
        let mut pending = pending();
        let folder = tempfile::Builder::new().prefix("schedc-").tempdir().map_err(|error| {
            let message =
                format!("cannot make a temporary folder in {}: {error}", std::env::temp_dir().display());
            LlvmError::new(codes::TEMPORARY_FILE, message)
                .with_help("set TMPDIR to a folder that can be written to")
        })?;
        pending.folders.push(folder.path().to_path_buf());
        Ok(Folder { folder })
    }

    /// One with the objects to link.
    fn with_objects(model: &[u8]) -> Result<Folder, LlvmError> {
        let folder = Folder::new()?;
        folder.write("model.o", model)?;
        folder.write("runtime.o", RUNTIME_OBJECT)?;
        Ok(folder)
    }

    fn objects(&self) -> [PathBuf; 2] {
        [self.path("model.o"), self.path("runtime.o")]
    }

    /// Runs a program, whose own temporary files go into the folder, too.
    pub(crate) fn run(&self, mut command: Command, need: Need) -> Result<Output, LlvmError> {
        command.env("TMPDIR", self.folder.path());
        run(command, need)
    }

    /// Where a file of the folder is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the folder.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, LlvmError> {
        let path = self.path(name);
        std::fs::write(&path, bytes).map_err(|error| temporary(&path, &error))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        pending().folders.retain(|folder| folder != self.folder.path());
    }
}

/// Reads a file that a program has written.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, LlvmError> {
    std::fs::read(path).map_err(|error| temporary(path, &error))
}

fn temporary(path: &Path, error: &io::Error) -> LlvmError {
    LlvmError::new(codes::TEMPORARY_FILE, format!("temporary file {}: {error}", path.display()))
        .with_help("set TMPDIR to a folder with enough space")
}

fn with_path(option: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(path);
    argument
}

/// Runs a program in a process group of its own, with the programs that it starts.
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

/// What a program is needed for, and how to get it.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    /// As the subject of a sentence.
    pub(crate) task: &'static str,
    /// What to do where it is missing.
    pub(crate) help: &'static str,
}

const LINKING: Need = Need {
    task: "linking",
    help: "install a C compiler and binutils (on Debian and Ubuntu: the packages gcc and binutils)",
};

/// Runs a program to its end.
pub(crate) fn run(mut command: Command, need: Need) -> Result<Output, LlvmError> {
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
    let said = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    let complaint = String::from_utf8_lossy(said);
    Err(LlvmError::new(codes::TOOL_FAILED, format!("`{name}` fails: {}", complaint.trim())))
}

#[cfg(test)]
mod tests;
