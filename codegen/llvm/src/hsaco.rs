//! Code objects for AMD's GPUs: machine code by LLVM, linked by LLD, with the resources of its kernels from
//! their metadata.

use crate::codes;
use crate::error::LlvmError;
use crate::gpu::Gpu;
use crate::metadata::{self, CodeObjectKernel};
use crate::text::{check_maker, launch_code};
use crate::tools::{ToolFolder, ToolNeed, read, run};
use inkwell::targets::FileType;
use sched_ir::lir;
use sched_machines::Maker;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Machine code for a GPU of AMD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeObject {
    /// An ELF file that HIP loads, usually called `.hsaco`.
    pub bytes: Vec<u8>,
    /// Its kernels.
    pub kernels: Vec<CodeObjectKernel>,
}

const LLD_NEED: ToolNeed = ToolNeed {
    task: "linking code for AMD's GPUs",
    help: "install LLD (on Debian and Ubuntu: the package lld), ROCm or Rust, or set LLD to a linker's path",
};

/// Compiles the launches of a module to a code object.
///
/// # Errors
/// For GPUs of NVIDIA, when LLVM fails, and when the linker is missing or fails.
pub fn code_object(module: &lir::Module, gpu: Gpu) -> Result<CodeObject, LlvmError> {
    check_maker(gpu, Maker::Amd)?;
    let object = launch_code(module, gpu, FileType::Object)?;
    let folder = ToolFolder::new()?;
    let (from, to) = (folder.write("kernels.o", object.as_slice())?, folder.path("kernels.hsaco"));
    link(&folder, &from, &to)?;
    let bytes = read(&to)?;
    let kernels = metadata::kernels(&bytes)
        .ok_or_else(|| LlvmError::ill_formed("a code object does not list the parameters of its kernels"))?;
    Ok(CodeObject { bytes, kernels })
}

/// Links by LLD in this process, unless `LLD` names another linker, or by an installed LLD.
fn link(folder: &ToolFolder, from: &Path, to: &Path) -> Result<(), LlvmError> {
    let options = ["-shared", "--no-undefined", "-o"].map(OsStr::new);
    #[cfg(feature = "lld")]
    if environment_variable("LLD").is_none() {
        let files = [to.as_os_str(), from.as_os_str()];
        return crate::lld::link(&[options.as_slice(), &files].concat());
    }
    let mut linker = linker().ok_or_else(|| {
        let message =
            format!("{} needs the program `ld.lld` or `rust-lld`, which was not found", LLD_NEED.task);
        LlvmError::new(codes::NO_TOOL, message).with_help(LLD_NEED.help)
    })?;
    linker.args(options).arg(to).arg(from);
    folder.run(linker, LLD_NEED)?;
    Ok(())
}

/// Value of an environment variable; `None` if it is unset or empty.
fn environment_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns LLD for ELF files: the one that `LLD` names, else `ld.lld` in the search path or in ROCm's folder,
/// else that of Rust.
fn linker() -> Option<Command> {
    if let Some(named) = environment_variable("LLD") {
        return Some(gnu_linker_command(Path::new(&named)));
    }
    let path = environment_variable("PATH").unwrap_or_default();
    let rocm = environment_variable("ROCM_PATH").map_or_else(|| PathBuf::from("/opt/rocm"), PathBuf::from);
    let folders = std::env::split_paths(&path).chain([rocm.join("llvm/bin")]);
    let found = folders.map(|folder| folder.join("ld.lld")).find(|file| file.is_file());
    found.or_else(rust_lld).map(|file| gnu_linker_command(&file))
}

/// Returns a command that runs LLD as GNU's linker. LLD is one program with several names; an option selects
/// the name if the file has another one.
fn gnu_linker_command(file: &Path) -> Command {
    let mut command = Command::new(file);
    if file.file_name().is_none_or(|name| !name.to_string_lossy().starts_with("ld")) {
        command.args(["-flavor", "gnu"]);
    }
    command
}

/// Returns Rust's LLD, in the folder of the Rust compiler. The search takes place once.
fn rust_lld() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let mut rustc = Command::new("rustc");
        rustc.args(["--print", "sysroot"]);
        let output = run(rustc, LLD_NEED).ok()?;
        let sysroot = String::from_utf8(output.stdout).ok()?;
        let file = Path::new(sysroot.trim()).join("lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld");
        file.is_file().then_some(file)
    });
    found.clone()
}
