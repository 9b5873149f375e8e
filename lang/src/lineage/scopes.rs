//! Scopes: the copies around a loop.
//!
//! Copies of copies share common parts, so a scope is a path in a tree of qualifiers. Long chains of splits
//! make long paths, so no function here walks a path once for each loop on it.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use super::Qualifier;
use sched_nest::LoopId;

/// A path of qualifiers, outermost first. The first scope is the empty path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ScopeId(u32);

#[derive(Clone, Debug, Default)]
struct ScopeNode {
    /// Innermost qualifier; `None` for the empty path.
    qualifier: Option<Qualifier>,
    outer: ScopeId,
    inner: Vec<ScopeId>,
    /// Loops in the scope, including those that were copied again later.
    loops: Vec<LoopId>,
}

/// All scopes of a nest.
#[derive(Clone, Debug)]
pub(crate) struct Scopes {
    scopes: Vec<ScopeNode>,
    made: HashMap<(ScopeId, Qualifier), ScopeId>,
    /// Scopes by their innermost qualifier, and by its name alone.
    by_qualifier: HashMap<Qualifier, Vec<ScopeId>>,
}

impl Scopes {
    pub fn new() -> Self {
        Scopes { scopes: vec![ScopeNode::default()], made: HashMap::new(), by_qualifier: HashMap::new() }
    }

    /// Adds a loop to the scope.
    pub fn enter(&mut self, scope: ScopeId, id: LoopId) {
        self.scopes[scope.0 as usize].loops.push(id);
    }

    /// The scope of a copy inside `outer`.
    pub fn inside(&mut self, outer: ScopeId, qualifier: &Qualifier) -> ScopeId {
        if let Some(known) = self.made.get(&(outer, qualifier.clone())) {
            return *known;
        }
        let id = ScopeId(self.scopes.len() as u32);
        self.scopes.push(ScopeNode { qualifier: Some(qualifier.clone()), outer, ..ScopeNode::default() });
        self.scopes[outer.0 as usize].inner.push(id);
        self.made.insert((outer, qualifier.clone()), id);
        if qualifier.number.is_some() {
            let any = Qualifier { name: Arc::clone(&qualifier.name), number: None };
            self.by_qualifier.entry(any).or_default().push(id);
        }
        self.by_qualifier.entry(qualifier.clone()).or_default().push(id);
        id
    }

    /// The qualifiers from the innermost one outwards.
    pub fn outwards(&self, scope: ScopeId) -> impl Iterator<Item = &Qualifier> {
        let mut at = scope;
        std::iter::from_fn(move || {
            let scope = &self.scopes[at.0 as usize];
            at = scope.outer;
            scope.qualifier.as_ref()
        })
    }

    /// The qualifiers from the outermost one inwards.
    pub fn path(&self, scope: ScopeId) -> Vec<Qualifier> {
        let mut path: Vec<Qualifier> = self.outwards(scope).cloned().collect();
        path.reverse();
        path
    }

    /// Whether the qualifiers of `scope`, outermost first, are `path`.
    pub fn is(&self, scope: ScopeId, path: &[Qualifier]) -> bool {
        self.outwards(scope).eq(path.iter().rev())
    }

    /// Whether any loop has, or once had, this qualifier.
    pub fn is_known(&self, qualifier: &Qualifier) -> bool {
        self.by_qualifier.contains_key(qualifier)
    }

    /// Loops, in order, whose scope has, or once had, all qualifiers of `path` in order.
    pub fn loops(&self, path: &[Qualifier]) -> Vec<LoopId> {
        let Some((last, rest)) = path.split_last() else { return Vec::new() };
        let mut found = Vec::new();
        for scope in self.by_qualifier.get(last).into_iter().flatten() {
            let mut qualifiers = self.outwards(self.scopes[scope.0 as usize].outer);
            if rest.iter().rev().all(|want| qualifiers.any(|qualifier| want.covers(qualifier))) {
                self.gather(*scope, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn gather(&self, scope: ScopeId, found: &mut Vec<LoopId>) {
        let mut stack = vec![scope];
        while let Some(at) = stack.pop() {
            let scope = &self.scopes[at.0 as usize];
            found.extend(&scope.loops);
            stack.extend(&scope.inner);
        }
    }
}
