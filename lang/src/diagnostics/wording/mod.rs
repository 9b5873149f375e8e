//! Words for illegal operations: what is wrong, what is to be seen, and the ways out.

mod alternatives;
mod annotations;
mod device;
mod lints;
mod rewrites;
mod shape;

use crate::device::Limits;
use crate::diagnostics::{Applicability, Edit, Fix};
use crate::illegal::{Illegal, Problem};
use crate::lineage::{DirectiveIndex, NestBuilder};
use crate::report::Report;
use crate::resolve::list;

/// An illegal operation in words.
#[derive(Default)]
pub(crate) struct Wording {
    pub message: String,
    pub label: String,
    /// Operation, argument and what is there.
    pub labels: Vec<(DirectiveIndex, Option<usize>, String)>,
    pub help: Option<String>,
    pub fixes: Vec<Fix>,
}

impl Wording {
    fn new(message: impl Into<String>, label: impl Into<String>) -> Self {
        Wording { message: message.into(), label: label.into(), ..Wording::default() }
    }

    fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    fn and(mut self, step: DirectiveIndex, text: impl Into<String>) -> Self {
        self.labels.push((step, None, text.into()));
        self
    }

    fn fix(mut self, fix: Option<Fix>) -> Self {
        self.fixes.extend(fix);
        self
    }

    fn fixes(mut self, fixes: impl IntoIterator<Item = Fix>) -> Self {
        self.fixes.extend(fixes);
        self
    }
}

/// What the words can draw on.
struct Context<'a> {
    illegal: &'a Illegal,
    builder: &'a NestBuilder,
    report: &'a Report<'a>,
}

/// Puts an illegal operation into words. With `limits`, legal alternatives are looked for where the words offer nothing
/// but to leave it out.
pub(crate) fn word(
    illegal: &Illegal,
    builder: &NestBuilder,
    report: &Report,
    limits: Option<&Limits>,
) -> Wording {
    let context = Context { illegal, builder, report };
    let mut wording = words(&context);
    let deletes = |fix: &Fix| fix.edits.iter().all(|edit| edit.text.is_empty());
    if let Some(limits) = limits.filter(|_| wording.fixes.iter().all(deletes)) {
        wording.fixes.splice(0..0, alternatives::alternatives(&context, limits));
    }
    wording
}

