//! Forests whose tests are all numeric, over columns.
//!
//! Layouts of trees know one test: a value against a threshold. Other tests of trainers (sets of categories,
//! equality, zeros that count as missing) depend on one feature alone, so that a column replaces them. A
//! [`Prepared`] forest tests such columns.
//!
//! With thousands of sets, one column for each set costs a row more than its walks. So a feature with many
//! sets can have two columns for all of them, which hold the [class](CategoryClasses) of its category: sets
//! of categories become sets of classes ([`SetTests::OfClasses`]).

use crate::category_classes::{CategoryClasses, Side};
use crate::test_columns::{ClassPart, TablesTooLarge, Test, TestColumns};
use sched_columns::{ColumnId, Columns};
use sched_forest::{ComputedColumns, Forest, Inner, Predicate};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A forest of simpler tests, and the columns that it tests.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The forest whose features are the tested columns, with the leaves and the output of the original. Its
    /// tests are numeric, or test whether a class is in a set. A test of a set names the first of the two
    /// columns of a class, and its set gives missing values a side.
    pub forest: Arc<Forest>,
    /// The columns of a row, in the type of the forest's rows where trees test them.
    pub columns: Columns,
    /// The column that each feature of the forest is. Columns of the same form are adjacent.
    pub tested: Vec<ColumnId>,
    /// Number of features whose sets are tested by class.
    pub class_features: usize,
    /// Number of tested columns that each stand for one set of categories.
    pub set_columns: usize,
}

/// The way of testing sets of categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTests {
    /// Each set has a column of its own, so that all tests are numeric.
    OfColumns,
    /// Features with many sets have two columns of their category's class.
    OfClasses,
}

/// Threshold for columns of zeros and ones: zeros go left.
const HALF: f64 = 0.5;

/// Maximum sets of a feature for one column each: they take less work than two columns with look-ups.
const FEW_SETS: usize = 4;

impl Prepared {
    /// The forest over columns. `None` if all tests of the forest are numeric tests of features.
    ///
    /// # Errors
    /// If the tables of categories would be too large. Their size is known before they are built.
    pub fn of(original: &Forest, tested: SetTests) -> Result<Option<Prepared>, TablesTooLarge> {
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
        let test_of = |inner: &Inner| Test::of(inner, classes.contains_key(&inner.feature));
        let mut wanted: Vec<Test> = tests().map(test_of).collect();
        wanted.extend(classes.keys().map(|feature| Test::Class(*feature, ClassPart::Bit)));
        // Linear leaves read values themselves.
        wanted.extend(terms().map(|(feature, _)| Test::Value(*feature)));
        wanted.sort_unstable();
        wanted.dedup();
        let places: HashMap<Test, u32> = wanted.iter().copied().zip(0..).collect();
        let place = |test: &Test| places.get(test).copied().unwrap_or_default();
        let mut sets = SetNumbers::default();
        let mut forest = original.clone();
        for inner in forest.trees.iter_mut().flat_map(|tree| &mut tree.inner) {
            let test = test_of(inner);
            let side = if inner.missing_left { Side::Left } else { Side::Right };
            inner.predicate = match (&inner.predicate, test) {
                (Predicate::Member { set }, Test::Class(feature, ClassPart::Byte)) => {
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
        let in_set = |(feature, set, side): &(u32, u32, Side)| {
            classes.get(feature).map(|classes| classes.in_set(original, *set, *side)).unwrap_or_default()
        };
        forest.sets = sets.keys.iter().map(in_set).collect();
        forest.num_features = wanted.len();
        forest.computed = ComputedColumns::default();
        forest.feature_names = Vec::new();
        forest.categories = Vec::new();
        for (feature, _) in forest.linear.iter_mut().flatten().flat_map(|leaf| &mut leaf.terms) {
            *feature = place(&Test::Value(*feature));
        }
        let set_columns = wanted.iter().filter(|test| matches!(test, Test::Member(..))).count();
        let (columns, tested) = TestColumns::new(original, &classes).all(&wanted)?;
        let forest = Arc::new(forest);
        Ok(Some(Prepared { forest, columns, tested, class_features: classes.len(), set_columns }))
    }

    /// The values that trees test, for a row of the original forest in its input type.
    pub fn row(&self, row: &[f64]) -> Vec<f64> {
        let values = self.columns.evaluate(&self.tested, row);
        values.into_iter().map(|value| value.to_f64()).collect()
    }
}

/// The classes of the features that have many sets, if there are not too many classes.
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

/// Numbers of sets of classes, in order of first use, so that neighbouring nodes have neighbouring sets. The
/// key of a set is its feature, its number among sets of categories, and the side of missing values.
#[derive(Default)]
struct SetNumbers {
    numbers: HashMap<(u32, u32, Side), u32>,
    keys: Vec<(u32, u32, Side)>,
}

impl SetNumbers {
    fn of(&mut self, key: (u32, u32, Side)) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests;
