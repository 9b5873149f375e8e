//! The lineage of index variables: a builder of loop nests that refuses what is illegal.
//!
//! A [`NestBuilder`] starts as `batch` around `tree`. Its function `modify` applies one loop modifier, and
//! [`NestBuilder::annotate`] attaches an annotation once the shape is final. Text is one front end of it.
//! Every refusal comes back as plain data ([`crate::illegal::Illegal`]), without formatting.
//!
//! Index variables are never removed: consumed ones stay in the table. So later messages can name the
//! directive that made an index and the one that consumed it.
//!
//! | module | knows |
//! |---|---|
//! | `tree` | the loop around each loop, and the loops inside it |
//! | `index_table` | each index variable: name, range, makers and successors, annotations |
//! | `name_table`, `scopes`, `missing_names` | copies of each name, their qualifiers, refused names |
//! | `select`, `names` | written names, and the live copies that they mean |
//! | `constraints` | sums of index variables with a bound |
//! | `positions` | the order of the trees, and the first operation that depends on it |
//! | `annotation`, `forest_annotations` | annotations of a loop, and of the whole forest |
//! | `remark` | remarks on legal operations |
//! | `modifier` | the common form of the rules of modifiers |
//! | `tile`, `split`, `reorder`, `unroll` and so on | the rules of one modifier |
//! | `checks`, `copies`, `fission`, `depth_scan` | steps of several modifiers |
//! | `export`, `record` | the nest and the lineage as plain data |

mod annotation;
mod checks;
mod constraints;
mod copies;
mod depth_scan;
mod export;
mod fission;
mod forest_annotations;
mod index_table;
mod missing_names;
mod modifier;
mod name_table;
mod names;
mod positions;
mod record;
mod remark;
mod reorder;
mod scopes;
mod select;
mod sort_trees;
mod specialize;
mod split;
mod split_by_depth;
mod step;
mod tile;
mod tree;
mod unroll;

use std::sync::Arc;

use smallvec::smallvec;

use crate::illegal::Illegal;
use sched_nest::sym::{Property, Sym};
use sched_nest::{Axis, LoopId, ModelInfo, StageInfo, TreeOrder};

pub use annotation::{Annotation, MAX_LANES, MAX_STEPS};
pub(crate) use checks::is_first_loop;
pub(crate) use constraints::{Constraints, SumConstraint};
pub use forest_annotations::ForestAnnotations;
pub use index_table::{IndexTable, LoopNode};
pub(crate) use modifier::Modifier;
use name_table::NameTable;
pub use names::IndexNames;
use positions::TreePositions;
pub use record::{IndexRecord, record};
use remark::Remarks;
pub use remark::{Remark, RemarkKind};
pub(crate) use reorder::ReorderLoops;
pub use sched_nest::TileTrees;
use scopes::ScopeId;
pub use select::{LoopSelector, Qualifier};
pub(crate) use sort_trees::SortTrees;
pub(crate) use specialize::SpecializeLoop;
pub(crate) use split::SplitLoop;
pub(crate) use split_by_depth::SplitLoopByDepth;
pub use step::DirectiveIndex;
pub(crate) use tile::TileLoop;
pub use tree::{LoopBody, LoopTree, Loops};
pub(crate) use unroll::UnrollLoop;

/// Deepest accepted nest, in loops.
pub const MAX_DEPTH: usize = 40;
/// Largest number of loops in one nest.
pub const MAX_LOOPS: usize = 20_000;
/// Largest number of iterations of a loop that `specialize` or `unroll` expands.
pub const MAX_EXPANSION: i64 = 1024;

/// Builds a loop nest, operation by operation, and refuses operations that are illegal at that point. The
/// tree of loops, the table of index variables and the constraints share the ids of loops.
#[derive(Clone, Debug)]
pub struct NestBuilder {
    tree: LoopTree,
    indices: IndexTable,
    names: NameTable,
    constraints: Constraints,
    positions: TreePositions,
    forest: ForestAnnotations,
    remarks: Remarks,
    model: Option<Arc<ModelInfo>>,
    /// Depth of the deepest tree, if there is a model.
    deepest: Option<u32>,
    /// The stage of columns whose nest this is; `None` for the nest of trees.
    stage: Option<Arc<StageInfo>>,
    /// Largest number of rows that the loops process at once, if known.
    batch_size: Option<u64>,
}

impl NestBuilder {
    /// The initial nest, `batch` around `tree`; concrete with a `model`.
    pub fn new(model: Option<Arc<ModelInfo>>) -> Self {
        Self::with_room(model, 0)
    }

    /// [`NestBuilder::new`] with room for `operations` operations.
    pub(crate) fn with_room(model: Option<Arc<ModelInfo>>, operations: usize) -> Self {
        let trees = match &model {
            Some(model) => Sym::Int(i64::from(model.num_trees)),
            None => Sym::Property(Property::NumTrees),
        };
        NestBuilder::of_loops(model, operations, vec![LoopNode::root("tree", Axis::Tree, trees)])
    }

