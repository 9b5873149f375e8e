//! A kernel in memory that benchmarks call.

use sched_ir::lir::{Function, Interface, Module, OutputKind, ProcessorKind, Scalar, Table};
use sched_llvm::runtime::{Ctx, OutputCounts};
use sched_llvm::{Cpu, EntryInfo, Jit};
use sched_nest::Variants;

/// A module whose kernel for margins is `function`.
pub fn module(function: Function, tables: Vec<Table>, element: Scalar) -> Module {
    Module {
        kernels: vec![(OutputKind::Raw.into(), function)],
        tables,
        types: Interface::uniform(element),
        rows_per_run: None,
        processors: Variants::only(ProcessorKind::Host),
        least_column_rows: None,
        transfer: None,
    }
}

/// The code of a module for rows of `features` values.
pub fn compiled(module: &Module, cpu: Cpu, features: usize) -> Jit {
    let entry = EntryInfo {
        num_features: features as i32,
        counts: OutputCounts { values: 1, margins: 1, classes: 1, trees: 1, tree_values: 1 },
        trainer_row_type: sched_llvm::runtime::Dtype::F32,
        ns_per_row: 1.0,
        info: "{}".to_string(),
        ..EntryInfo::default()
    };
    Jit::compile(module, cpu, &entry, &[OutputKind::Raw]).expect("the module compiles")
}

/// The context of a call for `n_rows` rows.
pub fn context<X, Y>(jit: &Jit, rows: &[X], n_rows: usize, out: &mut [Y]) -> Ctx {
    Ctx {
        rows: rows.as_ptr().cast(),
        n_rows: n_rows as i64,
        out: out.as_mut_ptr().cast(),
        tables: jit.model().tables,
        team: std::ptr::null_mut(),
        status: 0,
        order: &raw const sched_llvm::runtime::ROW_MAJOR,
    }
}
