//! A graph, node by node: from its inputs to the trees, and from the trees to its outputs.

use super::builder::GraphColumns;
use super::compound::compound;
use super::constant::constant_tensor;
use super::field;
use super::inputs::GraphInputs;
use super::linear::linear_model;
use super::node::{GraphNode, OUTSIDE};
use super::operators::{OperatorSet, operator};
use super::order::{is_ensemble, needed_nodes, scores_node, trees_below_trees};
use super::outcome::{Behind, Operand, Trees};
use super::parts::PartForest;
use super::scan::{Scan, stacked};
use super::stacked::{Arranged, Stacked, run, stacking};
use super::tensor::{Cells, Element, Tensor};
use super::tree_columns::results_as_columns;
use crate::pipeline::{Pipeline, Stage};
use sched_columns::{ColumnId, ColumnValue};
use sched_forest::onnx::{Attributes, Message, Tensor as FileTensor, node_forest};
use sched_forest::{Float, Forest, ModelError, Note, codes};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The meaning of a name of the graph.
#[derive(Clone)]
enum GraphValue {
    Tensor(Rc<Tensor>),
    /// Rows that are not along the first axis.
    Stacked(Rc<Stacked>),
    Behind(Behind),
}

/// The state while a graph is read.
pub(super) struct GraphReader<'a> {
    builder: GraphColumns,
    inputs: GraphInputs,
    constants: HashMap<&'a str, Message<'a>>,
    values: HashMap<&'a str, GraphValue>,
    found: Option<PartForest>,
    /// The node whose results are the scores, in a graph without trees.
    scores_node: Option<usize>,
    /// The nodes of trees whose results other trees read.
    trees_below_trees: HashSet<usize>,
    /// The forests so far, if the graph is read as several parts.
    parts: Option<Vec<PartForest>>,
    file: usize,
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

/// Reads a graph. `file` is the size of the file in bytes, and `version` that of the standard operators.
///
/// A graph is one model with known steps behind it, or else several parts whose results are combined.
pub(super) fn read(graph: Message<'_>, (file, version): (usize, i64)) -> Result<ReadGraph, ModelError> {
    let known = [codes::UNSUPPORTED_OPERATOR, codes::ONNX_TYPE];
    match read_as(graph, (file, version), None) {
        Err(error) if known.contains(&error.code) => read_as(graph, (file, version), Some(Vec::new())),
        read => read,
    }
}

/// Reads a graph as one model, or as `parts`.
fn read_as(
    graph: Message<'_>,
    (file, version): (usize, i64),
    parts: Option<Vec<PartForest>>,
) -> Result<ReadGraph, ModelError> {
    let mut reader = GraphReader {
        builder: GraphColumns::new(version),
        inputs: GraphInputs::default(),
        constants: HashMap::new(),
        values: HashMap::new(),
        found: None,
        scores_node: None,
        trees_below_trees: HashSet::new(),
        parts,
        file,
        notes: Vec::new(),
        single_scaler: None,
    };
    for constant in graph.all(field::GRAPH_CONSTANT) {
        let constant = constant?;
        reader.constants.insert(constant.text(field::CONSTANT_NAME)?, constant);
    }
    let needed = needed_nodes(graph)?;
    reader.trees_below_trees = trees_below_trees(graph, &needed)?;
    reader.scores_node = match reader.parts {
        Some(_) => None,
        None => scores_node(graph, &needed)?,
    };
    for input in graph.all(field::GRAPH_INPUT) {
        reader.input(input?)?;
    }
    for (index, node) in graph.all(field::GRAPH_NODE).enumerate() {
        if needed.contains(&index) {
            let place = format!("graph.node[{index}]");
            reader.node(index, node?).map_err(|error| error.below(&place))?;
        }
    }
    match reader.parts.take() {
        Some(parts) => reader.finish_parts(graph, &parts),
        None => reader.finish(graph),
    }
}

