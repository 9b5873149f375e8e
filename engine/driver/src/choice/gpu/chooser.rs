//! The choice among schedules for GPUs: for each call size the one that the cost model finds fastest.

use super::candidates::{Layouts, candidates};
use super::price::Pricer;
use crate::choice::last_where;
use crate::model::Model;
use sched_ir::quantize::QuantizedRows;
use sched_lang::{CheckOptions, CheckPurpose, Target, check};
use sched_nest::{Accumulation, ModelInfo, Nest, Variants};
use sched_pipeline::SetTests;
use std::sync::Arc;

/// Call sizes whose costs decide, in rows.
const SIZES: [u64; 10] = [1, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];
/// Least gain that justifies the kernels of a further schedule, as a ratio of costs: about the error of the
/// cost model.
const LEAST_GAIN: f64 = 1.1;
/// Bisection steps in the search for the number of rows at which one schedule becomes slower than the next.
const BISECTIONS: u32 = 8;

/// Fast schedules for a model on a GPU, by the number of rows.
pub fn chosen_for(model: &Model, target: &Target) -> Variants<String> {
    let bins = model.forests().with_set_tests(SetTests::OfColumns).quantized_rows();
    chosen(&model.info(), bins.as_ref(), target)
}

/// Fast schedules for a model with these properties, by the number of rows. `bins` is the form of its
/// quantized rows, if it has one.
///
/// All of them add trees in the model's order, so that a row's result is the same in calls of all sizes.
pub fn chosen(model: &ModelInfo, bins: Option<&QuantizedRows>, target: &Target) -> Variants<String> {
    let Some(pricer) = Pricer::with_similar_gpu(model, target) else { return Variants::only(plain()) };
    let legal = LegalityCheck { model: Arc::new(model.clone()), target };
    let shapes = candidates(model, &Layouts::of(model, bins));
    let priced: Vec<Priced> = shapes.iter().filter_map(|shape| legal.price(&pricer, shape.text())).collect();
    let Some(mut many) = cheapest(&priced, SIZES.len() - 1) else { return Variants::only(plain()) };
    let mut chosen = Variants::only(many.text.clone());
    for at in (0..SIZES.len() - 1).rev() {
        let Some(few) = cheapest(&priced, at) else { break };
        if few.costs[at] * LEAST_GAIN < many.costs[at] {
            let _kept = chosen.insert(crossing(&pricer, (few, many), at), few.text.clone());
            many = few;
        }
    }
    chosen
}

/// A legal schedule with its costs.
struct Priced {
    text: String,
    nest: Nest,
    /// Microseconds of calls of [`SIZES`] rows.
    costs: Vec<f64>,
}

/// The cheapest schedule in calls of `SIZES[at]` rows.
fn cheapest(priced: &[Priced], at: usize) -> Option<&Priced> {
    priced.iter().min_by(|a, b| a.costs[at].total_cmp(&b.costs[at]))
}

/// The most rows for which `few` is cheaper than `many`, between `SIZES[at]` and the next size.
fn crossing(pricer: &Pricer, (few, many): (&Priced, &Priced), at: usize) -> u32 {
    let (low, high) = (SIZES[at] as f64, SIZES[at + 1] as f64);
    let rows = |step: usize| low * (high / low).powf(step as f64 / f64::from(1 << BISECTIONS));
    let is_cheaper = |step: usize| {
        let cost =
            |one: &Priced| pricer.price(&one.nest, rows(step) as u64).map_or(f64::INFINITY, |cost| cost.us);
        cost(few) <= cost(many)
    };
    rows(last_where((0, 1 << BISECTIONS), is_cheaper)) as u32
}

/// A schedule that is legal for all models: each thread walks all trees with one row.
fn plain() -> String {
    "tile(batch, b0, b1, 256)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n".to_string()
}

/// The checks that decide whether a schedule may be chosen.
struct LegalityCheck<'a> {
    model: Arc<ModelInfo>,
    target: &'a Target,
}

impl LegalityCheck<'_> {
    /// A schedule with its costs. `None` if it is illegal, or adds trees in another order than the model.
    fn price(&self, pricer: &Pricer, text: String) -> Option<Priced> {
        let options = CheckOptions {
            model: Some(Arc::clone(&self.model)),
            target: Some(self.target.clone()),
            purpose: CheckPurpose::Compile,
            ..CheckOptions::default()
        };
        let nest = check(&text, &options).nests?.into_for_rows(1);
        if nest.accumulation != Accumulation::Exact {
            return None;
        }
        let costs: Option<Vec<f64>> =
            SIZES.iter().map(|rows| pricer.price(&nest, *rows).map(|cost| cost.us)).collect();
        Some(Priced { text, nest, costs: costs? })
    }
}
