//! HIR: the forest as trees, with the checked loop nest beside it.
//!
//! HIR rewrites trees: it sorts them in the order of the nest, and pads them for straight-line walks. Loops
//! are not yet code. [`LeafLoop`]s hold the requirements of leaf loops on their walks.

mod leaf_loop;
mod linear;
mod pad;
mod print;

pub use leaf_loop::{LeafLoop, number_of};

use crate::budget::Budget;
use crate::columns::outputs::OutputRuns;
use crate::columns::runs::ColumnRuns;
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::forests::KernelForest;
use crate::lir::EncodedTables;
use crate::quantize::BinMap;
use crate::tiles::Tiling;
use sched_forest::{Forest, LinearLeaf, Predicate, Profile, Tree};
use sched_nest::footprint::padded_depths;
use sched_nest::{Layout, LoopId, Nest, TreeOrder};
use sched_pipeline::SetTests;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Forest and nest of a kernel, with data that walks need.
#[derive(Clone, Debug)]
pub struct Hir {
    /// The forest. Its trees are in the order of the nest. They have padding for straight-line walks, except
    /// those that only layouts of complete trees store.
    pub forest: Arc<Forest>,
    /// Depths of the deepest and the shallowest leaf of each tree after padding, in steps: edges
    /// between nodes, or between tiles.
    pub depths: Vec<(u32, u32)>,
    /// Node tiles of the trees (`tileTrees`). Padding then consists of tiles instead of nodes.
    pub tiles: Option<Arc<Tiling>>,
    /// The checked loop nest.
    pub nest: Nest,
    /// Requirements of each leaf loop on its walks.
    pub leaf_loops: BTreeMap<LoopId, LeafLoop>,
    /// Bins of rows and thresholds, if some layout is quantized.
    pub bins: Option<Arc<BinMap>>,
    /// The columns that trees test, if these are not the features of rows.
    pub columns: Option<Arc<ColumnRuns>>,
    /// The expressions that outputs evaluate over margins.
    pub outputs: OutputRuns,
    /// Encoded tables of the forest, if compilations can share them because its trees are neither sorted nor
    /// padded.
    pub encodings: Option<Arc<EncodedTables>>,
}

impl Hir {
    /// Whether linear leaves read the rows that walks read, which may be copies, instead of the call's rows.
    /// True if they add computed columns, or if all trees are single leaves.
    pub fn linear_leaves_read_walked_rows(&self) -> bool {
        linear::linear_leaves_read_walked_rows(&self.forest, self.columns.as_deref())
    }

    /// Whether all trees are single leaves, and some leaves are linear.
    pub fn is_linear_model(&self) -> bool {
        linear::is_linear_model(&self.forest)
    }

    /// Terms of a tree that is a single linear leaf: features or columns, each with its coefficient.
    pub fn linear_terms(&self, tree: usize) -> &[(u32, f64)] {
        let leaf = self.forest.linear.get(tree).and_then(|leaves| leaves.first());
        leaf.map_or(&[], |LinearLeaf { terms, .. }| terms)
    }

    /// Features or columns that each of the trees adds, in order, if all trees are single linear leaves.
    /// `None` if trees add different ones.
    pub fn shared_term_features(&self) -> Option<Vec<u32>> {
        let of_tree = |tree| self.linear_terms(tree).iter().map(|(feature, _)| *feature);
        let is_shared = (1..self.forest.trees.len()).all(|tree| of_tree(tree).eq(of_tree(0)));
        is_shared.then(|| of_tree(0).collect())
    }

    /// Number of features of a row of the call. `forest.num_features` is the number of columns, if these are
    /// computed.
    pub fn row_features(&self) -> usize {
        self.columns.as_ref().map_or(self.forest.num_features, |columns| columns.features)
    }
}

/// The way in which category sets are tested under some nests: by class if all walks use a layout that
/// supports it, else by columns.
pub fn choose_set_tests<'n>(forest: &Forest, nests: impl IntoIterator<Item = &'n Nest>) -> SetTests {
    let mut nodes = forest.trees.iter().flat_map(|tree| &tree.inner);
    let mut terms = forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms);
    // Layouts that test sets by class read bins, so linear leaves could not add computed columns.
    let adds_columns = terms.any(|(feature, _)| *feature as usize >= forest.num_features);
    if adds_columns || !nodes.any(|node| matches!(node.predicate, Predicate::Member { .. })) {
        return SetTests::OfColumns;
    }
    let deepest: Vec<u32> = forest.trees.iter().map(Tree::depth).collect();
    let holds_sets = |nest: &Nest| {
        let layout = nest.representation.unwrap_or(Layout::Array);
        let leaf_loops = leaf_loop::collect(nest, &deepest, layout).unwrap_or_default();
        nest.tiles().is_none()
            && nest.loops.iter().all(|this| this.annotations.gpu_dimension.is_none())
            && leaf_loops.values().all(|leaf_loop| leaf_loop.layout.holds_sets())
    };
    if nests.into_iter().all(holds_sets) { SetTests::OfClasses } else { SetTests::OfColumns }
}

