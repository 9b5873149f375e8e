//! Table of all storage formats, and the layout of each.

mod array;
mod bin_pairs;
mod lane_trees;
mod levels;
mod oblivious;
mod packed;
mod preorder;
mod quantized;
mod reorg;
mod sparse;
mod tiled;

use super::format_traits::{RowVectorTraversal, TestMasks, TransposedBins};
use super::representation::Representation;
use super::request::LayoutRequest;
use crate::error::CompileError;
use array::Array;
use bin_pairs::BinPairs;
use lane_trees::LaneTrees;
use levels::Levels;
use oblivious::Oblivious;
use packed::PackedNodes;
use preorder::Preorder;
use quantized::Quantized;
use reorg::Reorg;
use sched_nest::{self as nest, Axis};
use sparse::Sparse;
use std::fmt::{self, Display, Formatter};
use tiled::Tiled;

/// Layout of some trees.
pub type Layout = Box<dyn Representation + Send + Sync>;

/// Description of stored trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Storage {
    /// Nodes that are stored, their order and their fields.
    pub format: Format,
    /// Number of trees in a vector of walks, if the format depends on it; else 1.
    pub tree_lanes: u32,
    /// Whether nodes name columns of a transposed copy of rows, which has only the features in use.
    pub names_columns: bool,
}

/// Access pattern of a leaf loop: single walks or vectors of walks, over rows or over trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walking {
    /// One walk at a time.
    Single(WalkAxis),
    /// Vectors of walks.
    Vectors(WalkAxis),
}

/// Things that a leaf loop counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkAxis {
    /// Rows.
    Row,
    /// Trees.
    Tree,
}

impl From<Axis> for WalkAxis {
    fn from(axis: Axis) -> WalkAxis {
        if axis == Axis::Tree { WalkAxis::Tree } else { WalkAxis::Row }
    }
}

/// Properties of a storage format on which the plan depends.
#[derive(Clone, Copy, Debug)]
pub struct FormatTraits {
    /// Traversal by vectors of rows. `None` if each lane walks as a single row does.
    pub row_vectors: Option<RowVectorTraversal>,
    /// Trees whose tests one row makes all at once.
    pub test_masks: TestMasks,
    /// Whether four rows whose bins share a word walk the first levels together.
    pub packs_rows: bool,
    /// Vectors of rows for which bins are transposed.
    pub transposed_bins: TransposedBins,
    /// Format that replaces this one if threads of a GPU share a copy of rows.
    pub for_shared_rows: Option<Format>,
    /// Format that replaces this one if trees are stored as tiles of nodes.
    pub for_tiles: Option<Format>,
    /// Whether records are tiles of nodes.
    pub holds_tiles: bool,
    /// Whether tables depend on the number of trees in a vector of walks.
    pub depends_on_lanes: bool,
}

impl FormatTraits {
    /// Properties of a format that is walked step by step, by any vectors.
    pub const PLAIN: FormatTraits = FormatTraits {
        row_vectors: None,
        test_masks: TestMasks::NoTrees,
        packs_rows: false,
        transposed_bins: TransposedBins::Never,
        for_shared_rows: None,
        for_tiles: None,
        holds_tiles: false,
        depends_on_lanes: false,
    };
}

/// Declares the formats in the order of their tables in a model. Each line has the format's name and its text
/// in printed plans. The requested layout and the access pattern of the leaf loops that it suits follow, then
/// the constructor of its layout. A format that cannot hold all trees also has a test of the trees and a
/// fallback. Properties that differ from [`FormatTraits::PLAIN`] come last.
macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident $text:literal $([$requested:ident: $walking:pat])? $layout:path
        $(, if $holds:path, else $other:ident)? $(, { $($property:ident: $value:expr),* })?;)*) => {
        /// Nodes that are stored, their order and their fields.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Format {
            $($(#[$doc])* $name,)*
        }

        impl Format {
            /// All formats.
            pub const ALL: &'static [Format] = &[$(Format::$name),*];

            /// Description in printed plans.
            pub fn text(self) -> &'static str {
                match self {
                    $(Format::$name => $text,)*
                }
            }

            /// Returns the format for a requested layout and an access pattern. The trees may not fit it: see
            /// [`Format::or_fallback`].
            pub fn for_access(requested: nest::Layout, walking: Walking) -> Format {
                use WalkAxis::{Row, Tree};
                use Walking::{Single, Vectors};
                match (requested, walking) {
                    $($((nest::Layout::$requested, $walking) => Format::$name,)?)*
                }
            }

            /// Properties on which the plan depends.
            pub const fn traits(self) -> FormatTraits {
                match self {
                    $(Format::$name => FormatTraits { $($($property: $value,)*)? ..FormatTraits::PLAIN },)*
                }
            }

            /// The layout of this format for a forest.
            ///
            /// # Errors
            ///
            /// If it needs wider numbers than the tables have, or if the forest does not fit it.
            pub fn layout(self, request: &LayoutRequest) -> Result<Layout, CompileError> {
                match self {
                    $(Format::$name => Ok(Box::new($layout(request)?)),)*
                }
            }

            /// The format itself if it can hold the trees, else its fallback.
            pub fn or_fallback(self, request: &LayoutRequest) -> Format {
                match self {
                    $($(Format::$name if !$holds(request) => Format::$other,)?)*
                    format => format,
                }
            }
        }
    };
}

