//! What is wrong with an operation, as plain data: a search over schedules can discard illegal ones without
//! formatting a string. [`crate::diagnostics`] turns it into text.

use crate::diagnostics::{Code, codes};
use crate::lineage::DirectiveIndex;
pub use crate::needs::{UnrollAndJamNeeds, Use};
use crate::obligation::Obligation;
pub use crate::size::Size;
use sched_nest::sym::Sym;
use sched_nest::{GpuDimension, Layout, LoopId};

/// A refused operation, or a legal one that deserves a remark.
#[derive(Clone, Debug, PartialEq)]
pub struct Illegal {
    /// The operation.
    pub step: DirectiveIndex,
    /// Which of its arguments is at fault, if it is one.
    pub argument: Option<usize>,
    /// What is wrong.
    pub problem: Problem,
    /// The loops concerned, or for names that mean no loop the loops that could be meant.
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

/// What is wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// The operation uses something whose declaration was refused. Nobody needs to be told.
    Poisoned,
    /// No index has this name.
    UnknownIndex {
        /// As written.
        name: String,
    },
    /// The qualifiers mean no copy of the index.
    NoSuchCopy {
        /// As written.
        path: String,
    },
    /// The new index has the name of another one.
    NameTaken {
        /// As written.
        name: String,
    },
    /// The index has been consumed. The loops are what became of it.
    Consumed {
        /// As written.
        name: String,
        /// What consumed it.
        by: DirectiveIndex,
    },
    /// The operation states a fact about an index that another one consumes.
    AnnotationLost {
        /// What consumes it.
        consumer: DirectiveIndex,
    },
    /// A tile below 1.
    TileSize {
        /// As given.
        size: i64,
    },
    /// A tile that is no multiple of the loop's step.
    TileOffStep {
        /// As given.
        size: i64,
        /// The loop's step.
        stride: i64,
    },
    /// A split point that leaves one half empty.
    SplitOutside {
        /// As given.
        at: Box<Sym>,
        /// Where the loop starts.
        start: Box<Sym>,
        /// Where it stops.
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
    /// Loops that are not named stand between two that are.
    ReorderGap {
        /// The one outside.
        outer: String,
        /// The one inside.
        inner: String,
        /// What stands between them.
        between: Box<[String]>,
    },
    /// A leaf loop has nothing inside to copy.
    SpecializeLeaf,
    /// How often the loop iterates is known only at run time.
    TripsUnknown,
    /// The loop iterates too often to be expanded.
    TripsHuge {
        /// How often.
        trips: i64,
        /// How often would be fine.
        limit: i64,
    },
    /// The loop's body has been specialised, so the loop cannot be reshaped any more.
    Specialized {
        /// What specialised it.
        by: DirectiveIndex,
    },
    /// The operation is about trees and the loop is over rows.
    NotTrees,
    /// The loop has been split by depth before.
    DepthTwice {
        /// What split it.
        by: DirectiveIndex,
    },
    /// It would take too long to find out which trees an iteration covers.
    TreesUnknown,
    /// An outer tree loop iterates, so which trees an iteration covers depends on it.
    PositionUnknown {
        /// The outer loop.
        outer: String,
    },
    /// Trees are to be sorted after tree positions were fixed.
    SortTooLate {
        /// What fixed them.
        by: DirectiveIndex,
    },
    /// The nest would have too many loops.
    TooManyLoops,
    /// The nest would be too deep.
    TooDeep,
    /// The loop has a fact that contradicts this one.
    Contradiction {
        /// What stated it.
        earlier: DirectiveIndex,
    },
    /// The same has been said before.
    Repeated {
        /// What said it.
        earlier: DirectiveIndex,
    },
    /// The operation is about leaf loops and this one has loops inside.
    NotLeaf {
        /// The leaf loops inside.
        leaves: Vec<String>,
    },
    /// A number below 1.
    TooSmall {
        /// As given.
        value: i64,
    },
    /// A number beyond what can be compiled.
    TooLarge {
        /// As given.
        value: i64,
        /// The largest that can.
        limit: i64,
    },
    /// A reduction across iterations that are not parallel.
    NotParallel,
    /// The trees of a loop cannot be walked together.
    CannotUnrollAndJam(UnrollAndJamNeeds),
    /// A vector width that is not a power of two.
    NotPowerOfTwo {
        /// As given.
        width: i64,
    },
    /// A loop that is parallel on the CPU and mapped to the GPU; or the second loop is mapped, around or inside the first.
    ParallelOnGpu {
        /// What mapped it to the GPU.
        gpu: DirectiveIndex,
    },
    /// A loop mapped to a GPU dimension in a schedule for a CPU.
    GpuOnCpu,
    /// Two loops on one path are mapped to the same dimension.
    DimensionTwice {
        /// The outer loop.
        outer: String,
        /// What mapped it.
        earlier: DirectiveIndex,
    },
    /// A loop over threads stands around or without a loop over blocks.
    BlockOutsideGrid,
    /// The number of threads is known only at run time.
    BlockNotConstant,
    /// More threads than a block can have.
    TooManyThreads {
        /// Threads of the block.
        threads: i64,
        /// Most that a block can have.
        limit: i64,
    },
    /// More iterations than a dimension of the launch can have.
    DimensionTooLarge {
        /// The dimension.
        dimension: GpuDimension,
        /// Iterations of the loop.
        count: i64,
        /// Most that the dimension can have.
        limit: i64,
    },
    /// What is kept in shared memory does not fit.
    SharedMemory {
        /// Bytes of everything together.
        total: u64,
        /// Bytes that the device has for a block.
        limit: u64,
        /// What takes them.
        uses: Vec<Use>,
    },
    /// What is kept in shared memory fits on some GPUs only, and the target names none.
    SharedMemoryUnsure {
        /// Bytes of everything together.
        total: u64,
        /// Bytes that every GPU has for a block.
        everywhere: u64,
    },
    /// A cache of a loop in which the GPU's blocks do not run yet.
    CacheOutsideLaunch,
    /// Padding for straight-line walks would need too much memory.
    PaddingTooLarge {
        /// Bytes of the padding.
        bytes: u64,
        /// Most that the tables may have.
        limit: u64,
        /// The largest number of steps that would fit, 0 if none does.
        most: u32,
    },
    /// The layout would need too much memory for such deep trees.
    LayoutTooLarge {
        /// Bytes of the trees.
        bytes: u64,
        /// Most that the tables may have.
        limit: u64,
    },
    /// A layout of oblivious trees for another tree.
    NotOblivious {
        /// The tree's number in the model.
        tree: usize,
    },
    /// `sharedReduce` of a loop that is not over trees on a block dimension.
    NotBlockTrees,
    /// `vectorize` in a schedule for a GPU that no vectors of it have.
    VectorOnGpu {
        /// Rows of the vectors that there are, if there are any for the loop and its layout.
        lanes: Option<u32>,
    },
    /// The layout cannot hold tiles of several nodes.
    LayoutNeedsSingleNodes {
        /// The layout.
        layout: Layout,
        /// What asks for tiles.
        tiles: DirectiveIndex,
    },
    /// The walks pass single nodes, and there are tiles of several.
    WalkNeedsSingleNodes {
        /// What asks for tiles.
        tiles: DirectiveIndex,
    },
    /// Tiles by probability without a profile of the leaves.
    NoProfile,
    /// `run_depth` where the depth is not known.
    RunDepthUnknown,
    /// The expanded code would be too large.
    CodeTooLarge {
        /// How large.
        size: Size,
    },
    /// The expanded code is large enough to take long to compile.
    CodeLarge {
        /// How large.
        size: Size,
    },
    /// Something cannot be decided without a model.
    Unverified {
        /// What.
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
    /// Steps to peel that are straight-line already.
    PeelPointless {
        /// What makes them so.
        unroll: DirectiveIndex,
    },
    /// A loop is specialized over threads, of which so many neighbours go one way.
    DivergentWarp(i64),
    /// A working set to be kept near that is larger than a core's second-level cache.
    CacheTooLarge {
        /// Bytes of the working set.
        bytes: u64,
        /// Bytes of the cache.
        limit: u64,
    },
    /// Walks interleaved by one.
    InterleaveOfOne,
    /// A vector with more lanes than the loop has iterations.
    EmptyLanes {
        /// Lanes of the vector.
        lanes: u32,
        /// Iterations of the loop.
        trips: i64,
    },
    /// A shape of steps for walks that test all nodes instead.
    NoSteps {
        /// The layout that is walked so.
        layout: Layout,
        /// What chose it.
        chosen: DirectiveIndex,
    },
    /// An `unrollWalk` beyond the deepest tree.
    UnrollBeyond {
        /// As given.
        depth: u32,
        /// The deepest tree.
        deepest: u32,
    },
    /// A vector of quantized rows that fills only a part of the registers.
    NarrowVector {
        /// Lanes of the vector.
        lanes: u32,
        /// Lanes of a full register.
        full: u32,
        /// Bytes of a bin.
        bin_bytes: u32,
        /// What chose the layout.
        chosen: DirectiveIndex,
    },
    /// A tile that is larger than its loop.
    TileBeyond {
        /// The loop's extent.
        extent: i64,
        /// The tile's size.
        size: i64,
    },
    /// A parallel loop that has one iteration only: rows of the largest call and of an iteration, if it is for that.
    OneBlock {
        /// Most rows of a call and rows of an iteration; none where the loop has one iteration whatever the call.
        rows: Option<(u64, i64)>,
    },
    /// Iterations that are all written out, though they are many.
    UnrolledFar {
        /// How often the code inside is written out.
        copies: i64,
    },
    /// A parallel loop inside a parallel loop.
    NestedParallel {
        /// The outer loop.
        outer: String,
        /// What made it parallel.
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

    /// Whether it is a judgement on the shape or the range of the loops, which an earlier refusal may have caused.
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
