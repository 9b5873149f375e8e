//! Words for problems: message, label, help and fixes.

mod alternatives;
mod annotations;
mod context;
mod device;
mod launches;
mod layout;
mod lints;
mod reorder;
mod rewrites;
mod shape;
mod slow;
mod stages;

use crate::device::Limits;
use crate::diagnostics::Fix;
use crate::illegal::{Illegal, Problem};
use crate::lineage::NestBuilder;
use crate::report::Report;
use context::{MessageContext, Wording};

/// Options of the wording.
pub(crate) struct WordingOptions<'a> {
    /// Limits for a search for legal alternatives, if one is wanted. The search runs if all fixes only remove
    /// text.
    pub limits: Option<Limits>,
    /// Whether the target is explicitly a CPU.
    pub for_cpu: bool,
    /// Loops that only stages of columns have, by their bare names, if the nest of trees lacks the named
    /// loop.
    pub other_loops: &'a [String],
}

/// Puts a problem into words.
pub(crate) fn put_into_words(
    illegal: &Illegal,
    builder: &NestBuilder,
    report: &Report,
    options: &WordingOptions,
) -> Wording {
    let WordingOptions { for_cpu, other_loops, .. } = *options;
    let context = MessageContext { illegal, builder, report, for_cpu, other_loops };
    let mut wording = wording_of(&context);
    let deletes = |fix: &Fix| fix.edits.iter().all(|edit| edit.text.is_empty());
    if let Some(limits) = options.limits.as_ref().filter(|_| wording.fixes.iter().all(deletes)) {
        wording.fixes.splice(0..0, alternatives::alternatives(&context, limits));
    }
    wording
}

