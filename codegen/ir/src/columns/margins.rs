//! Bounds of the changes of predictions that differences of a forest's margins cause.

use super::gains::{DifferenceGain, ROUNDINGS_OF_FUNCTIONS, gains, of_results};
use super::sizes::{ColumnSizes, MAGNITUDE, larger, times};
use sched_columns::{Binary, ColumnId, ColumnType, Columns, Expr, Unary};
use sched_forest::{Forest, LinearLeaf, OutputColumns, Sigmoid, Softmax, Transform, TreeTarget};
use sched_outputs::OutputKind;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The linear leaves of a forest over columns.
pub(super) struct LinearTerms<'a> {
    pub forest: &'a Forest,
    /// The columns of its features.
    pub tested: &'a [ColumnId],
    pub sizes: &'a ColumnSizes<'a>,
}

impl LinearTerms<'_> {
    /// Each term that depends on a sum: its margin, its column and the magnitude of its weight.
    fn all(&self) -> impl Iterator<Item = (usize, ColumnId, f64)> {
        let LinearTerms { forest, tested, sizes } = *self;
        let trees = forest.trees.iter().zip(&forest.linear);
        trees.flat_map(move |(tree, leaves)| {
            let margin = match tree.target {
                TreeTarget::One(margin) => margin as usize,
                TreeTarget::All => 0,
            };
            let terms = leaves.iter().flat_map(|leaf| &leaf.terms);
            terms.filter_map(move |(feature, weight)| {
                let column = *tested.get(*feature as usize)?;
                sizes.depends(column).then_some((margin, column, weight.abs()))
            })
        })
    }

    /// The magnitude of each margin. Like other sums, a margin counts with at least [`MAGNITUDE`] beside its
    /// constants, also if it depends on no other sum.
    fn margin_sizes(&self) -> Vec<f64> {
        let LinearTerms { forest, sizes, .. } = self;
        let mut of = vec![0.0; forest.num_margins];
        for (margin, column, weight) in self.all() {
            if let Some(size) = of.get_mut(margin) {
                *size += times(weight, sizes.size(column));
            }
        }
        of.iter().zip(self.constants()).map(|(size, constant)| larger(*size, MAGNITUDE) + constant).collect()
    }

    /// The magnitude of the constants that each margin adds, those of leaves among them.
    fn constants(&self) -> Vec<f64> {
        let mut constants: Vec<f64> = self.forest.base.iter().map(|base| base.abs()).collect();
        constants.resize(self.forest.num_margins, 0.0);
        let no_linear = Vec::new();
        for (number, tree) in self.forest.trees.iter().enumerate() {
            let linear = self.forest.linear.get(number).unwrap_or(&no_linear);
            let of_linear = linear.iter().map(|leaf| leaf.constant.abs());
            let of_leaves = tree.leaves.iter().flat_map(|leaf| leaf.values.iter().map(|value| value.abs()));
            let largest = of_linear.chain(of_leaves).fold(0.0, larger);
            match tree.target {
                TreeTarget::One(margin) => {
                    constants.get_mut(margin as usize).into_iter().for_each(|of| *of += largest)
                }
                TreeTarget::All => constants.iter_mut().for_each(|of| *of += largest),
            }
        }
        constants
    }

    /// The gains of the columns that margins with these gains add. Margins themselves are results as well,
    /// in proportion to the weights of their columns.
    pub fn gains(&self, margins: &[DifferenceGain]) -> HashMap<ColumnId, DifferenceGain> {
        let mut gains: HashMap<ColumnId, DifferenceGain> = HashMap::new();
        for (margin, column, weight) in self.all() {
            let of = gains.entry(column).or_default();
            *of = of.and(margins.get(margin).copied().unwrap_or_default().behind(weight));
            if !weight.is_finite() {
                *of = DifferenceGain::of(f64::INFINITY);
            }
        }
        gains.values_mut().for_each(|gain| gain.factor = larger(gain.factor, 1.0));
        gains
    }
}

