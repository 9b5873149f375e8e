//! Where results go: never over what a command reads, and never over a header that somebody else wrote.

use crate::failure::Failure;
use sched_diagnostics::usage;
use sched_llvm::codes;
use sched_llvm::header::is_header;
use schedc_data::leads_to;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Refuses to write over a file that is read, by whatever name or link.
pub fn keep(inputs: &[Option<&Path>], out: &Path) -> Result<(), Failure> {
    if inputs.iter().flatten().any(|input| is_same(input, out)) {
        let message = format!("{} is read, and would be overwritten", out.display());
        return Err(Failure::new(usage::OWN_INPUT, message, "write to another file"));
    }
    Ok(())
}

/// Refuses to write into a folder whose files are read: they would be others when it is read again.
pub fn keep_folder(folder: &Path, out: &Path) -> Result<(), Failure> {
    let is_in = || {
        let (folder, place) = (fs::canonicalize(folder).ok(), leads_to(out));
        folder.is_some() && place.parent() == folder.as_deref()
    };
    if out.as_os_str() == "-" || !folder.is_dir() || !is_in() {
        return Ok(());
    }
    let message = format!("{} would lie in {}, whose files are read", out.display(), folder.display());
    Err(Failure::new(usage::OWN_INPUT, message, "write to another folder"))
}

/// Whether two paths name one file, which may not exist yet. Standard input and output, devices and folders do not count.
pub fn is_same(one: &Path, other: &Path) -> bool {
    if [one, other].iter().any(|path| path.as_os_str() == "-") {
        return false;
    }
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()),
        (Err(_), Err(_)) => leads_to(one) == leads_to(other),
        _ => false,
    }
}

/// How a file for pkg-config begins.
pub const PKG_CONFIG_MARK: &str = "# Written by schedc build, which overwrites it the next time.";

/// What goes beside a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// A C header.
    Header,
    /// A file for pkg-config.
    PkgConfig,
}

/// Refuses to put a file beside a library where one is that schedc did not write.
pub fn keep_foreign(path: &Path, kind: Beside) -> Result<(), Failure> {
    if !fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    let mut start = Vec::new();
    // What cannot be read is not known to be ours.
    let read = File::open(path).and_then(|file| file.take(1 << 12).read_to_end(&mut start));
    let (what, is_own) = match kind {
        Beside::Header => ("header", is_header(&start)),
        Beside::PkgConfig => ("file for pkg-config", start.starts_with(PKG_CONFIG_MARK.as_bytes())),
    };
    if read.is_ok() && is_own {
        return Ok(());
    }
    let message = format!("the {what} would overwrite {}, which schedc has not written", path.display());
    let help = "give the library another name with --out, or move the file away";
    Err(Failure::new(codes::FOREIGN_HEADER, message, help))
}
