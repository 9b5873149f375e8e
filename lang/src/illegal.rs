//! Problems of an operation, as plain data. A search over schedules can discard illegal ones without
//! formatting a string. [`crate::diagnostics`] words them.

use crate::diagnostics::{Code, codes};
use crate::lineage::DirectiveIndex;
pub use crate::needs::{SharedMemoryUse, UnrollAndJamNeeds};
use crate::obligation::Obligation;
pub use crate::size::Size;
use sched_nest::sym::Sym;
use sched_nest::{GpuDimension, Layout, LoopId};

/// A refused operation, or a legal one with a remark.
#[derive(Clone, Debug, PartialEq)]
pub struct Illegal {
    /// The operation.
    pub step: DirectiveIndex,
    /// The argument at fault, if it is one.
    pub argument: Option<usize>,
    /// The problem.
    pub problem: Problem,
    /// The loops concerned. For an unknown name, the loops that it could mean.
    pub loops: Vec<LoopId>,
}

impl Illegal {
    /// A problem with a whole operation.
    pub fn at(step: DirectiveIndex, problem: Problem, loops: Vec<LoopId>) -> Self {
        Illegal { step, argument: None, problem, loops }
    }

    /// A problem with one argument.
    pub fn argument(step: DirectiveIndex, argument: usize, problem: Problem, loops: Vec<LoopId>) -> Self {
        Illegal { step, argument: Some(argument), problem, loops }
    }
}

