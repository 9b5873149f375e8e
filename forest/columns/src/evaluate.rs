//! The evaluation of columns in plain loops, which defines their values.

use crate::columns::Columns;
use crate::expr::{Binary, ColumnId, Expr, Unary};
use crate::float::Float;
use crate::functions;
use crate::trees::ColumnTrees;
use crate::value::{ColumnType, ColumnValue};
use std::collections::{BTreeSet, HashMap};

/// Applies an operation on floating-point numbers in the type of its operand.
macro_rules! on_float {
    ($x:expr, $f:expr) => {
        match $x {
            ColumnValue::F32(x) => ColumnValue::F32($f(x.into()) as f32),
            ColumnValue::F64(x) => ColumnValue::F64($f(x)),
            other => other,
        }
    };
}

/// Applies an arithmetic operation on two numbers in the type of its operands.
macro_rules! arithmetic {
    ($x:expr, $y:expr, $float:tt, $whole:ident) => {
        match ($x, $y) {
            (ColumnValue::F32(x), ColumnValue::F32(y)) => ColumnValue::F32(x $float y),
            (ColumnValue::F64(x), ColumnValue::F64(y)) => ColumnValue::F64(x $float y),
            (ColumnValue::I64(x), ColumnValue::I64(y)) => ColumnValue::I64(x.$whole(y)),
            (x, _) => x,
        }
    };
}

impl Columns {
    /// The values of the `wanted` columns for a row. A feature beyond the end of the row is missing.
    pub fn evaluate(&self, wanted: &[ColumnId], row: &[f64]) -> Vec<ColumnValue> {
        let mut values: Vec<Option<ColumnValue>> = vec![None; self.len()];
        for column in self.needed_for(wanted) {
            let of = |operand: ColumnId| values[operand.index()].unwrap_or(ColumnValue::F64(f64::NAN));
            values[column.index()] = Some(Self::value(self.expr(column), row, of));
        }
        wanted.iter().filter_map(|column| values[column.index()]).collect()
    }

    /// The value of a column that depends on no feature; `None` for other columns.
    pub fn constant_value(&self, column: ColumnId) -> Option<ColumnValue> {
        let (mut needed, mut open) = (BTreeSet::new(), vec![column]);
        while let Some(column) = open.pop() {
            if matches!(self.expr(column), Expr::Input { .. }) {
                return None;
            }
            if needed.insert(column) {
                open.extend(self.expr(column).operands());
            }
        }
        let mut values: HashMap<ColumnId, ColumnValue> = HashMap::new();
        for column in needed {
            let of = |operand| values.get(&operand).copied().unwrap_or(ColumnValue::F64(f64::NAN));
            values.insert(column, Self::value(self.expr(column), &[], of));
        }
        values.remove(&column)
    }

    /// The value of an expression for a row, given the values of the columns that it reads.
    pub fn value(expr: &Expr, row: &[f64], operand: impl Fn(ColumnId) -> ColumnValue) -> ColumnValue {
        let of = |column: &ColumnId| operand(*column);
        match expr {
            Expr::Input { feature, float } => {
                let value = row.get(*feature as usize).copied().unwrap_or(f64::NAN);
                ColumnValue::F64(value).cast((*float).into())
            }
            Expr::Const(value) => *value,
            Expr::Unary(op, x) => op.apply(of(x)),
            Expr::Binary(op, x, y) => op.apply(of(x), of(y)),
            Expr::Select { condition, then, otherwise } => {
                if of(condition).is_true() {
                    of(then)
                } else {
                    of(otherwise)
                }
            }
            Expr::Step { of: x, edges } => ColumnValue::I64(edges.reached_by(of(x).to_f64()) as i64),
            Expr::Table { of: x, table } => table.look_up(of(x).to_f64()),
            Expr::Pick { of: x, values } => {
                let last = values.len().saturating_sub(1);
                let index = usize::try_from(of(x).to_i64().max(0)).unwrap_or(last).min(last);
                values.get(index).copied().unwrap_or(ColumnValue::F64(f64::NAN))
            }
            Expr::Dot { start, terms } => terms.iter().fold(*start, |sum, term| {
                let product = Binary::Multiply.apply(of(&term.column), term.weight);
                Binary::Add.apply(sum, product)
            }),
            Expr::SquaredDistance { of: columns, point } => squared_distance(columns, point, of),
            Expr::Trees { of: operands, start, trees, result } => {
                sum_of_trees(trees, (*start, *result), |number| of(&operands[number]).to_f64())
            }
            Expr::Bit { of: x, bit } => ColumnValue::Bool(of(x).to_i64() >> (bit & 63) & 1 == 1),
        }
    }
}

