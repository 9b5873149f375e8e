//! Reads a graph node by node: from its inputs to the trees, and from the trees to its outputs.
//! `graph/trees.rs` reads the trees, `graph/body.rs` nodes with a body, and `graph/finish.rs` makes the
//! pipeline.

mod body;
mod finish;
mod trees;
mod value;

use super::builder::{Constants, GraphColumns};
use super::constant::{constant_node, constant_tensor};
use super::field;
use super::inputs::GraphInputs;
use super::node::{GraphNode, NodePlace, OUTSIDE_HELP, not_supported};
use super::operators::{OperatorSet, operator};
use super::order::{has_trees, is_ensemble, leaf_indices, needed_nodes, scores_node, trees_below_trees};
use super::outcome::{GraphTrees, NodeInput};
use super::parts::PartForest;
use super::stacked::{MaybeStacked, run, stacked_result};
use super::step::step_of;
use super::tensor::{Tensor, TensorElement};
use crate::pipeline::Pipeline;
use sched_forest::onnx::{Attributes, Message, TensorProto};
use sched_forest::{ModelError, Note, codes};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use value::{GraphValue, arranged, tensor_of};

/// The state while a graph is read.
pub(super) struct GraphReader<'a> {
    builder: GraphColumns,
    inputs: GraphInputs,
    constants: HashMap<&'a str, Message<'a>>,
    values: HashMap<&'a str, GraphValue>,
    /// The names of the values that nodes or outputs read.
    read: HashSet<&'a str>,
    found: Option<PartForest>,
    /// Whether the outputs of the graph depend on a tree ensemble.
    has_trees: bool,
    /// The index of the node whose results are the scores, in a graph without trees.
    scores_node: Option<usize>,
    /// The indices of tree ensembles whose results are columns: other tree ensembles read them, or they are
    /// leaf indices.
    column_trees: HashSet<usize>,
    /// The forests read so far, if the graph is read as several parts.
    parts: Option<Vec<PartForest>>,
    file_bytes: usize,
    notes: Vec<Note>,
    /// The name of the first step that scales in single precision.
    single_scaler: Option<String>,
}

/// A graph that was read.
pub(super) struct ReadGraph {
    pub pipeline: Pipeline,
    pub notes: Vec<Note>,
    pub single_scaler: Option<String>,
    /// Whether all features are columns of one input.
    pub is_one_tensor: bool,
}

/// The properties of a file that the reading of its graph depends on.
#[derive(Clone, Copy)]
pub(super) struct GraphFile {
    /// The size of the file.
    pub bytes: usize,
    /// The version of the standard operators.
    pub version: i64,
    pub constants: Constants,
}

/// Reads the graph of a file.
///
/// A graph that cannot be read as one model with known steps after the trees is read again, as several parts
/// whose results are combined.
pub(super) fn read(graph: Message<'_>, file: GraphFile) -> Result<ReadGraph, ModelError> {
    let known = [codes::UNSUPPORTED_OPERATOR, codes::ONNX_TYPE];
    match read_as(graph, file, None) {
        Err(error) if known.contains(&error.code) => read_as(graph, file, Some(Vec::new())),
        read => read,
    }
}

