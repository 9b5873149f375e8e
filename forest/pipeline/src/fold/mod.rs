//! The pass *fold*: tests of columns that depend on one feature become tests of the feature.
//!
//! If the column `g` rises in `x`, the test `g(x) <= t` equals `x <= T` for the largest `T` with `g(T) <= t`.
//! A bisection over the values of `x` finds `T` with the column's own operations, so every row reaches the
//! same leaf despite rounding in `g`. For a column that falls, the sides are exchanged. A column that does
//! both is divided into [pieces](crate::pieces). Missing values of `x` go where the value of `g` for a
//! missing `x` goes. Tests of columns of categories become tests of sets.

mod decide;
mod rebuild;

use crate::pieces::chain::{FeatureChain, NotOneFeature, only_feature};
use crate::pieces::domain::FeatureDomain;
use crate::pipeline::{Pipeline, PipelineStage};
use decide::{FoldedColumn, Sides, TestReplacement};
use rebuild::{NewTest, RebuildError, SetList, TreeRebuilder};
use sched_columns::{ColumnId, Columns, Expr};
use sched_forest::{CategorySet, Comparison, Float, Forest, ForestParts, Inner, ModelError, Predicate};
use std::collections::HashMap;
use std::rc::Rc;

/// A pipeline after the pass, with the fates of the columns that stages test.
#[derive(Clone, Debug, PartialEq)]
pub struct Folding {
    /// The pipeline with tests of inputs in place of tests of columns.
    pub pipeline: Pipeline,
    /// For each stage, the fate of each column that it can test, in the order of its features.
    pub fates: Vec<Vec<ColumnFate>>,
}

/// The fate of a column that a stage can test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnFate {
    /// No node tests it.
    Unread,
    /// Its tests became tests of a feature's values, so the column is not computed.
    Folded,
    /// Its tests became tests of a feature's categories, so the column is not computed.
    Categories,
    /// Sums add entries of a table over the feature's values in place of its products, so the column is not
    /// computed.
    Table,
    /// Sums add the values of leaves in place of its products, so the column is not computed.
    Leaf,
    /// The column has to be computed.
    Computed(ComputedReason),
}

/// The reason why a column has to be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputedReason {
    /// The column depends on several features.
    SeveralFeatures,
    /// The column depends on this column, for which no pieces with a known course were found.
    NoOrder(ColumnId),
    /// Its tests divide the feature's values into too many intervals.
    TooManyIntervals,
    /// A sum adds its values.
    IsAdded,
}

/// Key of a test: its column, the kind of its predicate, a number, and whether missing values go left. The
/// number is the bits of the threshold or value, or the index of the set.
type TestKey = (ColumnId, u8, u64, bool);

/// The sides of a node, and the simplest test that decides them.
type SidesTest = (Rc<Sides>, Rc<TestReplacement>);

/// Maximum factor by which copies of subtrees may multiply the inner nodes of a forest. A random forest of
/// depth 8 over one-hot encoded bins, ten for each feature, grows to 11.5 times its nodes.
const MOST_GROWTH: usize = 32;

/// Number of inner nodes by which any forest may grow in addition.
const SMALL_GROWTH: usize = 1 << 12;

/// Maximum number of inner nodes of a forest with copies, about 100 MB.
const MOST_NODES: usize = 1 << 21;

/// Replaces tests of columns by tests of inputs in all stages, where that is possible.
///
/// # Errors
/// A [`ModelError`] if a forest with the new tests is not valid.
pub fn fold(pipeline: Pipeline) -> Result<Folding, ModelError> {
    let rows = pipeline.row_type();
    let Pipeline { inputs, mut columns, stages } = pipeline;
    let inputs_as_columns: Vec<ColumnId> =
        (0..inputs.len() as u32).map(|feature| columns.input(feature, rows)).collect();
    let domains: Vec<FeatureDomain> = inputs.iter().map(|input| FeatureDomain::of(input, rows)).collect();
    let mut fates = Vec::new();
    let mut folded = Vec::new();
    for stage in stages {
        let PipelineStage::Forest { name, forest, tested } = stage;
        let mut search = TestSearch {
            columns: &columns,
            domains: &domains,
            forest: &forest,
            tested: &tested,
            kept: HashMap::new(),
            columns_of: HashMap::new(),
            tests: HashMap::new(),
        };
        search.find_tests(rows);
        let (new, computed) = search.folded_forest(rows)?;
        fates.push(search.fates());
        let tested = inputs_as_columns.iter().copied().chain(computed).collect();
        folded.push(PipelineStage::Forest { name, forest: Box::new(new), tested });
    }
    Ok(Folding { pipeline: Pipeline { inputs, columns, stages: folded }, fates })
}

