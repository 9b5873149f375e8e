//! Reads locks. The text may be of a newer schedc, half merged, or edited.

use super::entry::{EntryKey, Figures, LockEntry, Measurement};
use super::write::digest_of;
use super::{FORMAT_VERSION, LockFile, damaged, refused};
use crate::failure::Failure;
use sched_diagnostics::usage;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::FromStr;
use std::time::Duration;

/// The fields of an entry besides its schedule.
const FIELDS: [&str; 15] = [
    "structure",
    "triple",
    "processor",
    "features",
    "caches",
    "schedc",
    "epoch",
    "nest",
    "us-per-row",
    "default-us-per-row",
    "rows-in",
    "seed",
    "budget",
    "date",
    "digest",
];

/// Beginnings of the lines that git leaves in a text that it could not merge.
const MARKERS: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];

impl LockFile {
    /// Reads the text of a lock.
    ///
    /// # Errors
    /// When schedc did not write it, with the line.
    pub fn parse(bytes: &[u8]) -> Result<LockFile, Failure> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            damaged(line, "the lock is not UTF-8 text")
        })?;
        let numbered = || text.lines().enumerate().map(|(at, line)| (at + 1, line));
        if let Some((line, _)) = numbered().find(|(_, line)| is_marker(line)) {
            let help = "`schedc lock --resolve` keeps what only one side has, and says which entries both \
                        have \
                        changed; or take the file of one side with `git checkout --ours` or `--theirs`";
            return Err(refused(usage::LOCK_CONFLICT, line, "git could not merge the lock", help));
        }
        let mut lines = numbered().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
        format_of(lines.next())?;
        let mut lock = LockFile::default();
        while let Some((number, line)) = lines.next() {
            if is_bucket(line) {
                continue;
            }
            let entry = match line.strip_prefix("entry ") {
                Some(name) => entry(number, name, &mut lines)?,
                None => {
                    return Err(damaged(
                        number,
                        format!("there is no entry that {} is part of", quoted(line)),
                    ));
                }
            };
            if lock.get(&entry.key).is_some() {
                return Err(damaged(number, format!("there is another entry {}", entry.key)));
            }
            lock.put(entry);
        }
        Ok(lock)
    }
}

/// Whether a line is a conflict marker of git.
pub(super) fn is_marker(line: &str) -> bool {
    MARKERS
        .iter()
        .any(|marker| line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
}

/// Checks the first line, which has the format.
fn format_of(line: Option<(usize, &str)>) -> Result<(), Failure> {
    let (number, line) = line.unwrap_or((1, ""));
    let format = line.strip_prefix("lock ").and_then(|format| format.parse::<u32>().ok());
    match format {
        Some(FORMAT_VERSION) => Ok(()),
        Some(newer) if newer > FORMAT_VERSION => {
            let message =
                format!("the lock has format {newer}, and this schedc reads format {FORMAT_VERSION}");
            Err(refused(usage::LOCK_NEWER, number, message, NEWER_HELP))
        }
        _ => Err(damaged(
            number,
            format!("a lock begins with `lock {FORMAT_VERSION}`, not with {}", quoted(line)),
        )),
    }
}

const NEWER_HELP: &str = "use the schedc that wrote it, or ignore the lock with --frozen";

/// Whether a line is the heading of a section: a hexadecimal digit, or two in locks of early versions.
fn is_bucket(line: &str) -> bool {
    (1..=2).contains(&line.len())
        && line.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The part of a line that a message shows.
fn quoted(line: &str) -> String {
    let shown: String = line.trim().chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect();
    let rest = if shown.chars().count() < line.trim().chars().count() { "..." } else { "" };
    format!("`{shown}{rest}`")
}

/// The fields of an entry with their lines.
struct EntryFields<'t> {
    /// Name of the entry.
    name: &'t str,
    line: usize,
    values: BTreeMap<&'static str, (usize, &'t str)>,
}

impl<'t> EntryFields<'t> {
    fn text(&self, field: &str) -> Result<(usize, &'t str), Failure> {
        let found = self.values.get(field).copied();
        found.ok_or_else(|| damaged(self.line, format!("the entry {} has no field `{field}`", self.name)))
    }

    fn owned(&self, field: &str) -> Result<String, Failure> {
        Ok(self.text(field)?.1.to_string())
    }

    fn value<T: FromStr>(&self, field: &str) -> Result<T, Failure> {
        let (line, text) = self.text(field)?;
        text.parse().map_err(|_| damaged(line, format!("{} is no value of `{field}`", quoted(text))))
    }

