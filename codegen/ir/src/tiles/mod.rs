//! Node tiles (Treebeard): connected nodes of a tree whose tests are all made at once, so that a step passes
//! a tile.
//!
//! The schedule sets the largest number of inner nodes of a tile; leaves belong to no tile. The
//! children of a tile are the nodes and leaves below it, from left to right. This module knows only
//! trees. Representations store tiles in memory.

mod grow;
mod shape;

pub use grow::{LIKELY_HITS_PERCENT, LIKELY_LEAVES_PERCENT};
pub use shape::Shape;

use crate::budget::Budget;
use crate::codes;
use crate::error::CompileError;
use grow::Growth;
use sched_forest::{Forest, NodeRef, Profile, Tree};
use sched_nest::TileTrees;
use sched_nest::footprint::PADDED_TILE_BYTES;
use std::collections::HashMap;

/// A child of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// The tile with this number in its tree.
    Tile(u32),
    /// The tree's leaf with this number.
    Leaf(u32),
}

/// Nodes whose tests are made at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Inner nodes of the tree, in the tile's level order. A tile of padding has none.
    pub nodes: Vec<u32>,
    /// Parents and children inside the tile.
    pub shape: Shape,
    /// Children of the tile, from left to right.
    pub children: Vec<Child>,
}

impl Tile {
    /// A tile without tests, which leads to its only child.
    fn padding(child: Child) -> Tile {
        Tile { nodes: Vec::new(), shape: Shape::default(), children: vec![child] }
    }
}

/// Tiles that cover a tree; the first one holds the root. A tree that is a leaf has one tile of
/// padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TiledTree {
    /// All tiles, parents before children.
    pub tiles: Vec<Tile>,
}

/// The tiles of all trees of a forest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Largest number of nodes of a tile.
    pub most_nodes: u32,
    /// Number of trees whose tiles grow towards likely leaves.
    pub biased: usize,
    /// Tiles of each tree.
    pub trees: Vec<TiledTree>,
}

impl Tiling {
    /// Covers the trees of a forest with tiles.
    ///
    /// # Errors
    ///
    /// If the request is by probability, and there is no profile or it belongs to another forest.
    pub fn new(
        forest: &Forest,
        request: TileTrees,
        profile: Option<&Profile>,
    ) -> Result<Tiling, CompileError> {
        let mut biased = 0;
        let mut trees = Vec::with_capacity(forest.trees.len());
        for tree in &forest.trees {
            let growth = if request.by_probability {
                let hits = profile.and_then(|profile| profile.hits(tree)).ok_or_else(no_profile)?;
                Growth::by_hits(tree, &hits)
            } else {
                Growth::Uniform
            };
            biased += usize::from(matches!(growth, Growth::Likely(_)));
            trees.push(TiledTree::cover(tree, &growth, request.nodes as usize));
        }
        Ok(Tiling { most_nodes: request.nodes, biased, trees })
    }

    /// Depths of the deepest and the shallowest leaf of each tree, in edges between tiles.
    pub fn depths(&self) -> Vec<(u32, u32)> {
        self.trees.iter().map(TiledTree::depths).collect()
    }

    /// Pushes the leaves of each tree down to `steps` steps, one tile per step.
    ///
    /// # Errors
    ///
    /// If that would exceed the budget.
    pub fn pad(&mut self, steps: &[u32], budget: &Budget) -> Result<(), CompileError> {
        let mut added = 0u64;
        for (tree, steps) in self.trees.iter().zip(steps) {
            let missing = tree.leaf_steps().map(|leaf| u64::from(steps.saturating_sub(leaf)));
            added = missing.fold(added, u64::saturating_add);
            if added.saturating_mul(PADDED_TILE_BYTES) > budget.tables {
                return Err(CompileError::new(
                    codes::PAD_BUDGET,
                    format!(
                        "padding the trees to {steps} tiles would need more than {} MiB",
                        budget.tables >> 20
                    ),
                    "unroll fewer steps with unrollWalk, or use peelWalk, which pads nothing",
                ));
            }
        }
        for (tree, steps) in self.trees.iter_mut().zip(steps) {
            tree.pad(*steps);
        }
        Ok(())
    }
}

