//! Columns whose rounding errors can change a result by any amount.
//!
//! Most operations keep a small difference of their operand small. A comparison does not: a value on the
//! other side of a threshold leads a row to another leaf. Sums that no comparison reads, directly or through
//! other columns, may add their terms in any order. The condition of an activation such as ReLU does not
//! count: both of its sides have the same value at the threshold.

use super::losses::{Differences, Loss};
use super::ranges::range;
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, Unary};
use sched_forest::{Float, Forest, Output, OutputColumns, Sigmoid, Softmax, Transform, TreeTarget};
use sched_pipeline::PreparedForest;
use std::collections::{BTreeSet, HashSet};

/// Most operations of the sides of a condition that are evaluated at the threshold.
const MOST_OPERATIONS: usize = 32;

/// The columns among `needed` that a step compares, or whose differences a step can enlarge by any factor,
/// directly or through other columns. Each of `needed` comes after the columns that it reads. `tested` are
/// the columns that the last trees test.
pub(super) fn compared_columns(
    columns: &Columns,
    needed: &[ColumnId],
    tested: impl Iterator<Item = ColumnId>,
) -> HashSet<ColumnId> {
    Differences::of_sums(columns, needed).compared(needed, tested)
}

/// The columns that the nodes of a prepared forest test, or whose small differences the steps behind its
/// margins can enlarge by any factor. `tested` are the columns of its features.
pub(super) fn compared_by_forest(prepared: &PreparedForest, tested: &[ColumnId]) -> BTreeSet<ColumnId> {
    let forest = &*prepared.forest;
    let needed = prepared.columns.needed_for(tested);
    let differences = Differences::of_sums(&prepared.columns, &needed);
    let margins = margin_losses(forest, |feature| differences.loss(*tested.get(feature as usize)?));
    if predictions_jump(forest, margins) {
        return tested.iter().copied().collect();
    }
    let inner = forest.trees.iter().flat_map(|tree| &tree.inner);
    inner.filter_map(|inner| tested.get(inner.feature as usize).copied()).collect()
}

/// The loss of each margin, to which each tree adds its linear leaf of the largest loss. `None` if a margin
/// depends on no sum. `of_feature` is the loss of a feature.
fn margin_losses(forest: &Forest, of_feature: impl Fn(u32) -> Option<Loss>) -> Vec<Option<Loss>> {
    let mut margins = vec![None; forest.num_margins];
    for (tree, leaves) in forest.trees.iter().zip(&forest.linear) {
        let TreeTarget::One(margin) = tree.target else { continue };
        let enlarged = |(feature, weight): &(u32, f64)| Some(of_feature(*feature)?.enlarged(weight.abs()));
        let losses = leaves.iter().map(|leaf| Loss::sum(leaf.terms.iter().filter_map(enlarged)));
        let largest = Loss::largest(losses.flatten());
        if let Some(sum) = margins.get_mut(margin as usize) {
            *sum = Loss::sum(sum.iter().copied().chain(largest));
        }
    }
    margins
}

/// Whether a step from sums to predictions can turn small differences of sums into large ones. The size of a
/// margin itself does not matter: its difference counts relative to its terms. Labels do not count: they may
/// change where the best scores are nearly equal.
fn predictions_jump(forest: &Forest, margins: Vec<Option<Loss>>) -> bool {
    let mut losses: Vec<Loss> = margins.into_iter().flatten().collect();
    let Output { raw, value, .. } = &forest.output;
    raw.iter().chain(value).any(|step| {
        let factor = match step {
            Transform::Scale { factor, .. } => *factor,
            Transform::Divide { by } | Transform::PowerOfTwo { by } => by.recip(),
            Transform::Sigmoid(Sigmoid::Plain { slope }) => *slope,
            _ => 1.0,
        };
        losses.iter_mut().for_each(|loss| *loss = loss.enlarged(factor.abs()));
        let is_large = losses.iter().any(|loss| !loss.is_small());
        match step {
            Transform::Scale { .. } | Transform::Divide { .. } => false,
            // The slope has no bound where a probability is near 0 or 1.
            Transform::Probit => !losses.is_empty(),
            // Values near zero are no part of the sum.
            Transform::Softmax(Softmax::ZeroAside) => !losses.is_empty(),
            Transform::Columns(of) => is_large || expressions_jump(of, forest.types.accumulator, &losses),
            _ => is_large,
        }
    })
}