/// Reads a graph as several parts if `parts` is an empty list, or as one model if it is `None`.
fn read_as(
    graph: Message<'_>,
    file: GraphFile,
    parts: Option<Vec<PartForest>>,
) -> Result<ReadGraph, ModelError> {
    let mut reader = GraphReader {
        builder: GraphColumns::new(file.version, file.constants),
        inputs: GraphInputs::default(),
        constants: HashMap::new(),
        values: HashMap::new(),
        read: HashSet::new(),
        found: None,
        has_trees: false,
        scores_node: None,
        column_trees: HashSet::new(),
        parts,
        file_bytes: file.bytes,
        notes: Vec::new(),
        single_scaler: None,
    };
    for constant in graph.all(field::GRAPH_CONSTANT) {
        let constant = constant?;
        reader.constants.insert(constant.text(field::CONSTANT_NAME)?, constant);
    }
    let needed = needed_nodes(graph)?;
    reader.has_trees = has_trees(graph, &needed)?;
    reader.column_trees = trees_below_trees(graph, &needed)?;
    reader.column_trees.extend(leaf_indices(graph, &needed)?);
    reader.scores_node = match reader.parts {
        Some(_) => None,
        None => scores_node(graph, &needed, &reader.column_trees)?,
    };
    for input in graph.all(field::GRAPH_INPUT) {
        reader.input(input?)?;
    }
    for (index, node) in graph.all(field::GRAPH_NODE).enumerate() {
        if needed.contains(&index) {
            let place = format!("graph.node[{index}]");
            reader.node(index, node?).map_err(|error| error.within(&place))?;
        }
    }
    match reader.parts.take() {
        Some(parts) => reader.finish_parts(graph, &parts),
        None => reader.finish(graph),
    }
}

impl<'a> GraphReader<'a> {
    /// Reads an input of the graph, unless it is a constant.
    fn input(&mut self, input: Message<'a>) -> Result<(), ModelError> {
        let name = input.text(field::VALUE_NAME)?;
        if !self.constants.contains_key(name) {
            let tensor = self.inputs.add(name, input, &mut self.builder)?;
            self.values.insert(name, GraphValue::Tensor(Rc::new(tensor)));
        }
        Ok(())
    }

    /// The value that a node reads by its name. It may be a constant of the file.
    fn value(&mut self, name: &'a str) -> Result<Option<GraphValue>, ModelError> {
        self.read.insert(name);
        if let Some(value) = self.values.get(name) {
            return Ok(Some(value.clone()));
        }
        let Some(constant) = self.constants.get(name) else { return Ok(None) };
        let tensor = constant_tensor(&mut self.builder, TensorProto::new(*constant)?)?;
        let value = GraphValue::Tensor(Rc::new(tensor));
        self.values.insert(name, value.clone());
        Ok(Some(value))
    }

