//! The storages of trees: those that suit the leaf loops, and fallbacks.
//!
//! Leaf loops that need the same storage share it. If it cannot hold their trees, these loops get a storage
//! that holds any tree, and the printed plan says so.

use super::subset::subset_of_copies;
use super::{CopyPlan, StoredTrees};
use crate::budget::Budget;
use crate::codes;
use crate::error::CompileError;
use crate::fault;
use crate::hir::Hir;
use crate::mir::{CacheId, WalkId, WalkedRows, Walks};
use crate::repr::{LayoutRequest, NodeFormat, Storage, TransposedBins, Walking};
use crate::rows::features::FeatureSubset;
use sched_forest::Predicate;
use sched_nest::{self as nest, Axis};
use std::collections::BTreeMap;

/// The storages that suit the leaf loops of a nest, with the trees that the loops walk.
pub struct StorageDemand<'a> {
    hir: &'a Hir,
    leaf_indices: bool,
    /// For each storage, whether it has each tree.
    trees: BTreeMap<Storage, Vec<bool>>,
    /// The storage that suits each leaf loop.
    of_walks: BTreeMap<WalkId, Storage>,
    /// Whether rows are transposed before they are quantized.
    transposes_bins: bool,
    /// Whether some shared copy holds only the features that walks read.
    shares_tested: bool,
    /// Whether some leaf loop adds leaf vectors margin by margin.
    adds_by_margin: bool,
}

/// The storages of a nest.
pub struct NestStorages {
    /// The storages with their trees.
    pub storages: BTreeMap<Storage, StoredTrees>,
    /// The storage of each leaf loop.
    pub of_walks: BTreeMap<WalkId, Storage>,
    /// The features of copies that do not hold all features.
    pub subset: Option<FeatureSubset>,
}

/// The format that suits a leaf loop, regardless of its trees. With a shared copy of rows, each thread of a
/// block walks another row, so formats for loops over rows suit.
fn suitable_format(walks: &Walks, shared: bool) -> NodeFormat {
    let over = if shared { Axis::Row } else { walks.over };
    let walking =
        if walks.lanes > 1 { Walking::Vectors(walks.over.into()) } else { Walking::Single(over.into()) };
    NodeFormat::for_access(walks.layout, walking)
}

