//! Translates MIR and its plan to LIR: bounds of loops, code of walks, addresses of sums.
//!
//! The plan contains all decisions; lowering takes none.
//!
//! [`Lowering`] holds the data that all kernels share: the earlier stages, and the numbers of the
//! model's tables. Each kernel has its own `KernelBuilder`: the LIR builder, the kernel's
//! `ports::Ports`, and the current `scope::Scope`.
//!
//! Each statement of MIR implements `kernel_builder::EmitStmt` in one file: loops and cases in `nest`,
//! launches in `launch`, copies of rows in `row_copy` and `shared_rows`, copies of trees in
//! `shared_trees`, leaf loops in `leaf_loop`, tree loops with several trees at once in
//! `unroll_and_jam`, private sums and folds in `sums`, sums of threads in `thread_sums`.
//!
//! A leaf loop makes one `walk::WalkContext`. The context runs `group::Group`s of walks, and uses
//! their leaves by a `LeafAction` (`leaf`).

mod carried_sum;
mod dense;
mod device_columns;
mod device_sums;
mod elements;
mod grid;
mod group;
mod kernel_builder;
mod last_block;
mod launch;
mod leaf;
mod leaf_loop;
mod linear;
mod linear_tables;
mod lowering;
mod nest;
mod opening;
mod output;
mod pack_columns;
mod ports;
mod row_copy;
mod row_source;
mod scope;
mod shared;
mod shared_rows;
mod shared_sums;
mod shared_trees;
mod staged_fold;
mod sum_target;
mod sums;
mod thread_sums;
mod transfer;
mod unroll_and_jam;
mod walk;

use self::kernel_builder::{EmitStmt, KernelBuilder};
use self::output::RowPredictions;
use self::ports::{Ports, Results};
use crate::lir::{
    BinTransfer, BuildStmts, Builder, Cmp, Function, KernelKind, Origin, OutputKind, ProcessorKind, Space,
    Stmt,
};
use crate::mir::completes_rows;
use sched_forest::OutputDefinition;
use sched_nest::{Bounded, Variants};

pub use lowering::{Lowering, TableNumbers};
pub use output::{interface, is_by_margin};
pub(crate) use shared::check_shared;

/// Builds the function of one kernel, which selects the variant of the schedule by the number of rows.
/// `None` if the model has no such output, or for kernels that read bins if no rows are transferred as bins.
pub fn kernel(kernel: KernelKind, variants: &Variants<Lowering>) -> Option<Function> {
    let rest = variants.rest();
    let (all, processors) = (variants.bounded(), processors(variants));
    match kernel {
        KernelKind::Output(kind) => kernel_of_output(kind, (all, rest), &processors),
        KernelKind::Direct => direct("direct", variants, all, None),
        KernelKind::Quantize => transfer::quantize(rest),
        KernelKind::RawOfBins => {
            let bins = rest.plan.transfer?;
            let of_bins = (transfer::variants_with_bins(variants), rest);
            Some(walks("raw_of_bins", of_bins, (Results::Margins, Some(bins)), &processors))
        }
        KernelKind::DirectOfBins => {
            let bins = rest.plan.transfer?;
            direct("direct_of_bins", variants, transfer::variants_with_bins(variants), Some(bins))
        }
        KernelKind::Base => Some(output::base_margins(rest)),
        KernelKind::PackColumns => Some(pack_columns::pack_columns(rest)),
    }
}

/// The bounded variants whose code is in kernels of leaf indices and leaf values, beside the last variant:
/// the first one, for calls of few rows. More would make tables and compilations larger, for calls that are
/// rare. `on_gpu` tells whether some variant has launches; then there is none.
pub fn variants_of_trees<T>(bounded: &[Bounded<T>], on_gpu: bool) -> &[Bounded<T>] {
    if on_gpu { &[] } else { &bounded[..bounded.len().min(1)] }
}

/// Builds the kernel that computes one output.
fn kernel_of_output(
    kind: OutputKind,
    (bounded, rest): (&[Bounded<Lowering>], &Lowering),
    processors: &Variants<ProcessorKind>,
) -> Option<Function> {
    match OutputDefinition::of(kind) {
        OutputDefinition::Trees(result) => {
            let exists = rest.hir.forest.columns_of_output(kind) > 0;
            let on_gpu = processors.iter().any(|(_, processor)| *processor == ProcessorKind::Device);
            let variants = (variants_of_trees(bounded, on_gpu), rest);
            exists.then(|| walks(kind.word(), variants, (Results::OfTrees(result), None), processors))
        }
        OutputDefinition::Margins(_) if kind.finishes_margins() => {
            output::after_margins(kind, rest, processors)
        }
        OutputDefinition::Margins(_) => {
            Some(walks(kind.word(), (bounded, rest), (Results::Margins, None), processors))
        }
    }
}

