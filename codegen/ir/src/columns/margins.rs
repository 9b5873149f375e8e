//! Bounds of the changes of predictions that differences of a forest's margins cause.

use super::gains::{DifferenceGain, gains, of_results, relative};
use super::sizes::{ColumnSizes, times};
use sched_columns::{ColumnId, ColumnType, Columns, Expr, Unary};
use sched_forest::{Forest, LinearLeaf, Output, OutputColumns, Sigmoid, Softmax, Transform, TreeTarget};
use std::collections::HashMap;

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

    /// The magnitude of each margin; 0 if it depends on no sum. Columns count with at most the magnitude
    /// `most`.
    pub fn margin_sizes(&self, most: f64) -> Vec<f64> {
        let mut sizes = vec![0.0; self.forest.num_margins];
        for (margin, column, weight) in self.all() {
            if let Some(size) = sizes.get_mut(margin) {
                *size += times(weight, self.sizes.size(column).min(most));
            }
        }
        sizes
    }

    /// The gains of the columns that margins with these gains add.
    pub fn gains(&self, margins: &[DifferenceGain]) -> HashMap<ColumnId, DifferenceGain> {
        let mut gains: HashMap<ColumnId, DifferenceGain> = HashMap::new();
        for (margin, column, weight) in self.all() {
            let of = gains.entry(column).or_default();
            *of = of.and(margins.get(margin).copied().unwrap_or_default().behind(weight));
        }
        gains
    }
}

/// The gain of each margin. Without steps that read a margin's size, its difference counts relative to the
/// weights of its terms. Labels do not count: they may change where the best scores are nearly equal.
pub(super) fn margin_gains(terms: &LinearTerms, magnitude: f64) -> Vec<DifferenceGain> {
    let forest = terms.forest;
    let precision = ColumnType::from(forest.types.accumulator);
    let opposite = has_opposite_margins(forest);
    let simplified = |of: &OutputColumns| if opposite { with_opposite_margins(of) } else { of.clone() };
    let Output { raw, value, .. } = &forest.output;
    let mut steps = Vec::new();
    let (mut sizes, mut scale) = (terms.margin_sizes(f64::INFINITY), 1.0);
    for step in raw.iter().chain(value) {
        let expressions = match step {
            Transform::Columns(of) => Some(simplified(of)),
            _ => None,
        };
        let step = OutputStep { step, expressions, sizes };
        sizes = step.sizes_behind();
        scale = linear_factor(step.step).map_or(f64::INFINITY, |factor| times(scale, factor));
        steps.push(step);
    }
    let is_exponential = matches!(value.last(), Some(Transform::Exp));
    let counted_sizes = terms.margin_sizes(magnitude);
    let result = |(number, size): (usize, &f64)| {
        let own = counted_sizes.get(number).map_or(0.0, |size| times(*size, scale));
        let counted = if is_exponential { *size } else { own };
        let is_relative = is_exponential || scale.is_finite();
        DifferenceGain::of(if is_relative { relative(counted, magnitude) } else { 1.0 })
    };
    let mut gains: Vec<DifferenceGain> = sizes.iter().enumerate().map(result).collect();
    for step in steps.iter().rev() {
        let rounded = gains.iter().zip(step.sizes_behind());
        let rounded: Vec<DifferenceGain> =
            rounded.map(|(gain, size)| gain.with_rounding(precision, size)).collect();
        gains = step.gains_before(&rounded, magnitude);
    }
    let of_margins = gains.into_iter().zip(terms.margin_sizes(f64::INFINITY));
    of_margins.map(|(gain, size)| gain.with_rounding(precision, size)).collect()
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
    fn gains_before(&self, behind: &[DifferenceGain], magnitude: f64) -> Vec<DifferenceGain> {
        if let Some(of) = &self.expressions {
            return expression_gains(of, &self.sizes, behind, magnitude);
        }
        let all = behind.iter().copied().reduce(DifferenceGain::and).unwrap_or_default();
        let each = |of: &dyn Fn(f64) -> f64| {
            let gains = behind.iter().zip(&self.sizes);
            gains.map(|(gain, size)| gain.behind(of(*size))).collect::<Vec<DifferenceGain>>()
        };
        let mixed = |slope: f64| vec![all.behind(slope); self.sizes.len()];
        match self.step {
            Transform::Sigmoid(Sigmoid::Plain { slope }) => each(&|_| slope.abs()),
            Transform::Exp => each(&f64::exp),
            Transform::SignedSquare => each(&|size| 2.0 * size),
            Transform::PowerOfTwo { by } => each(&|size| (size / by.abs()).exp2() / by.abs()),
            // Labels.
            Transform::ArgMax | Transform::Hinge | Transform::Above(_) => mixed(0.0),
            // The slope has no bound where a probability is near 0 or 1.
            Transform::Probit => mixed(f64::INFINITY),
            // Values near zero are no part of the sum.
            Transform::Softmax(Softmax::ZeroAside) => mixed(f64::INFINITY),
            Transform::Softmax(_) | Transform::Ascending | Transform::Complement => mixed(1.0),
            Transform::Sigmoid(Sigmoid::Bounded | Sigmoid::Mirrored) | Transform::LogOnePlusExp => {
                each(&|_| 1.0)
            }
            step @ (Transform::Scale { .. } | Transform::Divide { .. }) => {
                each(&|_| linear_factor(step).unwrap_or(f64::INFINITY))
            }
            // Expressions have gains of their own.
            Transform::Columns(_) => mixed(f64::INFINITY),
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
    let sizes = ColumnSizes::new(columns, &needed, size);
    (needed, sizes)
}

/// The gains of values of these sizes that expressions read. `behind` are those of the results.
fn expression_gains(
    of: &OutputColumns,
    values: &[f64],
    behind: &[DifferenceGain],
    magnitude: f64,
) -> Vec<DifferenceGain> {
    let columns = &*of.columns;
    let (needed, sizes) = expression_sizes(of, values);
    let mut results = of_results(columns, &sizes, &of.results, magnitude);
    for (result, gain) in of.results.iter().zip(behind) {
        if let Some(of) = results.get_mut(result) {
            *of = gain.behind(of.factor);
        }
    }
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
