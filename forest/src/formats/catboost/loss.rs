//! CatBoost's predictions for each loss: `predict_proba` for classifiers and `predict` for others.

use serde_json::Value;

use super::document::ModelMetadata;
use crate::codes;
use crate::error::ModelError;
use crate::loaded::Note;
use crate::output::{ClassRule, Classes, Output, Sigmoid, Softmax, Transform};
use sched_categories::Label;

/// Losses whose predictions are the sums.
const SUM_LOSSES: &[&str] = &[
    "RMSE",
    "MAE",
    "Quantile",
    "LogLinQuantile",
    "Lq",
    "Expectile",
    "MAPE",
    "Huber",
    "LogCosh",
    "MultiRMSE",
    "MultiRMSEWithMissingValues",
    "MultiQuantile",
    "SurvivalAft",
    "Cox",
    "PairLogit",
    "PairLogitPairwise",
    "YetiRank",
    "YetiRankPairwise",
    "QueryRMSE",
    "GroupQuantile",
    "StochasticFilter",
    "StochasticRank",
    "LambdaMart",
    "QuerySoftMax",
    "QueryCrossEntropy",
];

const LOSS_PLACE: &str = "model_info.params.loss_function.type";

/// The loss's name and the output that it computes from the model's sums.
pub(super) fn output(
    info: &ModelMetadata,
    count: usize,
    notes: &mut Vec<Note>,
) -> Result<(String, Output), ModelError> {
    let name = info.params.pointer("/loss_function/type").and_then(Value::as_str).unwrap_or_default();
    let sigmoid = Transform::Sigmoid(Sigmoid::Plain { slope: 1.0 });
    let (value, rule) = match name {
        "Logloss" | "CrossEntropy" | "Focal" => {
            if count != 1 {
                let message = format!("the loss `{name}` has one output, and the leaves have {count}");
                return Err(ModelError::new(codes::BAD_PARAMETER, message).at(LOSS_PLACE));
            }
            (vec![sigmoid, Transform::Complement], Some(ClassRule::MarginAbove(class_bound(info)?)))
        }
        "MultiLogloss" | "MultiCrossEntropy" => {
            (vec![sigmoid], Some(ClassRule::MarginAbove(class_bound(info)?)))
        }
        "MultiClass" => (vec![Transform::Softmax(Softmax::Plain)], Some(ClassRule::LargestMargin)),
        "MultiClassOneVsAll" => (vec![sigmoid], Some(ClassRule::LargestMargin)),
        "Poisson" | "Tweedie" => (vec![Transform::Exp], None),
        "RMSEWithUncertainty" => {
            let message =
                "the loss `RMSEWithUncertainty` predicts a mean and a variance, which schedc cannot compute";
            return Err(ModelError::new(codes::UNSUPPORTED_OBJECTIVE, message).at(LOSS_PLACE).help(
                "train with loss_function=\"RMSE\" for the mean, or \"MultiQuantile\" for an interval",
            ));
        }
        name => {
            if !SUM_LOSSES.contains(&name) {
                notes.push(Note(match name {
                    "" => "the model does not name its loss: predictions equal margins".into(),
                    _ => format!("schedc does not know the loss `{name}`: predictions equal margins"),
                }));
            }
            (Vec::new(), None)
        }
    };
    let classes = match rule {
        Some(rule) => {
            let labels = labels(info, &rule, count)?;
            Some(Classes::new(rule, labels))
        }
        None => None,
    };
    let name = if name.is_empty() { "unknown" } else { name };
    Ok((name.into(), Output { raw: Vec::new(), value, classes }))
}

/// The margin above which a row is of class 1: the inverse sigmoid of the probability threshold that the user
/// chose.
fn class_bound(info: &ModelMetadata) -> Result<f64, ModelError> {
    let chosen = match &info.binclass_probability_threshold {
        None => return Ok(0.0),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_f64(),
    };
    match chosen {
        Some(chosen) if chosen > 0.0 && chosen < 1.0 => Ok(-f64::ln(1.0 / chosen - 1.0)),
        _ => Err(ModelError::new(
            codes::BAD_PARAMETER,
            "the threshold of class 1 is not a probability between 0 and 1",
        )
        .at("model_info.binclass_probability_threshold")),
    }
}

fn labels(info: &ModelMetadata, rule: &ClassRule, count: usize) -> Result<Vec<Label>, ModelError> {
    let names = &info.class_params.class_names;
    let (expected, is_named) = match rule {
        ClassRule::MarginAbove(_) => (2, count == 1),
        _ => (count, true),
    };
    if names.is_empty() || !is_named {
        return Ok(Vec::new());
    }
    let place = "model_info.class_params.class_names";
    if names.len() != expected {
        let message = format!("{} names are given for {expected} classes", names.len());
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(place));
    }
    let label = |name: &Value| match name {
        Value::String(text) => Ok(Label::Text(text.clone())),
        Value::Bool(truth) => Ok(Label::Text(String::from(if *truth { "True" } else { "False" }))),
        Value::Number(number) => Ok(match number.as_i64() {
            Some(whole) => Label::Integer(whole),
            None => Label::Number(number.as_f64().unwrap_or_default()),
        }),
        _ => Err(ModelError::new(codes::STRUCTURE, "a class is neither a number nor a text").at(place)),
    };
    names.iter().map(label).collect()
}
