//! Bounds of the changes of results that a difference of a column causes.
//!
//! A step whose slope has a bound enlarges differences by at most that factor, whatever the rows. Other steps,
//! such as a product of two sums, may enlarge them by any factor.

use super::exponentials::Readers;
use super::ranges::range;
use super::sizes::{ColumnSizes, larger, times};
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, Unary};
use std::collections::HashMap;

/// Rounding errors of doubles in a rounding error of single precision.
const SINGLE_ROUNDING: f64 = (1_u64 << 29) as f64;

/// Largest [effect](DifferenceGain) of rounding in double precision: a change by 1e-6.
const MOST_OF_DOUBLES: f64 = 1e-6 * (1_u64 << 53) as f64;

/// Largest [effect](DifferenceGain) of rounding in single precision: a change by 1e-5.
const MOST_OF_SINGLES: f64 = 1e-5 * (1_u64 << 53) as f64;

/// Largest power of e that counts as bounded: that of 1.
const MOST_POWER: f64 = std::f64::consts::E;

/// Most operations of the sides of a condition that are evaluated at the threshold.
const MOST_OPERATIONS: usize = 32;

/// The changes of results that a column's difference causes. The effects are bounds of the results' changes,
/// in rounding errors of a double near 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DifferenceGain {
    /// Factor from a difference of the column to that of the results. Infinite if it has no bound.
    pub factor: f64,
    /// Largest effect of the roundings in double precision of one column, this one or a later one.
    doubles: f64,
    /// Largest effect of the roundings in single precision of one column.
    singles: f64,
}

impl DifferenceGain {
    /// The gain of a column whose difference changes results `factor` times as much.
    pub fn of(factor: f64) -> DifferenceGain {
        DifferenceGain { factor, ..DifferenceGain::default() }
    }

    /// The gain with the effect of rounding the column itself, which has a type and a magnitude, `count`
    /// times.
    #[must_use]
    pub fn with_roundings(self, own: ColumnType, size: f64, count: usize) -> DifferenceGain {
        let effect = times(self.factor, size) * count as f64;
        match own {
            ColumnType::F64 => DifferenceGain { doubles: larger(self.doubles, effect), ..self },
            ColumnType::F32 => {
                DifferenceGain { singles: larger(self.singles, effect * SINGLE_ROUNDING), ..self }
            }
            _ => self,
        }
    }

    /// The gain of an operand, of whose difference the column's is `slope` times.
    #[must_use]
    pub fn behind(self, slope: f64) -> DifferenceGain {
        DifferenceGain { factor: times(self.factor, slope), ..self }
    }

    /// The gain of a column that two steps read.
    #[must_use]
    pub fn and(self, other: DifferenceGain) -> DifferenceGain {
        DifferenceGain {
            factor: self.factor + other.factor,
            doubles: larger(self.doubles, other.doubles),
            singles: larger(self.singles, other.singles),
        }
    }

    /// Whether rounding changes results little.
    pub fn is_small(self) -> bool {
        self.factor < f64::INFINITY && self.doubles < MOST_OF_DOUBLES && self.singles < MOST_OF_SINGLES
    }
}

/// The gains of `needed` columns that depend on sums. Each of `needed` comes after the columns that it reads.
/// `results` are the gains of the columns that are results.
pub(super) fn gains(
    (columns, needed): (&Columns, &[ColumnId]),
    sizes: &ColumnSizes,
    results: HashMap<ColumnId, DifferenceGain>,
) -> HashMap<ColumnId, DifferenceGain> {
    let read: Vec<ColumnId> = results.keys().copied().collect();
    let readers = Readers::new(columns, needed, &read);
    let mut gains = results;
    for column in needed.iter().rev().filter(|column| sizes.depends(**column)) {
        let (rounded, count) = roundings(columns, *column);
        let slopes = Slopes { columns, readers: &readers, of: *column };
        let gain = gains.get(column).copied().unwrap_or_default();
        let gain = gain.with_roundings(rounded, sizes.size(*column).min(slopes.largest_power()), count);
        gains.insert(*column, gain);
        for (operand, slope) in slopes.all() {
            if sizes.depends(operand) {
                let of = gains.entry(operand).or_default();
                *of = of.and(gain.behind(slope));
            }
        }
    }
    gains
}

