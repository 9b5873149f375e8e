//! `split(v, first, second, at)`, and the cutting that `splitByDepth` shares with it.
//!
//! ```text
//! for v in a..b      for first in a..at
//!   BODY        -->    BODY
//!                    for second in at..b
//!                      BODY
//! ```

use std::sync::Arc;

use smallvec::SmallVec;

use super::copies::LoopMap;
use super::{DirectiveIndex, Inside, LoopNode, Loops, NestBuilder, RemarkKind, ScopeId, Select, Tag};
use crate::illegal::{Illegal, Problem};
use crate::obligation::Obligation;
use sched_nest::sym::{Property, Sym};
use sched_nest::{Axis, LoopId};

const V: usize = 0;
const FIRST: usize = 1;
const SECOND: usize = 2;
const AT: usize = 3;

/// One part of a loop that is being cut.
pub(super) struct SplitPart {
    pub name: Arc<str>,
    pub number: Option<u32>,
    pub start: Sym,
    pub stop: Sym,
    pub run_depth: Option<u32>,
}

impl NestBuilder {
    /// Cuts each copy of the loop at the value `at`; each half has a copy of the body.
    ///
    /// # Errors Names that are unknown, consumed or taken; `at` outside the open range or off the step; loops
    /// that cannot be reshaped any more. Nothing has changed then.
    pub fn split(
        &mut self,
        step: DirectiveIndex,
        v: &Select,
        first: &str,
        second: &str,
        at: &Sym,
    ) -> Result<(), Illegal> {
        self.split_or_guess(step, v, first, second, Some(at))
    }

    /// [`NestBuilder::split`]. Without a split point, because it was refused, the halves are made and marked,
    /// so that later directives can name them.
    pub(crate) fn split_or_guess(
        &mut self,
        step: DirectiveIndex,
        v: &Select,
        first: &str,
        second: &str,
        at: Option<&Sym>,
    ) -> Result<(), Illegal> {
        let loops = self.live(step, V, v)?;
        self.check_new(step, FIRST, first)?;
        self.check_new(step, SECOND, second)?;
        if first == second {
            let problem = Problem::NameTaken { name: second.to_owned() };
            return Err(Illegal { argument: Some(SECOND), ..Illegal::at(step, problem, Vec::new()) });
        }
        for id in &loops {
            self.check_reshapable(step, *id)?;
            if let Some(at) = at.filter(|_| !self.node(*id).tainted) {
                self.check_at(step, *id, at)?;
            }
        }
        let names: [Arc<str>; 2] = [first.into(), second.into()];
        let halves = |node: &LoopNode| {
            let at = &at.cloned().unwrap_or_else(|| middle(node));
            let half = |name: &Arc<str>, start: &Sym, stop: &Sym| SplitPart {
                name: Arc::clone(name),
                number: None,
                start: start.clone(),
                stop: stop.clone(),
                run_depth: node.run_depth,
            };
            [half(&names[0], &node.start, at), half(&names[1], at, &node.stop)]
        };
        self.check_copies(step, &loops, 1)?;
        for id in loops {
            if self.axis(id) == Axis::Tree {
                self.positions_fixed_by.get_or_insert(step);
            }
            if at.is_none() {
                self.node_mut(id).tainted = true;
            }
            let parts = halves(self.node(id));
            self.fission(step, id, &parts);
        }
        Ok(())
    }

    fn check_at(&mut self, step: DirectiveIndex, v: LoopId, at: &Sym) -> Result<(), Illegal> {
        let node = self.node(v);
        let refuse = |problem| Err(Illegal { argument: Some(AT), ..Illegal::at(step, problem, vec![v]) });
        let ints = (at.as_int(), node.start.as_int(), node.stop.as_int());
        let below = matches!(ints, (Some(at), Some(start), _) if at <= start);
        let above = matches!(ints, (Some(at), _, Some(stop)) if at >= stop);
        if below || above || *at == node.start || *at == node.stop {
            let (at, start, stop) = (at.clone().into(), node.start.clone().into(), node.stop.clone().into());
            return refuse(Problem::SplitOutside { at, start, stop });
        }
        let offset = match (at.as_int(), node.start.as_int()) {
            (Some(at), Some(start)) => at.checked_sub(start),
            _ => None,
        };
        match (offset, node.step.as_int()) {
            (Some(offset), Some(stride)) if offset % stride != 0 => {
                return refuse(Problem::SplitOffStep { offset, stride });
            }
            (Some(_), Some(_)) | (_, Some(1)) => {}
            _ => {
                let obligation = Obligation::OnStep { at: at.clone(), step: node.step.clone() };
                self.remark(step, v, RemarkKind::Unverified(obligation));
                return Ok(());
            }
        }
        // The number of rows is known only at run time. The halves are clipped there.
        let node = self.node(v);
        let is_known = |sym: &Sym| !sym.mentions(&|property| property != Property::Rows);
        if !(is_known(at) && is_known(&node.start) && is_known(&node.stop)) {
            let (start, stop) = (node.start.clone(), node.stop.clone());
            self.remark(step, v, RemarkKind::Unverified(Obligation::Between { at: at.clone(), start, stop }));
        }
        Ok(())
    }

