//! Compiles a model under a checked schedule: the pipeline that all commands share.

use crate::cache::{self, KeyBuilder};
use crate::categories;
use crate::failure::Failure;
use crate::machines;
use crate::model::Model;
use crate::outputs;
use crate::shares::values_word;
use sched_categories::json_of_label;
use sched_cost::{KernelCall, Machine, ModelShape, cost};
use sched_forest::{DecisionValues, Float, Quirk, Types};
use sched_ir::lir::ProcessorKind;
use sched_ir::{Budget, Compiled};
use sched_lang::Target;
use sched_llvm::runtime::{Dtype, OutputKind};
use sched_llvm::{Cpu, DeviceCode, EntryInfo, Gpu, Jit, Ptxas, host_cpu_name};
use sched_nest::{Accumulation, Nest, Variants};
use serde_json::{Map, Value, json};

/// The nest that serves a single call of `rows` rows. Other variants need not be compiled.
pub fn for_one_call_of(nests: Variants<Nest>, rows: usize) -> Variants<Nest> {
    let mut nest = nests.into_for_rows(rows);
    let rows = rows.max(1) as u64;
    nest.batch_size = Some(nest.batch_size.map_or(rows, |batch| batch.min(rows)));
    Variants::only(nest)
}

/// Properties of rows that are not in the model's file.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowRules {
    /// A number that counts as a missing value.
    pub missing: Option<f64>,
    /// Whether each row comes with a base margin.
    pub base_margin: bool,
}

impl RowRules {
    /// Refuses a base margin if the trainer has none in predictions.
    ///
    /// # Errors
    /// When the base margin is refused.
    pub fn check(self, model: &Model) -> Result<Self, Failure> {
        if self.base_margin && !model.source.has(Quirk::BaseMargin) {
            return Err(Failure::usage(
                "--base-margin replaces XGBoost's base_score, but this is not an XGBoost model",
                "add the offset to the margins of --output raw, if that is what the trainer's predictions \
                 need",
            ));
        }
        Ok(self)
    }
}

/// Compiles a model under its nests down to LIR, for a machine.
///
/// # Errors
/// When the model cannot be compiled under the nests.
pub fn compile(
    model: &Model,
    nests: Variants<Nest>,
    kernels: &[OutputKind],
    machine: &Machine,
) -> Result<Compiled, Failure> {
    compile_for(model, nests, kernels, machine, RowRules::default())
}

/// As [`compile`], for rows with further properties.
///
/// # Errors
/// When the model cannot be compiled under the nests.
pub fn compile_for(
    model: &Model,
    nests: Variants<Nest>,
    kernels: &[OutputKind],
    machine: &Machine,
    rules: RowRules,
) -> Result<Compiled, Failure> {
    let _stage = tracing::info_span!("lower").entered();
    let (forests, profile) = (model.forests().clone(), model.profile.as_ref());
    let fetch = machine.fetch_costs();
    let budget = Budget { base_is_given: rules.base_margin, fetch, ..Budget::default() };
    Ok(sched_ir::compile(forests, profile, nests, kernels, &budget)?)
}

/// The GPU that a target names; otherwise the one of this machine; without one, a GPU whose code most recent
/// GPUs can run.
///
/// # Errors
/// When there is no GPU of this name.
pub fn gpu_of(target: &Target) -> Result<Gpu, Failure> {
    match target.options.first() {
        Some(name) => Ok(name.parse()?),
        None => Ok(Gpu::installed().unwrap_or_default()),
    }
}

/// Whether some calls run on a GPU.
pub fn runs_on_device(compiled: &Compiled) -> bool {
    compiled.lir.processors.iter().any(|(_, processor)| *processor == ProcessorKind::Device)
}

/// The code of the launches, if the schedule maps loops to a GPU; `None` for other schedules.
///
/// # Errors
/// When LLVM fails.
pub fn launches(compiled: &Compiled, target: &Target) -> Result<Option<DeviceCode>, Failure> {
    match runs_on_device(compiled) {
        true => Ok(Some(DeviceCode::compile(&compiled.lir, gpu_of(target)?)?)),
        false => Ok(None),
    }
}

/// As [`launches`], with machine code of the GPU if NVIDIA's assembler is installed. The driver need not
/// translate such code when it loads it.
///
/// # Errors
/// When LLVM or the assembler fails.
pub fn compile_and_assemble_launches(
    compiled: &Compiled,
    target: &Target,
) -> Result<Option<DeviceCode>, Failure> {
    let Some(mut code) = launches(compiled, target)? else { return Ok(None) };
    if let Some(ptxas) = Ptxas::find() {
        code.assemble(&ptxas, gpu_of(target)?)?;
    }
    Ok(Some(code))
}

/// Compiles to code in this process.
///
/// # Errors
/// When LLVM fails.
pub fn compile_into_memory(
    compiled: &Compiled,
    target: &Target,
    cpu: Cpu,
    about: &EntryInfo,
    kernels: &[OutputKind],
) -> Result<Jit, Failure> {
    Ok(match launches(compiled, target)? {
        Some(launches) => Jit::compile_with_launches(&compiled.lir, cpu, launches, about, kernels)?,
        None => {
            let key = || {
                let mut key = KeyBuilder::new("memory");
                key.add(&(cpu, kernels));
                key.add_module(&compiled.lir);
                key.finish()
            };
            let object = cache::get_or_make(key, || Jit::object_file(&compiled.lir, cpu, kernels))?;
            Jit::of_object_file(&object, &compiled.lir, cpu, about, kernels)?
        }
    })
}

