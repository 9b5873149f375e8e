//! Derived columns: the inputs of kernels in place of a model's features, if some test of the model is
//! not numeric.
//!
//! [`Prepared`](sched_forest::Prepared) defines the columns. This module encodes them as tables, from
//! which the runtime derives columns from a row: for each feature, its columns by kind. Categories that
//! are in the same sets form a class, so that one look-up of bits answers all sets of a feature.

use super::table::Table;
use sched_forest::{CategoryRule, Column, Forest, Prepared, Recipe};
use std::collections::HashMap;
use std::sync::Arc;

/// Conversion of a model's rows to rows of its kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct RowColumns {
    source: Arc<Forest>,
    prepared: Arc<Prepared>,
    /// Encoded columns.
    pub tables: ColumnTables,
    /// Number of the first of these tables in the module.
    pub first_table: u32,
}

/// Tables that describe the columns to the runtime.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnTables {
    /// Parts in the order of the columns, each with the columns of one feature and kind.
    pub parts: Vec<ColumnPart>,
    /// Comparison values of [`ColumnKind::Equal`], by column.
    pub values: Vec<f64>,
    /// For each category, from 0 on, the number of its class. Missing values have a class of their own that
    /// does not count.
    pub classes: Vec<u32>,
    /// For each class a bit per column: 1 if the column's set does not have its categories.
    pub bits: Vec<u64>,
}

/// Consecutive columns of one feature and kind, or one column of each of several consecutive features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnPart {
    /// Index of the first feature.
    pub feature: u32,
    /// Rule that computes the columns from the values of their features, such as a test for equality.
    pub kind: ColumnKind,
    /// Number of columns.
    pub count: u32,
    /// Categories with an entry in the table of classes; all others are in class 0.
    pub categories: u32,
    /// Index of the first entry in the table of values or of bits.
    pub first: u64,
    /// Index of the first entry in the table of classes.
    pub first_class: u64,
}

impl ColumnPart {
    /// Whether the next part can be merged into this one.
    fn continues_with(&self, next: &ColumnPart) -> bool {
        let of_features = matches!(self.kind, ColumnKind::Value | ColumnKind::ZeroIsMissing);
        of_features && self.kind == next.kind && next.feature == self.feature + self.count
    }

    /// Bytes of a `schedc_column_part` in C.
    fn to_bytes(self) -> Vec<u8> {
        let words = [self.feature, self.kind as u32, self.count, self.categories];
        let words = words.into_iter().flat_map(u32::to_le_bytes);
        words.chain([self.first, self.first_class].into_iter().flat_map(u64::to_le_bytes)).collect()
    }
}

/// Rule that computes columns from a feature's value. The runtime uses the same numbers for the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ColumnKind {
    /// Values of `count` features from the part's feature on.
    Value = 0,
    /// As [`ColumnKind::Value`], with missing in place of values near zero.
    ZeroIsMissing = 1,
    /// 0 if the value equals the one in the table, else 1.
    Equal = 2,
    /// One bit of the value's class per column.
    Member = 3,
    /// Two columns: the byte index of the class's bit, and that bit as a number.
    Class = 4,
}

/// Error for column tables that exceed their limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnsTooLarge {
    /// Cause of the size.
    pub what: String,
    /// Limit in MiB.
    pub mebibytes: u64,
}

/// Most bytes of all column tables.
const MOST_BYTES: u64 = 1 << 28;

/// Most categories of a feature.
const MOST_CATEGORIES: u32 = 1 << 24;

impl RowColumns {
    /// The columns of a prepared model, as tables.
    ///
    /// # Errors
    /// If their tables would be too large.
    pub fn new(source: Arc<Forest>, prepared: Arc<Prepared>) -> Result<RowColumns, ColumnsTooLarge> {
        let tables = ColumnTables::of(&source, &prepared)?;
        Ok(RowColumns { source, prepared, tables, first_table: 0 })
    }

    /// Adds the tables to those of a module.
    pub fn add_tables(&mut self, tables: &mut Vec<Table>) {
        self.first_table = tables.len() as u32;
        let ColumnTables { parts, values, classes, bits } = &self.tables;
        let parts: Vec<u8> = parts.iter().flat_map(|part| part.to_bytes()).collect();
        let values = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let classes = classes.iter().flat_map(|class| class.to_le_bytes()).collect();
        let bits = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        let all = [("column_parts", parts), ("column_values", values), ("category_classes", classes)];
        let all = all.into_iter().chain([("category_bits", bits)]);
        tables.extend(all.map(|(name, bytes)| Table { name: name.to_string(), bytes: bytes.into() }));
    }