/// A number plus the chosen value of one leaf of each tree. `operand` gives the value of an operand, widened.
fn sum_of_trees(
    trees: &ColumnTrees,
    (start, result): (ColumnValue, u32),
    operand: impl Fn(usize) -> f64,
) -> ColumnValue {
    let shared = trees.shared_properties();
    trees.trees().iter().fold(start, |sum, tree| {
        let first = tree.leaf(shared.ties, &operand) as usize * shared.results as usize;
        let value = tree.values.get(first + result as usize).copied().unwrap_or(f64::NAN);
        Binary::Add.apply(sum, ColumnValue::F64(value).cast(shared.sum_type.into()))
    })
}

/// The sum of the squared differences between columns and a point.
fn squared_distance(
    columns: &[ColumnId],
    point: &[ColumnValue],
    of: impl Fn(&ColumnId) -> ColumnValue,
) -> ColumnValue {
    let column_type = point.first().map_or(ColumnType::F64, |first| first.column_type());
    let zero = ColumnValue::F64(0.0).cast(column_type);
    columns.iter().zip(point).fold(zero, |sum, (column, at)| {
        let difference = Binary::Subtract.apply(of(column), *at);
        Binary::Add.apply(sum, Binary::Multiply.apply(difference, difference))
    })
}

impl Unary {
    /// The value of the operation. The operands must have types that it accepts.
    pub fn apply(self, x: ColumnValue) -> ColumnValue {
        match self {
            Unary::Cast(to) => x.cast(to),
            Unary::Negate => match x {
                ColumnValue::I64(x) => ColumnValue::I64(x.wrapping_neg()),
                x => on_float!(x, |x: f64| -x),
            },
            Unary::Abs => match x {
                ColumnValue::I64(x) => ColumnValue::I64(x.wrapping_abs()),
                x => on_float!(x, f64::abs),
            },
            // For singles, a square root computed in double precision and rounded is the correctly rounded
            // single.
            Unary::SquareRoot
            | Unary::Exp
            | Unary::ExpMinusOne
            | Unary::Log
            | Unary::LogOnePlus
            | Unary::Tanh
            | Unary::Logistic
            | Unary::Erf
            | Unary::Sin
            | Unary::Cos => function(self, x),
            Unary::Floor => on_float!(x, f64::floor),
            Unary::Ceil => on_float!(x, f64::ceil),
            Unary::Round => on_float!(x, f64::round_ties_even),
            Unary::IsNan => ColumnValue::Bool(x.is_nan()),
            Unary::Not => ColumnValue::Bool(!x.is_true()),
        }
    }
}

impl Binary {
    /// The value of the operation. The operands must have types that it accepts.
    pub fn apply(self, x: ColumnValue, y: ColumnValue) -> ColumnValue {
        match self {
            Binary::Add => arithmetic!(x, y, +, wrapping_add),
            Binary::Subtract => arithmetic!(x, y, -, wrapping_sub),
            Binary::Multiply => arithmetic!(x, y, *, wrapping_mul),
            Binary::Divide => match (x, y) {
                (ColumnValue::F32(x), ColumnValue::F32(y)) => ColumnValue::F32(x / y),
                (ColumnValue::F64(x), ColumnValue::F64(y)) => ColumnValue::F64(x / y),
                (x, _) => x,
            },
            Binary::Power => match (x, y) {
                (ColumnValue::F32(x), ColumnValue::F32(y)) => {
                    ColumnValue::F32(functions::power(Float::F32, f64::from(x), f64::from(y)) as f32)
                }
                (ColumnValue::F64(x), ColumnValue::F64(y)) => {
                    ColumnValue::F64(functions::power(Float::F64, x, y))
                }
                (x, _) => x,
            },
            Binary::Min if x.is_nan() || below(x, y) => x,
            Binary::Max if x.is_nan() || below(y, x) => x,
            Binary::Min | Binary::Max => y,
            Binary::Less => ColumnValue::Bool(below(x, y)),
            Binary::LessOrEqual => ColumnValue::Bool(below(x, y) || equal(x, y)),
            Binary::Equal => ColumnValue::Bool(equal(x, y)),
            Binary::And => ColumnValue::Bool(x.is_true() && y.is_true()),
            Binary::Or => ColumnValue::Bool(x.is_true() || y.is_true()),
        }
    }
}

