//! `schedc manual`: writes manual pages of the command line, for packages.

use crate::args::{Cli, Manual};
use clap::CommandFactory;
use clap_mangen::Man;
use schedc_data::{unwritable, write_atomically};
use schedc_driver::Failure;

/// Runs the command.
pub fn run(args: &Manual) -> Result<(), Failure> {
    let failed = |error: std::io::Error| unwritable(&args.out, &error);
    let mut whole = Cli::command();
    whole.build();
    std::fs::create_dir_all(&args.out).map_err(failed)?;
    let commands =
        whole.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    for command in commands.chain([&whole]) {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_string();
        let page =
            Man::new(command.clone()).title(&name).source(concat!("schedc ", env!("CARGO_PKG_VERSION")));
        let mut text = Vec::new();
        page.render(&mut text).map_err(failed)?;
        write_atomically(&args.out.join(format!("{name}.1")), |file| file.write_all(&text))?;
    }
    Ok(())
}
