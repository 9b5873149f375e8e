//! `split(v, first, second, at)`, and the fission that `splitByDepth` shares with it.
//!
//! ```text
//! for v in a..b      for first in a..at
//!   BODY        -->    BODY
//!                    for second in at..b
//!                      BODY
//! ```

use std::collections::HashMap;

use super::{Builder, Inside, Node, RemarkKind, Select, Step, Tag};
use crate::illegal::{Illegal, Problem};
use crate::nest::{LoopId, Sort};
use crate::sym::{Fact, Sym};

const V: usize = 0;
const FIRST: usize = 1;
const SECOND: usize = 2;
const AT: usize = 3;

/// One part of a loop that is being cut.
pub(super) struct Part {
    pub name: std::sync::Arc<str>,
    pub number: Option<u32>,
    pub start: Sym,
    pub stop: Sym,
    pub run_depth: Option<u32>,
}

impl Builder {
    /// Cuts every copy of the loop at the value `at`; each half has a copy of the body.
    ///
    /// # Errors
    /// Names that are unknown, consumed or taken; `at` outside the open range or off the step; loops that cannot be
    /// reshaped any more. Nothing has changed then.
    pub fn split(
        &mut self,
        step: Step,
        v: &Select,
        first: &str,
        second: &str,
        at: &Sym,
    ) -> Result<(), Illegal> {
        self.split_or_guess(step, v, first, second, Some(at))
    }

    /// As [`Builder::split`]; without a split point, because it was refused, the halves are made nevertheless and
    /// marked, so that what is said about them later is understood.
    pub(crate) fn split_or_guess(
        &mut self,
        step: Step,
        v: &Select,
        first: &str,
        second: &str,
        at: Option<&Sym>,
    ) -> Result<(), Illegal> {
        let loops = self.select(step, V, v)?;
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
        let halves = |node: &Node| {
            let at = &at.cloned().unwrap_or_else(|| middle(node));
            let half = |name: &str, start: &Sym, stop: &Sym| Part {
                name: name.into(),
                number: None,
                start: start.clone(),
                stop: stop.clone(),
                run_depth: node.run_depth,
            };
            vec![half(first, &node.start, at), half(second, at, &node.stop)]
        };
        self.check_copies(step, &loops, 1)?;
        for id in loops {
            if self.sort(id) == Sort::Tree {
                self.positions_fixed_by.get_or_insert(step);
            }
            if at.is_none() {
                self.node_mut(id).tainted = true;
            }
            let parts = halves(self.node(id));
            self.fission(step, id, parts);
        }
        Ok(())
    }

    fn check_at(&mut self, step: Step, v: LoopId, at: &Sym) -> Result<(), Illegal> {
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
                let what = format!("whether {at} falls on a step of {}", node.step);
                self.remark(step, v, RemarkKind::Unverified(what));
                return Ok(());
            }
        }
        // The number of rows is known only at run time, where the halves are clipped.
        let node = self.node(v);
        let is_known = |sym: &Sym| !sym.mentions(&|fact| fact != Fact::Rows);
        if !(is_known(at) && is_known(&node.start) && is_known(&node.stop)) {
            let what = format!("whether {at} lies between {} and {}", node.start, node.stop);
            self.remark(step, v, RemarkKind::Unverified(what));
        }
        Ok(())
    }

    /// Refuses `copies` more copies of the bodies of `loops` if that is too much.
    pub(super) fn check_copies(&self, step: Step, loops: &[LoopId], copies: usize) -> Result<(), Illegal> {
        let (mut more, mut mentions) = (0, 0);
        for v in loops {
            let subtree = self.subtree(*v);
            more += subtree.len();
            mentions += self.mentions_of(&subtree);
        }
        self.check_growth(step, loops[0], more.saturating_mul(copies), mentions.saturating_mul(copies))
    }

    /// Replaces `v` by parts that run one after the other, each around a copy of its body. The first part takes over
    /// the loops there are.
    pub(super) fn fission(&mut self, step: Step, v: LoopId, parts: Vec<Part>) {
        let scope = self.scope_of_successors(v);
        let source = Node { scope, ..self.node(v).clone() };
        let body = source.inside.children();
        let below: Vec<LoopId> = self.subtree(v).into_iter().skip(1).collect();
        let mut touched = below.clone();
        touched.push(v);
        let sums = self.sums_of(&touched);
        // Copies first: tags and replacements below change the originals.
        let mut copies: Vec<(LoopId, HashMap<LoopId, LoopId>)> = Vec::new();
        for part in &parts {
            let node = part_of(&source, step, part);
            let id = self.add(node);
            let mut went = HashMap::new();
            if !copies.is_empty() {
                let inside = self.copy_all(&body, &mut went);
                self.set_parent(&inside, id);
                self.node_mut(id).inside = Inside::Seq(inside);
                went.insert(v, id);
                self.copy_sums(&sums, &went);
                went.remove(&v);
            }
            copies.push((id, went));
        }
        let ids: Vec<LoopId> = copies.iter().map(|(id, _)| *id).collect();
        self.replace_in_nest(v, &ids);
        self.replace_in_sums(v, &ids[..1]);
        self.consume(v, step, ids.clone());
        self.set_parent(&body, ids[0]);
        self.node_mut(ids[0]).inside = Inside::Seq(body);
        for ((_, went), part) in copies.iter().zip(&parts) {
            let tag = Tag { name: part.name.clone(), number: part.number };
            let copied: Vec<LoopId> =
                if went.is_empty() { below.clone() } else { went.values().copied().collect() };
            self.tag(&copied, &tag);
        }
    }
}

/// A legal split point if there is one.
fn middle(node: &Node) -> Sym {
    let middle = || {
        let (start, stop, stride) = (node.start.as_int()?, node.stop.as_int()?, node.step.as_int()?);
        let trips = super::trips(start, stop, stride)?;
        start.checked_add(stride.checked_mul(trips / 2)?)
    };
    middle().map_or_else(|| node.stop.clone(), Sym::Int)
}

fn part_of(source: &Node, step: Step, part: &Part) -> Node {
    Node {
        name: part.name.clone(),
        number: part.number,
        start: part.start.clone(),
        stop: part.stop.clone(),
        run_depth: part.run_depth,
        made_by: Some(step),
        // Runs of a loop are the loop still; halves are loops of their own.
        facts: if part.number.is_some() { source.facts.clone() } else { Vec::new() },
        sums: Vec::new(),
        inside: Inside::Seq(Vec::new()),
        split_by_depth: part.number.map(|_| step),
        is_part: true,
        ..source.clone()
    }
}
