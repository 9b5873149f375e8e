//! The driver for tests, and the compilation of the test programs in `c/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A file of the folder of C sources.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// A folder for the files that the tests of this program compile.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("standin");
        fs::create_dir_all(&folder).expect("a folder for test programs");
        folder
    })
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

/// The driver, as a library with the functions of both makers.
pub fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let library = folder().join("driver.so");
        let mut cc = compiler();
        cc.args(["-shared", "-fPIC", "-fvisibility=hidden", "-o"]).arg(&library).arg(source("hip.c"));
        succeed(&mut cc, "the driver");
        library
    })
}
