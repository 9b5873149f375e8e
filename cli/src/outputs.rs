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

/// Refuses to write over a file that is read, by whatever name or link, or into a folder whose files are read.
pub fn keep(inputs: &[Option<&Path>], out: &Path) -> Result<(), Failure> {
    let place = leads_to(out);
    let is_in = |folder: &Path| {
        folder.is_dir() && fs::canonicalize(folder).is_ok_and(|folder| place.parent() == Some(&folder))
    };
    if out.as_os_str() != "-" && inputs.iter().flatten().any(|input| is_in(input)) {
        let message = format!("{} would lie in a folder that is read", out.display());
        return Err(Failure::new(usage::OWN_INPUT, message, "write to another folder"));
    }
    if inputs.iter().flatten().any(|input| is_same(input, out)) {
        let message = format!("{} is read, and would be overwritten", out.display());
        return Err(Failure::new(usage::OWN_INPUT, message, "write to another file"));
    }
    Ok(())
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

/// Refuses to put a header where a file is that schedc did not write.
pub fn keep_foreign_header(path: &Path) -> Result<(), Failure> {
    if !fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    let mut start = Vec::new();
    // What cannot be read is not known to be ours.
    let read = File::open(path).and_then(|file| file.take(1 << 12).read_to_end(&mut start));
    if read.is_ok() && is_header(&start) {
        return Ok(());
    }
    let message = format!("the header would overwrite {}, which schedc has not written", path.display());
    let help = "give the library another name with --out, or move the file away";
    Err(Failure::new(codes::FOREIGN_HEADER, message, help))
}
