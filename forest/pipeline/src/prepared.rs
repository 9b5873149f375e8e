//! Forests whose tests are all numeric, over columns.
//!
//! Layouts of trees support only one kind of test: comparing a value with a threshold. Each other test of a
//! trainer (a set of categories, equality, zeros that count as missing) depends on one feature. A column
//! computed from the feature can replace it. A [`PreparedForest`] tests such columns.
//!
//! With thousands of sets, computing a column for each set takes longer than the walks. So a feature with
//! many sets can have two columns instead, which hold the [class](CategoryClasses) of its category. Sets of
//! categories become sets of classes ([`SetTests::OfClasses`]).

use crate::category_classes::{CategoryClasses, DefaultSide};
use crate::node_test_columns::{ClassPart, ColumnTest, NodeTestColumns, TablesTooLarge};
use sched_columns::{ColumnId, Columns};
use sched_forest::{ComputedColumns, Forest, Inner, Predicate};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A forest with simpler tests, and the columns that it tests.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedForest {
    /// The forest over the tested columns, with the leaves and the output of the original. A test is numeric,
    /// or tests whether a class is in a set. A test of a set names the first of the two columns of a class.
    /// Its set also decides the side of missing values, by their class.
    pub forest: Arc<Forest>,
    /// All columns. Those that trees test have the type of the forest's rows.
    pub columns: Columns,
    /// For each feature of the forest, its column. Columns of the same form are adjacent.
    pub tested: Vec<ColumnId>,
    /// Number of features whose sets are tested by class.
    pub class_features: usize,
    /// Number of tested columns for membership in a set of categories.
    pub set_columns: usize,
}

/// The replacement of tests of sets of categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTests {
    /// Each set has its own column, so all tests are numeric.
    OfColumns,
    /// Features with many sets have two columns for the class of the category.
    OfClasses,
}

/// Threshold for columns that are 0 or 1, so that 0 goes left.
const HALF: f64 = 0.5;

/// Maximum number of sets of a feature for which each set has its own column. These take less work than two
/// columns with look-ups.
const FEW_SETS: usize = 4;

impl PreparedForest {
    /// The forest over columns. `None` if all tests of the forest are numeric tests of features.
    ///
    /// # Errors
    /// If the tables of categories would be too large. Their size is known before they are built.
    pub fn of(original: &Forest, tested: SetTests) -> Result<Option<PreparedForest>, TablesTooLarge> {
        let tests = || original.trees.iter().flat_map(|tree| &tree.inner);
        let are_numeric = tests().all(|inner| matches!(inner.predicate, Predicate::Numeric { .. }));
        let terms = || original.linear.iter().flatten().flat_map(|leaf| &leaf.terms);
        let read = tests().map(|inner| inner.feature).chain(terms().map(|(feature, _)| *feature));
        if are_numeric && read.max().is_none_or(|most| (most as usize) < original.num_features) {
            return Ok(None);
        }
        let classes = match tested {
            SetTests::OfColumns => BTreeMap::new(),
            SetTests::OfClasses => category_classes(original),
        };
        let test_of = |inner: &Inner| ColumnTest::of(inner, classes.contains_key(&inner.feature));
        let mut wanted: Vec<ColumnTest> = tests().map(test_of).collect();
        wanted.extend(classes.keys().map(|feature| ColumnTest::Class(*feature, ClassPart::Bit)));
        // Linear leaves read the values of features.
        wanted.extend(terms().map(|(feature, _)| ColumnTest::Value(*feature)));
        wanted.sort_unstable();
        wanted.dedup();
        let places: HashMap<ColumnTest, u32> = wanted.iter().copied().zip(0..).collect();
        let place = |test: &ColumnTest| places.get(test).copied().unwrap_or_default();
        let mut sets = SetNumbers::default();
        let mut forest = original.clone();
        for inner in forest.trees.iter_mut().flat_map(|tree| &mut tree.inner) {
            let test = test_of(inner);
            let side = if inner.missing_left { DefaultSide::Left } else { DefaultSide::Right };
            inner.predicate = match (&inner.predicate, test) {
                (Predicate::Member { set }, ColumnTest::Class(feature, ClassPart::Byte)) => {
                    Predicate::Member { set: sets.of((feature, *set, side)) }
                }
                (Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold }, _) => {
                    Predicate::Numeric { threshold: *threshold }
                }
                (Predicate::Equal { .. } | Predicate::Member { .. }, _) => {
                    Predicate::Numeric { threshold: HALF }
                }
            };
            inner.feature = place(&test);
        }
        let in_set = |(feature, set, side): &(u32, u32, DefaultSide)| {
            classes.get(feature).map(|classes| classes.in_set(original, *set, *side)).unwrap_or_default()
        };
        forest.sets = sets.keys.iter().map(in_set).collect();
        forest.num_features = wanted.len();
        forest.computed = ComputedColumns::default();
        forest.feature_names = Vec::new();
        forest.categories = Vec::new();
        for (feature, _) in forest.linear.iter_mut().flatten().flat_map(|leaf| &mut leaf.terms) {
            *feature = place(&ColumnTest::Value(*feature));
        }
        let set_columns = wanted.iter().filter(|test| matches!(test, ColumnTest::Member(..))).count();
        let (columns, tested) = NodeTestColumns::new(original, &classes).all(&wanted)?;
        let forest = Arc::new(forest);
        Ok(Some(PreparedForest { forest, columns, tested, class_features: classes.len(), set_columns }))
    }

    /// The values that trees test, for a row of the original forest in its input type.
    pub fn row(&self, row: &[f64]) -> Vec<f64> {
        let values = self.columns.evaluate(&self.tested, row);
        values.into_iter().map(|value| value.to_f64()).collect()
    }
}

/// The classes of each feature that has many sets, but not too many classes.
fn category_classes(forest: &Forest) -> BTreeMap<u32, CategoryClasses> {
    let mut sets: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for inner in forest.trees.iter().flat_map(|tree| &tree.inner) {
        if let Predicate::Member { set } = inner.predicate {
            sets.entry(inner.feature).or_default().push(set);
        }
    }
    for sets in sets.values_mut() {
        sets.sort_unstable();
        sets.dedup();
    }
    let many = sets.into_iter().filter(|(_, sets)| sets.len() > FEW_SETS);
    many.filter_map(|(feature, sets)| Some((feature, CategoryClasses::of(forest, &sets)?))).collect()
}

/// Numbers sets of classes in the order of first use, so that neighbouring nodes have neighbouring sets. The
/// key of a set is its feature, its index among the sets of categories, and the side of missing values.
#[derive(Default)]
struct SetNumbers {
    numbers: HashMap<(u32, u32, DefaultSide), u32>,
    keys: Vec<(u32, u32, DefaultSide)>,
}

impl SetNumbers {
    fn of(&mut self, key: (u32, u32, DefaultSide)) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests;
