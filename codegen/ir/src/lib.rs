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
pub mod verify;

pub use error::{Budget, CompileError};

use lir::{Kernel, Module};
use sched_forest::Forest;
use sched_lang::nest::Nest;

/// A compilation with its stages kept for printing.
pub struct Compiled {
    /// The forest, ordered and padded, beside the nest.
    pub hir: hir::Hir,
    /// The legalised loop nest.
    pub mir: mir::Mir,
    /// The kernels and tables.
    pub lir: Module,
}

/// Lowers a forest under a checked nest: HIR -> MIR -> legalised MIR -> LIR.
///
/// # Errors
///
/// When the model cannot be laid out as the schedule asks, or a budget would be exceeded. Nothing large is built
/// before that is known.
pub fn compile(
    forest: Forest,
    nest: Nest,
    kernels: &[Kernel],
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    let hir = hir::build(forest, nest, budget)?;
    let mir = mir::build(&hir, budget)?;
    let row_bytes = hir.forest.num_margins as u64 * hir.forest.types.accumulator.bytes() as u64;
    let mir = mir::reduce::legalise(mir, row_bytes, budget)?;
    let lowering = lower::Lowering::new(&hir, kernels, budget)?;
    let functions = kernels.iter().filter_map(|k| Some((*k, lowering.kernel(*k, &mir)?))).collect();
    let tables = lowering.into_tables();
    let lir = Module { kernels: functions, tables, rows_per_run: mir.rows_per_run };
    Ok(Compiled { hir, mir, lir })
}
