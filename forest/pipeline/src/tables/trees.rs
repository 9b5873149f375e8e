//! Trees in place of several sums: a tree for each feature, whose leaf vectors hold an entry for each sum.
//!
//! In a model with several classes, the sums of all classes read the same encoded columns. One walk finds the
//! piece of a feature's value, and its leaf has the entries of all sums. Each margin adds the same numbers
//! that tables would add, in the same order.

use super::entries::Entries;
use super::group::{FeatureTerms, TermGroup, operations};
use crate::pieces::domain::FeatureDomain;
use sched_columns::{ColumnId, Columns};
use sched_forest::{
    Comparison, Float, Forest, Inner, Leaf, ModelError, NodeRef, Predicate, Tree, TreeTarget,
};
use std::collections::{HashMap, HashSet};

/// Work of a step of a walk. The unit is half the work of a product in one of several sums. On Zen 4, in
/// calls of many rows, a step takes 0.22 ns and a product 0.09 ns.
const STEP_WORK: usize = 5;

/// Work of a leaf's entry for one sum, in the same unit.
const LEAF_ENTRY_WORK: usize = 6;

/// Work of a product in one of several sums, in the same unit.
const PRODUCT_WORK: usize = 2;

/// Work of a look-up, in the same unit: 0.6 ns in code that looks up entries of 20 features for 8 sums.
const LOOK_UP_WORK: usize = 10;

/// A table with entries for several sums, for each piece of one feature's values.
pub(super) struct VectorTable {
    /// The feature; `None` if the entries are the same in every row.
    feature: Option<u32>,
    domain: FeatureDomain,
    /// The last index of each piece, ascending, and an entry for each sum.
    pieces: Vec<(i64, Vec<f64>)>,
    /// The entries of a missing value.
    missing: Vec<f64>,
}

/// The tables of several sums that add entries of the same features in the same order. `groups` has the terms
/// of each sum. `None` if a term is in no group, a feature has categories, or products take less work than
/// trees.
pub(super) fn vector_tables(
    forest: &Forest,
    groups: &[Vec<TermGroup>],
    rows: Float,
    columns: &Columns,
) -> Option<Vec<VectorTable>> {
    if !has_sums_of_all_margins(forest, rows) {
        return None;
    }
    let first = groups.first().filter(|first| groups.iter().all(|other| other.len() == first.len()))?;
    let mut work = 0;
    let mut tables = Vec::with_capacity(first.len());
    for number in 0..first.len() {
        let of_sums: Vec<&TermGroup> = groups.iter().map(|of_sum| &of_sum[number]).collect();
        let table = VectorTable::of(&of_sums, rows)?;
        work += table.depth() * STEP_WORK + groups.len() * LEAF_ENTRY_WORK;
        tables.push(table);
    }
    (work < work_of_products(groups, columns)).then_some(tables)
}

/// Work of the products of several sums, and of the columns that only one of them reads.
fn work_of_products(groups: &[Vec<TermGroup>], columns: &Columns) -> usize {
    let (mut terms, mut readers) = (0, HashMap::new());
    for of_sum in groups {
        let read: Vec<ColumnId> =
            of_sum.iter().filter_map(TermGroup::steps).flat_map(FeatureTerms::columns).collect();
        terms += read.len();
        read.into_iter().collect::<HashSet<_>>().into_iter().for_each(|column| {
            *readers.entry(column).or_insert(0) += 1;
        });
    }
    let own: Vec<ColumnId> =
        readers.into_iter().filter_map(|(column, sums)| (sums == 1).then_some(column)).collect();
    terms * PRODUCT_WORK + operations(columns, &own, LOOK_UP_WORK)
}

/// Whether the forest has exactly one sum for each margin, in order, and rows and thresholds have the type
/// `rows`.
fn has_sums_of_all_margins(forest: &Forest, rows: Float) -> bool {
    let is_sum =
        |(margin, tree): (u32, &Tree)| tree.inner.is_empty() && tree.target == TreeTarget::One(margin);
    forest.num_margins > 1
        && forest.trees.len() == forest.num_margins
        && (0..).zip(&forest.trees).all(is_sum)
        && forest.linear.iter().all(|leaves| leaves.len() == 1)
        && forest.base.iter().all(|base| *base == 0.0)
        && forest.comparison == Comparison::LessOrEqual
        && (forest.types.input, forest.types.threshold) == (rows, rows)
}

/// The forest with a tree for each table. The inputs that trees test are added to `tested`.
///
/// # Errors
/// A [`ModelError`] if the forest is not valid.
pub(super) fn forest_of(
    forest: Forest,
    tested: &mut Vec<ColumnId>,
    (tables, rows): (Vec<VectorTable>, Float),
    columns: &mut Columns,
) -> Result<Forest, ModelError> {
    let mut parts = forest.into_parts();
    for (base, leaves) in parts.base.iter_mut().zip(&parts.linear) {
        *base += leaves.iter().map(|leaf| leaf.constant).sum::<f64>();
    }
    parts.linear.clear();
    let tree = |(source, table): (u32, VectorTable)| {
        let feature = table.feature.map_or(0, |feature| {
            let x = columns.input(feature, rows);
            let place = tested.iter().position(|column| *column == x).unwrap_or(tested.len());
            if place == tested.len() {
                tested.push(x);
            }
            place
        });
        table.tree(feature as u32, source)
    };
    parts.trees = (0..).zip(tables).map(tree).collect();
    parts.iteration_starts = vec![0, parts.trees.len()];
    parts.num_features = parts.num_features.max(tested.len());
    Forest::new(parts)
}

