//! The `schedc` command line: arguments, files, exit status, progress. The program `schedc` runs it, and the
//! Python package `schedc`, whose module contains LLVM anyway.

mod args;
mod commands;
mod environment;
mod files;
mod internal;
mod interrupt;
mod model_rows;
mod outputs;
mod pages;
mod program;
mod stdout;
mod terminal;
mod timings;
mod version;

use args::{Cli, Command, old_spellings, proposals, unparsed};
use clap::{CommandFactory, FromArgMatches};
use schedc_driver::Failure;
use schedc_driver::cache::{self, Cache};
use std::ffi::OsString;
use std::path::PathBuf;
use terminal::Terminal;
use timings::Timings;

/// The program's global allocator.
pub use interrupt::Allocator;

/// Runs a command line, whose first argument is the program's name, and returns the exit status. Ends the
/// process instead for `--help`, `--version` and arguments that do not parse. Installs handlers of signals
/// and of panics, so a process may run only one command line. `program` is the program's file, which some
/// commands start again; `None` for the file that the process runs.
pub fn run(arguments: Vec<OsString>, program: Option<PathBuf>) -> u8 {
    program::set(program);
    internal::install();
    interrupt::install();
    if version::is_asked_for(arguments.iter().skip(1).cloned()) {
        return stdout::print(&version::details()).map_or_else(|failure| failure.status(), |()| 0);
    }
    let (arguments, note) = old_spellings::rewrite(arguments);
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let parsed = Cli::command().try_get_matches_from(&arguments);
    let matches = parsed.unwrap_or_else(|error| unparsed::end(&proposals::explained(error, &words), &words));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| unparsed::end(&error, &words));
    internal::set_format(cli.format);
    let terminal = Terminal::new(cli.color, cli.format, matches!(cli.command, Command::Check(_)));
    note.iter().filter(|_| !cli.command.is_quiet()).for_each(|note| terminal.say(note));
    let timings = cli.command.compile_options().is_some_and(|options| options.timings);
    let result = match timings {
        false => run_command(&cli, &terminal),
        true => {
            let (result, line) = Timings::of(|| run_command(&cli, &terminal));
            terminal.say(&line);
            result
        }
    };
    let status = match result {
        Ok(()) => 0,
        Err(failure) => terminal.refuse(failure),
    };
    terminal.finish().map_or_else(|failure| failure.status(), |()| status)
}

/// Runs a command. `build` and `predict` store compiled code in the user's cache.
fn run_command(cli: &Cli, terminal: &Terminal) -> Result<(), Failure> {
    let keeps = cli.command.compile_options().is_some_and(|options| !options.no_cache);
    cache::with_cache(keeps.then(Cache::of_user).flatten(), || match &cli.command {
        Command::Predict(args) => commands::predict::run(args, terminal),
        Command::Build(args) => commands::build::run(args, terminal),
        Command::Check(args) => commands::check::run(args, terminal),
        Command::Fmt(args) => commands::fmt::run(args, terminal),
        Command::Show(args) => commands::show::run(args, terminal),
        Command::Diff(args) => commands::diff::run(args, terminal),
        Command::Ir(args) => commands::ir::run(args, terminal),
        Command::Inspect(args) => commands::inspect::run(args),
        Command::Tune(args) => commands::tune::run(args, terminal),
        Command::Calibrate(args) => commands::calibrate::run(args, terminal),
        Command::Profile(args) => commands::profile::run(args, terminal),
        Command::Bench(args) => commands::bench::run(args, terminal),
        Command::ExplainSpeed(args) => commands::explain_speed::run(args, terminal),
        Command::Lock(args) => commands::lock::run(args, terminal),
        Command::Verify(args) => commands::verify::run(args, terminal),
        Command::Convert(args) => commands::convert::run(args, terminal),
        Command::Package(args) => commands::package::run(args, terminal),
        Command::Explain(args) => commands::explain::run(args),
        Command::Lsp(args) => commands::lsp::run(args),
        Command::Completions(args) => commands::completions::run(args),
        Command::Manual(args) => commands::manual::run(args),
    })
}
