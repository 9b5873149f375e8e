//! Forests whose tests are all numeric, over columns that are computed once for a row.
//!
//! Representations know one test: a value against a threshold. Other tests of trainers (sets of categories,
//! equality, zeros that count as missing) depend on one feature alone, so that a column computed once for a
//! row can replace them: [`Prepared`] has such columns and a forest over them.
//!
//! With thousands of sets, one column for each set costs a row more than its walks. So a feature with many
//! sets can have two columns for all of them, which hold the [class](CategoryClasses) of its category: sets
//! of categories become sets of classes ([`SetTests::OfClasses`]).

use crate::category::{CategorySet, is_nearly_zero};
use crate::category_classes::{CategoryClasses, Side};
use crate::forest::{Float, Forest, Inner, Predicate};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A forest of simpler tests, and the columns that its rows have.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The forest whose features are the columns, with the leaves and the output of the original. Its tests
    /// are numeric, or test whether a class is in a set. A test of a set names the first of the two columns
    /// of a class, and its set gives missing values a side.
    pub forest: Arc<Forest>,
    /// The columns of its rows, in the order of the features that they are made from.
    pub columns: Vec<Column>,
    /// The classes of the features whose sets are tested by class.
    pub classes: Vec<CategoryClasses>,
}

/// The way of testing sets of categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTests {
    /// Each set has a column of its own, so that all tests are numeric.
    OfColumns,
    /// Features with many sets have two columns of their category's class.
    OfClasses,
}

/// A column of a prepared row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// The feature that it is made from.
    pub feature: u32,
    /// The recipe of the column.
    pub recipe: Recipe,
}

/// The function from a value to a column. A missing value gives a missing one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Recipe {
    /// The value.
    Value,
    /// The value, or missing where that is nearly zero.
    ZeroIsMissing,
    /// 0 where the value is this one, else 1.
    Equal(f64),
    /// 0 where the value's category is in the set of this number, else 1.
    Member(u32),
    /// The index of the byte of a set that holds the bit of the value's class, by the classes with this
    /// number. A missing value has a class too.
    ClassByte(u32),
    /// The bit of the value's class within its byte, as a power of two.
    ClassBit(u32),
}

impl Recipe {
    /// The key by which recipes are equal.
    fn key(self) -> (u8, u64) {
        match self {
            Recipe::Value => (0, 0),
            Recipe::ZeroIsMissing => (1, 0),
            // Both zeros are one value.
            Recipe::Equal(value) => (2, (value + 0.0).to_bits()),
            Recipe::Member(set) => (3, set.into()),
            Recipe::ClassByte(classes) => (4, classes.into()),
            Recipe::ClassBit(classes) => (5, classes.into()),
        }
    }
}

/// Threshold for columns of zeros and ones: zeros go left.
const HALF: f64 = 0.5;

/// Maximum sets of a feature for one column each: they take less work than two columns with look-ups.
const FEW_SETS: usize = 4;

impl Forest {
    /// Whether the category of a value is in the set of this number.
    pub(crate) fn is_member(&self, set: u32, value: f64) -> bool {
        let category = self.category_rule.category(value);
        category.is_some_and(|category| self.sets.get(set as usize).is_some_and(|set| set.contains(category)))
    }

    /// The forest of numeric tests over columns, if some test is not numeric.
    pub fn prepared(&self) -> Option<Prepared> {
        self.prepared_for(SetTests::OfColumns)
    }

