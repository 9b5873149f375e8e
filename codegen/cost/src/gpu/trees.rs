//! The shape of a model's trees on which walks depend: levels and bytes.

use super::machine::GpuMachine;
use sched_nest::footprint::top_levels;
use sched_nest::{Layout, ModelInfo, Nodes, Operands};
use std::collections::BTreeMap;

/// The trees of a model in a layout.
pub struct TreeMemory {
    /// Number of trees.
    pub count: f64,
    /// Bytes of a node.
    pub node_bytes: f64,
    /// Number of inner nodes of the mean tree.
    pub inner_nodes: f64,
    /// Bytes of all nodes and leaves.
    pub bytes: f64,
    /// Levels of the mean tree.
    pub levels: Vec<TreeLevel>,
    /// Whether the layout stores only existing nodes, so that walks end at different levels.
    pub is_sparse: bool,
    /// Number of complete levels that are stored apart from the nodes below them. All walks reach these.
    pub top_levels: usize,
    /// Bytes of a node of these levels.
    pub top_node_bytes: f64,
}

/// A level of a tree; numbers are means over all trees.
#[derive(Clone, Copy)]
pub struct TreeLevel {
    /// Number of nodes that walks reach. Nodes that pad a complete tree count less, since few walks reach
    /// them.
    pub nodes: f64,
    /// Share of walks that reach the level.
    pub reach: f64,
}

impl TreeMemory {
    /// The trees of a model in a layout.
    pub fn of(gpu: &GpuMachine, model: &ModelInfo, layout: Layout) -> TreeMemory {
        let count = f64::from(model.num_trees.max(1));
        let leaves = leaves_by_depth(model);
        let all_leaves: f64 = leaves.values().sum::<f64>().max(count);
        let inner = (all_leaves - count).max(1.0);
        let is_sparse = layout.nodes() == Nodes::Existing;
        let value = f64::from(model.value_bytes.max(4));
        let bin = f64::from(model.bin_bytes.max(1));
        let node_bytes = match (layout.operands(), layout.has_straight_line_walks()) {
            (Operands::Bins, true) => 2.0 * bin,
            (Operands::Values, false) => 2.0 * value,
            _ => layout.node_bytes() as f64,
        };
        let complete = count * 2f64.powi(model.max_depth().min(MOST_LEVELS) as i32);
        let (nodes, ends) = if is_sparse { (inner, all_leaves) } else { (complete, complete) };
        let values = if model.has_leaf_vectors { f64::from(model.num_classes.max(1)) } else { 1.0 };
        let leaf_bytes = values
            * if layout.compares_bins() { value.max(f64::from(model.sum_bytes)) } else { node_bytes / 2.0 };
        let existing = existing_levels(&leaves, (count, all_leaves), gpu.fitted.leaf_share);
        let mut levels = if is_sparse { existing } else { complete_levels(model, &leaves, &existing) };
        let top_node_bytes = 2.0 * bin;
        let mut bytes = nodes * node_bytes + ends * leaf_bytes;
        let mut top = 0;
        if layout.has_top_levels() {
            let complete = top_levels(count as u64, all_leaves as u64);
            top = levels.len().min(complete as usize);
            levels[..top].iter_mut().for_each(|level| level.reach = 1.0);
            bytes += count * 2f64.powi(complete as i32) * (top_node_bytes + SUBTREE_BYTES);
        }
        TreeMemory {
            count,
            node_bytes,
            inner_nodes: inner / count,
            bytes,
            levels,
            is_sparse,
            top_levels: top,
            top_node_bytes,
        }
    }

    /// Bytes of a node of a level.
    pub fn node_bytes_of(&self, level: usize) -> f64 {
        if level < self.top_levels { self.top_node_bytes } else { self.node_bytes }
    }

    /// Steps of a row through all trees.
    pub fn all_steps(&self) -> f64 {
        self.count * self.levels.iter().map(|level| level.reach).sum::<f64>()
    }

    /// Bytes of a tree.
    pub fn tree_bytes(&self) -> f64 {
        self.bytes / self.count
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

/// Margins of a row.
pub fn margins(model: &ModelInfo) -> u64 {
    u64::from(model.num_classes.max(1))
}

/// Whether each tree adds to the sum of one class, so that the sums are indexed.
pub fn selects_class(model: &ModelInfo) -> bool {
    model.num_classes > 1 && !model.has_leaf_vectors
}

/// Bytes of the entry of a subtree below top levels that are stored apart.
const SUBTREE_BYTES: f64 = 4.0;
/// Most levels of a tree in the estimates.
const MOST_LEVELS: u32 = 30;

/// The number of leaves of all trees by depth. If the model information lacks it, the trees count as
/// complete.
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

/// Levels of existing inner nodes. The share of walks that reach a level is a weighted mean of two estimates.
/// One assumes that each test sends half of the rows to each side, the other that all leaves have equally
/// many rows.
fn existing_levels(
    leaves: &BTreeMap<u32, f64>,
    (count, all_leaves): (f64, f64),
    leaf_share: f64,
) -> Vec<TreeLevel> {
    let at = |depth: u32| leaves.get(&depth).copied().unwrap_or(0.0);
    let mut inner = count - at(0);
    let mut deeper = all_leaves - at(0);
    let mut levels = Vec::new();
    for depth in 0..MOST_LEVELS {
        if inner <= 0.0 {
            break;
        }
        let nodes = inner / count;
        let by_halves = nodes / 2f64.powi(depth as i32);
        let by_leaves = (deeper / all_leaves).max(0.0);
        let reach = by_halves.powf(1.0 - leaf_share) * by_leaves.powf(leaf_share);
        levels.push(TreeLevel { nodes, reach });
        inner = 2.0 * inner - at(depth + 1);
        deeper -= at(depth + 1);
    }
    levels
}

/// Levels of complete trees. Below a leaf, all walks that reach it follow one chain of padding. The number of
/// nodes of a level is an effective one: that of equally popular nodes which are as hard to cache. It is the
/// reciprocal of the sum of the squares of the nodes' shares of walks.
fn complete_levels(model: &ModelInfo, leaves: &BTreeMap<u32, f64>, existing: &[TreeLevel]) -> Vec<TreeLevel> {
    let count = f64::from(model.num_trees.max(1));
    let reach_of = |depth: u32| existing.get(depth as usize).map_or(0.0, |level| level.reach);
    let mut chains = 0.0;
    (0..model.max_depth().min(MOST_LEVELS))
        .map(|depth| {
            let ending = if depth == 0 { 0.0 } else { (reach_of(depth - 1) - reach_of(depth)).max(0.0) };
            let ends = leaves.get(&depth).map_or(0.0, |ends| ends / count);
            chains += if ends > 0.0 { ending * ending / ends } else { 0.0 };
            let inner = existing.get(depth as usize).map_or(0.0, |level| level.reach.powi(2) / level.nodes);
            let deep = model.depths.iter().filter(|most| **most > depth).count() as f64 / count;
            let all = 2f64.powi(depth as i32) * deep;
            TreeLevel {
                nodes: if inner + chains > 0.0 { all.min((inner + chains).recip()) } else { 0.0 },
                reach: deep,
            }
        })
        .collect()
}
