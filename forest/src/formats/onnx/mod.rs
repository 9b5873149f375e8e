//! The reader of ONNX-ML: TreeEnsembleRegressor and TreeEnsembleClassifier (versions 1 and 3), TreeEnsemble
//! (version 5).
//!
//! Predictions are those that ONNX Runtime computes from a file on one thread. It compares rows in their own
//! type, starts sums at 0, adds trees in the order of the file, and base values last. With several threads it
//! adds groups of trees, so that the last digits of its sums depend on the number of threads and rows.

mod attribute;
mod context;
mod graph;
mod nodes;
mod numbers;
mod outcome;
mod sets;
mod tensor;
mod tree;
mod v5;
mod votes;
mod wire;

use crate::ForestParts;
use crate::error::ModelError;
use crate::forest::{Float, Forest, Types};
use crate::loaded::{LoadedForest, ModelSource, Note, ReadOptions};
use context::EnsembleContext;
use graph::{Ensemble, GraphInput, Operator};

pub use attribute::Attributes;
pub use tensor::{TensorProto, element};
pub use wire::{FieldValue, Message, MessageField, MessageFields};

/// The newest version of the operator set `ai.onnx.ml` that was tested.
const NEWEST_KNOWN: i64 = 5;

/// Numbers of fields in ONNX's messages.
const PRODUCER_VERSION: u32 = 3;
const GRAPH: u32 = 7;
const OPERATOR_SET: u32 = 8;
const DOMAIN: u32 = 1;
const VERSION: u32 = 2;

/// Whether the bytes begin with fields of an ONNX model, including a graph.
pub(crate) fn is_model(bytes: &[u8]) -> bool {
    let mut rest = Message::new(bytes).fields();
    loop {
        // A truncated graph counts too, since the reader reports it better.
        let is_graph = rest.clone().next_key() == Some((GRAPH, 2));
        match rest.next() {
            _ if is_graph => return true,
            Some(Ok(
                (1 | 5, FieldValue::Varint(_))
                | (2 | 3 | 4 | 6 | 8 | 14 | 20 | 25 | 26, FieldValue::Bytes(_)),
            )) => {}
            _ => return false,
        }
    }
}

/// Reads a model.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<LoadedForest, ModelError> {
    let model = Message::new(bytes);
    let mut notes = Vec::new();
    for set in model.all(OPERATOR_SET) {
        let set = set?;
        let version = set.integer(VERSION)?.unwrap_or(0);
        if set.text(DOMAIN)? == "ai.onnx.ml" && version > NEWEST_KNOWN {
            notes.push(Note(format!(
                "the model uses version {version} of the operators `ai.onnx.ml`, which is newer than this \
                 reader"
            )));
        }
    }
    let found = graph::find(model.child(GRAPH)?)?;
    let parts = ensemble(&found, bytes.len(), &mut notes).map_err(|error| error.within(&found.place))?;
    // A file has no iterations: all its trees count as one iteration.
    options.iterations.select(1, None)?;
    let forest = Forest::new(parts).map_err(|error| error.within(&found.place))?;
    let version =
        model.text(PRODUCER_VERSION)?.split('.').map(|part| part.parse().ok()).collect::<Option<_>>();
    Ok(LoadedForest { forest, version: version.unwrap_or_default(), notes, source: ModelSource::default() })
}

/// Reads the tree ensemble of a node, for rows of `num_features` values of the type `float`. `None` if the
/// node is no tree ensemble. `file_bytes` is the size of the file, which bounds the size of the forest.
///
/// # Errors
/// A [`ModelError`] if the node has no exact meaning. Its place is relative to the node.
pub fn node_forest(
    node: Message<'_>,
    (float, num_features): (Float, usize),
    file_bytes: usize,
    notes: &mut Vec<Note>,
) -> Result<Option<Forest>, ModelError> {
    let Some(operator) = graph::operator(node.text(graph::NODE_OPERATOR)?) else { return Ok(None) };
    let found = Ensemble {
        operator,
        attributes: Attributes::of(node),
        rows: GraphInput::of(float, num_features),
        after: Vec::new(),
        place: String::new(),
    };
    Forest::new(ensemble(&found, file_bytes, notes)?).map(Some)
}

/// The forest of an ensemble with the steps after it.
fn ensemble(found: &Ensemble, file_bytes: usize, notes: &mut Vec<Note>) -> Result<ForestParts, ModelError> {
    let float = found.rows.comparison_type();
    let context = EnsembleContext { ensemble: found, float, most_values: file_bytes / 2 + (1 << 16) };
    let mut parts = match found.operator {
        Operator::Regressor | Operator::Classifier => nodes::read(&context, notes)?,
        Operator::Ensemble => v5::read(&context, notes)?,
    };
    outcome::follow(&mut parts.output, &found.after, parts.num_margins)?;
    let used = parts.trees.iter().flat_map(|tree| &tree.inner).map(|inner| inner.feature as usize + 1).max();
    parts.num_features = found.rows.features.unwrap_or_else(|| {
        let used = used.unwrap_or(1);
        notes.push(Note(format!(
            "the model does not say how many features a row has; schedc takes {used}, up to the last feature \
             that a node tests"
        )));
        used
    });
    let output = match found.operator {
        Operator::Ensemble => float,
        Operator::Regressor | Operator::Classifier => Float::F32,
    };
    parts.types = Types { input: found.rows.row_type(), threshold: float, accumulator: float, output };
    parts.base = vec![0.0; parts.num_margins];
    parts.iteration_starts = vec![0, parts.trees.len()];
    Ok(parts)
}
