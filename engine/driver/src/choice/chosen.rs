//! The schedule that is chosen for a model.

use super::candidates::{CandidateContext, Candidates, plain};
use super::crossings::Crossings;
use super::destination::CodeDestination;
use super::evaluate::{Evaluator, PricedCandidate};
use super::gpu;
use super::one_call;
use super::sizes::SIZES;
use crate::cache::{self, KeyBuilder};
use crate::lock::structure_digest;
use crate::machines;
use crate::model::Model;
use crate::schedule::ScheduleSource;
use sched_cost::Machine;
use sched_ir::quantize::QuantizedRows;
use sched_lang::Target;
use sched_llvm::Cpu;
use sched_nest::Variants;
use sched_pipeline::SetTests;
use std::convert::Infallible;

/// Fast schedules for a model, as texts.
pub struct ChosenSchedules {
    /// The schedules by the number of rows.
    pub variants: Variants<String>,
    /// Rows of the call, if the schedules are for a single call.
    pub one_call: Option<usize>,
}

impl ChosenSchedules {
    /// The schedules for a model on a processor.
    pub fn new(model: &Model, cpu: Cpu, destination: CodeDestination) -> ChosenSchedules {
        ChosenSchedules::on(model, &machines::of(cpu), destination)
    }

    /// The schedules for a model on a machine.
    pub fn on(model: &Model, machine: &Machine, destination: CodeDestination) -> ChosenSchedules {
        ChosenSchedules::by(&Evaluator::new(model, machine), destination)
    }

    /// The schedules for a destination. Choices by one evaluator share the prices of candidates.
    pub fn by(evaluator: &Evaluator<'_>, destination: CodeDestination) -> ChosenSchedules {
        match destination {
            CodeDestination::OneCall(rows) => {
                let text = with_candidates(evaluator, destination, |candidates| {
                    evaluator.text(&one_call::cheapest(candidates, evaluator, evaluator.machine, rows))
                });
                ChosenSchedules { variants: Variants::only(text), one_call: Some(rows) }
            }
            CodeDestination::Memory | CodeDestination::Artefact => ChosenSchedules::among(
                &ChosenSchedules::priced_candidates(evaluator, destination, &[]),
                evaluator,
            ),
        }
    }

    /// The schedules of the cheapest of some candidates, which were priced at [`SIZES`].
    pub fn among(priced: &[PricedCandidate], evaluator: &Evaluator<'_>) -> ChosenSchedules {
        let variants = match priced.is_empty() {
            true => Variants::only(evaluator.text(&plain())),
            false => Crossings { priced, evaluator }.variants(),
        };
        ChosenSchedules { variants, one_call: None }
    }

    /// The candidates for a destination, each with the costs of calls of [`SIZES`] rows and then of `also`
    /// rows.
    pub fn priced_candidates(
        evaluator: &Evaluator<'_>,
        destination: CodeDestination,
        also: &[usize],
    ) -> Vec<PricedCandidate> {
        let sizes: Vec<usize> = SIZES.iter().chain(also).copied().collect();
        with_candidates(evaluator, destination, |candidates| {
            let mut priced = evaluator.price_all(&sizes, &candidates.initial(), &[]);
            let at_sizes =
                |one: &'_ PricedCandidate| one.costs.get(..SIZES.len()).unwrap_or_default().to_vec();
            let costs: Vec<Vec<f64>> = priced.iter().map(at_sizes).collect();
            let costs: Vec<_> =
                priced.iter().zip(&costs).map(|(one, costs)| (&one.candidate, costs.as_slice())).collect();
            let more = candidates.further(&costs);
            priced.extend(evaluator.price_all(&sizes, &more, &priced));
            priced
        })
    }

    /// The schedule as the user could have written it: for most calls, and in blocks for those of few rows.
    pub fn text(&self) -> String {
        self.text_for(None)
    }

    /// The text with a line that names the target.
    pub fn text_for(&self, target: Option<&str>) -> String {
        let target = target.map_or_else(String::new, |target| format!("target {target}\n\n"));
        let call = match self.one_call {
            Some(1) => " for one call of 1 row".to_string(),
            Some(rows) => format!(" for one call of {rows} rows"),
            None => String::new(),
        };
        let mut all = format!("// chosen by schedc{call}\n{target}{}", self.variants.rest());
        for few in self.variants.bounded() {
            all += &format!("\nwhen n_rows <= {} {{\n", few.max_rows);
            all.extend(few.value.lines().map(|line| format!("    {line}\n")));
            all += "}\n";
        }
        all
    }
}

impl ScheduleSource {
    /// The schedule that schedc chooses for a model.
    pub fn chosen_for(
        model: &Model,
        target: Option<&Target>,
        cpu: Cpu,
        destination: CodeDestination,
    ) -> ScheduleSource {
        let _stage = tracing::info_span!("choose").entered();
        let choose = || match target.filter(|target| target.is_gpu()) {
            Some(target) => ChosenSchedules { variants: gpu::chosen_for(model, target), one_call: None }
                .text_for(Some("gpu")),
            None => ChosenSchedules::new(model, cpu, destination).text(),
        };
        let key = || {
            let mut key = KeyBuilder::new("choice");
            key.add(&(structure_digest(model.forest()), target, destination));
            key.add(&(model.trainer_row_type, model.is_column_major, &model.profile));
            key.add_processor(cpu);
            key.finish()
        };
        let text = model.choice(format!("{target:?} {cpu} {destination:?}"), || {
            let Ok(bytes) = cache::get_or_make(key, || Ok::<_, Infallible>(choose().into_bytes()));
            String::from_utf8(bytes).unwrap_or_else(|_| choose())
        });
        ScheduleSource { name: "chosen schedule".to_string(), text, is_chosen: true, path: None }
    }
}

/// Calls `choose` with the candidates for a model.
fn with_candidates<T>(
    evaluator: &Evaluator<'_>,
    destination: CodeDestination,
    choose: impl FnOnce(&Candidates<'_>) -> T,
) -> T {
    let (model, machine) = (evaluator.model, evaluator.machine);
    let info = model.info();
    let bins = quantized_rows(model);
    choose(&Candidates::of(CandidateContext { model: &info, bins: bins.as_ref(), machine, destination }))
}

/// The form of quantized rows in layouts that hold sets of categories, if the model has classes of these.
fn quantized_rows(model: &Model) -> Option<QuantizedRows> {
    model.forests().with_set_tests(SetTests::OfClasses).quantized_rows()
}
