//! Forests whose tests are all numeric, over columns that are made from a row once.
//!
//! Representations know one test: a value against a threshold. What trainers test beyond that (sets of categories,
//! equality, zeros that count as missing) depends on one feature alone, so a column that is worked out once for a row
//! can stand for it: [`Prepared`] has such columns and a forest over them.

use crate::category::is_nearly_zero;
use crate::forest::{Float, Forest, Predicate};
use std::collections::HashMap;

/// A forest of numeric tests, and the columns that its rows have.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The forest over the columns: its features are they. It has the leaves and the output of the original.
    pub forest: Forest,
    /// The columns of its rows, in the order of the features that they are made from.
    pub columns: Vec<Column>,
}

/// A column of a prepared row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// The feature that it is made from.
    pub feature: u32,
    /// How it is made.
    pub recipe: Recipe,
}

/// How a column is made from a value. Of a missing value it is missing.
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
}

impl Recipe {
    /// What makes recipes equal.
    fn key(self) -> (u8, u64) {
        match self {
            Recipe::Value => (0, 0),
            Recipe::ZeroIsMissing => (1, 0),
            // Both zeros are one value.
            Recipe::Equal(value) => (2, (value + 0.0).to_bits()),
            Recipe::Member(set) => (3, set.into()),
        }
    }
}

/// What a column of zeros and ones is compared with, so that zeros go left.
const HALF: f64 = 0.5;

impl Column {
    /// The column's value for a value of its feature, which has the forest's input type.
    pub fn value(&self, forest: &Forest, value: f64) -> f64 {
        let differs = |same: bool| f64::from(u8::from(!same));
        match self.recipe {
            _ if value.is_nan() => value,
            Recipe::Value => value,
            Recipe::ZeroIsMissing if is_nearly_zero(value) => f64::NAN,
            Recipe::ZeroIsMissing => value,
            Recipe::Equal(other) => differs(value == other),
            Recipe::Member(set) => differs(forest.is_member(set, value)),
        }
    }
}

impl Forest {
    /// Whether the category of a value is in the set of this number.
    pub(crate) fn is_member(&self, set: u32, value: f64) -> bool {
        let category = self.category_rule.category(value);
        category.is_some_and(|category| self.sets.get(set as usize).is_some_and(|set| set.contains(category)))
    }

    /// The forest over columns, if some test is not numeric.
    pub fn prepared(&self) -> Option<Prepared> {
        let tests = || self.trees.iter().flat_map(|tree| &tree.inner);
        if tests().all(|inner| matches!(inner.predicate, Predicate::Numeric { .. })) {
            return None;
        }
        let mut columns: Vec<Column> = tests()
            .map(|inner| Column { feature: inner.feature, recipe: inner.predicate.recipe() })
            .collect();
        let key = |column: &Column| (column.feature, column.recipe.key());
        // Linear leaves read values themselves.
        let terms = self.linear.iter().flatten().flat_map(|leaf| &leaf.terms);
        columns.extend(terms.map(|(feature, _)| Column { feature: *feature, recipe: Recipe::Value }));
        columns.sort_by_key(key);
        columns.dedup_by_key(|column| key(column));
        let places: HashMap<_, u32> = columns.iter().map(key).zip(0..).collect();
        let mut forest = self.clone();
        for inner in forest.trees.iter_mut().flat_map(|tree| &mut tree.inner) {
            let column = Column { feature: inner.feature, recipe: inner.predicate.recipe() };
            inner.feature = places.get(&key(&column)).copied().unwrap_or_default();
            let threshold = match inner.predicate {
                Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold } => threshold,
                Predicate::Equal { .. } | Predicate::Member { .. } => HALF,
            };
            inner.predicate = Predicate::Numeric { threshold };
        }
        forest.num_features = columns.len();
        forest.sets = Vec::new();
        forest.feature_names = Vec::new();
        forest.categories = Vec::new();
        for (feature, _) in forest.linear.iter_mut().flatten().flat_map(|leaf| &mut leaf.terms) {
            let column = Column { feature: *feature, recipe: Recipe::Value };
            *feature = places.get(&key(&column)).copied().unwrap_or_default();
        }
        Some(Prepared { forest, columns })
    }

    /// The forest for rows of this type. Rows in single precision are as good to a model that computes in double
    /// precision, and their thresholds can be as narrow; rows in double precision are rounded by a model that computes in
    /// single precision, as its trainer does.
    pub fn for_rows(mut self, rows: Float) -> Forest {
        if rows == Float::F32 {
            self.types.input = Float::F32;
        }
        self
    }

    /// Whether rows in double precision give other results than the same rows rounded to single precision.
    pub fn reads_wide_rows(&self) -> bool {
        self.types.input == Float::F64
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

impl Prepared {
    /// Makes the columns of a row, whose values have the original forest's input type.
    pub fn row(&self, original: &Forest, row: &[f64], out: &mut Vec<f64>) {
        let value = |feature: u32| row.get(feature as usize).copied().unwrap_or(f64::NAN);
        out.extend(self.columns.iter().map(|column| column.value(original, value(column.feature))));
    }
}