/// Builds the function of a kernel: it selects the variant for its number of rows and walks the trees. Rows
/// are values, or bins if `bins` is given.
fn walks(
    name: &str,
    (bounded, rest): (&[Bounded<Lowering>], &Lowering),
    (results, bins): (Results, Option<BinTransfer>),
    processors: &Variants<ProcessorKind>,
) -> Function {
    let mut b = Builder::with_index(name, rest.plan.index);
    emit_variants(&mut b, bounded, rest, (results, bins));
    if results == Results::Margins {
        output::finish_margins(&mut b, &rest.hir.forest, processors);
    }
    b.finish()
}

/// The kernel of devices from rows to predictions. If each prediction follows from one margin, threads
/// transform a margin before they store it; otherwise, blocks transform the margins of their rows at the end
/// of the launch. `None` if some variant runs on the host, if a kernel that stores predictions would read
/// them again as sums, or if the sums of some rows are not complete at the end of any launch.
fn direct(
    name: &str,
    variants: &Variants<Lowering>,
    bounded: &[Bounded<Lowering>],
    bins: Option<BinTransfer>,
) -> Option<Function> {
    let rest = variants.rest();
    let on_devices = processors(variants).iter().all(|(_, processor)| *processor == ProcessorKind::Device);
    if !on_devices {
        return None;
    }
    let walks = |results| walks(name, (bounded, rest), (results, bins), &processors(variants));
    if !output::is_by_margin(&rest.hir.forest) {
        let complete = variants.iter().all(|(_, lowering)| completes_rows(&lowering.mir.body));
        return (complete && RowPredictions::exist(rest)).then(|| walks(Results::RowPredictions));
    }
    let function = walks(Results::Predictions);
    let mut reads = false;
    Stmt::visit_all(&function.body, |stmt| {
        let read = match stmt {
            Stmt::Let(_, op) => op.buffer(),
            Stmt::AtomicAdd(at, _) => Some(at.buffer),
            _ => None,
        };
        reads |= read.is_some_and(|id| function.buffer(id).space == Space::Output);
    });
    (!reads).then_some(function)
}

/// Fewest rows of a call that may pass input columns: from this number on, all variants can read these.
/// `None` if calls can never pass columns.
pub fn least_column_rows(variants: &Variants<Lowering>) -> Option<i64> {
    let takes = |lowering: &Lowering| lowering.plan.takes_columns;
    if !takes(variants.rest()) {
        return None;
    }
    let last = variants.bounded().iter().rev().find(|variant| !takes(&variant.value));
    Some(last.map_or(0, |variant| i64::from(variant.max_rows) + 1))
}

/// Processor that runs each variant.
fn processors(variants: &Variants<Lowering>) -> Variants<ProcessorKind> {
    variants.as_ref().map(|_, lowering| lowering.processor())
}

/// Emits the first variant that covers the number of rows of the call.
fn emit_variants(
    b: &mut Builder,
    bounded: &[Bounded<Lowering>],
    rest: &Lowering,
    (results, bins): (Results, Option<BinTransfer>),
) {
    let [first, larger @ ..] = bounded else { return emit(rest, b, results, bins) };
    let (rows, most) = (b.n_rows(), b.int(first.max_rows.into()));
    let covered = b.cmp(Cmp::Le, rows, most);
    b.if_else(
        covered,
        |b| {
            let outer = b.enter_origin(Origin { max_rows: Some(first.max_rows), ..Origin::default() });
            emit(&first.value, b, results, bins);
            b.leave_origin(outer);
            Vec::new()
        },
        |b| {
            emit_variants(b, larger, rest, (results, bins));
            Vec::new()
        },
    );
}

fn emit(lowering: &Lowering, b: &mut Builder, results: Results, bins: Option<BinTransfer>) {
    if results != Results::RowPredictions {
        return emit_nest(lowering, b, (results, None), bins);
    }
    RowPredictions::in_memory(b, lowering, &mut |b, predictions| {
        emit_nest(lowering, b, (results, Some(predictions)), bins);
    });
}

fn emit_nest<'a>(
    lowering: &'a Lowering<'a>,
    b: &mut Builder,
    results: (Results, Option<RowPredictions<'a>>),
    bins: Option<BinTransfer>,
) {
    let ports = Ports::declare(lowering, b, results, bins);
    // The builder moves into the kernel and back.
    let mut kernel = KernelBuilder::new(std::mem::replace(b, Builder::new("")), &ports);
    lowering.mir.body.emit(&mut kernel);
    *b = kernel.b;
}
