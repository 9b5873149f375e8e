//! The shape of a model's trees as walks see it: steps, levels and bytes.

use super::figures::{SECTOR, WALKS_OF_A_WARP};
use sched_nest::{Layout, ModelInfo, Nodes};
use std::collections::BTreeMap;

/// The trees of a model in a layout.
pub struct Trees {
    /// Number of trees.
    pub count: f64,
    /// Steps of a warp from the root to a leaf, a mean of all trees.
    pub steps: f64,
    /// Steps of a row through all trees.
    pub all_steps: f64,
    /// Bytes of a node.
    pub node_bytes: f64,
    /// Bytes of all nodes and leaves.
    pub bytes: f64,
    /// Inner nodes of a tree, a mean.
    pub nodes: f64,
    /// Depth of a tree, a mean.
    pub depth: f64,
    /// Whether the layout stores the existing nodes alone.
    pub is_sparse: bool,
}

impl Trees {
    /// The trees of a model in a layout.
    pub fn of(model: &ModelInfo, layout: Layout) -> Trees {
        let count = f64::from(model.num_trees.max(1));
        let depth = model.depths.iter().map(|depth| f64::from(*depth)).sum::<f64>() / count;
        let leaves = leaves_by_depth(model);
        let (mean, slowest) = steps(&leaves, depth);
        let all_leaves: f64 = leaves.values().sum::<f64>().max(count);
        let inner = (all_leaves - count).max(1.0);
        let is_sparse = layout.nodes() == Nodes::Existing;
        let value = f64::from(model.value_bytes.max(4));
        let bin = f64::from(model.bin_bytes.max(1));
        let node_bytes = match layout {
            Layout::Quantized | Layout::Oblivious => 2.0 * bin,
            Layout::Levels | Layout::Preorder => 4.0,
            Layout::Array | Layout::Reorg | Layout::Sparse => 2.0 * value,
        };
        let complete = count * 2f64.powi(model.max_depth().min(MOST_LEVELS) as i32);
        let (nodes, ends) = if is_sparse { (inner, all_leaves) } else { (complete, complete) };
        let leaf_bytes =
            if layout.compares_bins() { value.max(f64::from(model.sum_bytes)) } else { node_bytes / 2.0 };
        Trees {
            count,
            steps: if layout.is_straight() { depth } else { slowest },
            all_steps: count * mean,
            node_bytes,
            bytes: nodes * node_bytes + ends * leaf_bytes,
            nodes: inner / count,
            depth,
            is_sparse,
        }
    }

    /// Bytes that `rows` rows read of one tree: each level as a whole, or a sector for each row.
    pub fn touched_bytes(&self, rows: f64) -> f64 {
        let levels = self.depth.round() as i32;
        let level = |at: i32| (2f64.powi(at) * self.node_bytes).min(rows * SECTOR);
        let leaves = (2f64.powf(self.depth) * LEAF_BYTES).min(rows * SECTOR);
        (0..=levels).map(level).sum::<f64>() + leaves
    }
}

/// Bytes of a row as the caller passes it.
pub fn row_bytes(model: &ModelInfo) -> f64 {
    f64::from(model.num_features) * f64::from(model.value_bytes.max(4))
}

/// Bytes of a sum.
pub fn sum_bytes(model: &ModelInfo) -> f64 {
    f64::from(model.sum_bytes.max(4))
}

/// Most levels of a complete tree in the estimate of its bytes.
const MOST_LEVELS: u32 = 30;
/// Bytes of a leaf in the estimate of touched bytes.
const LEAF_BYTES: f64 = 4.0;

/// The number of leaves of all trees by depth; that of complete trees where the model does not say.
fn leaves_by_depth(model: &ModelInfo) -> BTreeMap<u32, f64> {
    let mut leaves = BTreeMap::new();
    if model.leaves.is_empty() {
        for depth in model.depths.iter() {
            *leaves.entry(*depth).or_insert(0.0) += 2f64.powi(*depth as i32);
        }
        return leaves;
    }
    for (depth, count) in model.leaves.iter().flat_map(|tree| (0..).zip(tree)) {
        if *count > 0 {
            *leaves.entry(depth).or_insert(0.0) += f64::from(*count);
        }
    }
    leaves
}

/// The mean number of steps to a leaf, and that of the slowest of a warp's walks, if each test sends half of
/// the rows to each side.
fn steps(leaves: &BTreeMap<u32, f64>, otherwise: f64) -> (f64, f64) {
    let reach = |depth: u32, leaves: f64| leaves * 2f64.powi(-(depth as i32));
    let all: f64 = leaves.iter().map(|(depth, leaves)| reach(*depth, *leaves)).sum();
    if all <= 0.0 {
        return (otherwise, otherwise);
    }
    let (mut mean, mut slowest, mut reached) = (0.0, 0.0, 0.0);
    for (depth, leaves) in leaves {
        let (share, before) = (reach(*depth, *leaves) / all, f64::powf(reached, WALKS_OF_A_WARP));
        reached += share;
        mean += f64::from(*depth) * share;
        slowest += f64::from(*depth) * (f64::powf(reached, WALKS_OF_A_WARP) - before);
    }
    (mean, slowest)
}
