//! Values that schedules take from outside, as arguments.

use super::{parse_set, parse_target};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use sched_lang::Target;
use std::ops::Deref;
use std::path::PathBuf;

/// The arguments themselves.
#[derive(Args)]
struct Arguments {
    /// The target, instead of the schedule's: cpu, gpu, or with options such as gpu(sm_90)
    #[arg(long, value_name = "TARGET", value_parser = parse_target)]
    target: Option<Target>,
    /// Give a `param` of the schedule another value
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_set)]
    sets: Vec<(String, i64)>,
    /// Rows that one run of the nest handles at most; the fact `batch_size`
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    batch_size: Option<u64>,
    /// Use the schedule although its fingerprint is not the model's
    #[arg(long)]
    ignore_fingerprint: bool,
    /// How often each leaf is reached, as `schedc profile` counted; for `tileTrees` by probability
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

/// Values that a schedule takes from outside.
#[derive(Clone, Debug)]
pub struct ScheduleValues(schedc_driver::ScheduleValues);

impl ScheduleValues {
    /// As the driver has them.
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
