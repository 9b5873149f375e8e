//! `schedc lock`, and how other commands use a lock.

use super::ModelOptions;
use super::times::parse_time;
use clap::{ArgGroup, Args};
use schedc_driver::LockUse;
use std::path::PathBuf;
use std::time::Duration;

/// The use of a lock by a command without --schedule.
#[derive(Clone, Debug, Default, Args)]
pub struct LockOptions {
    /// The lock, whose schedules apply without --schedule [default: schedc.lock beside the model]
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,
    /// Fail unless the lock has a schedule for the model and this machine
    #[arg(long)]
    pub locked: bool,
    /// Ignore locks: choose a schedule
    #[arg(long, conflicts_with_all = ["lock", "locked"])]
    pub frozen: bool,
}

impl LockOptions {
    /// Converts the options to the type that the driver takes.
    pub fn as_used(&self) -> LockUse {
        LockUse { file: self.lock.clone(), locked: self.locked, frozen: self.frozen }
    }
}

/// `schedc lock`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("action").args(["list", "check", "upgrade", "resolve", "merge"])))]
#[command(after_help = "\
Examples:
  schedc lock                                       what schedc.lock holds
  schedc lock --check models/schedc.lock            for CI: exit status 1 if an entry is wrong
  schedc lock --upgrade model.json:1024             measure an entry again, here and now
  schedc lock --resolve                             after a merge conflict
An entry is named TARGET:MODEL:ROWS:THREADS; leave out the parts that are not needed to identify it.")]
pub struct Lock {
    /// The lock
    #[arg(default_value = "schedc.lock", value_name = "FILE")]
    pub file: PathBuf,
    /// List the entries; the default
    #[arg(long)]
    pub list: bool,
    /// Check that the entries are unedited and fit their models
    #[arg(long)]
    pub check: bool,
    /// Measure an entry again and write it for this schedc and machine; report if schedc's own choice is
    /// faster
    #[arg(long, value_name = "ENTRY")]
    pub upgrade: Option<String>,
    /// Resolve a merge conflict entry by entry
    #[arg(long)]
    pub resolve: bool,
    /// Merge THEIRS into OURS, which both came from BASE; for git's merge drivers
    #[arg(long, num_args = 3, value_names = ["BASE", "OURS", "THEIRS"])]
    pub merge: Vec<PathBuf>,
    /// With --upgrade, about how long to measure
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "2s", requires = "upgrade")]
    pub budget: Duration,
    #[command(flatten)]
    /// The models' reading.
    pub reading: ModelOptions,
    /// List as JSON
    #[arg(long, conflicts_with_all = ["check", "upgrade", "resolve", "merge"])]
    pub json: bool,
}
