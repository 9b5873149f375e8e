//! The tree of loops: the loop around each loop, the loops inside it, and the edits of this shape.

use sched_nest::LoopId;
use smallvec::{SmallVec, smallvec};

/// A list of loops, mostly short.
pub type Loops = SmallVec<[LoopId; 4]>;

/// The body of a loop while the nest is being built.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopBody {
    /// Loops in sequence; a leaf loop has none.
    Seq(Loops),
    /// One sequence for each iteration.
    Cases(Vec<Loops>),
}

impl LoopBody {
    /// All loops directly inside.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = LoopId> {
        let (list, cases): (&[LoopId], &[Loops]) = match self {
            LoopBody::Seq(list) => (list, &[]),
            LoopBody::Cases(cases) => (&[], cases),
        };
        list.iter().chain(cases.iter().flatten()).copied()
    }

    /// The loop directly inside, if there is exactly one.
    pub fn only(&self) -> Option<LoopId> {
        let mut children = self.children();
        children.next().filter(|_| children.next().is_none())
    }

    /// Whether there is no loop inside.
    pub fn is_leaf(&self) -> bool {
        matches!(self, LoopBody::Seq(list) if list.is_empty())
    }
}

/// Links of one loop.
#[derive(Clone, Debug)]
struct Links {
    /// The loop directly around this one; `None` if this one is outermost.
    parent: Option<LoopId>,
    inside: LoopBody,
}

/// The loops of the nest, linked by parent and body. It knows nothing else of a loop.
#[derive(Clone, Debug)]
pub struct LoopTree {
    /// Links by index variable. Consumed ones have an empty body and keep their last parent.
    links: Vec<Links>,
    roots: Loops,
    /// Number of loops in the nest.
    loop_count: usize,
}

impl LoopTree {
    /// An empty tree with room for `loops` loops.
    pub(super) fn with_room(loops: usize) -> Self {
        LoopTree { links: Vec::with_capacity(loops), roots: Loops::new(), loop_count: 0 }
    }

    /// The loop directly around `id` in the nest; `None` if `id` is outermost.
    pub fn parent(&self, id: LoopId) -> Option<LoopId> {
        self.links[id.0 as usize].parent
    }

    /// Body of the loop. Consumed loops have none.
    pub fn inside(&self, id: LoopId) -> &LoopBody {
        &self.links[id.0 as usize].inside
    }

    /// The outermost loops in execution order.
    pub fn roots(&self) -> &[LoopId] {
        &self.roots
    }

    /// Number of loops of the nest.
    pub fn loop_count(&self) -> usize {
        self.loop_count
    }

    /// All loops in the nest in execution order, outer ones first.
    pub fn loops(&self) -> Vec<LoopId> {
        self.visit(self.roots.iter().rev().copied().collect())
    }

    /// All loops at or below `id`, outer ones first.
    pub fn subtree(&self, id: LoopId) -> Vec<LoopId> {
        self.visit(vec![id])
    }

    /// The loops of a stack, topmost first, each before the loops inside it.
    fn visit(&self, mut stack: Vec<LoopId>) -> Vec<LoopId> {
        let mut order = Vec::new();
        while let Some(id) = stack.pop() {
            order.push(id);
            stack.extend(self.inside(id).children().rev());
        }
        order
    }

    /// The loops from the outermost one down to `id`.
    pub fn path(&self, id: LoopId) -> Vec<LoopId> {
        let mut path: Vec<LoopId> = std::iter::successors(Some(id), |at| self.parent(*at)).collect();
        path.reverse();
        path
    }

    /// Number of loops on the longest path through `id`.
    pub(super) fn longest_path(&self, id: LoopId) -> usize {
        let mut longest = 0;
        let mut stack = vec![(id, self.path(id).len())];
        while let Some((id, depth)) = stack.pop() {
            longest = longest.max(depth);
            stack.extend(self.inside(id).children().map(|child| (child, depth + 1)));
        }
        longest
    }

    /// Adds a leaf loop. The caller links it into the nest.
    pub(super) fn add(&mut self) -> LoopId {
        let id = LoopId(self.links.len() as u32);
        self.links.push(Links { parent: None, inside: LoopBody::Seq(Loops::new()) });
        self.loop_count += 1;
        id
    }

    /// Makes an unlinked loop the only outermost one.
    pub(super) fn set_root(&mut self, id: LoopId) {
        self.roots = smallvec![id];
    }

    /// Replaces the body of a loop.
    pub(super) fn set_inside(&mut self, id: LoopId, inside: LoopBody) {
        for child in inside.children() {
            self.links[child.0 as usize].parent = Some(id);
        }
        self.links[id.0 as usize].inside = inside;
    }

    /// Moves the body of `from` to `to`.
    pub(super) fn move_body(&mut self, from: LoopId, to: LoopId) {
        let body = &mut self.links[from.0 as usize].inside;
        let body = std::mem::replace(body, LoopBody::Seq(Loops::new()));
        self.set_inside(to, body);
    }

    /// Puts the loops `new` where `old` is.
    pub(super) fn replace(&mut self, old: LoopId, new: &[LoopId]) {
        let parent = self.parent(old);
        for id in new {
            self.links[id.0 as usize].parent = parent;
        }
        let put = |list: &mut Loops| {
            if let Some(at) = position(list, old) {
                replace(list, at, new);
            }
        };
        match parent {
            None => put(&mut self.roots),
            Some(parent) => match &mut self.links[parent.0 as usize].inside {
                LoopBody::Seq(list) => put(list),
                LoopBody::Cases(cases) => cases.iter_mut().for_each(put),
            },
        }
    }

    /// Removes a loop that others have replaced.
    pub(super) fn remove(&mut self, id: LoopId) {
        self.links[id.0 as usize].inside = LoopBody::Seq(Loops::new());
        self.loop_count -= 1;
    }
}

/// Position of `id` in a list that may be very long. Compares whole blocks at once, starting at the end.
fn position(list: &[LoopId], id: LoopId) -> Option<usize> {
    const BLOCK: usize = 32;
    let has = |block: &[LoopId]| block.iter().fold(false, |found, on| found | (*on == id));
    let (block, on) = list.chunks(BLOCK).enumerate().rev().find(|(_, block)| has(block))?;
    on.iter().position(|on| *on == id).map(|at| block * BLOCK + at)
}

/// Replaces the entry at `at` by `new`.
pub(super) fn replace(list: &mut Loops, at: usize, new: &[LoopId]) {
    if let ([first, rest @ ..], Some(old)) = (new, list.get_mut(at)) {
        *old = *first;
        list.insert_many(at + 1, rest.iter().copied());
    }
}
