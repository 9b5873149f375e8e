//! Padding: pushes shallow leaves down to a depth, so that walks down to it need no leaf test. Layouts of
//! complete trees pad in their tables, without new nodes in the forest.
//!
//! A leaf at depth `k` becomes a complete subtree of `depth - k` levels. Its tests do not matter,
//! because all of its leaves are copies of the replaced one.

use super::leaf_loop::LeafLoop;
use crate::budget::Budget;
use crate::codes;
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use sched_forest::{Forest, ForestParts, Inner, NodeRef, Predicate, Tree};
use sched_nest::LoopId;
use sched_nest::footprint::{PADDED_NODE_BYTES, padded_depths, padding};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Pads every tree to the depth of the longest straight-line walk over it. Trees get new nodes only if some
/// layout of incomplete trees stores them. Updates `depths`, the depths of each tree's deepest and shallowest
/// leaf.
pub fn pad_trees(
    forest: &mut Arc<Forest>,
    depths: &mut [(u32, u32)],
    leaf_loops: &BTreeMap<LoopId, LeafLoop>,
    budget: &Budget,
) -> Result<(), CompileError> {
    let trees = &forest.trees;
    let wanted = padded_depths(leaf_loops, trees.len());
    // Trees whose leaves all are at the wanted depth or deeper need no padding.
    let shallow: Vec<usize> = (0..trees.len()).filter(|at| depths[*at].1 < wanted[*at]).collect();
    let mut nodes = 0u64;
    for at in &shallow {
        let depth = wanted[*at];
        trees[*at].for_each_leaf(|_, leaf| nodes = nodes.saturating_add(padding([(leaf, 1)], depth)));
        if nodes.saturating_mul(PADDED_NODE_BYTES) > budget.tables {
            let most = depths.iter().map(|(deepest, _)| *deepest).max().unwrap_or(0);
            return Err(CompileError::new(
                codes::PAD_BUDGET,
                format!(
                    "padding the trees to {depth} steps would need more than {} MiB",
                    budget.tables >> 20
                ),
                format!(
                    "the deepest tree has {most} levels: unroll fewer steps with unrollWalk, or use \
                     peelWalk, \
                     which pads nothing"
                ),
            ));
        }
    }
    for at in &shallow {
        let ((deepest, shallowest), depth) = (depths[*at], wanted[*at]);
        depths[*at] = (deepest.max(depth), shallowest.max(depth));
    }
    let mut need_nodes = vec![false; trees.len()];
    for leaf_loop in leaf_loops.values().filter(|leaf_loop| !leaf_loop.layout.has_straight_line_walks()) {
        if let Some(need_nodes) = need_nodes.get_mut(leaf_loop.trees.clone()) {
            need_nodes.fill(true);
        }
    }
    if !shallow.iter().any(|at| need_nodes[*at]) {
        return Ok(());
    }
    // The direction of missing values does not matter in padding. One direction for all nodes keeps
    // comparisons simple.
    let missing_left = trees.iter().flat_map(|tree| &tree.inner).all(|node| node.missing_left);
    let ForestParts { trees, linear, .. } = &mut **Arc::make_mut(forest);
    for at in shallow.into_iter().filter(|at| need_nodes[*at]) {
        let before = trees[at].leaves.len();
        let copied = pad_tree(&mut trees[at], wanted[at], missing_left);
        debug_assert_eq!(before + copied.len(), trees[at].leaves.len(), "a copied leaf is not listed");
        if let Some(leaves) = linear.get_mut(at).filter(|leaves| !leaves.is_empty()) {
            let copies: Vec<_> =
                copied.into_iter().filter_map(|leaf| leaves.get(leaf as usize).cloned()).collect();
            leaves.extend(copies);
        }
    }
    Ok(())
}

/// Pads a tree. Returns, for each added leaf, the number of the leaf that it copies.
fn pad_tree(tree: &mut Tree, depth: u32, missing_left: bool) -> Vec<u32> {
    let mut todo = vec![(tree.root, 0)];
    let (mut shallow, mut copied) = (Vec::new(), Vec::new());
    if let NodeRef::Leaf(leaf) = tree.root {
        todo.clear();
        if depth > 0 {
            tree.root = add_complete_subtree(tree, leaf, depth, missing_left, &mut copied);
        }
    }
    while let Some((node, level)) = todo.pop() {
        let NodeRef::Inner(at) = node else { continue };
        let inner = &tree.inner[at as usize];
        for (child, is_left) in [(inner.left, true), (inner.right, false)] {
            match child {
                NodeRef::Leaf(leaf) if level + 1 < depth => {
                    shallow.push((at, is_left, leaf, depth - level - 1));
                }
                _ => todo.push((child, level + 1)),
            }
        }
    }
    for (parent, is_left, leaf, levels) in shallow {
        let subtree = add_complete_subtree(tree, leaf, levels, missing_left, &mut copied);
        let parent = &mut tree.inner[parent as usize];
        *(if is_left { &mut parent.left } else { &mut parent.right }) = subtree;
    }
    copied
}

/// Adds a complete subtree of `levels` levels of inner nodes over copies of a leaf. Parents come before their
/// children. Appends the leaf's number to `copied` for each added leaf.
fn add_complete_subtree(
    tree: &mut Tree,
    leaf: u32,
    levels: u32,
    missing_left: bool,
    copied: &mut Vec<u32>,
) -> NodeRef {
    let first = tree.inner.len() as u32;
    let inner = (1u32 << levels) - 1;
    let lost = seeded(Fault::PadLosesLeaf);
    for i in 0..inner {
        let mut child = |number: u32| match number {
            number if number < inner => NodeRef::Inner(first + number),
            // The first leaf of the subtree is the original, so that no leaf is unused.
            number if number == inner => NodeRef::Leaf(leaf),
            _ => {
                let mut copy = tree.leaves[leaf as usize].clone();
                if lost {
                    copy.values.iter_mut().for_each(|value| *value = 0.0);
                }
                tree.leaves.push(copy);
                copied.push(leaf);
                NodeRef::Leaf(tree.leaves.len() as u32 - 1)
            }
        };
        let (left, right) = (child(2 * i + 1), child(2 * i + 2));
        let predicate = Predicate::Numeric { threshold: 0.0 };
        tree.inner.push(Inner { feature: 0, predicate, missing_left, left, right });
    }
    NodeRef::Inner(first)
}