/// Words for each problem. A problem without words does not compile.
fn wording_of(context: &MessageContext) -> Wording {
    use Problem as P;
    match &context.illegal.problem {
        // Poisoned names need no message.
        P::Poisoned => Wording::default(),
        P::UnknownIndex { name } => shape::unknown_index(context, name),
        P::NoSuchCopy { path } => shape::no_such_copy(context, path),
        P::CopyInStage { stage, path } => stages::copy_in_stage(context, stage, path),
        P::NameTaken { name } => shape::name_taken(context, name),
        P::Consumed { name, by } => shape::consumed(context, name, *by),
        P::AnnotationLost { consumer } => shape::annotation_lost(context, *consumer),
        P::TileSize { size, largest } => shape::tile_size(*size, *largest),
        P::TileOffStep { size, stride } => shape::tile_off_step(context, *size, *stride),
        P::SplitOutside { at, start, stop } => shape::split_outside(context, at, start, stop),
        P::SplitOffStep { offset, stride } => shape::split_off_step(context, *offset, *stride),
        P::ReorderFew => reorder::few(context),
        P::ReorderTwice { name } => reorder::twice(name),
        P::ReorderNoPath => reorder::no_path(),
        P::ReorderFork { outer, inside } => reorder::fork(context, outer, inside),
        P::ReorderGap { outer, inner, between } => reorder::gap(context, outer, inner, between),
        P::SpecializeLeaf => shape::specialize_leaf(context),
        P::TripsUnknown => shape::trips_unknown(context),
        P::TripsHuge { trips, limit } => shape::trips_huge(context, *trips, *limit),
        P::Specialized { by } => shape::specialized(context, *by),
        P::UnknownStage { name, known } => stages::unknown_stage(context, name, known),
        P::TwoStages(loops) => stages::two_stages(context, loops),
        P::NotInStage { stage, of_trees } => stages::not_in_stage(context, stage, of_trees),
        P::TermsOutOfOrder(fault) => stages::terms_out_of_order(context, fault),
        P::StageLanes(fault) => stages::stage_lanes(context, fault),
        P::StageRows { stage, rows, unlimited, limit } => {
            stages::stage_rows(context, (stage, unlimited.as_deref()), *rows, *limit)
        }
        P::NotTrees => shape::not_trees(context),
        P::DepthTwice { by } => shape::depth_twice(context, *by),
        P::TreesUnknown => shape::trees_unknown(context),
        P::PositionUnknown { outer } => shape::position_unknown(context, outer),
        P::SortTooLate { by } => shape::sort_too_late(context, *by),
        P::TooManyLoops => shape::too_many_loops(),
        P::TooDeep => shape::too_deep(),
        P::Contradiction { earlier } => annotations::contradiction(context, *earlier),
        P::Repeated { earlier } => lints::repeated(context, *earlier),
        P::NotLeaf { leaves } => annotations::not_leaf(context, leaves),
        P::TooSmall { value } => annotations::too_small(context, *value),
        P::TooLarge { value, limit } => annotations::too_large(context, *value, *limit),
        P::NotParallel => annotations::not_parallel(context),
        P::CannotUnrollAndJam(needs) => annotations::cannot_unroll_and_jam(context, needs),
        P::NotPowerOfTwo { width } => annotations::not_power_of_two(context, *width),
        P::ParallelOnGpu { gpu } => annotations::parallel_on_gpu(context, *gpu),
        P::GpuOnCpu => annotations::gpu_on_cpu(context),
        P::DimensionTwice { outer, earlier } => annotations::dimension_twice(outer, *earlier),
        P::BlockOutsideGrid => annotations::block_outside_grid(),
        P::BlockNotConstant => annotations::block_not_constant(context),
        P::TooManyThreads { threads, limit } => annotations::too_many_threads(*threads, *limit),
        P::DimensionTooLarge { dimension, count, limit } => {
            device::dimension_too_large(context, *dimension, *count, *limit)
        }
        P::SharedMemory { total, limit, uses, layout } => {
            device::shared_memory(context, *total, *limit, uses, *layout)
        }
        P::SharedMemoryUnsure { total, everywhere } => device::shared_memory_unsure(*total, *everywhere),
        P::CacheOutsideLaunch => device::cache_outside_launch(context),
        P::BinsNotCached { layout } => launches::bins_not_cached(context, *layout),
        P::ThreadCache => launches::thread_cache(context),
        P::UnlimitedCache => launches::unlimited_cache(context),
        P::WalksOutsideLaunch => launches::walks_outside(context),
        P::SeveralTreeLoops => launches::several_tree_loops(context),
        P::SameSums => launches::same_sums(context),
        P::UnlimitedSums => launches::unlimited_sums(context),
        P::RowsNotConsecutive => launches::rows_not_consecutive(context),
        P::PaddingTooLarge { bytes, limit, most } => device::padding(context, *bytes, *limit, *most),
        P::LayoutTooLarge { bytes, limit } => layout::too_large(context, *bytes, *limit),
        P::NotOblivious { tree } => layout::not_oblivious(context, *tree),
        P::NotBlockTrees => annotations::not_block_trees(context),
        P::VectorOnGpu { lanes } => annotations::vector_on_gpu(context, *lanes),
        P::LayoutNeedsSingleNodes { layout, tiles } => {
            annotations::layout_needs_single_nodes(context, *layout, *tiles)
        }
        P::WalkNeedsSingleNodes { tiles } => annotations::walk_needs_single_nodes(context, *tiles),
        P::NoProfile => annotations::no_profile(),
        P::RunDepthUnknown => annotations::run_depth_unknown(),
        P::CodeTooLarge { size } => annotations::code_too_large(context, size),
        P::CodeLarge { size } => lints::code_large(size),
        P::Unverified { what } => lints::unverified(context, what),
        P::TileOfOne => lints::tile_of_one(),
        P::PartialTile { extent, size } => lints::partial_tile(context, *extent, *size),
        P::PeelPointless { unroll } => lints::peel_pointless(context, *unroll),
        P::DivergentWarp { together, warp } => lints::divergent_warp(context, *together, *warp),
        P::CacheTooLarge { bytes, limit } => lints::cache_too_large(context, *bytes, *limit),
        P::InterleaveOfOne => lints::interleave_of_one(context),
        P::EmptyLanes { lanes, trips } => lints::empty_lanes(context, *lanes, *trips),
        P::NoSteps { layout, chosen } => lints::no_steps(context, *layout, *chosen),
        P::NoNodes => lints::no_nodes(context),
        P::UnrollBeyond { depth, deepest } => lints::unroll_beyond(context, *depth, *deepest),
        P::NarrowVector { lanes, full, bin_bytes, chosen } => {
            slow::narrow_vector(context, (*lanes, *full), *bin_bytes, *chosen)
        }
        P::TileBeyond { extent, size } => slow::tile_beyond(context, *extent, *size),
        P::OneBlock { rows } => slow::one_block(context, *rows),
        P::UnrolledFar { copies } => slow::unrolled_far(context, *copies),
        P::NestedParallel { outer, earlier } => lints::nested_parallel(context, outer, *earlier),
    }
}
