//! Layouts of trees in memory, as one table. Parsing, names, editors and the checker's properties derive from
//! it. The code generator knows how to store and walk each layout.

use std::str::FromStr;

/// Nodes that a layout stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nodes {
    /// Nodes that exist in the model.
    Existing,
    /// Nodes of complete trees: leaves above the deepest level are padded.
    Complete,
}

/// Operands that nodes compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operands {
    /// Values of features with thresholds.
    Values,
    /// Bins of values with bins of thresholds: rows are quantized before they are walked.
    Bins,
}

/// Trees that a layout holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shapes {
    /// Any tree.
    Any,
    /// Oblivious trees: complete, with one test for all nodes of a level.
    Oblivious,
}

/// Traversal of a tree by a vector of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowVectors {
    /// Step by step.
    Steps,
    /// By testing every node.
    Sweep,
}

/// The cost of a step of a walk on a GPU, fitted to times of an H100 with the other figures of the cost
/// model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepFigures {
    /// Instructions.
    pub instructions: f64,
    /// Cycles if the first-level cache has the node.
    pub cycles: f64,
    /// Misses of the first-level cache, as a multiple of those in most layouts.
    pub miss_factor: f64,
}

impl StepFigures {
    /// The figures in the order of the fields.
    pub const fn new(instructions: f64, cycles: f64, miss_factor: f64) -> StepFigures {
        StepFigures { instructions, cycles, miss_factor }
    }
}

/// The step of layouts with straight-line walks, which differ little. The figures are those of `quantized`.
const STRAIGHT_STEP: StepFigures = StepFigures::new(5.02, 181.0, 1.0);
/// The step over existing nodes in preorder.
const PREORDER_STEP: StepFigures = StepFigures::new(18.6, 82.0, 1.41);

