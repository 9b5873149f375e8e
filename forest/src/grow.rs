//! Builds a [`Tree`] from the root down, in depth-first order.

use crate::MAX_DEPTH;
use crate::codes;
use crate::error::ModelError;
use crate::forest::{Inner, Leaf, NodeRef, Predicate, Tree, TreeTarget};

/// A position still to be filled with a node, and its depth: the root, or a child of an inner node.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    parent: Option<(u32, bool)>,
    depth: u32,
}

impl Slot {
    /// The slot of the root.
    pub const ROOT: Slot = Slot { parent: None, depth: 0 };
}

/// A tree that is filled in depth-first order, left before right.
#[derive(Debug)]
pub struct TreeBuilder(Tree);

impl TreeBuilder {
    /// A tree without nodes. The caller must add at least one.
    pub fn new(target: TreeTarget, source: u32) -> TreeBuilder {
        TreeBuilder(Tree { root: NodeRef::Leaf(0), inner: Vec::new(), leaves: Vec::new(), target, source })
    }

    /// Puts a leaf into a slot.
    pub fn leaf(&mut self, slot: Slot, leaf: Leaf) {
        let node = NodeRef::Leaf(self.0.leaves.len() as u32);
        self.0.leaves.push(leaf);
        self.put(slot, node);
    }

    /// Puts an inner node into a slot, and returns the slots of its left and its right child.
    ///
    /// # Errors
    /// `M0014` if the slot is deeper than [`MAX_DEPTH`].
    pub fn inner(
        &mut self,
        slot: Slot,
        feature: u32,
        predicate: Predicate,
        missing_left: bool,
    ) -> Result<(Slot, Slot), ModelError> {
        if slot.depth >= MAX_DEPTH {
            let message = format!("the tree is deeper than {MAX_DEPTH} levels");
            return Err(ModelError::new(codes::TOO_DEEP, message).help("train with a smaller maximum depth"));
        }
        let index = self.0.inner.len() as u32;
        let waiting = NodeRef::Leaf(u32::MAX);
        self.0.inner.push(Inner { feature, predicate, missing_left, left: waiting, right: waiting });
        self.put(slot, NodeRef::Inner(index));
        let child = |is_left| Slot { parent: Some((index, is_left)), depth: slot.depth + 1 };
        Ok((child(true), child(false)))
    }

    /// Returns the tree. Every slot must hold a node or a leaf.
    pub fn done(mut self) -> Tree {
        self.0.inner.shrink_to_fit();
        self.0.leaves.shrink_to_fit();
        self.0
    }

    fn put(&mut self, slot: Slot, node: NodeRef) {
        match slot.parent {
            None => self.0.root = node,
            Some((parent, true)) => self.0.inner[parent as usize].left = node,
            Some((parent, false)) => self.0.inner[parent as usize].right = node,
        }
    }
}
