//! Bounds of the changes of results that a difference of a column causes.
//!
//! A step whose slope has a bound enlarges differences by at most that factor, whatever the rows. Other
//! steps, such as a product of two sums, may enlarge them by any factor.

use super::ranges::range;
use super::sizes::{ColumnSizes, larger, times};
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, Unary};
use std::collections::HashMap;

/// Rounding errors of doubles in a rounding error of single precision.
const SINGLE_ROUNDING: f64 = (1_u64 << 29) as f64;

/// Largest [effect](DifferenceGain) of rounding in double precision: a change by 1e-6. Two results of an
/// operation that are each wrong by half a unit differ by a whole one.
const MOST_OF_DOUBLES: f64 = 1e-6 * (1_u64 << 52) as f64;

/// Largest [effect](DifferenceGain) of rounding in single precision: a change by 1e-5.
const MOST_OF_SINGLES: f64 = 1e-5 * (1_u64 << 52) as f64;

/// Roundings that count for a function such as the exponential, whose results are not the nearest numbers.
pub(super) const ROUNDINGS_OF_FUNCTIONS: usize = 4;

/// Most operations of the sides of a condition that are evaluated at the threshold.
const MOST_OPERATIONS: usize = 32;

/// The changes of results that a column's difference causes. The effects are bounds of the results' changes,
/// in rounding errors of a double near 1. They add up, as far as the next sums, whose terms have magnitudes
/// of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DifferenceGain {
    /// Factor from a difference of the column to that of the results. Infinite if it has no bound.
    pub factor: f64,
    /// Effect of the roundings in double precision of this column and those that read it.
    doubles: f64,
    /// Effect of the roundings in single precision.
    singles: f64,
    /// Whether the effect is too large for a sum that depends on this column.
    is_large_behind: bool,
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
        let effect = |least: f64| times(self.factor, larger(size, least)) * count as f64;
        // Below the least normal number, errors do not become smaller.
        match own {
            ColumnType::F64 => DifferenceGain { doubles: self.doubles + effect(f64::MIN_POSITIVE), ..self },
            ColumnType::F32 => {
                let effect = effect(f32::MIN_POSITIVE.into());
                DifferenceGain { singles: self.singles + effect * SINGLE_ROUNDING, ..self }
            }
            _ => self,
        }
    }

    /// The gain of an operand, of whose difference the column's is `slope` times.
    #[must_use]
    pub fn behind(self, slope: f64) -> DifferenceGain {
        DifferenceGain { factor: times(self.factor, slope), ..self }
    }

    /// The gain of an operand of a sum with this gain.
    #[must_use]
    fn of_term(self) -> DifferenceGain {
        let is_large_behind = !self.is_small();
        DifferenceGain { factor: self.factor, is_large_behind, ..DifferenceGain::default() }
    }

    /// The gain of a column that two steps read.
    #[must_use]
    pub fn and(self, other: DifferenceGain) -> DifferenceGain {
        DifferenceGain {
            factor: self.factor + other.factor,
            doubles: self.doubles + other.doubles,
            singles: self.singles + other.singles,
            is_large_behind: self.is_large_behind || other.is_large_behind,
        }
    }

    /// Whether rounding changes results little.
    pub fn is_small(self) -> bool {
        let is_bounded = self.factor < f64::INFINITY && !self.is_large_behind;
        is_bounded && self.doubles < MOST_OF_DOUBLES && self.singles < MOST_OF_SINGLES
    }
}

/// The gains of `needed` columns that depend on sums. Each of `needed` comes after the columns that it reads.
/// `results` are the gains of the columns that are results.
pub(super) fn gains(
    (columns, needed): (&Columns, &[ColumnId]),
    sizes: &ColumnSizes,
    results: HashMap<ColumnId, DifferenceGain>,
) -> HashMap<ColumnId, DifferenceGain> {
    let mut gains = results;
    for column in needed.iter().rev().filter(|column| sizes.depends(**column)) {
        let (rounded, count) = roundings(columns, *column);
        let gain = gains.get(column).copied().unwrap_or_default();
        let gain = gain.with_roundings(rounded, sizes.size(*column), count);
        gains.insert(*column, gain);
        let gain = if columns.expr(*column).is_sum() { gain.of_term() } else { gain };
        for (operand, slope) in (Slopes { columns, sizes, of: *column }).all() {
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
        // Products have the same bits in each order.
        Expr::Dot { terms, .. } => (own, terms.len() + 1),
        Expr::SquaredDistance { of, .. } => (own, of.len() + 1),
        Expr::Unary(Unary::Cast(_) | Unary::SquareRoot, _) | Expr::Binary(..) => (own, 1),
        _ => (own, ROUNDINGS_OF_FUNCTIONS),
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
    sizes: &'a ColumnSizes<'a>,
    of: ColumnId,
}

impl Slopes<'_> {
    /// Each operand and its slope, which is infinite if it has no bound. A factor of 0 does not make an
    /// operand without a bound harmless: its product with infinity is not a number.
    fn all(&self) -> Vec<(ColumnId, f64)> {
        let not_zero = |(operand, slope): (ColumnId, f64)| (operand, larger(slope, f64::MIN_POSITIVE));
        let slopes = match self.columns.expr(self.of) {
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
                return vec![(*condition, jump), (*then, 1.0), (*otherwise, 1.0)];
            }
            expr => expr.operands().map(|operand| (operand, f64::INFINITY)).collect(),
        };
        slopes.into_iter().map(not_zero).collect()
    }

    fn unary(&self, op: Unary, x: ColumnId) -> f64 {
        let of = range(self.columns, x);
        let is_distance = match self.columns.expr(x) {
            Expr::SquaredDistance { of, .. } => !of.iter().any(|of| self.sizes.depends(*of)),
            _ => false,
        };
        let small_if = |is_small: bool| if is_small { 1.0 } else { f64::INFINITY };
        match op {
            Unary::Cast(to) => small_if(to.is_float() && self.columns.column_type(x).is_float()),
            Unary::Negate | Unary::Abs | Unary::Tanh | Unary::Logistic | Unary::Sin | Unary::Cos => 1.0,
            Unary::Erf => 2.0 / std::f64::consts::PI.sqrt(),
            // Sums of squares do not cancel, and the root of one has half of its relative error. Differences
            // of its operands can be as large as the root.
            Unary::SquareRoot => small_if(is_distance || of.least >= 0.25),
            Unary::Exp | Unary::ExpMinusOne => self.sizes.small_power(self.of),
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
                [least.recip(), if least > 0.0 { self.size(x) / least / least } else { f64::INFINITY }]
            }
            Binary::Power => [f64::INFINITY; 2],
            Binary::Add | Binary::Subtract | Binary::Min | Binary::Max => [1.0; 2],
            Binary::Less | Binary::LessOrEqual | Binary::Equal | Binary::And | Binary::Or => [1.0; 2],
        }
    }

    /// The slopes of a product. If one factor saturates where the other is large, as in GELU and SiLU, the
    /// slope of the other counts for the differences of both. Roundings of the first factor still count, in
    /// proportion to the other.
    fn of_product(&self, x: ColumnId, y: ColumnId) -> [f64; 2] {
        match (self.saturation(y, x), self.saturation(x, y)) {
            (Some(bend), _) => [self.size(y) + bend, self.sizes.size(x)],
            (_, Some(bend)) => [self.sizes.size(y), self.size(x) + bend],
            _ => [self.size(y), self.size(x)],
        }
    }

    /// If a column is a multiple of a function that saturates, of a multiple of the number of which `other`
    /// is a multiple, plus a number: a bound of the product of its slope with that operand.
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
