//! `split(v, first, second, at)`
//!
//! ```text
//! for v in a..b      for first in a..at
//!   BODY        -->    BODY
//!                    for second in at..b
//!                      BODY
//! ```

use super::checks::{check_copies, check_new_names, check_reshapable};
use super::fission::{self, SplitPart};
use super::modifier::Modifier;
use super::{DirectiveIndex, LoopNode, LoopSelector, NestBuilder};
use crate::illegal::{Illegal, Problem};
use crate::obligation::Obligation;
use sched_nest::LoopId;
use sched_nest::sym::{Property, Sym};

const V: usize = 0;
const FIRST: usize = 1;
const SECOND: usize = 2;
const AT: usize = 3;

/// Cuts each copy of the loop at the value `at`; each half has a copy of the body. Refuses names that are
/// unknown, consumed or taken; `at` outside the open range or off the step; loops that cannot be reshaped any
/// more.
pub(crate) struct SplitLoop<'a> {
    v: &'a LoopSelector,
    first: &'a str,
    second: &'a str,
    at: Option<&'a Sym>,
}

impl<'a> SplitLoop<'a> {
    /// A `split` with these arguments. Without a split point, because it was refused, the halves are made and
    /// marked, so that later directives can name them.
    pub fn new(v: &'a LoopSelector, first: &'a str, second: &'a str, at: Option<&'a Sym>) -> Self {
        SplitLoop { v, first, second, at }
    }

    /// The two parts of a loop.
    fn halves(&self, node: &LoopNode) -> [SplitPart; 2] {
        let at = self.at.cloned().unwrap_or_else(|| middle(node));
        let half = |name: &str, start: &Sym, stop: &Sym| SplitPart {
            name: name.into(),
            number: None,
            start: start.clone(),
            stop: stop.clone(),
            run_depth: node.run_depth,
        };
        [half(self.first, &node.start, &at), half(self.second, &at, &node.stop)]
    }
}

impl Modifier for SplitLoop<'_> {
    type Rewrite = LoopId;

    fn plan(&self, nest: &mut NestBuilder, step: DirectiveIndex) -> Result<Vec<LoopId>, Illegal> {
        let loops = nest.select(step, V, self.v)?;
        check_new_names(nest, step, [(FIRST, self.first), (SECOND, self.second)])?;
        for id in &loops {
            check_reshapable(nest, step, *id)?;
            if let Some(at) = self.at.filter(|_| !nest.node(*id).tainted) {
                check_at(nest, step, *id, at)?;
            }
        }
        check_copies(nest, step, &loops, 1)?;
        Ok(loops)
    }

    fn rewrite(&self, nest: &mut NestBuilder, step: DirectiveIndex, v: LoopId) -> Result<(), Illegal> {
        nest.fix_positions(step, v);
        nest.indices.node_mut(v).tainted |= self.at.is_none();
        let halves = self.halves(nest.node(v));
        fission::cut(nest, step, v, &halves);
        Ok(())
    }
}

/// Refuses a split point outside of the open range or off the step, as far as they are known.
fn check_at(nest: &mut NestBuilder, step: DirectiveIndex, v: LoopId, at: &Sym) -> Result<(), Illegal> {
    let LoopNode { start, stop, step: stride, .. } = nest.node(v);
    let refuse = |problem| Err(Illegal::argument(step, AT, problem, vec![v]));
    let ints = (at.as_int(), start.as_int(), stop.as_int());
    let below = matches!(ints, (Some(at), Some(start), _) if at <= start);
    let above = matches!(ints, (Some(at), _, Some(stop)) if at >= stop);
    if below || above || at == start || at == stop {
        let (at, start, stop) = (at.clone().into(), start.clone().into(), stop.clone().into());
        return refuse(Problem::SplitOutside { at, start, stop });
    }
    let offset = at.as_int().zip(start.as_int()).and_then(|(at, start)| at.checked_sub(start));
    // The number of rows is known only at run time. The halves are clipped there.
    let is_known = |sym: &Sym| !sym.mentions(&|property| property != Property::Rows);
    let obligation = match (offset, stride.as_int()) {
        (Some(offset), Some(stride)) if offset % stride != 0 => {
            return refuse(Problem::SplitOffStep { offset, stride });
        }
        (Some(_), Some(_)) | (_, Some(1)) if [at, start, stop].into_iter().all(is_known) => return Ok(()),
        (Some(_), Some(_)) | (_, Some(1)) => {
            Obligation::SplitInside { at: at.clone(), start: start.clone(), stop: stop.clone() }
        }
        _ => Obligation::SplitOnStep { at: at.clone(), step: stride.clone() },
    };
    nest.remarks.add_unverified(step, v, obligation);
    Ok(())
}

/// A legal split point, if there is one.
fn middle(node: &LoopNode) -> Sym {
    let middle = || {
        let (start, _, stride) = node.range()?;
        start.checked_add(stride.checked_mul(node.trips()? / 2)?)
    };
    middle().map_or_else(|| node.stop.clone(), Sym::Int)
}