/// The gain of each margin by the steps behind it, to predictions and to the scores that labels compare.
/// Steps that only multiply and add numbers do not count, nor do labels: they may change where the best
/// scores are nearly equal.
pub(super) fn margin_gains(terms: &LinearTerms) -> Vec<DifferenceGain> {
    let forest = terms.forest;
    let mut to_label = forest.steps_after_margins(OutputKind::Class).unwrap_or_default();
    if let Some(Transform::Columns(of)) = to_label.last_mut() {
        *of = Arc::new(compared_scores(of));
    }
    let of_values = gains_by_steps(terms, &forest.output.value);
    let of_labels = gains_by_steps(terms, &to_label);
    of_values.into_iter().zip(of_labels).map(|(one, other)| one.and(other)).collect()
}

/// The gain of each margin by steps behind it.
fn gains_by_steps(terms: &LinearTerms, behind: &[Transform]) -> Vec<DifferenceGain> {
    let forest = terms.forest;
    let precision = ColumnType::from(forest.types.accumulator);
    let opposite = has_opposite_margins(forest);
    let simplified = |of: &OutputColumns| if opposite { with_opposite_margins(of) } else { of.clone() };
    let mut steps = Vec::new();
    let mut sizes = terms.margin_sizes();
    for step in forest.output.raw.iter().chain(behind).take_while(|step| !is_label(step)) {
        let expressions = match step {
            Transform::Columns(of) => Some(simplified(of)),
            _ => None,
        };
        let step = OutputStep { step, expressions, sizes };
        sizes = step.sizes_behind();
        steps.push(step);
    }
    let is_linear = |step: &OutputStep| linear_factor(step.step).is_some();
    let by_result = if steps.iter().all(is_linear) { 0.0 } else { 1.0 };
    let mut gains = vec![DifferenceGain::of(by_result); sizes.len()];
    // The difference of an exponential counts relative to its size.
    if let Some(OutputStep { step: Transform::Exp, .. }) = steps.last() {
        steps.pop();
    }
    for step in steps.iter().rev() {
        let rounded = gains.iter().zip(step.sizes_behind());
        let rounded: Vec<DifferenceGain> = rounded
            .map(|(gain, size)| gain.with_roundings(precision, size, ROUNDINGS_OF_FUNCTIONS))
            .collect();
        gains = step.gains_before(&rounded);
    }
    let count = terms.all().count() + 1;
    let of_margins = gains.into_iter().zip(terms.margin_sizes());
    of_margins.map(|(gain, size)| gain.with_roundings(precision, size, count)).collect()
}

/// The purpose for which expressions of labels read a column.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum LabelRole {
    /// The number is that of a label, or of a condition on which one depends.
    Label,
    /// The column is a score, which is compared with another one.
    Score,
}

/// The scores that expressions of labels compare, apart from margins themselves.
fn compared_scores(of: &OutputColumns) -> OutputColumns {
    let columns = &of.columns;
    let mut open: Vec<(ColumnId, LabelRole)> =
        of.results.iter().map(|result| (*result, LabelRole::Label)).collect();
    let (mut seen, mut results) = (HashSet::new(), Vec::new());
    let is_number = |of: &ColumnId| matches!(columns.expr(*of), Expr::Const(_));
    let is_float = |of: &ColumnId| columns.column_type(*of).is_float();
    let rounds = |to: &ColumnId, from: &ColumnId| is_float(from) && !is_float(to);
    let role_of = |of: &ColumnId| if is_float(of) { LabelRole::Score } else { LabelRole::Label };
    while let Some((column, role)) = open.pop() {
        if !seen.insert((column, role)) {
            continue;
        }
        match columns.expr(column) {
            Expr::Const(_) | Expr::Input { .. } => {}
            Expr::Select { condition, then, otherwise } if role == LabelRole::Label => {
                open.extend([condition, then, otherwise].map(|of| (*of, role)));
            }
            // The larger of two scores, or the smaller one.
            Expr::Select { condition, then, otherwise }
                if compares(columns, *condition, [*then, *otherwise]) =>
            {
                open.extend([then, otherwise].map(|of| (*of, role)));
            }
            Expr::Unary(Unary::Cast(_) | Unary::Not, x) if !rounds(&column, x) => open.push((*x, role)),
            Expr::Binary(_, x, y) if columns.column_type(column) == ColumnType::Bool => {
                open.extend([x, y].map(|of| (*of, role_of(of))));
            }
            // The numbers of labels have bounds.
            Expr::Binary(Binary::Min | Binary::Max, x, y) if role == LabelRole::Label && is_number(y) => {
                open.push((*x, role));
            }
            _ => results.push(column),
        }
    }
    OutputColumns { columns: Arc::clone(columns), results }
}

