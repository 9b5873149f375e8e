//! Decides whether predictions for classes are probabilities or decision values, by the range of every value
//! between leaves and predictions.

use sched_columns::{Binary, ColumnId, Columns, Expr, Unary};
use sched_forest::{ClassValue, Forest, Leaf, Transform, TreeTarget};
use std::collections::HashMap;

/// Values this far outside 0 to 1 still count as probabilities: rounding makes 1 minus a sum of probabilities
/// slightly negative.
const ROUNDING_TOLERANCE: f64 = 1e-3;

/// The least and the greatest number that a value can have.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    least: f64,
    greatest: f64,
}

/// The word for the predictions of a classifier that are no probabilities: `classes` for numbers of classes,
/// `labels`, `numbers` for numbers of classes among floats, or `scores` for decision values. `None` for
/// probabilities and for other models.
pub fn values_word(forest: &Forest) -> Option<&'static str> {
    match forest.output.class_value() {
        Some(ClassValue::Number) => Some("classes"),
        Some(ClassValue::Label) => Some("labels"),
        None if matches!(forest.output.value.last(), Some(Transform::ArgMax)) => {
            forest.is_classifier().then_some("numbers")
        }
        None => {
            let classes = forest.output.classes.as_ref()?;
            let are_probabilities = classes.are_probabilities.unwrap_or_else(|| !are_scores(forest));
            (!are_probabilities).then_some("scores")
        }
    }
}

/// Whether predictions of classes are decision values or distances: some row may make one of them negative or
/// greater than 1.
fn are_scores(forest: &Forest) -> bool {
    let computed = of_columns(&forest.computed.columns, &forest.computed.read_by_trees, &[]);
    let mut values: Vec<Range> =
        (0..forest.num_margins).map(|margin| margin_of(forest, margin, &computed)).collect();
    for step in forest.output.raw.iter().chain(&forest.output.value) {
        values = ranges_after(step, values);
    }
    values.iter().any(|value| value.least < -ROUNDING_TOLERANCE || value.greatest > 1.0 + ROUNDING_TOLERANCE)
}

/// The range of a margin before all steps. `computed` are the ranges of computed columns.
fn margin_of(forest: &Forest, margin: usize, computed: &[Range]) -> Range {
    let base = Range::of(forest.base.get(margin).copied().unwrap_or_default());
    let column = |feature: u32| {
        let number = (feature as usize).checked_sub(forest.num_features);
        number.and_then(|number| computed.get(number)).copied().unwrap_or(Range::ANY)
    };
    forest.trees.iter().enumerate().fold(base, |sum, (number, tree)| {
        let linear = forest.linear.get(number).map(Vec::as_slice).unwrap_or_default();
        let value = |(number, leaf): (usize, &Leaf)| match (tree.target, linear.get(number)) {
            (TreeTarget::All, _) => leaf.values.get(margin).copied().map_or(Range::ANY, Range::of),
            (TreeTarget::One(one), _) if one as usize != margin => Range::of(0.0),
            (TreeTarget::One(_), None) => leaf.values.first().copied().map_or(Range::ANY, Range::of),
            (TreeTarget::One(_), Some(linear)) => {
                linear.terms.iter().fold(Range::of(linear.constant), |sum, (feature, weight)| {
                    sum.plus(column(*feature).times(Range::of(*weight)))
                })
            }
        };
        sum.plus(tree.leaves.iter().enumerate().map(value).reduce(Range::or).unwrap_or(Range::ANY))
    })
}

/// The ranges of values after a step.
fn ranges_after(step: &Transform, values: Vec<Range>) -> Vec<Range> {
    let each = |f: &dyn Fn(Range) -> Range| values.iter().map(|value| f(*value)).collect();
    match step {
        Transform::Scale { factor, bias } => {
            let scaled =
                |(value, bias): (&Range, &f64)| value.times(Range::of(*factor)).plus(Range::of(*bias));
            values.iter().zip(bias).map(scaled).collect()
        }
        Transform::Divide { by } => each(&|value| value.times(Range::of(1.0 / by))),
        Transform::Sigmoid(_)
        | Transform::Hinge
        | Transform::Above(_)
        | Transform::Softmax(_)
        | Transform::Exp
        | Transform::PowerOfTwo { .. } => each(&|_| Range::SHARE),
        Transform::LogOnePlusExp => each(&|_| Range::NOT_NEGATIVE),
        Transform::ArgMax => vec![Range::NOT_NEGATIVE],
        Transform::SignedSquare => {
            each(&|value| Range { least: value.least * value.least.abs(), greatest: f64::INFINITY })
        }
        Transform::Probit => each(&|_| Range::ANY),
        Transform::Ascending => {
            let first = values.first().copied().unwrap_or(Range::ANY);
            each(&|_| Range { greatest: f64::INFINITY, ..first })
        }
        Transform::Complement => values.iter().flat_map(|value| [value.complement(), *value]).collect(),
        Transform::Columns(of) => of_columns(&of.columns, &of.results, &values),
    }
}

/// The ranges of some columns over values; values beyond the given ones are any numbers.
fn of_columns(columns: &Columns, wanted: &[ColumnId], values: &[Range]) -> Vec<Range> {
    let mut ranges: HashMap<ColumnId, Range> = HashMap::new();
    for column in columns.needed_for(wanted) {
        let range = of_expr(columns.expr(column), values, &ranges);
        ranges.insert(column, range);
    }
    wanted.iter().map(|column| ranges.get(column).copied().unwrap_or(Range::ANY)).collect()
}

