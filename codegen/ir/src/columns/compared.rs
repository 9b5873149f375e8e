//! Columns whose rounding errors can change a result by any amount.
//!
//! Most operations keep a small difference of their operand small. A comparison does not: a value on the
//! other side of a threshold leads a row to another leaf. Sums that no comparison reads, directly or through
//! other columns, may add their terms in any order. The condition of an activation such as ReLU does not
//! count: both of its sides have the same value at the threshold.

use super::ranges::range;
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, Unary};
use sched_forest::{Output, Transform};
use std::collections::{HashMap, HashSet};

/// Most operations of the sides of a condition that are evaluated at the threshold.
const MOST_OPERATIONS: usize = 32;

/// Largest [loss](Differences::losses) of a column in single and in double precision, in units of rounding
/// errors of a sum near 1. The difference is then at most 1e-5 and 1e-7.
const MOST_LOSS: [f64; 2] = [128.0, (1_u64 << 30) as f64];

/// The columns among `needed` that a step compares, or whose differences a step can enlarge by any factor,
/// directly or through other columns. Each of `needed` comes after the columns that it reads. `tested` are
/// the columns that the last trees test.
pub(super) fn compared_columns(
    columns: &Columns,
    needed: &[ColumnId],
    tested: impl Iterator<Item = ColumnId>,
) -> HashSet<ColumnId> {
    let is_sum = |expr: &Expr| expr.is_sum();
    Differences::of(columns, needed, is_sum).compared(needed, tested)
}

/// Whether a step from margins to predictions can turn a small difference of margins into another one. Labels
/// do not count: they may change where the best scores are nearly equal.
pub(super) fn predictions_jump(output: &Output) -> bool {
    let is_margin = |expr: &Expr| matches!(expr, Expr::Input { .. });
    output.value.iter().any(|step| match step {
        Transform::Columns(of) => {
            let needed = of.columns.needed_for(&of.results);
            let differences = Differences::of(&of.columns, &needed, is_margin);
            let compared = differences.compared(&needed, std::iter::empty());
            compared.into_iter().any(|column| is_margin(of.columns.expr(column)))
        }
        _ => false,
    })
}

/// The differences of columns that rounding errors of sums cause.
struct Differences<'a> {
    columns: &'a Columns,
    /// For each column that depends on a sum, a bound of its difference in units of the rounding errors of
    /// sums, if columns that depend on sums are near 1: factors and weights enlarge it, and an added number
    /// rounds the column to a multiple of its own rounding error.
    losses: HashMap<ColumnId, f64>,
}