impl<'a> GraphReader<'a> {
    /// Reads an input of the graph, unless it has a constant.
    fn input(&mut self, input: Message<'a>) -> Result<(), ModelError> {
        let name = input.text(field::VALUE_NAME)?;
        if !self.constants.contains_key(name) {
            let tensor = self.inputs.add(name, input, &mut self.builder)?;
            self.values.insert(name, GraphValue::Tensor(Rc::new(tensor)));
        }
        Ok(())
    }

    /// The value of a name, which may be a constant of the file.
    fn value(&mut self, name: &'a str) -> Result<Option<GraphValue>, ModelError> {
        if let Some(value) = self.values.get(name) {
            return Ok(Some(value.clone()));
        }
        let Some(constant) = self.constants.get(name) else { return Ok(None) };
        let tensor = constant_tensor(&mut self.builder, FileTensor::new(*constant)?)?;
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
        let mut inputs = Vec::new();
        for input in node.all(field::NODE_INPUT) {
            let input = input?.as_text()?;
            let value = self.value(input)?;
            if value.is_none() && !input.is_empty() {
                let message = format!("the operator {label} reads `{input}`, which nothing computes");
                return Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, message).help(OUTSIDE));
            }
            inputs.push(value);
        }
        let results = match OperatorSet::named(domain) {
            Some(OperatorSet::Learning) if is_ensemble(name) => self.trees(index, node, &label, &inputs)?,
            Some(_) if inputs.iter().flatten().any(|input| matches!(input, GraphValue::Behind(_))) => {
                vec![self.behind(node, name, &label, inputs)?]
            }
            Some(OperatorSet::Standard) if name == "Constant" => {
                vec![GraphValue::Tensor(Rc::new(self.constant_node(node, &label)?))]
            }
            Some(OperatorSet::Standard) if name == "Scan" => self.scan(node, label, &inputs)?,
            Some(domain) => self.tensors(node, (name, domain), label, inputs)?,
            None => return Err(not_understood(&label, "before")),
        };
        let results = if self.scores_node == Some(index) { self.scores(own, results)? } else { results };
        for (output, value) in node.all(field::NODE_OUTPUT).zip(results) {
            self.values.insert(output?.as_text()?, value);
        }
        Ok(())
    }

    /// Reads a node that computes tensors before the trees.
    fn tensors(
        &mut self,
        node: Message<'a>,
        (name, domain): (&str, OperatorSet),
        label: String,
        inputs: Vec<Option<GraphValue>>,
    ) -> Result<Vec<GraphValue>, ModelError> {
        let Some(operator) = operator(name, domain) else { return Err(not_understood(&label, "before")) };
        let outputs = node.all(field::NODE_OUTPUT).count();
        let arranged: Vec<Option<Arranged>> =
            inputs.iter().map(|input| input.as_ref().and_then(arranged)).collect();
        let inputs: Vec<Option<Rc<Tensor>>> = inputs.into_iter().map(tensor_of).collect();
        let is_single = |input: &Rc<Tensor>| input.by_row && input.element == Element::F32;
        let scales =
            matches!(name, "Scaler" | "Sub" | "Div" | "Mul") && inputs.iter().flatten().any(is_single);
        let is_first = self.single_scaler.is_none() && self.parts.as_ref().is_none_or(Vec::is_empty);
        if scales && is_first {
            self.single_scaler = Some(label.clone());
        }
        let node = GraphNode { label, attributes: Attributes::of(node), inputs, outputs };
        let stacked = match arranged.iter().flatten().any(|input| matches!(input, Arranged::Stacked(_))) {
            true => Some(run(&node, name, &arranged, &mut self.builder)?),
            false => stacking(&node, name, &mut self.builder)?,
        };
        if let Some(stacked) = stacked {
            return Ok(vec![GraphValue::from(stacked)]);
        }
        let results = (operator.run)(&node, &mut self.builder)?;
        for tensor in &results {
            self.builder.spend(Some(tensor.cells.len()))?;
        }
        Ok(results.into_iter().map(|tensor| GraphValue::Tensor(Rc::new(tensor))).collect())
    }

    /// Reads a scan: its body, once for each entry of its constants.
    fn scan(
        &mut self,
        message: Message<'a>,
        label: String,
        inputs: &[Option<GraphValue>],
    ) -> Result<Vec<GraphValue>, ModelError> {
        let node = GraphNode { label, attributes: Attributes::of(message), inputs: Vec::new(), outputs: 0 };
        let inputs = inputs.iter().map(|input| input.as_ref().and_then(arranged)).collect();
        let mut scan = Scan::read(message, &node, inputs)?;
        let mut names = Vec::new();
        for input in scan.body.all(field::GRAPH_INPUT) {
            names.push(input?.text(field::VALUE_NAME)?);
        }
        let mut outputs = Vec::new();
        for output in scan.body.all(field::GRAPH_OUTPUT) {
            outputs.push(output?.text(field::VALUE_NAME)?);
        }
        let (n_states, lacks) = (scan.states.len(), || node.refuse("has a body of other inputs and outputs"));
        let mut results = vec![Vec::new(); outputs.len().checked_sub(n_states).ok_or_else(lacks)?];
        let outside = self.values.clone();
        for constant in scan.body.all(field::GRAPH_CONSTANT) {
            let constant = constant?;
            let tensor = constant_tensor(&mut self.builder, FileTensor::new(constant)?)?;
            let value = GraphValue::Tensor(Rc::new(tensor));
            self.values.insert(constant.text(field::CONSTANT_NAME)?, value);
        }
        for at in 0..scan.length {
            let values: Vec<Arranged> = scan.states.iter().cloned().chain(scan.entries(at)).collect();
            if values.len() != names.len() {
                return Err(lacks());
            }
            for (name, value) in names.iter().zip(values) {
                self.values.insert(name, GraphValue::from(value));
            }
            for inner in scan.body.all(field::GRAPH_NODE) {
                self.builder.spend(Some(1))?;
                self.body_node(&node, inner?)?;
            }
            let found = outputs.iter().map(|name| self.values.get(name).and_then(arranged));
            let mut found = found.collect::<Option<Vec<_>>>().ok_or_else(lacks)?;
            for (results, result) in results.iter_mut().zip(found.split_off(n_states)) {
                results.push(result);
            }
            scan.states = found;
        }
        self.values = outside;
        let states = scan.states.into_iter().map(Ok);
        let all = states.chain(results.iter().map(|results| stacked(&node, &mut self.builder, results)));
        all.map(|result| result.map(GraphValue::from)).collect()
    }

    /// Reads a node of a body. Bodies have no trees, and no bodies of their own.
    fn body_node(&mut self, scan: &GraphNode, node: Message<'a>) -> Result<(), ModelError> {
        let name = node.text(field::NODE_OPERATOR)?;
        match is_ensemble(name) || name == "Scan" {
            true => Err(scan.refuse(&format!("has a body with the operator `{name}`"))),
            false => self.node(usize::MAX, node),
        }
    }

    fn constant_node(&mut self, node: Message<'a>, label: &str) -> Result<Tensor, ModelError> {
        let attributes = Attributes::of(node);
        if let Some(tensor) = attributes.tensor("value")? {
            return constant_tensor(&mut self.builder, tensor);
        }
        let columns = &mut self.builder.columns;
        let (shape, element, cells) = if let Some(value) = attributes.float("value_float")? {
            (Vec::new(), Element::F32, vec![columns.constant(ColumnValue::F32(value))])
        } else if let Some(value) = attributes.int("value_int")? {
            (Vec::new(), Element::I64, vec![columns.constant(ColumnValue::I64(value))])
        } else if attributes.has("value_ints")? {
            let mut cells = Vec::new();
            attributes
                .for_ints("value_ints", |value| cells.push(columns.constant(ColumnValue::I64(value))))?;
            (vec![cells.len()], Element::I64, cells)
        } else if attributes.has("value_floats")? {
            let values = attributes.floats("value_floats")?;
            let cells: Vec<ColumnId> =
                values.iter().map(|value| columns.constant(ColumnValue::F32(*value as f32))).collect();
            (vec![cells.len()], Element::F32, cells)
        } else {
            return Err(not_understood(label, "before"));
        };
        self.builder.spend(Some(cells.len()))?;
        Ok(Tensor::numbers(false, shape, element, cells))
    }

    /// Reads a tree ensemble.
    fn trees(
        &mut self,
        index: usize,
        node: Message<'a>,
        label: &str,
        inputs: &[Option<GraphValue>],
    ) -> Result<Vec<GraphValue>, ModelError> {
        let refuse = |message: String, help: &str| {
            Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, message).help(help))
        };
        let Some(Some(GraphValue::Tensor(rows))) = inputs.first() else {
            let message = format!("the operator {label} reads results of other trees");
            return refuse(message, "make a model of each");
        };
        let is_below = self.trees_below_trees.contains(&index);
        if self.found.is_some() && !is_below {
            let message = format!("the operator {label} is a second tree ensemble");
            return refuse(message, "make a model of each");
        }
        let (Cells::Numbers(cells), true) = (&rows.cells, rows.by_row && rows.shape.len() <= 1) else {
            return refuse(format!("the operator {label} reads no rows of numbers"), OUTSIDE);
        };
        let float = if rows.element == Element::F64 { Float::F64 } else { Float::F32 };
        let to = if float == Float::F64 { Element::F64 } else { Element::F32 };
        let tested = self.builder.cast(cells, to)?;
        self.builder.refuse_row_count(&tested)?;
        let forest = node_forest(node, (float, tested.len()), self.file, &mut self.notes)?;
        let Some(forest) = forest else { return Err(not_understood(label, "before")) };
        let is_classifier = forest.output.classes.is_some();
        let name = node.text(field::NODE_NAME)?.to_owned();
        let read = PartForest { name, forest, tested };
        let scores = match &mut self.parts {
            _ if is_below => {
                let results = results_as_columns(&read, &mut self.builder, label)?;
                return Ok(results.into_iter().map(|tensor| GraphValue::Tensor(Rc::new(tensor))).collect());
            }
            Some(parts) => {
                let first = parts.iter().map(|part| part.forest.num_margins).sum();
                let scores = read.scores(&mut self.builder, (self.inputs.len(), first), label)?;
                parts.push(read);
                GraphValue::Tensor(Rc::new(scores))
            }
            None => {
                self.found = Some(read);
                GraphValue::Behind(Behind::Scores(Vec::new()))
            }
        };
        // No node reads the class of one of several parts.
        Ok(match is_classifier {
            true => vec![GraphValue::Behind(Behind::OwnClass), scores],
            false => vec![scores],
        })
    }

    /// Makes a linear model of a node's results, if they are numbers of a row.
    fn scores(&mut self, name: &str, results: Vec<GraphValue>) -> Result<Vec<GraphValue>, ModelError> {
        let scores = match results.as_slice() {
            [GraphValue::Tensor(tensor)] if tensor.by_row && tensor.shape.len() <= 1 => tensor,
            _ => return Ok(results),
        };
        let Some((forest, tested)) = linear_model(scores, &self.builder.columns)? else {
            return Ok(results);
        };
        self.found = Some(PartForest { name: name.to_owned(), forest, tested });
        Ok(vec![GraphValue::Behind(Behind::Scores(Vec::new()))])
    }

    /// Reads a node behind the trees.
    fn behind(
        &mut self,
        node: Message<'a>,
        name: &str,
        label: &str,
        inputs: Vec<Option<GraphValue>>,
    ) -> Result<GraphValue, ModelError> {
        let Some(found) = &self.found else { return Err(not_understood(label, "behind")) };
        let operand = |value| match value {
            GraphValue::Tensor(tensor) => Ok(Operand::Constant(tensor)),
            GraphValue::Behind(behind) => Ok(Operand::Behind(behind)),
            GraphValue::Stacked(_) => Err(not_understood(label, "behind")),
        };
        let operands = inputs.into_iter().flatten().map(operand).collect::<Result<Vec<_>, _>>()?;
        let trees = Trees { forest: &found.forest, columns: &self.builder.columns };
        let value = trees.follow(name, Attributes::of(node), &operands)?;
        value.map(GraphValue::Behind).ok_or_else(|| not_understood(label, "behind"))
    }

    /// The pipeline, once all nodes are read.
    fn finish(mut self, graph: Message<'a>) -> Result<ReadGraph, ModelError> {
        let Some(mut found) = self.found.take() else {
            return Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, "the graph has no tree ensemble")
                .at("graph")
                .help(
                    "pipelines are read whose last step is one tree ensemble; compute steps without trees \
                     outside",
                ));
        };
        let mut results = Vec::new();
        for output in graph.all(field::GRAPH_OUTPUT) {
            let name = output?.text(field::VALUE_NAME)?;
            match self.values.get(name) {
                Some(GraphValue::Behind(behind)) => results.push(behind.clone()),
                _ => return Err(not_computed(name)),
            }
        }
        let trees = Trees { forest: &found.forest, columns: &self.builder.columns };
        found.forest.output = trees.output(&results)?;
        let forest = Forest::new(found.forest.into_parts())?;
        self.into_graph(graph, PartForest { forest, ..found })
    }

    /// The pipeline of several parts, once all nodes are read.
    fn finish_parts(mut self, graph: Message<'a>, parts: &[PartForest]) -> Result<ReadGraph, ModelError> {
        let mut outputs = Vec::new();
        for output in graph.all(field::GRAPH_OUTPUT) {
            let name = output?.text(field::VALUE_NAME)?;
            match self.values.get(name) {
                Some(GraphValue::Tensor(tensor)) => outputs.push((name, Rc::clone(tensor))),
                Some(GraphValue::Stacked(_)) => {
                    let message =
                        format!("the output `{name}` has rows along another axis than the first one");
                    return Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, message)
                        .at("graph.output")
                        .help("convert the model with rows along the first axis of its outputs"));
                }
                _ => return Err(not_computed(name)),
            }
        }
        for (_, tensor) in &outputs {
            if let Cells::Numbers(cells) = &tensor.cells {
                self.builder.refuse_row_count(cells)?;
            }
        }
        let num_features = self.inputs.len();
        let state = (&mut self.builder, &mut self.notes);
        let model = compound(parts, state, num_features, &outputs)?;
        self.into_graph(graph, model)
    }

    /// The pipeline with its only stage.
    fn into_graph(self, graph: Message<'a>, model: PartForest) -> Result<ReadGraph, ModelError> {
        self.builder.refuse_row_count(&model.tested)?;
        let stage = Stage::Forest { name: model.name, forest: Box::new(model.forest), tested: model.tested };
        let inputs = self.inputs.finish(&self.builder);
        let pipeline = Pipeline { inputs, columns: self.builder.columns, stages: vec![stage] };
        let is_one_tensor = graph.all(field::GRAPH_INPUT).count() == 1;
        Ok(ReadGraph { pipeline, notes: self.notes, single_scaler: self.single_scaler, is_one_tensor })
    }
}

