//! From a model and a checked schedule to code: the pipeline that all commands share.

use crate::failure::Failure;
use crate::model::Model;
use sched_ir::lir::Kernel;
use sched_ir::{Budget, Compiled, lower};
use sched_lang::nest::{Accumulation, Nest};
use sched_llvm::Facts;
use serde_json::json;

/// Compiles a model under a nest down to LIR.
pub fn compile(model: &Model, nest: Nest, kernels: &[Kernel]) -> Result<Compiled, Failure> {
    Ok(sched_ir::compile(model.forest.clone(), nest, kernels, &Budget::default())?)
}

/// What the entry points report of a compiled model.
pub fn facts(model: &Model, compiled: &Compiled, schedule: &str, target: &str) -> Facts {
    let forest = &model.forest;
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let (order, why) = match &compiled.hir.nest.accumulation {
        Accumulation::Exact => ("exact", None),
        Accumulation::Reassociated(why) => ("reassociated", Some(why)),
    };
    let info = json!({
        "schedc": env!("CARGO_PKG_VERSION"),
        "model": {
            "fingerprint": model.fingerprint,
            "objective": forest.objective,
            "trees": forest.trees.len(),
            "features": forest.num_features,
            "margins": forest.num_margins,
        },
        "schedule": schedule,
        "order": order,
        "order_reason": why,
        "target": target,
    });
    Facts {
        num_features: count(forest.num_features),
        num_margins: count(forest.num_margins),
        num_values: count(lower::value_columns(forest)),
        num_trees: count(forest.trees.len()),
        wide: forest.types.accumulator == sched_forest::Float::F64,
        ns_per_row: ns_per_row(compiled),
        info: info.to_string(),
    }
}

/// A rough cost: about one nanosecond for each hop of an interleaved walk, and two for each tree.
fn ns_per_row(compiled: &Compiled) -> f64 {
    compiled.hir.depths.iter().map(|(deepest, _)| 2.0 + f64::from(*deepest)).sum()
}
