//! The middle of the compiler: HIR, MIR, the plan and LIR, the representations of trees in memory, and the
//! LIR interpreter.
//!
//! [`compile`] is the whole pipeline. All its stages can be printed.

mod budget;
mod bytes;
pub mod codes;
pub mod columns;
pub mod error;
pub mod fault;
mod forests;
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

pub use budget::{Budget, FetchCosts, MOST_LOOKUP_TREES};
pub use error::CompileError;
pub use forests::{KernelForest, KernelForests};

use lir::{BinTransfer, Function, KernelKind, Module, OutputKind, Table};
use sched_forest::{LeafResult, OutputDefinition, Profile};
use sched_nest::{Nest, StageKind, Variants};

/// Result of a compilation, with all its stages for printing.
pub struct Compiled {
    /// The stages of each variant.
    pub variants: Variants<Stages>,
    /// The kernels and tables, which serve all variants.
    pub lir: Module,
}

/// The stages of one variant.
pub struct Stages {
    /// The forest, with its trees ordered and padded, and the nest.
    pub hir: hir::Hir,
    /// The legalised loop nest.
    pub mir: mir::Mir,
    /// The storages and the traversal of each leaf loop.
    pub plan: plan::Plan,
}

/// Lowers a model under checked nests, one for each variant: HIR, MIR, legalised MIR and plan of each, then
/// LIR. Kernels choose among the variants by the number of rows. Leaf indices are computed under the last
/// variant.
///
/// `forests` is a [`Forest`](sched_forest::Forest), or a [`KernelForests`] that several compilations of one
/// forest share. `tileTrees` by probability needs a `profile`.
///
/// # Errors
///
/// When a layout of the nests does not support the model, or a budget would be exceeded. Tables are built
/// only after these checks.
pub fn compile(
    forests: impl Into<KernelForests>,
    profile: Option<&Profile>,
    nests: Variants<Nest>,
    kernels: &[OutputKind],
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    let forests = forests.into();
    let forest = forest_for(&forests, &nests)?;
    let nests = nests.try_map(|max_rows, nest| build_legal_mir(forest, profile, (nest, max_rows), budget))?;
    let on_gpu = nests.iter().any(|(_, (_, mir))| mir::mapped::any_mapped(&mir.body));
    // One function serves all variants. GPUs add 32 bits in one instruction, and 64 in several.
    let budget = &Budget { narrow_indices: budget.narrow_indices || on_gpu, ..*budget };
    // Rows are transferred as bins only for calls of margins: results with leaf indices have more bytes than
    // rows.
    let sums = kernels.contains(&OutputKind::Raw);
    let transfer = if sums { plan::common_transfer(&nests, budget)? } else { None };
    let (variants, tables) = plan_variants(nests, kernels, transfer, on_gpu, budget)?;
    let lowerings = variants.as_ref().map(|max_rows, (stages, numbers)| {
        lower::Lowering::new(&stages.hir, &stages.mir, &stages.plan, numbers, max_rows.map(i64::from))
    });
    let request = KernelRequest {
        outputs: kernels,
        transfers_bins: transfer.is_some(),
        base_is_given: budget.base_is_given,
        on_gpu,
    };
    let mut kernels = build_kernels(&request, &lowerings);
    if check_shared_memory(&kernels, &lowerings).is_err() {
        let compact = lowerings.as_ref().map(|_, lowering| lowering.compact());
        kernels = build_kernels(&request, &compact);
        check_shared_memory(&kernels, &compact)?;
    }
    let lir = Module {
        kernels,
        tables,
        types: lower::interface(&forest.forest().types),
        rows_per_run: rows_per_run(&lowerings),
        least_column_rows: lower::least_column_rows(&lowerings),
        processors: lowerings.map(|_, lowering| lowering.processor()),
        transfer,
    }
    .without_unread_tables();
    Ok(Compiled { variants: variants.map(|_, (stages, _)| stages), lir })
}

/// The forest that kernels walk under some nests. The scores of a linear model are columns if some nest
/// arranges their loops. Sets of categories are tested by class if the layouts of all nests support that.
fn forest_for<'f>(
    forests: &'f KernelForests,
    nests: &Variants<Nest>,
) -> Result<&'f KernelForest, CompileError> {
    let arranges_scores =
        |nest: &Nest| nest.stages.iter().any(|arranged| arranged.stage.kind == StageKind::Scores);
    if nests.iter().any(|(_, nest)| arranges_scores(nest))
        && let Some(forest) = forests.with_score_columns()
    {
        return Ok(forest);
    }
    let source = forests.source();
    Ok(forests.with_feasible_set_tests(hir::choose_set_tests(source, nests.iter().map(|(_, nest)| nest))))
}

/// Compiles a nest, for calls of at most `max_rows` rows, up to its legalised MIR.
fn build_legal_mir(
    forest: &KernelForest,
    profile: Option<&Profile>,
    (nest, max_rows): (Nest, Option<u32>),
    budget: &Budget,
) -> Result<(hir::Hir, mir::Mir), CompileError> {
    let hir = hir::build(forest, profile, nest, budget)?;
    let mir = mir::build(&hir, budget)?;
    let sums = mir::reduce::RowSums {
        margins: hir.forest.num_margins as u64,
        bytes: hir.forest.types.accumulator.bytes() as u64,
        are_in_turn: hir.forest.takes_margins_in_turn(),
    };
    let mir = mir::reduce::legalise(mir, sums, budget)?;
    let mir = mir::launch::separate_launches(mir)?;
    let mir = mir::columns::place_columns_of_launches(mir, &hir, budget)?;
    let mir = mir::launch::guard_launches(mir)?;
    let margins = mir::RowMargins {
        count: hir.forest.num_margins,
        together: hir.outputs.steps(OutputKind::Value).is_some() && !lower::is_by_margin(&hir.forest),
    };
    let mir = mir::finish_in_last_blocks(mir, margins, max_rows);
    Ok((hir, mir))
}

