//! Annotations of the whole forest: `representation` without a loop, and `tileTrees`.

use super::DirectiveIndex;
use crate::illegal::{Illegal, Problem};
use sched_nest::{Layout, TileTrees};

/// Largest number of nodes of a tile of a tree.
const MAX_TILE_NODES: u32 = 8;

/// A value with the directive that set it.
type ForestSetting<T> = Option<(T, DirectiveIndex)>;

/// Annotations of the whole forest.
#[derive(Clone, Debug, Default)]
pub struct ForestAnnotations {
    layout: ForestSetting<Layout>,
    tile_trees: ForestSetting<TileTrees>,
}

impl ForestAnnotations {
    /// Layout of trees for loops without an annotation.
    pub fn layout(&self) -> Option<Layout> {
        self.layout.map(|(layout, _)| layout)
    }

    /// [`ForestAnnotations::layout`] with its directive.
    pub fn layout_setting(&self) -> Option<(Layout, DirectiveIndex)> {
        self.layout
    }

    /// Tiles of nodes, with their directive.
    pub fn tile_trees(&self) -> Option<(TileTrees, DirectiveIndex)> {
        self.tile_trees
    }

    /// Sets the layout of trees for loops without an annotation.
    ///
    /// # Errors
    /// If an earlier directive set the layout.
    pub fn set_layout(&mut self, step: DirectiveIndex, layout: Layout) -> Result<(), Illegal> {
        set(&mut self.layout, step, layout)
    }

    /// Groups nodes of trees into tiles.
    ///
    /// # Errors
    /// If an earlier directive set the tiles, or the size is out of range.
    pub fn set_tile_trees(&mut self, step: DirectiveIndex, tiles: TileTrees) -> Result<(), Illegal> {
        let problem = match tiles.nodes {
            0 => Problem::TooSmall { value: 0 },
            1..=MAX_TILE_NODES => return set(&mut self.tile_trees, step, tiles),
            nodes => Problem::TooLarge { value: nodes.into(), limit: MAX_TILE_NODES.into() },
        };
        Err(Illegal::argument(step, 0, problem, Vec::new()))
    }

    /// Removes every annotation of an operation.
    pub(super) fn forget(&mut self, step: DirectiveIndex) {
        self.layout = self.layout.filter(|(_, by)| *by != step);
        self.tile_trees = self.tile_trees.filter(|(_, by)| *by != step);
    }
}

/// Sets a value, unless an earlier directive did.
fn set<T: PartialEq>(setting: &mut ForestSetting<T>, step: DirectiveIndex, value: T) -> Result<(), Illegal> {
    let problem = match setting {
        None => {
            *setting = Some((value, step));
            return Ok(());
        }
        Some((before, earlier)) if *before == value => Problem::Repeated { earlier: *earlier },
        Some((_, earlier)) => Problem::Contradiction { earlier: *earlier },
    };
    Err(Illegal::at(step, problem, Vec::new()))
}
