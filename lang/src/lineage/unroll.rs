//! `unroll(v)`: a loop expanded completely, iteration by iteration.

use super::checks::check_expansion;
use super::modifier::Modifier;
use super::{Annotation, DirectiveIndex, LoopSelector, NestBuilder};
use crate::illegal::Illegal;
use sched_nest::LoopId;

/// Expands each copy of the loop completely. Refuses names that are unknown or consumed, and numbers of
/// iterations that are unknown or too large.
pub(crate) struct UnrollLoop<'a> {
    v: &'a LoopSelector,
}

impl<'a> UnrollLoop<'a> {
    /// An `unroll` of the loop `v`.
    pub fn new(v: &'a LoopSelector) -> Self {
        UnrollLoop { v }
    }
}

impl Modifier for UnrollLoop<'_> {
    type Rewrite = Vec<LoopId>;

    fn plan(&self, nest: &mut NestBuilder, step: DirectiveIndex) -> Result<Vec<Vec<LoopId>>, Illegal> {
        let loops = nest.select(step, 0, self.v)?;
        for id in &loops {
            check_expansion(nest, step, *id)?;
        }
        Ok(vec![loops])
    }

    fn rewrite(
        &self,
        nest: &mut NestBuilder,
        step: DirectiveIndex,
        loops: Vec<LoopId>,
    ) -> Result<(), Illegal> {
        // A remark on some copies must not keep the others from being unrolled.
        let unroll = |id| nest.annotate(step, id, Annotation::Unroll);
        let results: Vec<_> = loops.into_iter().map(unroll).collect();
        results.into_iter().collect()
    }
}
