//! Merges locks entry by entry. Git alone merges them line by line.

use super::read::is_marker;
use super::{EntryKey, LockEntry, LockFile};
use crate::failure::Failure;
use std::collections::BTreeSet;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// All entries. Entries in conflict have our version.
    pub lock: LockFile,
    /// The keys of entries that both sides changed differently.
    pub conflicts: Vec<EntryKey>,
}

/// Merges two locks that came from `base`. An entry is in conflict if both sides changed it differently.
pub fn merge(base: &LockFile, ours: &LockFile, theirs: &LockFile) -> Merged {
    let mut merged = Merged { lock: LockFile::default(), conflicts: Vec::new() };
    let all = [base, ours, theirs].into_iter().flat_map(|lock| lock.entries());
    let keys: BTreeSet<&EntryKey> = all.map(|entry| &entry.key).collect();
    for key in keys {
        let (before, our, their) = (base.get(key), ours.get(key), theirs.get(key));
        let in_conflict = our != before && their != before && our != their;
        let kept: Option<&LockEntry> = match in_conflict {
            true => our.or(their),
            false if our == before => their,
            false => our,
        };
        if in_conflict {
            merged.conflicts.push(key.clone());
        }
        if let Some(entry) = kept {
            merged.lock.put(entry.clone());
        }
    }
    merged
}

/// Reads the two sides of a text that git could not merge, and merges them by their entries. If the text does
/// not have the common base, an entry of one side counts as added there.
///
/// # Errors
/// When one side is no lock.
pub fn resolve(text: &str) -> Result<Merged, Failure> {
    let [base, ours, theirs] = sides(text);
    let (ours, theirs) = (LockFile::parse(ours.as_bytes())?, LockFile::parse(theirs.as_bytes())?);
    let base = match base {
        base if text.lines().any(|line| line.starts_with("|||||||")) => LockFile::parse(base.as_bytes())?,
        _ => LockFile::default(),
    };
    Ok(merge(&base, &ours, &theirs))
}

/// The base and the two sides of a text with git's markers. Lines of other sides are left empty, so that line
/// numbers are those of the text.
fn sides(text: &str) -> [String; 3] {
    let mut sides = [String::new(), String::new(), String::new()];
    // The side of the lines in a conflict. `None` outside of conflicts.
    let mut at = None;
    for line in text.lines() {
        if is_marker(line) {
            at = match line.as_bytes().first() {
                Some(b'<') => Some(1),
                Some(b'|') => Some(0),
                Some(b'=') => Some(2),
                _ => None,
            };
        }
        for (number, side) in sides.iter_mut().enumerate() {
            if !is_marker(line) && at.is_none_or(|at| at == number) {
                *side += line;
            }
            side.push('\n');
        }
    }
    sides
}
