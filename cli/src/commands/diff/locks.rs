//! Compares entries of locks, and whole locks.

use super::side::{DiffSide, changes};
use crate::args::{Diff, ModelChoice};
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_lang::diff::{diff_by_rows_json, show_diff_by_rows};
use schedc_driver::lock::{EntryKey, LockEntry, LockFile};
use schedc_driver::{Failure, ScheduleSource};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Whether a path names a lock.
pub fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}

/// Splits `schedc.lock#NAME` into the lock and the entry's name. Returns `None` if a file of this name
/// exists.
pub fn entry_at(path: &Path) -> Option<(PathBuf, String)> {
    let (lock, name) = path.to_str()?.rsplit_once('#')?;
    (!path.exists()).then(|| (PathBuf::from(lock), name.to_string()))
}

/// The schedule of an entry.
pub fn side(lock: &Path, name: &str, model: &ModelChoice) -> Result<DiffSide, Failure> {
    let read = LockFile::read(lock)?;
    let entry = read.entry_named(name).map_err(|failure| failure.in_file(lock.display()))?;
    Ok(side_of(entry, &[lock], model))
}

/// The schedule of an entry. Its model is the one on the command line, or else the entry's model, relative to
/// the folder of one of the locks.
fn side_of(entry: &LockEntry, locks: &[&Path], model: &ModelChoice) -> DiffSide {
    let name = format!("{}#{}", locks.first().unwrap_or(&Path::new("")).display(), entry.key);
    let source = ScheduleSource { name, text: entry.schedule.clone(), is_chosen: false, path: None };
    let mut model = model.clone();
    if model.model.is_none() && !model.no_model {
        let mut files =
            locks.iter().map(|lock| lock.parent().unwrap_or(Path::new("")).join(&entry.key.model));
        model.model = files.find(|file| file.exists());
    }
    DiffSide { source, model }
}

/// The change of an entry between two locks: added, removed or changed.
enum EntryChange<'a> {
    Added(&'a LockEntry),
    Removed(&'a LockEntry),
    Changed(&'a LockEntry, &'a LockEntry),
}

/// Compares two locks, such as those of two revisions.
pub fn run(
    args: &Diff,
    (first, second): (&Path, &Path),
    model: &ModelChoice,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let (before, after) = (LockFile::read(first)?, LockFile::read(second)?);
    let entry_changes = entry_changes(&before, &after);
    let mut text = String::new();
    let mut all = Vec::new();
    for (key, change) in &entry_changes {
        let (line, value) = match change {
            EntryChange::Added(entry) => (format!("+ {key}: {}", speed(entry)), json!({ "change": "added" })),
            EntryChange::Removed(entry) => {
                (format!("- {key}: {}", speed(entry)), json!({ "change": "removed" }))
            }
            EntryChange::Changed(old, new) => {
                let (one, other) =
                    (side_of(old, &[first, second], model), side_of(new, &[second, first], model));
                let changes = changes(&one, &other, args, terminal)?;
                let nest: String =
                    show_diff_by_rows(&changes).lines().map(|line| format!("    {line}\n")).collect();
                let line = format!("~ {key}: {} -> {}\n{nest}", speed(old), speed(new));
                (line, json!({ "change": "changed", "nest": diff_by_rows_json(&changes) }))
            }
        };
        let _ = writeln!(text, "{}", line.trim_end());
        all.push(with_figures(key, change, value));
    }
    print(&if args.json { format!("{:#}\n", Value::from(all)) } else { text })?;
    if entry_changes.is_empty() && !args.json {
        terminal.say("the locks have the same entries");
    }
    if args.exit_code && !entry_changes.is_empty() { Err(Failure::Findings) } else { Ok(()) }
}

/// The changes of all entries that differ, sorted by model, target, rows and threads.
fn entry_changes<'a>(before: &'a LockFile, after: &'a LockFile) -> Vec<(&'a EntryKey, EntryChange<'a>)> {
    let all = before.entries().iter().chain(after.entries());
    let keys: BTreeSet<&EntryKey> = all.map(|entry| &entry.key).collect();
    let change = |key| match (before.get(key), after.get(key)) {
        (Some(old), Some(new)) if old != new => Some((key, EntryChange::Changed(old, new))),
        (Some(old), None) => Some((key, EntryChange::Removed(old))),
        (None, Some(new)) => Some((key, EntryChange::Added(new))),
        _ => None,
    };
    let mut entry_changes: Vec<_> = keys.into_iter().filter_map(change).collect();
    entry_changes.sort_by_key(|(key, _)| (&key.model, &key.target, key.rows, key.threads));
    entry_changes
}

/// `0.05 µs per row on znver5`
fn speed(entry: &LockEntry) -> String {
    format!("{} µs per row on {}", entry.measured.schedule.median, entry.processor)
}

fn with_figures(key: &EntryKey, change: &EntryChange, mut value: Value) -> Value {
    let (old, new) = match change {
        EntryChange::Added(new) => (None, Some(new)),
        EntryChange::Removed(old) => (Some(old), None),
        EntryChange::Changed(old, new) => (Some(old), Some(new)),
    };
    let about = |entry: &&&LockEntry| {
        let us_per_row = entry.measured.schedule.median;
        json!({ "us_per_row": us_per_row, "processor": entry.processor })
    };
    value["entry"] = json!(key.to_string());
    value["before"] = old.as_ref().map(about).unwrap_or_default();
    value["after"] = new.as_ref().map(about).unwrap_or_default();
    value
}
