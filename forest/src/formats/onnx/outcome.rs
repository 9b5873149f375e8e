//! The computation of results from votes. A *vote* is the weight that a leaf adds to a class or target. The
//! specification of the operators is ambiguous, so the rules are those of ONNX Runtime.

use super::attribute::Attributes;
use super::graph::Arithmetic;
use crate::MAX_MARGINS;
use crate::codes;
use crate::error::ModelError;
use crate::loaded::Note;
use crate::output::{ClassRule, Classes, Output, Sigmoid, Softmax, Transform};
use sched_categories::Label;

/// The attribute `post_transform`: the function that turns sums into results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PostTransform {
    None,
    Logistic,
    Softmax,
    SoftmaxZero,
    Probit,
}

impl PostTransform {
    pub fn named(name: &str) -> Result<PostTransform, ModelError> {
        match name {
            "" | "NONE" => Ok(PostTransform::None),
            "LOGISTIC" => Ok(PostTransform::Logistic),
            "SOFTMAX" => Ok(PostTransform::Softmax),
            "SOFTMAX_ZERO" => Ok(PostTransform::SoftmaxZero),
            "PROBIT" => Ok(PostTransform::Probit),
            other => {
                let message = format!("`post_transform` is `{other}`, which is not known");
                Err(unsupported(message, "use NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT")
                    .at("post_transform"))
            }
        }
    }

    /// The transformation for ensembles with several targets or classes.
    fn steps(self) -> Vec<Transform> {
        match self {
            PostTransform::None => Vec::new(),
            PostTransform::Logistic => vec![Transform::Sigmoid(Sigmoid::Mirrored)],
            PostTransform::Softmax => vec![Transform::Softmax(Softmax::Plain)],
            PostTransform::SoftmaxZero => vec![Transform::Softmax(Softmax::ZeroAside)],
            PostTransform::Probit => vec![Transform::Probit],
        }
    }
}

/// The error for a model that is valid ONNX, but that schedc cannot compute exactly.
pub(super) fn unsupported(message: impl Into<String>, help: &str) -> ModelError {
    ModelError::new(codes::UNSUPPORTED_ENSEMBLE, message).help(help)
}

/// The rule that turns votes into sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum VoteRule {
    /// One sum for each class or target.
    Each,
    /// One sum, to which all votes are added, whatever their class or target.
    Single,
    /// Two sums: the negated sum of all votes, then the sum itself.
    Mirrored,
}

/// The results that a node computes from votes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EnsembleOutcome {
    pub votes: VoteRule,
    pub num_margins: usize,
    pub output: Output,
}

/// A number of targets or classes from the file, checked against the limit.
pub(super) fn count(value: i64, what: &str) -> Result<usize, ModelError> {
    match usize::try_from(value) {
        Ok(value @ 1..=MAX_MARGINS) => Ok(value),
        Ok(value @ 1..) => {
            let message =
                format!("the model says it has {value} {what}; at most {MAX_MARGINS} are supported");
            Err(ModelError::new(codes::TOO_LARGE, message))
        }
        _ => Err(ModelError::new(codes::BAD_PARAMETER, format!("the model has {value} {what}"))),
    }
}

/// The results of a regressor. `average` is the number of trees if sums are divided by it, else `None`.
pub(super) fn regressor(
    targets: usize,
    post: PostTransform,
    average: Option<usize>,
    base: &[f64],
) -> Result<EnsembleOutcome, ModelError> {
    if !base.is_empty() && base.len() != targets {
        let message = format!("`base_values` has {} entries for {targets} targets", base.len());
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at("base_values"));
    }
    let value = match (targets, post) {
        // With one target, ONNX Runtime ignores all transformations but PROBIT.
        (1, PostTransform::Probit) | (2.., _) => post.steps(),
        _ => Vec::new(),
    };
    let divide = average.map(|trees| Transform::Divide { by: trees as f64 });
    let raw = divide.into_iter().chain(added(base)).collect();
    let votes = if targets == 1 { VoteRule::Single } else { VoteRule::Each };
    Ok(EnsembleOutcome { votes, num_margins: targets, output: Output { raw, value, classes: None } })
}