/// The type to which a column is rounded, and how often. A column without rounding has truth values' type.
fn roundings(columns: &Columns, column: ColumnId) -> (ColumnType, usize) {
    let own = columns.column_type(column);
    match columns.expr(column) {
        Expr::Unary(Unary::Negate | Unary::Abs, _) | Expr::Select { .. } => (ColumnType::Bool, 0),
        Expr::Binary(Binary::Min | Binary::Max, ..) => (ColumnType::Bool, 0),
        Expr::Dot { terms, .. } => (own, 2 * terms.len() + 1),
        Expr::SquaredDistance { of, .. } => (own, 4 * of.len()),
        _ => (own, 1),
    }
}

/// The gains of results. The difference of an exponential counts relative to its size, so the gain is that of
/// its operand.
pub(super) fn of_results(
    columns: &Columns,
    results: impl Iterator<Item = (ColumnId, DifferenceGain)>,
) -> HashMap<ColumnId, DifferenceGain> {
    let mut gains: HashMap<ColumnId, DifferenceGain> = HashMap::new();
    for (result, gain) in results {
        let counted = match columns.expr(result) {
            Expr::Unary(Unary::Exp, of) => *of,
            _ => result,
        };
        gains.entry(result).or_default();
        let of = gains.entry(counted).or_default();
        *of = of.and(gain);
    }
    gains
}

/// The slopes of a column: bounds of the factors from differences of its operands to its own.
struct Slopes<'a> {
    columns: &'a Columns,
    readers: &'a Readers<'a>,
    of: ColumnId,
}

