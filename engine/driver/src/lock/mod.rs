//! The lock: schedules that were measured, kept in git beside the models that they are for.
//!
//! A [`Lock`] is a list of entries, one for each [`Key`]: a target, a model, the rows of a call and its threads. An [`Entry`]
//! says what it was measured on and how fast it was, and holds the schedule. Its text ([`Lock::text`], [`Lock::parse`]) is
//! made for merging: one field a line, and entries stand under the first digits of their key's digest, which are always
//! there, so that two branches that add different entries seldom write to the same place. Each entry ends with a digest of
//! its own text, so that two branches that change it always meet on that line.
//!
//! [`find`](find()) looks for the schedule of a job and says why there is none; [`LockUse`] says whether that is an error.

mod compose;
mod digest;
mod entry;
mod find;
mod here;
pub mod merge;
mod read;
mod serve;
mod write;

pub use digest::{nest_digest, structure_digest};
pub use entry::{Entry, Figures, Key, Measured};
pub use find::{Found, Wanted, find, stale, target_name};
pub use here::Here;
pub use serve::LockUse;

use crate::failure::Failure;
use sched_diagnostics::usage;
use std::path::{Path, PathBuf};

/// The name of a lock.
pub const NAME: &str = "schedc.lock";

/// The version of the text. Another one is not read.
pub const FORMAT: u32 = 1;

/// A number that is raised by hand whenever schedules of a lock may be as fast no more: when generated code changes its
/// speed, or a schedule's nest its text. Entries of another epoch are not used. `CONTRIBUTING.md` says when to raise it.
pub const CODE_EPOCH: u32 = 1;

/// Schedules that were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// In the order of the text: by the digest of their keys.
    entries: Vec<Entry>,
}

impl Lock {
    /// Reads a lock.
    ///
    /// # Errors
    /// When it cannot be read, or its text is none that schedc has written.
    pub fn read(path: &Path) -> Result<Lock, Failure> {
        let bytes = std::fs::read(path).map_err(|error| {
            let help = "name a lock that `schedc tune` has written, or leave --lock out";
            Failure::unreadable(path.display(), format!("the lock cannot be read: {error}"), help)
        })?;
        Lock::parse(&bytes).map_err(|failure| failure.of(path.display()))
    }

    /// Reads a lock, or begins one where there is no file.
    ///
    /// # Errors
    /// When there is a file that is no lock.
    pub fn read_or_new(path: &Path) -> Result<Lock, Failure> {
        if path.exists() { Lock::read(path) } else { Ok(Lock::default()) }
    }

    /// Its entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry with a key.
    pub fn get(&self, key: &Key) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == *key)
    }

    /// Adds an entry, in place of the one with its key.
    pub fn put(&mut self, entry: Entry) {
        self.remove(&entry.key);
        let at = self.entries.partition_point(|other| other.key.place() < entry.key.place());
        self.entries.insert(at, entry);
    }

    /// Removes the entry with a key.
    pub fn remove(&mut self, key: &Key) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.key == *key)?;
        Some(self.entries.remove(at))
    }

    /// The one entry whose name is `name`, or has it as whole parts: `model.json:1024` for `cpu:model.json:1024:all`.
    ///
    /// # Errors
    /// When no entry or several have it.
    pub fn named(&self, name: &str) -> Result<&Entry, Failure> {
        let matches = |entry: &&Entry| {
            let whole = entry.key.to_string();
            whole == name || format!(":{whole}:").contains(&format!(":{name}:"))
        };
        let mut found: Vec<&Entry> = self.entries.iter().filter(matches).collect();
        if let Some(exact) = found.iter().find(|entry| entry.key.to_string() == name) {
            return Ok(exact);
        }
        found.sort_by_key(|entry| &entry.key);
        let names = |entries: &[&Entry]| {
            let names: Vec<String> = entries.iter().map(|entry| entry.key.to_string()).collect();
            names.join(", ")
        };
        match found.as_slice() {
            [one] => Ok(one),
            [] if self.entries.is_empty() => {
                let help = "`schedc tune MODEL` makes entries";
                Err(Failure::usage(format!("the lock has no entry `{name}`, nor any other"), help))
            }
            [] => {
                let mut all: Vec<&Entry> = self.entries.iter().collect();
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

/// The lock beside a schedule or a model, whether or not it is there.
pub fn beside(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(NAME)
}

/// Says that a text is none that schedc has written.
fn damaged(line: usize, message: impl std::fmt::Display) -> Failure {
    refused(
        usage::LOCK_DAMAGED,
        line,
        message,
        "take the last version of the file from git, or remove the entry and make it again with `schedc tune`",
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