/// The search for the tests of one forest.
struct TestSearch<'a> {
    columns: &'a Columns,
    domains: &'a [FeatureDomain],
    forest: &'a Forest,
    tested: &'a [ColumnId],
    /// Columns that have to be computed, and why.
    kept: HashMap<ColumnId, ComputedReason>,
    columns_of: HashMap<ColumnId, Option<FoldedColumn>>,
    tests: HashMap<TestKey, SidesTest>,
}

impl TestSearch<'_> {
    /// Finds the tests of all nodes, or the reason why their columns have to be computed.
    fn find_tests(&mut self, rows: Float) {
        let forest = self.forest;
        for (feature, _) in forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms) {
            let Some(&column) = self.tested.get(*feature as usize) else { continue };
            if self.feature_of(column, rows).is_none() {
                self.kept.insert(column, ComputedReason::IsAdded);
            }
        }
        for inner in forest.trees.iter().flat_map(|tree| &tree.inner) {
            let Some(&column) = self.tested.get(inner.feature as usize) else { continue };
            let key = key(column, inner);
            if self.kept.contains_key(&column) || self.tests.contains_key(&key) {
                continue;
            }
            match self.test(column, inner) {
                Ok(test) => {
                    self.tests.insert(key, test);
                }
                Err(reason) => {
                    self.kept.insert(column, reason);
                }
            }
        }
    }

    /// The feature, if the column is a feature itself, in the type of rows.
    fn feature_of(&self, column: ColumnId, rows: Float) -> Option<u32> {
        match self.columns.expr(column) {
            Expr::Input { feature, float } if *float == rows => Some(*feature),
            _ => None,
        }
    }

    fn test(&mut self, column: ColumnId, inner: &Inner) -> Result<SidesTest, ComputedReason> {
        let feature = match only_feature(self.columns, column) {
            Err(NotOneFeature::Several) => return Err(ComputedReason::SeveralFeatures),
            // The column is constant, so that a test of any feature can replace its tests.
            Err(NotOneFeature::None) => 0,
            Ok(feature) => feature,
        };
        if !self.columns_of.contains_key(&column) {
            let domain = self.domains.get(feature as usize).copied().unwrap_or(FeatureDomain::Whole);
            let chain = FeatureChain::new(self.columns, column, feature, domain);
            let needed = self.columns.needed_for(&[column]);
            let folded =
                FoldedColumn::new(chain).map_err(|stop| ComputedReason::NoOrder(needed[stop.column]))?;
            self.columns_of.insert(column, Some(folded));
        }
        let folded = self.columns_of.get_mut(&column).and_then(Option::as_mut);
        let sides = folded.and_then(|folded| folded.sides(self.forest, inner));
        let sides = sides.ok_or(ComputedReason::TooManyIntervals)?;
        let replacement = sides.replacement();
        if replacement == TestReplacement::Runs && sides.runs.len() > rebuild::MOST_TESTS {
            return Err(ComputedReason::TooManyIntervals);
        }
        Ok((Rc::new(sides), Rc::new(replacement)))
    }

    /// The forest over the inputs and the columns that have to be computed, and these columns.
    fn folded_forest(&mut self, rows: Float) -> Result<(Forest, Vec<ColumnId>), ModelError> {
        loop {
            let computed: Vec<ColumnId> = {
                let mut seen: Vec<ColumnId> = self.kept.keys().copied().collect();
                seen.sort();
                seen
            };
            match self.rebuilt(rows, &computed) {
                Ok(forest) => return Ok((forest, computed)),
                Err(RebuildError::Model(error)) => return Err(error),
                Err(RebuildError::TooLarge) => {
                    // If the forest grows too large, columns whose tests copy subtrees are computed.
                    let copying = self
                        .tests
                        .iter()
                        .filter(|(_, (_, replacement))| **replacement == TestReplacement::Runs);
                    let copying: Vec<ColumnId> = copying.map(|(key, _)| key.0).collect();
                    let before = self.kept.len();
                    self.kept
                        .extend(copying.into_iter().map(|column| (column, ComputedReason::TooManyIntervals)));
                    if self.kept.len() == before {
                        let all =
                            self.tested.iter().map(|column| (*column, ComputedReason::TooManyIntervals));
                        self.kept.extend(all);
                    }
                }
            }
        }
    }

    fn rebuilt(&self, rows: Float, computed: &[ColumnId]) -> Result<Forest, RebuildError> {
        let forest = self.forest;
        let inputs = self.domains.len();
        let mut sets = SetList::default();
        let comparison = forest.comparison;
        let old: HashMap<u32, u32> =
            (0..).zip(&forest.sets).map(|(number, set)| (number, sets.number(set))).collect();
        let is_below_all = |inner: &Inner| {
            comparison == Comparison::Less
                && inner.predicate == Predicate::Numeric { threshold: f64::NEG_INFINITY }
        };
        let has_never = forest.trees.iter().flat_map(|tree| &tree.inner).any(is_below_all);
        let never = if has_never { sets.number(&CategorySet::default()) } else { 0 };
        let mut rebuilding = TreeRebuilder { budget: budget(forest), sets: &mut sets };
        let test = |inner: &Inner| {
            let column = self.tested[inner.feature as usize];
            match computed.binary_search(&column) {
                Ok(place) => {
                    let feature = (inputs + place) as u32;
                    // No number is below minus infinity, and an empty set has no member.
                    let predicate = match is_below_all(inner) {
                        true => Predicate::Member { set: never },
                        false => at_most(&inner.predicate, comparison, forest.types.threshold, &old),
                    };
                    NewTest::Same { feature, predicate }
                }
                Err(_) => {
                    let (sides, replacement) = self.tests[&key(column, inner)].clone();
                    let feature = self
                        .columns_of
                        .get(&column)
                        .and_then(Option::as_ref)
                        .map_or(0, FoldedColumn::feature);
                    NewTest::Folded { feature, sides, replacement }
                }
            }
        };
        let trees = forest.trees.iter().map(|tree| rebuilding.tree(tree, test));
        let trees = trees.collect::<Result<Vec<_>, _>>()?;
        let mut linear = forest.linear.clone();
        for (feature, _) in linear.iter_mut().flatten().flat_map(|leaf| &mut leaf.terms) {
            let column = self.tested[*feature as usize];
            let place = computed.binary_search(&column).map(|place| (inputs + place) as u32).ok();
            *feature = place.or(self.feature_of(column, rows)).unwrap_or_default();
        }
        let mut types = forest.types;
        types.input = if computed.is_empty() || types.input == Float::F32 { rows } else { Float::F64 };
        if computed.is_empty() || rows == Float::F64 {
            types.threshold = types.input;
        }
        let parts = forest.clone().into_parts();
        let parts = ForestParts {
            trees,
            num_features: inputs + computed.len(),
            comparison: Comparison::LessOrEqual,
            types,
            sets: sets.all,
            linear,
            category_rule: sched_forest::CategoryRule::Whole,
            feature_names: Vec::new(),
            categories: Vec::new(),
            ..parts
        };
        Ok(Forest::new(parts)?)
    }

    /// The fate of each column that the forest can test.
    fn fates(&self) -> Vec<ColumnFate> {
        let mut is_tested = vec![false; self.tested.len()];
        for inner in self.forest.trees.iter().flat_map(|tree| &tree.inner) {
            is_tested[inner.feature as usize] = true;
        }
        for (feature, _) in self.forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms) {
            is_tested[*feature as usize] = true;
        }
        let reads_categories = |column: &ColumnId| {
            let is_table = |it: ColumnId| matches!(self.columns.expr(it), Expr::Table { .. });
            self.columns.needed_for(&[*column]).into_iter().any(is_table)
        };
        let fate = |(column, is_tested): (&ColumnId, bool)| match self.kept.get(column) {
            _ if !is_tested => ColumnFate::Unread,
            Some(reason) => ColumnFate::Computed(*reason),
            None if reads_categories(column) => ColumnFate::Categories,
            None => ColumnFate::Folded,
        };
        self.tested.iter().zip(is_tested).map(fate).collect()
    }
}