/// Whether a condition compares the two sides that depend on it.
fn compares(columns: &Columns, condition: ColumnId, [then, otherwise]: [ColumnId; 2]) -> bool {
    match columns.expr(condition) {
        Expr::Binary(Binary::Less | Binary::LessOrEqual, x, y) => {
            [*x, *y] == [then, otherwise] || [*y, *x] == [then, otherwise]
        }
        _ => false,
    }
}

/// Whether a step compares scores, or one with a number.
fn is_label(step: &Transform) -> bool {
    matches!(step, Transform::ArgMax | Transform::Hinge | Transform::Above(_))
}

/// The factor of a step that only multiplies and adds numbers.
fn linear_factor(step: &Transform) -> Option<f64> {
    match step {
        Transform::Scale { factor, .. } => Some(factor.abs()),
        Transform::Divide { by } => Some(by.recip().abs()),
        _ => None,
    }
}

/// A step from sums to predictions.
struct OutputStep<'a> {
    step: &'a Transform,
    /// Its expressions, if it has some.
    expressions: Option<OutputColumns>,
    /// The magnitudes of the values before it.
    sizes: Vec<f64>,
}

impl OutputStep<'_> {
    /// The magnitudes of the values behind the step.
    fn sizes_behind(&self) -> Vec<f64> {
        let sum: f64 = self.sizes.iter().sum();
        let each = |of: &dyn Fn(f64) -> f64| self.sizes.iter().map(|size| of(*size)).collect();
        match self.step {
            Transform::Scale { factor, bias } => {
                let bias = bias.iter().fold(0.0, |most: f64, bias| most.max(bias.abs()));
                each(&|size| times(size, factor.abs()) + bias)
            }
            Transform::Divide { by } => each(&|size| times(size, by.recip().abs())),
            Transform::Exp => each(&f64::exp),
            Transform::LogOnePlusExp => each(&|size| size + 1.0),
            Transform::SignedSquare => each(&|size| size * size),
            Transform::PowerOfTwo { by } => each(&|size| (size / by.abs()).exp2()),
            Transform::Ascending => each(&|_| sum + self.sizes.len() as f64),
            Transform::Probit => each(&|_| f64::INFINITY),
            Transform::Complement => vec![1.0; 2],
            Transform::ArgMax => vec![1.0],
            Transform::Sigmoid(_) | Transform::Hinge | Transform::Above(_) | Transform::Softmax(_) => {
                each(&|_| 1.0)
            }
            Transform::Columns(_) => self.expressions.as_ref().map_or_else(Vec::new, |of| {
                let (_, sizes) = expression_sizes(of, &self.sizes);
                of.results.iter().map(|result| sizes.size(*result)).collect()
            }),
        }
    }

    /// The gains of the values before the step, from those behind it.
    fn gains_before(&self, behind: &[DifferenceGain]) -> Vec<DifferenceGain> {
        if let Some(of) = &self.expressions {
            return expression_gains(of, &self.sizes, behind);
        }
        let all = behind.iter().copied().reduce(DifferenceGain::and).unwrap_or_default();
        let mixed = |slope: f64| vec![all.behind(slope); self.sizes.len()];
        let each = |slope: f64| behind.iter().map(|gain| gain.behind(slope)).collect();
        match self.step {
            Transform::Sigmoid(Sigmoid::Plain { slope }) => each(slope.abs()),
            Transform::Sigmoid(Sigmoid::Bounded | Sigmoid::Mirrored) | Transform::LogOnePlusExp => each(1.0),
            Transform::Softmax(Softmax::Plain | Softmax::Doubled)
            | Transform::Ascending
            | Transform::Complement => mixed(1.0),
            // Steps behind a label see no difference.
            Transform::ArgMax | Transform::Hinge | Transform::Above(_) => mixed(0.0),
            step @ (Transform::Scale { .. } | Transform::Divide { .. }) => {
                each(linear_factor(step).unwrap_or(f64::INFINITY))
            }
            // The slope of an exponential, a square or a power grows with the margin, and that of a probit
            // has no bound where a probability is near 0 or 1. `ZeroAside` leaves values near zero out of a
            // sum. Expressions have gains of their own.
            Transform::Exp
            | Transform::SignedSquare
            | Transform::PowerOfTwo { .. }
            | Transform::Probit
            | Transform::Softmax(Softmax::ZeroAside)
            | Transform::Columns(_) => mixed(f64::INFINITY),
        }
    }
}

