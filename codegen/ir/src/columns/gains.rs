//! Bounds of the changes of results that a difference of a column causes.

use super::ranges::range;
use super::sizes::{ColumnSizes, larger, times};
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, Unary};
use std::collections::HashMap;

/// Rounding errors of doubles in a rounding error of single precision.
const SINGLE_ROUNDING: f64 = (1_u64 << 29) as f64;

/// Limit of an [effect](DifferenceGain) of rounding in double precision: a difference of 1e-7.
const MOST_OF_DOUBLES: f64 = (1_u64 << 30) as f64;

/// Limit of an [effect](DifferenceGain) of rounding in single precision: a difference of 1e-5.
const MOST_OF_SINGLES: f64 = 128.0 * SINGLE_ROUNDING;

/// Most operations of the sides of a condition that are evaluated at the threshold.
const MOST_OPERATIONS: usize = 32;

/// The changes of results that a column's difference causes. The effects are bounds of the results' changes,
/// in rounding errors of a double near 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DifferenceGain {
    /// Factor from a difference of the column to that of the results. Infinite if a result can jump.
    pub factor: f64,
    /// Largest effect of one rounding in double precision, of the column or of a later one.
    doubles: f64,
    /// Largest effect of one rounding in single precision.
    singles: f64,
}

impl DifferenceGain {
    /// The gain of a column whose difference changes results `factor` times as much.
    pub fn of(factor: f64) -> DifferenceGain {
        DifferenceGain { factor, ..DifferenceGain::default() }
    }

    /// The gain with the effect of rounding the column itself, which has a type and a magnitude.
    #[must_use]
    pub fn with_rounding(self, own: ColumnType, size: f64) -> DifferenceGain {
        let effect = times(self.factor, size);
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

    /// Whether results change little if sums of features are near `magnitude`.
    pub fn is_small(self, magnitude: f64) -> bool {
        self.factor < f64::INFINITY
            && self.doubles < MOST_OF_DOUBLES * magnitude
            && self.singles < MOST_OF_SINGLES * magnitude
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
        let rounded = match columns.expr(*column) {
            Expr::Unary(Unary::Negate | Unary::Abs, _) | Expr::Select { .. } => ColumnType::Bool,
            Expr::Binary(Binary::Min | Binary::Max, ..) => ColumnType::Bool,
            _ => columns.column_type(*column),
        };
        let gain = gains.get(column).copied().unwrap_or_default();
        let gain = gain.with_rounding(rounded, sizes.size(*column));
        gains.insert(*column, gain);
        let slopes = Slopes { columns, sizes, of: *column };
        for (operand, slope) in slopes.all() {
            if sizes.depends(operand) {
                let of = gains.entry(operand).or_default();
                *of = of.and(gain.behind(slope));
            }
        }
    }
    gains
}

/// The gains of results. The difference of an exponential counts relative to its size.
pub(super) fn of_results(
    columns: &Columns,
    sizes: &ColumnSizes,
    results: &[ColumnId],
    magnitude: f64,
) -> HashMap<ColumnId, DifferenceGain> {
    let factor = |result: ColumnId| match columns.expr(result) {
        Expr::Unary(Unary::Exp, _) => relative(sizes.size(result), magnitude),
        _ => 1.0,
    };
    results.iter().map(|result| (*result, DifferenceGain::of(factor(*result)))).collect()
}

/// Factor from the difference of a result to the one that counts. It is not 0, so that jumps of results
/// without a bound count.
pub(super) fn relative(size: f64, magnitude: f64) -> f64 {
    (magnitude / size).clamp(f64::MIN_POSITIVE, 1.0)
}

/// The slopes of a column: bounds of the factors from differences of its operands to its own.
struct Slopes<'a> {
    columns: &'a Columns,
    sizes: &'a ColumnSizes<'a>,
    of: ColumnId,
}

impl Slopes<'_> {
    /// Each operand and its slope, which is infinite if the column can jump.
    fn all(&self) -> Vec<(ColumnId, f64)> {
        let size = |operand: &ColumnId| self.sizes.size(*operand);
        match self.columns.expr(self.of) {
            Expr::Dot { terms, .. } => {
                terms.iter().map(|term| (term.column, term.weight.to_f64().abs())).collect()
            }
            Expr::SquaredDistance { of, point } => {
                let slope = |(of, at): (&ColumnId, &ColumnValue)| 2.0 * (size(of) + at.to_f64().abs());
                of.iter().zip(point.iter()).map(|(of, at)| (*of, slope((of, at)))).collect()
            }
            Expr::Unary(op, x) => vec![(*x, self.unary(*op, *x))],
            Expr::Binary(op, x, y) => self.binary(*op, *x, *y),
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
            Unary::Exp => self.sizes.size(self.of),
            Unary::ExpMinusOne => self.sizes.size(self.of) + 1.0,
            Unary::LogOnePlus => small_if(of.least >= 0.0),
            Unary::Log => small_if(of.least >= 1.0),
            Unary::Floor | Unary::Ceil | Unary::Round => f64::INFINITY,
            // The readers of a truth value decide whether it matters.
            Unary::IsNan | Unary::Not => 1.0,
        }
    }

    fn binary(&self, op: Binary, x: ColumnId, y: ColumnId) -> Vec<(ColumnId, f64)> {
        let size = |operand: ColumnId| self.sizes.size(operand);
        let slopes = match op {
            Binary::Multiply => [size(y), size(x)],
            Binary::Divide => {
                let least = range(self.columns, y).smallest_size();
                [least.recip(), if least > 0.0 { size(x) / (least * least) } else { f64::INFINITY }]
            }
            Binary::Power => [f64::INFINITY; 2],
            Binary::Add | Binary::Subtract | Binary::Min | Binary::Max => [1.0; 2],
            Binary::Less | Binary::LessOrEqual | Binary::Equal | Binary::And | Binary::Or => [1.0; 2],
        };
        vec![(x, slopes[0]), (y, slopes[1])]
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
