//! Annotations about the loops of the final nest.

use super::{Annotation, DirectiveIndex, NestBuilder};
use crate::illegal::{Illegal, Problem};
use sched_nest::{Layout, LoopId, TileTrees};

/// Largest number of nodes of a tile of a tree.
const MAX_TILE_NODES: u32 = 8;

impl Annotation {
    /// Whether its number is in range.
    fn check(&self) -> Result<(), Problem> {
        let (Some(value), Some(limit)) = (self.number(), self.limit()) else { return Ok(()) };
        if value < 1 {
            return Err(Problem::TooSmall { value: value.into() });
        }
        if matches!(self, Annotation::VectorReduce(_)) && !value.is_power_of_two() {
            return Err(Problem::NotPowerOfTwo { width: value.into() });
        }
        if value > limit {
            return Err(Problem::TooLarge { value: value.into(), limit: limit.into() });
        }
        Ok(())
    }
}

impl NestBuilder {
    /// Layout of trees for loops without an annotation.
    pub fn layout(&self) -> Option<Layout> {
        self.layout.map(|(layout, _)| layout)
    }

    /// Sets the layout of trees for loops without an annotation.
    ///
    /// # Errors
    /// If an earlier directive set the layout.
    pub fn set_layout(&mut self, step: DirectiveIndex, layout: Layout) -> Result<(), Illegal> {
        let earlier = self.layout;
        Self::check_unset(step, earlier, layout)?;
        self.layout = Some((layout, step));
        Ok(())
    }

    /// Groups nodes of trees into tiles.
    ///
    /// # Errors
    /// If an earlier directive set the tiles, or the size is out of range.
    pub fn set_tile_trees(&mut self, step: DirectiveIndex, tiles: TileTrees) -> Result<(), Illegal> {
        if tiles.nodes < 1 {
            return Err(Illegal::argument(step, 0, Problem::TooSmall { value: 0 }, Vec::new()));
        }
        if tiles.nodes > MAX_TILE_NODES {
            let problem = Problem::TooLarge { value: tiles.nodes.into(), limit: MAX_TILE_NODES.into() };
            return Err(Illegal::argument(step, 0, problem, Vec::new()));
        }
        let earlier = self.tile_trees;
        Self::check_unset(step, earlier, tiles)?;
        self.tile_trees = Some((tiles, step));
        Ok(())
    }

    fn check_unset<T: PartialEq>(
        step: DirectiveIndex,
        earlier: Option<(T, DirectiveIndex)>,
        now: T,
    ) -> Result<(), Illegal> {
        match earlier {
            None => Ok(()),
            Some((before, earlier)) if before == now => {
                Err(Illegal::at(step, Problem::Repeated { earlier }, Vec::new()))
            }
            Some((_, earlier)) => Err(Illegal::at(step, Problem::Contradiction { earlier }, Vec::new())),
        }
    }

    /// Takes back every annotation of an operation.
    pub fn forget(&mut self, step: DirectiveIndex) {
        for node in &mut self.nodes {
            node.annotations.retain(|(_, by)| *by != step);
        }
        self.layout = self.layout.filter(|(_, by)| *by != step);
        self.tile_trees = self.tile_trees.filter(|(_, by)| *by != step);
    }

    /// Annotates a live loop. Equal annotations are kept once.
    ///
    /// # Errors
    /// When the loop already has an annotation that contradicts it.
    pub fn state(&mut self, step: DirectiveIndex, id: LoopId, annotation: Annotation) -> Result<(), Illegal> {
        annotation.check().map_err(|problem| Illegal::argument(step, 1, problem, vec![id]))?;
        let node = self.node_mut(id);
        if let Some((_, earlier)) = node.annotations.iter().find(|(old, _)| old.contradicts(&annotation)) {
            let problem = Problem::Contradiction { earlier: *earlier };
            return Err(Illegal::at(step, problem, vec![id]));
        }
        if let Some((_, earlier)) = node.annotations.iter().find(|(old, _)| *old == annotation) {
            let problem = Problem::Repeated { earlier: *earlier };
            return Err(Illegal::at(step, problem, vec![id]));
        }
        node.annotations.push((annotation, step));
        Ok(())
    }

    /// Depth of the trees at a loop inside a copy of a `splitByDepth`.
    pub fn run_depth(&self, id: LoopId) -> Option<u32> {
        let mut at = Some(id);
        while let Some(id) = at {
            let node = self.node(id);
            if node.run_depth.is_some() {
                return node.run_depth;
            }
            at = node.parent;
        }
        None
    }
}