fn not_computed(output: &str) -> ModelError {
    let message = format!("the output `{output}` is not computed from the trees");
    ModelError::new(codes::UNSUPPORTED_OPERATOR, message)
        .at("graph.output")
        .help("convert the model without this output")
}

impl From<Arranged> for GraphValue {
    fn from(arranged: Arranged) -> GraphValue {
        match arranged {
            Arranged::Rows(tensor) => GraphValue::Tensor(tensor),
            Arranged::Stacked(stacked) => GraphValue::Stacked(stacked),
        }
    }
}

fn arranged(value: &GraphValue) -> Option<Arranged> {
    match value {
        GraphValue::Tensor(tensor) => Some(Arranged::Rows(Rc::clone(tensor))),
        GraphValue::Stacked(stacked) => Some(Arranged::Stacked(Rc::clone(stacked))),
        GraphValue::Behind(_) => None,
    }
}

fn tensor_of(value: Option<GraphValue>) -> Option<Rc<Tensor>> {
    match value {
        Some(GraphValue::Tensor(tensor)) => Some(tensor),
        _ => None,
    }
}

/// An operator in messages: its name, and the name of its node.
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

fn not_understood(label: &str, side: &str) -> ModelError {
    let message = format!("the operator {label} {side} the trees is not understood");
    ModelError::new(codes::UNSUPPORTED_OPERATOR, message).help(OUTSIDE)
}