    /// The forest over columns, if some test is not numeric.
    pub fn prepared_for(&self, tested: SetTests) -> Option<Prepared> {
        let tests = || self.trees.iter().flat_map(|tree| &tree.inner);
        if tests().all(|inner| matches!(inner.predicate, Predicate::Numeric { .. })) {
            return None;
        }
        let classes = match tested {
            SetTests::OfColumns => Vec::new(),
            SetTests::OfClasses => self.category_classes(),
        };
        let numbers: HashMap<u32, u32> = classes.iter().map(|classes| classes.feature).zip(0..).collect();
        let classes_of = |inner: &Inner| match inner.predicate {
            Predicate::Member { .. } => numbers.get(&inner.feature).copied(),
            _ => None,
        };
        // The column that a node names; that of the bit follows the one of the byte.
        let column_of = |inner: &Inner| Column {
            feature: inner.feature,
            recipe: classes_of(inner).map_or_else(|| inner.predicate.recipe(), Recipe::ClassByte),
        };
        let key = |column: &Column| (column.feature, column.recipe.key());
        let mut columns: Vec<Column> = tests().map(column_of).collect();
        columns.extend(
            classes.iter().zip(0..).map(|(classes, number)| Column {
                feature: classes.feature,
                recipe: Recipe::ClassBit(number),
            }),
        );
        // Linear leaves read values themselves.
        let terms = self.linear.iter().flatten().flat_map(|leaf| &leaf.terms);
        columns.extend(terms.map(|(feature, _)| Column { feature: *feature, recipe: Recipe::Value }));
        columns.sort_by_key(key);
        columns.dedup_by_key(|column| key(column));
        let places: HashMap<_, u32> = columns.iter().map(key).zip(0..).collect();
        let mut sets = SetNumbers::default();
        let mut forest = self.clone();
        for inner in forest.trees.iter_mut().flat_map(|tree| &mut tree.inner) {
            let place = places.get(&key(&column_of(inner))).copied().unwrap_or_default();
            let side = if inner.missing_left { Side::Left } else { Side::Right };
            inner.predicate = match (&inner.predicate, classes_of(inner)) {
                (Predicate::Member { set }, Some(number)) => {
                    Predicate::Member { set: sets.of((number, *set, side)) }
                }
                (Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold }, _) => {
                    Predicate::Numeric { threshold: *threshold }
                }
                (Predicate::Equal { .. } | Predicate::Member { .. }, _) => {
                    Predicate::Numeric { threshold: HALF }
                }
            };
            inner.feature = place;
        }
        forest.num_features = columns.len();
        let in_set = |(number, set, side): &(u32, u32, Side)| {
            classes.get(*number as usize).map_or_else(CategorySet::default, |it| it.in_set(self, *set, *side))
        };
        forest.sets = sets.keys.iter().map(in_set).collect();
        forest.feature_names = Vec::new();
        forest.categories = Vec::new();
        for (feature, _) in forest.linear.iter_mut().flatten().flat_map(|leaf| &mut leaf.terms) {
            let column = Column { feature: *feature, recipe: Recipe::Value };
            *feature = places.get(&key(&column)).copied().unwrap_or_default();
        }
        Some(Prepared { forest: Arc::new(forest), columns, classes })
    }

    /// The classes of the features that have many sets, if there are not too many classes.
    fn category_classes(&self) -> Vec<CategoryClasses> {
        let mut sets: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for inner in self.trees.iter().flat_map(|tree| &tree.inner) {
            if let Predicate::Member { set } = inner.predicate {
                sets.entry(inner.feature).or_default().push(set);
            }
        }
        for sets in sets.values_mut() {
            sets.sort_unstable();
            sets.dedup();
        }
        let many = sets.into_iter().filter(|(_, sets)| sets.len() > FEW_SETS);
        many.filter_map(|(feature, sets)| CategoryClasses::of(self, feature, &sets)).collect()
    }

    /// The forest for rows of this type. For rows in single precision, a model in double precision can have
    /// narrow thresholds without any loss. A model in single precision rounds rows in double precision, as
    /// its trainer does.
    pub fn for_rows(mut self, rows: Float) -> Forest {
        if rows == Float::F32 {
            self.types.input = Float::F32;
        }
        self
    }
}

impl Predicate {
    fn recipe(&self) -> Recipe {
        match *self {
            Predicate::Numeric { .. } => Recipe::Value,
            Predicate::NumericNotZero { .. } => Recipe::ZeroIsMissing,
            Predicate::Equal { value } => Recipe::Equal(value),
            Predicate::Member { set } => Recipe::Member(set),
        }
    }
}

/// Numbers of sets of classes, in order of first use, so that neighbouring nodes have neighbouring sets. The
/// key of a set is its classes, its number among sets of categories, and the side of missing values.
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

impl Prepared {
    /// Appends the columns of `row` to `out`. The values of `row` have the original forest's input type.
    pub fn prepare_row(&self, original: &Forest, row: &[f64], out: &mut Vec<f64>) {
        let value = |feature: u32| row.get(feature as usize).copied().unwrap_or(f64::NAN);
        out.extend(self.columns.iter().map(|column| self.value(original, column, value(column.feature))));
    }

    /// A column's value for a value of its feature.
    fn value(&self, original: &Forest, column: &Column, value: f64) -> f64 {
        let differs = |same: bool| f64::from(u8::from(!same));
        let class = |number: u32| {
            self.classes
                .get(number as usize)
                .map_or(0, |classes| classes.class(original.category_rule, value))
        };
        match column.recipe {
            Recipe::ClassByte(classes) => (class(classes) / u8::BITS).into(),
            Recipe::ClassBit(classes) => (1 << (class(classes) % u8::BITS)).into(),
            _ if value.is_nan() => value,
            Recipe::Value => value,
            Recipe::ZeroIsMissing if is_nearly_zero(value) => f64::NAN,
            Recipe::ZeroIsMissing => value,
            Recipe::Equal(other) => differs(value == other),
            Recipe::Member(set) => differs(original.is_member(set, value)),
        }
    }
}