impl<'a> StorageDemand<'a> {
    /// Finds the storage that suits each leaf loop.
    ///
    /// # Errors
    ///
    /// When a layout does not support a test of categories, or a leaf loop cannot walk node tiles.
    pub fn of(
        hir: &'a Hir,
        walks: &[&Walks],
        copies: &BTreeMap<CacheId, CopyPlan>,
        leaf_indices: bool,
    ) -> Result<StorageDemand<'a>, CompileError> {
        check_set_tests(hir)?;
        let (mut trees, mut of_walks, mut transposes_bins) = (BTreeMap::new(), BTreeMap::new(), false);
        for walks in walks {
            let copy = match walks.rows {
                WalkedRows::Cached(id) => copies.get(&id),
                WalkedRows::Input => None,
            };
            let subset = copy.is_some_and(CopyPlan::holds_subset);
            let shared = copy.is_some_and(|copy| copy.is_shared);
            let format = suitable_format(walks, shared);
            let format = if shared { format.for_shared_rows() } else { format };
            let format = match hir.tiles {
                Some(_) => format.for_tiles().ok_or_else(tiles_do_not_fit)?,
                None => format,
            };
            // Nodes that compare bins name columns of bins, not of the copy.
            let lanes = if format.info().depends_on_lanes { walks.lanes } else { 1 };
            let storage =
                Storage { format, tree_lanes: lanes, names_columns: subset && !walks.layout.compares_bins() };
            let used: &mut Vec<bool> =
                trees.entry(storage).or_insert_with(|| vec![false; hir.forest.trees.len()]);
            used[walks.trees.clone()].fill(true);
            of_walks.insert(walks.id, storage);
            let vectors = walks.lanes > 1 && walks.over == Axis::Row;
            transposes_bins |= match format.info().transposed_bins {
                TransposedBins::Never => false,
                TransposedBins::RowVectors => vectors,
                TransposedBins::Always => true,
            };
        }
        let adds_by_margin = hir.forest.has_leaf_vectors() && copies.values().any(|copy| copy.copies_sums);
        let shares_tested = copies.values().any(|copy| copy.holds_tested);
        Ok(StorageDemand {
            hir,
            leaf_indices,
            trees,
            of_walks,
            transposes_bins,
            shares_tested,
            adds_by_margin,
        })
    }

    /// The features of copies that do not hold all features: those that the trees read which read these
    /// copies, or all trees if rows are transposed before they are quantized.
    fn subset(&self) -> Option<FeatureSubset> {
        let mut all = vec![self.transposes_bins; self.hir.forest.trees.len()];
        let mut some = self.transposes_bins || self.shares_tested;
        for (_, used) in self.trees.iter().filter(|(storage, _)| storage.names_columns) {
            all.iter_mut().zip(used).for_each(|(all, this)| *all |= *this);
            some = true;
        }
        some.then(|| subset_of_copies(self.hir, &all, self.shares_tested))
    }

    fn layout_request<'r>(
        &'r self,
        storage: Storage,
        used: &'r [bool],
        subset: Option<&'r FeatureSubset>,
        budget: &'r Budget,
    ) -> LayoutRequest<'r> {
        LayoutRequest {
            forest: &self.hir.forest,
            depths: &self.hir.depths,
            tiles: self.hir.tiles.as_ref(),
            used,
            tree_lanes: storage.tree_lanes,
            returns_leaf_indices: self.leaf_indices,
            adds_by_margin: self.adds_by_margin,
            subset: subset.filter(|_| storage.names_columns),
            bins: self.hir.bins.as_ref(),
            fetch: &budget.fetch,
        }
    }

    /// Replaces storages that cannot hold their trees, and lays all storages out. Other tables take
    /// `used_table_bytes` bytes of the budget.
    ///
    /// # Errors
    ///
    /// When a layout cannot hold the forest, or all tables together exceed the budget.
    pub fn choose(self, budget: &Budget, used_table_bytes: u64) -> Result<NestStorages, CompileError> {
        let subset = self.subset();
        let mut fitting: BTreeMap<Storage, (Vec<bool>, Option<NodeFormat>)> = BTreeMap::new();
        let mut of_walks = self.of_walks.clone();
        for (wanted, used) in &self.trees {
            let format =
                wanted.format.or_fallback(&self.layout_request(*wanted, used, subset.as_ref(), budget));
            let storage = Storage { format, ..*wanted };
            let rejected_format = (format != wanted.format).then_some(wanted.format);
            let (all, replaced) =
                fitting.entry(storage).or_insert_with(|| (vec![false; used.len()], rejected_format));
            *replaced = replaced.or(rejected_format);
            all.iter_mut().zip(used).for_each(|(all, this)| *all |= *this);
            of_walks.values_mut().filter(|of| *of == wanted).for_each(|of| *of = storage);
        }
        let bins = self.hir.bins.as_ref().map_or(0, |bins| bins.footprint());
        let mut footprint = used_table_bytes.saturating_add(bins);
        let mut storages = BTreeMap::new();
        for (storage, (has_tree, rejected_format)) in fitting {
            let request = self.layout_request(storage, &has_tree, subset.as_ref(), budget);
            let layout = storage.format.layout(&request)?;
            let key = key(storage, &request);
            let bytes = layout.schema().footprint();
            footprint = footprint.saturating_add(bytes);
            if footprint > budget.tables {
                return Err(over_budget(storage.format.requested, footprint, budget));
            }
            storages.insert(storage, StoredTrees { has_tree, rejected_format, layout, bytes, key });
        }
        Ok(NestStorages { storages, of_walks, subset })
    }
}

/// The key of a storage's tables: the text of everything that they depend on, besides the forest.
fn key(storage: Storage, request: &LayoutRequest<'_>) -> String {
    let LayoutRequest {
        forest: _,
        depths,
        tiles,
        used,
        tree_lanes,
        returns_leaf_indices,
        adds_by_margin,
        subset,
        bins,
        fetch,
    } = *request;
    let flags = (tree_lanes, returns_leaf_indices, adds_by_margin, tiles.is_some(), bins.is_some());
    format!("{storage:?} {depths:?} {used:?} {flags:?} {subset:?} {fetch:?} {:?}", fault::current())
}

fn check_set_tests(hir: &Hir) -> Result<(), CompileError> {
    let mut nodes = hir.forest.trees.iter().flat_map(|tree| &tree.inner);
    let holds_sets = hir.leaf_loops.values().all(|leaf_loop| leaf_loop.layout.holds_sets());
    if nodes.all(|node| match node.predicate {
        Predicate::Numeric { .. } => true,
        Predicate::Member { .. } => holds_sets,
        _ => false,
    }) {
        return Ok(());
    }
    Err(CompileError::ill_formed("a node tests a set of categories in a layout without sets"))
}

fn tiles_do_not_fit() -> CompileError {
    CompileError::ill_formed("tiles of nodes in a layout or in vectors that cannot hold them")
}

fn over_budget(layout: nest::Layout, footprint: u64, budget: &Budget) -> CompileError {
    CompileError::new(
        codes::LAYOUT_BUDGET,
        format!(
            "with representation({}) the model needs {} MiB, above the budget of {} MiB",
            layout.word(),
            footprint >> 20,
            budget.tables >> 20
        ),
        layout.smaller_layouts(),
    )
}
