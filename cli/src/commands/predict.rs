//! `schedc predict`: predicts rows with a model or a library.

mod base_margin;
mod jit_by_rows;
mod labels;
mod launches;
mod run;

use super::inspect::{ELF_MAGIC, has_no_predict_function};
use super::{find_job, refuse_for_library};
use crate::args::{Predict, ScheduleOptions};
use crate::environment;
use crate::model_rows::{
    categories_of_library, expected_of, missing_in, precision_of, renames_blanks, whole_numbers_of_library,
};
use crate::outputs::{refuse_collisions, refuse_input_folder};
use crate::terminal::Terminal;
use base_margin::BaseMarginOrigin;
use jit_by_rows::JitByRows;
use labels::Labels;
use run::{PredictInput, PredictRun, Preparation, SecondBatch, print_notes, rows_of_batch};
use sched_forest::Float;
use sched_ir::Compiled;
use sched_ir::interp::LaunchCost;
use sched_ir::lir::OutputKind;
use sched_lang::Target;
use sched_llvm::{Cpu, Jit, Library};
use sched_nest::{Nest, Variants};
use schedc_data::{DataSource, Destination, Expect, MissingNumber, Reading, RowStream, write_atomically};
use schedc_driver::CodeDestination;
use schedc_driver::Failure;
use schedc_driver::Model;
use schedc_driver::categories::{categories_of, cut_names, warning_of_cut_names};
use schedc_driver::compile::{RowRules, compile_for, compile_into_memory, entry_info, for_one_call_of};
use schedc_driver::predictor::ROWS_OF_CALL;
use schedc_driver::reason;
use schedc_driver::walker::is_worth_walking;
use schedc_driver::{
    Job, PendingJob, Predictor, ScheduleLookup, ScheduleSource, Simulator, Walker, machines,
};
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Runs the command.
pub fn run(args: &Predict, terminal: &Terminal) -> Result<(), Failure> {
    let destination = Destination::from_argument(&args.out);
    destination.check(&args.keep)?;
    environment::check()?;
    terminal.expect_people(args.explain_schedule)?;
    let ScheduleOptions { schedule, values } = &args.schedule;
    let read =
        [Some(args.rows.input.as_path()), Some(&args.model), schedule.as_deref(), values.profile.as_deref()];
    refuse_collisions(&read, &[("--out", Some(args.out.as_path())), ("--report", args.report.as_deref())])?;
    refuse_input_folder(&args.rows.input, &args.out)?;
    if is_library(&args.model) {
        return predict_with_library(args, terminal, destination);
    }
    check_standard_input(args)?;
    predict_with_model(args, terminal, destination)
}

/// Predicts with a library.
fn predict_with_library(
    args: &Predict,
    terminal: &Terminal,
    destination: Destination,
) -> Result<(), Failure> {
    let library = load(args)?;
    if args.explain_schedule {
        terminal.say(schedule_of(&library).trim_end());
    }
    let names = names_of(&library);
    let categories = categories_of_library(&about(&library), args.rows.categories.choices());
    let trainer = &about(&library)["model"]["trainer"];
    let expect = rows_for(&library, names.as_deref())
        .with_blanks_renamed(trainer.as_str().is_some_and(renames_blanks))
        .with_whole_numbers(whole_numbers_of_library(&about(&library)))
        .with_categories(categories.as_ref())
        .with_missing(args.rows.missing.map(|value| missing_of(&library, value)));
    let outputs = library.num_outputs(args.output);
    if args.base_margin.is_some() && about(&library)["model"]["base_margin"] != true {
        let message = format!("{} takes no base margin", args.model.display());
        return Err(Failure::usage(message, "build the library again with --base-margin"));
    }
    let origin = BaseMarginOrigin::of(args);
    let keep = columns_beside(args, origin.as_ref());
    let margins = library.num_outputs(OutputKind::Raw);
    let widths = ResultWidths { outputs, margins, by_column: library.takes_columns() };
    let rows = rows(args, expect, &keep, origin, widths, terminal)?;
    let labels = Labels::of_library(&about(&library));
    PredictRun { args, terminal, destination, labels }.predict(&library, rows, Preparation::Loaded)
}

