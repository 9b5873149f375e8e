//! The order in which layouts are tried for a model, by the chooser of schedules and in the proposals of
//! editors.

use crate::layout::{Layout, Nodes, Shapes};
use crate::model::ModelInfo;

/// Deepest trees, in edges, that are worth completing. Each level doubles the tables, while unbalanced trees
/// of this depth seldom have more than a few hundred leaves.
const MOST_COMPLETE_LEVELS: u32 = 12;
/// Most nodes of a model's trees once they are complete: 16 million records of a few bytes, within the budget
/// of tables.
const MOST_COMPLETE_NODES: u64 = 1 << 24;
/// Most times by which completing trees may multiply their leaves. More padding makes tables that leave the
/// caches, which costs more than straight-line walks save.
const MOST_PADDING: u64 = 32;

impl Layout {
    /// The layouts that schedc chooses, in the order in which it tries them.
    pub fn in_trial_order() -> Vec<Layout> {
        let all = Layout::ALL.iter().copied();
        let mut all: Vec<Layout> = all.filter(|layout| layout.trial_position().is_some()).collect();
        all.sort_by_key(|layout| layout.trial_position());
        all
    }

    /// The layouts for GPU schedules, in the order in which tuning tries them.
    pub fn in_gpu_trial_order() -> Vec<Layout> {
        let all = Layout::ALL.iter().copied();
        let mut all: Vec<Layout> = all.filter(|layout| layout.gpu_trial_position().is_some()).collect();
        all.sort_by_key(|layout| layout.gpu_trial_position());
        all
    }

    /// Whether the layout suits the trees of a model: they have nodes, and are oblivious or worth completing
    /// where the layout needs that. The checker may still refuse it.
    pub fn suits(self, model: &ModelInfo) -> bool {
        let is_oblivious = || !model.oblivious.is_empty() && model.oblivious.iter().all(|tree| *tree);
        let has_nodes = model.max_depth() > 0;
        match (self.shapes(), self.nodes()) {
            (Shapes::Oblivious, _) => has_nodes && is_oblivious(),
            (Shapes::Any, Nodes::Complete) if self.has_straight_line_walks() => {
                has_nodes && is_worth_completing(model)
            }
            (Shapes::Any, _) => has_nodes,
        }
    }
}

/// Whether complete trees are small enough. A model whose leaves are not known is judged by its depth.
fn is_worth_completing(model: &ModelInfo) -> bool {
    let depth = model.max_depth();
    let nodes = u64::from(model.num_trees) << depth.min(32);
    let leaves: u64 = model.leaves.iter().flatten().map(|leaves| u64::from(*leaves)).sum();
    let is_padded = !model.leaves.is_empty() && nodes > MOST_PADDING * leaves;
    depth <= MOST_COMPLETE_LEVELS && nodes <= MOST_COMPLETE_NODES && !is_padded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_count_the_layouts_that_are_tried() {
        let chosen = Layout::in_trial_order();
        let turns: Vec<u32> = chosen.iter().filter_map(|layout| layout.trial_position()).collect();
        assert_eq!(turns, (1..=chosen.len() as u32).collect::<Vec<_>>());
        assert!(!chosen.contains(&Layout::Hybrid), "no machine has been measured with it");
        let on_gpus = Layout::in_gpu_trial_order();
        let turns: Vec<u32> = on_gpus.iter().filter_map(|layout| layout.gpu_trial_position()).collect();
        assert_eq!(turns, (1..=on_gpus.len() as u32).collect::<Vec<_>>());
    }

    #[test]
    fn alternatives_are_mutual() {
        let alternatives = Layout::ALL.iter().filter_map(|layout| Some((*layout, layout.cpu_alternative()?)));
        let alternatives: Vec<(Layout, Layout)> = alternatives.collect();
        assert!(alternatives.contains(&(Layout::Quantized, Layout::Preorder)));
        assert!(
            alternatives.iter().all(|(one, other)| other.cpu_alternative() == Some(*one) && one != other)
        );
    }

    #[test]
    fn layouts_suit_trees_by_their_shape() {
        let of_depth = |depth: u32, oblivious: bool| ModelInfo {
            num_trees: 3,
            depths: vec![depth; 3].into(),
            oblivious: vec![oblivious; 3],
            ..ModelInfo::default()
        };
        let suiting = |model: &ModelInfo| -> Vec<&str> {
            Layout::in_trial_order()
                .into_iter()
                .filter(|layout| layout.suits(model))
                .map(Layout::word)
                .collect()
        };
        assert_eq!(suiting(&of_depth(4, true)).first(), Some(&"oblivious"));
        assert_eq!(suiting(&of_depth(4, false)).first(), Some(&"quantized"));
        assert_eq!(suiting(&of_depth(13, false)), ["preorder", "sparse", "array", "reorg"]);
        assert_eq!(suiting(&of_depth(0, false)), Vec::<&str>::new());
        // Three chains with 13 leaves each would have 4096 each.
        let leaves = vec![std::iter::once(0).chain(vec![1; 11]).chain([2]).collect(); 3];
        let chains = ModelInfo { leaves, ..of_depth(12, false) };
        assert!(!Layout::Quantized.suits(&chains) && Layout::Preorder.suits(&chains));
    }
}
