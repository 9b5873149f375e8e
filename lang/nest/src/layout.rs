//! Layouts of trees in memory: one table, from which parsing, names, the words of editors and the properties that the
//! checker asks for follow. How a layout is stored and walked is the business of the code generator.

use std::str::FromStr;

/// Which nodes a layout stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nodes {
    /// Those that exist in the model.
    Existing,
    /// Those of complete trees: leaves above the deepest level are padded.
    Complete,
}

/// What nodes compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operands {
    /// Values of features with thresholds.
    Values,
    /// Bins of values with bins of thresholds: rows are quantized before they are walked.
    Bins,
}

/// Where a layout holds tiles of several nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tiles {
    /// On every machine.
    Everywhere,
    /// On GPUs. Elsewhere complete trees of tiles, which grow ninefold with each level, take too much memory.
    OnGpus,
    /// On none.
    Nowhere,
}

/// Which trees a layout holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shapes {
    /// All.
    Any,
    /// Oblivious ones: complete trees whose nodes of a level all make one test.
    Oblivious,
}

/// How vectors of rows get to the leaves of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowVectors {
    /// Step by step.
    Steps,
    /// By a test of every node.
    Sweep,
}

/// Declares the layouts. A row is: variant, word of the language, nodes, operands, the trees that it holds, whether walks take the same number of
/// steps to every leaf, how vectors of rows get there, how many rows a vector on a GPU has (1 where there are none), where
/// nodes may be tiles, the fewest bytes of a node, leaves included, and of a row's value, what it is in one sentence, and
/// what to write where a model does not fit with it.
macro_rules! layouts {
    ($($(#[$doc:meta])* $name:ident $word:literal {
        nodes: $nodes:ident, operands: $operands:ident, shapes: $shapes:ident, straight: $straight:literal, row_vectors: $row_vectors:ident,
        gpu_lanes: $gpu_lanes:literal, tiles: $tiles:ident, node_bytes: $node_bytes:literal,
        value_bytes: $value_bytes:literal, meaning: $meaning:literal, smaller: $smaller:literal,
    })*) => {
        /// Layouts of trees in memory, in the order in which they are proposed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Layout {
            $($(#[$doc])* $name,)*
        }

        impl Layout {
            /// All layouts.
            pub const ALL: &'static [Layout] = &[$(Layout::$name),*];
            /// Their words, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// The word that `representation` takes.
            pub const fn word(self) -> &'static str {
                match self { $(Layout::$name => $word),* }
            }

            /// Which nodes are stored.
            pub const fn nodes(self) -> Nodes {
                match self { $(Layout::$name => Nodes::$nodes),* }
            }

            /// What nodes compare.
            pub const fn operands(self) -> Operands {
                match self { $(Layout::$name => Operands::$operands),* }
            }

            /// Which trees it holds.
            pub const fn shapes(self) -> Shapes {
                match self { $(Layout::$name => Shapes::$shapes),* }
            }

            /// Whether all trees that are walked together are complete and of one depth, so that walks are straight-line to
            /// the leaf.
            pub const fn is_straight(self) -> bool {
                match self { $(Layout::$name => $straight),* }
            }

            /// How vectors of rows get to the leaves.
            pub const fn row_vectors(self) -> RowVectors {
                match self { $(Layout::$name => RowVectors::$row_vectors),* }
            }

            /// Rows of a vector on a GPU: as many as have their bins in one register. 1 where there are no vectors.
            pub const fn gpu_lanes(self) -> u32 {
                match self { $(Layout::$name => $gpu_lanes),* }
            }

            /// Where nodes may be tiles of several nodes.
            pub const fn tiles(self) -> Tiles {
                match self { $(Layout::$name => Tiles::$tiles),* }
            }

            /// Bytes that a node takes at least, where as many nodes are leaves as not.
            pub const fn node_bytes(self) -> u64 {
                match self { $(Layout::$name => $node_bytes),* }
            }

            /// Bytes that the value of a feature takes at least in a copy of rows.
            pub const fn value_bytes(self) -> u64 {
                match self { $(Layout::$name => $value_bytes),* }
            }

            /// What it is, in one sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Layout::$name => $meaning),* }
            }

            /// What to write instead where a model takes too much memory with it.
            pub const fn smaller(self) -> &'static str {
                match self { $(Layout::$name => $smaller),* }
            }
        }
    };
}