fn no_profile() -> CompileError {
    CompileError::new(
        codes::NO_PROFILE,
        "tiles by probability need a profile of every tree's leaves",
        "make one with `schedc profile` and give it with --profile, or use tileTrees without `probability`",
    )
}

impl TiledTree {
    fn cover(tree: &Tree, growth: &Growth, most_nodes: usize) -> TiledTree {
        let root = match tree.root {
            NodeRef::Leaf(leaf) => return TiledTree { tiles: vec![Tile::padding(Child::Leaf(leaf))] },
            NodeRef::Inner(root) => root,
        };
        let mut tiles = Vec::new();
        let mut roots = vec![root];
        while let Some(root) = roots.get(tiles.len()).copied() {
            let nodes = growth.tile(tree, root, most_nodes);
            tiles.push(tile(tree, nodes, &mut roots));
        }
        TiledTree { tiles }
    }

    /// Steps to the deepest and the shallowest leaf.
    fn depths(&self) -> (u32, u32) {
        let (deepest, shallowest) = (self.leaf_steps().max(), self.leaf_steps().min());
        (deepest.unwrap_or(0), shallowest.unwrap_or(0))
    }

    /// Steps to each tile.
    fn steps(&self) -> Vec<u32> {
        let mut steps = vec![0u32; self.tiles.len()];
        for (at, tile) in self.tiles.iter().enumerate() {
            for child in &tile.children {
                if let Child::Tile(child) = child {
                    steps[*child as usize] = steps[at] + 1;
                }
            }
        }
        steps
    }

    /// Steps to each leaf child.
    fn leaf_steps(&self) -> impl Iterator<Item = u32> {
        let steps = self.steps();
        self.tiles.iter().zip(steps).flat_map(|(tile, steps)| {
            let leaves = tile.children.iter().filter(|child| matches!(child, Child::Leaf(_)));
            leaves.map(move |_| steps + 1)
        })
    }

    fn pad(&mut self, depth: u32) {
        let steps = self.steps();
        for (at, steps) in steps.into_iter().enumerate() {
            for child in 0..self.tiles[at].children.len() {
                let leaf = self.tiles[at].children[child];
                if matches!(leaf, Child::Tile(_)) || steps + 1 >= depth {
                    continue;
                }
                let first = self.tiles.len() as u32;
                self.tiles[at].children[child] = Child::Tile(first);
                let last = first + (depth - steps - 1) - 1;
                self.tiles.extend((first..last).map(|number| Tile::padding(Child::Tile(number + 1))));
                self.tiles.push(Tile::padding(leaf));
            }
        }
    }
}

/// The tile of some nodes, which are in level order. Appends the roots of its child tiles to `roots`.
fn tile(tree: &Tree, nodes: Vec<u32>, roots: &mut Vec<u32>) -> Tile {
    let place: HashMap<u32, usize> = nodes.iter().enumerate().map(|(at, node)| (*node, at)).collect();
    let sides = |node: &u32| [tree.inner[*node as usize].left, tree.inner[*node as usize].right];
    let within = |child: NodeRef| matches!(child, NodeRef::Inner(inner) if place.contains_key(&inner));
    let shape = Shape::of(nodes.iter().map(|node| {
        let [left, right] = sides(node);
        (within(left), within(right))
    }));
    let mut children = Vec::with_capacity(nodes.len() + 1);
    // From left to right: the right child is pushed first.
    let mut stack: Vec<NodeRef> = nodes.first().map(|root| NodeRef::Inner(*root)).into_iter().collect();
    while let Some(at) = stack.pop() {
        match at {
            NodeRef::Leaf(leaf) => children.push(Child::Leaf(leaf)),
            NodeRef::Inner(inner) if place.contains_key(&inner) => {
                let [left, right] = sides(&inner);
                stack.extend([right, left]);
            }
            NodeRef::Inner(inner) => {
                children.push(Child::Tile(roots.len() as u32));
                roots.push(inner);
            }
        }
    }
    Tile { nodes, shape, children }
}

#[cfg(test)]
mod tests;
