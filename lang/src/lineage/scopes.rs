//! Scopes: the copies around a loop.
//!
//! Copies of copies share common parts, so a scope is a path in a tree of tags. Long chains of splits make
//! long paths, so no function here walks a path once for each loop on it.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use super::Tag;
use sched_nest::LoopId;

/// A path of tags, outermost first. The first scope is the empty path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ScopeId(u32);

#[derive(Clone, Debug, Default)]
struct ScopeNode {
    /// Innermost tag; `None` for the empty path.
    tag: Option<Tag>,
    outer: ScopeId,
    inner: Vec<ScopeId>,
    /// Loops in the scope, including those that were copied again later.
    loops: Vec<LoopId>,
}

/// All scopes of a nest.
#[derive(Clone, Debug)]
pub(crate) struct Scopes {
    scopes: Vec<ScopeNode>,
    made: HashMap<(ScopeId, Tag), ScopeId>,
    /// Scopes by their innermost tag, and by its name alone.
    tagged: HashMap<Tag, Vec<ScopeId>>,
}

impl Scopes {
    pub fn new() -> Self {
        Scopes { scopes: vec![ScopeNode::default()], made: HashMap::new(), tagged: HashMap::new() }
    }

    /// Adds a loop to the scope.
    pub fn enter(&mut self, scope: ScopeId, id: LoopId) {
        self.scopes[scope.0 as usize].loops.push(id);
    }

    /// The scope of a copy inside `outer`.
    pub fn inside(&mut self, outer: ScopeId, tag: &Tag) -> ScopeId {
        if let Some(known) = self.made.get(&(outer, tag.clone())) {
            return *known;
        }
        let id = ScopeId(self.scopes.len() as u32);
        self.scopes.push(ScopeNode { tag: Some(tag.clone()), outer, ..ScopeNode::default() });
        self.scopes[outer.0 as usize].inner.push(id);
        self.made.insert((outer, tag.clone()), id);
        if tag.number.is_some() {
            let any = Tag { name: Arc::clone(&tag.name), number: None };
            self.tagged.entry(any).or_default().push(id);
        }
        self.tagged.entry(tag.clone()).or_default().push(id);
        id
    }

    /// The tags from the innermost one outwards.
    pub fn outwards(&self, scope: ScopeId) -> impl Iterator<Item = &Tag> {
        let mut at = scope;
        std::iter::from_fn(move || {
            let scope = &self.scopes[at.0 as usize];
            at = scope.outer;
            scope.tag.as_ref()
        })
    }

    /// The tags from the outermost one inwards.
    pub fn path(&self, scope: ScopeId) -> Vec<Tag> {
        let mut path: Vec<Tag> = self.outwards(scope).cloned().collect();
        path.reverse();
        path
    }

    /// Whether the tags of `scope`, outermost first, are `path`.
    pub fn is(&self, scope: ScopeId, path: &[Tag]) -> bool {
        self.outwards(scope).eq(path.iter().rev())
    }

    /// Whether any loop has, or once had, this tag.
    pub fn is_known(&self, tag: &Tag) -> bool {
        self.tagged.contains_key(tag)
    }

    /// Loops, in order, whose scope has, or once had, all tags of `path` in order.
    pub fn loops(&self, path: &[Tag]) -> Vec<LoopId> {
        let Some((last, rest)) = path.split_last() else { return Vec::new() };
        let mut found = Vec::new();
        for scope in self.tagged.get(last).into_iter().flatten() {
            let mut tags = self.outwards(self.scopes[scope.0 as usize].outer);
            if rest.iter().rev().all(|want| tags.any(|tag| want.covers(tag))) {
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