/// The value of a function, in the type of its argument.
fn function(op: Unary, x: ColumnValue) -> ColumnValue {
    match x {
        ColumnValue::F32(of) => {
            functions::unary(op, Float::F32, f64::from(of)).map_or(x, |value| ColumnValue::F32(value as f32))
        }
        ColumnValue::F64(of) => functions::unary(op, Float::F64, of).map_or(x, ColumnValue::F64),
        other => other,
    }
}

fn below(x: ColumnValue, y: ColumnValue) -> bool {
    match (x, y) {
        (ColumnValue::I64(x), ColumnValue::I64(y)) => x < y,
        _ => x.to_f64() < y.to_f64(),
    }
}

fn equal(x: ColumnValue, y: ColumnValue) -> bool {
    match (x, y) {
        (ColumnValue::I64(x), ColumnValue::I64(y)) => x == y,
        (ColumnValue::Bool(x), ColumnValue::Bool(y)) => x == y,
        _ => x.to_f64() == y.to_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::category_rule::CategoryRule;
    use crate::expr::{CategoryTable, Edges, Term};
    use crate::ties::Ties;
    use std::sync::Arc;

    /// The value of one expression of feature 0, in double precision.
    fn value(expr: impl FnOnce(ColumnId) -> Expr, x: f64) -> ColumnValue {
        let mut columns = Columns::default();
        let input = columns.input(0, Float::F64);
        let column = columns.add(expr(input)).expect("an expression of a double");
        columns.evaluate(&[column], &[x]).remove(0)
    }

    #[test]
    fn each_operation_rounds_in_its_own_type() {
        let mut columns = Columns::default();
        let x = columns.input(0, Float::F32);
        let third = columns.constant(ColumnValue::F32(1.0 / 3.0));
        let product = columns.add(Expr::Binary(Binary::Multiply, x, third)).expect("two singles");
        let wide = columns.add(Expr::Unary(Unary::Cast(ColumnType::F64), product)).expect("a number");
        let values = columns.evaluate(&[product, wide], &[0.1]);
        let expected = 0.1_f32 * (1.0 / 3.0);
        assert_eq!(values, [ColumnValue::F32(expected), ColumnValue::F64(expected.into())]);
    }

    #[test]
    fn columns_without_features_are_constants() {
        let mut columns = Columns::default();
        let x = columns.input(0, Float::F64);
        let mut sum = columns.constant(ColumnValue::F64(1.0));
        for _ in 0..60 {
            sum = columns.add(Expr::Binary(Binary::Add, sum, sum)).expect("two doubles");
        }
        let product = columns.add(Expr::Binary(Binary::Multiply, sum, x)).expect("two doubles");
        assert_eq!(columns.constant_value(sum), Some(ColumnValue::F64(2f64.powi(60))));
        assert_eq!(columns.constant_value(product), None);
        assert_eq!(columns.constant_value(x), None);
    }

    #[test]
    fn missing_features_are_nan() {
        let mut columns = Columns::default();
        let absent = columns.input(7, Float::F64);
        let is_nan = columns.add(Expr::Unary(Unary::IsNan, absent)).expect("a number");
        let filler = columns.constant(ColumnValue::F64(4.0));
        let select = Expr::Select { condition: is_nan, then: filler, otherwise: absent };
        let filled = columns.add(select).expect("two doubles");
        assert_eq!(
            columns.evaluate(&[filled, is_nan], &[1.0]),
            [ColumnValue::F64(4.0), ColumnValue::Bool(true)]
        );
    }

    #[test]
    fn nan_is_neither_below_nor_equal() {
        let nan = |op| value(|x| Expr::Binary(op, x, x), f64::NAN);
        for op in [Binary::Less, Binary::LessOrEqual, Binary::Equal] {
            assert_eq!(nan(op), ColumnValue::Bool(false), "{op:?}");
        }
        assert!(nan(Binary::Min).is_nan() && nan(Binary::Max).is_nan());
    }

    #[test]
    fn steps_count_edges() {
        let step = |ties, x| {
            let edges = Arc::new(Edges { at: vec![-1.0, 0.0, 2.5], ties });
            value(|of| Expr::Step { of, edges }, x)
        };
        let cases =
            [(-2.0, 0, 0), (-1.0, 1, 0), (-0.0, 2, 1), (2.0, 2, 2), (f64::INFINITY, 3, 3), (f64::NAN, 0, 0)];
        for (x, above, below) in cases {
            assert_eq!(step(Ties::Above, x), ColumnValue::I64(above), "{x}");
            assert_eq!(step(Ties::Below, x), ColumnValue::I64(below), "{x}");
        }
    }

    #[test]
    fn sums_round_each_step() {
        let term = |column| Term { column, weight: ColumnValue::F64(0.1) };
        let dot = |of| Expr::Dot { start: ColumnValue::F64(0.3), terms: [term(of), term(of)].into() };
        assert_eq!(value(dot, 3.0), ColumnValue::F64(0.3 + 0.1 * 3.0 + 0.1 * 3.0));
        let mut columns = Columns::default();
        let single = columns.input(0, Float::F32);
        assert!(columns.add(dot(single)).is_err());
    }

    #[test]
    fn distances_round_each_step() {
        let mut columns = Columns::default();
        let [x, y] = [0, 1].map(|feature| columns.input(feature, Float::F32));
        let of: Arc<[ColumnId]> = [x, y].into();
        let point = |at: f32| [ColumnValue::F32(at), ColumnValue::F32(-1.0)].into();
        let distance = Expr::SquaredDistance { of: Arc::clone(&of), point: point(0.1) };
        let distance = columns.add(distance).expect("columns of one type");
        let (dx, dy) = (3.0 - 0.1_f32, 0.7_f32 + 1.0);
        let expected = ColumnValue::F32(dx * dx + dy * dy);
        assert_eq!(columns.evaluate(&[distance], &[3.0, 0.7]), [expected]);
        let wide = columns.input(0, Float::F64);
        for of in [vec![x], vec![x, wide], vec![wide, wide], Vec::new()] {
            assert!(columns.add(Expr::SquaredDistance { of: of.into(), point: point(0.1) }).is_err());
        }
    }

    #[test]
    fn integers_pick_constants_and_have_bits() {
        let values: Arc<[ColumnValue]> = [4.0, 5.0, 6.0].map(ColumnValue::F32).into();
        for (x, picked, is_odd) in [(-3.0, 4.0, true), (0.0, 4.0, false), (1.9, 5.0, true), (7.0, 6.0, true)]
        {
            let mut columns = Columns::default();
            let input = columns.input(0, Float::F64);
            let of = columns.add(Expr::Unary(Unary::Cast(ColumnType::I64), input)).expect("a number");
            let pick = columns.add(Expr::Pick { of, values: Arc::clone(&values) }).expect("an integer");
            let bit = columns.add(Expr::Bit { of, bit: 0 }).expect("an integer");
            let expected = [ColumnValue::F32(picked), ColumnValue::Bool(is_odd)];
            assert_eq!(columns.evaluate(&[pick, bit], &[x]), expected, "{x}");
        }
    }

    #[test]
    fn tables_have_entries_for_other_and_missing_values() {
        let table = CategoryTable {
            rule: CategoryRule::Whole,
            values: vec![ColumnValue::F32(10.0), ColumnValue::F32(11.0)],
            other: ColumnValue::F32(-1.0),
            missing: ColumnValue::F32(f32::NAN),
        };
        let table = Arc::new(table);
        let cases = [(0.0, 10.0), (1.0, 11.0), (2.0, -1.0), (0.5, -1.0), (f64::NAN, f32::NAN)];
        for (x, expected) in cases {
            let table = Arc::clone(&table);
            assert_eq!(value(|of| Expr::Table { of, table }, x), ColumnValue::F32(expected), "{x}");
        }
    }
}