impl Slopes<'_> {
    /// Each operand and its slope, which is infinite if it has no bound.
    fn all(&self) -> Vec<(ColumnId, f64)> {
        match self.columns.expr(self.of) {
            Expr::Dot { terms, .. } => {
                terms.iter().map(|term| (term.column, term.weight.to_f64().abs())).collect()
            }
            Expr::SquaredDistance { of, point } => {
                let slope = |(of, at): (&ColumnId, &ColumnValue)| 2.0 * (self.size(*of) + at.to_f64().abs());
                of.iter().zip(point.iter()).map(|(of, at)| (*of, slope((of, at)))).collect()
            }
            Expr::Unary(op, x) => vec![(*x, self.unary(*op, *x))],
            Expr::Binary(op, x, y) => {
                let [of_x, of_y] = self.binary(*op, *x, *y);
                vec![(*x, of_x), (*y, of_y)]
            }
            Expr::Select { condition, then, otherwise } => {
                let continuous = is_continuous(self.columns, *condition, [*then, *otherwise]);
                let jump = if continuous { 0.0 } else { f64::INFINITY };
                vec![(*condition, jump), (*then, 1.0), (*otherwise, 1.0)]
            }
            expr => expr.operands().map(|operand| (operand, f64::INFINITY)).collect(),
        }
    }

    fn unary(&self, op: Unary, x: ColumnId) -> f64 {
        let of = range(self.columns, x);
        let is_distance = matches!(self.columns.expr(x), Expr::SquaredDistance { .. });
        let small_if = |is_small: bool| if is_small { 1.0 } else { f64::INFINITY };
        match op {
            Unary::Cast(to) => small_if(to.is_float() && self.columns.column_type(x).is_float()),
            Unary::Negate | Unary::Abs | Unary::Tanh | Unary::Logistic | Unary::Sin | Unary::Cos => 1.0,
            Unary::Erf => 2.0 / std::f64::consts::PI.sqrt(),
            // Sums of squares do not cancel, and the root of one has half of its relative error.
            Unary::SquareRoot => small_if(is_distance || of.least >= 0.25),
            Unary::Exp | Unary::ExpMinusOne => self.largest_power(),
            Unary::LogOnePlus => small_if(of.least >= 0.0),
            Unary::Log => small_if(of.least >= 1.0),
            Unary::Floor | Unary::Ceil | Unary::Round => f64::INFINITY,
            // The readers of a truth value decide whether it matters.
            Unary::IsNan | Unary::Not => 1.0,
        }
    }

    fn binary(&self, op: Binary, x: ColumnId, y: ColumnId) -> [f64; 2] {
        match op {
            Binary::Multiply => self.of_product(x, y),
            Binary::Divide => {
                if let Some(shift) = self.shift_of_size(y, x) {
                    return [shift.recip(), 0.0];
                }
                let least = range(self.columns, y).smallest_size();
                [least.recip(), if least > 0.0 { self.size(x) / (least * least) } else { f64::INFINITY }]
            }
            Binary::Power => [f64::INFINITY; 2],
            Binary::Add | Binary::Subtract | Binary::Min | Binary::Max => [1.0; 2],
            Binary::Less | Binary::LessOrEqual | Binary::Equal | Binary::And | Binary::Or => [1.0; 2],
        }
    }

    /// The slopes of a product. If one factor saturates where the other is large, as in GELU and SiLU, the
    /// slope of the other counts for both.
    fn of_product(&self, x: ColumnId, y: ColumnId) -> [f64; 2] {
        match (self.saturation(y, x), self.saturation(x, y)) {
            (Some(bend), _) => [self.size(y) + bend, 0.0],
            (_, Some(bend)) => [0.0, self.size(x) + bend],
            _ => [self.size(y), self.size(x)],
        }
    }

    /// If a column is a multiple of a function that saturates, of a multiple of the number of which `other` is
    /// a multiple, plus a number: a bound of the product of its slope with that operand.
    fn saturation(&self, column: ColumnId, other: ColumnId) -> Option<f64> {
        let (root, _) = self.multiple_of(other);
        let (mut of, mut scale) = (column, 1.0);
        loop {
            let (within, factor) = self.multiple_of(of);
            scale *= factor;
            match self.columns.expr(within) {
                // The product of the operand and the slope is at most 0.49.
                Expr::Unary(Unary::Tanh | Unary::Logistic | Unary::Erf, operand) => {
                    let is_same = self.multiple_of(*operand).0 == root;
                    return is_same.then_some(0.5 * scale);
                }
                Expr::Binary(Binary::Add, x, y) if self.number(*y).is_some() => of = *x,
                Expr::Binary(Binary::Add, x, y) if self.number(*x).is_some() => of = *y,
                _ => return None,
            }
        }
    }

    /// The column of which another one is a multiple, and the magnitude of the factor.
    fn multiple_of(&self, column: ColumnId) -> (ColumnId, f64) {
        let (mut of, mut scale) = (column, 1.0);
        while let Expr::Binary(op @ (Binary::Multiply | Binary::Divide), x, y) = self.columns.expr(of) {
            let factors = (self.number(*x), self.number(*y));
            let (next, factor) = match (op, factors) {
                (Binary::Multiply, (_, Some(factor))) => (*x, factor),
                (Binary::Multiply, (Some(factor), _)) => (*y, factor),
                (Binary::Divide, (_, Some(by))) => (*x, by.recip()),
                _ => break,
            };
            (of, scale) = (next, scale * factor.abs());
        }
        (of, scale)
    }

    /// The positive number that a column adds to the magnitude of another one, as the divisor of Softsign.
    fn shift_of_size(&self, column: ColumnId, of: ColumnId) -> Option<f64> {
        let Expr::Binary(Binary::Add, x, y) = self.columns.expr(column) else { return None };
        let is_size = |column: ColumnId| *self.columns.expr(column) == Expr::Unary(Unary::Abs, of);
        let shift = match (self.number(*x), self.number(*y)) {
            (_, Some(shift)) if is_size(*x) => shift,
            (Some(shift), _) if is_size(*y) => shift,
            _ => return None,
        };
        (shift > 0.0).then_some(shift)
    }

    /// The largest value of an exponential that matters; infinite if it has no small bound.
    fn largest_power(&self) -> f64 {
        let most = self.readers.largest_power(self.of);
        if most <= MOST_POWER { most } else { f64::INFINITY }
    }

    /// The largest magnitude of a column in all rows.
    fn size(&self, column: ColumnId) -> f64 {
        range(self.columns, column).largest_size()
    }

    fn number(&self, of: ColumnId) -> Option<f64> {
        match self.columns.expr(of) {
            Expr::Const(number) => Some(number.to_f64()),
            _ => None,
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
