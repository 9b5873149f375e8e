//! Entries of a lock.

use super::digest::{nest_digest, structure_digest};
use super::here::ThisMachine;
use crate::failure::Failure;
use crate::model::Model;
use crate::row_memory::RowMemory;
use sched_forest::fingerprint;
use sched_lang::schedule_parts::without_model;
use sched_llvm::Cpu;
use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// Version of the speed of generated code. Developers raise it by hand after a change of that speed, or of
/// the text of nests, since the schedules of a lock may then no longer be fast. Entries of another epoch are
/// not used. `CONTRIBUTING.md` says when to raise it.
pub const CODE_EPOCH: u32 = 4;

/// The key of an entry, unique in its lock. Its text is the entry's name: `cpu:model.json:1024:all`, and
/// `gpu(sm_90):model.json:1024:1:device` for times of kernels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryKey {
    /// The target of code: `cpu` for the processor of the machine, a level such as `x86-64-v3`, or a GPU such
    /// as `gpu(sm_90)`.
    pub target: String,
    /// Path of the model's file relative to the lock's folder, with `/` between folders.
    pub model: String,
    /// Rows of a call.
    pub rows: u64,
    /// Threads of a call; 0 for all threads of the machine.
    pub threads: u32,
    /// The memory of the rows of the measured calls.
    pub rows_in: RowMemory,
}

impl EntryKey {
    /// The key of whole calls for a model's file in the lock at path `lock`, which need not exist yet.
    ///
    /// # Errors
    /// When the model's path cannot be written in a lock.
    pub fn new(
        target: &str,
        model: &Path,
        lock: &Path,
        rows: u64,
        threads: u32,
    ) -> Result<EntryKey, Failure> {
        let model = relative(model, lock.parent().unwrap_or(Path::new("")));
        let text = model.to_str().filter(|text| !text.is_empty() && !text.chars().any(char::is_control));
        let text = text.ok_or_else(|| {
            let message = format!("a lock cannot name the model {}", model.display());
            Failure::usage(message, "give its file a name of UTF-8 characters without line breaks")
        })?;
        let (target, model) = (target.to_string(), text.to_string());
        Ok(EntryKey { target, model, rows, threads, rows_in: RowMemory::Host })
    }

    /// The key of calls with rows in this memory.
    pub fn with_rows_in(self, rows_in: RowMemory) -> EntryKey {
        EntryKey { rows_in, ..self }
    }

    /// The number of threads as text.
    pub fn threads(&self) -> String {
        if self.threads == 0 { "all".to_string() } else { self.threads.to_string() }
    }

    /// The hexadecimal digit that names the section of the entry in the text.
    pub(super) fn bucket(&self) -> String {
        let digest = fingerprint(format!("{}:{}", self.target, self.model).as_bytes());
        digest.trim_start_matches("sha256:").chars().take(1).collect()
    }

    /// The position of the entry in the text.
    pub(super) fn place(&self) -> (String, &EntryKey) {
        (self.bucket(), self)
    }
}

impl Display for EntryKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.target, self.model, self.rows, self.threads())?;
        match self.rows_in {
            RowMemory::Host => Ok(()),
            memory => write!(f, ":{memory}"),
        }
    }
}

impl FromStr for EntryKey {
    type Err = ();

    fn from_str(text: &str) -> Result<EntryKey, ()> {
        let (whole, rows_in) = match text.rsplit_once(':').map(|(whole, word)| (whole, word.parse())) {
            Some((whole, Ok(rows_in))) => (whole, rows_in),
            _ => (text, RowMemory::Host),
        };
        let (rest, threads) = whole.rsplit_once(':').ok_or(())?;
        let (rest, rows) = rest.rsplit_once(':').ok_or(())?;
        let (target, model) = rest.split_once(':').ok_or(())?;
        let threads = if threads == "all" { 0 } else { threads.parse().map_err(drop)? };
        let key = EntryKey {
            target: target.to_string(),
            model: model.to_string(),
            rows: rows.parse().map_err(drop)?,
            threads,
            rows_in,
        };
        // With other spellings of a number, one entry would have two names.
        let is_own = key.to_string() == text && !target.is_empty() && !model.is_empty() && key.rows > 0;
        is_own.then_some(key).ok_or(())
    }
}

/// A path relative to a folder. Follows symbolic links in its folders, but not a link in place of the file.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    let whole = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        std::fs::canonicalize(path)
            .or_else(|_| std::path::absolute(path))
            .unwrap_or_else(|_| path.to_path_buf())
    };
    // A link keeps its own name.
    let name = path.file_name().map(PathBuf::from).unwrap_or_default();
    let path = whole(path.parent().unwrap_or(Path::new(""))).join(name);
    let folder = whole(folder);
    let (path, folder): (Vec<Component>, Vec<Component>) =
        (path.components().collect(), folder.components().collect());
    let shared = path.iter().zip(&folder).take_while(|(one, other)| one == other).count();
    let up = folder.iter().skip(shared).map(|_| Component::ParentDir);
    up.chain(path.iter().skip(shared).copied()).collect()
}

/// The median and the quartiles of measured times of a row, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The median.
    pub median: f64,
    /// The lower quartile.
    pub low: f64,
    /// The upper quartile.
    pub high: f64,
}

impl Figures {
    /// The figures as a lock stores them, with four significant digits.
    fn rounded(self) -> Figures {
        let round = |value: f64| format!("{value:.3e}").parse().unwrap_or(value);
        Figures { median: round(self.median), low: round(self.low), high: round(self.high) }
    }

