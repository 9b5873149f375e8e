//! Compilations of a model for each kind of processor and each type of rows of an artefact.

use crate::cache::{self, KeyBuilder};
use crate::choice::Effort;
use crate::compile::{RowRules, compile_and_assemble_launches, compile_for, entry_info};
use crate::failure::Failure;
use crate::job::{Job, Reporter};
use crate::machines;
use crate::model::RowTypes;
use crate::outputs::KERNELS;
use crate::schedule::ScheduleValues;
use sched_cost::Machine;
use sched_forest::Float;
use sched_ir::Compiled;
use sched_ir::lir::Scalar;
use sched_llvm::header::{AcceptedRowTypes, header};
use sched_llvm::{ArtefactForm, ArtefactName, Cpu, DeviceCode, EntryInfo, ModelVersion, build_named};
use std::rc::Rc;

/// The processors and rows that an artefact serves.
#[derive(Clone, Debug)]
pub struct ServedCalls {
    /// Processors, each with its own version of the code.
    pub cpus: Vec<Cpu>,
    /// Floating-point types of rows that have their own version.
    pub rows: RowTypes,
    /// The number for missing values, and the use of base margins.
    pub rules: RowRules,
    /// The effort for a schedule that schedc chooses.
    pub effort: Effort,
}

/// A model compiled for one kind of processor and one type of rows.
pub struct CompiledVersion {
    /// The processor that the code is for.
    pub cpu: Cpu,
    /// The type of the rows.
    pub rows: Float,
    /// The schedule's text.
    pub schedule: Rc<str>,
    /// The model compiled under the schedule.
    pub compiled: Rc<Compiled>,
    /// The GPU code of the launches, if there are any.
    pub launches: Option<Rc<DeviceCode>>,
    /// The description of the model that the entry points return.
    pub entry: EntryInfo,
}

impl CompiledVersion {
    /// The compilation as a version of an artefact.
    pub fn version(&self) -> ModelVersion<'_> {
        let launches = self.launches.as_deref();
        ModelVersion { module: &self.compiled.lir, cpu: self.cpu, entry: &self.entry, launches }
    }
}

/// Compiles a job for each type of rows and each kind of processor. A schedule that schedc chooses is chosen
/// for each. Under a given schedule, processors that fetch bins alike share one compilation.
///
/// # Errors
/// When the schedule has errors, which are reported, or the model cannot be compiled under it.
pub fn versions(
    job: &mut Job,
    values: &ScheduleValues,
    served: &ServedCalls,
    reporter: &dyn Reporter,
) -> Result<Vec<CompiledVersion>, Failure> {
    let target = values.target.as_ref();
    let rules = served.rules.check(&job.model)?;
    let chosen = job.source.is_chosen;
    let given = if chosen { None } else { Some(job.nest(values, reporter)?) };
    let mut made: Vec<CompiledVersion> = Vec::new();
    for rows in job.model.row_types(served.rows) {
        let first = made.len();
        for cpu in &served.cpus {
            if chosen || made.len() == first {
                job.set_row_type(rows, target, (*cpu, served.effort.destination()));
            }
            let machine = machines::of(*cpu);
            let mut before = made.iter().skip(first);
            let known = before.find(|known| !chosen && fetches_alike(known, &machine));
            let (compiled, launches) = match known {
                Some(known) => (known.compiled.clone(), known.launches.clone()),
                None => {
                    let (nest, target) = match &given {
                        Some(given) => given.clone(),
                        None => job.nest(values, reporter)?,
                    };
                    let compiled = compile_for(&job.model, nest, &KERNELS, &machine, rules)?;
                    let launches = compile_and_assemble_launches(&compiled, &target)?;
                    (Rc::new(compiled), launches.map(Rc::new))
                }
            };
            // Scores that are columns need rows in double precision: one version serves rows of both types.
            let rows = if compiled.lir.types.rows == Scalar::F64 { Float::F64 } else { Float::F32 };
            if made.iter().any(|other| (other.cpu, other.rows) == (*cpu, rows)) {
                continue;
            }
            let entry = entry_info(&job.model, &compiled, &job.source.text, *cpu, rules);
            let schedule = Rc::from(job.source.text.as_str());
            made.push(CompiledVersion { cpu: *cpu, rows, schedule, compiled, launches, entry });
        }
    }
    Ok(made)
}

/// Whether lowering for a machine gives the same LIR as an earlier compilation. Code with launches does not
/// depend on the processor.
fn fetches_alike(known: &CompiledVersion, machine: &Machine) -> bool {
    known.launches.is_some() || machines::of(known.cpu).fetch_costs() == machine.fetch_costs()
}

/// The C header of an artefact whose functions begin with `prefix`.
pub fn header_of(versions: &[CompiledVersion], prefix: &str) -> String {
    let Some(first) = versions.first() else { return String::new() };
    let mut constants = first.entry.for_header(&first.compiled.lir);
    if versions.iter().any(|version| version.compiled.lir.types != first.compiled.lir.types) {
        constants.rows = AcceptedRowTypes::Each;
    }
    header(prefix, &constants)
}

/// An artefact of all versions.
///
/// # Errors
/// When LLVM or the linker fails.
pub fn artefact(
    versions: &[CompiledVersion],
    name: ArtefactName<'_>,
    form: ArtefactForm,
) -> Result<Vec<u8>, Failure> {
    let all: Vec<ModelVersion> = versions.iter().map(CompiledVersion::version).collect();
    let key = || {
        let mut key = KeyBuilder::new("artefact");
        key.add(&(name, form));
        for ModelVersion { module, cpu, entry, launches } in &all {
            key.add(&(cpu, entry, launches));
            key.add_module(module);
        }
        key.finish()
    };
    Ok(cache::get_or_make(key, || build_named(&all, name, form))?)
}
