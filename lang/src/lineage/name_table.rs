//! The table of names: the copies of each name, the scopes around them, and names that are missing.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use sched_nest::LoopId;

use super::index_table::{IndexTable, LoopNode};
use super::missing_names::MissingNames;
use super::scopes::{ScopeId, Scopes};
use super::select::Qualifier;
use super::tree::Loops;

/// Names of index variables. [`super::IndexNames`] looks them up.
#[derive(Clone, Debug)]
pub(crate) struct NameTable {
    /// All copies of a name, consumed ones included.
    copies: HashMap<Arc<str>, Loops>,
    scopes: Scopes,
    missing: MissingNames,
}

impl NameTable {
    /// An empty table with room for `names` names.
    pub(super) fn with_room(names: usize) -> Self {
        NameTable {
            copies: HashMap::with_capacity(names),
            scopes: Scopes::new(),
            missing: MissingNames::default(),
        }
    }

    /// All copies of a name, consumed ones included; `None` if no loop ever had the name.
    pub(super) fn copies(&self, name: &str) -> Option<&Loops> {
        self.copies.get(name)
    }

    /// All names with their copies, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Loops)> {
        self.copies.iter().map(|(name, copies)| (&**name, copies))
    }

    /// Scopes of the copies.
    pub(super) fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// Names without loops.
    pub(super) fn missing(&self) -> &MissingNames {
        &self.missing
    }

    /// Adds a new index variable.
    pub(super) fn enter(&mut self, node: &LoopNode, id: LoopId) {
        self.copies.entry(Arc::clone(&node.name)).or_default().push(id);
        self.scopes.enter(node.scope, id);
    }

    /// Moves these loops into the copy that `qualifier` names.
    pub(super) fn qualify(&mut self, indices: &mut IndexTable, loops: &[LoopId], qualifier: &Qualifier) {
        for id in loops {
            let node = indices.node_mut(*id);
            node.scope = self.scopes.inside(node.scope, qualifier);
            self.scopes.enter(node.scope, *id);
        }
    }

    /// Scope of the successors of a loop: the loop's scope or, if the loop is a run of `splitByDepth`, the
    /// scope inside the run. Otherwise successors of different runs would share a name.
    pub(super) fn scope_of_successors(&mut self, node: &LoopNode) -> ScopeId {
        match node.number {
            Some(_) => {
                let run = Qualifier { name: Arc::clone(&node.name), number: node.number };
                self.scopes.inside(node.scope, &run)
            }
            None => node.scope,
        }
    }

    /// Declares `name` as a refused index. Its uses are refused as [`crate::illegal::Problem::Poisoned`],
    /// which needs no message.
    pub fn poison(&mut self, name: &str) {
        if !self.copies.contains_key(name) {
            self.missing.refuse(name);
        }
    }

    /// Declares all unknown names as refused. A refused directive would have made loops without naming all of
    /// them.
    pub fn poison_unknown(&mut self) {
        self.missing.refuse_unknown();
    }

    /// Declares refused numbered copies of `name`, like [`NameTable::poison`].
    pub fn poison_copies(&mut self, name: &str) {
        self.missing.refuse_copies(name);
    }
}
