//! `schedc lock`: lists, checks, merges and renews measured schedules in a lock file.

mod check;
pub mod files;
mod list;
mod upgrade;

use crate::args;
use crate::stdout::print;
use crate::terminal::Terminal;
use files::write;
use sched_diagnostics::{Diagnostic, Place, usage};
use schedc_driver::lock::merge::{Merged, merge, resolve};
use schedc_driver::lock::{LockFile, LockRemedies};
use schedc_driver::{Failure, reason};
use std::path::Path;

/// The actions of `schedc lock`, each an option.
const ACTIONS: [&str; 5] = ["list", "check", "upgrade", "resolve", "merge"];

/// Runs `schedc lock`.
pub fn run(args: &args::Lock, terminal: &Terminal) -> Result<(), Failure> {
    refuse_action(&args.file)?;
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
    let lock = LockFile::read(&args.file)?;
    print(&if args.json { list::json(&lock) } else { list::text(&lock) })
}

/// Refuses a missing lock whose name is that of an action.
fn refuse_action(file: &Path) -> Result<(), Failure> {
    let Some(action) = ACTIONS.into_iter().find(|action| file.as_os_str() == *action) else { return Ok(()) };
    if file.exists() {
        return Ok(());
    }
    let message = format!("there is no lock named {action}, and actions are options");
    Err(Failure::usage(message, format!("write `schedc lock --{action}`")))
}

/// Merges three versions of a lock as a merge driver of git: the result replaces `ours`.
fn merge_files(base: &Path, ours: &Path, theirs: &Path, terminal: &Terminal) -> Result<(), Failure> {
    // Git passes an empty file as the base if both sides added the lock.
    let read = |path: &Path| match std::fs::metadata(path) {
        Ok(found) if found.len() == 0 => Ok(LockFile::default()),
        _ => LockFile::read(path),
    };
    finish(&merge(&read(base)?, &read(ours)?, &read(theirs)?), ours, terminal)
}

fn resolve_file(path: &Path, terminal: &Terminal) -> Result<(), Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let help = "name a lock that git could not merge";
        Failure::unreadable(path.display(), format!("the lock cannot be read: {}", reason(&error)), help)
    })?;
    finish(&resolve(&text).map_err(|failure| failure.in_file(path.display()))?, path, terminal)
}

/// Writes the merged lock, and reports the entries with conflicts.
fn finish(merged: &Merged, path: &Path, terminal: &Terminal) -> Result<(), Failure> {
    write(&merged.lock, path)?;
    for key in &merged.conflicts {
        let message =
            "both sides changed the entry, or one removed it; the version of the current branch is kept";
        let help = format!("measure it again with {}", LockRemedies::of(path).upgrade(key));
        let place = Place::Element(key.to_string());
        let conflict = Diagnostic::new(usage::LOCK_CONFLICT, place, message).help(help);
        terminal.show(conflict.file(path.display().to_string()));
    }
    if merged.conflicts.is_empty() { Ok(()) } else { Err(Failure::Findings) }
}
