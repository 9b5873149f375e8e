//! Names of index variables: the copies of a written name, and the name of a copy.

use super::{DirectiveIndex, Loops, NestBuilder, Select, Tag};
use crate::illegal::{Illegal, Problem};
use sched_nest::LoopId;

impl NestBuilder {
    /// Live loops of `select`, at least one.
    ///
    /// # Errors
    /// When there is no such index, when it has been consumed, or when the qualifiers mean no copy.
    pub fn select(
        &self,
        step: DirectiveIndex,
        argument: usize,
        select: &Select,
    ) -> Result<Vec<LoopId>, Illegal> {
        self.live(step, argument, select).map(Loops::into_vec)
    }

    /// Implements [`NestBuilder::select`].
    pub(super) fn live(
        &self,
        step: DirectiveIndex,
        argument: usize,
        select: &Select,
    ) -> Result<Loops, Illegal> {
        let refuse =
            |problem, loops| Err(Illegal { argument: Some(argument), ..Illegal::at(step, problem, loops) });
        let uncounted = |name: &str| self.uncounted.contains(name);
        let Some(copies) = self.names.get(select.name.as_str()) else {
            let known = self.lacks_names || self.poisoned.contains(&select.name);
            let problem =
                if known { Problem::Poisoned } else { Problem::UnknownIndex { name: select.name.clone() } };
            return refuse(problem, Vec::new());
        };
        let is_live = |id: &&LoopId| self.node(**id).consumed_by.is_none();
        let fitting = self.fitting(select, copies);
        let live: Loops = fitting.iter().filter(is_live).copied().collect();
        if !live.is_empty() {
            return Ok(self.prefer_exact(select, live));
        }
        for tag in &select.scope {
            if self.poisoned.contains(&*tag.name) || uncounted(&tag.name) {
                return refuse(Problem::Poisoned, Vec::new());
            }
            if !self.names.contains_key(&tag.name) {
                return refuse(Problem::UnknownIndex { name: tag.name.to_string() }, Vec::new());
            }
        }
        if select.number.is_some() && uncounted(&select.name) {
            return refuse(Problem::Poisoned, Vec::new());
        }
        let is_gone = !copies.iter().any(|id| self.node(*id).consumed_by.is_none());
        let consumed = if is_gone { copies.clone() } else { fitting };
        let by = consumed.iter().rev().find_map(|id| self.node(*id).consumed_by);
        match by {
            Some(by) => {
                let successors = self.live_successors(&consumed);
                refuse(Problem::Consumed { name: select.to_string(), by }, successors)
            }
            None => {
                let alternatives = copies.iter().filter(is_live).copied().collect();
                refuse(Problem::NoSuchCopy { path: select.to_string() }, alternatives)
            }
        }
    }

    /// Copies of a name that fit the qualifiers, consumed ones included.
    fn fitting(&self, select: &Select, copies: &[LoopId]) -> Loops {
        let has_number = |id: &LoopId| select.number.is_none() || self.node(*id).number == select.number;
        if select.scope.is_empty() {
            return copies.iter().filter(|id| has_number(id)).copied().collect();
        }
        let inside = self.scopes.loops(&select.scope).into_iter();
        inside.filter(|id| *self.node(*id).name == *select.name && has_number(id)).collect()
    }

    /// `v[1].t1` may be the whole name of one copy and part of another's; the whole name wins.
    fn prefer_exact(&self, select: &Select, live: Loops) -> Loops {
        if select.is_bare() || live.len() == 1 {
            return live;
        }
        let exact: Loops =
            live.iter().filter(|id| self.scopes.is(self.node(**id).scope, &select.scope)).copied().collect();
        if exact.is_empty() { live } else { exact }
    }

    /// Live successors of a consumed index; at most a handful.
    fn live_successors(&self, consumed: &[LoopId]) -> Vec<LoopId> {
        const ENOUGH: usize = 6;
        let mut found: Vec<LoopId> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut queue: std::collections::VecDeque<LoopId> = consumed.iter().copied().collect();
        while let Some(id) = queue.pop_front() {
            if found.len() == ENOUGH {
                break;
            }
            if !seen.insert(id) {
                continue;
            }
            if self.node(id).consumed_by.is_none() {
                found.push(id);
            }
            queue.extend(&self.node(id).successors);
        }
        found
    }

    /// The written name of one copy: bare if that is enough, else with its innermost qualifiers.
    pub fn name(&self, id: LoopId) -> String {
        self.select_of(id).to_string()
    }

    /// The shortest [`Select`] of this copy.
    pub fn select_of(&self, id: LoopId) -> Select {
        let node = self.node(id);
        let own = Select { scope: Vec::new(), name: node.name.to_string(), number: node.number };
        let alike = |other: &&LoopId| {
            let other = self.node(**other);
            other.consumed_by.is_none() && other.number == node.number
        };
        let copies =
            self.names.get(&node.name).map_or(0, |copies| copies.iter().filter(alike).take(2).count());
        if copies <= 1 || node.consumed_by.is_some() {
            return own;
        }
        // Long chains of copies have long paths. The innermost tags nearly always suffice.
        const ENOUGH: usize = 8;
        let mut innermost: Vec<Tag> = self.scopes.outwards(node.scope).take(ENOUGH).cloned().collect();
        innermost.reverse();
        for count in 1..=innermost.len() {
            let shorter = Select { scope: innermost[innermost.len() - count..].to_vec(), ..own.clone() };
            let live = self.fitting(&shorter, &[]).into_iter().filter(|id| alike(&id));
            if live.take(2).eq([id]) {
                return shorter;
            }
        }
        Select { scope: self.scopes.path(node.scope), ..own }
    }

    /// Whether an index of this name was declared, legally or not.
    pub fn is_declared(&self, name: &str) -> bool {
        self.names.contains_key(name) || self.poisoned.contains(name)
    }

    /// Names of all live indices, each once, in no particular order.
    pub fn live_names(&self) -> Vec<&str> {
        let is_live = |ids: &&Loops| ids.iter().any(|id| self.node(*id).consumed_by.is_none());
        self.names.iter().filter(|(_, ids)| is_live(ids)).map(|(name, _)| &**name).collect()
    }

    /// Refuses the name of an existing index for a new one.
    pub(super) fn check_new(&self, step: DirectiveIndex, argument: usize, name: &str) -> Result<(), Illegal> {
        if !self.is_declared(name) {
            return Ok(());
        }
        let owner = self.names.get(name).and_then(|ids| ids.first()).copied();
        let problem = Problem::NameTaken { name: name.to_owned() };
        let illegal = Illegal::at(step, problem, owner.into_iter().collect());
        Err(Illegal { argument: Some(argument), ..illegal })
    }
}
