//! XGBoost's objectives: functions from base scores to margins, and from margins to predictions.
//!
//! All computations are in single precision with the C library's `logf`, as in XGBoost. Another order of
//! operations or another logarithm could change the last bit of the base margin, and with it most
//! predictions.

use super::releases::{ChangedRule, Rule, Rules};
use crate::codes;
use crate::error::ModelError;
use crate::forest::{Tree, TreeTarget};
use crate::output::{ClassRule, EXPECTILE_GAP, Output, Sigmoid, Softmax, Transform};

/// The meaning of an objective's name.
pub(super) struct Objective {
    /// The base scores that XGBoost accepts.
    pub scores: Scores,
    /// The conversion of base scores from the scale of predictions to margins.
    pub base_margins: BaseMargins,
    /// The steps from margins to results.
    pub output: Output,
    /// Whether this is a built-in objective of XGBoost. For others, predictions are the margins.
    pub is_known: bool,
}

/// The rule that turns base scores into margins.
#[derive(Clone, Copy)]
pub(super) enum BaseMargins {
    /// Each margin is this function of its base score.
    Each(fn(f32) -> f32),
    /// Each margin is the logit of its base score, by the rule of the release.
    Logit,
    /// Margins are the inverse of [`Transform::Ascending`] of all base scores.
    Differences,
}

impl BaseMargins {
    /// Turns base scores into margins, by the rules of a release.
    pub(super) fn apply(self, scores: &mut [f32], rules: &Rules) {
        let is_bounded = rules.find(ChangedRule::Logit) == Rule::LogitBounded;
        match self {
            BaseMargins::Each(margin) => scores.iter_mut().for_each(|score| *score = margin(*score)),
            BaseMargins::Logit if is_bounded => {
                scores.iter_mut().for_each(|score| {
                    *score = logit(score.clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY))
                });
            }
            BaseMargins::Logit => scores.iter_mut().for_each(|score| *score = logit(*score)),
            BaseMargins::Differences => {
                for index in (1..scores.len()).rev() {
                    let step = (scores[index] - scores[index - 1] - GAP).max(GAP);
                    scores[index] = step + (-(-step).exp_m1()).ln();
                }
            }
        }
    }
}

/// The smallest distance between two expectiles.
const GAP: f32 = EXPECTILE_GAP as f32;

/// Base scores that an objective accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scores {
    /// Every number.
    Any,
    /// Probabilities including 0 and 1, whose margins are finite from release 3.2 on.
    Probabilities,
    /// Probabilities except 0 and 1.
    InnerProbabilities,
    /// Numbers of at least 0, since the margin is the logarithm.
    NotNegative,
    /// Numbers above 0, for gamma regression, for which XGBoost refuses 0.
    Positive,
}

impl Scores {
    /// Whether a finite score is accepted.
    pub(super) fn contain(self, score: f32) -> bool {
        match self {
            Scores::Any => true,
            Scores::Probabilities => (0.0..=1.0).contains(&score),
            Scores::InnerProbabilities => score > 0.0 && score < 1.0,
            Scores::NotNegative => score >= 0.0,
            Scores::Positive => score > 0.0,
        }
    }

    /// The accepted scores in words.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Scores::Any => "a finite number",
            Scores::Probabilities => "a probability, from 0 to 1",
            Scores::InnerProbabilities => "a probability above 0 and below 1",
            Scores::NotNegative => "at least 0",
            Scores::Positive => "greater than 0",
        }
    }
}

/// Whether the objective needs the parameter `num_class`.
pub(super) fn needs_classes(name: &str) -> bool {
    matches!(name, "multi:softmax" | "multi:softprob")
}

