//! The files of a package, and the guard of files that schedc did not write.

use sched_diagnostics::usage;
use schedc_driver::Failure;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the manifest, which lists the files that this command wrote to the folder.
const MANIFEST_NAME: &str = "schedc.json";
/// Deepest level of folders that is searched for files of other programs; folders of this command have two
/// levels.
const MOST_DEPTH: usize = 8;

/// Files: path below the folder, and content.
pub type PackageFiles = Vec<(PathBuf, Vec<u8>)>;

/// The manifest of the files.
pub fn manifest(files: &PackageFiles) -> (PathBuf, Vec<u8>) {
    let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    let text = format!("{:#}\n", json!({ "schedc": env!("CARGO_PKG_VERSION"), "files": names }));
    (PathBuf::from(MANIFEST_NAME), text.into_bytes())
}

/// Refuses to replace a file, or a folder with files that schedc did not write.
pub fn refuse_foreign(folder: &Path) -> Result<(), Failure> {
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
        fs::read(folder.join(MANIFEST_NAME)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let mut own: BTreeSet<PathBuf> = own
        .iter()
        .flat_map(|own| own["files"].as_array().into_iter().flatten())
        .filter_map(|name| name.as_str().map(PathBuf::from))
        .collect();
    own.insert(PathBuf::from(MANIFEST_NAME));
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