    /// Conversion of a value to a category, as the runtime numbers it, with its bound.
    pub fn rule(&self) -> (i32, f64) {
        match self.source.category_rule {
            CategoryRule::Truncated => (0, 0.0),
            CategoryRule::Positive { below } => (1, below),
            CategoryRule::Whole => (2, 0.0),
        }
    }

    /// Number of columns that test a single set.
    pub fn sets(&self) -> u64 {
        let is_set = |column: &&Column| matches!(column.recipe, Recipe::Member(_));
        self.prepared.columns.iter().filter(is_set).count() as u64
    }

    /// Number of columns.
    pub fn count(&self) -> usize {
        self.prepared.columns.len()
    }

    /// Columns of rows with the model's features and input type.
    pub fn rows(&self, rows: &[f64]) -> Vec<f64> {
        let mut columns = Vec::new();
        for row in rows.chunks(self.source.num_features) {
            self.prepared.prepare_row(&self.source, row, &mut columns);
        }
        columns
    }
}

impl ColumnTables {
    fn of(forest: &Forest, prepared: &Prepared) -> Result<ColumnTables, ColumnsTooLarge> {
        let mut tables = ColumnTables::default();
        let alike = |a: &Column, b: &Column| (a.feature, kind(a)) == (b.feature, kind(b));
        for group in prepared.columns.chunk_by(alike) {
            let Some(column) = group.first() else { continue };
            let mut part = ColumnPart {
                feature: column.feature,
                kind: kind(column),
                count: group.len() as u32,
                categories: 0,
                first: 0,
                first_class: 0,
            };
            match part.kind {
                ColumnKind::Value | ColumnKind::ZeroIsMissing => {}
                ColumnKind::Equal => {
                    part.first = tables.values.len() as u64;
                    tables.values.extend(group.iter().filter_map(|column| match column.recipe {
                        Recipe::Equal(value) => Some(value),
                        _ => None,
                    }));
                }
                ColumnKind::Member => {
                    part.first = tables.bits.len() as u64;
                    part.first_class = tables.classes.len() as u64;
                    part.categories = tables.add_sets(forest, group)?;
                }
                ColumnKind::Class => {
                    let number = match column.recipe {
                        Recipe::ClassByte(number) | Recipe::ClassBit(number) => number,
                        _ => continue,
                    };
                    let Some(classes) = prepared.classes.get(number as usize) else { continue };
                    part.first_class = tables.classes.len() as u64;
                    part.categories = classes.of_categories.len() as u32;
                    // The table does not count class 0, which is that of missing values.
                    tables.classes.extend(classes.of_categories.iter().map(|class| class.saturating_sub(1)));
                }
            }
            match tables.parts.last_mut() {
                Some(last) if last.continues_with(&part) => last.count += 1,
                _ => tables.parts.push(part),
            }
        }
        Ok(tables)
    }

    /// Adds the classes and bits of columns of sets; returns the number of categories with an entry.
    fn add_sets(&mut self, forest: &Forest, group: &[Column]) -> Result<u32, ColumnsTooLarge> {
        let words = group.len().div_ceil(64);
        let sets = group.iter().map(|column| match column.recipe {
            Recipe::Member(set) => forest.sets.get(set as usize).map_or(&[][..], |set| set.members()),
            _ => &[],
        });
        // For each category the columns whose sets have it.
        let mut columns_of: HashMap<u32, Vec<u32>> = HashMap::new();
        for (at, members) in sets.enumerate() {
            for &category in members {
                columns_of.entry(category).or_default().push(at as u32);
            }
        }
        let categories = columns_of.keys().max().map_or(0, |most| most.saturating_add(1));
        if categories > MOST_CATEGORIES {
            return Err(too_large(format!("the category {}", categories - 1)));
        }
        let mut classes: HashMap<&[u32], u32> = HashMap::from([(&[][..], 0)]);
        self.bits.extend(std::iter::repeat_n(u64::MAX, words));
        for category in 0..categories {
            let members = columns_of.get(&category).map_or(&[][..], Vec::as_slice);
            let next = classes.len() as u32;
            let class = *classes.entry(members).or_insert(next);
            if class == next {
                let first = self.bits.len();
                self.bits.extend(std::iter::repeat_n(u64::MAX, words));
                for &at in members {
                    self.bits[first + at as usize / 64] &= !(1 << (at % 64));
                }
            }
            self.classes.push(class);
            if self.bytes() > MOST_BYTES {
                return Err(too_large(format!("{} sets over {categories} categories", group.len())));
            }
        }
        Ok(categories)
    }

    /// Bytes of all tables.
    pub fn bytes(&self) -> u64 {
        let (values, classes, bits) = (self.values.len(), self.classes.len(), self.bits.len());
        (values * 8 + classes * 4 + bits * 8 + self.parts.len() * 40) as u64
    }
}