    /// The initial nest of a stage of columns, `batch` around the loops of its kind. Their names may have the
    /// stage's name before them. Numbers of units, terms and trees are known with a model. `batch_size` is
    /// the largest number of rows that the loops process at once, if known.
    pub(crate) fn of_stage(
        model: Option<Arc<ModelInfo>>,
        stage: &StageInfo,
        batch_size: Option<u64>,
        operations: usize,
    ) -> Self {
        let is_known = model.is_some();
        let count = |axis: Axis| match (axis, is_known) {
            (Axis::Unit, true) => Sym::Int(stage.units.into()),
            (Axis::Unit, false) => Sym::Property(Property::Units),
            (Axis::Tree, false) => Sym::Property(Property::NumTrees),
            (_, true) => Sym::Int(stage.terms.into()),
            (_, false) => Sym::Property(Property::Terms),
        };
        let loops = stage.kind.loops().iter().map(|(name, axis)| LoopNode::root(name, *axis, count(*axis)));
        let mut builder = NestBuilder::of_loops(model, operations, loops.collect());
        let all: Vec<LoopId> = builder.indices.iter().map(|(id, _)| id).collect();
        builder.qualify(&all, &Qualifier { name: stage.name.as_str().into(), number: None });
        builder.stage = Some(stage.clone().into());
        builder.batch_size = batch_size;
        builder
    }

    /// A chain of loops: `batch` around `inside`, outermost first.
    fn of_loops(model: Option<Arc<ModelInfo>>, operations: usize, inside: Vec<LoopNode>) -> Self {
        let room = 1 + inside.len() + operations.min(MAX_LOOPS);
        let mut builder = NestBuilder {
            tree: LoopTree::with_room(2 * room),
            indices: IndexTable::with_room(2 * room),
            names: NameTable::with_room(2 * room),
            constraints: Constraints::with_room(room),
            positions: TreePositions::new(),
            forest: ForestAnnotations::default(),
            remarks: Remarks::default(),
            deepest: model.as_ref().map(|model| model.max_depth()),
            model,
            stage: None,
            batch_size: None,
        };
        let batch = LoopNode::root("batch", Axis::Row, Sym::Property(Property::Rows));
        let mut around = None;
        for node in std::iter::once(batch).chain(inside) {
            let root = builder.add(node);
            builder.constraints.add(smallvec![root], builder.node(root).stop.clone());
            match around {
                None => builder.tree.set_root(root),
                Some(outer) => builder.tree.set_inside(outer, LoopBody::Seq(smallvec![root])),
            }
            around = Some(root);
        }
        builder
    }

    /// Applies a modifier: first its checks on all loops, then its rewrites.
    ///
    /// # Errors
    /// Whatever the rules of the modifier forbid. The loops have not changed then, unless the nest has become
    /// too large.
    pub(crate) fn modify<M: Modifier>(&mut self, step: DirectiveIndex, modifier: &M) -> Result<(), Illegal> {
        for rewrite in modifier.plan(self, step)? {
            modifier.rewrite(self, step, rewrite)?;
        }
        Ok(())
    }

    /// Annotates a live loop.
    ///
    /// # Errors
    /// When the loop already has the annotation or one that contradicts it, or a number is out of range.
    pub fn annotate(
        &mut self,
        step: DirectiveIndex,
        id: LoopId,
        annotation: Annotation,
    ) -> Result<(), Illegal> {
        self.indices.annotate(step, id, annotation)
    }

    /// Removes every annotation of an operation.
    pub fn forget(&mut self, step: DirectiveIndex) {
        self.indices.forget(step);
        self.forest.forget(step);
    }

    /// The loops of the nest by parent and body.
    pub fn tree(&self) -> &LoopTree {
        &self.tree
    }

    /// All index variables, in the nest or consumed.
    pub fn indices(&self) -> &IndexTable {
        &self.indices
    }

    /// The index variable with this id, which must exist.
    pub fn node(&self, id: LoopId) -> &LoopNode {
        self.indices.node(id)
    }

