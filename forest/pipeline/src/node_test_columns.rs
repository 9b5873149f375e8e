//! Builds the columns that replace tests of trees: values, zeros as missing values, equality, and sets of
//! categories.

use crate::category_classes::{CategoryClasses, IN_NO_SET, MISSING};
use sched_columns::{
    Binary, CategoryTable, ColumnId, ColumnType, ColumnValue, Columns, Expr, OperandTypeError, Unary,
};
use sched_forest::{CategorySet, Float, Forest, Inner, NEARLY_ZERO, Predicate};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

/// The test for which a column is made. The order of variants makes columns of the same form adjacent, in the
/// order of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ColumnTest {
    /// The value of the feature.
    Value(u32),
    /// The value of the feature, or missing if that is nearly zero.
    ZeroIsMissing(u32),
    /// 0 if the feature's value is the number with these bits, else 1.
    Equal(u32, u64),
    /// One of the two numbers of the class of the feature's category. A missing value has a class too.
    Class(u32, ClassPart),
    /// 0 if the feature's category is in the set with this index, else 1.
    Member(u32, u32),
}

/// The two numbers of a class. Their columns are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClassPart {
    /// The index of the byte, in a set of classes, that holds the bit of the class.
    Byte,
    /// The bit of the class within its byte, as a power of two.
    Bit,
}

impl ClassPart {
    fn of(self, class: u32) -> f64 {
        match self {
            ClassPart::Byte => f64::from(class / u8::BITS),
            ClassPart::Bit => f64::from(1_u32 << (class % u8::BITS)),
        }
    }
}

impl ColumnTest {
    /// The test for which a node needs a column. `has_classes` says whether its feature has classes.
    pub(crate) fn of(inner: &Inner, has_classes: bool) -> ColumnTest {
        let feature = inner.feature;
        match inner.predicate {
            Predicate::Numeric { .. } => ColumnTest::Value(feature),
            Predicate::NumericNotZero { .. } => ColumnTest::ZeroIsMissing(feature),
            // -0 and 0 are the same value.
            Predicate::Equal { value } => ColumnTest::Equal(feature, (value + 0.0).to_bits()),
            Predicate::Member { .. } if has_classes => ColumnTest::Class(feature, ClassPart::Byte),
            Predicate::Member { set } => ColumnTest::Member(feature, set),
        }
    }

    fn feature(self) -> u32 {
        match self {
            ColumnTest::Value(feature)
            | ColumnTest::ZeroIsMissing(feature)
            | ColumnTest::Equal(feature, _)
            | ColumnTest::Class(feature, _)
            | ColumnTest::Member(feature, _) => feature,
        }
    }
}

/// Maximum size in bytes of the tables of all columns.
const MOST_BYTES: u64 = 1 << 28;

/// Maximum number of categories of a feature.
const MOST_CATEGORIES: u32 = 1 << 24;

/// Number of sets in a word: an integer of 32 bits has a bit for each.
const SETS_OF_WORD: usize = 32;

/// Size in bytes of an entry of a table.
const ENTRY_BYTES: u64 = 4;

/// The error for tables of categories that exceed their limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablesTooLarge {
    /// The part of the model that makes the tables too large.
    pub what: String,
    /// Limit of all tables in MiB.
    pub mebibytes: u64,
}

/// Builds the columns that nodes test.
pub(crate) struct NodeTestColumns<'a> {
    forest: &'a Forest,
    classes: &'a BTreeMap<u32, CategoryClasses>,
    float: Float,
    columns: Columns,
    /// Bytes of the tables so far.
    bytes: u64,
}

