//! `schedc build`: a model becomes a library, an object file, or text.

mod kernels;

use super::{Job, print_bytes};
use crate::args::{Build, Emit, RowTypes};
use crate::compile::{RowRules, assembled_launches, compile_for, facts};
use crate::defaults::CodeDestination;
use crate::failure::Failure;
use crate::outputs::{is_same, keep, keep_foreign_header};
use crate::terminal::Terminal;
use sched_forest::Float;
use sched_ir::Compiled;
use sched_ir::lir::KernelKind;
use sched_llvm::header::{TakenRows, header, valid_prefix};
use sched_llvm::{Cpu, DeviceCode, EntryInfo, Version, build_versions};
use schedc_data::write_together;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// All kernels: an artefact answers every kind of call.
const KERNELS: [KernelKind; 4] = [KernelKind::Raw, KernelKind::Value, KernelKind::Class, KernelKind::Leaf];

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
    let mut job = Job::load(&args.model, &args.schedule, &args.reading, (first, CodeDestination::Artefact))?;
    for note in &job.model.notes {
        terminal.say(&format!("note: {note}"));
    }
    let files = Files::of(args, &job)?;
    if matches!(args.emit, Emit::Ptx | Emit::Cubin | Emit::Hsaco) {
        return kernels::run(args, job, &files.out, terminal);
    }
    let versions = versions(args, &mut job, terminal)?;
    let Some(Built { compiled, facts, launches, .. }) = versions.first() else { return Ok(()) };
    let mut constants = facts.for_header(&compiled.lir);
    if versions.iter().any(|version| version.compiled.lir.types != compiled.lir.types) {
        constants.rows = TakenRows::Each;
    }
    let text = header(&args.name, &constants);
    let emit = match args.emit {
        Emit::Header => return write(&[(&files.out, text.as_bytes())], terminal),
        Emit::So => sched_llvm::Emit::SharedLibrary,
        Emit::Obj => sched_llvm::Emit::Object,
        Emit::Llvm => sched_llvm::Emit::Llvm,
        _ => sched_llvm::Emit::Asm,
    };
    if args.verbose {
        kernels::report(&compiled.lir, launches.as_deref(), terminal);
    }
    let all: Vec<Version> = versions.iter().map(Built::version).collect();
    let bytes = build_versions(&all, &args.name, emit)?;
    match &files.header {
        Some(header) => write(&[(&files.out, &bytes), (header, text.as_bytes())], terminal),
        None => write(&[(&files.out, &bytes)], terminal),
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

/// The model compiled for one kind of processors and rows of one type.
struct Built {
    cpu: Cpu,
    compiled: Rc<Compiled>,
    /// The code of its launches, if it has some.
    launches: Option<Rc<DeviceCode>>,
    facts: EntryInfo,
}

impl Built {
    fn version(&self) -> Version<'_> {
        let launches = self.launches.as_deref();
        Version { module: &self.compiled.lir, cpu: self.cpu, entry: &self.facts, launches }
    }
}

/// Compiles for each type of rows and each kind of processors: a schedule that schedc chooses depends on them, another one
/// does not.
fn versions(args: &Build, job: &mut Job, terminal: &Terminal) -> Result<Vec<Built>, Failure> {
    let target = args.schedule.values.target.as_ref();
    let rules = RowRules { missing: args.missing, base_margin: args.base_margin }.check(&job.model)?;
    let chosen = job.source.is_chosen;
    let all_rows = job.model.row_types(args.rows.unwrap_or(RowTypes::Both));
    let given = if chosen { None } else { Some(job.nest(&args.schedule.values, terminal)?) };
    if args.explain_schedule && !chosen {
        terminal.say(job.source.text.trim_end());
    }
    let mut built: Vec<Built> = Vec::new();
    for &rows in &all_rows {
        let first = built.len();
        for cpu in &args.cpu {
            if chosen || built.len() == first {
                job.read_rows(rows, target, (*cpu, CodeDestination::Artefact));
            }
            if args.explain_schedule && chosen {
                if args.cpu.len() > 1 || all_rows.len() > 1 {
                    terminal.say(&format!("// for {}", versions_name(*cpu, rows, &all_rows)));
                }
                terminal.say(job.source.text.trim_end());
            }
            let known = built.get(first).filter(|_| !chosen);
            let (compiled, launches) = match known {
                Some(known) => (known.compiled.clone(), known.launches.clone()),
                None => {
                    let (nest, target) = match &given {
                        Some(given) => given.clone(),
                        None => job.nest(&args.schedule.values, terminal)?,
                    };
                    let compiled = compile_for(&job.model, nest, &KERNELS, rules)?;
                    let launches = assembled_launches(&compiled, &target)?;
                    (Rc::new(compiled), launches.map(Rc::new))
                }
            };
            let facts = facts(&job.model, &compiled, &job.source.text, *cpu, rules);
            built.push(Built { cpu: *cpu, compiled, launches, facts });
        }
    }
    Ok(built)
}

/// What tells a version from the others.
fn versions_name(cpu: Cpu, rows: Float, all_rows: &[Float]) -> String {
    match (all_rows, rows) {
        ([_], _) => cpu.to_string(),
        (_, Float::F32) => format!("{cpu}, rows of f32"),
        (_, Float::F64) => format!("{cpu}, rows of f64"),
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