/// The base values of a regressor that ONNX Runtime adds. It omits the base value of a target without votes.
///
/// # Errors
/// `M0041` for a base value of a target for which some rows have votes and others may have none.
pub(super) fn voted_base(base: Vec<f64>, summary: &VoteSummary) -> Result<Vec<f64>, ModelError> {
    // A single target keeps its base value even without votes. `regressor` refuses a wrong length later.
    if summary.voted.len() == 1 || base.len() != summary.voted.len() {
        return Ok(base);
    }
    let added = |(target, value): (usize, f64)| match (summary.always[target], summary.voted[target]) {
        (true, _) => Ok(value),
        (false, false) => Ok(0.0),
        (false, true) if value == 0.0 => Ok(value),
        (false, true) => Err(unsupported(
            format!(
                "some rows may get no vote for target {target}; for these ONNX Runtime does not add the \
                     target's base value"
            ),
            "give each leaf of one tree a vote for the target, with a weight of 0 if it has none, or add the \
             base value to the weights",
        )
        .at(format!("base_values[{target}]"))),
    };
    base.into_iter().enumerate().map(added).collect()
}

/// The step that adds base values: ONNX Runtime adds them last.
fn added(base: &[f64]) -> Option<Transform> {
    let is_needed = base.iter().any(|&value| value != 0.0);
    is_needed.then(|| Transform::Scale { factor: 1.0, bias: base.to_vec() })
}

/// Applies the operators that follow the trees in the graph.
///
/// # Errors
/// `M0040` for an operator after a step that mixes the results of a row, such as the softmax.
pub(super) fn follow(
    output: &mut Output,
    after: &[Arithmetic],
    num_margins: usize,
) -> Result<(), ModelError> {
    if !after.is_empty() && !output.value.iter().all(Transform::is_by_value) {
        return Err(ModelError::new(
            codes::UNSUPPORTED_OPERATOR,
            "arithmetic after the softmax of several targets is not understood",
        )
        .help("convert the model without it, and compute it from the prediction"));
    }
    output.value.extend(after.iter().map(|&step| match step {
        Arithmetic::Multiply(factor) => Transform::Scale { factor, bias: vec![0.0; num_margins] },
        Arithmetic::Add(number) => Transform::Scale { factor: 1.0, bias: vec![number; num_margins] },
        Arithmetic::Divide(by) => Transform::Divide { by },
        Arithmetic::Exp => Transform::Exp,
    }));
    Ok(())
}

/// Properties of a model's votes.
#[derive(Clone, Debug)]
pub(super) struct VoteSummary {
    /// For each class or target, whether there are votes for it.
    pub voted: Vec<bool>,
    /// For each class or target, whether every row gets a vote for it.
    pub always: Vec<bool>,
    pub any_negative: bool,
    pub all_positive: bool,
}

/// The results of a classifier.
pub(super) fn classifier(
    labels: Vec<Label>,
    post: PostTransform,
    base: &[f64],
    summary: &VoteSummary,
    notes: &mut Vec<Note>,
) -> Result<EnsembleOutcome, ModelError> {
    match labels.len() {
        1 => Err(unsupported(
            "a classifier has one class, for which ONNX Runtime gives labels that the model does not have",
            "a model with one class predicts this class for every row, so no model is needed",
        )
        .at("classlabels_int64s")),
        2 => two_classes(labels, post, base, summary, notes),
        _ => many_classes(labels, post, base, summary),
    }
}

fn classes(rule: ClassRule, labels: Vec<Label>) -> Option<Classes> {
    Some(Classes::new(rule, labels))
}

fn many_classes(
    labels: Vec<Label>,
    post: PostTransform,
    base: &[f64],
    summary: &VoteSummary,
) -> Result<EnsembleOutcome, ModelError> {
    let num_margins = labels.len();
    if !base.is_empty() && base.len() != num_margins {
        let message = format!("`base_values` has {} entries for {num_margins} classes", base.len());
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at("base_values"));
    }
    // ONNX Runtime never chooses a class for which the row has no vote, even if its sum of 0 is the largest.
    // Base values count as votes.
    let is_plain = !base.is_empty() || summary.all_positive || summary.always.iter().all(|&always| always);
    if !is_plain {
        return Err(unsupported(
            "some rows get no vote for some classes, and votes are not all positive: ONNX Runtime then \
             chooses only among classes with votes",
            "give each leaf a vote for each class, with a weight of 0 if it has none",
        )
        .at("class_ids"));
    }
    let classes = classes(ClassRule::LargestMargin, labels);
    let output = Output { raw: added(base).into_iter().collect(), value: post.steps(), classes };
    Ok(EnsembleOutcome { votes: VoteRule::Each, num_margins, output })
}