impl<'a> NodeTestColumns<'a> {
    pub(crate) fn new(
        forest: &'a Forest,
        classes: &'a BTreeMap<u32, CategoryClasses>,
    ) -> NodeTestColumns<'a> {
        let columns = forest.computed.columns.clone();
        NodeTestColumns { forest, classes, float: forest.types.input, columns, bytes: 0 }
    }

    /// Returns all columns, and the column of each test in the order of `tests`. Tests of one feature's sets
    /// must be adjacent in `tests`.
    pub(crate) fn all(mut self, tests: &[ColumnTest]) -> Result<(Columns, Vec<ColumnId>), TablesTooLarge> {
        let mut tested = Vec::new();
        let is_alike = |a: &ColumnTest, b: &ColumnTest| {
            matches!((a, b), (ColumnTest::Member(..), ColumnTest::Member(..))) && a.feature() == b.feature()
        };
        for group in tests.chunk_by(is_alike) {
            let Some(first) = group.first() else { continue };
            match *first {
                ColumnTest::Value(feature) => tested.push(self.value(feature)),
                ColumnTest::ZeroIsMissing(feature) => tested.push(self.zero_is_missing(feature)?),
                ColumnTest::Equal(feature, bits) => tested.push(self.equal(feature, f64::from_bits(bits))?),
                ColumnTest::Class(feature, part) => tested.push(self.of_class(feature, part)?),
                ColumnTest::Member(feature, _) => self.members(feature, group, &mut tested)?,
            }
        }
        Ok((self.columns, tested))
    }

    /// The column of a feature, or the computed column with this number.
    fn value(&mut self, feature: u32) -> ColumnId {
        let computed = (feature as usize).checked_sub(self.forest.num_features);
        match computed.and_then(|computed| self.forest.computed.read_by_trees.get(computed)) {
            Some(column) => *column,
            None => self.columns.input(feature, self.float),
        }
    }

    /// A number in the type of rows.
    fn number(&self, x: f64) -> ColumnValue {
        match self.float {
            Float::F32 => ColumnValue::F32(x as f32),
            Float::F64 => ColumnValue::F64(x),
        }
    }

    /// A missing value if `x` is missing, else the value of another column.
    fn unless_missing(&mut self, x: ColumnId, otherwise: ColumnId) -> Result<ColumnId, OperandTypeError> {
        let condition = self.columns.add(Expr::Unary(Unary::IsNan, x))?;
        let then = self.columns.constant(self.number(f64::NAN));
        self.columns.add(Expr::Select { condition, then, otherwise })
    }

    fn zero_is_missing(&mut self, feature: u32) -> Result<ColumnId, OperandTypeError> {
        let x = self.value(feature);
        let size = self.columns.add(Expr::Unary(Unary::Abs, x))?;
        let most = self.columns.constant(self.number(NEARLY_ZERO));
        let condition = self.columns.add(Expr::Binary(Binary::LessOrEqual, size, most))?;
        let then = self.columns.constant(self.number(f64::NAN));
        self.columns.add(Expr::Select { condition, then, otherwise: x })
    }

    fn equal(&mut self, feature: u32, value: f64) -> Result<ColumnId, OperandTypeError> {
        let x = self.value(feature);
        // A value that needs double precision never equals one of rows in single precision. NaN stands for
        // it.
        let rounded = self.number(value);
        let value = if rounded.to_f64() == value { rounded } else { self.number(f64::NAN) };
        let value = self.columns.constant(value);
        let condition = self.columns.add(Expr::Binary(Binary::Equal, x, value))?;
        let [then, otherwise] = [0.0, 1.0].map(|x| self.columns.constant(self.number(x)));
        let differs = self.columns.add(Expr::Select { condition, then, otherwise })?;
        self.unless_missing(x, differs)
    }

    /// The column of one of the two numbers of a feature's class.
    fn of_class(&mut self, feature: u32, part: ClassPart) -> Result<ColumnId, OperandTypeError> {
        let x = self.value(feature);
        let classes = self.classes.get(&feature);
        let of_categories = classes.map_or(&[][..], |classes| &classes.of_categories);
        let last = classes.map_or(IN_NO_SET, CategoryClasses::last);
        let integer = |class: u32| ColumnValue::I64(class.into());
        let table = self.table(of_categories.iter().map(|class| integer(*class)), integer(IN_NO_SET));
        let table = CategoryTable { missing: integer(MISSING), ..table };
        let class = self.columns.add(Expr::Table { of: x, table: Arc::new(table) })?;
        let values = (0..=last).map(|class| self.number(part.of(class))).collect();
        self.columns.add(Expr::Pick { of: class, values })
    }

    /// A table by category. Missing values, and categories without an entry, have the value `other`.
    fn table(&self, values: impl Iterator<Item = ColumnValue>, other: ColumnValue) -> CategoryTable {
        let rule = self.forest.category_rule;
        CategoryTable { rule, values: values.collect(), other, missing: other }
    }

    /// Adds the columns of a feature's sets. A word has a bit for each of up to 32 sets, which is set if the
    /// category is not in the set. One word is looked up by category. Several words are looked up by the
    /// category's class, since many categories are in the same sets.
    fn members(
        &mut self,
        feature: u32,
        tests: &[ColumnTest],
        tested: &mut Vec<ColumnId>,
    ) -> Result<(), TablesTooLarge> {
        let mut sets_of: HashMap<u32, Vec<u32>> = HashMap::new();
        for (test, nth) in tests.iter().zip(0..) {
            let ColumnTest::Member(_, set) = *test else { continue };
            let members = self.forest.sets.get(set as usize).map_or(&[][..], CategorySet::members);
            members.iter().for_each(|category| sets_of.entry(*category).or_default().push(nth));
        }
        let categories = sets_of.keys().max().map_or(0, |most| most.saturating_add(1));
        if categories > MOST_CATEGORIES {
            return Err(too_large(format!("the category {}", categories - 1)));
        }
        let mut classes: HashMap<&[u32], u32> = HashMap::from([(&[][..], 0)]);
        let mut of_class: Vec<&[u32]> = vec![&[]];
        let of_categories = (0..categories).map(|category| {
            let sets = sets_of.get(&category).map_or(&[][..], Vec::as_slice);
            *classes.entry(sets).or_insert_with(|| {
                of_class.push(sets);
                of_class.len() as u32 - 1
            })
        });
        let of_categories: Vec<u32> = of_categories.collect();
        let words = tests.len().div_ceil(SETS_OF_WORD);
        let of_words = if words > 1 { words * of_class.len() } else { 0 };
        self.bytes += (u64::from(categories) + of_words as u64) * ENTRY_BYTES;
        if self.bytes > MOST_BYTES {
            return Err(too_large(format!("{} sets over {categories} categories", tests.len())));
        }
        let x = self.value(feature);
        let word = |sets: &[u32], first: usize| {
            let bits = sets.iter().filter_map(|set| (*set as usize).checked_sub(first));
            let cleared = bits.filter(|bit| *bit < SETS_OF_WORD).fold(0_u32, |bits, bit| bits | 1 << bit);
            ColumnValue::I64((!cleared as i32).into())
        };
        let class = match words {
            1 => None,
            _ => {
                let classes = of_categories.iter().map(|class| ColumnValue::I64((*class).into()));
                let table = Arc::new(self.table(classes, ColumnValue::I64(0)));
                Some(self.columns.add(Expr::Table { of: x, table })?)
            }
        };
        for (group, first) in tests.chunks(SETS_OF_WORD).zip((0..).step_by(SETS_OF_WORD)) {
            let of = match class {
                Some(class) => {
                    let values = of_class.iter().map(|sets| word(sets, first)).collect();
                    self.columns.add(Expr::Pick { of: class, values })?
                }
                None => {
                    let sets = of_categories.iter().map(|class| of_class.get(*class as usize));
                    let values = sets.map(|sets| word(sets.map_or(&[], |sets| *sets), first));
                    let table = Arc::new(self.table(values, word(&[], first)));
                    self.columns.add(Expr::Table { of: x, table })?
                }
            };
            for (_, bit) in group.iter().zip(0..) {
                let bit = self.columns.add(Expr::Bit { of, bit })?;
                let float: ColumnType = self.float.into();
                let differs = self.columns.add(Expr::Unary(Unary::Cast(float), bit))?;
                tested.push(self.unless_missing(x, differs)?);
            }
        }
        Ok(())
    }
}

fn too_large(what: String) -> TablesTooLarge {
    TablesTooLarge { what, mebibytes: MOST_BYTES >> 20 }
}

impl fmt::Display for TablesTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} would need tables of more than {} MiB", self.what, self.mebibytes)
    }
}

impl std::error::Error for TablesTooLarge {}

impl From<OperandTypeError> for TablesTooLarge {
    /// Converts an error that does not occur, since columns of tests have the right types.
    fn from(error: OperandTypeError) -> TablesTooLarge {
        TablesTooLarge { what: error.to_string(), mebibytes: 0 }
    }
}
