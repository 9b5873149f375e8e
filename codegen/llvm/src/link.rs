//! Linking of generated code with the runtime, by the C toolchain or by LLVM's linker in this process.

use crate::codes;
use crate::error::LlvmError;
use crate::runtime::RUNTIME_OBJECT;
use crate::tools::{ToolFolder, ToolNeed, read};
use ar_archive_writer::{ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream};
use std::ffi::OsString;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Linker {
    /// The programs `cc` and `objcopy`.
    #[cfg_attr(all(feature = "lld", not(test)), allow(dead_code))]
    Toolchain,
    /// LLVM's linker, in this process.
    #[cfg(feature = "lld")]
    Lld,
}

/// The linker that is used: LLVM's, if it is built in, because it needs no other program.
#[cfg(feature = "lld")]
const LINKER: Linker = Linker::Lld;
#[cfg(not(feature = "lld"))]
const LINKER: Linker = Linker::Toolchain;

/// Version of the exported symbols. Symbols that are added later get another version, so that the loader
/// refuses a program that uses them with an older library.
const SYMBOL_VERSION: &str = "SCHEDC_1";

/// Options with which a shared library is linked, for every linker that takes GNU ld's options.
fn shared_options(script: &Path, soname: Option<&str>) -> Vec<OsString> {
    let options = [
        // Drops unused sections, and makes the stack not executable. The loader resolves all symbols when it
        // loads the library, so that no prediction waits for it.
        ["--gc-sections", "--no-undefined"].as_slice(),
        &["-z", "noexecstack", "-z", "now", "-z", "relro"],
        // Binds a library to its own functions, even if the program has another model with the same prefix.
        &["-Bsymbolic"],
    ];
    let mut options: Vec<OsString> = options.concat().into_iter().map(OsString::from).collect();
    options.push(with_path("--version-script=", script));
    options.extend(soname.map(|soname| OsString::from(format!("-soname={soname}"))));
    options
}

/// Links generated code and the runtime into a shared library with the given exports. Programs that are
/// linked with the library look for it by the name `soname`.
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
    let folder = folder_with_objects(model)?;
    let names: String = exports.iter().map(|name| format!("    {name};\n")).collect();
    let script = format!("{SYMBOL_VERSION} {{\n  global:\n{names}  local: *;\n}};\n");
    let script = folder.write("exports.map", script.as_bytes())?;
    let out = folder.path("model.so");
    let options = shared_options(&script, soname);
    match linker {
        Linker::Toolchain => {
            let mut cc = Command::new("cc");
            cc.arg("-shared").arg("-o").arg(&out).args(objects(&folder));
            for option in options {
                cc.arg("-Xlinker").arg(option);
            }
            cc.args(["-pthread", "-Wl,--as-needed", "-lm"]);
            folder.run(cc, TOOLCHAIN_NEED)?;
        }
        #[cfg(feature = "lld")]
        Linker::Lld => crate::lld::shared_library(&folder, &options, &objects(&folder), &out)?,
    }
    read(&out)
}

/// Returns a static library of one object. Equal objects make equal bytes.
pub(crate) fn static_library(object: &[u8], name: &str) -> Result<Vec<u8>, LlvmError> {
    let member = NewArchiveMember::new(object, &DEFAULT_OBJECT_READER, name.to_string());
    let mut bytes = Cursor::new(Vec::new());
    write_archive_to_stream(&mut bytes, &[member], ArchiveKind::Gnu, false, Some(false)).map_err(
        |error| LlvmError::new(codes::TOOL_FAILED, format!("the static library cannot be written: {error}")),
    )?;
    Ok(bytes.into_inner())
}

/// Joins generated code and the runtime into one object, of which only the exports are visible.
pub(crate) fn object(model: &[u8], exports: &[String]) -> Result<Vec<u8>, LlvmError> {
    object_by(LINKER, model, exports)
}

fn object_by(linker: Linker, model: &[u8], exports: &[String]) -> Result<Vec<u8>, LlvmError> {
    let folder = folder_with_objects(model)?;
    let joined = folder.path("joined.o");
    match linker {
        Linker::Toolchain => {
            let out = folder.path("out.o");
            let mut cc = Command::new("cc");
            cc.args(["-r", "-nostdlib", "-o"]).arg(&joined).args(objects(&folder));
            folder.run(cc, TOOLCHAIN_NEED)?;
            let mut objcopy = Command::new("objcopy");
            objcopy.args(exports.iter().map(|name| format!("--keep-global-symbol={name}")));
            objcopy.arg(&joined).arg(&out);
            folder.run(objcopy, TOOLCHAIN_NEED)?;
            read(&out)
        }
        #[cfg(feature = "lld")]
        Linker::Lld => crate::lld::object(&objects(&folder), &joined, exports),
    }
}

/// Makes a temporary folder with the objects to link.
fn folder_with_objects(model: &[u8]) -> Result<ToolFolder, LlvmError> {
    let folder = ToolFolder::new()?;
    folder.write(MODEL_FILE, model)?;
    folder.write(RUNTIME_FILE, RUNTIME_OBJECT)?;
    Ok(folder)
}

/// Paths of the objects to link.
fn objects(folder: &ToolFolder) -> [PathBuf; 2] {
    [folder.path(MODEL_FILE), folder.path(RUNTIME_FILE)]
}

/// File of the model's object.
const MODEL_FILE: &str = "model.o";
/// File of the runtime's object.
const RUNTIME_FILE: &str = "runtime.o";

/// An option that ends with a path.
fn with_path(option: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(path);
    argument
}

/// The task of the C toolchain, and how to install it.
const TOOLCHAIN_NEED: ToolNeed = ToolNeed {
    task: "linking",
    help: "install a C compiler and binutils (on Debian and Ubuntu: the packages gcc and binutils)",
};

#[cfg(test)]
mod tests;
