//! The command line: commands, their arguments, and examples in their `--help`.

mod bench;
mod build;
mod convert;
mod explain_speed;
mod ir;
mod line;
mod lock;
mod model_and_schedules;
mod numbers;
pub mod old_spellings;
mod package;
mod predict;
mod profile;
pub mod proposals;
mod rows;
mod times;
mod tune;
pub mod unparsed;
mod values;
mod verify;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use sched_forest::{Iterations, ReadOptions, Release};
use sched_lang::Target;
use sched_llvm::runtime::OutputKind;
use sched_llvm::{Cpu, Gpu};
use sched_machines::{GpuKind, Maker};
use std::path::PathBuf;

pub use bench::Bench;
pub use build::{ArtefactRowTypes, Build, Emit, RowType};
pub use convert::Convert;
pub use explain_speed::ExplainSpeed;
pub use ir::{Ir, Stage};
pub use lock::{Lock, LockOptions};
pub use model_and_schedules::{ModelAndSchedules, ModelChoice};
pub use package::{ModelServer, Package};
pub use predict::Predict;
pub use profile::ProfileCommand;
pub use rows::{ColumnOptions, RowMemoryOption, RowOptions, TimedRowOptions};
pub use tune::{Calibrate, GpuStrategy, Tune};
pub use values::ValueOptions;
pub use verify::Verify;

/// Compiles trained decision forests to native code that predicts rows. A schedule decides how.
#[derive(Debug, Parser)]
#[command(
    name = "schedc",
    version,
    disable_version_flag = true,
    max_term_width = 100,
    after_help = "\
Examples:
  schedc predict model.json -i rows.csv             predictions, compiled in memory
  schedc build model.json -o model.so               a shared library with a C header
  schedc check model.json -s fast.sched             errors and lints of a schedule
  schedc fmt fast.sched                             the schedule's text in the standard layout
  schedc verify model.json libmodel.so              compares compiled code with the model
  schedc explain S0022                              the meaning of an error code
  schedc explain tile                               the page of a directive

Exit status: 0 success; 1 errors in a schedule, or a difference that the command looked for; 2 wrong
usage, unusable input or too little memory; 101 a bug in schedc (codes X0001 and up); 129, 130, 143
ended by the signal HUP, INT or TERM."
)]
pub struct Cli {
    /// The command and its arguments.
    #[command(subcommand)]
    pub command: Command,
    /// Colours in messages: auto (on a terminal), always or never
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    #[arg(hide_possible_values = true, display_order = 900)]
    pub color: Color,
    /// Format of errors and warnings: full (with the lines concerned), concise (one line each), json, sarif
    /// (for code scanning) or github (for workflow logs). They go to standard error, those of `check` to
    /// standard output
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    #[arg(hide_possible_values = true, display_order = 901)]
    pub format: Format,
    /// Print the version. With --verbose, also print the commit, LLVM's version, the target systems and this
    /// machine's processor
    #[arg(short = 'V', long, action = ArgAction::Version, display_order = 1000)]
    version: (),
}

/// Largest number of threads that an option accepts: more than any machine has cores.
const MOST_THREADS: u64 = 4096;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Predict rows with a model, or with a library that `schedc build` made
    Predict(Predict),
    /// Compile a model to a library, an object file or text
    Build(Build),
    /// Check schedules for errors; --fix corrects those with a single remedy
    Check(Check),
    /// Format the text of schedules
    Fmt(Fmt),
    /// Show the loops that a schedule makes, and the directive that made each
    Show(Show),
    /// Compare the loops of two schedules, or all entries of two locks
    Diff(Diff),
    /// Print the compiler's form of a model after one of its stages, from loops to assembly
    Ir(Ir),
    /// Describe a model or a library: trees, features, objective
    Inspect(Inspect),
    /// Count the rows of a sample that end in each leaf of a model
    Profile(ProfileCommand),
    /// Time schedules on a model, and compare them
    Bench(Bench),
    /// Search for a fast schedule by timing many
    Tune(Tune),
    /// Measure the costs of this machine's instructions, by which schedc then chooses schedules
    Calibrate(Calibrate),
    /// Explain what limits the speed of a schedule, and which changes would make it faster
    ExplainSpeed(ExplainSpeed),
    /// List, check or measure again the schedules in a lock, the file that `tune --lock` writes
    Lock(Lock),
    /// Verify that compiled code predicts the same as the model
    Verify(Verify),
    /// Convert a model to Treelite's format
    Convert(Convert),
    /// Write a library as a folder that Triton or MLServer loads
    Package(Package),
    /// Explain an error code or a directive
    Explain(Explain),
    /// Run the language server, which editors start, over standard input and output
    Lsp(crate::commands::lsp::Lsp),
    /// Print a script by which a shell completes schedc's commands and options
    Completions(Completions),
    /// Write manual pages
    #[command(hide = true)]
    Manual(Manual),
}