/// The range of an expression over values, given those of the columns that it reads.
fn of_expr(expr: &Expr, values: &[Range], known: &HashMap<ColumnId, Range>) -> Range {
    let of = |column: &ColumnId| known.get(column).copied().unwrap_or(Range::ANY);
    match expr {
        Expr::Input { feature, .. } => values.get(*feature as usize).copied().unwrap_or(Range::ANY),
        Expr::Const(value) => Range::of(value.to_f64()),
        Expr::Unary(op, x) => unary(*op, of(x)),
        Expr::Binary(Binary::Multiply, x, y) if x == y => of(x).magnitude().times(of(x).magnitude()),
        Expr::Binary(op, x, y) => binary(*op, of(x), of(y)),
        Expr::Select { then, otherwise, .. } => of(then).or(of(otherwise)),
        Expr::Pick { values, .. } => {
            let range = values.iter().map(|value| Range::of(value.to_f64())).reduce(Range::or);
            range.unwrap_or(Range::ANY)
        }
        Expr::Dot { start, terms } => terms.iter().fold(Range::of(start.to_f64()), |sum, term| {
            sum.plus(of(&term.column).times(Range::of(term.weight.to_f64())))
        }),
        Expr::Trees { start, trees, result, .. } => {
            trees.trees().iter().fold(Range::of(start.to_f64()), |sum, tree| {
                let values = tree.values.iter().skip(*result as usize);
                let values = values.step_by(trees.shared_properties().results.max(1) as usize);
                sum.plus(values.map(|value| Range::of(*value)).reduce(Range::or).unwrap_or(Range::ANY))
            })
        }
        Expr::SquaredDistance { .. } | Expr::Step { .. } => Range::NOT_NEGATIVE,
        Expr::Bit { .. } => Range::SHARE,
        Expr::Table { table, .. } => {
            let values = table.values.iter().chain([&table.other, &table.missing]);
            values.map(|value| Range::of(value.to_f64())).reduce(Range::or).unwrap_or(Range::ANY)
        }
    }
}

fn unary(op: Unary, x: Range) -> Range {
    match op {
        Unary::Cast(_) => x,
        Unary::Negate => x.negated(),
        Unary::Abs => x.magnitude(),
        Unary::SquareRoot => Range { least: 0.0, greatest: x.greatest.max(0.0).sqrt() },
        // The exponential of a logarithm of a probability.
        Unary::Exp | Unary::Logistic | Unary::IsNan | Unary::Not => Range::SHARE,
        Unary::Tanh | Unary::Erf if x.least < 0.0 => Range { least: -1.0, greatest: 1.0 },
        Unary::Tanh | Unary::Erf => Range::SHARE,
        Unary::Floor => x.between(f64::floor),
        Unary::Ceil => x.between(f64::ceil),
        Unary::Round => x.between(f64::round_ties_even),
        // These functions keep the sign.
        Unary::ExpMinusOne | Unary::LogOnePlus if x.least >= 0.0 => Range::NOT_NEGATIVE,
        _ => Range::ANY,
    }
}

fn binary(op: Binary, x: Range, y: Range) -> Range {
    let by_end =
        |f: fn(f64, f64) -> f64| Range { least: f(x.least, y.least), greatest: f(x.greatest, y.greatest) };
    match op {
        Binary::Add => x.plus(y),
        Binary::Subtract => x.plus(y.negated()),
        Binary::Multiply => x.times(y),
        Binary::Divide if y.least == y.greatest && y.least != 0.0 => x.times(Range::of(1.0 / y.least)),
        // Normalized probabilities are divided by their sum.
        Binary::Divide if x.least >= 0.0 && y.least >= 0.0 => Range::SHARE,
        Binary::Power if x.least >= 0.0 && y.least >= 0.0 => match x.greatest <= 1.0 {
            true => Range::SHARE,
            false => Range::NOT_NEGATIVE,
        },
        Binary::Divide | Binary::Power => Range::ANY,
        Binary::Min => by_end(f64::min),
        Binary::Max => by_end(f64::max),
        Binary::Less | Binary::LessOrEqual | Binary::Equal | Binary::And | Binary::Or => Range::SHARE,
    }
}

impl Range {
    const ANY: Range = Range { least: f64::NEG_INFINITY, greatest: f64::INFINITY };
    const NOT_NEGATIVE: Range = Range { least: 0.0, greatest: f64::INFINITY };
    const SHARE: Range = Range { least: 0.0, greatest: 1.0 };

    fn of(value: f64) -> Range {
        Range { least: value, greatest: value }
    }

    fn or(self, other: Range) -> Range {
        Range { least: self.least.min(other.least), greatest: self.greatest.max(other.greatest) }
    }

    /// The range of a function that rises.
    fn between(self, function: fn(f64) -> f64) -> Range {
        Range { least: function(self.least), greatest: function(self.greatest) }
    }

    fn plus(self, other: Range) -> Range {
        Range { least: self.least + other.least, greatest: self.greatest + other.greatest }
    }

    fn negated(self) -> Range {
        Range { least: -self.greatest, greatest: -self.least }
    }

    fn complement(self) -> Range {
        Range::of(1.0).plus(self.negated())
    }

    fn magnitude(self) -> Range {
        match self.least >= 0.0 {
            true => self,
            false => Range { least: 0.0, greatest: self.greatest.max(-self.least) },
        }
    }

    fn times(self, other: Range) -> Range {
        // 0 times an infinite end is 0: ends are bounds of finite numbers.
        let product = |x: f64, y: f64| if x == 0.0 || y == 0.0 { 0.0 } else { x * y };
        let [a, b] = [self.least, self.greatest].map(|x| {
            let (one, other) = (product(x, other.least), product(x, other.greatest));
            Range { least: one.min(other), greatest: one.max(other) }
        });
        a.or(b)
    }
}