fn budget(forest: &Forest) -> usize {
    let nodes: usize = forest.trees.iter().map(|tree| tree.inner.len()).sum();
    nodes.saturating_mul(MOST_GROWTH).saturating_add(SMALL_GROWTH).min(MOST_NODES.max(nodes))
}

fn key(column: ColumnId, inner: &Inner) -> TestKey {
    let (kind, number) = match inner.predicate {
        Predicate::Numeric { threshold } => (0, threshold.to_bits()),
        Predicate::NumericNotZero { threshold } => (1, threshold.to_bits()),
        Predicate::Equal { value } => (2, value.to_bits()),
        Predicate::Member { set } => (3, set.into()),
    };
    (column, kind, number, inner.missing_left)
}

/// A test of a column that has to be computed, converted to the comparison `<=`.
fn at_most(
    predicate: &Predicate,
    comparison: Comparison,
    float: Float,
    sets: &HashMap<u32, u32>,
) -> Predicate {
    let below = |threshold: f64| match (comparison, float) {
        (Comparison::LessOrEqual, _) => threshold,
        (Comparison::Less, Float::F32) => f64::from((threshold as f32).next_down()),
        (Comparison::Less, Float::F64) => threshold.next_down(),
    };
    match predicate {
        Predicate::Numeric { threshold } => Predicate::Numeric { threshold: below(*threshold) },
        Predicate::NumericNotZero { threshold } => Predicate::NumericNotZero { threshold: below(*threshold) },
        Predicate::Equal { value } => Predicate::Equal { value: *value },
        Predicate::Member { set } => Predicate::Member { set: sets.get(set).copied().unwrap_or(*set) },
    }
}
