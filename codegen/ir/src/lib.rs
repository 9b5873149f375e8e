//! The middle of the compiler: HIR, MIR and LIR, the representations of trees in memory, and the LIR interpreter.
//!
//! [`compile`] is the whole pipeline; each stage between can be printed.

pub mod error;
pub mod fault;
pub mod hir;
pub mod interp;
pub mod lir;
pub mod lower;
pub mod mir;
pub mod repr;
pub mod tiles;
pub mod verify;

pub use error::{Budget, CompileError};

use lir::{Kernel, Module, Table};
use sched_forest::{Forest, Profile};
use sched_nest::Nest;
use std::sync::Arc;

/// A compilation with its stages kept for printing.
pub struct Compiled {
    /// The forest, ordered and padded, beside the nest.
    pub hir: hir::Hir,
    /// The legalised loop nest.
    pub mir: mir::Mir,
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
}

/// Lowers a forest under a checked nest: HIR -> MIR -> legalised MIR -> LIR.
///
/// # Errors
///
/// When the model cannot be laid out as the schedule asks, or a budget would be exceeded. Nothing large is built
/// before that is known.
pub fn compile(
    forest: impl Into<Arc<Forest>>,
    nest: Nest,
    kernels: &[Kernel],
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    compile_by_rows(forest, None, Vec::new(), nest, kernels, budget)
}

/// Lowers a forest under several nests into kernels that choose among them by the number of rows. Each of `smaller` is
/// for at most so many rows, ascending; `nest` is for all larger calls, and for numbers of leaves in any. Tiles of nodes by
/// probability need a profile.
///
/// # Errors
///
/// As for [`compile()`], of any of the nests.
pub fn compile_by_rows(
    forest: impl Into<Arc<Forest>>,
    profile: Option<&Profile>,
    smaller: Vec<(u32, Nest)>,
    nest: Nest,
    kernels: &[Kernel],
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    let mut forest = forest.into();
    if forest.has_wide_thresholds() {
        forest = Arc::new(Arc::unwrap_or_clone(forest).with_narrow_thresholds());
    }
    let types = lower::interface(&forest.types);
    let mut few = Vec::new();
    for (most_rows, nest) in smaller {
        let (hir, mir) = stages(Arc::clone(&forest), profile, nest, budget)?;
        few.push(Smaller { most_rows, hir, mir });
    }
    let (hir, mir) = stages(forest, profile, nest, budget)?;
    let mut tables: Vec<Table> = Vec::new();
    let mut choices = Vec::new();
    let all = few.iter().map(|few| (Some(i64::from(few.most_rows)), &few.hir, &few.mir));
    for (most, hir, mir) in all.chain([(None, &hir, &mir)]) {
        choices.push((most, lower::Lowering::new(hir, (mir, most), kernels, budget, &mut tables)?));
    }
    let functions = kernels.iter().filter_map(|k| Some((*k, lower::kernel(*k, &choices)?))).collect();
    // A limit that no small call reaches does not concern the others.
    let limit = |few: &Smaller| few.mir.rows_per_run.filter(|rows| *rows < i64::from(few.most_rows));
    let runs = few.iter().map(limit).chain([mir.rows_per_run]);
    let lir = Module { kernels: functions, tables, types, rows_per_run: runs.flatten().min() };
    Ok(Compiled { hir, mir, lir, smaller: few })
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
    let mir = mir::place_sums(mir, &hir, budget)?;
    Ok((hir, mir))
}
