//! The common form of modifiers: a plan that changes nothing, then a rewrite for each part of the plan.

use super::{DirectiveIndex, NestBuilder};
use crate::illegal::Illegal;

/// Rules of a directive that changes the nest.
pub(crate) trait Modifier {
    /// One rewrite, mostly of one loop.
    type Rewrite;

    /// Checks the modifier, and lists its rewrites. The loops stay as they are. Remarks and names that are
    /// missing without a model may be added to the nest.
    ///
    /// # Errors
    /// Whatever the rules of the modifier forbid.
    fn plan(&self, nest: &mut NestBuilder, step: DirectiveIndex) -> Result<Vec<Self::Rewrite>, Illegal>;

    /// Does one rewrite.
    ///
    /// # Errors
    /// If rewrites before this one have made the nest too large.
    fn rewrite(
        &self,
        nest: &mut NestBuilder,
        step: DirectiveIndex,
        rewrite: Self::Rewrite,
    ) -> Result<(), Illegal>;
}
