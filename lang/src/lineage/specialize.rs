//! `specialize(v)`
//!
//! ```text
//! for v in 0..2      for v in 0..2
//!   for x       -->    case 0: for v[0].x
//!     BODY               BODY
//!                      case 1: for v[1].x
//!                        BODY
//! ```

use super::checks::{check_copies, check_expansion, check_not_specialized};
use super::copies::BodyTemplate;
use super::modifier::Modifier;
use super::{DirectiveIndex, LoopBody, LoopSelector, NestBuilder, Qualifier};
use crate::illegal::{Illegal, Problem};
use sched_nest::LoopId;

/// Gives each iteration of each copy of the loop its own copy of the loops inside, named `v[k].x`. Refuses
/// names that are unknown or consumed; leaf loops; numbers of iterations that are unknown or too large.
pub(crate) struct SpecializeLoop<'a> {
    v: &'a LoopSelector,
}

impl<'a> SpecializeLoop<'a> {
    /// A `specialize` with this argument.
    pub fn new(v: &'a LoopSelector) -> Self {
        SpecializeLoop { v }
    }
}

/// A loop and its number of iterations; `None` if that needs a model.
type Expansion = (LoopId, Option<usize>);

impl Modifier for SpecializeLoop<'_> {
    type Rewrite = Expansion;

    fn plan(&self, nest: &mut NestBuilder, step: DirectiveIndex) -> Result<Vec<Expansion>, Illegal> {
        let mut expansions = Vec::new();
        for id in nest.select(step, 0, self.v)? {
            check_not_specialized(nest, step, id)?;
            if nest.tree.inside(id).is_leaf() {
                return Err(Illegal::argument(step, 0, Problem::SpecializeLeaf, vec![id]));
            }
            expansions.push((id, check_expansion(nest, step, id)?));
        }
        Ok(expansions)
    }

    fn rewrite(
        &self,
        nest: &mut NestBuilder,
        step: DirectiveIndex,
        (v, count): Expansion,
    ) -> Result<(), Illegal> {
        nest.fix_positions(step, v);
        nest.indices.node_mut(v).specialized_by = Some(step);
        match count {
            Some(count) => {
                check_copies(nest, step, &[v], count)?;
                make_cases(nest, v, count);
            }
            None => nest.names.poison_copies(&self.v.name),
        }
        Ok(())
    }
}

fn make_cases(nest: &mut NestBuilder, v: LoopId, count: usize) {
    let template = BodyTemplate::of_iteration(nest, v);
    let mut bodies = vec![template.original()];
    bodies.extend((1..count.max(1)).map(|_| template.copy(nest, v)));
    let name = nest.node(v).name.clone();
    for (number, body) in bodies.iter().enumerate() {
        nest.qualify(&body.loops, &Qualifier { name: name.clone(), number: Some(number as u32) });
    }
    nest.tree.set_inside(v, LoopBody::Cases(bodies.into_iter().map(|body| body.children).collect()));
}
