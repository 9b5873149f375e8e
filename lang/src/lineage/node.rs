//! Index variables as the builder keeps them, and what readers of a lineage may ask of them.

use std::sync::Arc;

use sched_nest::sym::Sym;
use sched_nest::{Axis, LoopId};
use smallvec::SmallVec;

use super::scopes::ScopeId;
use super::{Annotation, DirectiveIndex};

/// Loops in a list that is mostly short.
pub type Loops = SmallVec<[LoopId; 4]>;

/// The body of a loop while the nest is being built.
#[derive(Clone, Debug, PartialEq)]
pub enum Inside {
    /// Loops in sequence; none makes a leaf loop.
    Seq(Loops),
    /// One sequence for each iteration.
    Cases(Vec<Loops>),
}

impl Inside {
    /// All loops directly inside.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = LoopId> {
        let (list, cases): (&[LoopId], &[Loops]) = match self {
            Inside::Seq(list) => (list, &[]),
            Inside::Cases(cases) => (&[], cases),
        };
        list.iter().chain(cases.iter().flatten()).copied()
    }

    /// The loop directly inside, if it is the only one.
    pub fn only(&self) -> Option<LoopId> {
        let mut children = self.children();
        children.next().filter(|_| children.next().is_none())
    }

    /// Whether there is no loop inside.
    pub fn is_leaf(&self) -> bool {
        matches!(self, Inside::Seq(list) if list.is_empty())
    }
}

/// An index variable: one copy of one name.
#[derive(Clone, Debug)]
pub struct LoopNode {
    /// The name it was declared with.
    pub name: Arc<str>,
    /// Its number among the copies that `splitByDepth` made.
    pub number: Option<u32>,
    /// The copies it lies in.
    pub(crate) scope: ScopeId,
    /// Rows or trees.
    pub axis: Axis,
    /// First value.
    pub start: Sym,
    /// Exclusive end, before constraints.
    pub stop: Sym,
    /// Distance between values.
    pub step: Sym,
    /// The loop directly around it in the nest; none if it is outermost.
    pub parent: Option<LoopId>,
    /// What is inside it in the nest.
    pub inside: Inside,
    /// The operation that made it; none for the roots.
    pub made_by: Option<DirectiveIndex>,
    /// The operation that replaced it by others; none while it is in the nest.
    pub consumed_by: Option<DirectiveIndex>,
    /// What it was replaced by.
    pub successors: Loops,
    /// Place in the lineage: lexicographic order is the order that adds the trees as the model does.
    pub place: Vec<bool>,
    /// Depth of its trees, if `splitByDepth` made it or what it came from.
    pub run_depth: Option<u32>,
    /// The `splitByDepth` that it or what it came from was made by.
    pub split_by_depth: Option<DirectiveIndex>,
    /// It is, or comes from, a part of a loop that was split.
    pub is_part: bool,
    /// The `specialize` that gave its iterations bodies of their own.
    pub specialized_by: Option<DirectiveIndex>,
    /// What is stated of it, and by which operations.
    pub annotations: Vec<(Annotation, DirectiveIndex)>,
    /// Sums that mention it: indices into `NestBuilder::sums`.
    pub(crate) sums: SmallVec<[u32; 4]>,
    /// A refused operation named it, so complaints about its shape or range would be consequences.
    pub(crate) tainted: bool,
}

/// `sum(loops) < bound`.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    pub(crate) loops: Loops,
    pub(crate) bound: Sym,
}
