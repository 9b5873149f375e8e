//! `specialize(v)` and `unroll(v)`: loops expanded iteration by iteration.
//!
//! ```text
//! for v in 0..2      for v in 0..2
//!   for x       -->    case 0: for v[0].x
//!     BODY               BODY
//!                      case 1: for v[1].x
//!                        BODY
//! ```

use super::copies::LoopMap;
use super::{Annotation, DirectiveIndex, Inside, Loops, MAX_EXPANSION, NestBuilder, RemarkKind, Select, Tag};
use crate::illegal::{Illegal, Problem};
use crate::obligation::Obligation;
use sched_nest::sym::Property;
use sched_nest::{Axis, LoopId};

impl NestBuilder {
    /// Gives each iteration of each copy of the loop its own copy of the loops inside, named `v[k].x`.
    ///
    /// # Errors Names that are unknown or consumed; leaf loops; trip counts that are unknown or absurd.
    /// Nothing has changed then.
    pub fn specialize(&mut self, step: DirectiveIndex, v: &Select) -> Result<(), Illegal> {
        let loops = self.select(step, 0, v)?;
        let mut counts = Vec::new();
        for id in &loops {
            let node = self.node(*id);
            let refuse =
                |problem| Err(Illegal { argument: Some(0), ..Illegal::at(step, problem, vec![*id]) });
            if let Some(by) = node.specialized_by {
                return refuse(Problem::Specialized { by });
            }
            if node.inside.is_leaf() {
                return refuse(Problem::SpecializeLeaf);
            }
            counts.push((*id, self.check_expansion(step, *id)?));
        }
        for (id, count) in counts {
            if self.axis(id) == Axis::Tree {
                self.positions_fixed_by.get_or_insert(step);
            }
            self.node_mut(id).specialized_by = Some(step);
            match count {
                Some(count) => {
                    self.check_copies(step, &[id], count)?;
                    self.make_cases(id, count);
                }
                None => {
                    self.uncounted.insert(v.name.clone());
                }
            }
        }
        Ok(())
    }

    fn make_cases(&mut self, v: LoopId, count: usize) {
        let body: Loops = self.node(v).inside.children().collect();
        let below: Loops = self.subtree(v).into_iter().skip(1).collect();
        let sums = self.sums_of(&below);
        let name = self.node(v).name.clone();
        let mut cases = vec![body.clone()];
        let mut copied = vec![below];
        for _ in 1..count.max(1) {
            let mut map = LoopMap::default();
            let case = self.copy_all(&body, &mut map);
            self.set_parent(&case, v);
            self.copy_sums(&sums, &mut map);
            cases.push(case);
            copied.push(map.copies().collect());
        }
        for (number, loops) in copied.iter().enumerate() {
            self.tag(loops, &Tag { name: name.clone(), number: Some(number as u32) });
        }
        self.node_mut(v).inside = Inside::Cases(cases);
    }

    /// Expands each copy of the loop completely.
    ///
    /// # Errors
    /// Names that are unknown or consumed; trip counts that are unknown or absurd. Nothing has changed then.
    pub fn unroll(&mut self, step: DirectiveIndex, v: &Select) -> Result<(), Illegal> {
        let loops = self.select(step, 0, v)?;
        for id in &loops {
            self.check_expansion(step, *id)?;
        }
        // A remark on some copies must not keep the others from being unrolled.
        let results: Vec<_> = loops.into_iter().map(|id| self.state(step, id, Annotation::Unroll)).collect();
        results.into_iter().collect()
    }

    /// Number of iterations to expand; `None` if that needs a model.
    fn check_expansion(&mut self, step: DirectiveIndex, id: LoopId) -> Result<Option<usize>, Illegal> {
        let refuse = |problem| Err(Illegal { argument: Some(0), ..Illegal::at(step, problem, vec![id]) });
        if let Some(trips) = self.trips(id) {
            if trips > MAX_EXPANSION {
                return refuse(Problem::TripsHuge { trips, limit: MAX_EXPANSION });
            }
            return Ok(Some(trips as usize));
        }
        let node = self.node(id);
        let at_run_time = |property| property == Property::Rows;
        let bounds = [&node.start, &node.stop, &node.step];
        if self.model.is_some() || bounds.iter().any(|bound| bound.mentions(&at_run_time)) {
            return refuse(Problem::TripsUnknown);
        }
        self.remark(step, id, RemarkKind::Unverified(Obligation::Trips { name: self.name(id) }));
        Ok(None)
    }
}
