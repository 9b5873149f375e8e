//! Input of the layouts' constructors.

use crate::budget::FetchCosts;
use crate::quantize::BinMap;
use crate::rows::features::FeatureSubset;
use crate::tiles::Tiling;
use sched_forest::Forest;
use std::sync::Arc;

/// Forest, access pattern and limits for which a layout is made.
#[derive(Clone, Copy)]
pub struct LayoutRequest<'a> {
    /// The forest. Trees have padding for straight-line walks, except those that only layouts of complete
    /// trees store: these layouts pad in their tables.
    pub forest: &'a Forest,
    /// Depths of the deepest and the shallowest leaf of each tree after padding, in edges.
    pub depths: &'a [(u32, u32)],
    /// Tiles of nodes, if walks step from tile to tile.
    pub tiles: Option<&'a Arc<Tiling>>,
    /// For each tree, whether the layout stores it.
    pub used: &'a [bool],
    /// Number of trees in a vector of walks, if lanes are trees; else 1.
    pub tree_lanes: u32,
    /// Whether a kernel returns leaf indices.
    pub returns_leaf_indices: bool,
    /// Whether vectors of rows add leaf vectors margin by margin.
    pub adds_by_margin: bool,
    /// Features of the transposed copy, if nodes name its columns; `None` if nodes name features.
    pub subset: Option<&'a FeatureSubset>,
    /// Bins of the forest's features, if some walks compare bins.
    pub bins: Option<&'a Arc<BinMap>>,
    /// Costs of fetching operands in vectors of rows.
    pub fetch: &'a FetchCosts,
}

impl LayoutRequest<'_> {
    /// Depth of the deepest leaf of each tree that is walked in this layout; `None` for others.
    pub fn depths_of_used(&self) -> Vec<Option<u32>> {
        self.used.iter().zip(self.depths).map(|(used, (deepest, _))| used.then_some(*deepest)).collect()
    }
}