fn kind(column: &Column) -> ColumnKind {
    match column.recipe {
        Recipe::Value => ColumnKind::Value,
        Recipe::ZeroIsMissing => ColumnKind::ZeroIsMissing,
        Recipe::Equal(_) => ColumnKind::Equal,
        Recipe::Member(_) => ColumnKind::Member,
        Recipe::ClassByte(_) | Recipe::ClassBit(_) => ColumnKind::Class,
    }
}

fn too_large(what: String) -> ColumnsTooLarge {
    ColumnsTooLarge { what, mebibytes: MOST_BYTES >> 20 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_forest::{ForestParts, Inner, Leaf, NodeRef, Predicate, SetTests, Target, Tree};

    /// One stump for each test of feature 0.
    fn stumps(tests: Vec<Predicate>, sets: Vec<Vec<u32>>) -> Arc<Forest> {
        let stump = |(source, predicate): (u32, Predicate)| {
            let leaf = |source| Leaf { source, values: [1.0].into() };
            let (left, right) = (NodeRef::Leaf(0), NodeRef::Leaf(1));
            let inner = vec![Inner { feature: 0, predicate, missing_left: false, left, right }];
            let leaves = vec![leaf(1), leaf(2)];
            Tree { root: NodeRef::Inner(0), inner, leaves, target: Target::One(0), source }
        };
        let trees = (0..).zip(tests).map(stump).collect();
        let sets = sets.into_iter().map(|set| set.into_iter().collect()).collect();
        Arc::new(Forest::new(ForestParts { trees, sets, ..ForestParts::default() }).expect("a valid forest"))
    }

    fn columns_of(forest: &Arc<Forest>, tested: SetTests) -> Result<RowColumns, ColumnsTooLarge> {
        let prepared = forest.prepared_for(tested).expect("a test that is not numeric");
        RowColumns::new(Arc::clone(forest), Arc::new(prepared))
    }

    #[test]
    fn categories_in_the_same_sets_are_one_class() {
        let member = |set| Predicate::Member { set };
        let forest = stumps(vec![member(0), member(1)], vec![vec![1, 2, 5], vec![1, 2, 4]]);
        let columns = columns_of(&forest, SetTests::OfColumns).expect("small tables");
        assert_eq!(columns.tables.classes, [0, 1, 1, 0, 2, 3]);
        let bits: Vec<u64> = columns.tables.bits.iter().map(|bits| bits & 3).collect();
        assert_eq!(bits, [3, 0, 1, 2]);
        assert_eq!(columns.rows(&[1.0, 5.0, 9.0]), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn features_with_many_sets_have_two_columns() {
        let tests = (0..5).map(|set| Predicate::Member { set }).collect();
        let forest = stumps(tests, (0..5).map(|set| vec![set, set + 1, 9]).collect());
        let by_class = columns_of(&forest, SetTests::OfClasses).expect("small tables");
        let kinds: Vec<_> = by_class.tables.parts.iter().map(|part| (part.kind, part.count)).collect();
        assert_eq!(kinds, [(ColumnKind::Class, 2)]);
        // Categories 6 to 8 are in no set: class 1 of all classes, and class 0 of those in the table.
        assert_eq!(by_class.tables.classes, [1, 2, 3, 4, 5, 6, 0, 0, 0, 7]);
        assert_eq!(
            by_class.rows(&[f64::NAN, 7.0, 0.0, 5.0, 9.0]),
            [0.0, 1.0, 0.0, 2.0, 0.0, 4.0, 0.0, 128.0, 1.0, 1.0]
        );
        let by_column = columns_of(&forest, SetTests::OfColumns).expect("small tables");
        assert_eq!((by_column.count(), by_column.sets(), by_class.sets()), (5, 5, 0));
    }

    #[test]
    fn columns_of_a_feature_are_side_by_side() {
        let tests = vec![
            Predicate::Equal { value: 2.5 },
            Predicate::Numeric { threshold: 1.0 },
            Predicate::Member { set: 0 },
            Predicate::Equal { value: 2.5 },
        ];
        let forest = stumps(tests, vec![vec![0]]);
        let columns = columns_of(&forest, SetTests::OfColumns).expect("small tables");
        let kinds: Vec<_> = columns.tables.parts.iter().map(|part| (part.kind, part.count)).collect();
        assert_eq!(kinds, [(ColumnKind::Value, 1), (ColumnKind::Equal, 1), (ColumnKind::Member, 1)]);
        assert_eq!(columns.rows(&[2.5, 0.0]), [2.5, 0.0, 1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn absurd_categories_are_refused() {
        let forest = stumps(vec![Predicate::Member { set: 0 }], vec![vec![u32::MAX]]);
        assert_eq!(columns_of(&forest, SetTests::OfColumns).expect_err("too large").mebibytes, 256);
    }
}