    /// Whether all figures are positive and finite.
    pub(super) fn are_times(self) -> bool {
        [self.low, self.median, self.high].iter().all(|time| time.is_finite() && *time > 0.0)
    }
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Measured times of calls with the entry's schedule.
    pub schedule: Figures,
    /// Times of calls with the schedule that schedc chooses, from the same run.
    pub default: Figures,
    /// The seed of the random rows.
    pub seed: u64,
    /// The time limit of the search or measurement.
    pub budget: Duration,
}

/// A measured schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct LockEntry {
    /// Its key.
    pub key: EntryKey,
    /// The digest of the model's structure; see [`structure_digest`].
    pub structure: String,
    /// The triple of the system for which code was generated.
    pub triple: String,
    /// The processor of the measurement, by LLVM's name.
    pub processor: String,
    /// The instruction sets that code could use.
    pub features: Vec<String>,
    /// Sizes of the data caches in bytes, the nearest first. For display only.
    pub caches: Vec<u64>,
    /// Version of schedc that wrote the entry.
    pub schedc: String,
    /// The code epoch; see [`CODE_EPOCH`].
    pub epoch: u32,
    /// The digest of the schedule's nest with its model; see [`nest_digest`].
    pub nest: String,
    /// The measured times.
    pub measured: Measurement,
    /// Day on which the entry was written, in UTC, as in `2026-01-31`.
    pub date: String,
    /// The schedule.
    pub schedule: String,
    /// Whether its text was edited after schedc wrote it.
    pub is_edited: bool,
}

impl LockEntry {
    /// The entry for a schedule that was measured today on this machine.
    ///
    /// # Errors
    /// When the schedule is not legal for the model or has control characters, or if a time is not positive.
    pub fn of(
        key: EntryKey,
        model: &Model,
        cpu: Cpu,
        schedule: &str,
        measured: Measurement,
    ) -> Result<LockEntry, Failure> {
        let here = ThisMachine::of(cpu);
        // The key names the model.
        let schedule = without_model(schedule).trim_end().to_string() + "\n";
        if schedule.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
            let help = "remove the control characters; use LF line breaks and tabs only";
            return Err(Failure::usage(
                "the schedule has control characters, which a lock does not keep",
                help,
            ));
        }
        let nest = nest_digest(&schedule, model).ok_or_else(|| {
            let help = "run `schedc build MODEL -s FILE` to see the errors";
            Failure::usage("the schedule has errors with its model, so a lock cannot hold it", help)
        })?;
        let (one, other) = (measured.schedule.rounded(), measured.default.rounded());
        if !one.are_times() || !other.are_times() {
            return Err(Failure::usage("the entry has no times for the schedule", "measure for longer"));
        }
        // A lock stores milliseconds.
        let budget = Duration::from_millis(u64::try_from(measured.budget.as_millis()).unwrap_or(u64::MAX));
        Ok(LockEntry {
            structure: structure_digest(model.forest()),
            triple: here.triple,
            processor: here.processor,
            features: here.features,
            caches: here.caches,
            schedc: env!("CARGO_PKG_VERSION").to_string(),
            epoch: CODE_EPOCH,
            nest,
            measured: Measurement { schedule: one, default: other, budget, ..measured },
            date: super::here::today(),
            schedule,
            is_edited: false,
            key,
        })
    }

    /// The speed relative to the schedule that schedc chooses.
    pub fn gain(&self) -> f64 {
        self.measured.default.median / self.measured.schedule.median
    }

    /// Compares entries in the order in which people read them: by model, target, rows and threads.
    pub fn for_people(&self, other: &LockEntry) -> Ordering {
        let order =
            |key: &EntryKey| (key.model.clone(), key.target.clone(), key.rows, key.threads, key.rows_in);
        order(&self.key).cmp(&order(&other.key))
    }
}

#[cfg(test)]
mod tests {
    use super::{EntryKey, relative};
    use std::path::{Path, PathBuf};

    #[test]
    fn names_of_entries_are_read_back() {
        let names = [
            "cpu:model.json:1024:all",
            "gpu(sm_90):a:b.json:1:2",
            "gpu(sm_90):device:1:2:device",
            "x86-64-v3:../m/x.txt:64:1",
        ];
        for name in names {
            assert_eq!(name.parse::<EntryKey>().map(|key| key.to_string()), Ok(name.to_string()));
        }
        for wrong in [
            "",
            "cpu",
            "cpu:m:01:all",
            "cpu:m:0:all",
            "cpu:m:1:0",
            "cpu:m:1:+1",
            "cpu::1:1",
            ":m:1:1",
            "cpu:m:1:1:host",
            "cpu:m:1:device",
        ] {
            assert_eq!(wrong.parse::<EntryKey>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn models_are_seen_from_the_folder_of_the_lock() {
        let seen = |path: &str, folder: &str| relative(Path::new(path), Path::new(folder));
        assert_eq!(seen("model.json", ""), PathBuf::from("model.json"));
        assert_eq!(seen("./model.json", "."), PathBuf::from("model.json"));
        assert_eq!(seen("src/model.json", ""), PathBuf::from("src/model.json"));
        assert_eq!(seen("model.json", "src"), PathBuf::from("../model.json"));
        assert_eq!(seen("/none/here/model.json", "/none/there"), PathBuf::from("../here/model.json"));
    }
}
