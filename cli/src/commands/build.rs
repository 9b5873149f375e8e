//! `schedc build`: compiles a model to a library, an object file, or text.

mod files;
mod kernels;

use self::files::{BuildFiles, PkgConfig};
use super::load_locked_job;
use crate::args::{ArtefactRowTypes, Build, Emit};
use crate::outputs::{Companion, refuse_foreign};
use crate::terminal::Terminal;
use sched_forest::Float;
use sched_llvm::ArtefactName;
use sched_llvm::header::{is_valid_prefix, loader_header};
use schedc_driver::cache::CacheKey;
use schedc_driver::categories::{cut_names, warning_of_cut_names};
use schedc_driver::compile::RowRules;
use schedc_driver::job::is_schedule;
use schedc_driver::lock::beside;
use schedc_driver::saved::{self, BuildInputs};
use schedc_driver::versions::{CompiledVersion, ServedCalls, artefact, header_of, versions};
use schedc_driver::{Failure, LockUse, Model, ScheduleLookup};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &Build, terminal: &Terminal) -> Result<(), Failure> {
    if !is_valid_prefix(&args.name) {
        return Err(Failure::usage(
            format!("`{}` cannot be the prefix of C functions' names", args.name),
            "use at most 64 letters, digits and underscores, a letter first, and not `schedc_rt`",
        ));
    }
    files::check_names(args)?;
    let model = match (&args.model, args.emit) {
        (None, Emit::Loader) => return write_loader_header(args, terminal),
        (Some(model), emit) if emit != Emit::Loader => model,
        (Some(_), _) => {
            return Err(Failure::usage(
                "the header of the loader is the same for all models",
                "leave the model out: schedc build --emit loader",
            ));
        }
        (None, _) => {
            return Err(Failure::usage(
                "there is no model",
                "name a model file, or a schedule that names one",
            ));
        }
    };
    terminal.expect_people(args.explain_schedule)?;
    let lock = args.lock.as_used();
    if !may_be_known(args, model, &lock) {
        return build(args, model, &lock, terminal).map(|_| ());
    }
    let files = BuildFiles::of(args, model, None)?;
    let key = key(args, model, &lock, &files)?;
    match saved::find(&key) {
        Some(known) => write(args, &files, &known, terminal),
        None => build(args, model, &lock, terminal)
            .map(|made| made.iter().for_each(|made| saved::keep(&key, made))),
    }
}

/// Whether the result of an earlier build may be reused, found by the bytes of the model's file: schedc
/// chooses the schedule, and prints only notes.
fn may_be_known(args: &Build, model: &Path, lock: &LockUse) -> bool {
    let values = &args.schedule.values;
    let is_library = matches!(args.emit, Emit::So | Emit::Obj | Emit::Static);
    let prints = args.explain_schedule || args.verbose;
    let has_lock = lock.is_requested() || (!lock.frozen && beside(model).exists());
    is_library
        && !has_lock
        && !is_schedule(model)
        && !prints
        && args.schedule.schedule.is_none()
        && values.target.is_none()
        && values.profile.is_none()
}

/// The key of the build in the cache.
fn key(args: &Build, model: &Path, lock: &LockUse, files: &BuildFiles) -> Result<CacheKey, Failure> {
    let Build { emit, effort, missing, base_margin, row_type, name, reading, schedule, .. } = args;
    let options =
        (emit, effort, missing, base_margin, row_type, name, reading, &schedule.values, &files.own_name);
    let bytes = Model::bytes(model)?;
    let circumstances = BuildInputs { model: &bytes, path: model, cpus: &args.cpu, lock, options: &options };
    Ok(circumstances.key("build"))
}

