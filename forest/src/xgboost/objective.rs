//! XGBoost's objectives: how a base score becomes a margin and how margins become a prediction.
//!
//! Everything is in single precision with the C library's `logf`, as in XGBoost: another order of operations or another
//! logarithm is off by one in the last place, and since every prediction starts from the base margin that would make
//! most of them differ.

use crate::output::{ClassRule, EXPECTILE_GAP, Output, Sigmoid, Softmax, Transform};

/// What an objective name stands for.
pub(super) struct Objective {
    /// The base scores with which XGBoost predicts.
    pub scores: Scores,
    /// From base scores in the scale of predictions to margins.
    pub base_margins: BaseMargins,
    /// From margins to results.
    pub output: Output,
    /// Whether the name is one of XGBoost's own; others are taken as plain margins.
    pub is_known: bool,
}

/// How base scores become margins.
#[derive(Clone, Copy)]
pub(super) enum BaseMargins {
    /// Each by itself.
    Each(fn(f32) -> f32),
    /// The inverse of [`Transform::Ascending`].
    Differences,
}

impl BaseMargins {
    /// Turns base scores into margins.
    pub(super) fn apply(self, scores: &mut [f32]) {
        match self {
            BaseMargins::Each(margin) => scores.iter_mut().for_each(|score| *score = margin(*score)),
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
    /// Probabilities. Recent releases take 0 and 1, too, and keep their margins finite.
    Probabilities,
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
            Scores::NotNegative => score >= 0.0,
            Scores::Positive => score > 0.0,
        }
    }

    /// The scores in words.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Scores::Any => "a finite number",
            Scores::Probabilities => "a probability, from 0 to 1",
            Scores::NotNegative => "at least 0",
            Scores::Positive => "greater than 0",
        }
    }
}

/// Whether the objective predicts classes of which the model has to say how many there are.
pub(super) fn needs_classes(name: &str) -> bool {
    matches!(name, "multi:softmax" | "multi:softprob")
}

/// Finds the objective of a model with so many outputs.
pub(super) fn find(name: &str, num_margins: usize) -> Objective {
    let of = Output::of;
    let sigmoid = || of(Transform::Sigmoid(Sigmoid::Bounded));
    let (scores, base_margin, output): (_, fn(f32) -> f32, _) = match name {
        "binary:logistic" => {
            (Scores::Probabilities, logit, sigmoid().with_classes(ClassRule::ValueAbove(0.5)))
        }
        "reg:logistic" => (Scores::Probabilities, logit, sigmoid()),
        "binary:hinge" => (Scores::Any, same, of(Transform::Hinge).with_classes(ClassRule::MarginAbove(0.0))),
        "binary:logitraw" => {
            (Scores::Any, same, Output::identity().with_classes(ClassRule::MarginAbove(0.0)))
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

fn same(score: f32) -> f32 {
    score
}

/// The inverse of the sigmoid, kept away from both of its poles.
fn logit(score: f32) -> f32 {
    const MARGIN: f32 = 1e-6;
    let score = score.clamp(MARGIN, 1.0 - MARGIN);
    -(1.0 / score - 1.0).ln()
}