/// The words for each problem: what has none does not compile.
fn words(context: &Context) -> Wording {
    use Problem as P;
    match &context.illegal.problem {
        // Nobody is told.
        P::Poisoned => Wording::default(),
        P::UnknownIndex { name } => shape::unknown_index(context, name),
        P::NoSuchCopy { path } => shape::no_such_copy(context, path),
        P::NameTaken { name } => shape::name_taken(context, name),
        P::Consumed { name, by } => shape::consumed(context, name, *by),
        P::AnnotationLost { consumer } => shape::fact_lost(context, *consumer),
        P::TileSize { size } => shape::tile_size(*size),
        P::TileOffStep { size, stride } => shape::tile_off_step(context, *size, *stride),
        P::SplitOutside { at, start, stop } => shape::split_outside(context, at, start, stop),
        P::SplitOffStep { offset, stride } => shape::split_off_step(context, *offset, *stride),
        P::ReorderFew => shape::reorder_few(context),
        P::ReorderTwice { name } => shape::reorder_twice(name),
        P::ReorderNoPath => shape::reorder_no_path(),
        P::ReorderFork { outer, inside } => shape::reorder_fork(context, outer, inside),
        P::ReorderGap { outer, inner, between } => shape::reorder_gap(outer, inner, between),
        P::SpecializeLeaf => shape::specialize_leaf(context),
        P::TripsUnknown => shape::trips_unknown(context),
        P::TripsHuge { trips, limit } => shape::trips_huge(context, *trips, *limit),
        P::Specialized { by } => shape::specialized(context, *by),
        P::NotTrees => shape::not_trees(context),
        P::DepthTwice { by } => shape::depth_twice(context, *by),
        P::TreesUnknown => shape::trees_unknown(context),
        P::PositionUnknown { outer } => shape::position_unknown(context, outer),
        P::SortTooLate { by } => shape::sort_too_late(context, *by),
        P::TooManyLoops => shape::too_many_loops(),
        P::TooDeep => shape::too_deep(),
        P::Contradiction { earlier } => model::contradiction(context, *earlier),
        P::Repeated { earlier } => lints::repeated(context, *earlier),
        P::NotLeaf { leaves } => model::not_leaf(context, leaves),
        P::TooSmall { value } => model::too_small(context, *value),
        P::TooLarge { value, limit } => model::too_large(context, *value, *limit),
        P::NotParallel => model::not_parallel(context),
        P::NotPowerOfTwo { width } => model::not_power_of_two(context, *width),
        P::ParallelOnGpu { gpu } => model::parallel_on_gpu(context, *gpu),
        P::GpuOnCpu => model::gpu_on_cpu(context),
        P::DimensionTwice { outer, earlier } => model::dimension_twice(context, outer, *earlier),
        P::BlockOutsideGrid => model::block_outside_grid(),
        P::BlockNotConstant => model::block_not_constant(context),
        P::TooManyThreads { threads, limit } => model::too_many_threads(*threads, *limit),
        P::DimensionTooLarge { dimension, count, limit } => {
            device::dimension_too_large(context, *dimension, *count, *limit)
        }
        P::SharedMemory { total, limit, uses } => device::shared_memory(context, *total, *limit, uses),
        P::SharedMemoryUnsure { total, everywhere } => device::shared_memory_unsure(*total, *everywhere),
        P::CacheOutsideLaunch => device::cache_outside_launch(context),
        P::PaddingTooLarge { bytes, limit, most } => device::padding(context, *bytes, *limit, *most),
        P::LayoutTooLarge { bytes, limit } => device::layout_too_large(context, *bytes, *limit),
        P::NotBlockTrees => model::not_block_trees(context),
        P::VectorOnGpu => model::vector_on_gpu(context),
        P::LayoutNeedsSingleNodes { layout, tiles } => {
            model::layout_needs_single_nodes(context, *layout, *tiles)
        }
        P::WalkNeedsSingleNodes { tiles } => model::walk_needs_single_nodes(context, *tiles),
        P::NoProfile => model::no_profile(),
        P::RunDepthUnknown => model::run_depth_unknown(),
        P::CodeTooLarge { size } => annotations::code_too_large(context, size),
        P::CodeLarge { size } => lints::code_large(size),
        P::Unverified { what } => lints::unverified(context, what),
        P::TileOfOne => lints::tile_of_one(),
        P::PartialTile { extent, size } => lints::partial_tile(context, *extent, *size),
        P::PeelPointless { unroll } => lints::peel_pointless(context, *unroll),
        P::CacheTooLarge { bytes, limit } => lints::cache_too_large(context, *bytes, *limit),
        P::InterleaveOfOne => lints::interleave_of_one(context),
        P::EmptyLanes { lanes, trips } => lints::empty_lanes(context, *lanes, *trips),
        P::NoSteps { layout } => lints::no_steps(context, *layout),
        P::UnrollBeyond { depth, deepest } => lints::unroll_beyond(context, *depth, *deepest),
        P::NestedParallel { outer, earlier } => lints::nested_parallel(context, outer, *earlier),
    }
}

impl Context<'_> {
    /// The name of the directive at fault.
    fn directive(&self) -> &str {
        self.report.directive_name(self.illegal.step)
    }

    /// An operation's text in quotes.
    fn quote(&self, step: DirectiveIndex) -> String {
        format!("`{}`", self.report.text(step))
    }

    /// The name of the first loop concerned.
    fn first(&self) -> String {
        self.illegal.loops.first().map(|id| self.builder.name(*id)).unwrap_or_default()
    }

    /// The names of the loops concerned, each once.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for id in self.illegal.loops.iter().take(8) {
            let name = self.builder.name(*id);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A fix that writes something else for the argument at fault.
    fn replace(&self, text: &str, applicability: Applicability) -> Option<Fix> {
        let argument = self.illegal.argument?;
        let span = self.report.place(self.illegal.step, Some(argument));
        let edits = vec![Edit { span, text: text.to_owned() }];
        Some(Fix { title: format!("write `{text}`"), edits, applicability })
    }

    /// Fixes that write one of these for the argument at fault.
    fn replace_by_any<'t>(&self, texts: impl IntoIterator<Item = &'t String>) -> Vec<Fix> {
        texts.into_iter().filter_map(|text| self.replace(text, Applicability::Unsure)).collect()
    }

    /// A fix that removes the directive.
    fn remove(&self, step: DirectiveIndex) -> Fix {
        let span = self.report.place(step, None);
        let title = format!("remove {}", self.quote(step));
        Fix { title, edits: vec![Edit { span, text: String::new() }], applicability: Applicability::Unsure }
    }

    /// A fix that writes a directive before another one.
    fn insert_before(&self, step: DirectiveIndex, text: &str) -> Fix {
        let start = self.report.place(step, None).start;
        let span = sched_grammar::ast::Span { start, end: start };
        let edits = vec![Edit { span, text: format!("{text}\n") }];
        Fix { title: format!("write `{text}` before it"), edits, applicability: Applicability::Unsure }
    }
}

/// "Use `a`, `b` or `c`."
fn use_one_of(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("Use `{only}`."),
        [rest @ .., last] => format!("Use {} or `{last}`.", list(rest).replace(" and ", ", ")),
    }
}
