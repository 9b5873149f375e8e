//! What layouts are made for.

use crate::budget::FetchCosts;
use crate::quantize::BinMap;
use crate::rows::features::FeatureSubset;
use crate::tiles::Tiling;
use sched_forest::Forest;
use std::sync::Arc;

/// What layouts are made for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The forest, whose trees are padded unless only complete layouts hold them.
    pub forest: &'a Forest,
    /// Edges to the deepest and to the shallowest leaf of each tree when it is padded.
    pub depths: &'a [(u32, u32)],
    /// The tiles of nodes that walks step over, where they do.
    pub tiles: Option<&'a Arc<Tiling>>,
    /// Which trees are walked in this layout.
    pub used: &'a [bool],
    /// Trees of a vector, where trees are in lanes; else 1.
    pub lanes: u32,
    /// Whether leaf indices are wanted.
    pub leaf_indices: bool,
    /// Whether vectors of rows add leaf vectors margin by margin.
    pub leaf_columns: bool,
    /// The features of the transposed copy whose columns nodes name; nodes name features if there is none.
    pub subset: Option<&'a FeatureSubset>,
    /// The bins of the forest's features, if some trees are walked with them.
    pub bins: Option<&'a Arc<BinMap>>,
    /// What vectors of rows take to fetch what they compare.
    pub fetch: &'a FetchCosts,
}

impl Request<'_> {
    /// Edges to the deepest leaf of each tree that is walked in this layout; none for others.
    pub fn depths_of_used(&self) -> Vec<Option<u32>> {
        self.used.iter().zip(self.depths).map(|(used, (deepest, _))| used.then_some(*deepest)).collect()
    }
}
