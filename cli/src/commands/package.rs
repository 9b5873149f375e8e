//! `schedc package`: puts a library into a folder that a model server loads.

mod facts;
mod mlserver;
mod triton;

use crate::args::{Package, Server};
use crate::commands::inspect;
use crate::terminal::Terminal;
use facts::Facts;
use sched_diagnostics::usage;
use schedc_data::replace_folder;
use schedc_driver::Failure;
use schedc_driver::Model;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the manifest, which lists the files that this command wrote to the folder.
const MANIFEST: &str = "schedc.json";
/// Most levels of folders that are searched for foreign files; folders of this command have two.
const MOST_DEPTH: usize = 8;

/// Files: path below the folder, and content.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// Runs the command.
pub fn run(args: &Package, terminal: &Terminal) -> Result<(), Failure> {
    let bytes = Model::bytes(&args.library)?;
    check_shared(&args.library, &bytes)?;
    let versions = inspect::versions(&args.library, &bytes)?;
    let name = name_of(args)?;
    let facts = Facts::of(&versions, args.output)?;
    keep_foreign(&args.out)?;
    let mut files = match args.server {
        Server::Triton => triton::files(&name, &facts, args.threads, bytes),
        Server::Mlserver => mlserver::files(&name, &facts, args.threads, bytes),
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
    const ELF: &[u8] = b"\x7fELF";
    const SHARED: u8 = 3;
    let message = match bytes.get(16..18) {
        _ if !bytes.starts_with(ELF) => "this is no library",
        Some([SHARED, _] | [_, SHARED]) => return Ok(()),
        _ => "this is an object file, and servers load libraries",
    };
    let help = "build a library: `schedc build model.json -o model.so`";
    Err(Failure::new(sched_llvm::codes::LOADING, message, help).of(path.display()))
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

fn manifest(files: &Files) -> (PathBuf, Vec<u8>) {
    let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    let text = format!("{:#}\n", json!({ "schedc": env!("CARGO_PKG_VERSION"), "files": names }));
    (PathBuf::from(MANIFEST), text.into_bytes())
}

/// Refuses to replace a file, or a folder that has files of others.
fn keep_foreign(folder: &Path) -> Result<(), Failure> {
    let refused = |what: &str| {
        let message = format!("{} {what}, which schedc has not written", folder.display());
        Failure::new(
            usage::FOREIGN_FOLDER,
            message,
            "name a folder that does not exist yet with --out, or move those files away",
        )
    };
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Ok(found) if !found.is_dir() => return Err(refused("is a file or a link")),
        _ => {}
    }
    let mut found = BTreeSet::new();
    list(folder, Path::new(""), MOST_DEPTH, &mut found).map_err(|error| {
        Failure::unreadable(
            folder.display(),
            format!("the folder cannot be read: {error}"),
            "choose another one",
        )
    })?;
    let own: Option<Value> =
        fs::read(folder.join(MANIFEST)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let mut own: BTreeSet<PathBuf> = own
        .iter()
        .flat_map(|own| own["files"].as_array().into_iter().flatten())
        .filter_map(|name| name.as_str().map(PathBuf::from))
        .collect();
    own.insert(PathBuf::from(MANIFEST));
    match found.difference(&own).next() {
        Some(foreign) => Err(refused(&format!("has the file {}", foreign.display()))),
        None => Ok(()),
    }
}

/// All files below a folder, except for Python's compiled modules.
fn list(folder: &Path, within: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder.join(within))? {
        let entry = entry?;
        let path = within.join(entry.file_name());
        if !entry.file_type()?.is_dir() || depth == 0 {
            found.insert(path);
        } else if entry.file_name() != "__pycache__" {
            list(folder, &path, depth - 1, found)?;
        }
    }
    Ok(())
}