/// Whether expressions over margins can turn small differences of them into large ones. `losses` are those of
/// the margins that depend on sums.
fn expressions_jump(of: &OutputColumns, margins: Float, losses: &[Loss]) -> bool {
    let rounding = Loss::rounding(ColumnType::from(margins));
    let largest = Loss::largest(losses.iter().copied().chain([rounding]));
    let is_margin = |column: ColumnId| matches!(of.columns.expr(column), Expr::Input { .. });
    let needed = of.columns.needed_for(&of.results);
    let differences = Differences::of(&of.columns, &needed, |column| largest.filter(|_| is_margin(column)));
    differences.compared(&needed, std::iter::empty()).into_iter().any(is_margin)
}

impl Differences<'_> {
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
        let differs = |operand: ColumnId| self.loss(operand).is_some();
        let own = columns.column_type(column);
        // The readers of a truth value decide whether it matters.
        if own == ColumnType::Bool || !expr.operands().any(differs) {
            return true;
        }
        if self.loss(column).is_some_and(|loss| !loss.is_small()) {
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
    use sched_columns::Term;
    use sched_forest::{ForestParts, Leaf, LinearLeaf, NodeRef, Tree, Types};
    use std::sync::Arc;

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
    fn factors_of_single_precision_count_in_double_precision() {
        let times = |factor: f64| {
            let mut columns = Columns::default();
            let terms = [0, 1].map(|feature| columns.input(feature, Float::F32));
            let terms = terms.map(|column| Term { column, weight: ColumnValue::F32(2.0) });
            let sum = columns.add(Expr::Dot { start: ColumnValue::F32(1.0), terms: terms.into() }).unwrap();
            let wide = columns.cast(sum, ColumnType::F64).unwrap();
            let read = with(&mut columns, Binary::Multiply, wide, factor);
            let needed = columns.needed_for(&[read]);
            compared_columns(&columns, &needed, std::iter::empty()).contains(&sum)
        };
        assert!(times(1e6) && !times(100.0));
    }

    /// Whether a sum counts as compared if a margin is `weight` times it, and `steps` lead to predictions.
    fn is_compared_behind(weight: f64, steps: Vec<Transform>) -> bool {
        let mut columns = Columns::default();
        let terms = [0, 1].map(|feature| columns.input(feature, Float::F64));
        let terms = terms.map(|column| Term { column, weight: ColumnValue::F64(2.0) });
        let sum = columns.add(Expr::Dot { start: ColumnValue::F64(1.0), terms: terms.into() }).unwrap();
        let leaf = Leaf { source: 0, values: [0.0].into_iter().collect() };
        let (root, target) = (NodeRef::Leaf(0), TreeTarget::One(0));
        let tree = Tree { root, inner: Vec::new(), leaves: vec![leaf], target, source: 0 };
        let forest = Forest::new(ForestParts {
            trees: vec![tree],
            types: Types::all(Float::F64),
            linear: vec![vec![LinearLeaf { constant: 0.0, terms: vec![(0, weight)] }]],
            output: Output { value: steps, ..Output::default() },
            ..ForestParts::default()
        });
        let forest = Arc::new(forest.unwrap());
        let prepared =
            PreparedForest { forest, columns, tested: vec![sum], class_features: 0, set_columns: 0 };
        compared_by_forest(&prepared, &prepared.tested).contains(&sum)
    }

    #[test]
    fn steps_behind_margins_enlarge_differences() {
        let sigmoid = |slope: f64| Transform::Sigmoid(Sigmoid::Plain { slope });
        let scaled = |factor: f64| Transform::Scale { factor, bias: vec![0.0] };
        assert!(is_compared_behind(1e12, vec![sigmoid(1.0)]) && !is_compared_behind(1e6, vec![sigmoid(1.0)]));
        assert!(is_compared_behind(1.0, vec![sigmoid(1e12)]));
        assert!(is_compared_behind(1e6, vec![scaled(1e6), sigmoid(1.0)]));
        assert!(!is_compared_behind(1e6, vec![scaled(1e-6), sigmoid(1.0)]));
        assert!(is_compared_behind(1.0, vec![Transform::Divide { by: 1e-12 }, sigmoid(1.0)]));
        assert!(is_compared_behind(1.0, vec![Transform::Probit]));
        assert!(is_compared_behind(1.0, vec![Transform::Softmax(Softmax::ZeroAside)]));
        assert!(!is_compared_behind(1.0, vec![Transform::Softmax(Softmax::Plain)]));
        // Only the scale of a regression's results.
        assert!(!is_compared_behind(1e12, vec![scaled(1e12)]));
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