/// The stages of each variant with the numbers of its tables.
type PlannedVariants = Variants<(Stages, lower::TableNumbers)>;

/// The plan of each nest, and the tables of all nests. The tables of a variant are built before the next
/// variant is planned: tables with the same content are shared, and all together must fit the budget.
fn plan_variants(
    nests: Variants<(hir::Hir, mir::Mir)>,
    kernels: &[OutputKind],
    transfer: Option<BinTransfer>,
    on_gpu: bool,
    budget: &Budget,
) -> Result<(PlannedVariants, Vec<Table>), CompileError> {
    let mut tables: Vec<Table> = Vec::new();
    let of_trees = lower::variants_of_trees(nests.bounded(), on_gpu);
    let of_trees: Vec<u32> = of_trees.iter().map(|variant| variant.max_rows).collect();
    let variants = nests.try_map(|max_rows, (hir, mir)| {
        let stores_trees = max_rows.is_none_or(|most| of_trees.contains(&most));
        let leaf_indices = stores_trees
            && kernels.iter().any(|kind| {
                matches!(OutputDefinition::of(*kind), OutputDefinition::Trees(LeafResult::Index))
            });
        let by_tree = stores_trees && kernels.iter().any(|kind| kind.walks_itself());
        let reaches = |transfer: &BinTransfer| max_rows.is_none_or(|most| transfer.least_rows <= most.into());
        let setting = plan::Setting {
            leaf_indices,
            transfer: transfer.filter(reaches),
            used_table_bytes: tables.iter().map(|table| table.bytes.len() as u64).sum(),
        };
        let plan = plan::build(&hir, &mir, setting, budget)?;
        let numbers = lower::TableNumbers::of_tables(&hir, &plan, by_tree, &mut tables);
        Ok((Stages { hir, mir, plan }, numbers))
    })?;
    Ok((variants, tables))
}

/// Outputs and properties of the kernels of a compilation.
struct KernelRequest<'k> {
    outputs: &'k [OutputKind],
    /// Whether rows are transferred to a device as bins.
    transfers_bins: bool,
    /// Whether kernels add to margins that their output holds.
    base_is_given: bool,
    /// Whether some variant has launches.
    on_gpu: bool,
}

/// The functions of the requested kernels that the model has. Kernels from rows to predictions in one pass
/// are added, unless the caller gives base margins. If rows are transferred as bins, kernels that read bins
/// are added. If the caller gives base margins to kernels of a GPU, a kernel that writes the model's base
/// values is added. GPUs have a kernel that packs columns into rows.
fn build_kernels(
    request: &KernelRequest,
    lowerings: &Variants<lower::Lowering>,
) -> Vec<(KernelKind, Function)> {
    let KernelRequest { outputs, transfers_bins, base_is_given, on_gpu } = *request;
    let sums = outputs.contains(&OutputKind::Raw);
    let direct = sums && outputs.contains(&OutputKind::Value) && !base_is_given;
    let mut kernels: Vec<KernelKind> = outputs.iter().copied().map(KernelKind::Output).collect();
    kernels.extend(direct.then_some(KernelKind::Direct));
    kernels.extend((sums && base_is_given && on_gpu).then_some(KernelKind::Base));
    kernels.extend(on_gpu.then_some(KernelKind::PackColumns));
    if transfers_bins {
        kernels.extend([KernelKind::Quantize, KernelKind::RawOfBins]);
        kernels.extend(direct.then_some(KernelKind::DirectOfBins));
    }
    let functions = kernels.into_iter().filter_map(|kind| Some((kind, lower::kernel(kind, lowerings)?)));
    let mut functions: Vec<_> = functions.collect();
    if !functions.iter().any(|(kind, _)| *kind == KernelKind::Direct) {
        functions.retain(|(kind, _)| *kind != KernelKind::DirectOfBins);
    }
    functions
}

/// Refuses kernels whose blocks need more shared memory than a nest allows.
fn check_shared_memory(
    kernels: &[(KernelKind, Function)],
    lowerings: &Variants<lower::Lowering>,
) -> Result<(), CompileError> {
    let limits = lowerings.iter().filter_map(|(_, lowering)| lowering.hir.nest.shared_memory);
    let Some(least) = limits.min() else { return Ok(()) };
    kernels.iter().try_for_each(|(_, function)| lower::check_shared(function, least))
}

/// Largest number of rows of a run: the least limit of all variants, except for limits that no call of their
/// variant reaches.
fn rows_per_run(lowerings: &Variants<lower::Lowering>) -> Option<i64> {
    let limits = lowerings.iter().filter_map(|(max_rows, lowering)| {
        let limit = lowering.plan.rows_per_run?;
        max_rows.is_none_or(|max_rows| limit < i64::from(max_rows)).then_some(limit)
    });
    limits.min()
}
