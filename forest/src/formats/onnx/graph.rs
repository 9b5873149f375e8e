//! The graph around a tree ensemble: the operators before and after it.
//!
//! The reader follows a graph from its input. It refuses operators that it does not know, because skipping
//! one would silently change the predictions.

use std::collections::HashMap;

use super::attribute::Attributes;
use super::tensor::{element, single_number};
use super::wire::{FieldValue, Message};
use crate::codes;
use crate::error::ModelError;
use crate::forest::Float;

/// The operators that hold a forest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operator {
    Regressor,
    Classifier,
    /// The operator `TreeEnsemble` of version 5, which replaces the two others.
    Ensemble,
}

/// A tree ensemble and its surroundings.
#[derive(Debug)]
pub(super) struct Ensemble<'a> {
    pub operator: Operator,
    pub attributes: Attributes<'a>,
    pub rows: GraphInput,
    /// The arithmetic after the ensemble, which applies to each of its results.
    pub after: Vec<Arithmetic>,
    /// The path of the node.
    pub place: String,
}

impl Ensemble<'_> {
    /// Adds a step after the ensemble. Returns false if its result would not be exact.
    fn follow(&mut self, step: Arithmetic) -> bool {
        if step.does_nothing() {
            return true;
        }
        let is_plain = self.operator != Operator::Classifier && self.rows.comparison_type() == Float::F32;
        let follows = is_plain && self.after.len() < MOST_STEPS;
        if follows {
            self.after.push(step);
        }
        follows
    }
}

/// A step of arithmetic after the ensemble, with a constant of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arithmetic {
    Multiply(f64),
    Divide(f64),
    Add(f64),
    Exp,
}

impl Arithmetic {
    /// The step of an operator, or `None` if the operator is no such step.
    fn of(operator: &str, number: Option<f64>) -> Option<Arithmetic> {
        match (operator, number) {
            ("Mul", Some(factor)) => Some(Arithmetic::Multiply(factor)),
            ("Div", Some(by)) => Some(Arithmetic::Divide(by)),
            ("Add", Some(number)) => Some(Arithmetic::Add(number)),
            ("Exp", None) => Some(Arithmetic::Exp),
            _ => None,
        }
    }

    fn does_nothing(self) -> bool {
        matches!(self, Arithmetic::Multiply(1.0) | Arithmetic::Divide(1.0) | Arithmetic::Add(0.0))
    }
}

/// The input of the graph, after the casts so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GraphInput {
    element: i64,
    /// Whether values have been rounded to single precision, by their own type or by a cast.
    is_single: bool,
    /// Number of columns, if the graph states it.
    pub features: Option<usize>,
}

impl GraphInput {
    /// Rows of computed values.
    pub fn of(float: Float, features: usize) -> GraphInput {
        let element = match float {
            Float::F32 => element::FLOAT,
            Float::F64 => element::DOUBLE,
        };
        GraphInput { element, is_single: float == Float::F32, features: Some(features) }
    }

    /// The type to which the forest rounds rows: singles if any cast on the way rounds to single precision.
    pub fn row_type(self) -> Float {
        match self.is_single || self.comparison_type() == Float::F32 {
            true => Float::F32,
            false => Float::F64,
        }
    }

    /// The type in which the ensemble compares and adds.
    pub fn comparison_type(self) -> Float {
        match self.element {
            element::DOUBLE => Float::F64,
            _ => Float::F32,
        }
    }
}

/// The value that a name of the graph stands for.
#[derive(Clone, Copy, Debug)]
enum NamedValue {
    Rows(GraphInput),
    Scores,
    Labels,
    /// A constant of the file.
    Number(f64),
}

/// Maximum number of steps after the trees, which no converter exceeds. Each step takes memory for each
/// result.
const MOST_STEPS: usize = 8;

const ONLY_FOREST_HELP: &str = "convert the forest alone, without the steps around it, and do these steps \
                           before and after the prediction";
const MULTIPLE_ENSEMBLES_HELP: &str = "convert each tree ensemble to a model of its own";

