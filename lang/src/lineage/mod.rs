//! The lineage of index variables: a typed builder of loop nests that refuses what is illegal.
//!
//! A [`NestBuilder`] starts as `batch` around `tree`. It has one method for each loop modifier.
//! [`NestBuilder::state`] attaches annotations once the shape is final. Text is one front end of it. Every
//! refusal comes back as plain data ([`Illegal`]), without formatting.
//!
//! Index variables are never removed: consumed ones stay in the arena. So later messages can name the
//! directive that made an index and the one that consumed it.

mod annotate;
mod annotation;
mod copies;
mod depth;
mod export;
mod names;
mod node;
mod record;
mod reorder;
mod scopes;
mod select;
mod specialize;
mod split;
mod step;
mod tile;

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use smallvec::{SmallVec, smallvec};

use crate::illegal::{Illegal, Problem};
use crate::obligation::Obligation;
use sched_nest::sym::{Property, Sym};
use sched_nest::{Axis, Layout, LoopId, ModelInfo, TreeOrder};

pub use annotation::{Annotation, MAX_STEPS};
pub(crate) use node::Sum;
pub use node::{Inside, LoopNode, Loops};
pub use record::Index;
pub use sched_nest::TileTrees;
use scopes::{ScopeId, Scopes};
pub use select::{Select, Tag};
pub use step::DirectiveIndex;

/// Deepest accepted nest, in loops.
pub const MAX_DEPTH: usize = 40;
/// Largest number of loops in one nest.
pub const MAX_LOOPS: usize = 20_000;
/// Largest number of mentions of loops in constraints. It bounds memory if long chains of tiles are copied
/// often.
const MAX_MENTIONS: usize = 2_000_000;
/// Largest number of iterations of a loop that `specialize` or `unroll` expands.
pub const MAX_EXPANSION: i64 = 1024;

/// A remark on a legal operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Remark {
    /// The operation.
    pub step: DirectiveIndex,
    /// Its loop.
    pub index: LoopId,
    /// Kind of the remark.
    pub kind: RemarkKind,
}

/// Kinds of remarks.
#[derive(Clone, Debug, PartialEq)]
pub enum RemarkKind {
    /// An obligation that needs a model.
    Unverified(Obligation),
    /// A tile that does not divide its loop: extent and size, both in index values.
    PartialTile(i64, i64),
    /// A tile that is larger than its loop: extent and size, both in index values.
    TileBeyond(i64, i64),
    /// A tile of one iteration.
    TileOfOne,
}

/// Builds a loop nest by legal operations.
#[derive(Clone, Debug)]
pub struct NestBuilder {
    pub(crate) nodes: Vec<LoopNode>,
    pub(crate) roots: Loops,
    pub(crate) sums: Vec<Sum>,
    /// All copies of a name, consumed ones included.
    pub(crate) names: HashMap<Arc<str>, Loops>,
    scopes: Scopes,
    /// Names whose declaration was refused.
    poisoned: HashSet<String>,
    /// Names whose number of copies is unknown without a model.
    uncounted: HashSet<String>,
    /// Whether a refused operation would have made loops with unknown names.
    lacks_names: bool,
    /// Loops in the nest.
    live: usize,
    mentions: usize,
    pub(crate) order: TreeOrder,
    /// First operation that depends on tree positions.
    positions_fixed_by: Option<DirectiveIndex>,
    sorted_by: Option<DirectiveIndex>,
    pub(crate) model: Option<Arc<ModelInfo>>,
    /// Depth of the deepest tree, if there is a model.
    pub(crate) deepest: Option<u32>,
    remarks: Vec<Remark>,
    pub(crate) layout: Option<(Layout, DirectiveIndex)>,
    pub(crate) tile_trees: Option<(TileTrees, DirectiveIndex)>,
}

impl NestBuilder {
    /// The initial nest, `batch` around `tree`; concrete with a `model`.
    pub fn new(model: Option<Arc<ModelInfo>>) -> Self {
        Self::with_room(model, 0)
    }