/// The problem.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// The operation uses a name whose declaration was refused. This needs no message.
    Poisoned,
    /// No index has this name.
    UnknownIndex {
        /// The written name.
        name: String,
    },
    /// The qualifiers mean no copy of the index.
    NoSuchCopy {
        /// The written name.
        path: String,
    },
    /// The new index has the name of another one.
    NameTaken {
        /// The written name.
        name: String,
    },
    /// The index was consumed. The loops are its successors.
    Consumed {
        /// The written name.
        name: String,
        /// Directive that consumed it.
        by: DirectiveIndex,
    },
    /// The operation annotates an index that another one consumes.
    AnnotationLost {
        /// Directive that consumes it.
        consumer: DirectiveIndex,
    },
    /// A tile below 1.
    TileSize {
        /// The given value.
        size: i64,
    },
    /// A tile whose size is not a multiple of the loop's step.
    TileOffStep {
        /// The given value.
        size: i64,
        /// The loop's step.
        stride: i64,
    },
    /// A split point that leaves one half empty.
    SplitOutside {
        /// The given value.
        at: Box<Sym>,
        /// Start of the loop.
        start: Box<Sym>,
        /// End of the loop.
        stop: Box<Sym>,
    },
    /// A split point between two values of the loop.
    SplitOffStep {
        /// Distance from the loop's start.
        offset: i64,
        /// The loop's step.
        stride: i64,
    },
    /// A reorder of fewer than two loops.
    ReorderFew,
    /// A reorder that names a loop twice.
    ReorderTwice {
        /// The loop.
        name: String,
    },
    /// No path of the nest holds all the loops.
    ReorderNoPath,
    /// A loop that is not the innermost one of the chain contains several loops.
    ReorderFork {
        /// The loop.
        outer: String,
        /// Some of the loops inside.
        inside: Vec<String>,
    },
    /// Loops without a name in the reorder are between two that have one.
    ReorderGap {
        /// Outer loop.
        outer: String,
        /// Inner loop.
        inner: String,
        /// Loops between them.
        between: Box<[String]>,
    },
    /// A leaf loop has nothing inside to copy.
    SpecializeLeaf,
    /// The number of iterations is known only at run time.
    TripsUnknown,
    /// The loop has too many iterations to expand.
    TripsHuge {
        /// Number of iterations.
        trips: i64,
        /// Largest allowed number of iterations.
        limit: i64,
    },
    /// The loop is specialized, so it cannot be reshaped any more.
    Specialized {
        /// Directive that specialized it.
        by: DirectiveIndex,
    },
    /// The operation needs a loop over trees, and the loop is over rows.
    NotTrees,
    /// The loop was already split by depth.
    DepthTwice {
        /// Directive that split it.
        by: DirectiveIndex,
    },
    /// The trees of an iteration would take too long to find.
    TreesUnknown,
    /// The trees of an iteration depend on an outer tree loop.
    PositionUnknown {
        /// The outer loop.
        outer: String,
    },
    /// Sorting of trees after a directive that depends on tree positions.
    SortTooLate {
        /// Directive that depends on tree positions.
        by: DirectiveIndex,
    },
    /// The nest would have too many loops.
    TooManyLoops,
    /// The nest would be too deep.
    TooDeep,
    /// The loop has a contradictory annotation.
    Contradiction {
        /// Directive that stated it.
        earlier: DirectiveIndex,
    },
    /// A duplicate annotation.
    Repeated {
        /// Directive that stated it first.
        earlier: DirectiveIndex,
    },
    /// The operation needs a leaf loop, and this one contains loops.
    NotLeaf {
        /// The leaf loops inside.
        leaves: Vec<String>,
    },
    /// A number below 1.
    TooSmall {
        /// The given value.
        value: i64,
    },
    /// A number too large to compile.
    TooLarge {
        /// The given value.
        value: i64,
        /// Largest allowed number.
        limit: i64,
    },
    /// A reduction across iterations that are not parallel.
    NotParallel,
    /// The trees of a loop cannot be walked together.
    CannotUnrollAndJam(UnrollAndJamNeeds),
    /// A vector width that is not a power of two.
    NotPowerOfTwo {
        /// The given value.
        width: i64,
    },
    /// A loop that is parallel on the CPU and mapped to the GPU. Or the second loop is mapped, around or
    /// inside the first.
    ParallelOnGpu {
        /// Directive that mapped it to the GPU.
        gpu: DirectiveIndex,
    },
    /// A loop mapped to a GPU dimension in a schedule for a CPU.
    GpuOnCpu,
    /// Two loops on one path are mapped to the same dimension.
    DimensionTwice {
        /// The outer loop.
        outer: String,
        /// Directive that mapped it to the GPU.
        earlier: DirectiveIndex,
    },
    /// A loop over threads is around a loop over blocks, or not inside one.
    BlockOutsideGrid,
    /// The number of threads is known only at run time.
    BlockNotConstant,
    /// More threads than a block can have.
    TooManyThreads {
        /// Threads of the block.
        threads: i64,
        /// Largest number of threads of a block.
        limit: i64,
    },
    /// More iterations than a dimension of the launch can have.
    DimensionTooLarge {
        /// The dimension.
        dimension: GpuDimension,
        /// Iterations of the loop.
        count: i64,
        /// Largest number of iterations of the dimension.
        limit: i64,
    },
    /// Caches and sums do not fit in shared memory.
    SharedMemory {
        /// Total bytes.
        total: u64,
        /// Bytes of a block on the device.
        limit: u64,
        /// Caches and sums with their bytes.
        uses: Vec<SharedMemoryUse>,
    },
    /// Caches and sums fit in the shared memory of some GPUs only, and the target names none.
    SharedMemoryUnsure {
        /// Total bytes.
        total: u64,
        /// Bytes of a block on every GPU.
        everywhere: u64,
    },
    /// A cache of a loop that is outside of the GPU's blocks.
    CacheOutsideLaunch,
    /// Padding for straight-line walks would need too much memory.
    PaddingTooLarge {
        /// Bytes of the padding.
        bytes: u64,
        /// Largest number of bytes of the tables.
        limit: u64,
        /// Largest number of steps that fits; 0 if none does.
        most: u32,
    },
    /// The layout would need too much memory for trees of this depth.
    LayoutTooLarge {
        /// Bytes of the trees.
        bytes: u64,
        /// Largest number of bytes of the tables.
        limit: u64,
    },
    /// A tree that is not oblivious, in a layout of oblivious trees.
    NotOblivious {
        /// The tree's number in the model.
        tree: usize,
    },
    /// `sharedReduce` of a loop that is not over trees on a block dimension.
    NotBlockTrees,
    /// A vector that GPUs do not support.
    VectorOnGpu {
        /// Rows of a supported vector, if the loop and its layout allow one.
        lanes: Option<u32>,
    },
    /// The layout cannot hold tiles of several nodes.
    LayoutNeedsSingleNodes {
        /// The layout.
        layout: Layout,
        /// Directive that makes tiles.
        tiles: DirectiveIndex,
    },
    /// The walks step through single nodes, but there are tiles.
    WalkNeedsSingleNodes {
        /// Directive that makes tiles.
        tiles: DirectiveIndex,
    },
    /// Tiles by probability without a profile of the leaves.
    NoProfile,
    /// `run_depth` at a loop without a single depth.
    RunDepthUnknown,
    /// The expanded code would be too large.
    CodeTooLarge {
        /// Size of the code.
        size: Size,
    },
    /// The expanded code compiles slowly.
    CodeLarge {
        /// Size of the code.
        size: Size,
    },
    /// Something cannot be decided without a model.
    Unverified {
        /// The open question.
        what: Box<Obligation>,
    },
    /// A tile of one iteration.
    TileOfOne,
    /// A tile that does not divide its loop.
    PartialTile {
        /// The loop's extent.
        extent: i64,
        /// The tile's size.
        size: i64,
    },
    /// Steps to peel that are already straight-line.
    PeelPointless {
        /// Directive that makes them straight-line.
        unroll: DirectiveIndex,
    },
    /// `specialize` on a loop over threads makes warps diverge: this many neighbouring threads take the same
    /// case.
    DivergentWarp(i64),
    /// A cached working set that is larger than a core's second-level cache.
    CacheTooLarge {
        /// Bytes of the working set.
        bytes: u64,
        /// Bytes of the cache.
        limit: u64,
    },
    /// `interleave` with one walk.
    InterleaveOfOne,
    /// A vector with more lanes than the loop has iterations.
    EmptyLanes {
        /// Lanes of the vector.
        lanes: u32,
        /// Iterations of the loop.
        trips: i64,
    },
    /// An annotation of steps for walks that test all nodes instead.
    NoSteps {
        /// Layout of the walks.
        layout: Layout,
        /// Directive that chose the layout.
        chosen: DirectiveIndex,
    },
    /// An `unrollWalk` beyond the deepest tree.
    UnrollBeyond {
        /// The given value.
        depth: u32,
        /// The deepest tree.
        deepest: u32,
    },
    /// A vector of quantized rows that fills only part of a register.
    NarrowVector {
        /// Lanes of the vector.
        lanes: u32,
        /// Lanes of a full register.
        full: u32,
        /// Bytes of a bin.
        bin_bytes: u32,
        /// Directive that chose the layout.
        chosen: DirectiveIndex,
    },
    /// A tile that is larger than its loop.
    TileBeyond {
        /// The loop's extent.
        extent: i64,
        /// The tile's size.
        size: i64,
    },
    /// A parallel loop that has one iteration, always or in all calls.
    OneBlock {
        /// Rows of the largest call and rows of an iteration; `None` if the loop always has one iteration.
        rows: Option<(u64, i64)>,
    },
    /// An unrolled loop with many iterations.
    UnrolledFar {
        /// Number of copies of the code inside.
        copies: i64,
    },
    /// A parallel loop inside a parallel loop.
    NestedParallel {
        /// The outer loop.
        outer: String,
        /// Directive that made it parallel.
        earlier: DirectiveIndex,
    },
}

