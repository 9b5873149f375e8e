//! The files of a lock: the lock itself, and the models of its entries.

use schedc_data::write_atomically;
use schedc_driver::Failure;
use schedc_driver::lock::{LockEntry, LockFile};
use std::path::{Path, PathBuf};

/// Writes a lock to a temporary file, which then replaces the lock.
pub fn write(lock: &LockFile, path: &Path) -> Result<(), Failure> {
    Ok(write_atomically(path, |out| out.write_all(lock.text().as_bytes()))?)
}

/// The file of an entry's model.
pub fn model_of(entry: &LockEntry, lock: &Path) -> PathBuf {
    lock.parent().unwrap_or(Path::new("")).join(&entry.key.model)
}