impl<'a> Differences<'a> {
    /// The differences of `needed` columns. Those whose expression `is_source` differ by rounding.
    fn of(columns: &'a Columns, needed: &[ColumnId], is_source: impl Fn(&Expr) -> bool) -> Differences<'a> {
        let mut all = Differences { columns, losses: HashMap::new() };
        for column in needed {
            let inherited = all.inherited_loss(*column);
            let loss = match is_source(columns.expr(*column)) {
                true => Some(inherited.unwrap_or(0.0).max(1.0)),
                false => inherited,
            };
            all.losses.extend(loss.map(|loss| (*column, loss)));
        }
        all
    }

    /// The loss of a column that its operands cause; `None` if none of them depends on a sum.
    fn inherited_loss(&self, column: ColumnId) -> Option<f64> {
        let expr = self.columns.expr(column);
        let loss = |operand: &ColumnId| self.losses.get(operand).copied();
        if !expr.operands().any(|operand| loss(&operand).is_some()) {
            return None;
        }
        // Of an operand, the loss, or the size if it does not depend on a sum.
        let size = |operand: &ColumnId| range(self.columns, *operand).largest_size();
        let added = |operand: &ColumnId| loss(operand).unwrap_or_else(|| size(operand));
        Some(match expr {
            Expr::Dot { start, terms } => {
                let enlarged = |weight: f64, of: &ColumnId| loss(of).map_or(0.0, |loss| loss * weight.abs());
                let terms = terms.iter().map(|term| enlarged(term.weight.to_f64(), &term.column));
                terms.sum::<f64>() + start.to_f64().abs()
            }
            Expr::SquaredDistance { of, point } => {
                let slope = |at: &ColumnValue| 2.0 * (1.0 + at.to_f64().abs());
                of.iter().zip(point.iter()).map(|(of, at)| loss(of).unwrap_or(0.0) * slope(at)).sum()
            }
            Expr::Binary(Binary::Add | Binary::Subtract, x, y) => added(x) + added(y),
            Expr::Binary(Binary::Multiply, x, y) => match (loss(x), loss(y)) {
                (Some(x), Some(y)) => x + y,
                (Some(loss), None) => loss * size(y),
                (None, Some(loss)) => loss * size(x),
                (None, None) => 0.0,
            },
            Expr::Binary(Binary::Divide, x, y) => match (loss(x), loss(y)) {
                (of_x, Some(y)) => of_x.unwrap_or_else(|| size(x)) + y,
                (Some(loss), None) => loss / range(self.columns, *y).smallest_size(),
                (None, None) => 0.0,
            },
            _ => expr.operands().filter_map(|operand| loss(&operand)).fold(0.0, f64::max),
        })
    }

    /// The columns that a step compares; see [`compared_columns`].
    fn compared(&self, needed: &[ColumnId], tested: impl Iterator<Item = ColumnId>) -> HashSet<ColumnId> {
        let mut compared: HashSet<ColumnId> = tested.collect();
        for column in needed.iter().rev() {
            if compared.contains(column) || !self.stay_small(*column) {
                compared.extend(self.columns.expr(*column).operands());
            }
        }
        compared
    }

    /// Whether a small difference of the operands, relative to the terms of the sums that they come from,
    /// leads to a small difference of the column.
    fn stay_small(&self, column: ColumnId) -> bool {
        let columns = self.columns;
        let expr = columns.expr(column);
        let differs = |operand: ColumnId| self.losses.contains_key(&operand);
        let own = columns.column_type(column);
        // The readers of a truth value decide whether it matters.
        if own == ColumnType::Bool || !expr.operands().any(differs) {
            return true;
        }
        let precision = usize::from(own == ColumnType::F64);
        let loss = self.losses.get(&column).copied().unwrap_or(1.0);
        if loss.is_nan() || loss > MOST_LOSS[precision] {
            return false;
        }
        let is_distance = |other: &ColumnId| matches!(columns.expr(*other), Expr::SquaredDistance { .. });
        match expr {
            Expr::Input { .. } | Expr::Const(_) | Expr::Dot { .. } | Expr::SquaredDistance { .. } => true,
            Expr::Unary(op, of) => match op {
                Unary::Cast(to) => to.is_float() && columns.column_type(*of).is_float(),
                Unary::Negate | Unary::Abs | Unary::Tanh | Unary::Logistic | Unary::Erf => true,
                Unary::Sin | Unary::Cos => true,
                // Sums of squares do not cancel, and the root of one has half of its relative error.
                Unary::SquareRoot => is_distance(of),
                // An exponential's relative error is the error of its operand, which can be large.
                Unary::Exp | Unary::ExpMinusOne => {
                    own == ColumnType::F64 || range(columns, *of).greatest <= 0.0
                }
                Unary::LogOnePlus => range(columns, *of).least >= 0.0,
                Unary::Log => range(columns, *of).least >= 1.0,
                Unary::Floor | Unary::Ceil | Unary::Round | Unary::IsNan | Unary::Not => false,
            },
            Expr::Binary(op, _, y) => match op {
                Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Min | Binary::Max => true,
                // The loss has divisors that do not depend on a sum.
                Binary::Divide => !differs(*y) || range(columns, *y).least >= 1.0,
                Binary::Power
                | Binary::Less
                | Binary::LessOrEqual
                | Binary::Equal
                | Binary::And
                | Binary::Or => false,
            },
            Expr::Select { condition, then, otherwise } => {
                !differs(*condition) || is_continuous(columns, *condition, [*then, *otherwise])
            }
            Expr::Step { .. }
            | Expr::Table { .. }
            | Expr::Pick { .. }
            | Expr::Trees { .. }
            | Expr::Bit { .. } => false,
        }
    }
}

/// Whether the sides of a condition have the same value where the condition changes. The condition compares a
/// column with a constant, and the sides depend on that column alone.
fn is_continuous(columns: &Columns, condition: ColumnId, sides: [ColumnId; 2]) -> bool {
    let Expr::Binary(Binary::Less | Binary::LessOrEqual, x, y) = columns.expr(condition) else {
        return false;
    };
    let (compared, threshold) = match (columns.expr(*x), columns.expr(*y)) {
        (_, Expr::Const(threshold)) => (*x, *threshold),
        (Expr::Const(threshold), _) => (*y, *threshold),
        _ => return false,
    };
    let mut budget = MOST_OPERATIONS;
    let mut at_threshold = |side| value_at(columns, side, (compared, threshold), &mut budget);
    match sides.map(&mut at_threshold) {
        // Later steps may enlarge the least jump.
        [Some(one), Some(other)] => one.to_f64() == other.to_f64(),
        _ => false,
    }
}

/// The value of a column where another one has a given value. `None` if the column depends on more than that,
/// or on more operations than the budget allows.
fn value_at(
    columns: &Columns,
    column: ColumnId,
    given: (ColumnId, ColumnValue),
    budget: &mut usize,
) -> Option<ColumnValue> {
    if column == given.0 {
        return Some(given.1);
    }
    *budget = budget.checked_sub(1)?;
    let expr = columns.expr(column);
    if matches!(expr, Expr::Input { .. }) {
        return None;
    }
    let operands: Vec<ColumnId> = expr.operands().collect();
    let values: Option<Vec<ColumnValue>> =
        operands.iter().map(|operand| value_at(columns, *operand, given, budget)).collect();
    let values = values?;
    let of = |operand: ColumnId| {
        let at = operands.iter().position(|other| *other == operand);
        at.map_or(ColumnValue::F64(f64::NAN), |at| values[at])
    };
    Some(Columns::value(expr, &[], of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_columns::{Float, Term};

    /// A sum of two features, the columns that `read` makes of it, and whether the sum counts as compared.
    fn is_compared(read: impl FnOnce(&mut Columns, ColumnId) -> ColumnId) -> bool {
        let mut columns = Columns::default();
        let term = |column| Term { column, weight: ColumnValue::F64(2.0) };
        let terms = [0, 1].map(|feature| term(columns.input(feature, Float::F64)));
        let sum = columns.add(Expr::Dot { start: ColumnValue::F64(1.0), terms: terms.into() }).unwrap();
        let read = read(&mut columns, sum);
        let needed = columns.needed_for(&[read]);
        compared_columns(&columns, &needed, std::iter::empty()).contains(&sum)
    }

    fn number(columns: &mut Columns, x: f64) -> ColumnId {
        columns.constant(ColumnValue::F64(x))
    }

    /// `low` times the sum below the threshold, else the sum.
    fn leaky(columns: &mut Columns, sum: ColumnId, (low, threshold): (f64, f64)) -> ColumnId {
        let [low, threshold] = [low, threshold].map(|x| number(columns, x));
        let then = columns.add(Expr::Binary(Binary::Multiply, sum, low)).unwrap();
        let condition = columns.add(Expr::Binary(Binary::Less, sum, threshold)).unwrap();
        columns.add(Expr::Select { condition, then, otherwise: sum }).unwrap()
    }

    #[test]
    fn activations_compare_nothing() {
        assert!(!is_compared(|_, sum| sum));
        assert!(!is_compared(|columns, sum| columns.add(Expr::Unary(Unary::Tanh, sum)).unwrap()));
        assert!(!is_compared(|columns, sum| leaky(columns, sum, (0.0, 0.0))));
        assert!(!is_compared(|columns, sum| leaky(columns, sum, (0.01, 0.0))));
    }

    #[test]
    fn jumps_are_comparisons() {
        assert!(is_compared(|columns, sum| leaky(columns, sum, (0.0, 1.0))));
        assert!(is_compared(|columns, sum| leaky(columns, sum, (1.0 - 1e-15, 1.0))));
        assert!(is_compared(|columns, sum| columns.add(Expr::Unary(Unary::Floor, sum)).unwrap()));
        assert!(is_compared(|columns, sum| {
            let zero = number(columns, 0.0);
            let is_below = columns.add(Expr::Binary(Binary::Less, sum, zero)).unwrap();
            columns.cast(is_below, ColumnType::F64).unwrap()
        }));
        assert!(is_compared(|columns, sum| {
            let one = number(columns, 1.0);
            columns.add(Expr::Binary(Binary::Divide, one, sum)).unwrap()
        }));
    }

    fn with(columns: &mut Columns, op: Binary, x: ColumnId, by: f64) -> ColumnId {
        let by = number(columns, by);
        columns.add(Expr::Binary(op, x, by)).unwrap()
    }

    #[test]
    fn large_constants_enlarge_differences() {
        let is_enlarged = |op, by| is_compared(|columns, sum| with(columns, op, sum, by));
        for (op, large, small) in [
            (Binary::Multiply, 1e20, 1e6),
            (Binary::Divide, 1e-20, 1e-6),
            (Binary::Add, 1.5 * 2_f64.powi(52), 1e6),
            (Binary::Subtract, f64::INFINITY, 3.0),
        ] {
            assert!(is_enlarged(op, large) && !is_enlarged(op, small), "{op:?}");
        }
        assert!(is_enlarged(Binary::Divide, 0.0) && is_enlarged(Binary::Multiply, f64::NAN));
        let twice = |first: f64, second: f64| {
            is_compared(|columns, sum| {
                let product = with(columns, Binary::Multiply, sum, first);
                let tanh = columns.add(Expr::Unary(Unary::Tanh, product)).unwrap();
                with(columns, Binary::Multiply, tanh, second)
            })
        };
        assert!(twice(1e6, 1e6) && !twice(1e6, 1e-6));
        let rounded = |scale: f64| {
            is_compared(|columns, sum| {
                let small = with(columns, Binary::Multiply, sum, scale);
                let large = with(columns, Binary::Add, small, 2_f64.powi(28));
                with(columns, Binary::Divide, large, scale)
            })
        };
        assert!(rounded(2_f64.powi(-24)) && !rounded(1.0));
    }

    #[test]
    fn weights_and_operands_enlarge_differences() {
        let weighted = |weight: f64, start: f64| {
            is_compared(|columns, sum| {
                let terms = [Term { column: sum, weight: ColumnValue::F64(weight) }];
                columns.add(Expr::Dot { start: ColumnValue::F64(start), terms: terms.into() }).unwrap()
            })
        };
        assert!(weighted(1e20, 0.0) && weighted(1.0, 1e16) && weighted(f64::INFINITY, 0.0));
        assert!(!weighted(1e3, -1e3));
        let doubled = |times: u32| {
            is_compared(|columns, sum| {
                (0..times).fold(sum, |x, _| columns.add(Expr::Binary(Binary::Add, x, x)).unwrap())
            })
        };
        assert!(doubled(40) && !doubled(4));
        let times_feature = |op: Binary| {
            is_compared(|columns, sum| {
                let other = columns.input(2, Float::F64);
                columns.add(Expr::Binary(op, sum, other)).unwrap()
            })
        };
        assert!([Binary::Multiply, Binary::Add, Binary::Divide].into_iter().all(times_feature));
        let times_condition = |large: f64| {
            is_compared(|columns, sum| {
                let (other, zero) = (columns.input(2, Float::F64), number(columns, 0.0));
                let condition = columns.add(Expr::Binary(Binary::Less, other, zero)).unwrap();
                let (then, otherwise) = (number(columns, large), number(columns, 1.0));
                let factor = columns.add(Expr::Select { condition, then, otherwise }).unwrap();
                columns.add(Expr::Binary(Binary::Multiply, sum, factor)).unwrap()
            })
        };
        assert!(times_condition(1e20) && !times_condition(-3.0));
    }

    #[test]
    fn logarithms_and_quotients_of_large_operands_are_harmless() {
        let softplus = |columns: &mut Columns, sum| {
            let size = columns.add(Expr::Unary(Unary::Abs, sum)).unwrap();
            let negative = columns.add(Expr::Unary(Unary::Negate, size)).unwrap();
            let power = columns.add(Expr::Unary(Unary::Exp, negative)).unwrap();
            columns.add(Expr::Unary(Unary::LogOnePlus, power)).unwrap()
        };
        assert!(!is_compared(softplus));
        assert!(is_compared(|columns, sum| columns.add(Expr::Unary(Unary::LogOnePlus, sum)).unwrap()));
        let softsign = |from: f64| {
            move |columns: &mut Columns, sum| {
                let size = columns.add(Expr::Unary(Unary::Abs, sum)).unwrap();
                let more = with(columns, Binary::Add, size, from);
                columns.add(Expr::Binary(Binary::Divide, sum, more)).unwrap()
            }
        };
        assert!(!is_compared(softsign(1.0)) && is_compared(softsign(1e-9)));
    }

    #[test]
    fn conditions_on_features_do_not_matter() {
        assert!(!is_compared(|columns, sum| {
            let (zero, other) = (number(columns, 0.0), columns.input(2, Float::F64));
            let condition = columns.add(Expr::Binary(Binary::Less, other, zero)).unwrap();
            columns.add(Expr::Select { condition, then: zero, otherwise: sum }).unwrap()
        }));
    }

    #[test]
    fn sides_that_depend_on_more_than_the_sum_may_jump() {
        assert!(is_compared(|columns, sum| {
            let (zero, other) = (number(columns, 0.0), columns.input(2, Float::F64));
            let condition = columns.add(Expr::Binary(Binary::LessOrEqual, sum, zero)).unwrap();
            columns.add(Expr::Select { condition, then: other, otherwise: sum }).unwrap()
        }));
    }
}