/// The number of the field that holds the operator of a node.
pub(super) const NODE_OPERATOR: u32 = 4;

/// Numbers of fields in ONNX's messages.
mod field {
    pub const GRAPH_NODE: u32 = 1;
    pub const GRAPH_CONSTANT: u32 = 5;
    pub const GRAPH_INPUT: u32 = 11;
    pub const CONSTANT_NAME: u32 = 8;
    pub const NODE_INPUT: u32 = 1;
    pub const NODE_OUTPUT: u32 = 2;
    pub const NODE_NAME: u32 = 3;
    pub const NODE_DOMAIN: u32 = 7;
    pub const INPUT_NAME: u32 = 1;
    pub const INPUT_TYPE: u32 = 2;
    pub const TYPE_TENSOR: u32 = 1;
    pub const TENSOR_ELEMENT: u32 = 1;
    pub const TENSOR_SHAPE: u32 = 2;
    pub const SHAPE_DIMENSION: u32 = 1;
    pub const DIMENSION_SIZE: u32 = 1;
}

/// Finds the tree ensemble of a graph.
pub(super) fn find(graph: Message<'_>) -> Result<Ensemble<'_>, ModelError> {
    let mut known = HashMap::new();
    for input in graph.all(field::GRAPH_INPUT) {
        let input = input?;
        known.insert(input.text(field::INPUT_NAME)?, NamedValue::Rows(rows(input)?));
    }
    for constant in graph.all(field::GRAPH_CONSTANT) {
        let constant = constant?;
        if let Some(number) = single_number(constant)? {
            known.insert(constant.text(field::CONSTANT_NAME)?, NamedValue::Number(number));
        }
    }
    let mut found: Option<Ensemble> = None;
    for (index, node) in graph.all(field::GRAPH_NODE).enumerate() {
        let node = node?;
        let place = || format!("graph.node[{index}]");
        let (name, domain) = (node.text(NODE_OPERATOR)?, node.text(field::NODE_DOMAIN)?);
        let mut inputs = node.all(field::NODE_INPUT);
        let mut input = || inputs.next().map_or(Ok(None), |input| Ok(known.get(input?.as_text()?).copied()));
        let (value, second) = (input()?, input()?);
        let number = match second {
            Some(NamedValue::Number(number)) => Some(number),
            _ => None,
        };
        let standard = matches!(domain, "" | "ai.onnx");
        let results = match (name, domain, value) {
            ("Identity", _, Some(value)) if standard => [Some(value), None],
            ("Cast", _, Some(value)) if standard => {
                let to = Attributes::of(node).int("to")?.unwrap_or(0);
                [Some(cast(value, to).map_err(|error| error.at(place()))?), None]
            }
            (_, _, Some(NamedValue::Scores)) if standard && Arithmetic::of(name, number).is_some() => {
                let step = Arithmetic::of(name, number).zip(found.as_mut());
                if step.is_some_and(|(step, found)| !found.follow(step)) {
                    return Err(unknown_operator(node, name, domain, true)?.at(place()));
                }
                [Some(NamedValue::Scores), None]
            }
            ("ZipMap", "ai.onnx.ml", Some(NamedValue::Scores)) => [Some(NamedValue::Scores), None],
            (_, "ai.onnx.ml", Some(NamedValue::Rows(rows))) if operator(name).is_some() => {
                if found.is_some() {
                    let message = format!("the operator `{name}` is a second tree ensemble");
                    return Err(not_understood(message).at(place()).help(MULTIPLE_ENSEMBLES_HELP));
                }
                let Some(operator) = operator(name) else { continue };
                let attributes = Attributes::of(node);
                found = Some(Ensemble {
                    operator,
                    attributes,
                    rows: check_row_type(rows)?,
                    after: Vec::new(),
                    place: place(),
                });
                match operator {
                    Operator::Classifier => [Some(NamedValue::Labels), Some(NamedValue::Scores)],
                    Operator::Regressor | Operator::Ensemble => [Some(NamedValue::Scores), None],
                }
            }
            _ => return Err(unknown_operator(node, name, domain, found.is_some())?.at(place())),
        };
        for (output, value) in node.all(field::NODE_OUTPUT).zip(results) {
            if let Some(value) = value {
                known.insert(output?.as_text()?, value);
            }
        }
    }
    found.ok_or_else(|| {
        not_understood("the graph has no tree ensemble".into()).at("graph").help(
            "schedc reads models with one TreeEnsembleRegressor, TreeEnsembleClassifier or TreeEnsemble",
        )
    })
}

/// The operator of `ai.onnx.ml` with this name, if it holds a forest.
pub(super) fn operator(name: &str) -> Option<Operator> {
    match name {
        "TreeEnsembleRegressor" => Some(Operator::Regressor),
        "TreeEnsembleClassifier" => Some(Operator::Classifier),
        "TreeEnsemble" => Some(Operator::Ensemble),
        _ => None,
    }
}

/// The type and shape of an input. They are checked once an ensemble reads it.
fn rows(input: Message) -> Result<GraphInput, ModelError> {
    let tensor = input.child(field::INPUT_TYPE)?.child(field::TYPE_TENSOR)?;
    let element = tensor.integer(field::TENSOR_ELEMENT)?.unwrap_or(0);
    let (mut dimensions, mut size) = (0, None);
    for dimension in tensor.child(field::TENSOR_SHAPE)?.all(field::SHAPE_DIMENSION) {
        dimensions += 1;
        size = dimension?.integer(field::DIMENSION_SIZE)?;
    }
    let features = size.filter(|_| dimensions == 2).and_then(|size| usize::try_from(size).ok());
    Ok(GraphInput {
        element,
        is_single: element == element::FLOAT,
        features: features.filter(|&size| size > 0),
    })
}

/// Checks that an ensemble can read rows of this type.
fn check_row_type(rows: GraphInput) -> Result<GraphInput, ModelError> {
    match rows.element {
        element::FLOAT | element::DOUBLE | element::INT32 | element::INT64 => Ok(rows),
        other => {
            let message = format!("the rows have the type {}", element::name(other));
            Err(ModelError::new(codes::ONNX_TYPE, message).at("graph.input").help(
                "schedc reads rows of float, double, int32 and int64: convert the model for one of \
                 these types",
            ))
        }
    }
}

fn cast(value: NamedValue, to: i64) -> Result<NamedValue, ModelError> {
    let is_integer = |element| matches!(element, element::INT32 | element::INT64);
    let is_float = |element| matches!(element, element::FLOAT | element::DOUBLE);
    match value {
        NamedValue::Rows(rows) if is_float(to) => {
            let is_single = rows.is_single || to == element::FLOAT;
            Ok(NamedValue::Rows(GraphInput { element: to, is_single, ..rows }))
        }
        NamedValue::Rows(rows)
            if rows.element == to || (rows.element == element::INT32 && to == element::INT64) =>
        {
            Ok(value)
        }
        NamedValue::Scores if is_float(to) => Ok(value),
        NamedValue::Labels if is_integer(to) || to == element::STRING => Ok(value),
        _ => {
            let message = format!("the operator `Cast` to {} changes values", element::name(to));
            Err(not_understood(message).help(ONLY_FOREST_HELP))
        }
    }
}

fn not_understood(message: String) -> ModelError {
    ModelError::new(codes::UNSUPPORTED_OPERATOR, message)
}

/// The error for an operator that the reader does not know, or that has unknown inputs.
fn unknown_operator(
    node: Message,
    name: &str,
    domain: &str,
    is_after_trees: bool,
) -> Result<ModelError, ModelError> {
    let full = match domain {
        "" | "ai.onnx" => String::from(name),
        _ => format!("{domain}.{name}"),
    };
    let called = match node.last(field::NODE_NAME)? {
        Some(FieldValue::Bytes(text)) if !text.bytes().is_empty() => format!(" (node `{}`)", text.as_text()?),
        _ => String::new(),
    };
    let side = if is_after_trees { "after" } else { "before" };
    let message = format!("the operator `{full}`{called} {side} the trees is not supported");
    Ok(not_understood(message).help(ONLY_FOREST_HELP))
}
