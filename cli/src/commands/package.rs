//! `schedc package`: writes a library as a folder that a model server loads.

mod facts;
mod files;
mod mlserver;
mod triton;

use crate::args::{ModelServer, Package};
use crate::commands::inspect;
use crate::terminal::Terminal;
use facts::LibraryInfo;
use files::{manifest, refuse_foreign};
use schedc_data::replace_folder;
use schedc_driver::Failure;
use schedc_driver::Model;
use std::path::Path;

/// Runs the command.
pub fn run(args: &Package, terminal: &Terminal) -> Result<(), Failure> {
    let bytes = Model::bytes(&args.library)?;
    check_shared(&args.library, &bytes)?;
    let versions = inspect::versions(&args.library, &bytes)?;
    let name = name_of(args)?;
    let facts = LibraryInfo::of(&versions, args.output)?;
    refuse_foreign(&args.out)?;
    let mut files = match args.server {
        ModelServer::Triton => triton::files(&name, &facts, args.threads, bytes),
        ModelServer::Mlserver => mlserver::files(&name, &facts, args.threads, bytes),
    };
    files.push(manifest(&files));
    replace_folder(&args.out, &files)?;
    for (path, bytes) in &files {
        terminal.say(&format!(
            "wrote {} ({} KiB)",
            args.out.join(path).display(),
            bytes.len().div_ceil(1024)
        ));
    }
    Ok(())
}

/// Refuses models and object files, which servers cannot load.
fn check_shared(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    /// First bytes of ELF files, and the type of shared objects, `ET_DYN`, whose position depends on the byte
    /// order.
    const ELF_MAGIC: &[u8] = b"\x7fELF";
    const SHARED: u8 = 3;
    let message = match bytes.get(16..18) {
        _ if !bytes.starts_with(ELF_MAGIC) => "this is no library",
        Some([SHARED, _] | [_, SHARED]) => return Ok(()),
        _ => "this is an object file, and servers load libraries",
    };
    let help = "build a library: `schedc build model.json -o model.so`";
    Err(Failure::new(sched_llvm::codes::LOADING, message, help).in_file(path.display()))
}

/// The model's name on the server, which is also a folder's name and a part of URLs.
fn name_of(args: &Package) -> Result<String, Failure> {
    let stem = args.library.file_stem().unwrap_or_default().to_string_lossy();
    let name = args.name.clone().unwrap_or_else(|| stem.into_owned());
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    if name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) && name.chars().all(is_plain) {
        return Ok(name);
    }
    let message = format!("a server's model cannot be called `{name}`");
    Err(Failure::usage(
        message,
        "name it with --name: letters, digits, `_`, `-` and `.`, a letter or digit first",
    ))
}