    /// Names of the index variables.
    pub fn names(&self) -> IndexNames<'_> {
        IndexNames::new(&self.names, &self.indices)
    }

    /// The written name of one copy: bare if that is enough, else with its innermost qualifiers. Loops of a
    /// stage of columns have the stage's name before theirs.
    pub fn name(&self, id: LoopId) -> String {
        self.with_stage(&self.names().select_of(id).to_string())
    }

    /// Whether the nest is that of a stage of columns.
    pub(crate) fn is_of_stage(&self) -> bool {
        self.stage.is_some()
    }

    /// A loop's name with that of the stage before it, if the nest is that of a stage of columns.
    pub(crate) fn with_stage(&self, name: &str) -> String {
        self.stage().map_or_else(|| name.to_owned(), |stage| format!("{stage}.{name}"))
    }

    /// Largest number of iterations of a loop; `None` if it is unknown. The batch size limits the iterations
    /// of a loop over all rows of a call.
    pub(crate) fn most_trips(&self, id: LoopId) -> Option<i64> {
        let node = self.node(id);
        let of_rows = || {
            let most = i64::try_from(self.batch_size?).ok()?;
            let stop = node.stop.substitute(&|property| (property == Property::Rows).then_some(most));
            let rows = stop.ok()?.as_int()?.checked_sub(node.start.as_int()?)?.max(0);
            let step = node.step.as_int()?.max(1);
            Some(rows / step + i64::from(rows % step != 0))
        };
        node.trips().or_else(of_rows)
    }

    /// The name of the stage of columns whose nest this is; `None` for the nest of trees.
    pub(crate) fn stage(&self) -> Option<&str> {
        self.stage.as_ref().map(|stage| stage.name.as_str())
    }

    /// Whether the nest is that of a stage of columns whose sums are in single precision.
    pub(crate) fn sums_singles(&self) -> bool {
        self.stage.as_ref().is_some_and(|stage| stage.units > 0 && !stage.in_doubles)
    }

    /// Live loops of `select`, at least one.
    ///
    /// # Errors
    /// When there is no such index, when it has been consumed, or when the qualifiers mean no copy.
    pub fn select(
        &self,
        step: DirectiveIndex,
        argument: usize,
        select: &LoopSelector,
    ) -> Result<Vec<LoopId>, Illegal> {
        let own = self.with_own_name(select);
        self.names().select(step, argument, own.as_ref().unwrap_or(select)).map(Loops::into_vec)
    }

    /// A path that names the stage of columns by its step, with the stage's own name in its place. `None` for
    /// other paths.
    fn with_own_name(&self, select: &LoopSelector) -> Option<LoopSelector> {
        let stage = self.stage.as_ref()?;
        let is_step = |qualifier: &Qualifier| stage.steps.iter().any(|step| **step == *qualifier.name);
        let at = select.scope.iter().position(is_step)?;
        let mut select = select.clone();
        select.scope[at].name = stage.name.as_str().into();
        Some(select)
    }

    /// Constraints on sums of index variables.
    pub(crate) fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// Order of the trees.
    pub fn tree_order(&self) -> TreeOrder {
        self.positions.order()
    }

    /// Annotations of the whole forest.
    pub fn forest(&self) -> &ForestAnnotations {
        &self.forest
    }

    /// Annotations of the whole forest, to be set.
    pub fn forest_mut(&mut self) -> &mut ForestAnnotations {
        &mut self.forest
    }

    /// The model, if there is one.
    pub fn model(&self) -> Option<&Arc<ModelInfo>> {
        self.model.as_ref()
    }

    /// Depth of the deepest tree, if there is a model.
    pub fn deepest(&self) -> Option<u32> {
        self.deepest
    }

    /// Removes and returns the remarks on the operations since the last call.
    pub fn take_remarks(&mut self) -> Vec<Remark> {
        self.remarks.take()
    }

    /// Marks loops that a refused operation named.
    pub(crate) fn taint(&mut self, ids: &[LoopId]) {
        for id in ids {
            self.indices.node_mut(*id).tainted = true;
        }
    }

    /// The table of names, to declare refused ones.
    pub(crate) fn names_mut(&mut self) -> &mut NameTable {
        &mut self.names
    }

    /// Adds a live index variable and registers its name. The caller links its loop into the nest.
    fn add(&mut self, node: LoopNode) -> LoopId {
        let id = self.tree.add();
        self.names.enter(&node, id);
        self.indices.add(node);
        id
    }

    /// Marks an index variable as replaced by others.
    fn consume(&mut self, id: LoopId, by: DirectiveIndex, successors: Loops) {
        let node = self.indices.node_mut(id);
        node.consumed_by = Some(by);
        node.successors = successors;
        self.tree.remove(id);
    }

    /// Moves these loops into the copy that `qualifier` names.
    fn qualify(&mut self, loops: &[LoopId], qualifier: &Qualifier) {
        self.names.qualify(&mut self.indices, loops, qualifier);
    }

    /// Scope of the loops that replace `v`.
    fn scope_of_successors(&mut self, v: LoopId) -> ScopeId {
        self.names.scope_of_successors(self.indices.node(v))
    }

    /// Records that an operation on a tree loop depends on tree positions.
    fn fix_positions(&mut self, step: DirectiveIndex, v: LoopId) {
        if self.node(v).axis == Axis::Tree {
            self.positions.fix(step);
        }
    }
}
