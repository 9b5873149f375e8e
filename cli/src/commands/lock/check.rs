//! `schedc lock --check`: checks that schedc wrote the entries, and that they match their models.

use super::files::model_of;
use crate::args;
use crate::terminal::Terminal;
use sched_diagnostics::{Diagnostic, Place, Severity, usage};
use schedc_driver::lock::{LockEntry, LockFile, staleness};
use schedc_driver::{Failure, Model};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Runs the command. The check may run on any machine, not only on the one that measured the entries.
pub fn run(args: &args::Lock, terminal: &Terminal) -> Result<(), Failure> {
    let path = &args.file;
    let lock = LockFile::read(path)?;
    let mut findings = Vec::new();
    let mut models: BTreeMap<PathBuf, Option<Model>> = BTreeMap::new();
    let mut entries: Vec<&LockEntry> = lock.entries().iter().collect();
    entries.sort_by(|one, other| one.for_people(other));
    for entry in entries {
        let file = model_of(entry, path);
        if !models.contains_key(&file) {
            let model = read(&file, args, terminal);
            findings.extend(model.as_ref().err().map(|error| error.as_ref().clone()));
            models.insert(file.clone(), model.ok().flatten());
        }
        let model = models.get(&file).and_then(Option::as_ref);
        findings.extend(staleness(entry, model, path).map(|found| found.file(path.display().to_string())));
    }
    let text = std::fs::read(path).unwrap_or_default();
    if findings.is_empty() && as_lines(&text) != lock.text() {
        let message = "the entries are intact, but schedc would write the text differently";
        let help = "`schedc lock --resolve` rewrites it";
        let found = Diagnostic::new(usage::LOCK_DAMAGED, Place::Whole, message).help(help);
        findings.push(found.file(path.display().to_string()));
    }
    for finding in &findings {
        terminal.show(Diagnostic { severity: Severity::Error, ..finding.clone() });
    }
    let count = lock.entries().len();
    let entries = if count == 1 { "entry" } else { "entries" };
    let found = match findings.len() {
        0 => "no findings".to_string(),
        1 => "1 finding".to_string(),
        n => format!("{n} findings"),
    };
    terminal.say(&format!("{count} {entries} checked: {found}"));
    if findings.is_empty() { Ok(()) } else { Err(Failure::Findings) }
}

/// The model of an entry. Prints a note and returns `None` if its file does not exist.
fn read(file: &Path, args: &args::Lock, terminal: &Terminal) -> Result<Option<Model>, Box<Diagnostic>> {
    if !file.exists() {
        terminal.say(&format!("note: {} does not exist; its entries are checked without it", file.display()));
        return Ok(None);
    }
    match Model::read(file, &args.reading.options()) {
        Ok(model) => Ok(Some(model)),
        Err(Failure::Refused(diagnostic)) => Err(diagnostic),
        Err(_) => Ok(None),
    }
}

/// A text with line breaks `\n`, as schedc writes them.
fn as_lines(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n")
}