    fn list<T: FromStr>(&self, field: &str) -> Result<Vec<T>, Failure> {
        let (line, text) = self.text(field)?;
        if text == "-" {
            return Ok(Vec::new());
        }
        let values = text.split(' ').map(|value| {
            value.parse().map_err(|_| damaged(line, format!("{} is no value of `{field}`", quoted(value))))
        });
        values.collect()
    }

    fn figures(&self, field: &str) -> Result<Figures, Failure> {
        let (line, text) = self.text(field)?;
        let figures = match self.list::<f64>(field)?.as_slice() {
            [median, low, high] => Some(Figures { median: *median, low: *low, high: *high }),
            _ => None,
        };
        let figures = figures.filter(|figures| figures.are_times());
        figures.ok_or_else(|| damaged(line, format!("{} are no median and quartiles", quoted(text))))
    }

    fn time(&self, field: &str) -> Result<Duration, Failure> {
        let (line, text) = self.text(field)?;
        let millis = |digits: &str, unit: u64| digits.parse::<u64>().ok()?.checked_mul(unit);
        let time = match text.strip_suffix("ms") {
            Some(digits) => millis(digits, 1),
            None => text.strip_suffix('s').and_then(|digits| millis(digits, 1000)),
        };
        let time = time.map(Duration::from_millis);
        time.ok_or_else(|| damaged(line, format!("{} is no value of `{field}`", quoted(text))))
    }
}

/// Reads an entry whose first line was read already.
fn entry<'t>(
    number: usize,
    name: &'t str,
    lines: &mut Peekable<impl Iterator<Item = (usize, &'t str)>>,
) -> Result<LockEntry, Failure> {
    let key: EntryKey = name.parse().map_err(|()| {
        damaged(number, format!("{} does not name an entry as TARGET:MODEL:ROWS:THREADS", quoted(name)))
    })?;
    let mut fields = EntryFields { name, line: number, values: BTreeMap::new() };
    let mut body = format!("entry {name}\n");
    let mut schedule = String::new();
    let mut has_schedule = false;
    while let Some((number, line)) = lines.next_if(|(_, line)| line.starts_with("  ")) {
        let field = line.trim_start_matches("  ");
        let is_digest = field.starts_with("digest ");
        if let Some(text) = field.strip_prefix('|').filter(|_| has_schedule) {
            schedule += text.strip_prefix(' ').unwrap_or(text);
            schedule.push('\n');
        } else if field == "schedule" && !has_schedule {
            has_schedule = true;
        } else {
            add(&mut fields, number, field)?;
        }
        if is_digest {
            break;
        }
        body += line;
        body.push('\n');
    }
    if !has_schedule {
        return Err(damaged(number, format!("the entry {name} has no schedule")));
    }
    whole(&fields, key, schedule, &body)
}

/// Adds a field and its value.
fn add<'t>(fields: &mut EntryFields<'t>, number: usize, field: &'t str) -> Result<(), Failure> {
    let (name, value) = field.split_once(' ').unwrap_or((field, ""));
    let Some(known) = FIELDS.into_iter().find(|known| *known == name) else {
        let message = format!(
            "the entry {} has the field {}, which this schedc does not know",
            fields.name,
            quoted(name)
        );
        return Err(refused(usage::LOCK_NEWER, number, message, NEWER_HELP));
    };
    match fields.values.insert(known, (number, value)) {
        None => Ok(()),
        Some(_) => Err(damaged(number, format!("the entry {} has two fields `{known}`", fields.name))),
    }
}

fn whole(fields: &EntryFields, key: EntryKey, schedule: String, body: &str) -> Result<LockEntry, Failure> {
    // In older locks, the name lacks the memory of the rows, and the entry has a field for it.
    let rows_in = match fields.values.contains_key("rows-in") {
        true => fields.value("rows-in")?,
        false => key.rows_in,
    };
    let key = key.with_rows_in(rows_in);
    let entry = LockEntry {
        key,
        structure: fields.owned("structure")?,
        triple: fields.owned("triple")?,
        processor: fields.owned("processor")?,
        features: fields.list("features")?,
        caches: fields.list("caches")?,
        schedc: fields.owned("schedc")?,
        epoch: fields.value("epoch")?,
        nest: fields.owned("nest")?,
        measured: Measurement {
            schedule: fields.figures("us-per-row")?,
            default: fields.figures("default-us-per-row")?,
            seed: fields.value("seed")?,
            budget: fields.time("budget")?,
        },
        date: fields.owned("date")?,
        schedule,
        is_edited: fields.text("digest")?.1 != digest_of(body),
    };
    Ok(entry)
}