/// Combines a forest and a checked nest: sorts the trees, finds the leaf loops, pads the trees for
/// them.
///
/// # Errors
///
/// If the nest is still symbolic, if padding would exceed the budget, or if tiles by probability have
/// no profile.
pub fn build(
    kernel_forest: &KernelForest,
    profile: Option<&Profile>,
    nest: Nest,
    budget: &Budget,
) -> Result<Hir, CompileError> {
    let mut forest = Arc::clone(kernel_forest.forest());
    let columns = kernel_forest.columns()?.cloned();
    if nest.tree_order != TreeOrder::Model {
        sort_trees(Arc::make_mut(&mut forest), nest.tree_order);
    }
    if let Some(request) = nest.tiles() {
        let tiling = Tiling::new(&forest, request, profile)?;
        let outputs = kernel_forest.outputs().clone();
        return Ok(Hir { columns, outputs, ..tiled(forest, nest, tiling, budget)? });
    }
    let is_shared = |forest: &Arc<Forest>| Arc::ptr_eq(forest, kernel_forest.forest());
    let mut depths: Vec<(u32, u32)> = match is_shared(&forest) {
        true => kernel_forest.depths().to_vec(),
        false => forest.trees.iter().map(Tree::depths).collect(),
    };
    let deepest: Vec<u32> = depths.iter().map(|(deepest, _)| *deepest).collect();
    let layout = nest.representation.unwrap_or_else(|| fitting_layout(&forest.trees, &deepest));
    let mut leaf_loops = leaf_loop::collect(&nest, &deepest, layout)?;
    if linear::linear_leaves_read_walked_rows(&forest, columns.as_deref()) {
        leaf_loops.values_mut().for_each(linear::replace_bin_layout);
    }
    let quantized = leaf_loops.values().any(|leaf_loop| leaf_loop.layout.compares_bins());
    let bins = if quantized { Some(Arc::clone(kernel_forest.bins()?)) } else { None };
    pad::pad_trees(&mut forest, &mut depths, &leaf_loops, budget)?;
    let encodings = is_shared(&forest).then(|| Arc::clone(kernel_forest.encodings()));
    let outputs = kernel_forest.outputs().clone();
    Ok(Hir { forest, depths, tiles: None, nest, leaf_loops, bins, columns, outputs, encodings })
}

/// Builds the HIR of walks whose steps pass node tiles.
fn tiled(forest: Arc<Forest>, nest: Nest, mut tiling: Tiling, budget: &Budget) -> Result<Hir, CompileError> {
    let deepest: Vec<u32> = tiling.depths().into_iter().map(|(deepest, _)| deepest).collect();
    let leaf_loops = leaf_loop::collect(&nest, &deepest, nest.representation.unwrap_or(Layout::Sparse))?;
    tiling.pad(&padded_depths(&leaf_loops, deepest.len()), budget)?;
    let (depths, tiles) = (tiling.depths(), Some(Arc::new(tiling)));
    let (bins, columns, outputs, encodings) = (None, None, OutputRuns::default(), None);
    Ok(Hir { forest, depths, tiles, nest, leaf_loops, bins, columns, outputs, encodings })
}

/// Sorts trees, each together with its linear leaves.
fn sort_trees(forest: &mut Forest, order: TreeOrder) {
    let linear = std::mem::take(&mut forest.linear).into_iter().chain(std::iter::repeat(Vec::new()));
    let mut trees: Vec<(Tree, Vec<LinearLeaf>)> =
        std::mem::take(&mut forest.trees).into_iter().zip(linear).collect();
    match order {
        TreeOrder::Model => {}
        TreeOrder::ByDepth => trees.sort_by_cached_key(|(tree, _)| tree.depth()),
    }
    if let [first, .., last] = trees.as_mut_slice()
        && order == TreeOrder::ByDepth
        && seeded(Fault::SortRepeatsTree)
    {
        *last = first.clone();
    }
    (forest.trees, forest.linear) = trees.into_iter().unzip();
}

/// Chooses a layout if the schedule names none: complete trees, unless they have more than four times the
/// existing nodes.
fn fitting_layout(trees: &[Tree], depths: &[u32]) -> Layout {
    let complete: f64 = depths.iter().map(|d| 2f64.powi(i32::try_from(*d).unwrap_or(i32::MAX) + 1)).sum();
    let existing: f64 = trees.iter().map(|tree| (tree.inner.len() + tree.leaves.len()) as f64).sum();
    if complete <= 4.0 * existing { Layout::Array } else { Layout::Sparse }
}
