//! XGBoost's objectives: how a base score becomes a margin and how margins become a prediction.
//!
//! Everything is in single precision with the C library's `logf`, as in XGBoost: another order of operations or another
//! logarithm is off by one in the last place, and since every prediction starts from the base margin that would make
//! most of them differ.

use crate::error::{Code, ModelError};
use crate::forest::Transform;

/// What an objective name stands for.
pub(super) struct Objective {
    /// From a base score in the scale of predictions to a margin.
    pub base_margin: fn(f32) -> f32,
    /// From margins to predictions.
    pub transform: Transform,
    /// Whether the name is one of XGBoost's own; others are taken as plain margins.
    pub is_known: bool,
}

/// Finds the objective of a model with so many outputs.
///
/// # Errors
/// `M0008` if its prediction is no function of the margins that is known here.
pub(super) fn find(name: &str, num_margins: usize) -> Result<Objective, ModelError> {
    let (base_margin, transform): (fn(f32) -> f32, _) = match name {
        "binary:logistic" | "reg:logistic" => (logit, Transform::Sigmoid),
        "binary:hinge" => (same, Transform::Hinge),
        "multi:softmax" => (same, Transform::ArgMax),
        "multi:softprob" => (same, Transform::Softmax),
        "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:cox" | "survival:aft" => {
            (f32::ln, Transform::Exp)
        }
        "reg:expectileerror" if num_margins > 1 => {
            let message = "`reg:expectileerror` with several alphas is not supported";
            return Err(ModelError::new(Code::UnsupportedObjective, message)
                .at("learner.objective")
                .help("train one model for each alpha, which is supported"));
        }
        "binary:logitraw"
        | "rank:map"
        | "rank:ndcg"
        | "rank:pairwise"
        | "reg:absoluteerror"
        | "reg:expectileerror"
        | "reg:linear"
        | "reg:pseudohubererror"
        | "reg:quantileerror"
        | "reg:squarederror"
        | "reg:squaredlogerror" => (same, Transform::Identity),
        _ => return Ok(Objective { base_margin: same, transform: Transform::Identity, is_known: false }),
    };
    Ok(Objective { base_margin, transform, is_known: true })
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
