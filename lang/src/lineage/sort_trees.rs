//! `sortTrees(depth)`

use super::modifier::Modifier;
use super::{DirectiveIndex, NestBuilder};
use crate::illegal::Illegal;

/// Sorts the trees stably by depth, shallowest first.
pub(crate) struct SortTrees;

impl Modifier for SortTrees {
    type Rewrite = ();

    fn plan(&self, _: &mut NestBuilder, _: DirectiveIndex) -> Result<Vec<()>, Illegal> {
        Ok(vec![()])
    }

    fn rewrite(&self, nest: &mut NestBuilder, step: DirectiveIndex, (): ()) -> Result<(), Illegal> {
        nest.positions.sort(step)
    }
}
