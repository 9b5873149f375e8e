//! The order of the trees, and the operations that depend on it.

use super::DirectiveIndex;
use crate::illegal::{Illegal, Problem};
use sched_nest::{ModelInfo, TreeOrder};

/// Positions of the trees in the values of tree loops.
#[derive(Clone, Debug)]
pub(super) struct TreePositions {
    order: TreeOrder,
    /// First operation that depends on tree positions.
    fixed_by: Option<DirectiveIndex>,
    sorted_by: Option<DirectiveIndex>,
}

impl TreePositions {
    /// Positions of the model.
    pub fn new() -> Self {
        TreePositions { order: TreeOrder::Model, fixed_by: None, sorted_by: None }
    }

    /// Order of the trees.
    pub fn order(&self) -> TreeOrder {
        self.order
    }

    /// Depths of the trees in this order.
    pub fn depths(&self, model: &ModelInfo) -> Vec<u32> {
        let mut depths = model.depths.to_vec();
        if self.order == TreeOrder::ByDepth {
            depths.sort_unstable();
        }
        depths
    }

    /// Records the first operation that depends on tree positions; `sort` is refused after it.
    pub fn fix(&mut self, step: DirectiveIndex) {
        self.fixed_by.get_or_insert(step);
    }

    /// Sorts the trees stably by depth, shallowest first.
    ///
    /// # Errors
    /// If an earlier operation depends on tree positions, or has sorted the trees.
    pub fn sort(&mut self, step: DirectiveIndex) -> Result<(), Illegal> {
        if let Some(earlier) = self.sorted_by {
            return Err(Illegal::at(step, Problem::Repeated { earlier }, Vec::new()));
        }
        if let Some(by) = self.fixed_by {
            return Err(Illegal::at(step, Problem::SortTooLate { by }, Vec::new()));
        }
        self.order = TreeOrder::ByDepth;
        self.sorted_by = Some(step);
        Ok(())
    }
}
