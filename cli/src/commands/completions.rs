//! `schedc completions`: prints scripts by which shells complete commands and options.

use crate::args::{Cli, Completions};
use crate::stdout::print_bytes;
use clap::CommandFactory;
use schedc_driver::Failure;

/// Runs the command.
pub fn run(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "schedc", &mut script);
    print_bytes(&script)
}
