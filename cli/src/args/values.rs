//! Arguments that give values to a schedule.

use super::numbers::whole;
use super::{parse_set, parse_target};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use sched_lang::Target;
use std::ops::Deref;
use std::path::PathBuf;

/// The arguments themselves.
#[derive(Args)]
struct Arguments {
    /// The target, which replaces the schedule's: cpu, gpu, or with options such as gpu(sm_90)
    #[arg(long, value_name = "TARGET", value_parser = parse_target)]
    target: Option<Target>,
    /// Give a `param` of the schedule another value
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_set)]
    sets: Vec<(String, i64)>,
    /// Value of `batch_size` in the schedule: the largest number of rows that its loops process at once
    #[arg(long, value_name = "ROWS", value_parser = whole::<u64>(1..=u64::MAX))]
    batch_size: Option<u64>,
    /// Accept a schedule whose fingerprint is another model's
    #[arg(long)]
    ignore_fingerprint: bool,
    /// Row counts per leaf, from `schedc profile`; needed by `tileTrees(n, probability)`
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

/// Values of a schedule that the command line gives.
#[derive(Clone, Debug)]
pub struct ScheduleValues(schedc_driver::ScheduleValues);

impl ScheduleValues {
    /// Converts the values to the type that the driver takes.
    pub fn into_inner(self) -> schedc_driver::ScheduleValues {
        self.0
    }
}

impl Deref for ScheduleValues {
    type Target = schedc_driver::ScheduleValues;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl FromArgMatches for ScheduleValues {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let Arguments { target, sets, batch_size, ignore_fingerprint, profile } =
            Arguments::from_arg_matches(matches)?;
        Ok(ScheduleValues(schedc_driver::ScheduleValues {
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

impl Args for ScheduleValues {
    fn augment_args(command: Command) -> Command {
        Arguments::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Arguments::augment_args_for_update(command)
    }
}