/// The columns of expressions, and their sizes for values of these sizes.
fn expression_sizes<'a>(of: &'a OutputColumns, values: &[f64]) -> (Vec<ColumnId>, ColumnSizes<'a>) {
    let columns = &*of.columns;
    let needed = columns.needed_for(&of.results);
    let size = |column: ColumnId| match columns.expr(column) {
        Expr::Input { feature, .. } => values.get(*feature as usize).copied(),
        _ => None,
    };
    let sizes = ColumnSizes::new(columns, (&needed, &of.results), size);
    (needed, sizes)
}

/// The gains of values of these sizes that expressions read. `behind` are those of the results.
fn expression_gains(of: &OutputColumns, values: &[f64], behind: &[DifferenceGain]) -> Vec<DifferenceGain> {
    let columns = &*of.columns;
    let (needed, sizes) = expression_sizes(of, values);
    let results = of_results(columns, of.results.iter().copied().zip(behind.iter().copied()));
    let mut before = vec![DifferenceGain::default(); values.len()];
    for (column, gain) in gains((columns, &needed), &sizes, results) {
        let value = match columns.expr(column) {
            Expr::Input { feature, .. } => before.get_mut(*feature as usize),
            _ => None,
        };
        if let Some(value) = value {
            *value = value.and(gain);
        }
    }
    before
}

/// Whether a forest has two margins of which one is the negative of the other, as scores of two classes often
/// are. Each is a weighted sum.
fn has_opposite_margins(forest: &Forest) -> bool {
    let leaf_of = |margin: u32| {
        let mut trees = forest.trees.iter().zip(&forest.linear);
        let found = trees.find(|(tree, _)| tree.target == TreeTarget::One(margin));
        found.and_then(|(_, leaves)| if let [leaf] = &leaves[..] { Some(leaf) } else { None })
    };
    let are_opposite = |one: &LinearLeaf, other: &LinearLeaf| {
        let mut pairs = one.terms.iter().zip(&other.terms);
        one.constant == -other.constant
            && one.terms.len() == other.terms.len()
            && pairs.all(|((feature, weight), (of, other))| feature == of && *weight == -other)
    };
    let are_two = forest.num_margins == 2 && forest.trees.len() == 2 && forest.base[0] == -forest.base[1];
    are_two && leaf_of(0).zip(leaf_of(1)).is_some_and(|(one, other)| are_opposite(one, other))
}

/// The expressions with the negative of the first margin in place of the second.
fn with_opposite_margins(of: &OutputColumns) -> OutputColumns {
    let mut columns = Columns::default();
    let mut places: HashMap<ColumnId, ColumnId> = HashMap::new();
    for column in of.columns.needed_for(&of.results) {
        // Operands come first.
        let place = |operand: ColumnId| places.get(&operand).copied().unwrap_or(operand);
        let added = match of.columns.expr(column) {
            Expr::Input { feature: 1, float } => {
                let first = columns.input(0, *float);
                columns.add(Expr::Unary(Unary::Negate, first))
            }
            expr => columns.add(expr.clone().with_operands(place)),
        };
        match added {
            Ok(added) => places.insert(column, added),
            // Operands keep their types, so each expression is valid again.
            Err(_) => return of.clone(),
        };
    }
    let results = of.results.iter().map(|result| places.get(result).copied().unwrap_or(*result)).collect();
    OutputColumns { columns: columns.into(), results }
}