    /// Reads the node at an index of the graph.
    fn node(&mut self, index: usize, node: Message<'a>) -> Result<(), ModelError> {
        let name = node.text(field::NODE_OPERATOR)?;
        let domain = node.text(field::NODE_DOMAIN)?;
        let own = node.text(field::NODE_NAME)?;
        let label = label(name, domain, own);
        let (mut inputs, mut input_names) = (Vec::new(), Vec::new());
        let first_column = self.builder.columns.len();
        for input in node.all(field::NODE_INPUT) {
            let input = input?.as_text()?;
            input_names.push(input);
            let value = self.value(input)?;
            if value.is_none() && !input.is_empty() {
                let message = format!("the operator {label} reads `{input}`, which nothing computes");
                return Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, message).help(OUTSIDE_HELP));
            }
            inputs.push(value);
        }
        let results = match OperatorSet::named(domain) {
            Some(OperatorSet::Learning) if is_ensemble(name) => self.trees(index, node, &label, &inputs)?,
            Some(_) if inputs.iter().flatten().any(|input| matches!(input, GraphValue::AfterTrees(_))) => {
                vec![self.after_trees(node, name, &label, inputs)?]
            }
            Some(OperatorSet::Standard) if name == "Constant" => {
                vec![GraphValue::Tensor(Rc::new(constant_node(node, &label, &mut self.builder)?))]
            }
            Some(OperatorSet::Standard) if name == "Scan" => self.scan(node, label, &inputs)?,
            Some(domain) => self.tensors(node, (name, domain), label, inputs)?,
            None => return Err(not_supported(&label, self.place(false))),
        };
        let step = step_of(own, input_names.into_iter());
        if let Some(step) = step {
            self.builder.columns.name_sums(first_column, &step.into());
        }
        let results = match self.scores_node == Some(index) {
            true => self.scores(step.unwrap_or_default(), results)?,
            false => results,
        };
        for (output, value) in node.all(field::NODE_OUTPUT).zip(results) {
            self.values.insert(output?.as_text()?, value);
        }
        Ok(())
    }

    /// The place of a node that is `after` the trees or scores, or before them.
    fn place(&self, after: bool) -> NodePlace {
        match (self.has_trees, after) {
            (true, false) => NodePlace::BeforeTrees,
            (true, true) => NodePlace::AfterTrees,
            (false, false) => NodePlace::Anywhere,
            (false, true) => NodePlace::AfterScores,
        }
    }

    /// Reads a node before the trees, which computes tensors.
    fn tensors(
        &mut self,
        node: Message<'a>,
        (name, domain): (&str, OperatorSet),
        label: String,
        inputs: Vec<Option<GraphValue>>,
    ) -> Result<Vec<GraphValue>, ModelError> {
        let Some(operator) = operator(name, domain) else {
            return Err(not_supported(&label, self.place(false)));
        };
        let outputs = node.all(field::NODE_OUTPUT).count();
        let arranged: Vec<Option<MaybeStacked>> =
            inputs.iter().map(|input| input.as_ref().and_then(arranged)).collect();
        let inputs: Vec<Option<Rc<Tensor>>> = inputs.into_iter().map(tensor_of).collect();
        let is_single = |input: &Rc<Tensor>| input.by_row && input.element == TensorElement::F32;
        let scales =
            matches!(name, "Scaler" | "Sub" | "Div" | "Mul") && inputs.iter().flatten().any(is_single);
        let is_first = self.single_scaler.is_none() && self.parts.as_ref().is_none_or(Vec::is_empty);
        if scales && is_first {
            self.single_scaler = Some(label.clone());
        }
        let node = GraphNode { label, attributes: Attributes::of(node), inputs, outputs };
        let stacked = match arranged.iter().flatten().any(|input| matches!(input, MaybeStacked::Stacked(_))) {
            true => Some(run(&node, name, &arranged, &mut self.builder)?),
            false => stacked_result(&node, name, &mut self.builder)?,
        };
        if let Some(stacked) = stacked {
            return Ok(vec![GraphValue::from(stacked)]);
        }
        let results = (operator.run)(&node, &mut self.builder)?;
        for tensor in &results {
            self.builder.count_cells(Some(tensor.cells.len()))?;
        }
        Ok(results.into_iter().map(|tensor| GraphValue::Tensor(Rc::new(tensor))).collect())
    }

    /// Reads a node after the trees.
    fn after_trees(
        &mut self,
        node: Message<'a>,
        name: &str,
        label: &str,
        inputs: Vec<Option<GraphValue>>,
    ) -> Result<GraphValue, ModelError> {
        let refuse = || not_supported(label, self.place(true));
        let Some(found) = &self.found else { return Err(refuse()) };
        let operand = |value| match value {
            GraphValue::Tensor(tensor) => Ok(NodeInput::Constant(tensor)),
            GraphValue::AfterTrees(result) => Ok(NodeInput::AfterTrees(result)),
            GraphValue::Stacked(_) => Err(refuse()),
        };
        let operands = inputs.into_iter().flatten().map(operand).collect::<Result<Vec<_>, _>>()?;
        let trees = GraphTrees { forest: &found.forest, columns: &self.builder.columns };
        let value = trees.follow(name, Attributes::of(node), &operands)?;
        value.map(GraphValue::AfterTrees).ok_or_else(refuse)
    }
}

/// An operator in messages: its name and, if it has one, the name of its node.
fn label(operator: &str, domain: &str, node: &str) -> String {
    let full = match domain {
        "" | "ai.onnx" => String::from(operator),
        _ => format!("{domain}.{operator}"),
    };
    match node.is_empty() {
        true => format!("`{full}`"),
        false => format!("`{full}` (node `{node}`)"),
    }
}