impl VectorTable {
    /// The table for one group of each sum: products over one feature, or constants.
    fn of(sums: &[&TermGroup], rows: Float) -> Option<VectorTable> {
        let constants: Option<Vec<f64>> = sums.iter().map(|group| group.constant()).collect();
        match constants {
            Some(entries) => VectorTable::of_constants(entries),
            None => VectorTable::of_feature(
                &sums.iter().map(|group| group.steps()).collect::<Option<Vec<_>>>()?,
                rows,
            ),
        }
    }

    fn of_constants(missing: Vec<f64>) -> Option<VectorTable> {
        let (domain, pieces) = (FeatureDomain::Whole, vec![(0, missing.clone())]);
        let are_finite = missing.iter().all(|value| value.is_finite());
        are_finite.then_some(VectorTable { feature: None, domain, pieces, missing })
    }

    fn of_feature(sums: &[&FeatureTerms], rows: Float) -> Option<VectorTable> {
        let (first, others) = sums.split_first()?;
        if others.iter().any(|other| other.feature != first.feature) {
            return None;
        }
        let entries: Vec<Entries> =
            sums.iter().map(|group| Some(group.entries(rows)?.seeded())).collect::<Option<_>>()?;
        let (feature, domain) = (entries[0].feature, entries[0].domain);
        if matches!(sums[0].domain(), FeatureDomain::Codes { .. }) {
            return None;
        }
        let mut ends: Vec<i64> = entries.iter().flat_map(|of| &of.pieces).map(|(last, _)| *last).collect();
        ends.sort_unstable();
        ends.dedup();
        let vector = |last: i64| entries.iter().map(|of| of.at(last)).collect::<Option<Vec<f64>>>();
        let pieces: Vec<(i64, Vec<f64>)> =
            ends.into_iter().map(|last| Some((last, vector(last)?))).collect::<Option<_>>()?;
        let missing: Vec<f64> = entries.iter().map(|of| of.missing).collect();
        let all = pieces.iter().map(|(_, values)| values).chain([&missing]);
        let are_finite = all.flatten().all(|value| value.is_finite());
        are_finite.then_some(VectorTable { feature: Some(feature), domain, pieces, missing })
    }

    /// The depth of the tree.
    fn depth(&self) -> usize {
        self.pieces.len().next_power_of_two().ilog2() as usize + usize::from(self.missing_piece().is_none())
    }

    /// The first piece whose entries equal those of a missing value.
    fn missing_piece(&self) -> Option<usize> {
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let missing = bits(&self.missing);
        self.pieces.iter().position(|(_, values)| bits(values) == missing)
    }

    /// The tree that finds the piece of a feature's value by bisection. Missing values go to a piece with the
    /// same entries. If there is none, the root sends them to a separate leaf, and all other values pass the
    /// root's test.
    fn tree(self, feature: u32, source: u32) -> Tree {
        let missing = self.missing_piece();
        let mut nodes = PieceNodes { table: &self, feature, missing, inner: Vec::new() };
        let count = self.pieces.len() as u32;
        let root = match missing {
            Some(_) => nodes.of(0, self.pieces.len()),
            None => {
                let root = nodes.test(f64::INFINITY, false);
                nodes.inner[root].left = nodes.of(0, self.pieces.len());
                nodes.inner[root].right = NodeRef::Leaf(count);
                NodeRef::Inner(root as u32)
            }
        };
        let inner = nodes.inner;
        let own = missing.is_none().then_some(self.missing);
        let vectors = self.pieces.into_iter().map(|(_, values)| values).chain(own);
        let leaves = (0..).zip(vectors).map(|(source, values)| Leaf { source, values: values.into() });
        Tree { root, inner, leaves: leaves.collect(), target: TreeTarget::All, source }
    }
}

/// The inner nodes of a tree over the pieces of a feature.
struct PieceNodes<'a> {
    table: &'a VectorTable,
    feature: u32,
    /// The piece to which missing values go.
    missing: Option<usize>,
    inner: Vec<Inner>,
}

impl PieceNodes<'_> {
    /// The subtree for the pieces from `first` up to but without `end`.
    fn of(&mut self, first: usize, end: usize) -> NodeRef {
        if first + 1 == end {
            return NodeRef::Leaf(first as u32);
        }
        let middle = first + (end - first).div_ceil(2);
        let threshold = self.table.domain.value(self.table.pieces[middle - 1].0) + 0.0;
        let node = self.test(threshold, self.missing.is_some_and(|piece| piece < middle));
        self.inner[node].left = self.of(first, middle);
        self.inner[node].right = self.of(middle, end);
        NodeRef::Inner(node as u32)
    }

    /// Adds a test whose children are still to be set, and returns its index.
    fn test(&mut self, threshold: f64, missing_left: bool) -> usize {
        let predicate = Predicate::Numeric { threshold };
        let (left, right) = (NodeRef::Leaf(0), NodeRef::Leaf(0));
        self.inner.push(Inner { feature: self.feature, predicate, missing_left, left, right });
        self.inner.len() - 1
    }
}
