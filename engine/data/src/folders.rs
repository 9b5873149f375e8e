//! Replaces folders atomically: a path has either its old content or the whole new one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::DataError;
use crate::files::{CleanupEntry, uninterrupted, unwritable};

/// Writes a folder with files, each by its path within. Until all files are written, the folder keeps its old
/// content, or stays absent. Then the new content replaces the old one.
///
/// # Errors
///
/// `D0012` if it cannot be written.
pub fn replace_folder(folder: &Path, files: &[(PathBuf, Vec<u8>)]) -> Result<(), DataError> {
    let failed = |error: io::Error| unwritable(folder, &error);
    let temporary = UnfinishedFolder::create(folder).map_err(failed)?;
    for (path, bytes) in files {
        let path = temporary.path.join(path);
        let inner = path.parent().unwrap_or(&temporary.path);
        fs::create_dir_all(inner).and_then(|()| fs::write(&path, bytes)).map_err(failed)?;
    }
    let old = UnfinishedFolder::create(folder).map_err(failed)?;
    // Delays an interrupt until all renames are done.
    let _guard = uninterrupted();
    match fs::rename(folder, &old.path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::rename(&temporary.path, folder).map_err(|error| {
        // Restores the old folder, if there was one.
        let _ = fs::rename(&old.path, folder);
        failed(error)
    })
}

/// A folder in the directory of its target. Dropping it removes the folder, unless it has been renamed.
struct UnfinishedFolder {
    path: PathBuf,
    _entry: CleanupEntry,
}

impl UnfinishedFolder {
    fn create(folder: &Path) -> io::Result<UnfinishedFolder> {
        let parent =
            folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut number = 0;
        loop {
            let path = parent.join(format!(".schedc-{}-{number}.tmp", std::process::id()));
            let entry = CleanupEntry::new(path.clone());
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                made => return made.map(|()| UnfinishedFolder { path, _entry: entry }),
            }
        }
    }
}

impl Drop for UnfinishedFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
