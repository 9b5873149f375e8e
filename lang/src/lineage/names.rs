//! Look-ups of names: the live copies that a written name means, and the written name of a copy.

use std::collections::{HashSet, VecDeque};

use super::DirectiveIndex;
use super::index_table::{IndexTable, LoopNode};
use super::name_table::NameTable;
use super::select::{LoopSelector, Qualifier};
use super::tree::Loops;
use crate::illegal::{Illegal, Problem};
use sched_nest::LoopId;

/// A problem with a name, and the loops that it concerns.
pub(super) type NameRefusal = (Problem, Vec<LoopId>);

/// The names of a nest's index variables.
#[derive(Clone, Copy, Debug)]
pub struct IndexNames<'n> {
    table: &'n NameTable,
    indices: &'n IndexTable,
}

impl<'n> IndexNames<'n> {
    pub(super) fn new(table: &'n NameTable, indices: &'n IndexTable) -> Self {
        IndexNames { table, indices }
    }

    /// Whether an index of this name was declared, legally or not.
    pub fn is_declared(self, name: &str) -> bool {
        self.table.copies(name).is_some() || self.table.missing().is_refused(name)
    }

    /// All copies of a name, consumed ones included.
    pub fn copies(self, name: &str) -> &'n [LoopId] {
        self.table.copies(name).map_or(&[], Loops::as_slice)
    }

    /// Names of all live indices, each once, in no particular order.
    pub fn live(self) -> Vec<&'n str> {
        let names = self.table.iter();
        names.filter(|(_, ids)| ids.iter().any(|id| self.is_live(*id))).map(|(name, _)| name).collect()
    }

    /// Whether the number of copies of `splitByDepth` or `specialize` is unknown without a model.
    pub fn has_uncounted_copies(self) -> bool {
        self.table.missing().has_uncounted()
    }

    /// The [`LoopSelector`] of this copy with all qualifiers.
    pub(super) fn full(self, node: &LoopNode) -> LoopSelector {
        LoopSelector { scope: self.table.scopes().path(node.scope), ..bare(node) }
    }

    /// The shortest [`LoopSelector`] of this copy: bare if that is enough, else with its innermost
    /// qualifiers.
    pub fn select_of(self, id: LoopId) -> LoopSelector {
        let node = self.indices.node(id);
        let alike = |other: &&LoopId| {
            let other = self.indices.node(**other);
            other.is_live() && other.number == node.number
        };
        if !node.is_live() || self.copies(&node.name).iter().filter(alike).take(2).count() <= 1 {
            return bare(node);
        }
        // Long chains of copies have long paths. The innermost qualifiers nearly always suffice.
        const ENOUGH: usize = 8;
        let scopes = self.table.scopes();
        let mut innermost: Vec<Qualifier> = scopes.outwards(node.scope).take(ENOUGH).cloned().collect();
        innermost.reverse();
        for count in 1..=innermost.len() {
            let shorter = LoopSelector { scope: innermost[innermost.len() - count..].to_vec(), ..bare(node) };
            let live = self.fitting(&shorter, &[]).into_iter().filter(|id| alike(&id));
            if live.take(2).eq([id]) {
                return shorter;
            }
        }
        self.full(node)
    }

    /// Live loops of `select`, at least one.
    ///
    /// # Errors
    /// When there is no such index, when it has been consumed, or when the qualifiers mean no copy.
    pub(super) fn select(
        self,
        step: DirectiveIndex,
        argument: usize,
        select: &LoopSelector,
    ) -> Result<Loops, Illegal> {
        let found = self.find(select);
        found.map_err(|(problem, loops)| Illegal::argument(step, argument, problem, loops))
    }

    fn find(self, select: &LoopSelector) -> Result<Loops, NameRefusal> {
        let missing = self.table.missing();
        let Some(copies) = self.table.copies(&select.name) else {
            let is_refused = missing.may_be_refused(&select.name);
            let unknown = || Problem::UnknownIndex { name: select.name.clone() };
            return Err((if is_refused { Problem::Poisoned } else { unknown() }, Vec::new()));
        };
        let fitting = self.fitting(select, copies);
        let live: Loops = fitting.iter().filter(|id| self.is_live(**id)).copied().collect();
        if !live.is_empty() {
            return Ok(self.prefer_exact(select, live));
        }
        for qualifier in &select.scope {
            if missing.is_refused(&qualifier.name) || missing.is_uncounted(&qualifier.name) {
                return Err((Problem::Poisoned, Vec::new()));
            }
            let is_stage = self.table.scopes().is_known(qualifier);
            if !is_stage && self.table.copies(&qualifier.name).is_none() {
                return Err((Problem::UnknownIndex { name: qualifier.name.to_string() }, Vec::new()));
            }
        }
        if select.number.is_some() && missing.is_uncounted(&select.name) {
            return Err((Problem::Poisoned, Vec::new()));
        }
        Err(self.without_live_copy(select, copies, fitting))
    }

    /// Problem of a name all of whose `fitting` copies were consumed, or that fits no copy.
    fn without_live_copy(self, select: &LoopSelector, copies: &Loops, fitting: Loops) -> NameRefusal {
        let live: Vec<LoopId> = copies.iter().copied().filter(|id| self.is_live(*id)).collect();
        let consumed = if live.is_empty() { copies.clone() } else { fitting };
        match consumed.iter().rev().find_map(|id| self.indices.node(*id).consumed_by) {
            Some(by) => {
                let problem = Problem::Consumed { name: select.to_string(), by };
                (problem, self.live_successors(&consumed))
            }
            None => (Problem::NoSuchCopy { path: select.to_string() }, live),
        }
    }

    fn is_live(self, id: LoopId) -> bool {
        self.indices.node(id).is_live()
    }

    /// Copies of a name that fit the qualifiers, consumed ones included.
    fn fitting(self, select: &LoopSelector, copies: &[LoopId]) -> Loops {
        let has_number =
            |id: &LoopId| select.number.is_none() || self.indices.node(*id).number == select.number;
        if select.scope.is_empty() {
            return copies.iter().filter(|id| has_number(id)).copied().collect();
        }
        let inside = self.table.scopes().loops(&select.scope).into_iter();
        inside.filter(|id| *self.indices.node(*id).name == *select.name && has_number(id)).collect()
    }

    /// `v[1].t1` may be the whole name of one copy and part of another's; the whole name wins.
    fn prefer_exact(self, select: &LoopSelector, live: Loops) -> Loops {
        if select.is_bare() || live.len() == 1 {
            return live;
        }
        let is_exact = |id: &&LoopId| self.table.scopes().is(self.indices.node(**id).scope, &select.scope);
        let exact: Loops = live.iter().filter(is_exact).copied().collect();
        if exact.is_empty() { live } else { exact }
    }

    /// Live successors of a consumed index; at most a handful.
    fn live_successors(self, consumed: &[LoopId]) -> Vec<LoopId> {
        const ENOUGH: usize = 6;
        let mut found: Vec<LoopId> = Vec::new();
        let mut seen = HashSet::new();
        let mut queue: VecDeque<LoopId> = consumed.iter().copied().collect();
        while let Some(id) = queue.pop_front() {
            if found.len() == ENOUGH {
                break;
            }
            if !seen.insert(id) {
                continue;
            }
            if self.is_live(id) {
                found.push(id);
            }
            queue.extend(&self.indices.node(id).successors);
        }
        found
    }
}

/// The [`LoopSelector`] of a loop without qualifiers.
pub(super) fn bare(node: &LoopNode) -> LoopSelector {
    LoopSelector { scope: Vec::new(), name: node.name.to_string(), number: node.number }
}
