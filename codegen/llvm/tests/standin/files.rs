//! The test driver for GPUs, and kernels in the form that it loads.

use sched_ir::lir::Module;
use sched_llvm::{HostKernel, HostLaunches, host_launch_object};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of the folder of C sources. Tests of crates beside this one use it, too.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../llvm/tests/c").join(name)
}

/// The C compiler, for sources without warnings.
pub fn compiler() -> Command {
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread"]);
    command
}

/// Runs a program that must succeed.
pub fn succeed(command: &mut Command, what: &str) {
    let output = command.output().expect("a C compiler, or a program that it made");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {command:?}: {}\n{text}", output.status);
}

/// Compiles the driver into a folder, as a library with the functions of both makers' drivers.
pub fn driver(folder: &Path) -> PathBuf {
    let library = folder.join("driver.so");
    let mut cc = compiler();
    cc.args(["-shared", "-fPIC", "-fvisibility=hidden", "-o"]).arg(&library).arg(source("hip.c"));
    succeed(&mut cc, "the driver");
    library
}

/// The launches of a module as a shared library, with the number of parameters of each. Its source files
/// remain in the folder.
pub fn image(folder: &Path, module: &Module) -> Vec<u8> {
    let launches = HostLaunches::compile(module).expect("launches");
    let count = |kernel: &HostKernel| {
        let count = kernel.buffers.len() + kernel.values.len() + if kernel.is_split { 2 } else { 0 };
        format!("const int {}_arguments = {count};\n", kernel.name)
    };
    let counts: String = launches.kernels().iter().map(count).collect();
    let path = |name: &str| folder.join(name);
    fs::write(path("launches.o"), host_launch_object(module).expect("an object")).expect("a file");
    fs::write(path("counts.c"), counts).expect("a file");
    let mut cc = compiler();
    cc.args(["-shared", "-fPIC", "-o"]).arg(path("launches.so"));
    succeed(cc.arg(path("counts.c")).arg(path("launches.o")), "launches");
    fs::read(path("launches.so")).expect("a library")
}
