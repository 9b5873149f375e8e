//! `schedc build`: compiles a model to a library, an object file, or text.

mod files;
mod kernels;

use self::files::{Files, PkgConfig};
use super::load_locked_job;
use crate::args::{Build, Emit, RowTypes};
use crate::outputs::{Beside, keep_foreign};
use crate::terminal::Terminal;
use sched_forest::Float;
use sched_llvm::ArtefactName;
use sched_llvm::header::{loader_header, valid_prefix};
use schedc_driver::compile::RowRules;
use schedc_driver::versions::{Compilation, Served, artefact, header_of, versions};
use schedc_driver::{Failure, Lookup};
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &Build, terminal: &Terminal) -> Result<(), Failure> {
    if !valid_prefix(&args.name) {
        return Err(Failure::usage(
            format!("the names of C functions cannot begin with `{}`", args.name),
            "use letters, digits and underscores, a letter first",
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
    let first = args.cpu.first().copied().unwrap_or_default();
    let lock = args.lock.as_used();
    let mut show = |miss| terminal.show(miss);
    let mut lookup = Lookup { lock: &lock, cpus: &args.cpu, threads: None, tell: &mut show };
    let place = (first, args.effort.destination());
    let mut job = load_locked_job(model, &args.schedule, &args.reading, place, &mut lookup)?;
    for note in job.notes(first) {
        terminal.say(&format!("note: {note}"));
    }
    if let Some(note) = job.note_of_effort(args.effort) {
        terminal.say(&format!("note: {note}"));
    }
    let files = Files::of(args, &job)?;
    if matches!(args.emit, Emit::Ptx | Emit::Cubin | Emit::Hsaco) {
        return kernels::run(args, job, &files.out, terminal);
    }
    let rules = RowRules { missing: args.missing, base_margin: args.base_margin };
    let rows = args.row_type.unwrap_or(RowTypes::Both).into();
    let served = Served { cpus: args.cpu.clone(), rows, rules, effort: args.effort };
    let versions = versions(&mut job, &args.schedule.values, &served, terminal)?;
    if args.explain_schedule {
        explain(&versions, job.source.is_chosen, terminal);
    }
    let text = header_of(&versions, &args.name);
    let emit = match args.emit {
        Emit::Header => return files::write(&[(&files.out, text.as_bytes())], terminal),
        Emit::So => sched_llvm::Emit::SharedLibrary,
        Emit::Obj => sched_llvm::Emit::Object,
        Emit::Static => sched_llvm::Emit::StaticLibrary,
        Emit::Llvm => sched_llvm::Emit::Llvm,
        _ => sched_llvm::Emit::Asm,
    };
    if let Some(first) = versions.first().filter(|_| args.verbose) {
        kernels::report(&first.compiled.lir, first.launches.as_deref(), terminal);
    }
    let name = ArtefactName { prefix: &args.name, file: files.own_name.as_deref() };
    let bytes = artefact(&versions, name, emit)?;
    let description = versions.first().map(|first| PkgConfig {
        trees: first.entry.num_trees,
        features: first.entry.num_features,
        emit: args.emit,
    });
    let description = description.zip(files.pkg_config.as_deref());
    let mut beside: Vec<(&Path, Vec<u8>)> = Vec::new();
    beside.extend(files.header.as_deref().map(|header| (header, text.into_bytes())));
    beside.extend(description.map(|(about, path)| (path, about.text(&files.out).into_bytes())));
    let beside = beside.iter().map(|(path, bytes)| (*path, bytes.as_slice()));
    let all: Vec<(&Path, &[u8])> =
        [(files.out.as_path(), bytes.as_slice())].into_iter().chain(beside).collect();
    files::write(&all, terminal)
}

/// Prints the schedules: one for each version if schedc chose them, otherwise the given one.
fn explain(versions: &[Compilation], chosen: bool, terminal: &Terminal) {
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
fn name_of(version: &Compilation, of_rows: bool) -> String {
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
    keep_foreign(&out, Beside::Header)?;
    files::write(&[(&out, loader_header().as_bytes())], terminal)
}
