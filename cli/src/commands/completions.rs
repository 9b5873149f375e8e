//! `schedc completions`: prints scripts with which shells complete the command line.

use super::print_bytes;
use crate::args::{Cli, Completions};
use clap::CommandFactory;
use schedc_driver::Failure;

/// Runs the command.
pub fn run(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "schedc", &mut script);
    print_bytes(&script)
}
