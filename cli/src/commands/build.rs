//! `schedc build`: a model becomes a library, an object file, or text.

mod files;
mod kernels;

use self::files::{Files, PkgConfig};
use super::Job;
use crate::args::{Build, Emit, RowTypes};
use crate::compile::{RowRules, assembled_launches, compile_for, facts};
use crate::defaults::CodeDestination;
use crate::failure::Failure;
use crate::outputs::{Beside, keep_foreign};
use crate::terminal::Terminal;
use sched_forest::Float;
use sched_ir::Compiled;
use sched_ir::lir::KernelKind;
use sched_llvm::header::{TakenRows, header, loader_header, valid_prefix};
use sched_llvm::{ArtefactName, Cpu, DeviceCode, EntryInfo, Version, build_named};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// All kernels: an artefact answers every kind of call.
const KERNELS: [KernelKind; 5] =
    [KernelKind::Raw, KernelKind::Value, KernelKind::Class, KernelKind::Leaf, KernelKind::Tree];

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
        (None, Emit::Loader) => return loader(args, terminal),
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
    let mut job = Job::load(model, &args.schedule, &args.reading, (first, CodeDestination::Artefact))?;
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
        Emit::Header => return files::write(&[(&files.out, text.as_bytes())], terminal),
        Emit::So => sched_llvm::Emit::SharedLibrary,
        Emit::Obj => sched_llvm::Emit::Object,
        Emit::Static => sched_llvm::Emit::StaticLibrary,
        Emit::Llvm => sched_llvm::Emit::Llvm,
        _ => sched_llvm::Emit::Asm,
    };
    if args.verbose {
        kernels::report(&compiled.lir, launches.as_deref(), terminal);
    }
    let all: Vec<Version> = versions.iter().map(Built::version).collect();
    let name = ArtefactName { prefix: &args.name, file: files.own_name.as_deref() };
    let bytes = build_named(&all, name, emit)?;
    let description = PkgConfig { trees: facts.num_trees, features: facts.num_features, emit: args.emit };
    let mut beside: Vec<(&Path, Vec<u8>)> = Vec::new();
    beside.extend(files.header.as_deref().map(|header| (header, text.into_bytes())));
    beside.extend(files.pkg_config.as_deref().map(|path| (path, description.text(&files.out).into_bytes())));
    let beside = beside.iter().map(|(path, bytes)| (*path, bytes.as_slice()));
    let all: Vec<(&Path, &[u8])> =
        [(files.out.as_path(), bytes.as_slice())].into_iter().chain(beside).collect();
    files::write(&all, terminal)
}

/// Writes the header of the loader.
fn loader(args: &Build, terminal: &Terminal) -> Result<(), Failure> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("schedc.h"));
    keep_foreign(&out, Beside::Header)?;
    files::write(&[(&out, loader_header().as_bytes())], terminal)
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