layouts! {
    /// Complete trees in level order.
    Array "array" {
        nodes: Complete, operands: Values, shapes: Any, straight: false, row_vectors: Steps,
        gpu_lanes: 1, tiles: OnGpus, node_bytes: 8, value_bytes: 4,
        meaning: "complete trees in level order, so a child's place is computed, not loaded.",
        smaller: "use representation(sparse), which stores only nodes that exist",
    }
    /// Existing nodes only, with child indices.
    Sparse "sparse" {
        nodes: Existing, operands: Values, shapes: Any, straight: false, row_vectors: Steps,
        gpu_lanes: 1, tiles: Everywhere, node_bytes: 8, value_bytes: 4,
        meaning: "only the nodes there are, each with the place of its children.",
        smaller: "unroll fewer steps with unrollWalk, which pads trees, or split the model",
    }
    /// Complete trees whose levels are tables to look up in registers.
    Levels "levels" {
        nodes: Complete, operands: Values, shapes: Any, straight: true, row_vectors: Steps,
        gpu_lanes: 1, tiles: Nowhere, node_bytes: 4, value_bytes: 4,
        meaning: "complete trees whose levels are tables to look up in registers.",
        smaller: "use representation(array) or representation(sparse)",
    }
    /// As `Levels`, with a threshold's bin among those of its feature in place of the threshold.
    Quantized "quantized" {
        nodes: Complete, operands: Bins, shapes: Any, straight: true, row_vectors: Steps,
        gpu_lanes: 4, tiles: Nowhere, node_bytes: 3, value_bytes: 1,
        meaning: "complete trees that compare positions among a feature's thresholds; rows are quantized likewise.",
        smaller: "use representation(array) or representation(sparse)",
    }
    /// Existing nodes in preorder, with threshold bins as in `Quantized`. Vectors of rows test all nodes of a tree in this order.
    Preorder "preorder" {
        nodes: Existing, operands: Bins, shapes: Any, straight: false, row_vectors: Sweep,
        gpu_lanes: 1, tiles: Nowhere, node_bytes: 4, value_bytes: 1,
        meaning: "nodes that exist, one after the other, quantized likewise; vectors of rows test all of them.",
        smaller: "use representation(sparse), whose nodes are smaller",
    }
    /// As `Quantized`, for trees whose nodes of a level all make one test, which is stored once.
    Oblivious "oblivious" {
        nodes: Complete, operands: Bins, shapes: Oblivious, straight: true, row_vectors: Steps,
        gpu_lanes: 1, tiles: Nowhere, node_bytes: 2, value_bytes: 1,
        meaning: "trees whose nodes of a level all make one test, which is stored once; quantized likewise.",
        smaller: "use representation(sparse), which stores only nodes that exist",
    }
    /// Complete trees of one depth, the same node of all of them side by side.
    Reorg "reorg" {
        nodes: Complete, operands: Values, shapes: Any, straight: false, row_vectors: Steps,
        gpu_lanes: 1, tiles: Nowhere, node_bytes: 8, value_bytes: 4,
        meaning: "complete trees of one depth, the same node of all of them side by side, for threads with a tree each.",
        smaller: "use representation(sparse), which stores only nodes that exist",
    }
}

impl Layout {
    /// Whether nodes compare bins of rows' values with bins of thresholds.
    pub const fn is_coded(self) -> bool {
        matches!(self.operands(), Operands::Bins)
    }

    /// Whether nodes can ask for sets of categories. For other layouts each set is a column of zeros and ones.
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