    /// [`NestBuilder::new`] with room for `operations` operations.
    pub(crate) fn with_room(model: Option<Arc<ModelInfo>>, operations: usize) -> Self {
        let room = 2 + operations.min(MAX_LOOPS);
        let mut builder = NestBuilder {
            nodes: Vec::with_capacity(2 * room),
            roots: Loops::new(),
            sums: Vec::with_capacity(room),
            names: HashMap::with_capacity(2 * room),
            scopes: Scopes::new(),
            poisoned: HashSet::new(),
            uncounted: HashSet::new(),
            lacks_names: false,
            live: 0,
            mentions: 0,
            order: TreeOrder::Model,
            positions_fixed_by: None,
            sorted_by: None,
            deepest: model.as_ref().map(|model| model.max_depth()),
            model,
            remarks: Vec::new(),
            layout: None,
            tile_trees: None,
        };
        let trees = match &builder.model {
            Some(model) => Sym::Int(i64::from(model.num_trees)),
            None => Sym::Property(Property::NumTrees),
        };
        let batch = builder.add_root("batch", Axis::Row, Sym::Property(Property::Rows));
        let tree = builder.add_root("tree", Axis::Tree, trees);
        builder.roots.push(batch);
        builder.node_mut(batch).inside = Inside::Seq(smallvec![tree]);
        builder.node_mut(tree).parent = Some(batch);
        builder
    }

    fn add_root(&mut self, name: &str, axis: Axis, stop: Sym) -> LoopId {
        let node = LoopNode {
            name: name.into(),
            number: None,
            scope: ScopeId::default(),
            axis,
            start: Sym::Int(0),
            stop: stop.clone(),
            step: Sym::Int(1),
            parent: None,
            inside: Inside::Seq(Loops::new()),
            made_by: None,
            consumed_by: None,
            successors: Loops::new(),
            place: Vec::new(),
            run_depth: None,
            split_by_depth: None,
            is_part: false,
            specialized_by: None,
            annotations: Vec::new(),
            sums: SmallVec::new(),
            tainted: false,
        };
        let id = self.add(node);
        self.add_sum(smallvec![id], stop);
        id
    }

    /// The index variable with this id, which must exist.
    pub fn node(&self, id: LoopId) -> &LoopNode {
        &self.nodes[id.0 as usize]
    }

    /// The index variable with this id, in the nest or consumed; `None` if no operation has made it.
    pub fn index(&self, id: LoopId) -> Option<&LoopNode> {
        self.nodes.get(id.0 as usize)
    }

    /// All index variables in the order in which they were made.
    pub fn indices(&self) -> impl Iterator<Item = (LoopId, &LoopNode)> {
        self.nodes.iter().enumerate().map(|(at, node)| (LoopId(at as u32), node))
    }

    /// All copies of a name, consumed ones included.
    pub fn copies(&self, name: &str) -> &[LoopId] {
        self.names.get(name).map_or(&[], |copies| copies.as_slice())
    }

    pub(crate) fn node_mut(&mut self, id: LoopId) -> &mut LoopNode {
        &mut self.nodes[id.0 as usize]
    }

    /// Adds a live node and registers its name. The caller links it into the nest.
    fn add(&mut self, node: LoopNode) -> LoopId {
        let id = LoopId(self.nodes.len() as u32);
        self.names.entry(Arc::clone(&node.name)).or_default().push(id);
        self.scopes.enter(node.scope, id);
        self.nodes.push(node);
        self.live += 1;
        id
    }

    fn add_sum(&mut self, loops: Loops, bound: Sym) {
        let index = self.sums.len() as u32;
        self.mentions += loops.len();
        for id in &loops {
            self.node_mut(*id).sums.push(index);
        }
        self.sums.push(Sum { loops, bound });
    }

    /// Replaces `old` by `new` in every sum that mentions it.
    fn replace_in_sums(&mut self, old: LoopId, new: &[LoopId]) {
        let sums = std::mem::take(&mut self.node_mut(old).sums);
        for &index in &sums {
            let loops = &mut self.sums[index as usize].loops;
            let Some(at) = loops.iter().position(|id| *id == old) else { continue };
            replace(loops, at, new);
            self.mentions += new.len() - 1;
            for id in new {
                self.nodes[id.0 as usize].sums.push(index);
            }
        }
    }

    fn consume(&mut self, id: LoopId, by: DirectiveIndex, successors: Loops) {
        let node = self.node_mut(id);
        node.consumed_by = Some(by);
        node.successors = successors;
        node.inside = Inside::Seq(Loops::new());
        self.live -= 1;
    }

    /// Replaces the entry at `at` by `new`.
    fn replace_in_nest(&mut self, old: LoopId, new: &[LoopId]) {
        let parent = self.node(old).parent;
        for id in new {
            self.node_mut(*id).parent = parent;
        }
        let put = |list: &mut Loops| {
            if let Some(at) = position(list, old) {
                replace(list, at, new);
            }
        };
        match parent {
            None => put(&mut self.roots),
            Some(parent) => match &mut self.node_mut(parent).inside {
                Inside::Seq(list) => put(list),
                Inside::Cases(cases) => cases.iter_mut().for_each(put),
            },
        }
    }

    fn set_parent(&mut self, children: &[LoopId], parent: LoopId) {
        for child in children {
            self.node_mut(*child).parent = Some(parent);
        }
    }

