//! The layout of each storage: the one place that knows all of them.

use super::array::Array;
use super::lane_trees::LaneTrees;
use super::levels::Levels;
use super::packed::PackedNodes;
use super::preorder::Preorder;
use super::quantized::Quantized;
use super::representation::Representation;
use super::request::Request;
use super::sparse::Sparse;
use super::storage::Format;
use super::tiled::Tiled;
use super::traverse::speculate::LevelOrder;
use super::traverse::sweep::Sweep;
use super::traverse::test_mask::TestMask;
use crate::error::CompileError;

/// The layout of some trees.
pub enum Layout {
    /// [`Format::CompleteRecords`].
    Array(Array),
    /// [`Format::ChildRecords`].
    Sparse(Sparse),
    /// [`Format::PackedNodes`].
    Packed(PackedNodes),
    /// [`Format::NodeTiles`].
    Tiled(Tiled),
    /// [`Format::LevelTables`].
    Levels(Levels),
    /// [`Format::LaneTrees`].
    LaneTrees(LaneTrees),
    /// [`Format::RankWords`] and [`Format::RankTables`].
    Quantized(Quantized),
    /// [`Format::Preorder`] and [`Format::PreorderTests`].
    Preorder(Preorder),
}

impl Layout {
    /// The layout of a format for a forest.
    ///
    /// # Errors
    ///
    /// When the layout needs wider numbers than there are.
    pub fn new(format: Format, request: &Request) -> Result<Layout, CompileError> {
        Ok(match format {
            Format::CompleteRecords => Layout::Array(Array::new(request)?),
            Format::ChildRecords => Layout::Sparse(Sparse::new(request)?),
            Format::PackedNodes => Layout::Packed(PackedNodes::new(request)),
            Format::NodeTiles => Layout::Tiled(Tiled::new(request)?),
            Format::LevelTables => Layout::Levels(Levels::new(request)?),
            Format::LaneTrees { lanes } => Layout::LaneTrees(LaneTrees::new(request, lanes)?),
            Format::RankWords => Layout::Quantized(Quantized::new(request, false)?),
            Format::RankTables => Layout::Quantized(Quantized::new(request, true)?),
            Format::Preorder => Layout::Preorder(Preorder::new(request, false)?),
            Format::PreorderTests => Layout::Preorder(Preorder::new(request, true)?),
        })
    }

    /// Its code.
    pub fn representation(&self) -> &(dyn Representation + Send + Sync) {
        match self {
            Layout::Array(layout) => layout,
            Layout::Sparse(layout) => layout,
            Layout::Packed(layout) => layout,
            Layout::Tiled(layout) => layout,
            Layout::Levels(layout) => layout,
            Layout::LaneTrees(layout) => layout,
            Layout::Quantized(layout) => layout,
            Layout::Preorder(layout) => layout,
        }
    }

    /// Its nodes by level, if they are numbered level by level.
    pub fn level_order(&self) -> Option<&dyn LevelOrder> {
        match self {
            Layout::Array(layout) => Some(layout),
            Layout::Sparse(layout) => Some(layout),
            Layout::Packed(layout) => Some(layout),
            Layout::Levels(layout) => Some(layout),
            Layout::LaneTrees(layout) => Some(layout),
            Layout::Quantized(layout) => Some(layout),
            Layout::Tiled(_) | Layout::Preorder(_) => None,
        }
    }

    /// Its nodes in an order in which all of them can be tested, if they stand in one.
    pub fn sweep(&self) -> Option<&dyn Sweep> {
        match self {
            Layout::Preorder(layout) => Some(layout),
            _ => None,
        }
    }

    /// All tests of a tree as bits, if it is stored for that.
    pub fn test_mask(&self) -> Option<&dyn TestMask> {
        match self {
            Layout::Preorder(layout) if layout.has_tests() => Some(layout),
            Layout::Quantized(layout) if layout.has_tables() => Some(layout),
            _ => None,
        }
    }
}