const ONE_COLUMN_HELP: &str = "convert the model so that all votes are for class 0 and there is one base \
                               value or none, as skl2onnx and onnxmltools do";

fn two_classes(
    labels: Vec<Label>,
    post: PostTransform,
    base: &[f64],
    summary: &VoteSummary,
    notes: &mut Vec<Note>,
) -> Result<EnsembleOutcome, ModelError> {
    let each = |rule, labels| {
        let output = Output { raw: Vec::new(), value: post.steps(), classes: classes(rule, labels) };
        Ok(EnsembleOutcome { votes: VoteRule::Each, num_margins: 2, output })
    };
    match (summary.voted.as_slice(), base.len()) {
        ([true, false], 0 | 1) => one_column(labels, post, base, summary.any_negative),
        // The sum of class 0 stays 0, so class 1 is chosen if its sum is above 0.
        ([false, true], 0) if summary.any_negative && summary.always[1] => {
            each(ClassRule::LargestMargin, labels)
        }
        ([true, true], 0) if summary.always.iter().all(|&always| always) => {
            notes.push(Note(
                "schedc predicts the class with the larger sum, as the operator's description says; ONNX \
                 Runtime predicts the second class whenever its sum is above 0, and gives 0 or 1 in \
                 place of numeric labels"
                    .into(),
            ));
            each(ClassRule::LargestMargin, labels)
        }
        (_, bases) => Err(unsupported(
            format!(
                "leaves vote for {} of two classes, and there are {bases} base values: ONNX Runtime's \
                 results are then no function of the sums of votes",
                summary.voted.iter().filter(|&&voted| voted).count()
            ),
            ONE_COLUMN_HELP,
        )
        .at("class_ids")),
    }
}

/// The results for two classes if all votes name class 0. ONNX Runtime counts them for class 1.
fn one_column(
    labels: Vec<Label>,
    post: PostTransform,
    base: &[f64],
    any_negative: bool,
) -> Result<EnsembleOutcome, ModelError> {
    // As in ONNX Runtime: votes without a negative one count as probabilities, with the bound 0.5 for class
    // 1.
    let bound = if any_negative { 0.0 } else { 0.5 };
    let single = |value| {
        let raw = added(base).into_iter().collect();
        let classes = Some(Classes::new(ClassRule::MarginAbove(bound), labels.clone()));
        EnsembleOutcome { votes: VoteRule::Single, num_margins: 1, output: Output { raw, value, classes } }
    };
    match (post, any_negative) {
        (PostTransform::Probit, _) => Err(unsupported(
            "all votes of two classes are for one class, and for such models ONNX Runtime does not set the \
             second result of PROBIT",
            "use the post-transform NONE, or a regressor",
        )
        .at("post_transform")),
        (PostTransform::Logistic, _) => {
            Ok(single(vec![Transform::Sigmoid(Sigmoid::Mirrored), Transform::Complement]))
        }
        // ONNX Runtime ignores both forms of the softmax here.
        (_, false) => Ok(single(vec![Transform::Complement])),
        (_, true) => {
            let mirrored: Vec<f64> = base.iter().flat_map(|&base| [-base, base]).collect();
            let raw = added(&mirrored).into_iter().collect();
            // The first sum is the negated second one, so class 1 has the larger sum if the second sum is
            // above 0.
            let classes = Some(Classes::new(ClassRule::LargestMargin, labels));
            let output = Output { raw, value: Vec::new(), classes };
            Ok(EnsembleOutcome { votes: VoteRule::Mirrored, num_margins: 2, output })
        }
    }
}

/// The labels of classes: integers or texts.
pub(super) fn labels(attributes: Attributes) -> Result<Vec<Label>, ModelError> {
    let mut texts = 0;
    for text in attributes.texts("classlabels_strings")? {
        text?;
        texts += 1;
    }
    let mut numbers = 0;
    attributes.for_ints("classlabels_int64s", |_| numbers += 1)?;
    let mut labels = Vec::with_capacity(count(texts.max(numbers), "classes")?);
    if texts > 0 {
        for text in attributes.texts("classlabels_strings")? {
            labels.push(Label::Text(text?.as_text()?.into()));
        }
        return Ok(labels);
    }
    attributes.for_ints("classlabels_int64s", |number| labels.push(Label::Integer(number)))?;
    Ok(labels)
}