impl Problem {
    /// The code of the problem; none for [`Problem::Poisoned`].
    pub fn code(&self) -> Option<Code> {
        use Problem as P;
        Some(match self {
            P::Poisoned => return None,
            P::UnknownIndex { .. } => codes::UNKNOWN_INDEX,
            P::NoSuchCopy { .. } => codes::NO_SUCH_COPY,
            P::NameTaken { .. } => codes::NAME_TAKEN,
            P::Consumed { .. } => codes::CONSUMED,
            P::AnnotationLost { .. } => codes::ANNOTATION_LOST,
            P::TileSize { .. } => codes::TILE_SIZE,
            P::TileOffStep { .. } => codes::TILE_OFF_STEP,
            P::SplitOutside { .. } => codes::SPLIT_OUTSIDE,
            P::SplitOffStep { .. } => codes::SPLIT_OFF_STEP,
            P::ReorderFew => codes::REORDER_FEW,
            P::ReorderTwice { .. } => codes::REORDER_TWICE,
            P::ReorderNoPath => codes::REORDER_NO_PATH,
            P::ReorderFork { .. } => codes::REORDER_FORK,
            P::ReorderGap { .. } => codes::REORDER_GAP,
            P::SpecializeLeaf => codes::SPECIALIZE_LEAF,
            P::TripsUnknown => codes::TRIPS_UNKNOWN,
            P::TripsHuge { .. } => codes::TRIPS_HUGE,
            P::Specialized { .. } => codes::SPECIALIZED,
            P::NotTrees => codes::NOT_TREES,
            P::DepthTwice { .. } => codes::DEPTH_TWICE,
            P::TreesUnknown => codes::TREES_UNKNOWN,
            P::PositionUnknown { .. } => codes::POSITION_UNKNOWN,
            P::SortTooLate { .. } => codes::SORT_TOO_LATE,
            P::TooManyLoops | P::TooDeep => codes::NEST_TOO_LARGE,
            P::Contradiction { .. } => codes::CONTRADICTION,
            P::Repeated { .. } => codes::REPEATED,
            P::NotLeaf { .. } => codes::NOT_LEAF,
            P::TooSmall { .. } => codes::TOO_SMALL,
            P::TooLarge { .. } => codes::TOO_LARGE,
            P::NotParallel => codes::NOT_PARALLEL,
            P::CannotUnrollAndJam(_) => codes::CANNOT_UNROLL_AND_JAM,
            P::NotPowerOfTwo { .. } => codes::NOT_POWER_OF_TWO,
            P::ParallelOnGpu { .. } => codes::PARALLEL_ON_GPU,
            P::GpuOnCpu => codes::GPU_ON_CPU,
            P::DimensionTwice { .. } => codes::DIMENSION_TWICE,
            P::BlockOutsideGrid => codes::BLOCK_OUTSIDE_GRID,
            P::BlockNotConstant => codes::BLOCK_NOT_CONSTANT,
            P::TooManyThreads { .. } => codes::TOO_MANY_THREADS,
            P::DimensionTooLarge { .. } => codes::DIMENSION_TOO_LARGE,
            P::SharedMemory { .. } => codes::SHARED_MEMORY,
            P::SharedMemoryUnsure { .. } => codes::UNVERIFIED,
            P::CacheOutsideLaunch => codes::CACHE_OUTSIDE_LAUNCH,
            P::PaddingTooLarge { .. } => codes::PADDING_TOO_LARGE,
            P::LayoutTooLarge { .. } => codes::LAYOUT_TOO_LARGE,
            P::NotOblivious { .. } => codes::NOT_OBLIVIOUS,
            P::NotBlockTrees => codes::NOT_BLOCK_TREES,
            P::VectorOnGpu { .. } => codes::VECTOR_ON_GPU,
            P::LayoutNeedsSingleNodes { .. } => codes::LAYOUT_NEEDS_SINGLE_NODES,
            P::WalkNeedsSingleNodes { .. } => codes::WALK_NEEDS_SINGLE_NODES,
            P::NoProfile => codes::NO_PROFILE,
            P::RunDepthUnknown => codes::RUN_DEPTH_UNKNOWN,
            P::CodeTooLarge { .. } => codes::CODE_TOO_LARGE,
            P::CodeLarge { .. } => codes::CODE_LARGE,
            P::Unverified { .. } => codes::UNVERIFIED,
            P::TileOfOne => codes::TILE_OF_ONE,
            P::PartialTile { .. } => codes::PARTIAL_TILE,
            P::PeelPointless { .. } => codes::PEEL_POINTLESS,
            P::DivergentWarp(_) => codes::DIVERGENT_WARP,
            P::CacheTooLarge { .. } => codes::CACHE_TOO_LARGE,
            P::EmptyLanes { .. } => codes::EMPTY_LANES,
            P::NoSteps { .. } => codes::NO_STEPS,
            P::InterleaveOfOne => codes::INTERLEAVE_OF_ONE,
            P::UnrollBeyond { .. } => codes::UNROLL_BEYOND,
            P::NarrowVector { .. } => codes::NARROW_VECTOR,
            P::TileBeyond { .. } => codes::TILE_BEYOND,
            P::OneBlock { .. } => codes::ONE_BLOCK,
            P::UnrolledFar { .. } => codes::UNROLLED_FAR,
            P::NestedParallel { .. } => codes::NESTED_PARALLEL,
        })
    }

    /// Whether the problem concerns the shape or the range of loops, which an earlier refusal may have
    /// caused.
    pub fn may_be_a_consequence(&self) -> bool {
        !matches!(
            self,
            Problem::UnknownIndex { .. }
                | Problem::NameTaken { .. }
                | Problem::Consumed { .. }
                | Problem::AnnotationLost { .. }
                | Problem::TooManyLoops
                | Problem::TooDeep
                | Problem::ReorderFew
                | Problem::ReorderTwice { .. }
                | Problem::Contradiction { .. }
        )
    }

    /// Whether the nest cannot be built any further.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Problem::TooManyLoops | Problem::TooDeep)
    }
}
