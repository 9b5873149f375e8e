//! The middle of the compiler: HIR, MIR, the plan and LIR, the representations of trees in memory, and the
//! LIR interpreter.
//!
//! [`compile`] is the whole pipeline; each stage between can be printed.

mod bytes;
pub mod codes;
pub mod error;
pub mod fault;
pub mod hir;
pub mod interp;
pub mod lir;
pub mod lower;
pub mod mir;
pub mod plan;
pub mod quantize;
pub mod repr;
pub mod rows;
pub mod tiles;
pub mod verify;

pub use error::{Budget, CompileError};

use lir::{KernelKind, Module, Table};
use sched_forest::{Forest, Profile};
use sched_nest::Nest;
use std::sync::Arc;

/// A compilation with its stages kept for printing.
pub struct Compiled {
    /// The forest, ordered and padded, beside the nest.
    pub hir: hir::Hir,
    /// The legalised loop nest.
    pub mir: mir::Mir,
    /// How it runs.
    pub plan: plan::Plan,
    /// The kernels and tables.
    pub lir: Module,
    /// The stages of schedules for smaller calls, which are in the same kernels.
    pub smaller: Vec<Smaller>,
}

/// A schedule for calls of few rows, compiled.
pub struct Smaller {
    /// Rows of the largest call that it is for.
    pub most_rows: u32,
    /// The forest, ordered and padded, beside the nest.
    pub hir: hir::Hir,
    /// The legalised loop nest.
    pub mir: mir::Mir,
    /// How it runs.
    pub plan: plan::Plan,
}

/// Lowers a forest under a checked nest: HIR -> MIR -> legalised MIR -> plan -> LIR.
///
/// # Errors
///
/// When the model cannot be laid out as the schedule asks, or a budget would be exceeded. Nothing large is
/// built before that is known.
pub fn compile(
    forest: impl Into<Arc<Forest>>,
    nest: Nest,
    kernels: &[KernelKind],
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    compile_by_rows(forest, None, Vec::new(), nest, kernels, budget)
}

/// Lowers a forest under several nests into kernels that choose among them by the number of rows. Each of
/// `smaller` is for calls up to its number of rows, ascending; `nest` is for all larger calls, and for
/// numbers of leaves in any. Tiles of nodes by probability need a profile.
///
/// # Errors
///
/// As for [`compile()`], of any of the nests.
pub fn compile_by_rows(
    forest: impl Into<Arc<Forest>>,
    profile: Option<&Profile>,
    smaller: Vec<(u32, Nest)>,
    nest: Nest,
    kernels: &[KernelKind],
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    let mut forest = forest.into();
    if forest.has_wide_thresholds() {
        forest = Arc::new(Arc::unwrap_or_clone(forest).with_narrow_thresholds());
    }
    let types = lower::interface(&forest.types);
    let mut few = Vec::new();
    for (most_rows, nest) in smaller {
        few.push((most_rows, stages(Arc::clone(&forest), profile, nest, budget)?));
    }
    let all = stages(forest, profile, nest, budget)?;
    let mut tables: Vec<Table> = Vec::new();
    let mut build = |(hir, mir): (hir::Hir, mir::Mir), leaf_indices: bool| {
        let spent = tables.iter().map(|table| table.bytes.len() as u64).sum();
        let plan = plan::build(&hir, &mir, leaf_indices, budget, spent)?;
        let numbers = lower::Numbers::of_tables(&hir, &plan, leaf_indices, &mut tables);
        Ok(Built { hir, mir, plan, numbers })
    };
    let mut smaller = Vec::new();
    for (most_rows, stages) in few {
        smaller.push((most_rows, build(stages, false)?));
    }
    let all = build(all, kernels.contains(&KernelKind::Leaf))?;
    let choices = smaller.iter().map(|(most, built)| (Some(i64::from(*most)), built)).chain([(None, &all)]);
    let choices: Vec<_> = choices.map(|(most, built)| (most, built.lowering(most))).collect();
    let functions = kernels.iter().filter_map(|k| Some((*k, lower::kernel(*k, &choices)?))).collect();
    // A limit that no small call reaches does not concern the others.
    let limit =
        |(most, built): &(u32, Built)| built.plan.rows_per_run.filter(|rows| *rows < i64::from(*most));
    let runs = smaller.iter().map(limit).chain([all.plan.rows_per_run]);
    let rows_per_run = runs.flatten().min();
    let lir = Module { kernels: functions, tables, types, rows_per_run };
    let smaller = smaller
        .into_iter()
        .map(|(most_rows, Built { hir, mir, plan, .. })| Smaller { most_rows, hir, mir, plan })
        .collect();
    let Built { hir, mir, plan, .. } = all;
    Ok(Compiled { hir, mir, plan, lir, smaller })
}

/// The stages of one schedule, and the numbers of its tables.
struct Built {
    hir: hir::Hir,
    mir: mir::Mir,
    plan: plan::Plan,
    numbers: lower::Numbers,
}

impl Built {
    fn lowering(&self, most_rows: Option<i64>) -> lower::Lowering<'_> {
        lower::Lowering::new(&self.hir, &self.mir, &self.plan, &self.numbers, most_rows)
    }
}

fn stages(
    forest: Arc<Forest>,
    profile: Option<&Profile>,
    nest: Nest,
    budget: &Budget,
) -> Result<(hir::Hir, mir::Mir), CompileError> {
    let hir = hir::build(forest, profile, nest, budget)?;
    let mir = mir::build(&hir, budget)?;
    let row_bytes = hir.forest.num_margins as u64 * hir.forest.types.accumulator.bytes() as u64;
    let mir = mir::reduce::legalise(mir, row_bytes, budget)?;
    Ok((hir, mir))
}