formats! {
    /// Complete trees in level order, a record for each node.
    CompleteRecords "complete trees in level order, records" [Array: _] Array::new;
    /// Complete trees of one depth, a record per node, with the same node of all trees adjacent.
    ReorgRecords "complete trees of one depth, the same node of all trees adjacent, records"
        [Reorg: _] Reorg::new;
    /// Existing nodes breadth first, a record with a child number for each.
    ChildRecords "existing nodes breadth first, records" [Sparse: Single(_)] Sparse::new,
        { for_tiles: Some(Format::NodeTiles) };
    /// Tiles of existing nodes, a record for each tile.
    NodeTiles "tiles of existing nodes, records" Tiled::new, { holds_tiles: true };
    /// Existing nodes breadth first, each packed into 64 bits.
    PackedNodes "existing nodes breadth first, packed into 64 bits"
        [Sparse: Vectors(_)] PackedNodes::new, if PackedNodes::fits, else ChildRecords;
    /// Complete trees in level order, a table for each field.
    LevelTables "complete trees in level order, tables" [Levels: Single(_) | Vectors(Row)] Levels::new,
        { row_vectors: Some(RowVectorTraversal::LevelLookup) };
    /// Complete trees of equal size, three levels per chunk, with their first levels lane by lane.
    LaneTrees "complete trees, three levels at a time; first levels lane by lane"
        [Levels: Vectors(Tree)] LaneTrees::new, { depends_on_lanes: true };
    /// Complete trees in level order, threshold bin and column of a node packed into 32 bits.
    BinWords "complete trees in level order, threshold bins and columns in words"
        [Quantized: Vectors(Tree)] Quantized::words;
    /// Complete trees in level order, a table of threshold bins and one of columns.
    BinTables "complete trees in level order, threshold bins and columns in tables"
        [Quantized: Single(_) | Vectors(Row)] Quantized::tables,
        {
            row_vectors: Some(RowVectorTraversal::LevelLookup),
            test_masks: TestMasks::SmallTrees,
            packs_rows: true,
            transposed_bins: TransposedBins::Always,
            for_shared_rows: Some(Format::BinPairs)
        };
    /// Complete trees in level order, threshold bin and column of a node packed into 16 bits, for
    /// threads of a GPU.
    BinPairs "complete trees in level order, threshold bins and columns in 16 bits"
        BinPairs::new, if BinPairs::fits, else BinTables, { packs_rows: true };
    /// Oblivious trees: one test per level, and the leaves.
    LevelTests "one test for each level, threshold bins and columns in tables" [Oblivious: _] Oblivious::new,
        {
            row_vectors: Some(RowVectorTraversal::LevelTests),
            transposed_bins: TransposedBins::RowVectors
        };
    /// Existing nodes depth first, with threshold bins.
    Preorder "existing nodes depth first, threshold bins in records"
        [Preorder: Single(Row) | Vectors(_)] Preorder::nodes,
        {
            row_vectors: Some(RowVectorTraversal::NodeSweep),
            transposed_bins: TransposedBins::RowVectors
        };
    /// As [`Format::Preorder`], with tables of bytes from which one row makes all tests of a tree at once.
    PreorderTests "existing nodes depth first, threshold bins in records; all tests in tables of bytes"
        [Preorder: Single(Tree)] Preorder::with_tests, if Preorder::fits_test_mask, else Preorder,
        { test_masks: TestMasks::AllTrees };
}

impl Display for Storage {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}", self.format.text())?;
        if self.names_columns { write!(f, "; nodes name columns of the copy") } else { Ok(()) }
    }
}
