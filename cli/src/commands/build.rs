//! `schedc build`: a model becomes a library, an object file, or text.

mod kernels;

use super::{load_job, print_bytes};
use crate::args::{Build, Emit, RowTypes};
use crate::outputs::{is_same, keep, keep_foreign_header};
use crate::terminal::Terminal;
use sched_forest::Float;
use sched_llvm::header::valid_prefix;
use schedc_data::write_together;
use schedc_driver::compile::RowRules;
use schedc_driver::versions::{Compilation, Served, artefact, header_of, versions};
use schedc_driver::{CodeDestination, Failure, Job};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &Build, terminal: &Terminal) -> Result<(), Failure> {
    if !valid_prefix(&args.name) {
        return Err(Failure::usage(
            format!("the names of C functions cannot begin with `{}`", args.name),
            "use letters, digits and underscores, a letter first",
        ));
    }
    check_name(args)?;
    terminal.expect_people(args.explain_schedule)?;
    let first = args.cpu.first().copied().unwrap_or_default();
    let mut job = load_job(&args.model, &args.schedule, &args.reading, (first, CodeDestination::Artefact))?;
    for note in &job.model.notes {
        terminal.say(&format!("note: {note}"));
    }
    let files = Files::of(args, &job)?;
    if matches!(args.emit, Emit::Ptx | Emit::Cubin | Emit::Hsaco) {
        return kernels::run(args, job, &files.out, terminal);
    }
    let rules = RowRules { missing: args.missing, base_margin: args.base_margin };
    let rows = args.rows.unwrap_or(RowTypes::Both).into();
    let served = Served { cpus: args.cpu.clone(), rows, rules };
    let versions = versions(&mut job, &args.schedule.values, &served, terminal)?;
    if args.explain_schedule {
        explain(&versions, job.source.is_chosen, terminal);
    }
    let text = header_of(&versions, &args.name);
    let emit = match args.emit {
        Emit::Header => return write(&[(&files.out, text.as_bytes())], terminal),
        Emit::So => sched_llvm::Emit::SharedLibrary,
        Emit::Obj => sched_llvm::Emit::Object,
        Emit::Llvm => sched_llvm::Emit::Llvm,
        _ => sched_llvm::Emit::Asm,
    };
    if let Some(first) = versions.first().filter(|_| args.verbose) {
        kernels::report(&first.compiled.lir, first.launches.as_deref(), terminal);
    }
    let bytes = artefact(&versions, &args.name, emit)?;
    match &files.header {
        Some(header) => write(&[(&files.out, &bytes), (header, text.as_bytes())], terminal),
        None => write(&[(&files.out, &bytes)], terminal),
    }
}

/// Prints the schedules: each of those that schedc has chosen, or the one that was given.
fn explain(versions: &[Compilation], chosen: bool, terminal: &Terminal) {
    let differ = versions.windows(2).any(|pair| pair[0].rows != pair[1].rows);
    let told = if chosen { versions.len() } else { 1 };
    for version in versions.iter().take(told) {
        if told > 1 {
            terminal.say(&format!("// for {}", name_of(version, differ)));
        }
        terminal.say(version.schedule.trim_end());
    }
}

/// What tells a version from the others.
fn name_of(version: &Compilation, of_rows: bool) -> String {
    let cpu = version.cpu;
    match version.rows {
        _ if !of_rows => cpu.to_string(),
        Float::F32 => format!("{cpu}, rows of f32"),
        Float::F64 => format!("{cpu}, rows of f64"),
    }
}

/// What the command writes.
struct Files {
    out: PathBuf,
    /// The header that goes beside it.
    header: Option<PathBuf>,
}

impl Files {
    /// The files, none of which may be one that is read or one of somebody else.
    fn of(args: &Build, job: &Job) -> Result<Files, Failure> {
        let out = args.out.clone().unwrap_or_else(|| default_name(&job.model.path, args.emit));
        // Nothing goes beside standard output or a device.
        let special = out.as_os_str() == "-" || std::fs::metadata(&out).is_ok_and(|found| !found.is_file());
        let beside = matches!(args.emit, Emit::So | Emit::Obj) && !special;
        let header = beside.then(|| out.with_extension("h"));
        let profile = args.schedule.values.profile.as_deref();
        let read = [Some(job.model.path.as_path()), job.source.path.as_deref(), profile];
        keep(&read, &out)?;
        if let Some(header) = &header {
            keep(&read, header)?;
            if is_same(&out, header) {
                let message = format!("{} and {} are one file", out.display(), header.display());
                return Err(Failure::usage(message, "remove the link between them, or use another name"));
            }
        }
        let own = (args.emit == Emit::Header).then_some(&out);
        header.iter().chain(own).try_for_each(|header| keep_foreign_header(header))?;
        Ok(Files { out, header })
    }
}

/// Refuses a result of the name that the header beside it has.
fn check_name(args: &Build) -> Result<(), Failure> {
    let beside = matches!(args.emit, Emit::So | Emit::Obj);
    match &args.out {
        Some(out) if beside && out.extension().is_some_and(|extension| extension == "h") => {
            Err(Failure::usage(
                format!("{} is where the C header goes", out.display()),
                "name a .so or .o file, or ask for the header alone with --emit header",
            ))
        }
        _ => Ok(()),
    }
}

/// The model's name with the right extension, in the current directory.
fn default_name(model: &Path, emit: Emit) -> PathBuf {
    let extension = match emit {
        Emit::So => ".so",
        Emit::Obj => ".o",
        Emit::Llvm => ".ll",
        Emit::Asm => ".s",
        Emit::Header => ".h",
        Emit::Ptx => ".ptx",
        Emit::Cubin => ".cubin",
        Emit::Hsaco => ".hsaco",
    };
    let mut name = OsString::from(model.file_stem().unwrap_or_default());
    name.push(extension);
    PathBuf::from(name)
}

/// Writes all files or none; standard output is one of its own.
fn write(files: &[(&Path, &[u8])], terminal: &Terminal) -> Result<(), Failure> {
    if let [(path, bytes)] = files
        && path.as_os_str() == "-"
    {
        return print_bytes(bytes);
    }
    write_together(files)?;
    for (path, bytes) in files {
        terminal.say(&format!("wrote {} ({} KiB)", path.display(), bytes.len().div_ceil(1024)));
    }
    Ok(())
}