/// Finds the objective of a model with `num_margins` outputs.
pub(super) fn find(name: &str, num_margins: usize, rules: &mut Rules) -> Objective {
    let of = Output::of;
    let sigmoid = || of(Transform::Sigmoid(Sigmoid::Bounded));
    let probabilities = match rules.find(ChangedRule::Logit) {
        Rule::LogitBounded => Scores::Probabilities,
        _ => Scores::InnerProbabilities,
    };
    let logistic = |output| Objective {
        scores: probabilities,
        base_margins: BaseMargins::Logit,
        output,
        is_known: true,
    };
    let (scores, base_margin, output): (_, fn(f32) -> f32, _) = match name {
        "binary:logistic" => return logistic(sigmoid().with_classes(ClassRule::ValueAbove(0.5))),
        "reg:logistic" => return logistic(sigmoid()),
        "binary:hinge" => (Scores::Any, same, of(Transform::Hinge).with_classes(ClassRule::MarginAbove(0.0))),
        "binary:logitraw" => {
            let output = Output::identity().with_classes(ClassRule::MarginAbove(0.0));
            if rules.apply(ChangedRule::LogitRaw) == Rule::LogitRawProbability {
                return logistic(output);
            }
            (Scores::Any, same, output)
        }
        "multi:softmax" => (Scores::Any, same, of(Transform::ArgMax).with_classes(ClassRule::LargestMargin)),
        "multi:softprob" => {
            let softmax = of(Transform::Softmax(Softmax::Doubled));
            (Scores::Any, same, softmax.with_classes(ClassRule::LargestMargin))
        }
        "reg:gamma" => (Scores::Positive, f32::ln, of(Transform::Exp)),
        "count:poisson" | "reg:tweedie" | "survival:cox" | "survival:aft" => {
            (Scores::NotNegative, f32::ln, of(Transform::Exp))
        }
        "reg:expectileerror" if num_margins > 1 => {
            let (scores, output) = (Scores::Any, of(Transform::Ascending));
            return Objective { scores, base_margins: BaseMargins::Differences, output, is_known: true };
        }
        "rank:map"
        | "rank:ndcg"
        | "rank:pairwise"
        | "reg:absoluteerror"
        | "reg:expectileerror"
        | "reg:linear"
        | "reg:pseudohubererror"
        | "reg:quantileerror"
        | "reg:squarederror"
        | "reg:squaredlogerror" => (Scores::Any, same, Output::identity()),
        _ => {
            let (scores, output) = (Scores::Any, Output::identity());
            return Objective { scores, base_margins: BaseMargins::Each(same), output, is_known: false };
        }
    };
    Objective { scores, base_margins: BaseMargins::Each(base_margin), output, is_known: true }
}

/// The output of a model, changed by those rules of the release that depend on its trees.
pub(super) fn output(
    output: Output,
    name: &str,
    (trees, base): (&[Tree], &[f64]),
    rules: &mut Rules,
) -> Result<Output, ModelError> {
    let bounded = Transform::Sigmoid(Sigmoid::Bounded);
    let is_unbounded = output.value.contains(&bounded)
        && least_margin(trees, base) < LEAST_BOUNDED_MARGIN
        && rules.apply(ChangedRule::Sigmoid) == Rule::SigmoidUnbounded;
    if is_unbounded {
        return Ok(Output { value: vec![Transform::Sigmoid(Sigmoid::Plain { slope: 1.0 })], ..output });
    }
    let is_sorted = name == "reg:quantileerror"
        && base.len() > 1
        && rules.apply(ChangedRule::Quantiles) == Rule::QuantilesSorted;
    if is_sorted {
        let message = format!("XGBoost {} sorts the quantiles of a row, and schedc does not", rules.release);
        return Err(ModelError::new(codes::UNSUPPORTED_OBJECTIVE, message)
            .at("learner.objective.name")
            .help(
                "`--as-release 3.3` gives the quantiles in the order of the model: sort those of each \
                   row yourself",
            ));
    }
    Ok(output)
}

/// From release 1.6 on, smaller margins have the probability of this margin.
const LEAST_BOUNDED_MARGIN: f64 = -88.7;

/// A lower bound of all margins.
fn least_margin(trees: &[Tree], base: &[f64]) -> f64 {
    let mut margins = base.to_vec();
    for tree in trees {
        let least = |at: usize| tree.leaves.iter().map(|leaf| leaf.values[at]).fold(f64::INFINITY, f64::min);
        match tree.target {
            TreeTarget::One(margin) => margins[margin as usize] += least(0),
            TreeTarget::All => margins.iter_mut().enumerate().for_each(|(at, margin)| *margin += least(at)),
        }
    }
    // Sums in single precision have rounding errors, so the bound is lowered a little.
    let rounded = |margin: f64| margin - margin.abs() * 1e-3;
    margins.into_iter().map(rounded).fold(f64::INFINITY, f64::min)
}

fn same(score: f32) -> f32 {
    score
}

/// Smallest probability of a bounded base score; the largest is 1 minus it.
pub(super) const LEAST_PROBABILITY: f32 = 1e-6;

/// The inverse of the sigmoid.
fn logit(score: f32) -> f32 {
    -(1.0 / score - 1.0).ln()
}
