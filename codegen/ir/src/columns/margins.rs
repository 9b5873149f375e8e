//! How much differences of a forest's margins can change predictions.

use super::gains::{Gain, gains, of_results, relative};
use super::sizes::Sizes;
use sched_columns::{ColumnId, ColumnType, Columns, Expr, Unary};
use sched_forest::{Forest, LinearLeaf, Output, OutputColumns, Sigmoid, Softmax, Transform, TreeTarget};
use std::collections::HashMap;

/// The linear leaves of a forest over columns.
pub(super) struct LinearTerms<'a> {
    pub forest: &'a Forest,
    /// The columns of its features.
    pub tested: &'a [ColumnId],
    pub sizes: &'a Sizes<'a>,
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

    /// The magnitude of each margin; 0 if it depends on no sum.
    pub fn margin_sizes(&self) -> Vec<f64> {
        let mut sizes = vec![0.0; self.forest.num_margins];
        for (margin, column, weight) in self.all() {
            if let Some(size) = sizes.get_mut(margin) {
                *size += weight * self.sizes.size(column);
            }
        }
        sizes
    }

    /// The gains of the columns that margins with these gains add.
    pub fn gains(&self, margins: &[Gain]) -> HashMap<ColumnId, Gain> {
        let mut gains: HashMap<ColumnId, Gain> = HashMap::new();
        for (margin, column, weight) in self.all() {
            let of = gains.entry(column).or_default();
            *of = of.and(margins.get(margin).copied().unwrap_or_default().behind(weight));
        }
        gains
    }
}

/// The gain of each margin, whose sizes are given. Without steps that read a margin's size, its difference
/// counts relative to its terms. Labels do not count: they may change where the best scores are nearly equal.
pub(super) fn margin_gains(forest: &Forest, sizes: &[f64], magnitude: f64) -> Vec<Gain> {
    let Output { raw, value, .. } = &forest.output;
    let precision = ColumnType::from(forest.types.accumulator);
    let opposite = has_opposite_margins(forest);
    let simplified = |of: &OutputColumns| if opposite { with_opposite_margins(of) } else { of.clone() };
    let mut scale = 1.0;
    // The gains of the values before the steps so far are `scale` times those behind them.
    let mut behind: Option<Vec<Gain>> = None;
    for step in raw.iter().chain(value) {
        let factor: f64 = match step {
            Transform::Scale { factor, .. } => *factor,
            Transform::Divide { by } | Transform::PowerOfTwo { by } => by.recip(),
            Transform::Sigmoid(Sigmoid::Plain { slope }) => *slope,
            _ => 1.0,
        };
        scale *= factor.abs();
        let next = match step {
            Transform::Scale { .. } | Transform::Divide { .. } => continue,
            // The slope has no bound where a probability is near 0 or 1.
            Transform::Probit => vec![Gain::of(f64::INFINITY); sizes.len()],
            // Values near zero are no part of the sum.
            Transform::Softmax(Softmax::ZeroAside) => vec![Gain::of(f64::INFINITY); sizes.len()],
            Transform::Columns(of) if behind.is_none() => {
                let scaled: Vec<f64> = sizes.iter().map(|size| size * scale).collect();
                let gains = expression_gains(&simplified(of), &scaled, magnitude);
                gains.into_iter().map(|gain| gain.behind(scale)).collect()
            }
            Transform::Columns(of) => {
                let gains = expression_gains(&simplified(of), &vec![1.0; sizes.len()], magnitude);
                let most = gains.iter().map(|gain| gain.factor).fold(1.0, f64::max);
                behind.iter().flatten().map(|gain| gain.behind(most)).collect()
            }
            _ if behind.is_some() => continue,
            _ => vec![Gain::of(scale); sizes.len()],
        };
        behind = Some(next);
    }
    let gains =
        behind.unwrap_or_else(|| sizes.iter().map(|size| Gain::of(relative(*size, magnitude))).collect());
    gains.into_iter().zip(sizes).map(|(gain, size)| gain.with_rounding(precision, *size)).collect()
}

/// The gains of margins of these sizes that expressions read.
fn expression_gains(of: &OutputColumns, sizes: &[f64], magnitude: f64) -> Vec<Gain> {
    let columns = &*of.columns;
    let needed = columns.needed_for(&of.results);
    let margin = |column: ColumnId| match columns.expr(column) {
        Expr::Input { feature, .. } => Some(*feature as usize),
        _ => None,
    };
    let sizes_behind = Sizes::new(columns, &needed, |column| sizes.get(margin(column)?).copied());
    let results = of_results(&sizes_behind, &of.results, magnitude);
    let of_columns = gains((columns, &needed), &sizes_behind, results);
    let mut of_margins = vec![Gain::default(); sizes.len()];
    for (column, gain) in of_columns {
        if let Some(sum) = margin(column).and_then(|margin| of_margins.get_mut(margin)) {
            *sum = sum.and(gain);
        }
    }
    of_margins
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
            // The same operands have the same types, so each expression is valid again.
            Err(_) => return of.clone(),
        };
    }
    let results = of.results.iter().map(|result| places.get(result).copied().unwrap_or(*result)).collect();
    OutputColumns { columns: columns.into(), results }
}
