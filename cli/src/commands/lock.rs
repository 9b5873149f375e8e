//! `schedc lock`: the schedules that were measured and are kept in git.

mod check;
mod list;
mod upgrade;

use super::print;
use crate::args;
use crate::terminal::Terminal;
use sched_diagnostics::{Diagnostic, Place, usage};
use schedc_data::write_atomically;
use schedc_driver::Failure;
use schedc_driver::lock::merge::{Merged, merge, resolve};
use schedc_driver::lock::{Entry, Lock};
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &args::Lock, terminal: &Terminal) -> Result<(), Failure> {
    if let [base, ours, theirs] = args.merge.as_slice() {
        return merge_files(base, ours, theirs, terminal);
    }
    if args.resolve {
        return resolve_file(&args.file, terminal);
    }
    if let Some(name) = &args.upgrade {
        return upgrade::run(args, name, terminal);
    }
    if args.check {
        return check::run(args, terminal);
    }
    let lock = Lock::read(&args.file)?;
    print(&if args.json { list::json(&lock) } else { list::text(&lock) })
}

/// Writes a lock beside its file and then in its place.
pub fn write(lock: &Lock, path: &Path) -> Result<(), Failure> {
    Ok(write_atomically(path, |out| out.write_all(lock.text().as_bytes()))?)
}

/// The file of an entry's model.
fn model_of(entry: &Entry, lock: &Path) -> PathBuf {
    lock.parent().unwrap_or(Path::new("")).join(&entry.key.model)
}

/// As git's merge drivers do: the result is where our version was.
fn merge_files(base: &Path, ours: &Path, theirs: &Path, terminal: &Terminal) -> Result<(), Failure> {
    // Where there was no lock before, git has an empty file.
    let read = |path: &Path| match std::fs::metadata(path) {
        Ok(found) if found.len() == 0 => Ok(Lock::default()),
        _ => Lock::read(path),
    };
    finish(&merge(&read(base)?, &read(ours)?, &read(theirs)?), ours, terminal)
}

fn resolve_file(path: &Path, terminal: &Terminal) -> Result<(), Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let help = "name a lock that git could not merge";
        Failure::unreadable(path.display(), format!("the lock cannot be read: {error}"), help)
    })?;
    finish(&resolve(&text).map_err(|failure| failure.of(path.display()))?, path, terminal)
}

/// Writes what was merged, and tells of the entries that both sides have changed.
fn finish(merged: &Merged, path: &Path, terminal: &Terminal) -> Result<(), Failure> {
    write(&merged.lock, path)?;
    for key in &merged.conflicts {
        let message =
            "both sides have changed the entry, or one has removed it; what our side has of it is kept";
        let help = format!("measure it again with `schedc lock --upgrade {key}`");
        let place = Place::Element(key.to_string());
        let conflict = Diagnostic::new(usage::LOCK_CONFLICT, place, message).help(help);
        terminal.tell(conflict.file(path.display().to_string()));
    }
    if merged.conflicts.is_empty() { Ok(()) } else { Err(Failure::Findings) }
}
