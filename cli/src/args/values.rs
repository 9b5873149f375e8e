//! Options with values for a schedule.

use super::numbers::whole;
use super::{parse_set, parse_target};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use sched_lang::Target;
use std::ops::Deref;
use std::path::PathBuf;

/// The options as clap parses them.
#[derive(Args)]
struct Arguments {
    /// The target to compile for, such as cpu, cpu(avx512), gpu or gpu(sm_90); overrides the schedule's
    /// `target` line [default: the schedule's target, or else cpu]
    #[arg(long, value_name = "TARGET", value_parser = parse_target)]
    target: Option<Target>,
    /// Set a `param` of the schedule to a value, such as ROWS=128; may be repeated [default: the schedule's
    /// value]
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_set)]
    sets: Vec<(String, i64)>,
    /// Largest number of rows that the schedule's loops process at once: longer calls run them repeatedly.
    /// Schedules that use `batch_size` need it [default: no limit]
    #[arg(long, value_name = "ROWS", value_parser = whole::<u64>(1..=u64::MAX))]
    batch_size: Option<u64>,
    /// Accept a schedule that names the fingerprint of another model, for example after the model was trained
    /// again
    #[arg(long)]
    ignore_fingerprint: bool,
    /// The number of rows that reach each leaf: a file that `schedc profile` wrote. The directive
    /// `tileTrees(n, probability)` needs it
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

/// Values of a schedule that the command line gives.
#[derive(Clone, Debug)]
pub struct ValueOptions(schedc_driver::ScheduleValues);

impl ValueOptions {
    /// Converts the values to the type that the driver takes.
    pub fn into_inner(self) -> schedc_driver::ScheduleValues {
        self.0
    }
}

impl Deref for ValueOptions {
    type Target = schedc_driver::ScheduleValues;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl FromArgMatches for ValueOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let Arguments { target, sets, batch_size, ignore_fingerprint, profile } =
            Arguments::from_arg_matches(matches)?;
        Ok(ValueOptions(schedc_driver::ScheduleValues {
            target,
            sets,
            batch_size,
            ignore_fingerprint,
            profile,
        }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ValueOptions {
    fn augment_args(command: Command) -> Command {
        Arguments::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Arguments::augment_args_for_update(command)
    }
}