/// Options of reading a model.
#[derive(Clone, Debug, Default, Args)]
pub struct ModelOptions {
    /// Boosting iterations whose trees predict: all, best (up to the best one of early stopping), or a range
    /// such as 0..10, which ends before 10 [default: all]
    #[arg(long, value_name = "WHICH")]
    pub iterations: Option<Iterations>,
    /// Predict as this release of XGBoost does, such as 3.4; for files whose meaning releases have changed
    /// [default: the release that saved the file]
    #[arg(long, value_name = "RELEASE")]
    pub as_release: Option<Release>,
}

impl ModelOptions {
    /// Converts the options to the type that the readers of models take.
    pub fn options(&self) -> ReadOptions {
        ReadOptions { iterations: self.iterations.clone().unwrap_or_default(), as_release: self.as_release }
    }
}

/// The schedule, and the command line's values for its params and properties.
#[derive(Clone, Debug, Args)]
pub struct ScheduleOptions {
    /// The schedule that decides how the model is compiled [default: schedc chooses one for the model and the
    /// processor]
    #[arg(short, long, value_name = "FILE")]
    pub schedule: Option<PathBuf>,
    #[command(flatten)]
    /// Values for the schedule.
    pub values: ValueOptions,
}

fn parse_set(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE, for example ROWS=128")?;
    Ok((name.trim().to_string(), numbers::integer(value)?))
}

/// The parser of `--output`: the words of all outputs.
fn output() -> impl TypedValueParser<Value = OutputKind> {
    let words = OutputKind::ALL.map(|kind| PossibleValue::new(kind.word()).help(kind.help()));
    PossibleValuesParser::new(words).map(|word| OutputKind::of_word(&word).unwrap_or_default())
}

fn parse_cpu(text: &str) -> Result<Cpu, String> {
    text.parse()
        .map_err(|error: sched_llvm::LlvmError| error.help.clone().unwrap_or_else(|| error.message.clone()))
}

fn parse_gpu(text: &str) -> Result<Gpu, String> {
    text.parse()
        .map_err(|error: sched_llvm::LlvmError| error.help.clone().unwrap_or_else(|| error.message.clone()))
}

/// The format of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// With source text, lineage and the nest.
    #[default]
    Full,
    /// One line each.
    Concise,
    /// One JSON array.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Workflow commands, which GitHub shows as annotations of the lines.
    Github,
}

/// Help of `--cpu`: `lead`, the words of all processors, and `end`.
fn cpu_help(lead: &str, end: &str) -> String {
    let native = "native (this machine)";
    let words: Vec<&str> =
        Cpu::all().map(|cpu| if cpu == Cpu::Native { native } else { cpu.name() }).collect();
    format!("{lead}: {}{end}", alternatives(&words))
}

/// End of the help of `--cpu` for commands that read the variable `SCHEDC_CPU`.
const CPU_HELP_END: &str = " [default: SCHEDC_CPU, or else native]";

/// Help of `--gpu`.
fn gpu_help() -> String {
    let words: Vec<&str> = GpuKind::of_maker(Maker::Amd).map(|gpu| gpu.name).collect();
    let others = alternatives(&words);
    format!(
        "GPU for which the stages ptx and sass print code, such as sm_90, or the stage gcn: {others} \
         [default: the target's]"
    )
}

/// Joins words by commas, with `or` before the last one.
fn alternatives(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

fn parse_target(text: &str) -> Result<Target, String> {
    text.parse()
        .map_err(|()| "write it as in a `target` line, for example cpu, cpu(avx512) or gpu(sm_90)".into())
}

/// `schedc check`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc check examples
  schedc check model.json -s fast.sched --batch-size 1024
  schedc check --fix fast.sched
  schedc check . --format sarif > findings.sarif")]
pub struct Check {
    #[command(flatten)]
    /// The model and the schedules.
    pub files: ModelAndSchedules,
    #[command(flatten)]
    /// Values for the schedule.
    pub values: ValueOptions,
    /// Fix the findings that have a single possible fix, and write the files
    #[arg(long)]
    pub fix: bool,
    /// With --fix, also apply fixes that may change the meaning of a schedule, such as a similar name for an
    /// unknown one
    #[arg(long, requires = "fix")]
    pub unsafe_fixes: bool,
    /// Without a model, report conditions that only a model can decide as errors instead of hints
    #[arg(long)]
    pub strict: bool,
}

/// `schedc fmt`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc fmt examples
  schedc fmt --check .              lists the files that are not formatted; exit status 1 if there are any
  schedc fmt - < fast.sched         formats standard input to standard output
A file with syntax errors is left as it is.")]
pub struct Fmt {
    /// Schedules, folders with schedules, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// List the files that would change, and write nothing; exit with status 1 if there are any
    #[arg(long)]
    pub check: bool,
    /// Print the changes as a unified diff, and write nothing; exit with status 1 if there are any
    #[arg(long, conflicts_with = "check")]
    pub diff: bool,
}

/// A view of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScheduleView {
    /// The loop nest with its ranges.
    Nest,
    /// The origin of each loop, and the directives that replaced it.
    Lineage,
}

