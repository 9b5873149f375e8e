//! The test driver for GPUs, and the compilation of the test programs in `c/`.

pub mod files;

pub use files::{compiler, source, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A folder for the files that the tests of this program compile.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("standin");
        fs::create_dir_all(&folder).expect("a folder for test programs");
        folder
    })
}

/// The driver, as a library with the functions of both makers' drivers.
pub fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| files::driver(folder()))
}
