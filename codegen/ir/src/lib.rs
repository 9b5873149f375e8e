//! The middle of the compiler: HIR, MIR, the plan and LIR, the representations of trees in memory, and the
//! LIR interpreter.
//!
//! [`compile`] is the whole pipeline; each stage between can be printed.

mod budget;
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

pub use budget::{Budget, FetchCosts};
pub use error::CompileError;

use fault::{Fault, seeded};
use lir::{BinTransfer, ColumnKind, ColumnsTooLarge, KernelKind, Module, RowColumns, Table};
use quantize::BinMap;
use sched_forest::{Float, Forest, Predicate, Profile, SetTests, Target};
use sched_nest::{Nest, Variants};
use std::sync::Arc;

/// A compilation with its stages kept for printing.
pub struct Compiled {
    /// The stages of each variant.
    pub variants: Variants<Stages>,
    /// The kernels and tables, which serve all variants.
    pub lir: Module,
}

/// The stages of one variant.
pub struct Stages {
    /// The forest, ordered and padded, beside the nest.
    pub hir: hir::Hir,
    /// The legalised loop nest.
    pub mir: mir::Mir,
    /// How it runs.
    pub plan: plan::Plan,
}

/// Lowers a forest under checked nests: HIR -> MIR -> legalised MIR -> plan, for each variant, and LIR, whose kernels
/// choose among the variants by the number of rows. Numbers of leaves are found under the last variant, whatever the
/// number of rows. Tiles of nodes by probability need a profile.
///
/// # Errors
///
/// When the model cannot be laid out as one of the nests asks, or a budget would be exceeded. Nothing large is
/// built before that is known.
pub fn compile(
    forest: impl Into<Arc<Forest>>,
    profile: Option<&Profile>,
    nests: Variants<Nest>,
    kernels: &[KernelKind],
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    let mut forest = forest.into();
    if forest.has_linear_leaves() && forest.trees.iter().any(|tree| tree.target == Target::All) {
        return Err(linear_beside_vectors());
    }
    let columns = columns(&forest, &nests).map_err(too_large)?;
    if let Some(columns) = &columns {
        forest = Arc::new(columns.forest().clone());
    }
    if forest.has_wide_thresholds() {
        let wide = Arc::unwrap_or_clone(forest);
        forest = Arc::new(match fault::seeded(fault::Fault::ThresholdsToNearest) {
            true => with_nearest_thresholds(wide),
            false => wide.with_narrow_thresholds(),
        });
    }
    let types = lower::interface(&forest.types);
    let loops = nests.try_map(|_, nest| loops(Arc::clone(&forest), profile, nest, budget))?;
    // One function serves all variants. GPUs add 32 bits in one instruction, and 64 in several.
    let on_gpu = loops.iter().any(|(_, (_, mir))| mir::mapped::any_mapped(&mir.body));
    if on_gpu && lower::needs_library(&forest) {
        return Err(no_gpu_function());
    }
    if on_gpu && budget.base_is_given {
        return Err(no_base_on_gpu());
    }
    let budget = &Budget { narrow_indices: budget.narrow_indices || on_gpu, ..*budget };
    let mut tables: Vec<Table> = Vec::new();
    let built = loops.try_map(|max_rows, (hir, mir)| {
        let leaf_indices = max_rows.is_none() && kernels.contains(&KernelKind::Leaf);
        let by_tree = leaf_indices || (max_rows.is_none() && kernels.contains(&KernelKind::Tree));
        let spent = tables.iter().map(|table| table.bytes.len() as u64).sum();
        let mut plan = plan::build(&hir, &mir, leaf_indices, budget, spent)?;
        // Columns that are made for the kernels lie in rows.
        plan.takes_columns &= columns.is_none();
        plan.set_columns = columns.as_ref().map_or(0, RowColumns::sets);
        let numbers = lower::Numbers::of_tables(&hir, &plan, by_tree, &mut tables);
        Ok((Stages { hir, mir, plan }, numbers))
    })?;
    // The numbers of leaves are more bytes than rows: only calls for sums make use of bins.
    let plans = built.as_ref().map(|_, (stages, _)| (&stages.hir, &stages.plan));
    let transfer = plan::common_transfer(&plans).filter(|_| kernels.contains(&KernelKind::Raw));
    let built = built.map(|max_rows, (mut stages, numbers)| {
        let is_short =
            |transfer: &BinTransfer| max_rows.is_some_and(|most| i64::from(most) < transfer.least_rows);
        stages.plan.transfer = transfer.filter(|transfer| !is_short(transfer));
        (stages, numbers)
    });
    let lowerings = built.as_ref().map(|max_rows, (stages, numbers)| {
        let Stages { hir, mir, plan } = stages;
        lower::Lowering::new(hir, mir, plan, numbers, max_rows.map(i64::from))
    });
    let mut kernels = kernels.to_vec();
    let direct = [KernelKind::Raw, KernelKind::Value].iter().all(|kind| kernels.contains(kind));
    kernels.extend(direct.then_some(KernelKind::Direct));
    if transfer.is_some() {
        kernels.extend([KernelKind::Quantize, KernelKind::RawOfBins]);
        kernels.extend(direct.then_some(KernelKind::DirectOfBins));
    }
    let mut functions: Vec<_> =
        kernels.into_iter().filter_map(|k| Some((k, lower::kernel(k, &lowerings)?))).collect();
    if !functions.iter().any(|(kind, _)| *kind == KernelKind::Direct) {
        functions.retain(|(kind, _)| *kind != KernelKind::DirectOfBins);
    }
    let limits = built.iter().filter_map(|(_, (stages, _))| stages.hir.nest.shared_memory);
    if let Some(most) = limits.min() {
        functions.iter().try_for_each(|(_, function)| lower::check_shared(function, most))?;
    }
    // A limit that no call of a variant reaches does not concern the others.
    let limits = built.iter().filter_map(|(max_rows, (stages, _))| {
        let limit = stages.plan.rows_per_run?;
        max_rows.is_none_or(|max_rows| limit < i64::from(max_rows)).then_some(limit)
    });
    let rows_per_run = limits.min();
    let columns_from = lower::columns_from(&lowerings);
    let places = lowerings.map(|_, lowering| lowering.place());
    let lir =
        Module { kernels: functions, tables, types, rows_per_run, places, columns, columns_from, transfer };
    let mut lir = lir.without_unread_tables();
    if let Some(columns) = &mut lir.columns {
        columns.add_tables(&mut lir.tables);
    }
    Ok(Compiled { variants: built.map(|_, (stages, _)| stages), lir })
}

