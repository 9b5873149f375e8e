//! Layouts of trees: a file for each row of the table `layouts!`, with the formats of the layout.

// The tests of `sched-lang` write these lists.
mod array;
mod hybrid;
mod levels;
mod oblivious;
mod preorder;
mod quantized;
mod reorg;
mod sparse;

/// The formats of a layout.
fn formats(layout: nest::Layout) -> Formats {
    match layout {
        nest::Layout::Array => array::FORMATS,
        nest::Layout::Sparse => sparse::FORMATS,
        nest::Layout::Levels => levels::FORMATS,
        nest::Layout::Quantized => quantized::FORMATS,
        nest::Layout::Preorder => preorder::FORMATS,
        nest::Layout::Oblivious => oblivious::FORMATS,
        nest::Layout::Reorg => reorg::FORMATS,
        nest::Layout::Hybrid => hybrid::FORMATS,
    }
}

use super::format_traits::{RowVectorTraversal, TestMasks, TransposedBins};
use super::representation::Representation;
use super::request::LayoutRequest;
use crate::error::CompileError;
use sched_nest::{self as nest, Axis};
use std::fmt::{self, Display, Formatter};

/// Layout of some trees.
pub type BoxedLayout = Box<dyn Representation + Send + Sync>;

/// Description of stored trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Storage {
    /// Nodes that are stored, their order and their fields.
    pub format: NodeFormat,
    /// Number of trees in a vector of walks, if the format depends on it; else 1.
    pub tree_lanes: u32,
    /// Whether nodes name columns of a copy of rows that has only the features in use.
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

/// A format: one of a layout's ways to store trees. Formats are ordered as their tables in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeFormat {
    /// The layout that a schedule requests.
    pub requested: nest::Layout,
    /// Index among the formats of the layout.
    index: usize,
}

/// The formats of a layout.
#[derive(Clone, Copy)]
pub struct Formats {
    /// The formats.
    pub all: &'static [FormatInfo],
    /// Finds the index of the format for an access pattern. The trees may not fit it.
    pub for_access: fn(Walking) -> usize,
}

/// Test of the trees, and index of the format for trees that fail it.
pub type Fallback = (fn(&LayoutRequest) -> bool, usize);

/// Description of a format.
pub struct FormatInfo {
    /// Text in printed plans.
    pub text: &'static str,
    /// Makes the layout of this format for a forest.
    pub layout: fn(&LayoutRequest) -> Result<BoxedLayout, CompileError>,
    /// `None` if the format holds all trees.
    pub fallback: Option<Fallback>,
    /// Traversal by vectors of rows. `None` if each lane walks as a single row does.
    pub row_vectors: Option<RowVectorTraversal>,
    /// Trees whose tests one row makes all at once.
    pub test_masks: TestMasks,
    /// Whether four rows whose bins share a word walk the first levels together.
    pub packs_rows: bool,
    /// Vectors of rows for which bins are transposed.
    pub transposed_bins: TransposedBins,
    /// Index of the format that replaces this one if threads of a GPU share a copy of rows.
    pub for_shared_rows: Option<usize>,
    /// Index of the format that replaces this one if trees are stored as tiles of nodes.
    pub for_tiles: Option<usize>,
    /// Whether records are tiles of nodes.
    pub holds_tiles: bool,
    /// Whether tables depend on the number of trees in a vector of walks.
    pub depends_on_lanes: bool,
}

impl FormatInfo {
    /// A format that holds all trees and is walked step by step, by any vectors.
    pub const fn new(
        text: &'static str,
        layout: fn(&LayoutRequest) -> Result<BoxedLayout, CompileError>,
    ) -> FormatInfo {
        FormatInfo {
            text,
            layout,
            fallback: None,
            row_vectors: None,
            test_masks: TestMasks::NoTrees,
            packs_rows: false,
            transposed_bins: TransposedBins::Never,
            for_shared_rows: None,
            for_tiles: None,
            holds_tiles: false,
            depends_on_lanes: false,
        }
    }
}

impl NodeFormat {
    /// All formats.
    pub fn all() -> impl Iterator<Item = NodeFormat> {
        let of =
            |requested| (0..formats(requested).all.len()).map(move |index| NodeFormat { requested, index });
        nest::Layout::ALL.iter().flat_map(move |layout| of(*layout))
    }

    /// Description of the format.
    pub fn info(self) -> &'static FormatInfo {
        &formats(self.requested).all[self.index]
    }

    /// Returns the format for a requested layout and an access pattern. The trees may not fit it: see
    /// [`NodeFormat::or_fallback`].
    pub fn for_access(requested: nest::Layout, walking: Walking) -> NodeFormat {
        NodeFormat { requested, index: (formats(requested).for_access)(walking) }
    }

    /// Format that replaces this one if threads of a GPU share a copy of rows.
    pub fn for_shared_rows(self) -> NodeFormat {
        NodeFormat { index: self.info().for_shared_rows.unwrap_or(self.index), ..self }
    }

    /// Format that replaces this one if trees are stored as tiles of nodes.
    pub fn for_tiles(self) -> Option<NodeFormat> {
        Some(NodeFormat { index: self.info().for_tiles?, ..self })
    }

    /// The layout of this format for a forest.
    ///
    /// # Errors
    ///
    /// If it needs wider numbers than the tables have, or if the forest does not fit it.
    pub fn layout(self, request: &LayoutRequest) -> Result<BoxedLayout, CompileError> {
        (self.info().layout)(request)
    }

    /// The format itself if it can hold the trees, else its fallback.
    pub fn or_fallback(self, request: &LayoutRequest) -> NodeFormat {
        match self.info().fallback {
            Some((holds, index)) if !holds(request) => NodeFormat { index, ..self },
            _ => self,
        }
    }
}

impl Display for Storage {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}", self.format.info().text)?;
        if self.names_columns { write!(f, "; nodes name columns of the copy") } else { Ok(()) }
    }
}
