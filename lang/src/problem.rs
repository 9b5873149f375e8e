//! Problems of operations. A row of the table has a problem, its data and the code of its diagnostic.

use crate::diagnostics::{Code, codes};
use crate::lineage::DirectiveIndex;
use crate::needs::{SharedMemoryUse, StageLanesFault, TermOrderFault, UnrollAndJamNeeds};
use crate::obligation::Obligation;
use crate::size::CodeSize;
use sched_nest::sym::Sym;
use sched_nest::{GpuDimension, Layout, StageKind};

/// Declares the problems. A row has the code of its diagnostic.
macro_rules! problems {
    (
        silent { $(#[$silent_doc:meta])* $silent:ident }
        reported { $(
            $(#[$doc:meta])*
            $code:ident => $name:ident
                $({ $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })?
                $(($(#[$inner_doc:meta])* $inner:ty))?,
        )* }
    ) => {
        /// The problem.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Problem {
            $(#[$silent_doc])*
            $silent,
            $(
                $(#[$doc])*
                $name $({ $($(#[$field_doc])* $field: $type,)* })? $(($(#[$inner_doc])* $inner))?,
            )*
        }

        impl Problem {
            /// The code of the problem; none for [`Problem::Poisoned`].
            pub fn code(&self) -> Option<Code> {
                match self {
                    Problem::$silent => None,
                    $(Problem::$name { .. } => Some(codes::$code),)*
                }
            }
        }
    };
}

problems! {
    silent {
        /// The operation uses a name whose declaration was refused. This needs no message.
        Poisoned
    }
    reported {
        /// No loop has this name.
        UNKNOWN_INDEX => UnknownIndex {
            /// The written name.
            name: String,
        },
        /// A loop has this name, but no copy of it fits the qualifiers, such as `first` in `first.b1`.
        NO_SUCH_COPY => NoSuchCopy {
            /// The written name.
            path: String,
        },
        /// A copy of a loop of a stage of columns, as in `early.layer1.unit`. Such stages have no copies.
        NO_SUCH_COPY => CopyInStage {
            /// The stage.
            stage: String,
            /// The written name.
            path: String,
        },
        /// The new loop has the name of another one.
        NAME_TAKEN => NameTaken {
            /// The written name.
            name: String,
        },
        /// The loop was replaced. The loops of the problem are its successors.
        CONSUMED => Consumed {
            /// The written name.
            name: String,
            /// Directive that replaced the loop.
            by: DirectiveIndex,
        },
        /// The operation annotates a loop that another operation replaces.
        ANNOTATION_LOST => AnnotationLost {
            /// Directive that replaces the loop.
            consumer: DirectiveIndex,
        },
        /// A tile below 1, or too large.
        TILE_SIZE => TileSize {
            /// The given value.
            size: i64,
            /// The largest size.
            largest: i64,
        },
        /// A tile whose size is not a multiple of the loop's step.
        TILE_OFF_STEP => TileOffStep {
            /// The given value.
            size: i64,
            /// The loop's step.
            stride: i64,
        },
        /// A split point that leaves one half empty.
        SPLIT_OUTSIDE => SplitOutside {
            /// The given value.
            at: Box<Sym>,
            /// Start of the loop.
            start: Box<Sym>,
            /// End of the loop.
            stop: Box<Sym>,
        },
        /// A split point between two values of the loop.
        SPLIT_OFF_STEP => SplitOffStep {
            /// Distance of the split point from the loop's start.
            offset: i64,
            /// The loop's step.
            stride: i64,
        },
        /// A reorder of fewer than two loops.
        REORDER_FEW => ReorderFew,
        /// A reorder that names a loop twice.
        REORDER_TWICE => ReorderTwice {
            /// The loop.
            name: String,
        },
        /// No path of the nest holds all the loops.
        REORDER_NO_PATH => ReorderNoPath,
        /// A loop that is not the innermost one of the chain contains several loops.
        REORDER_FORK => ReorderFork {
            /// The loop.
            outer: String,
            /// The first loops directly inside, at most four.
            inside: Vec<String>,
        },
        /// Loops without a name in the reorder are between two that have one.
        REORDER_GAP => ReorderGap {
            /// Outer loop.
            outer: String,
            /// Inner loop.
            inner: String,
            /// Loops between the outer and the inner one.
            between: Box<[String]>,
        },
        /// A leaf loop has nothing inside to copy.
        SPECIALIZE_LEAF => SpecializeLeaf,
        /// The number of iterations is known only at run time.
        TRIPS_UNKNOWN => TripsUnknown,
        /// The loop has too many iterations to expand.
        TRIPS_HUGE => TripsHuge {
            /// Number of iterations.
            trips: i64,
            /// Largest allowed number of iterations.
            limit: i64,
        },
        /// The loop is specialized, so it cannot be reshaped any more.
        SPECIALIZED => Specialized {
            /// Directive that specialized the loop.
            by: DirectiveIndex,
        },
        /// No stage has this name.
        UNKNOWN_STAGE => UnknownStage {
            /// The written name.
            name: String,
            /// The stages of the model, with their kinds.
            known: Vec<(String, StageKind)>,
        },
        /// The directive names two loops of different stages: each loop with its stage.
        TWO_STAGES => TwoStages(Box<[(String, String); 2]>),
        /// A stage of columns has nothing that the directive acts on.
        NOT_IN_STAGE => NotInStage {
            /// The stage.
            stage: String,
            /// Loops of the last trees that the directive may mean, the outermost first.
            of_trees: Vec<String>,
        },
        /// A loop of a stage would add the terms of a sum in another order.
        TERMS_OUT_OF_ORDER => TermsOutOfOrder(TermOrderFault),
        /// The vectors of a stage do not fit its tiles.
        STAGE_LANES => StageLanes(StageLanesFault),
        /// The rows of a stage that are computed together are too many, or known only at run time.
        STAGE_ROWS => StageRows {
            /// The stage.
            stage: String,
            /// Number of rows, if known.
            rows: Option<i64>,
            /// The outermost loop with an unknown number of rows.
            unlimited: Option<String>,
            /// Largest number of rows.
            limit: i64,
        },
        /// The operation needs a loop over trees, and the loop is over rows.
        NOT_TREES => NotTrees,
        /// The loop was already split by depth.
        DEPTH_TWICE => DepthTwice {
            /// Directive that split the loop.
            by: DirectiveIndex,
        },
        /// The trees of an iteration would take too long to find.
        TREES_UNKNOWN => TreesUnknown,
        /// The trees of an iteration depend on an outer tree loop.
        POSITION_UNKNOWN => PositionUnknown {
            /// The outer loop.
            outer: String,
        },
        /// Sorting of trees after a directive that depends on tree positions.
        SORT_TOO_LATE => SortTooLate {
            /// Directive that depends on tree positions.
            by: DirectiveIndex,
        },
        /// The nest would have too many loops.
        NEST_TOO_LARGE => TooManyLoops,
        /// The nest would be too deep.
        NEST_TOO_LARGE => TooDeep,
        /// The loop has a contradictory annotation.
        CONTRADICTION => Contradiction {
            /// Directive of the other annotation.
            earlier: DirectiveIndex,
        },
        /// A duplicate annotation.
        REPEATED => Repeated {
            /// The first directive with this annotation.
            earlier: DirectiveIndex,
        },
        /// The operation needs a leaf loop, and this one contains loops.
        NOT_LEAF => NotLeaf {
            /// The leaf loops inside.
            leaves: Vec<String>,
        },
        /// A number below 1.
        TOO_SMALL => TooSmall {
            /// The given value.
            value: i64,
        },
        /// A number too large to compile.
        TOO_LARGE => TooLarge {
            /// The given value.
            value: i64,
            /// Largest allowed number.
            limit: i64,
        },
        /// A reduction across iterations that are not parallel.
        NOT_PARALLEL => NotParallel,
        /// The trees of a loop cannot be walked together.
        CANNOT_UNROLL_AND_JAM => CannotUnrollAndJam(UnrollAndJamNeeds),
        /// A vector width that is not a power of two.
        NOT_POWER_OF_TWO => NotPowerOfTwo {
            /// The given value.
            width: i64,
        },
        /// A loop that is parallel on the CPU and mapped to the GPU. Or the second loop is mapped, around or
        /// inside the first.
        PARALLEL_ON_GPU => ParallelOnGpu {
            /// Directive that mapped the loop to the GPU.
            gpu: DirectiveIndex,
        },
        /// A loop mapped to a GPU dimension in a schedule for a CPU.
        GPU_ON_CPU => GpuOnCpu,
        /// Two loops on one path are mapped to the same dimension.
        DIMENSION_TWICE => DimensionTwice {
            /// The outer loop.
            outer: String,
            /// Directive that mapped the outer loop to the GPU.
            earlier: DirectiveIndex,
        },
        /// A loop over threads is around a loop over blocks, or not inside one.
        BLOCK_OUTSIDE_GRID => BlockOutsideGrid,
        /// The number of threads is known only at run time.
        BLOCK_NOT_CONSTANT => BlockNotConstant,
        /// More threads than a block can have.
        TOO_MANY_THREADS => TooManyThreads {
            /// Threads of the block.
            threads: i64,
            /// Largest number of threads of a block.
            limit: i64,
        },
        /// More iterations than a dimension of the launch can have.
        DIMENSION_TOO_LARGE => DimensionTooLarge {
            /// The dimension.
            dimension: GpuDimension,
            /// Iterations of the loop.
            count: i64,
            /// Largest number of iterations of the dimension.
            limit: i64,
        },
        /// Caches and sums do not fit in shared memory.
        SHARED_MEMORY => SharedMemory {
            /// Total bytes.
            total: u64,
            /// Bytes of a block on the device.
            limit: u64,
            /// Caches and sums with their bytes.
            uses: Vec<SharedMemoryUse>,
            /// Layout of complete trees, if such trees take most of the memory.
            layout: Option<Layout>,
        },
        /// Caches and sums fit in the shared memory of some GPUs only, and the target names none.
        UNVERIFIED => SharedMemoryUnsure {
            /// Total bytes.
            total: u64,
            /// Bytes of a block on every GPU.
            everywhere: u64,
        },
        /// A cache of a loop that is outside of the GPU's blocks.
        CACHE_OUTSIDE_LAUNCH => CacheOutsideLaunch,
        /// The layout compares bins, and no loop over rows around its walks is cached. The first loop is the
        /// leaf loop, the second one a loop over blocks of rows around it, if there is one.
        BINS_NOT_CACHED => BinsNotCached {
            /// The layout.
            layout: Layout,
        },
        /// A cache of rows at the second loop, which is over threads, or inside that loop.
        BLOCK_CANNOT_CACHE => ThreadCache,
        /// A cache of rows that the second loop does not limit.
        BLOCK_CANNOT_CACHE => UnlimitedCache,
        /// Some walks are outside all launches, and others inside one.
        WALKS_OUTSIDE_LAUNCH => WalksOutsideLaunch,
        /// The second loop is a mapped loop over trees, and several loops over trees inside it are mapped.
        SUMS_OF_LAUNCH => SeveralTreeLoops,
        /// Two loops add to the same sums in different threads.
        SUMS_OF_LAUNCH => SameSums,
        /// `sharedReduce`, although the threads of a block walk an unlimited number of rows, whose slots
        /// shared memory cannot hold. The last loop is the outermost loop over these threads.
        SUMS_OF_LAUNCH => UnlimitedSums,
        /// The threads of a block share slots, but other blocks may have rows between the rows of the block.
        SUMS_OF_LAUNCH => RowsNotConsecutive,
        /// Padding for straight-line walks would need too much memory.
        PADDING_TOO_LARGE => PaddingTooLarge {
            /// Bytes of the padding.
            bytes: u64,
            /// Largest number of bytes of the tables.
            limit: u64,
            /// Largest number of steps that fits; 0 if none does.
            most: u32,
        },
        /// The layout would need too much memory for trees of this depth.
        LAYOUT_TOO_LARGE => LayoutTooLarge {
            /// Bytes of the trees.
            bytes: u64,
            /// Largest number of bytes of the tables.
            limit: u64,
        },
        /// A tree that is not oblivious, in a layout of oblivious trees.
        NOT_OBLIVIOUS => NotOblivious {
            /// The tree's number in the model.
            tree: usize,
        },
        /// `sharedReduce` of a loop that is not over trees on a block dimension.
        NOT_BLOCK_TREES => NotBlockTrees,
        /// A vector that GPUs do not support.
        VECTOR_ON_GPU => VectorOnGpu {
            /// Rows of a supported vector, if the loop and its layout allow one.
            lanes: Option<u32>,
        },
        /// The layout cannot hold tiles of several nodes.
        LAYOUT_NEEDS_SINGLE_NODES => LayoutNeedsSingleNodes {
            /// The layout.
            layout: Layout,
            /// The `tileTrees` directive.
            tiles: DirectiveIndex,
        },
        /// The walks step through single nodes, but there are tiles.
        WALK_NEEDS_SINGLE_NODES => WalkNeedsSingleNodes {
            /// The `tileTrees` directive.
            tiles: DirectiveIndex,
        },
        /// Tiles by probability without a profile of the leaves.
        NO_PROFILE => NoProfile,
        /// `run_depth` at a loop without a single depth.
        RUN_DEPTH_UNKNOWN => RunDepthUnknown,
        /// The expanded code would be too large.
        CODE_TOO_LARGE => CodeTooLarge {
            /// Size of the code.
            size: CodeSize,
        },
        /// The expanded code compiles slowly.
        CODE_LARGE => CodeLarge {
            /// Size of the code.
            size: CodeSize,
        },
        /// Something cannot be decided without a model.
        UNVERIFIED => Unverified {
            /// The open question.
            what: Box<Obligation>,
        },
        /// A tile of one iteration.
        TILE_OF_ONE => TileOfOne,
        /// A tile that does not divide its loop.
        PARTIAL_TILE => PartialTile {
            /// The loop's extent.
            extent: i64,
            /// The tile's size.
            size: i64,
        },
        /// Steps to peel that are already straight-line.
        PEEL_POINTLESS => PeelPointless {
            /// The `unrollWalk` that makes the peeled steps straight-line.
            unroll: DirectiveIndex,
        },
        /// `specialize` on a loop over threads makes warps diverge.
        DIVERGENT_WARP => DivergentWarp {
            /// Number of neighbouring threads that take the same case.
            together: i64,
            /// Threads of a warp of the target.
            warp: i64,
        },
        /// A cached working set that is larger than a core's second-level cache.
        CACHE_TOO_LARGE => CacheTooLarge {
            /// Bytes of the working set.
            bytes: u64,
            /// Bytes of the cache.
            limit: u64,
        },
        /// `interleave` with one walk.
        INTERLEAVE_OF_ONE => InterleaveOfOne,
        /// A vector with more lanes than the loop has iterations.
        EMPTY_LANES => EmptyLanes {
            /// Lanes of the vector.
            lanes: u32,
            /// Iterations of the loop.
            trips: i64,
        },
        /// An annotation of steps for walks that test all nodes instead.
        NO_STEPS => NoSteps {
            /// Layout of the walks.
            layout: Layout,
            /// Directive that chose the layout.
            chosen: DirectiveIndex,
        },
        /// An annotation of nodes, in a model whose trees are single leaves.
        NO_STEPS => NoNodes,
        /// An `unrollWalk` beyond the deepest tree.
        UNROLL_BEYOND => UnrollBeyond {
            /// The given value.
            depth: u32,
            /// The deepest tree.
            deepest: u32,
        },
        /// A vector of quantized rows that fills only part of a register.
        NARROW_VECTOR => NarrowVector {
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
        TILE_BEYOND => TileBeyond {
            /// The loop's extent.
            extent: i64,
            /// The tile's size.
            size: i64,
        },
        /// A parallel loop that has one iteration, always or in all calls.
        ONE_BLOCK => OneBlock {
            /// Rows of the largest call and rows of an iteration; `None` if there is always one iteration.
            rows: Option<(u64, i64)>,
        },
        /// An unrolled loop with many iterations.
        UNROLLED_FAR => UnrolledFar {
            /// Number of copies of the code inside.
            copies: i64,
        },
        /// A parallel loop inside a parallel loop.
        NESTED_PARALLEL => NestedParallel {
            /// The outer loop.
            outer: String,
            /// Directive that made the outer loop parallel.
            earlier: DirectiveIndex,
        },
    }
}

impl Problem {
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
