//! XGBoost's objectives: functions from a base score to a margin, and from margins to a prediction.
//!
//! Everything is in single precision with the C library's `logf`, as in XGBoost: another order of operations
//! or another logarithm is off by one in the last place, and since every prediction starts from the base
//! margin that would make most of them differ.

use super::releases::{Change, Rule, Rules};
use crate::codes;
use crate::error::ModelError;
use crate::forest::{Target, Tree};
use crate::output::{ClassRule, EXPECTILE_GAP, Output, Sigmoid, Softmax, Transform};

/// The meaning of an objective's name.
pub(super) struct Objective {
    /// The base scores with which XGBoost predicts.
    pub scores: Scores,
    /// The conversion of base scores from the scale of predictions to margins.
    pub base_margins: BaseMargins,
    /// The steps from margins to results.
    pub output: Output,
    /// Whether the name is one of XGBoost's own; others are taken as plain margins.
    pub is_known: bool,
}

/// The rule that turns base scores into margins.
#[derive(Clone, Copy)]
pub(super) enum BaseMargins {
    /// Each margin from its own base score, by this function.
    Each(fn(f32) -> f32),
    /// The margins of probabilities: `logit`, as the release that saved the file computed it.
    Logit,
    /// The inverse of [`Transform::Ascending`].
    Differences,
}

impl BaseMargins {
    /// Turns base scores into margins, by the rules of a release.
    pub(super) fn apply(self, scores: &mut [f32], rules: &Rules) {
        let is_bounded = rules.find(Change::Logit) == Rule::LogitBounded;
        match self {
            BaseMargins::Each(margin) => scores.iter_mut().for_each(|score| *score = margin(*score)),
            BaseMargins::Logit if is_bounded => {
                scores.iter_mut().for_each(|score| *score = logit(score.clamp(LEAST, 1.0 - LEAST)));
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

/// The least distance between two expectiles.
const GAP: f32 = EXPECTILE_GAP as f32;

/// Base scores that an objective takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scores {
    /// Every number.
    Any,
    /// Probabilities with 0 and 1, whose margins releases from 3.2 on keep finite.
    Probabilities,
    /// Probabilities without 0 and 1.
    InnerProbabilities,
    /// Numbers from 0 on, since the margin is the logarithm.
    NotNegative,
    /// Numbers above 0: XGBoost refuses 0 for gamma regression alone.
    Positive,
}

impl Scores {
    /// Whether a finite score is one of them.
    pub(super) fn contain(self, score: f32) -> bool {
        match self {
            Scores::Any => true,
            Scores::Probabilities => (0.0..=1.0).contains(&score),
            Scores::InnerProbabilities => score > 0.0 && score < 1.0,
            Scores::NotNegative => score >= 0.0,
            Scores::Positive => score > 0.0,
        }
    }

    /// The scores in words.
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

/// Whether the objective predicts classes of which the model has to say how many there are.
pub(super) fn needs_classes(name: &str) -> bool {
    matches!(name, "multi:softmax" | "multi:softprob")
}

/// Finds the objective of a model with `num_margins` outputs.
pub(super) fn find(name: &str, num_margins: usize, rules: &mut Rules) -> Objective {
    let of = Output::of;
    let sigmoid = || of(Transform::Sigmoid(Sigmoid::Bounded));
    let probabilities = match rules.find(Change::Logit) {
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
            if rules.apply(Change::LogitRaw) == Rule::LogitRawProbability {
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

/// The output of a model, by the rules of a release that its trees depend on.
pub(super) fn output(
    output: Output,
    name: &str,
    (trees, base): (&[Tree], &[f64]),
    rules: &mut Rules,
) -> Result<Output, ModelError> {
    let bounded = Transform::Sigmoid(Sigmoid::Bounded);
    let is_unbounded = output.value.contains(&bounded)
        && least_margin(trees, base) < LEAST_BOUNDED
        && rules.apply(Change::Sigmoid) == Rule::SigmoidUnbounded;
    if is_unbounded {
        return Ok(Output { value: vec![Transform::Sigmoid(Sigmoid::Plain { slope: 1.0 })], ..output });
    }
    let is_sorted = name == "reg:quantileerror"
        && base.len() > 1
        && rules.apply(Change::Quantiles) == Rule::QuantilesSorted;
    if is_sorted {
        let message =
            format!("XGBoost {} sorts the quantiles of a row, which schedc does not", rules.release);
        return Err(ModelError::new(codes::UNSUPPORTED_OBJECTIVE, message)
            .at("learner.objective.name")
            .help(
                "`--as-release 3.3` gives the quantiles in the order of the model: sort those of each \
                   row yourself",
            ));
    }
    Ok(output)
}

/// Margins below this have the probability of this one, from release 1.6 on.
const LEAST_BOUNDED: f64 = -88.7;

/// A bound below all margins.
fn least_margin(trees: &[Tree], base: &[f64]) -> f64 {
    let mut margins = base.to_vec();
    for tree in trees {
        let least = |at: usize| tree.leaves.iter().map(|leaf| leaf.values[at]).fold(f64::INFINITY, f64::min);
        match tree.target {
            Target::One(margin) => margins[margin as usize] += least(0),
            Target::All => margins.iter_mut().enumerate().for_each(|(at, margin)| *margin += least(at)),
        }
    }
    // Sums in single precision are a little off.
    let rounded = |margin: f64| margin - margin.abs() * 1e-3;
    margins.into_iter().map(rounded).fold(f64::INFINITY, f64::min)
}

fn same(score: f32) -> f32 {
    score
}

/// Distance that bounded probabilities keep from 0 and 1.
pub(super) const LEAST: f32 = 1e-6;

/// The inverse of the sigmoid.
fn logit(score: f32) -> f32 {
    -(1.0 / score - 1.0).ln()
}