    /// Moves the body of `from` to `to`.
    fn move_body(&mut self, from: LoopId, to: LoopId) {
        let body = std::mem::replace(&mut self.node_mut(from).inside, Inside::Seq(Loops::new()));
        for child in body.children() {
            self.node_mut(child).parent = Some(to);
        }
        self.node_mut(to).inside = body;
    }

    fn remark(&mut self, step: DirectiveIndex, index: LoopId, kind: RemarkKind) {
        self.remarks.push(Remark { step, index, kind });
    }

    /// Takes out the remarks of the operations so far.
    pub fn take_remarks(&mut self) -> Vec<Remark> {
        std::mem::take(&mut self.remarks)
    }

    /// Whether a refused operation named this loop, so that further problems of it are consequences.
    pub fn is_tainted(&self, id: LoopId) -> bool {
        self.node(id).tainted
    }

    /// Marks loops that a refused operation named.
    pub fn taint(&mut self, ids: &[LoopId]) {
        for id in ids {
            self.node_mut(*id).tainted = true;
        }
    }

    /// Declares `name` as a refused index. Its uses are refused as [`Problem::Poisoned`], which needs no
    /// message.
    pub fn poison(&mut self, name: &str) {
        if !self.names.contains_key(name) {
            self.poisoned.insert(name.to_owned());
        }
    }

    /// Declares all unknown names as refused. A refused directive would have made loops without naming all of
    /// them.
    pub(crate) fn poison_unknown(&mut self) {
        self.lacks_names = true;
    }

    /// Declares refused numbered copies of `name`, like [`NestBuilder::poison`].
    pub fn poison_copies(&mut self, name: &str) {
        self.uncounted.insert(name.to_owned());
    }

    /// The operation that made this index, unless it is a root.
    pub fn made_by(&self, id: LoopId) -> Option<DirectiveIndex> {
        self.node(id).made_by
    }

    /// Rows or trees.
    pub fn axis(&self, id: LoopId) -> Axis {
        self.node(id).axis
    }

    /// Number of loops of the nest.
    pub fn loop_count(&self) -> usize {
        self.live
    }

    /// Whether the number of copies of `splitByDepth` or `specialize` is unknown without a model.
    pub fn has_uncounted_copies(&self) -> bool {
        !self.uncounted.is_empty()
    }

    /// All loops in the nest in execution order, outer ones first.
    pub fn loops(&self) -> Vec<LoopId> {
        let mut order = Vec::with_capacity(self.live);
        let mut stack: Vec<LoopId> = self.roots.iter().rev().copied().collect();
        while let Some(id) = stack.pop() {
            order.push(id);
            stack.extend(self.node(id).inside.children().rev());
        }
        order
    }

    /// Number of iterations of a loop, as far as its own range determines it.
    pub fn trips(&self, id: LoopId) -> Option<i64> {
        let node = self.node(id);
        trips(node.start.as_int()?, node.stop.as_int()?, node.step.as_int()?)
    }

    /// The loops from the outermost one down to `id`.
    pub fn path(&self, id: LoopId) -> Vec<LoopId> {
        let mut path = vec![id];
        while let Some(parent) = self.node(path[path.len() - 1]).parent {
            path.push(parent);
        }
        path.reverse();
        path
    }

    /// All loops at or below `id`, outer ones first.
    pub(crate) fn subtree(&self, id: LoopId) -> Vec<LoopId> {
        let mut order = Vec::new();
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            order.push(id);
            stack.extend(self.node(id).inside.children().rev());
        }
        order
    }

    /// Refuses a nest that would grow beyond what can be compiled.
    fn check_growth(
        &self,
        step: DirectiveIndex,
        at: LoopId,
        more_loops: usize,
        more_mentions: usize,
    ) -> Result<(), Illegal> {
        if self.live.saturating_add(more_loops) > MAX_LOOPS
            || self.mentions.saturating_add(more_mentions) > MAX_MENTIONS
        {
            return Err(Illegal::at(step, Problem::TooManyLoops, vec![at]));
        }
        Ok(())
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
fn replace(list: &mut Loops, at: usize, new: &[LoopId]) {
    if let ([first, rest @ ..], Some(old)) = (new, list.get_mut(at)) {
        *old = *first;
        list.insert_many(at + 1, rest.iter().copied());
    }
}

/// Number of iterations of `[start, stop)` by `step`; `None` if it does not fit.
pub fn trips(start: i64, stop: i64, step: i64) -> Option<i64> {
    if step < 1 {
        return None;
    }
    let extent = stop.checked_sub(start)?;
    if extent <= 0 { Some(0) } else { Some((extent - 1) / step + 1) }
}
