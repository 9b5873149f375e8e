//! Reads nodes with a body: scans.

use super::GraphReader;
use super::value::{GraphValue, arranged};
use crate::onnx::constant::constant_tensor;
use crate::onnx::field;
use crate::onnx::node::GraphNode;
use crate::onnx::order::is_ensemble;
use crate::onnx::scan::{Scan, stacked};
use crate::onnx::stacked::MaybeStacked;
use sched_forest::ModelError;
use sched_forest::onnx::{Attributes, Message, TensorProto};
use std::rc::Rc;

impl<'a> GraphReader<'a> {
    /// Reads a scan by reading its body once for each entry of its constants.
    pub(super) fn scan(
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
        let (n_states, lacks) =
            (scan.states.len(), || node.refuse("has a body whose inputs and outputs do not match its own"));
        let mut results = vec![Vec::new(); outputs.len().checked_sub(n_states).ok_or_else(lacks)?];
        self.read.extend(&outputs);
        let outside = self.values.clone();
        for constant in scan.body.all(field::GRAPH_CONSTANT) {
            let constant = constant?;
            let tensor = constant_tensor(&mut self.builder, TensorProto::new(constant)?)?;
            let value = GraphValue::Tensor(Rc::new(tensor));
            self.values.insert(constant.text(field::CONSTANT_NAME)?, value);
        }
        for at in 0..scan.length {
            let values: Vec<MaybeStacked> = scan.states.iter().cloned().chain(scan.entries(at)).collect();
            if values.len() != names.len() {
                return Err(lacks());
            }
            for (name, value) in names.iter().zip(values) {
                self.values.insert(name, GraphValue::from(value));
            }
            for inner in scan.body.all(field::GRAPH_NODE) {
                self.builder.count_cells(Some(1))?;
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

    /// Reads a node of a body, and refuses trees and further scans in bodies.
    fn body_node(&mut self, scan: &GraphNode, node: Message<'a>) -> Result<(), ModelError> {
        let name = node.text(field::NODE_OPERATOR)?;
        match is_ensemble(name) || name == "Scan" {
            true => {
                Err(scan
                    .refuse(&format!("has a body with the operator `{name}`, which is not supported there")))
            }
            false => self.node(usize::MAX, node),
        }
    }
}