/// The columns of rows, if some test is not numeric. Classes of categories have columns where the layouts of all nests hold
/// sets of them.
fn columns(forest: &Arc<Forest>, nests: &Variants<Nest>) -> Result<Option<RowColumns>, ColumnsTooLarge> {
    let tested = hir::set_tests(forest, nests.iter().map(|(_, nest)| nest));
    let mut columns = RowColumns::of(forest, tested)?;
    let fits = |columns: &RowColumns| BinMap::of(columns.forest()).is_ok_and(|bins| bins.holds_sets());
    if tested == SetTests::OfClasses && !columns.as_ref().is_none_or(fits) {
        columns = RowColumns::of(forest, SetTests::OfColumns)?;
    }
    if let Some(columns) = columns.as_mut().filter(|_| seeded(Fault::ZeroIsNotMissing)) {
        columns.tables.parts.iter_mut().for_each(|part| {
            if part.kind == ColumnKind::ZeroIsMissing {
                part.kind = ColumnKind::Value;
            }
        });
    }
    Ok(columns)
}

/// What [`Forest::with_narrow_thresholds`] would do if it were wrong.
fn with_nearest_thresholds(mut forest: Forest) -> Forest {
    for inner in forest.trees.iter_mut().flat_map(|tree| &mut tree.inner) {
        if let Predicate::Numeric { threshold } = &mut inner.predicate {
            *threshold = f64::from(*threshold as f32);
        }
    }
    forest.types.threshold = Float::F32;
    forest
}

fn linear_beside_vectors() -> CompileError {
    CompileError::new(
        codes::LINEAR,
        "the model has trees with linear leaves and others with leaves of several values, which there is no code for",
        "make two models of it, and add up what they predict",
    )
}

fn too_large(why: ColumnsTooLarge) -> CompileError {
    CompileError::new(
        codes::CATEGORY_BUDGET,
        format!("{} would need tables of more than {} MiB", why.what, why.mebibytes),
        "number the categories from 0 without gaps, or train with fewer of them",
    )
}

fn no_base_on_gpu() -> CompileError {
    CompileError::new(
        codes::NO_GPU_BASE,
        "rows bring a base margin, and code for GPUs begins with the model's own base values",
        "predict on the processor: leave gpuDimension out, or use `target cpu`",
    )
}

fn no_gpu_function() -> CompileError {
    CompileError::new(
        codes::NO_GPU_FUNCTION,
        "the model's predictions need a logarithm or a power of two, which there is no code for on GPUs",
        "predict on the processor: leave gpuDimension out, or use `target cpu`",
    )
}

/// The stages before the plan.
fn loops(
    forest: Arc<Forest>,
    profile: Option<&Profile>,
    nest: Nest,
    budget: &Budget,
) -> Result<(hir::Hir, mir::Mir), CompileError> {
    let hir = hir::build(forest, profile, nest, budget)?;
    let mir = mir::build(&hir, budget)?;
    let row_bytes = hir.forest.num_margins as u64 * hir.forest.types.accumulator.bytes() as u64;
    let mir = mir::reduce::legalise(mir, row_bytes, budget)?;
    let mir = mir::launch::separate(mir)?;
    Ok((hir, mir))
}