/// Refuses to read both rows and schedule from standard input.
fn check_standard_input(args: &Predict) -> Result<(), Failure> {
    let standard = |path: &Path| path.as_os_str() == "-";
    if standard(&args.rows.input) && args.schedule.schedule.as_deref().is_some_and(standard) {
        let message = "the schedule and the rows cannot both come from standard input";
        return Err(Failure::usage(
            message,
            "name a file for one of them, for example the rows with --input",
        ));
    }
    Ok(())
}

/// Compiles a model into memory, and predicts with it.
fn predict_with_model(args: &Predict, terminal: &Terminal, destination: Destination) -> Result<(), Failure> {
    let cpu = args.cpu.or_else(environment::cpu).unwrap_or_default();
    let PendingJob { model, source } = find(args, cpu, terminal)?;
    let rules = RowRules { missing: None, base_margin: args.base_margin.is_some() }.check(&model)?;
    let check = |model: &Model, source| PredictProgram::new(args, (cpu, rules), model, source, terminal);
    // Errors in a schedule are reported before rows are read.
    let given = source.map(|source| check(&model, source)).transpose()?;
    let categories = categories_of(&model, args.rows.categories.choices());
    let expect = expected_of(&model)
        .with_categories(categories.as_ref())
        .with_missing(args.rows.missing.map(|value| missing_in(&model, value)));
    let origin = BaseMarginOrigin::of(args);
    let keep = columns_beside(args, origin.as_ref());
    let rows = rows(args, expect, &keep, origin, widths_of(args, &model), terminal)?;
    let run = PredictRun { args, terminal, destination, labels: Labels::of_forest(model.forest()) };
    if given.is_none() && is_walked(args, &model, &rows) {
        return run.predict(&Walker::new(&model, rules), rows, Preparation::Walker);
    }
    let since = Instant::now();
    let suited = model_for_rows(args, &model, &rows);
    let program = match given {
        Some(program) => program,
        None => check(&suited, chosen_for(args, &suited, &rows, cpu))?,
    };
    let program = program.for_rows(rows.rows());
    if args.explain_schedule {
        terminal.say(program.source.text.trim_end());
    }
    if args.simulate {
        let simulator = Simulator::new(Arc::clone(suited.forest()), program.lower(&suited)?.lir, rules);
        return simulated(&run, &simulator, rows, Preparation::Compiled(since.elapsed()));
    }
    let jit = program.code(&suited)?;
    // The files of a folder may have rows of several types.
    let for_wide_rows = || program.code(&model);
    run.predict(&JitByRows::new(jit, &for_wide_rows), rows, Preparation::Compiled(since.elapsed()))
}

/// Whether to walk the trees instead of compiling the model: that takes less time for these rows, and no
/// option concerns compiled code.
fn is_walked(args: &Predict, model: &Model, rows: &PredictInput<'_>) -> bool {
    let values = &args.schedule.values;
    let is_about_code = args.compile
        || args.simulate
        || args.explain_schedule
        || args.cpu.is_some()
        || values.target.is_some()
        || values.batch_size.is_some()
        || values.profile.is_some()
        || !values.sets.is_empty();
    !is_about_code && rows.all().is_some_and(|rows| is_worth_walking(model, rows))
}

/// A checked schedule, and everything else that its code depends on.
struct PredictProgram<'a> {
    args: &'a Predict,
    cpu: Cpu,
    rules: RowRules,
    source: ScheduleSource,
    nests: Variants<Nest>,
    target: Target,
}

impl<'a> PredictProgram<'a> {
    /// Checks a schedule with a model, and reports findings.
    fn new(
        args: &'a Predict,
        (cpu, rules): (Cpu, RowRules),
        model: &Model,
        source: ScheduleSource,
        terminal: &Terminal,
    ) -> Result<PredictProgram<'a>, Failure> {
        let job = Job { model: model.clone(), source };
        let (nests, target) = job.nest(&args.schedule.values, terminal)?;
        Ok(PredictProgram { args, cpu, rules, source: job.source, nests, target })
    }

    /// The program for a single call of `rows` rows.
    fn for_rows(self, rows: usize) -> PredictProgram<'a> {
        PredictProgram { nests: for_one_call_of(self.nests, rows), ..self }
    }

    /// The kernels of a model.
    fn lower(&self, model: &Model) -> Result<Compiled, Failure> {
        let kernels = [self.args.output.walk(), OutputKind::Value, OutputKind::Class];
        compile_for(model, self.nests.clone(), &kernels, &machines::of(self.cpu), self.rules)
    }

    /// The code of a model.
    fn code(&self, model: &Model) -> Result<Jit, Failure> {
        let compiled = self.lower(model)?;
        let info = entry_info(model, &compiled, &self.source.text, self.cpu, self.rules);
        compile_into_memory(
            &compiled,
            &self.target,
            self.cpu,
            &info,
            &[self.args.output.walk(), OutputKind::Class],
        )
    }
}

