//! Expressions: the operations that compute columns.

use crate::category_rule::CategoryRule;
use crate::float::Float;
use crate::ties::Ties;
use crate::trees::ColumnTrees;
use crate::value::{ColumnType, ColumnValue};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The number of a column among [`Columns`](crate::Columns). An expression names only columns with smaller
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub(crate) u32);

impl ColumnId {
    /// The column at an index.
    pub fn at(index: usize) -> ColumnId {
        ColumnId(index as u32)
    }

    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The operation that computes a column from features and from other columns of the same row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// The value of a feature, rounded to this type. A missing value is NaN.
    Input {
        /// Index of the feature.
        feature: u32,
        /// The type: `f32` or `f64`.
        float: Float,
    },
    /// One value for all rows.
    Const(ColumnValue),
    /// An operation on one column.
    Unary(Unary, ColumnId),
    /// An operation on two columns of one type.
    Binary(Binary, ColumnId, ColumnId),
    /// The value of `then` where `condition` is true, else that of `otherwise`.
    Select {
        /// A column of truth values.
        condition: ColumnId,
        /// The column for true.
        then: ColumnId,
        /// The column for false, of the type of `then`.
        otherwise: ColumnId,
    },
    /// The number of edges that a value reaches, an integer. NaN reaches no edge.
    Step {
        /// A column of floating-point numbers.
        of: ColumnId,
        /// The edges.
        edges: Arc<Edges>,
    },
    /// The entry of a table for a value's category.
    Table {
        /// A column of floating-point numbers.
        of: ColumnId,
        /// The table.
        table: Arc<CategoryTable>,
    },
    /// The constant at an index. An index below 0 selects the first constant, one beyond the end the last.
    Pick {
        /// A column of integers.
        of: ColumnId,
        /// The constants, at least one, of one type.
        values: Arc<[ColumnValue]>,
    },
    /// A weighted sum: a number plus the products of columns with constants, added in order. Each product and
    /// each sum is rounded.
    Dot {
        /// The number, of a floating-point type.
        start: ColumnValue,
        /// The terms, whose columns and constants are of the type of `start`.
        terms: Arc<[Term]>,
    },
    /// The sum of the squared differences between columns and constants, added to 0 in order. Each
    /// difference, square and sum is rounded.
    SquaredDistance {
        /// Columns of one floating-point type, at least one.
        of: Arc<[ColumnId]>,
        /// A constant for each column, of the type of the columns.
        point: Arc<[ColumnValue]>,
    },
    /// A number plus a leaf value of each tree, added in the order of the trees. Each sum is rounded.
    Trees {
        /// The operands that the trees test, of the type of thresholds.
        of: Arc<[ColumnId]>,
        /// The number, of the type of the sums.
        start: ColumnValue,
        /// The trees, which columns of other results share.
        trees: Arc<ColumnTrees>,
        /// The index, among the values of a leaf, of the value that is added.
        result: u32,
    },
    /// Whether a bit of an integer is set.
    Bit {
        /// A column of integers.
        of: ColumnId,
        /// The number of the bit, below 64; 0 is the lowest one.
        bit: u8,
    },
}

/// A term of a weighted sum: the product of a column with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// The column.
    pub column: ColumnId,
    /// The constant.
    pub weight: ColumnValue,
}

/// Operations on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// The value [in another type](ColumnValue::cast).
    Cast(ColumnType),
    /// The number with the other sign.
    Negate,
    /// The number without its sign.
    Abs,
    /// The square root, rounded to nearest.
    SquareRoot,
    /// [The exponential function](crate::functions).
    Exp,
    /// The exponential function minus 1, with all digits for small numbers.
    ExpMinusOne,
    /// The natural logarithm.
    Log,
    /// The natural logarithm of 1 plus the number, with all digits for small numbers.
    LogOnePlus,
    /// The hyperbolic tangent.
    Tanh,
    /// The logistic function, `1 / (1 + exp(-x))`.
    Logistic,
    /// The error function.
    Erf,
    /// The sine of an angle in radians; NaN for infinities.
    Sin,
    /// The cosine of an angle in radians; NaN for infinities.
    Cos,
    /// The largest whole number that is not above the value.
    Floor,
    /// The smallest whole number that is not below the value.
    Ceil,
    /// The nearest whole number, ties to even.
    Round,
    /// Whether a floating-point number is NaN.
    IsNan,
    /// The opposite truth value.
    Not,
}

/// Operations on two values of one type. Arithmetic rounds to nearest, ties to even.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// The sum.
    Add,
    /// The first value minus the second.
    Subtract,
    /// The product.
    Multiply,
    /// The first value divided by the second, of floating-point numbers.
    Divide,
    /// The first value to the power of the second, of floating-point numbers, by the rules of IEEE 754.
    Power,
    /// The smaller value; NaN if one is NaN.
    Min,
    /// The larger value; NaN if one is NaN.
    Max,
    /// Whether the first value is below the second. False if one is NaN.
    Less,
    /// Whether the first value is at most the second. False if one is NaN.
    LessOrEqual,
    /// Whether both numbers are equal. NaN equals nothing; -0 and 0 are equal.
    Equal,
    /// Whether both are true.
    And,
    /// Whether at least one is true.
    Or,
}

/// Ascending numbers that divide values into intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Edges {
    /// The numbers, ascending, without NaN.
    pub at: Vec<f64>,
    /// The interval to which a value on an edge belongs.
    pub ties: Ties,
}

impl Edges {
    /// The number of edges that a value reaches.
    pub fn reached_by(&self, value: f64) -> usize {
        self.at.partition_point(|edge| match self.ties {
            Ties::Above => *edge <= value,
            Ties::Below => *edge < value,
        })
    }
}

impl Eq for Edges {}

impl Hash for Edges {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ties.hash(state);
        self.at.iter().for_each(|edge| (edge + 0.0).to_bits().hash(state));
    }
}

/// A table with a value for each category.
#[derive(Clone, Debug)]
pub struct CategoryTable {
    /// The rule that finds the category of a value.
    pub rule: CategoryRule,
    /// The values of the categories from 0 on, of one type.
    pub values: Vec<ColumnValue>,
    /// The value of all other numbers.
    pub other: ColumnValue,
    /// The value of NaN.
    pub missing: ColumnValue,
}

impl CategoryTable {
    /// The entry for a value.
    pub fn look_up(&self, value: f64) -> ColumnValue {
        if value.is_nan() {
            return self.missing;
        }
        let entry = self.rule.category(value).and_then(|category| self.values.get(category as usize));
        entry.copied().unwrap_or(self.other)
    }

    /// The type of the entries, if all have one type.
    pub fn column_type(&self) -> Option<ColumnType> {
        let column_type = self.other.column_type();
        let entries = self.values.iter().chain([&self.missing]);
        entries.into_iter().all(|value| value.column_type() == column_type).then_some(column_type)
    }

    /// The rule as numbers, for the comparison of tables.
    fn rule_key(&self) -> (u8, u64) {
        match self.rule {
            CategoryRule::Truncated => (0, 0),
            CategoryRule::Positive { below } => (1, below.to_bits()),
            CategoryRule::Whole => (2, 0),
        }
    }
}

impl PartialEq for CategoryTable {
    fn eq(&self, other: &CategoryTable) -> bool {
        self.rule_key() == other.rule_key()
            && (self.other, self.missing) == (other.other, other.missing)
            && self.values == other.values
    }
}

impl Eq for CategoryTable {}

impl Hash for CategoryTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.rule_key(), self.other, self.missing, &self.values).hash(state);
    }
}
