//! The `schedc` command line: arguments, files, exit status, progress.

mod args;
mod commands;
mod environment;
mod files;
mod internal;
mod interrupt;
mod model_rows;
mod outputs;
mod pages;
mod stdout;
mod terminal;
mod version;

use args::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;
use terminal::Terminal;

#[global_allocator]
static ALLOCATOR: interrupt::Allocator = interrupt::Allocator;

fn main() -> ExitCode {
    internal::install();
    interrupt::install();
    if version::is_asked_for(std::env::args_os().skip(1)) {
        return match stdout::print(&version::details()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => ExitCode::from(failure.status()),
        };
    }
    let cli = Cli::parse();
    internal::set_format(cli.format);
    let terminal = Terminal::new(cli.color, cli.format, matches!(cli.command, Command::Check(_)));
    let result = match &cli.command {
        Command::Predict(args) => commands::predict::run(args, &terminal),
        Command::Build(args) => commands::build::run(args, &terminal),
        Command::Check(args) => commands::check::run(args, &terminal),
        Command::Fmt(args) => commands::fmt::run(args, &terminal),
        Command::Show(args) => commands::show::run(args, &terminal),
        Command::Diff(args) => commands::diff::run(args, &terminal),
        Command::Ir(args) => commands::ir::run(args, &terminal),
        Command::Inspect(args) => commands::inspect::run(args),
        Command::Tune(args) => commands::tune::run(args, &terminal),
        Command::Calibrate(args) => commands::calibrate::run(args, &terminal),
        Command::Profile(args) => commands::profile::run(args, &terminal),
        Command::Bench(args) => commands::bench::run(args, &terminal),
        Command::ExplainSpeed(args) => commands::explain_speed::run(args, &terminal),
        Command::Lock(args) => commands::lock::run(args, &terminal),
        Command::Verify(args) => commands::verify::run(args, &terminal),
        Command::Convert(args) => commands::convert::run(args, &terminal),
        Command::Package(args) => commands::package::run(args, &terminal),
        Command::Explain(args) => commands::explain::run(args),
        Command::Lsp(_) => commands::lsp::run(),
        Command::Completions(args) => commands::completions::run(args),
        Command::Manual(args) => commands::manual::run(args),
    };
    let status = match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(terminal.refuse(failure)),
    };
    match terminal.finish() {
        Ok(()) => status,
        Err(failure) => ExitCode::from(failure.status()),
    }
}
