//! The code that is verified.

use crate::calls::row_counts;
use sched_forest::codes::OTHER_MODEL;
use sched_lang::{CheckOptions, CheckPurpose, Target};
use sched_llvm::runtime::OutputKind;
use sched_llvm::{Cpu, EntryInfo, Library};
use sched_nest::{Nest, Variants};
use schedc_driver::compile::{RowRules, compile, compile_into_memory, entry_info};
use schedc_driver::outputs::KERNELS;
use schedc_driver::{Failure, Job, Model, Predictor, Simulator, machines};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Code of a model, and its properties.
pub struct ModelCode {
    /// The code.
    pub predictor: Box<dyn Predictor>,
    /// Whether the code adds in the model's order.
    pub is_exact: bool,
    /// Numbers of rows per call: usual ones, and those at which the schedule runs other code.
    pub row_counts: BTreeSet<usize>,
    /// The processor that the code is for.
    pub processor: String,
    /// The schedule's name.
    pub schedule_name: String,
    /// The schedule's text.
    pub schedule: String,
    /// Whether the simulator runs the code, so that calls are slow and only few are made.
    pub is_simulated: bool,
    /// The fingerprint of the file that the code was built of, if it is another file than the model's: one
    /// model has several in XGBoost's formats.
    pub other_fingerprint: Option<String>,
}

impl ModelCode {
    /// Compiles a model under its schedule, whose nests are checked. The code runs in memory, or in the
    /// simulator.
    ///
    /// # Errors
    /// When the model does not go with the schedule, or LLVM fails.
    pub fn in_memory(
        job: &Job,
        nests: Variants<Nest>,
        target: &Target,
        cpu: Cpu,
        is_simulated: bool,
    ) -> Result<ModelCode, Failure> {
        let counts = row_counts(rows_of(&nests));
        let compiled = compile(&job.model, nests, &KERNELS, &machines::of(cpu))?;
        // A high cost of a row lets even small calls use several threads.
        let about = EntryInfo {
            ns_per_row: 1e6,
            ..entry_info(&job.model, &compiled, &job.source.text, cpu, RowRules::default())
        };
        let is_exact = adds_exactly(&parsed(&about.info));
        let (predictor, processor): (Box<dyn Predictor>, &str) = if is_simulated {
            let forest = Arc::clone(job.model.forest());
            (Box::new(Simulator::new(forest, compiled.lir, RowRules::default())), "the simulator")
        } else {
            (Box::new(compile_into_memory(&compiled, target, cpu, &about, &KERNELS)?), cpu.name())
        };
        Ok(ModelCode {
            predictor,
            is_exact,
            row_counts: counts,
            processor: processor.to_string(),
            schedule_name: job.source.name.clone(),
            schedule: job.source.text.clone(),
            is_simulated,
            other_fingerprint: None,
        })
    }

    /// The code of a library. It may be built from another file with the same model: its results decide.
    ///
    /// # Errors
    /// When the library was built from a model with other numbers of features, trees or margins.
    pub fn of_library(library: Library, model: &Model) -> Result<ModelCode, Failure> {
        let about = parsed(&library.info());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let built_of = text(&about["model"]["fingerprint"]);
        let other_fingerprint = (built_of != model.fingerprint).then(|| built_of.clone());
        if other_fingerprint.is_some() && !has_shape_of(&library, model) {
            return Err(Failure::new(
                OTHER_MODEL,
                format!(
                    "the library was built of a model with the fingerprint {built_of}, not of {}",
                    model.fingerprint
                ),
                "name the model that it was built of",
            ));
        }
        let schedule = text(&about["schedule"]);
        let options = CheckOptions {
            model: Some(model.info()),
            purpose: CheckPurpose::Compile,
            ..CheckOptions::default()
        };
        // Options of the build are unknown here; if the schedule does not check without them, the usual
        // numbers of rows are used.
        let nests = sched_lang::check(&schedule, &options).nests;
        Ok(ModelCode {
            is_exact: adds_exactly(&about),
            row_counts: row_counts(nests.as_ref().map(rows_of).unwrap_or_default()),
            processor: text(&about["target"]),
            schedule_name: "the library's own".to_string(),
            schedule,
            predictor: Box::new(library),
            is_simulated: false,
            other_fingerprint,
        })
    }
}

/// Whether a library has the numbers of features, trees and margins of a model.
fn has_shape_of(library: &Library, model: &Model) -> bool {
    let forest = model.forest();
    // A library may lack outputs of the model.
    let has_columns = |kind| [0, forest.columns_of_output(kind)].contains(&library.num_outputs(kind));
    library.num_features() == forest.num_features && OutputKind::ALL.into_iter().all(has_columns)
}

/// A parsed description of a model and its build.
fn parsed(info: &str) -> Value {
    serde_json::from_str(info).unwrap_or_default()
}

/// Whether code adds in the model's order, by its description.
fn adds_exactly(about: &Value) -> bool {
    about["order"] == "exact"
}

/// Numbers of rows at which a schedule runs other code: the bounds of its blocks, and the rows that a vector
/// or an interleaved group holds.
fn rows_of(nests: &Variants<Nest>) -> Vec<usize> {
    let bounds = nests.bounded().iter().map(|variant| variant.max_rows as usize);
    let vectors = nests.iter().flat_map(|(_, nest)| &nest.loops).filter_map(|this| {
        let lanes = this.annotations.vectorize.unwrap_or(1) as usize;
        let together = this.annotations.interleave.unwrap_or(1) as usize;
        (lanes * together > 1).then_some(lanes * together)
    });
    bounds.chain(vectors).collect()
}
