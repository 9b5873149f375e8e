//! The arguments of `schedc lock`, and the options of other commands that use a lock.

use super::ModelOptions;
use super::times::parse_time;
use clap::{ArgGroup, Args};
use schedc_driver::LockUse;
use std::path::PathBuf;
use std::time::Duration;

/// The use of a lock by a command without --schedule.
#[derive(Clone, Debug, Default, Args)]
pub struct LockOptions {
    /// The lock, a file of tuned schedules, from which the schedule is taken if --schedule names none
    /// [default: schedc.lock beside the model]
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,
    /// Fail unless the lock has a schedule for this model and this machine, instead of choosing one; for
    /// builds that must be the same everywhere
    #[arg(long)]
    pub locked: bool,
    /// Ignore locks: schedc chooses the schedule
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
  schedc lock                                       the entries of schedc.lock
  schedc lock --check models/schedc.lock            for CI: exit status 1 if an entry is wrong
  schedc lock --upgrade model.json:1024             measure an entry again, here and now
  schedc lock --resolve                             after a merge conflict
An entry has the name TARGET:MODEL:ROWS:THREADS, such as cpu:model.json:1024:all, with :device at the
end if its times are those of kernels. Parts of a name suffice if they identify the entry.")]
pub struct Lock {
    /// The lock, the file of tuned schedules that `schedc tune --lock` writes
    #[arg(default_value = "schedc.lock", value_name = "FILE")]
    pub file: PathBuf,
    /// List the entries with their speed; the default without another action
    #[arg(long)]
    pub list: bool,
    /// Check that no entry was edited and that each fits its model and this version of schedc; exit with
    /// status 1 otherwise
    #[arg(long)]
    pub check: bool,
    /// Measure the schedule of this entry again, and store it for this machine and this version of schedc.
    /// Report if the schedule that schedc chooses is faster
    #[arg(long, value_name = "ENTRY")]
    pub upgrade: Option<String>,
    /// Resolve the merge conflicts that git marked in the lock; if both sides changed an entry, keep that of
    /// the current branch
    #[arg(long)]
    pub resolve: bool,
    /// Merge the lock THEIRS into OURS, two versions of BASE; for a merge driver of git
    #[arg(long, num_args = 3, value_names = ["BASE", "OURS", "THEIRS"])]
    pub merge: Vec<PathBuf>,
    /// With --upgrade, the approximate time to measure, such as 500ms or 2s
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "2s", requires = "upgrade")]
    pub budget: Duration,
    #[command(flatten)]
    /// Options of reading the entries' models.
    pub reading: ModelOptions,
    /// List the entries as JSON instead of text
    #[arg(long, conflicts_with_all = ["check", "upgrade", "resolve", "merge"])]
    pub json: bool,
}
