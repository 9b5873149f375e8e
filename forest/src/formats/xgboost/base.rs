//! The margins before the first tree, computed from `base_score`, which is a prediction or a margin.

use super::document::{LearnerParam, ParameterText};
use super::objective::{BaseMargins, LEAST_PROBABILITY, Objective, Scores};
use super::releases::{ChangedRule, Rule, Rules};
use crate::codes;
use crate::error::ModelError;

const BASE_SCORE_PLACE: &str = "learner.learner_model_param.base_score";

/// The margins of a model without trees, from release 3.1 on.
///
/// XGBoost estimates `base_score` when it adds the first tree. Until then, unless the user gave one, the
/// model holds this placeholder, to which XGBoost applies no link function.
const DEFAULT_MARGIN: f32 = 0.5;

/// The properties of a model, besides `base_score`, on which the margins depend.
pub(super) struct MarginProperties<'a> {
    pub num_margins: usize,
    pub has_trees: bool,
    /// The name of the objective.
    pub name: &'a str,
    pub objective: &'a Objective,
}

/// The margins before the first tree.
pub(super) fn margins(
    param: &LearnerParam,
    model: &MarginProperties<'_>,
    rules: &mut Rules,
) -> Result<Vec<f64>, ModelError> {
    let is_estimated = param.boost_from_average.as_ref().is_none_or(|ParameterText(flag)| flag.trim() != "0");
    if !model.has_trees && is_estimated && rules.apply(ChangedRule::NoTrees) == Rule::NoTreesHalf {
        return Ok(vec![f64::from(DEFAULT_MARGIN); model.num_margins]);
    }
    let Some(ParameterText(text)) = &param.base_score else {
        return Err(ModelError::new(codes::STRUCTURE, "missing field `base_score`").at(BASE_SCORE_PLACE));
    };
    let mut scores = numbers(text, model.num_margins)?;
    let allowed = model.objective.scores;
    if let Some(&score) = scores.iter().find(|score| !score.is_finite() || !allowed.contain(**score)) {
        return Err(refused(score, text, model, rules));
    }
    let is_bounded = |score: &f32| (LEAST_PROBABILITY..=1.0 - LEAST_PROBABILITY).contains(score);
    if matches!(model.objective.base_margins, BaseMargins::Logit) && !scores.iter().all(is_bounded) {
        rules.apply(ChangedRule::Logit);
    }
    model.objective.base_margins.apply(&mut scores, rules);
    Ok(scores.into_iter().map(f64::from).collect())
}

/// Reads `base_score`, one number or a bracketed list of them in a string.
fn numbers(text: &str, num_margins: usize) -> Result<Vec<f32>, ModelError> {
    let bad = || {
        let message =
            format!("`base_score` should be a number or a list of numbers, not `{}`", text.escape_debug());
        ModelError::new(codes::BAD_PARAMETER, message).at(BASE_SCORE_PLACE)
    };
    let bare = text.trim();
    let list = [('[', ']'), ('(', ')')]
        .iter()
        .find_map(|&(open, close)| bare.strip_prefix(open)?.strip_suffix(close));
    let scores = match list {
        Some(list) => list.split(',').map(|score| score.trim().parse()).collect::<Result<Vec<f32>, _>>(),
        None => bare.parse().map(|score| vec![score]),
    };
    let mut scores = scores.map_err(|_| bad())?;
    if scores.len() == 1 {
        scores = vec![scores[0]; num_margins];
    }
    if scores.len() != num_margins {
        let message = format!("`base_score` has {} numbers for {num_margins} outputs", scores.len());
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(BASE_SCORE_PLACE));
    }
    Ok(scores)
}

/// The error for a base score that XGBoost refuses or with which it predicts NaN or infinity.
fn refused(score: f32, text: &str, model: &MarginProperties<'_>, rules: &Rules) -> ModelError {
    let (code, allowed) = match score.is_finite() {
        true => (codes::BAD_PARAMETER, model.objective.scores),
        false => (codes::BAD_VALUE, Scores::Any),
    };
    let message = format!(
        "`base_score` is `{}`; for `{}` it must be {}",
        text.escape_debug(),
        model.name,
        allowed.as_str()
    );
    let help = match allowed {
        Scores::InnerProbabilities if Scores::Probabilities.contain(score) => format!(
            "XGBoost {} refuses this model, too; 3.2 and later accept it: `--as-release 3.2` computes their \
             predictions",
            rules.release
        ),
        _ => "XGBoost cannot predict with this model, either: train again without `base_score`, or with a \
              value that the objective accepts"
            .into(),
    };
    ModelError::new(code, message).at(BASE_SCORE_PLACE).help(help)
}