    /// Refuses `copies` more copies of the bodies of `loops` if the nest becomes too large.
    pub(super) fn check_copies(
        &self,
        step: DirectiveIndex,
        loops: &[LoopId],
        copies: usize,
    ) -> Result<(), Illegal> {
        let (mut more, mut mentions) = (0, 0);
        for v in loops {
            let subtree = self.subtree(*v);
            more += subtree.len();
            mentions += self.mentions_of(&subtree);
        }
        self.check_growth(step, loops[0], more.saturating_mul(copies), mentions.saturating_mul(copies))
    }

    /// Replaces `v` by parts that run one after the other, each around a copy of its body. The first part
    /// keeps the existing loops.
    pub(super) fn fission(&mut self, step: DirectiveIndex, v: LoopId, parts: &[SplitPart]) {
        let scope = self.scope_of_successors(v);
        let body: Loops = self.node(v).inside.children().collect();
        let mut touched = self.subtree(v);
        let sums = self.sums_of(&touched);
        touched.remove(0);
        let below: Loops = touched.into();
        // Copies first: tags and replacements below change the originals.
        let mut ids = Loops::new();
        let mut copied: Vec<Loops> = Vec::new();
        for part in parts {
            let node = self.node(v).part(scope, step, part);
            let id = self.add(node);
            if !ids.is_empty() {
                let mut map = LoopMap::default();
                let inside = self.copy_all(&body, &mut map);
                self.set_parent(&inside, id);
                self.node_mut(id).inside = Inside::Seq(inside);
                if !below.is_empty() {
                    copied.push(map.copies().collect());
                }
                map.insert(v, id);
                self.copy_sums(&sums, &mut map);
            }
            ids.push(id);
        }
        self.replace_in_nest(v, &ids);
        self.replace_in_sums(v, &ids[..1]);
        self.move_body(v, ids[0]);
        self.consume(v, step, ids);
        if below.is_empty() {
            return;
        }
        for (loops, part) in std::iter::once(below).chain(copied).zip(parts) {
            self.tag(&loops, &Tag { name: Arc::clone(&part.name), number: part.number });
        }
    }
}

impl LoopNode {
    /// One part of this loop, with an empty body.
    fn part(&self, scope: ScopeId, step: DirectiveIndex, part: &SplitPart) -> LoopNode {
        LoopNode {
            name: Arc::clone(&part.name),
            number: part.number,
            scope,
            axis: self.axis,
            start: part.start.clone(),
            stop: part.stop.clone(),
            step: self.step.clone(),
            parent: self.parent,
            inside: Inside::Seq(Loops::new()),
            made_by: Some(step),
            consumed_by: None,
            successors: Loops::new(),
            place: self.place.clone(),
            run_depth: part.run_depth,
            split_by_depth: part.number.map(|_| step),
            is_part: true,
            specialized_by: self.specialized_by,
            // Runs keep the annotations of the loop, halves do not.
            annotations: if part.number.is_some() { self.annotations.clone() } else { Vec::new() },
            sums: SmallVec::new(),
            tainted: self.tainted,
        }
    }
}

/// A legal split point, if there is one.
fn middle(node: &LoopNode) -> Sym {
    let middle = || {
        let (start, stop, stride) = (node.start.as_int()?, node.stop.as_int()?, node.step.as_int()?);
        let trips = super::trips(start, stop, stride)?;
        start.checked_add(stride.checked_mul(trips / 2)?)
    };
    middle().map_or_else(|| node.stop.clone(), Sym::Int)
}
