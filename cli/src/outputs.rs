//! Guards of output paths: results overwrite neither inputs nor files that schedc did not write. A path that
//! cannot be written is refused before the work begins.

use sched_diagnostics::usage;
use sched_llvm::codes;
use sched_llvm::header::is_header;
use schedc_data::{expect_writable, leads_to};
use schedc_driver::Failure;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Refuses an output that cannot be written, or would overwrite an input, also by another name or a link.
pub fn refuse_overwriting(inputs: &[Option<&Path>], out: &Path) -> Result<(), Failure> {
    if inputs.iter().flatten().any(|input| is_same(input, out)) {
        let message = format!("{} is an input and would be overwritten", out.display());
        return Err(Failure::new(usage::OWN_INPUT, message, "write to another file"));
    }
    if out.as_os_str() != "-" {
        expect_writable(out)?;
    }
    Ok(())
}

/// Refuses outputs that would overwrite an input or each other. Each output has its option.
pub fn refuse_collisions(inputs: &[Option<&Path>], outputs: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let outputs: Vec<(&str, &Path)> =
        outputs.iter().filter_map(|(option, path)| Some((*option, (*path)?))).collect();
    for (number, (option, out)) in outputs.iter().enumerate() {
        refuse_overwriting(inputs, out)?;
        if let Some((other, _)) = outputs[..number].iter().find(|(_, other)| is_same(other, out)) {
            let message = format!("{other} and {option} name the same file");
            return Err(Failure::usage(message, "give them two names"));
        }
    }
    Ok(())
}

/// Refuses to write into an input folder: the output would become an input of the next run.
pub fn refuse_input_folder(folder: &Path, out: &Path) -> Result<(), Failure> {
    let is_in = || {
        let (folder, place) = (fs::canonicalize(folder).ok(), leads_to(out));
        folder.is_some() && place.parent() == folder.as_deref()
    };
    if out.as_os_str() == "-" || !folder.is_dir() || !is_in() {
        return Ok(());
    }
    let message = format!("{} would be written into {}, which is an input", out.display(), folder.display());
    Err(Failure::new(usage::OWN_INPUT, message, "write to another folder"))
}

/// Whether two paths name the same file, which may not exist yet. Never true for standard input and output,
/// devices and folders.
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

/// First line of a pkg-config file.
pub const PKG_CONFIG_MARK: &str = "# Written by schedc build, which overwrites it the next time.";

/// A file that is written beside a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Companion {
    /// A C header.
    Header,
    /// A pkg-config file.
    PkgConfig,
}

/// Refuses to overwrite a file beside a library if schedc did not write it.
pub fn refuse_foreign(path: &Path, kind: Companion) -> Result<(), Failure> {
    if !fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    let mut start = Vec::new();
    // An unreadable file counts as another program's.
    let read = File::open(path).and_then(|file| file.take(1 << 12).read_to_end(&mut start));
    let (what, is_own) = match kind {
        Companion::Header => ("header", is_header(&start)),
        Companion::PkgConfig => ("file for pkg-config", start.starts_with(PKG_CONFIG_MARK.as_bytes())),
    };
    if read.is_ok() && is_own {
        return Ok(());
    }
    let message = format!("the {what} would overwrite {}, which schedc has not written", path.display());
    let help = "give the library another name with --out, or move the file away";
    Err(Failure::new(codes::FOREIGN_HEADER, message, help))
}