/// `schedc show`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc show nest model.json -s fast.sched
  schedc show nest model.json                       of the schedule that schedc chooses
  schedc show nest fast.sched --after 3
  schedc show lineage fast.sched
Without a model, numbers that depend on it are printed as symbols, such as N_t for the number of trees.")]
pub struct Show {
    /// The view of the schedule
    #[arg(value_enum)]
    pub what: ScheduleView,
    #[command(flatten)]
    /// The model and the schedule.
    pub files: ModelAndSchedules,
    /// Show the schedule up to this line of its text, from 1; leave out directives that begin below it
    #[arg(long, value_name = "LINE", value_parser = parse_line)]
    pub after: Option<usize>,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    /// Values for the schedule.
    pub values: ValueOptions,
}

fn parse_line(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|line| *line > 0).ok_or_else(|| "lines are numbered from 1".to_string())
}

/// `schedc diff`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc diff model.json -s before.sched -s after.sched
  schedc diff before.sched after.sched
  schedc diff schedc.lock#model.json:1 schedc.lock#model.json:1024
  schedc diff before.lock schedc.lock
A side is a schedule, an entry of a lock as LOCK#ENTRY, or a lock, of which all entries are compared.
A line begins with + for a loop that only the second nest has, - for one that only the first nest has,
and ~ for a change.")]
pub struct Diff {
    #[command(flatten)]
    /// The model and both sides: schedules, entries of a lock as LOCK#ENTRY, or whole locks.
    pub files: ModelAndSchedules,
    #[command(flatten)]
    /// Values for both schedules.
    pub values: ValueOptions,
    /// Exit with status 1 if the nests differ; otherwise the status is 0
    #[arg(long)]
    pub exit_code: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// `schedc inspect`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc inspect model.json
  schedc inspect libmodel.so                        its model, schedule and processor
  schedc inspect model.json --memory                bytes of the trees in each representation
  schedc inspect model.json --json | jq .depths")]
pub struct Inspect {
    /// A model file, or a library or object file that `schedc build` made
    pub model: PathBuf,
    #[command(flatten)]
    /// Options of reading the model.
    pub reading: ModelOptions,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Also print the bytes that the trees take in each `representation(...)`; compiles the model once for
    /// each
    #[arg(long, conflicts_with = "facts")]
    pub memory: bool,
    /// Print the model properties that the checker needs, as JSON; for the language server
    #[arg(long, hide = true, conflicts_with = "json")]
    pub facts: bool,
}

/// `schedc explain`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc explain S0022
  schedc explain tile")]
pub struct Explain {
    /// Codes of errors or warnings, such as S0022, or directives, such as tile [default: a list of all]
    #[arg(value_name = "CODE|DIRECTIVE")]
    pub subjects: Vec<String>,
}

/// `schedc completions`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc completions bash > ~/.local/share/bash-completion/completions/schedc
  schedc completions zsh > ~/.zfunc/_schedc
  schedc completions fish > ~/.config/fish/completions/schedc.fish")]
pub struct Completions {
    /// The shell that the script is for
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `schedc manual`
#[derive(Debug, Args)]
pub struct Manual {
    /// The folder for the pages, one for each command
    #[arg(short, long = "out", value_name = "FOLDER", default_value = ".")]
    pub out: PathBuf,
}

/// Options of `build` and `predict`, which compile code for use, not to measure it.
#[derive(Clone, Copy, Debug, Args)]
pub struct CompileOptions {
    /// Print the time that each stage of the compilation took, to standard error
    #[arg(long)]
    pub timings: bool,
    /// Neither read nor write the cache of compiled code. By default, schedc reuses code that it compiled
    /// before from the same model, schedule and options
    #[arg(long)]
    pub no_cache: bool,
}

impl Command {
    /// Whether the arguments ask for no notes.
    pub fn is_quiet(&self) -> bool {
        matches!(self, Command::Predict(args) if args.quiet)
    }

    /// The options for compiling; `None` for commands that compile nothing, or only to measure.
    pub fn compile_options(&self) -> Option<CompileOptions> {
        match self {
            Command::Build(args) => Some(args.compiling),
            Command::Predict(args) => Some(args.compiling),
            _ => None,
        }
    }
}