/// The model for rows like the first batch: of the same type, and column-major if the batch is. The simulator
/// reads rows in the model's own type.
fn model_for_rows(args: &Predict, model: &Model, rows: &PredictInput<'_>) -> Model {
    if args.simulate {
        return model.clone();
    }
    let mut model = if rows.are_narrow() { model.for_rows(Float::F32) } else { model.clone() };
    model.is_column_major = rows.are_columns();
    model
}

/// The automatic schedule for the rows, of which the first batch was read.
fn chosen_for(args: &Predict, model: &Model, rows: &PredictInput<'_>, cpu: Cpu) -> ScheduleSource {
    let destination = rows.all().map_or(CodeDestination::Memory, CodeDestination::OneCall);
    ScheduleSource::chosen_for(model, args.schedule.values.target.as_ref(), cpu, destination)
}

/// The widths of the results of a model.
fn widths_of(args: &Predict, model: &Model) -> ResultWidths {
    let outputs = if args.output.walks_itself() { args.output.columns(&model.forest().counts()) } else { 1 };
    ResultWidths { outputs, margins: model.forest().num_margins, by_column: true }
}

/// Predicts with the simulator of GPUs, and prints its counts.
fn simulated(
    run: &PredictRun,
    simulator: &Simulator,
    rows: PredictInput<'_>,
    preparation: Preparation,
) -> Result<(), Failure> {
    let PredictRun { args, terminal, .. } = run;
    run.predict(simulator, rows, preparation).map_err(|failure| simulator.failure().unwrap_or(failure))?;
    if let Some(report) = &args.report {
        write_launches(&simulator.costs(), report)?;
    }
    if !args.quiet {
        launches::lines(&simulator.costs()).iter().for_each(|line| terminal.say(line));
    }
    Ok(())
}

/// Writes the costs of launches as JSON.
fn write_launches(costs: &[LaunchCost], path: &Path) -> Result<(), Failure> {
    let text = format!("{:#}\n", launches::json(costs));
    Ok(write_atomically(path, |file| file.write_all(text.as_bytes()))?)
}

/// Columns of the input that are not features: the kept ones, and those of a base margin.
fn columns_beside(args: &Predict, origin: Option<&BaseMarginOrigin>) -> Vec<String> {
    let base_margin = origin.map(BaseMarginOrigin::columns).unwrap_or_default();
    args.keep.iter().chain(base_margin).cloned().collect()
}

/// Widths of the results of a model or library, which the reading of rows needs.
#[derive(Clone, Copy)]
struct ResultWidths {
    /// Results per row.
    outputs: usize,
    /// Margins per row.
    margins: usize,
    /// Whether the predictor reads column-major rows.
    by_column: bool,
}

/// Opens the rows to predict, and reads the first batch.
fn rows<'a>(
    args: &'a Predict,
    expect: Expect<'a>,
    keep: &'a [String],
    origin: Option<BaseMarginOrigin>,
    widths: ResultWidths,
    terminal: &Terminal,
) -> Result<PredictInput<'a>, Failure> {
    if args.rows.input.as_os_str() == "-" && std::io::stdin().is_terminal() {
        terminal.say("note: reading rows from the terminal until Ctrl-D; use --input FILE to read a file");
    }
    let expect = expect.by_position(args.rows.by_position);
    let beside = keep.len() - args.keep.len();
    let by_column = widths.by_column;
    let precision = args.row_type.map(|rows| precision_of(rows.into()));
    let (shard, array) = (args.shard, args.array.as_deref());
    let reading = Reading { keep, beside, shard, array, by_column, precision };
    let base_margin = origin.map(|origin| origin.open(widths.margins, args)).transpose()?;
    let mut stream = RowStream::open(&DataSource::from_argument(&args.rows.input), expect, reading)?;
    let most = rows_of_batch(ROWS_OF_CALL, expect.columns, widths.outputs);
    let first = stream.next(most)?;
    // A stream of unknown length may end after a short batch. The next batch shows whether it does.
    let is_few = stream.rows().is_none() && first.as_ref().is_none_or(|batch| batch.rows < most);
    let second = if is_few { SecondBatch::Known(stream.next(most)?) } else { SecondBatch::Unknown };
    print_notes(&mut stream, terminal);
    if let Some(remark) = stream.remark().filter(|_| !args.quiet) {
        terminal.say(&format!("note: {remark}"));
    }
    Ok(PredictInput { stream, first, second, base_margin })
}

