//! Linking with the C toolchain, in a temporary folder.

use crate::error::{LlvmError, code};
use crate::runtime::RUNTIME_OBJECT;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Links generated code and the runtime into a shared library with the given exports.
pub(crate) fn shared_library(model: &[u8], exports: &[String]) -> Result<Vec<u8>, LlvmError> {
    let folder = Folder::new(model)?;
    let names: String = exports.iter().map(|name| format!("    {name};\n")).collect();
    let script =
        folder.write("exports.map", format!("{{\n  global:\n{names}  local: *;\n}};\n").as_bytes())?;
    let out = folder.path("model.so");
    let mut cc = Command::new("cc");
    cc.arg("-shared").arg("-o").arg(&out).args(folder.objects());
    // Unused parts go, the stack is not executable, and all symbols are found when the library is loaded, so
    // that none is looked for during a prediction.
    cc.args(["-Wl,--gc-sections", "-Wl,--no-undefined", "-Wl,-z,noexecstack", "-Wl,-z,now", "-Wl,-z,relro"]);
    cc.arg(with_path("-Wl,--version-script=", &script));
    cc.args(["-pthread", "-Wl,--as-needed", "-lm"]);
    run(cc)?;
    read(&out)
}

/// Joins generated code and the runtime into one object in which only the exports are visible.
pub(crate) fn object(model: &[u8], exports: &[String]) -> Result<Vec<u8>, LlvmError> {
    let folder = Folder::new(model)?;
    let (joined, out) = (folder.path("joined.o"), folder.path("out.o"));
    let mut cc = Command::new("cc");
    cc.args(["-r", "-nostdlib", "-o"]).arg(&joined).args(folder.objects());
    run(cc)?;
    let mut objcopy = Command::new("objcopy");
    objcopy.args(exports.iter().map(|name| format!("--keep-global-symbol={name}"))).arg(&joined).arg(&out);
    run(objcopy)?;
    read(&out)
}

/// A temporary folder with the objects to link; it is removed when dropped.
struct Folder {
    folder: TempDir,
    objects: [PathBuf; 2],
}

impl Folder {
    fn new(model: &[u8]) -> Result<Folder, LlvmError> {
        let folder = tempfile::Builder::new().prefix("schedc-").tempdir().map_err(|error| {
            let message =
                format!("cannot make a temporary folder in {}: {error}", std::env::temp_dir().display());
            LlvmError::new(code::TEMPORARY_FILE, message)
                .with_help("set TMPDIR to a folder that can be written to")
        })?;
        let objects = [folder.path().join("model.o"), folder.path().join("runtime.o")];
        let folder = Folder { folder, objects };
        folder.write("model.o", model)?;
        folder.write("runtime.o", RUNTIME_OBJECT)?;
        Ok(folder)
    }

    fn objects(&self) -> &[PathBuf] {
        &self.objects
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, LlvmError> {
        let path = self.path(name);
        std::fs::write(&path, bytes).map_err(|error| temporary(&path, &error))?;
        Ok(path)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, LlvmError> {
    std::fs::read(path).map_err(|error| temporary(path, &error))
}

fn temporary(path: &Path, error: &io::Error) -> LlvmError {
    LlvmError::new(code::TEMPORARY_FILE, format!("temporary file {}: {error}", path.display()))
        .with_help("set TMPDIR to a folder with enough space")
}

fn with_path(option: &str, path: &Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from(option);
    argument.push(path);
    argument
}

/// Runs a program of the C toolchain.
fn run(mut command: Command) -> Result<(), LlvmError> {
    let name = command.get_program().to_owned();
    let name = Path::new(&name).file_name().unwrap_or(OsStr::new("cc")).to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let message = format!("linking needs the program `{name}`, which is not installed");
            LlvmError::new(code::NO_TOOL, message).with_help(
                "install a C compiler and binutils (on Debian and Ubuntu: the packages gcc and binutils)",
            )
        }
        _ => LlvmError::new(code::TOOL_FAILED, format!("cannot run `{name}`: {error}")),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(LlvmError::new(code::TOOL_FAILED, format!("`{name}` fails: {}", complaint.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named() {
        let error = run(Command::new("no-such-folder/no-such-cc")).unwrap_err();
        assert_eq!(error.code, code::NO_TOOL);
        assert!(error.message.contains("`no-such-cc`"), "{error}");
    }

    #[test]
    fn a_failing_tool_is_quoted() {
        let error = shared_library(b"this is no object", &["f".to_string()]).unwrap_err();
        assert_eq!(error.code, code::TOOL_FAILED);
        assert!(error.message.contains("model.o"), "{error}");
    }
}