/// Compiles a model, and writes the files that the options request. Returns the build if it is a library or
/// an object.
fn build(
    args: &Build,
    model: &Path,
    lock: &LockUse,
    terminal: &Terminal,
) -> Result<Option<saved::SavedBuild>, Failure> {
    let first = args.cpu.first().copied().unwrap_or_default();
    let mut show = |miss| terminal.show(miss);
    let mut lookup = ScheduleLookup { lock, cpus: &args.cpu, threads: None, report: &mut show };
    let place = (first, args.effort.destination());
    let mut job = load_locked_job(model, &args.schedule, &args.reading, place, &mut lookup)?;
    let notes: Vec<String> = job.notes(first).into_iter().chain(job.note_of_effort(args.effort)).collect();
    print_notes(&notes, terminal);
    let cut = cut_names(&job.model);
    warning_of_cut_names(&cut).into_iter().for_each(|warning| terminal.show(warning));
    let files = BuildFiles::of(args, &job.model.path, job.source.path.as_deref())?;
    if matches!(args.emit, Emit::Ptx | Emit::Cubin | Emit::Hsaco) {
        return kernels::run(args, job, &files.out, terminal).map(|()| None);
    }
    let rules = RowRules { missing: args.missing, base_margin: args.base_margin };
    let rows = args.row_type.unwrap_or(ArtefactRowTypes::Both).into();
    let served = ServedCalls { cpus: args.cpu.clone(), rows, rules, effort: args.effort };
    let versions = versions(&mut job, &args.schedule.values, &served, terminal)?;
    if args.explain_schedule {
        explain(&versions, job.source.is_chosen, terminal);
    }
    let header = header_of(&versions, &args.name);
    let emit = match args.emit {
        Emit::Header => return files::write(&[(&files.out, header.as_bytes())], terminal).map(|()| None),
        Emit::So => sched_llvm::ArtefactForm::SharedLibrary,
        Emit::Obj => sched_llvm::ArtefactForm::Object,
        Emit::Static => sched_llvm::ArtefactForm::StaticLibrary,
        Emit::Llvm => sched_llvm::ArtefactForm::Llvm,
        _ => sched_llvm::ArtefactForm::Asm,
    };
    if let Some(first) = versions.first().filter(|_| args.verbose) {
        kernels::report(&first.compiled.lir, first.launches.as_deref(), terminal);
    }
    let name = ArtefactName { prefix: &args.name, file: files.own_name.as_deref() };
    let artefact = artefact(&versions, name, emit)?;
    let (trees, features) =
        versions.first().map_or((0, 0), |first| (first.entry.counts.trees, first.entry.num_features));
    let about = json!({ "header": header, "notes": notes, "cut": cut, "trees": trees, "features": features });
    let made = saved::SavedBuild { files: vec![artefact], about };
    write_files(args, &files, &made, terminal)?;
    Ok(Some(made))
}

/// Prints the notes of a cached build, and writes its files.
fn write(
    args: &Build,
    files: &BuildFiles,
    known: &saved::SavedBuild,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let texts = |key: &str| -> Vec<String> {
        let all = known.about[key].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_string).collect()
    };
    print_notes(&texts("notes"), terminal);
    warning_of_cut_names(&texts("cut")).into_iter().for_each(|warning| terminal.show(warning));
    write_files(args, files, known, terminal)
}

fn print_notes(notes: &[String], terminal: &Terminal) {
    notes.iter().for_each(|note| terminal.say(&format!("note: {note}")));
}

/// Writes the artefact, and the files beside it.
fn write_files(
    args: &Build,
    files: &BuildFiles,
    made: &saved::SavedBuild,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let number = |name: &str| made.about[name].as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or(0);
    let header = made.about["header"].as_str().unwrap_or_default();
    let description = PkgConfig { trees: number("trees"), features: number("features"), emit: args.emit };
    let description = description.text(&files.out);
    let artefact = made.files.first().map_or(&[][..], Vec::as_slice);
    let mut all: Vec<(&Path, &[u8])> = vec![(&files.out, artefact)];
    all.extend(files.header.as_deref().map(|path| (path, header.as_bytes())));
    all.extend(files.pkg_config.as_deref().map(|path| (path, description.as_bytes())));
    files::write(&all, terminal)
}

/// Prints the schedules: one for each version if schedc chose them, otherwise the given one.
fn explain(versions: &[CompiledVersion], chosen: bool, terminal: &Terminal) {
    let differ = versions.windows(2).any(|pair| pair[0].rows != pair[1].rows);
    let shown = if chosen { versions.len() } else { 1 };
    for version in versions.iter().take(shown) {
        if shown > 1 {
            terminal.say(&format!("// for {}", name_of(version, differ)));
        }
        terminal.say(version.schedule.trim_end());
    }
}

/// The name of a version among the versions of a library.
fn name_of(version: &CompiledVersion, of_rows: bool) -> String {
    let cpu = version.cpu;
    match version.rows {
        _ if !of_rows => cpu.to_string(),
        Float::F32 => format!("{cpu}, rows of f32"),
        Float::F64 => format!("{cpu}, rows of f64"),
    }
}

/// Writes the header of the loader.
fn write_loader_header(args: &Build, terminal: &Terminal) -> Result<(), Failure> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("schedc.h"));
    refuse_foreign(&out, Companion::Header)?;
    files::write(&[(&out, loader_header().as_bytes())], terminal)
}
