//! LightGBM's objectives: how raw scores become predictions, in double precision.

use super::text::{SAVE_AGAIN_HELP, excerpt};
use crate::codes;
use crate::error::ModelError;
use crate::output::{ClassRule, Output, Sigmoid, Softmax, Transform};

/// The meaning of the line `objective`.
pub(super) struct ObjectiveLine {
    /// The steps from raw scores to results.
    pub output: Output,
    /// Whether this is a built-in objective of LightGBM.
    pub is_known: bool,
}

/// Finds the objective of a model with `num_margins` raw scores. Without a line, the objective is custom.
///
/// # Errors
/// `M0008` for an objective that LightGBM does not have, `M0009` for parameters that do not fit.
pub(super) fn find(line: Option<&str>, num_margins: usize) -> Result<ObjectiveLine, ModelError> {
    let line = line.unwrap_or("custom");
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    let name = words.next().unwrap_or_default();
    let parameters = ObjectiveParameters { line, of: name };
    let sigmoid = || {
        let slope = parameters.sigmoid()?;
        Ok(Output::of(Transform::Sigmoid(Sigmoid::Plain { slope })))
    };
    let plain = |transform| Ok((1, Output::of(transform)));
    let known: Result<(usize, Output), ModelError> = match name {
        "regression"
        | "regression_l2"
        | "l2"
        | "mean_squared_error"
        | "mse"
        | "l2_root"
        | "rmse"
        | "root_mean_squared_error"
        | "regression_l1"
        | "l1"
        | "mean_absolute_error"
        | "mae"
        | "fair"
        | "quantile"
        | "mape"
        | "mean_absolute_percentage_error" => match words.any(|word| word == "sqrt") {
            true => plain(Transform::SignedSquare),
            false => Ok((1, Output::identity())),
        },
        "huber" | "lambdarank" | "rank_xendcg" | "xendcg" | "xe_ndcg" | "xe_ndcg_mart" | "xendcg_mart" => {
            Ok((1, Output::identity()))
        }
        "poisson" | "gamma" | "tweedie" => plain(Transform::Exp),
        "cross_entropy" | "xentropy" => plain(Transform::Sigmoid(Sigmoid::Plain { slope: 1.0 })),
        "cross_entropy_lambda" | "xentlambda" => plain(Transform::LogOnePlusExp),
        "binary" => sigmoid().map(|output| (1, output.with_classes(ClassRule::ValueAbove(0.5)))),
        "multiclass" | "softmax" => parameters.classes().map(|classes| {
            let output = Output::of(Transform::Softmax(Softmax::Plain));
            (classes, output.with_classes(ClassRule::LargestValue))
        }),
        "multiclassova" | "multiclass_ova" | "ova" | "ovr" => parameters.classes().and_then(|classes| {
            sigmoid().map(|output| (classes, output.with_classes(ClassRule::LargestValue)))
        }),
        "custom" | "none" | "null" | "na" => {
            return Ok(ObjectiveLine { output: Output::identity(), is_known: false });
        }
        _ => {
            let message = format!("`{}` is not a known objective of LightGBM", excerpt(name));
            return Err(ModelError::new(codes::UNSUPPORTED_OBJECTIVE, message).at("objective").help(
                "train with an objective of LightGBM; without the line `objective`, predictions are the \
                 raw scores",
            ));
        }
    };
    let (margins, output) = known?;
    if margins != num_margins {
        let message = format!(
            "the objective `{}` needs {margins} trees in each iteration, and the model has {num_margins}",
            excerpt(line)
        );
        return Err(ModelError::new(codes::BAD_PARAMETER, message).at("objective").help(SAVE_AGAIN_HELP));
    }
    Ok(ObjectiveLine { output, is_known: true })
}

/// The step that averages over iterations.
///
/// # Errors
/// `M0009` if there are no iterations.
pub(super) fn average(iterations: usize) -> Result<Transform, ModelError> {
    if iterations == 0 {
        let message = "predictions are averages over trees, and the model has none";
        return Err(ModelError::new(codes::BAD_PARAMETER, message)
            .at("average_output")
            .help("LightGBM predicts no numbers with this model, either: train at least one iteration"));
    }
    Ok(Transform::Divide { by: iterations as f64 })
}

/// The parameters after the name of an objective, such as `sigmoid:1`.
#[derive(Clone, Copy)]
struct ObjectiveParameters<'a> {
    line: &'a str,
    of: &'a str,
}

impl<'a> ObjectiveParameters<'a> {
    fn get(self, key: &str) -> Option<&'a str> {
        let mut values = self.line.split(' ').filter_map(|word| word.split_once(':'));
        values.rfind(|(name, _)| *name == key).map(|(_, value)| value)
    }

    fn bad(self, what: &str) -> ModelError {
        let message = format!("`{}` needs {what}, as in `{} {what}`", excerpt(self.line), self.of);
        ModelError::new(codes::BAD_PARAMETER, message).at("objective").help(SAVE_AGAIN_HELP)
    }

    fn sigmoid(self) -> Result<f64, ModelError> {
        let slope = self.get("sigmoid").and_then(number);
        slope.filter(|slope| *slope > 0.0 && slope.is_finite()).ok_or_else(|| self.bad("sigmoid:1"))
    }

    fn classes(self) -> Result<usize, ModelError> {
        let classes = self.get("num_class").and_then(|text| text.parse().ok());
        classes.filter(|classes| *classes > 0).ok_or_else(|| self.bad("num_class:3"))
    }
}

/// Parses a parameter with LightGBM's arithmetic: whole part plus fraction digits divided by a power of ten,
/// then times (or divided by) the exponent's power of ten. Each step rounds, so the result may not be the
/// nearest double.
fn number(text: &str) -> Option<f64> {
    let digits = |text: &str| {
        let all = text.bytes().all(|byte| byte.is_ascii_digit());
        all.then(|| text.bytes().fold(0.0, |value, digit| value * 10.0 + f64::from(digit - b'0')))
    };
    let text = text.strip_prefix('+').unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let value = digits(whole)? + digits(fraction)? / power_of_ten(fraction.len());
    let exponent: i32 = exponent.parse().ok()?;
    let mut left = exponent.unsigned_abs().min(308);
    let mut scale = 1.0;
    for (step, factor) in [(50, 1e50), (8, 1e8), (1, 10.0)] {
        while left >= step {
            scale *= factor;
            left -= step;
        }
    }
    Some(if exponent < 0 { value / scale } else { value * scale })
}

/// A power of ten by repeated multiplication, which is exact up to 10^22.
fn power_of_ten(power: usize) -> f64 {
    (0..power.min(400)).fold(1.0, |value, _| value * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_lightgbm_reads_them() {
        for (text, value) in
            [("1", 1.0), ("0.7", 0.7), ("2.5e-1", 0.25), ("1e-05", 1e-5), ("1e+06", 1e6), (".5", 0.5)]
        {
            assert_eq!(number(text), Some(value), "{text}");
        }
        assert!(
            ["", ".", "-1", "1.5x", "e3", "nan", "inf", "1e"].into_iter().all(|text| number(text).is_none())
        );
        assert_eq!(number("1.14"), Some(1.14f64.next_up()));
    }
}
