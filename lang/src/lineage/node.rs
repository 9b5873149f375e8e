//! Index variables of the builder, with the questions that readers of a lineage ask.

use std::sync::Arc;

use sched_nest::sym::Sym;
use sched_nest::{Axis, LoopId};
use smallvec::SmallVec;

use super::scopes::ScopeId;
use super::{Annotation, DirectiveIndex};

/// A list of loops, mostly short.
pub type Loops = SmallVec<[LoopId; 4]>;

/// The body of a loop while the nest is being built.
#[derive(Clone, Debug, PartialEq)]
pub enum Inside {
    /// Loops in sequence; a leaf loop has none.
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
    /// Declared name.
    pub name: Arc<str>,
    /// Number among the copies of `splitByDepth`.
    pub number: Option<u32>,
    /// Scope of the copies around it.
    pub(crate) scope: ScopeId,
    /// Rows or trees.
    pub axis: Axis,
    /// First value.
    pub start: Sym,
    /// Exclusive end, before constraints.
    pub stop: Sym,
    /// Distance between values.
    pub step: Sym,
    /// The loop directly around it in the nest; `None` if it is outermost.
    pub parent: Option<LoopId>,
    /// Its body in the nest.
    pub inside: Inside,
    /// Operation that made it; `None` for the roots.
    pub made_by: Option<DirectiveIndex>,
    /// Operation that replaced it by others; `None` while it is in the nest.
    pub consumed_by: Option<DirectiveIndex>,
    /// Loops that replaced it.
    pub successors: Loops,
    /// Path in the lineage. Lexicographic order of paths adds the trees in the model's order.
    pub place: Vec<bool>,
    /// Depth of its trees, if it comes from a `splitByDepth`.
    pub run_depth: Option<u32>,
    /// The `splitByDepth` from which it comes.
    pub split_by_depth: Option<DirectiveIndex>,
    /// Whether it is, or comes from, a part of a split loop.
    pub is_part: bool,
    /// The `specialize` that gave its iterations separate bodies.
    pub specialized_by: Option<DirectiveIndex>,
    /// Facts about it, with their operations.
    pub annotations: Vec<(Annotation, DirectiveIndex)>,
    /// Sums that mention it: indices into `NestBuilder::sums`.
    pub(crate) sums: SmallVec<[u32; 4]>,
    /// Whether a refused operation named it, so that further problems of its shape or range are consequences.
    pub(crate) tainted: bool,
}

/// `sum(loops) < bound`.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    pub(crate) loops: Loops,
    pub(crate) bound: Sym,
}
