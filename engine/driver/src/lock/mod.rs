//! The lock: measured schedules, kept in git beside their models.
//!
//! A [`LockFile`] is a list of entries, one for each [`EntryKey`]: a target, a model, the rows of a call and
//! its threads. A [`LockEntry`] holds the schedule, the machine that it was measured on, and its times. The
//! text of a lock ([`LockFile::text`], [`LockFile::parse`]) is made for merging by git, with one field a
//! line. It has 16 sections, each headed by a hexadecimal digit, even if it is empty. An entry is in the
//! section of the first digit of a digest of its target and model. So two branches that add entries of
//! different models seldom change the same section. Each entry ends with a digest of its own text, so that
//! two different changes of an entry always conflict.
//!
//! [`find`](find()) looks up the schedule of a job, or the reason why there is none. [`LockUse`] decides
//! whether that is an error.

mod compose;
mod digest;
mod entry;
mod find;
mod here;
pub mod merge;
mod read;
mod remedy;
mod serve;
mod write;

pub use digest::{nest_digest, structure_digest};
pub use entry::{CODE_EPOCH, EntryKey, Figures, LockEntry, Measurement};
pub use find::{LockAnswer, LockQuery, find, staleness, target_name};
pub use here::ThisMachine;
pub use remedy::LockRemedies;
pub use serve::LockUse;

use crate::failure::{Failure, reason};
use sched_diagnostics::usage;
use std::path::{Path, PathBuf};

/// The file name of a lock.
pub const FILE_NAME: &str = "schedc.lock";

/// The version of the text. Other versions are refused.
pub const FORMAT_VERSION: u32 = 1;

/// Measured schedules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockFile {
    /// Entries in the order of the text: by the digest of their keys.
    entries: Vec<LockEntry>,
}

impl LockFile {
    /// Reads a lock.
    ///
    /// # Errors
    /// When it cannot be read, or schedc did not write its text.
    pub fn read(path: &Path) -> Result<LockFile, Failure> {
        let bytes = std::fs::read(path).map_err(|error| {
            let help = "`schedc tune MODEL --lock schedc.lock` writes a lock, and --lock names another one";
            Failure::unreadable(path.display(), format!("the lock cannot be read: {}", reason(&error)), help)
        })?;
        LockFile::parse(&bytes).map_err(|failure| failure.in_file(path.display()))
    }

    /// Reads a lock, or starts an empty one if there is no file.
    ///
    /// # Errors
    /// When the file cannot be read, or is no lock.
    pub fn read_or_new(path: &Path) -> Result<LockFile, Failure> {
        if path.exists() { LockFile::read(path) } else { Ok(LockFile::default()) }
    }

    /// The entries.
    pub fn entries(&self) -> &[LockEntry] {
        &self.entries
    }

    /// The entry with a key.
    pub fn get(&self, key: &EntryKey) -> Option<&LockEntry> {
        self.entries.iter().find(|entry| entry.key == *key)
    }

    /// Adds an entry, or replaces the one with its key.
    pub fn put(&mut self, entry: LockEntry) {
        self.remove(&entry.key);
        let at = self.entries.partition_point(|other| other.key.place() < entry.key.place());
        self.entries.insert(at, entry);
    }

    /// Removes the entry with a key.
    pub fn remove(&mut self, key: &EntryKey) -> Option<LockEntry> {
        let at = self.entries.iter().position(|entry| entry.key == *key)?;
        Some(self.entries.remove(at))
    }

    /// The only entry whose name is `name` or contains it as whole parts: `model.json:1024` for
    /// `cpu:model.json:1024:all`.
    ///
    /// # Errors
    /// When no entry matches, or several do.
    pub fn entry_named(&self, name: &str) -> Result<&LockEntry, Failure> {
        let matches = |entry: &&LockEntry| {
            let whole = entry.key.to_string();
            whole == name || format!(":{whole}:").contains(&format!(":{name}:"))
        };
        let mut found: Vec<&LockEntry> = self.entries.iter().filter(matches).collect();
        if let Some(exact) = found.iter().find(|entry| entry.key.to_string() == name) {
            return Ok(exact);
        }
        found.sort_by_key(|entry| &entry.key);
        let names = |entries: &[&LockEntry]| {
            let names: Vec<String> = entries.iter().map(|entry| entry.key.to_string()).collect();
            names.join(", ")
        };
        match found.as_slice() {
            [one] => Ok(one),
            [] if self.entries.is_empty() => {
                let help = "`schedc tune MODEL --lock LOCK` makes entries";
                Err(Failure::usage(format!("the lock has no entry `{name}`, nor any other"), help))
            }
            [] => {
                let mut all: Vec<&LockEntry> = self.entries.iter().collect();
                all.sort_by_key(|entry| &entry.key);
                let help = format!("name one of {}", names(&all));
                Err(Failure::usage(format!("the lock has no entry `{name}`"), help))
            }
            several => {
                let help = format!("name one of {}", names(several));
                Err(Failure::usage(format!("`{name}` is part of the names of several entries"), help))
            }
        }
    }
}

/// The path of the lock in the folder of a schedule or a model. The file may not exist.
pub fn beside(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(FILE_NAME)
}

/// The failure of a text that schedc did not write.
fn damaged(line: usize, message: impl std::fmt::Display) -> Failure {
    refused(
        usage::LOCK_DAMAGED,
        line,
        message,
        "take the last version of the file from git, or remove the entry and make it again with `schedc \
         tune`",
    )
}

fn refused(
    code: sched_diagnostics::Code,
    line: usize,
    message: impl std::fmt::Display,
    help: &str,
) -> Failure {
    let place = sched_diagnostics::Place::Cell { line: Some(line as u64), column: None };
    sched_diagnostics::Diagnostic::new(code, place, message.to_string()).help(help).into()
}