/// The description of a compiled model, which its entry points return.
pub fn entry_info(
    model: &Model,
    compiled: &Compiled,
    schedule: &str,
    target: Cpu,
    rules: RowRules,
) -> EntryInfo {
    let forest = model.forest();
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let reassociated = compiled.variants.iter().find_map(|(_, stages)| match &stages.hir.nest.accumulation {
        Accumulation::Exact => None,
        Accumulation::Reassociated(why) => Some(why),
    });
    let (order, why) = match reassociated {
        None => ("exact", None),
        Some(why) => ("reassociated", Some(why)),
    };
    let columns = |kind: OutputKind| outputs::columns(kind, forest, &compiled.lir);
    let mut info = about_model(model, columns, rules);
    for (name, value) in [
        ("schedule", json!(schedule)),
        ("order", json!(order)),
        ("order_reason", json!(why)),
        ("target", json!(target.name())),
        ("processor", json!((target == Cpu::Native).then(host_cpu_name))),
    ] {
        info[name] = value;
    }
    if runs_on_device(compiled) {
        info["runs_on"] = json!("gpu");
    }
    EntryInfo {
        num_features: count(forest.num_features),
        counts: forest.counts(),
        trainer_row_type: match model.trainer_row_type {
            Float::F32 => Dtype::F32,
            Float::F64 => Dtype::F64,
        },
        ns_per_row: ns_per_row(model, compiled, target),
        info: info.to_string(),
        feature_names: forest.feature_names.clone(),
        categories: categories::for_c(forest),
        missing: rules.missing,
        base: rules.base_margin.then(|| forest.base.clone()),
        python_object: String::new(),
    }
}

/// The part of a compiled model's description that its schedule has no effect on. `columns` is the number of
/// columns of each output.
pub fn about_model(model: &Model, columns: impl Fn(OutputKind) -> usize, rules: RowRules) -> Value {
    let forest = model.forest();
    let outputs: Map<String, Value> =
        OutputKind::ALL.into_iter().map(|kind| (kind.word().to_owned(), columns(kind).into())).collect();
    let mut info = json!({
        "schedc": env!("CARGO_PKG_VERSION"),
        "schedc_abi": sched_llvm::header::ABI_VERSION,
        "model": {
            "fingerprint": model.fingerprint,
            "trainer": model.source.trainer,
            "objective": forest.objective,
            "trees": forest.trees.len(),
            "features": forest.num_features,
            "margins": forest.num_margins,
            "types": types(&forest.types),
            "whole_numbers": categories::WholeNumbers::of(model).about(),
            "feature_names": forest.feature_names,
        },
        "outputs": outputs,
    });
    let categories = categories::about(model);
    if !categories.is_null() {
        info["model"]["categories"] = categories;
    }
    let labelled = forest.output.classes.as_ref().filter(|classes| !classes.labels.is_empty());
    if let Some(classes) = labelled {
        info["model"]["labels"] = classes.labels.iter().map(json_of_label).collect();
        if !classes.targets.is_empty() {
            info["model"]["targets"] = json!(classes.targets);
        }
    }
    let decisions = forest.output.classes.as_ref().and_then(|classes| classes.decision_values);
    if let Some(decisions) = decisions {
        info["model"]["decisions"] = match decisions {
            DecisionValues::Margins(columns) => {
                json!({ "output": OutputKind::Raw.word(), "columns": columns })
            }
            DecisionValues::Predictions => json!({ "output": OutputKind::Value.word() }),
        };
    }
    if let Some(values) = values_word(forest) {
        info["model"]["values"] = json!(values);
    }
    if let Some(missing) = rules.missing {
        info["model"]["missing"] = json!(missing);
    }
    if rules.base_margin {
        info["model"]["base_margin"] = json!(true);
    }
    info
}

/// The types of a model's numbers, as a JSON value.
fn types(types: &Types) -> Value {
    let Types { input, threshold, accumulator, output } = *types;
    json!({
        "rows": input.word(),
        "thresholds": threshold.word(),
        "sums": accumulator.word(),
        "results": output.word(),
    })
}

/// Rows of the estimated call from which the cost of a row follows. At this size, the cost of entering the
/// code is negligible.
const MANY_ROWS: usize = 1024;

/// Nanoseconds of a row on one thread, as the cost model estimates them; 0 if it cannot.
fn ns_per_row(model: &Model, compiled: &Compiled, cpu: Cpu) -> f64 {
    let (machine, shape) = (machines::of(cpu), ModelShape::of(model.forest()));
    let call = KernelCall { rows: MANY_ROWS, threads: 1, column_major: false, shape: &shape };
    cost(&compiled.lir, &machine, call).map_or(0.0, |cost| cost.cycles / machine.ghz / MANY_ROWS as f64)
}