/// Whether a path has the ending of libraries, or names an ELF file, such as `libmodel.so.1`.
fn is_library(path: &Path) -> bool {
    let is_elf = || {
        let mut magic = [0; ELF_MAGIC.len()];
        let file = path.is_file().then(|| File::open(path).ok()).flatten();
        file.is_some_and(|mut file| file.read_exact(&mut magic).is_ok() && magic == *ELF_MAGIC)
    };
    path.extension().is_some_and(|extension| extension == "so") || is_elf()
}

/// The model with the given schedule, or else with a matching schedule of the lock, if there is one.
fn find(args: &Predict, cpu: Cpu, terminal: &Terminal) -> Result<PendingJob, Failure> {
    let lock = args.lock.as_used();
    let threads = u32::try_from(args.threads).ok().filter(|threads| *threads > 0);
    let mut show = |miss| terminal.show(miss);
    let mut lookup = ScheduleLookup { lock: &lock, cpus: &[cpu], threads, report: &mut show };
    let found = find_job(&args.model, &args.schedule, &args.reading, &mut lookup)?;
    for note in found.notes(cpu).iter().filter(|_| !args.quiet) {
        terminal.say(&format!("note: {note}"));
    }
    let warning = warning_of_cut_names(&cut_names(&found.model)).filter(|_| !args.quiet);
    warning.into_iter().for_each(|warning| terminal.show(warning));
    Ok(found)
}

/// Loads a library. Refuses options that only affect the compilation of a model.
fn load(args: &Predict) -> Result<Library, Failure> {
    let path = args.model.display();
    if let Err(error) = std::fs::metadata(&args.model) {
        let help = "name a model, or a library that `schedc build` has made";
        return Err(Failure::unreadable(
            path,
            format!("the library cannot be read: {}", reason(&error)),
            help,
        ));
    }
    let values = &args.schedule.values;
    let decided = [
        ("--schedule", args.schedule.schedule.is_some()),
        ("--set", !values.sets.is_empty()),
        ("--batch-size", values.batch_size.is_some()),
        ("--profile", values.profile.is_some()),
        ("--iterations", args.reading.iterations.is_some()),
        ("--as-release", args.reading.as_release.is_some()),
        ("--cpu", args.cpu.is_some()),
        ("--target", values.target.is_some()),
        ("--simulate", args.simulate),
        ("--lock", args.lock.lock.is_some()),
        ("--locked", args.lock.locked),
        ("--frozen", args.lock.frozen),
    ];
    refuse_for_library(&args.model, &decided, "predict", "predict with the model instead of the library")?;
    Library::load(&args.model, &args.name).map_err(|error| match std::fs::read(&args.model) {
        Ok(bytes) if has_no_predict_function(&bytes) => {
            let message = format!("{path} has no predict function of `schedc build`");
            let help = "name a model, or a library that `schedc build` has made";
            Failure::new(sched_llvm::codes::LOADING, message, help)
        }
        _ => error.into(),
    })
}

/// A library's description of its model and its build.
fn about(library: &Library) -> serde_json::Value {
    serde_json::from_str(&library.info()).unwrap_or_default()
}

/// The schedule that a library was built with.
fn schedule_of(library: &Library) -> String {
    about(library)["schedule"].as_str().unwrap_or_default().to_string()
}

/// The feature names of a library's model; `None` for libraries of early releases, which do not record them.
fn names_of(library: &Library) -> Option<Vec<String>> {
    serde_json::from_value(about(library)["model"]["feature_names"].take()).ok()
}

/// The number `value` as a missing value of a library's rows.
fn missing_of(library: &Library, value: f64) -> MissingNumber {
    MissingNumber { value, single: about(library)["model"]["types"]["rows"] != "f64" }
}

/// The rows that a library expects.
fn rows_for<'a>(library: &Library, names: Option<&'a [String]>) -> Expect<'a> {
    match names {
        None => Expect::untold(library.num_features()),
        Some(names) if names.len() == library.num_features() => Expect::named(names),
        Some(_) => Expect::unnamed(library.num_features()),
    }
}
