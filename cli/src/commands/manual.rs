//! `schedc manual`: manual pages of the command line, for packages.

use crate::args::{Cli, Manual};
use clap::CommandFactory;
use schedc_data::codes;
use schedc_driver::Failure;

/// Runs the command.
pub fn run(args: &Manual) -> Result<(), Failure> {
    let unwritable = |error: std::io::Error| {
        Failure::new(
            codes::UNWRITABLE,
            format!("it cannot be written: {error}"),
            "name a folder that can be written to",
        )
        .of(args.out.display())
    };
    std::fs::create_dir_all(&args.out).map_err(unwritable)?;
    clap_mangen::generate_to(Cli::command(), &args.out).map_err(unwritable)
}