/// Declares the layouts in the order of proposals. The columns of the table come first, each with the comment
/// of its method. A row is: variant, word of the language, and the columns.
macro_rules! layouts {
    (
        { $($(#[$meaning:meta])* $column:ident: $ty:ty,)* }
        $($(#[$doc:meta])* $name:ident $word:literal { $($field:ident: $value:expr,)* })*
    ) => {
        /// Layouts of trees in memory, in the order of proposals.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Layout {
            $($(#[$doc])* $name,)*
        }

        /// A row of the table.
        struct LayoutRow {
            $($column: $ty,)*
        }

        impl Layout {
            /// All layouts.
            pub const ALL: &'static [Layout] = &[$(Layout::$name),*];
            /// Words of the layouts, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            const fn row(self) -> &'static LayoutRow {
                use {Nodes::*, Operands::*, RowVectors::*, Shapes::*};
                match self { $(Layout::$name => const { &LayoutRow { $($field: $value,)* } },)* }
            }

            /// The word that `representation` takes.
            pub const fn word(self) -> &'static str {
                match self { $(Layout::$name => $word),* }
            }

            $($(#[$meaning])* pub const fn $column(self) -> $ty {
                self.row().$column
            })*
        }
    };
}

layouts! {
    {
        /// Nodes that the layout stores.
        nodes: Nodes,
        /// Operands that nodes compare.
        operands: Operands,
        /// Trees that the layout holds.
        shapes: Shapes,
        /// Whether walks are straight-line to the leaf: all trees that are walked together are complete and
        /// of one depth.
        has_straight_line_walks: bool,
        /// Whether the top levels of a tree are complete and stored apart from the nodes below them.
        has_top_levels: bool,
        /// Whether the same node of neighbouring trees is adjacent, for threads that walk one tree each.
        has_adjacent_trees: bool,
        /// Traversal of a tree by a vector of rows.
        row_vectors: RowVectors,
        /// Position among all layouts, from 1, in the order in which schedc tries them when it chooses a
        /// schedule. Layouts whose walks take fewer instructions come first.
        /// `None` if nobody has measured the layout: schedc then chooses no schedule with it, and a search
        /// tries it only if a GPU measures schedules.
        trial_position: Option<u32>,
        /// Position among the layouts that schedc tries when it tunes a schedule for GPUs, from 1. `None` if
        /// schedc neither chooses nor tunes GPU schedules with the layout.
        gpu_trial_position: Option<u32>,
        /// Whether SilvanForge has the layout, so that its search for GPU schedules tries it.
        is_in_silvanforge: bool,
        /// Layout that a search for CPU schedules tries in place of this one, if vectors walk both.
        cpu_alternative: Option<Layout>,
        /// Whether schedules that schedc chooses for CPUs walk it with rows or trees in the lanes of vectors.
        has_cpu_vectors: bool,
        /// Rows of a vector on a GPU, whose bins fill one register; 1 without vectors.
        gpu_lanes: u32,
        /// Cost of a step of a walk on a GPU. Steps over top levels that are stored apart cost those of
        /// `Quantized`.
        gpu_step: StepFigures,
        /// Whether nodes may be tiles of several nodes.
        holds_tiles: bool,
        /// Smallest number of bytes of a node, if half of the nodes are leaves.
        node_bytes: u64,
        /// Smallest number of bytes of a feature's value in a copy of rows.
        value_bytes: u64,
        /// Meaning of the layout, in one sentence.
        meaning: &'static str,
        /// Layouts to use instead if a model takes too much memory.
        smaller_layouts: &'static str,
    }
    /// Complete trees in level order.
    Array "array" {
        nodes: Complete, operands: Values, shapes: Any, has_straight_line_walks: false,
        has_top_levels: false, has_adjacent_trees: false, row_vectors: Steps,
        trial_position: Some(6), has_cpu_vectors: false, gpu_lanes: 1, holds_tiles: false,
        gpu_trial_position: Some(2), is_in_silvanforge: true, cpu_alternative: None,
        gpu_step: StepFigures::new(12.2, 274.0, 1.0),
        node_bytes: 8, value_bytes: 4,
        meaning: "complete trees in level order; the position of a child is computed, not loaded.",
        smaller_layouts: "use representation(sparse), which stores only nodes that exist",
    }
    /// Existing nodes only, with child indices.
    Sparse "sparse" {
        nodes: Existing, operands: Values, shapes: Any, has_straight_line_walks: false,
        has_top_levels: false, has_adjacent_trees: false, row_vectors: Steps,
        trial_position: Some(5), has_cpu_vectors: true, gpu_lanes: 1, holds_tiles: true,
        gpu_trial_position: Some(4), is_in_silvanforge: true, cpu_alternative: Some(Layout::Levels),
        gpu_step: StepFigures::new(14.3, 272.0, 1.0),
        node_bytes: 8, value_bytes: 4,
        meaning: "only the nodes that exist, each with the number of a child.",
        smaller_layouts: "unroll fewer steps with unrollWalk, which pads trees, or split the model",
    }
    /// Complete trees whose levels are tables to look up in registers.
    Levels "levels" {
        nodes: Complete, operands: Values, shapes: Any, has_straight_line_walks: true,
        has_top_levels: false, has_adjacent_trees: false, row_vectors: Steps,
        trial_position: Some(4), has_cpu_vectors: true, gpu_lanes: 1, holds_tiles: false,
        gpu_trial_position: None, is_in_silvanforge: false, cpu_alternative: Some(Layout::Sparse),
        gpu_step: STRAIGHT_STEP,
        node_bytes: 4, value_bytes: 4,
        meaning: "complete trees as one table for each level, which vectors look up in registers.",
        smaller_layouts: "use representation(array) or representation(sparse)",
    }
    /// Like `Levels`, with threshold bins instead of thresholds.
    Quantized "quantized" {
        nodes: Complete, operands: Bins, shapes: Any, has_straight_line_walks: true,
        has_top_levels: false, has_adjacent_trees: false, row_vectors: Steps,
        trial_position: Some(2), has_cpu_vectors: true, gpu_lanes: 4, holds_tiles: false,
        gpu_trial_position: Some(1), is_in_silvanforge: false, cpu_alternative: Some(Layout::Preorder),
        gpu_step: STRAIGHT_STEP,
        node_bytes: 3, value_bytes: 1,
        meaning: "like levels, with small integers instead of thresholds; rows are quantized too.",
        smaller_layouts: "use representation(array) or representation(sparse)",
    }
    /// Existing nodes in preorder, with threshold bins as in `Quantized`. Vectors of rows test all nodes of a
    /// tree in this order.
    Preorder "preorder" {
        nodes: Existing, operands: Bins, shapes: Any, has_straight_line_walks: false,
        has_top_levels: false, has_adjacent_trees: false, row_vectors: Sweep,
        trial_position: Some(3), has_cpu_vectors: true, gpu_lanes: 1, holds_tiles: false,
        gpu_trial_position: Some(5), is_in_silvanforge: false, cpu_alternative: Some(Layout::Quantized),
        gpu_step: PREORDER_STEP,
        node_bytes: 4, value_bytes: 1,
        meaning: "only the nodes that exist, each before its subtrees; rows are quantized, and vectors of \
                  them test all nodes.",
        smaller_layouts: "use representation(sparse), whose nodes are smaller",
    }
    /// Like `Quantized`, for trees with one test for all nodes of a level, which is stored once.
    Oblivious "oblivious" {
        nodes: Complete, operands: Bins, shapes: Oblivious, has_straight_line_walks: true,
        has_top_levels: false, has_adjacent_trees: false, row_vectors: Steps,
        trial_position: Some(1), has_cpu_vectors: true, gpu_lanes: 1, holds_tiles: false,
        gpu_trial_position: None, is_in_silvanforge: false, cpu_alternative: None,
        gpu_step: STRAIGHT_STEP,
        node_bytes: 2, value_bytes: 1,
        meaning: "trees whose nodes of a level all make one test, which is stored once; rows are quantized.",
        smaller_layouts: "use representation(sparse), which stores only nodes that exist",
    }
    /// Complete trees of one depth, with the same node of all trees side by side.
    Reorg "reorg" {
        nodes: Complete, operands: Values, shapes: Any, has_straight_line_walks: false,
        has_top_levels: false, has_adjacent_trees: true, row_vectors: Steps,
        trial_position: Some(7), has_cpu_vectors: false, gpu_lanes: 1, holds_tiles: false,
        gpu_trial_position: Some(3), is_in_silvanforge: true, cpu_alternative: None,
        gpu_step: StepFigures::new(4.9, 67.6, 1.0),
        node_bytes: 8, value_bytes: 4,
        meaning: "complete trees of one depth, with the same node of all trees side by side, for GPU \
                  threads with one tree each.",
        smaller_layouts: "use representation(sparse), which stores only nodes that exist",
    }
    /// Complete top levels as in `Quantized`, and existing nodes below them as in `Preorder`.
    Hybrid "hybrid" {
        nodes: Existing, operands: Bins, shapes: Any, has_straight_line_walks: false,
        has_top_levels: true, has_adjacent_trees: false, row_vectors: Steps,
        trial_position: None, has_cpu_vectors: false, gpu_lanes: 4, holds_tiles: false,
        gpu_trial_position: Some(6), is_in_silvanforge: false, cpu_alternative: None,
        gpu_step: PREORDER_STEP,
        node_bytes: 4, value_bytes: 1,
        meaning: "complete top levels in level order, and below them only the nodes that exist, each before \
                  its subtrees; rows are quantized.",
        smaller_layouts: "use representation(preorder), which has no complete levels",
    }
}

impl Layout {
    /// Whether nodes compare bins of values with threshold bins.
    pub const fn compares_bins(self) -> bool {
        matches!(self.operands(), Operands::Bins)
    }

    /// Whether nodes can test sets of categories. In other layouts, each set is a column of zeros and ones.
    pub const fn holds_sets(self) -> bool {
        matches!(self.row_vectors(), RowVectors::Sweep)
    }
}

impl FromStr for Layout {
    type Err = ();

    /// Reads the word that `representation` takes.
    fn from_str(word: &str) -> Result<Layout, ()> {
        Layout::ALL.iter().copied().find(|layout| layout.word() == word).ok_or(())
    }
}
