//! `Scan` over constants, such as the points of pairwise distances. The reader unrolls it: it reads the body
//! once for each entry.

use super::builder::GraphColumns;
use super::field;
use super::node::GraphNode;
use super::stacked::{MaybeStacked, Stacked};
use super::tensor::{Tensor, size};
use sched_forest::ModelError;
use sched_forest::onnx::Message;
use std::rc::Rc;

/// Attributes that change the direction or the axes of a scan.
const OTHER_ORDERS: &[&str] =
    &["scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"];

/// A scan, whose body is read once for each entry.
pub(super) struct Scan<'a> {
    /// The graph that computes the results of an entry.
    pub body: Message<'a>,
    /// The values that are passed from each entry to the next: at first those of the inputs.
    pub states: Vec<MaybeStacked>,
    /// The constants whose entries along the first axis are scanned.
    scanned: Vec<Rc<Tensor>>,
    /// The number of entries.
    pub length: usize,
}

impl<'a> Scan<'a> {
    /// The scan of a node with these inputs.
    ///
    /// # Errors
    /// `M0040` for a scan over rows, backwards, or along other axes than the first.
    pub fn read(
        message: Message<'a>,
        node: &GraphNode,
        inputs: Vec<Option<MaybeStacked>>,
    ) -> Result<Scan<'a>, ModelError> {
        let inputs: Option<Vec<MaybeStacked>> = inputs.into_iter().collect();
        let mut states = inputs.ok_or_else(|| node.refuse("lacks an input"))?;
        for name in OTHER_ORDERS {
            if node.ints(name)?.is_some_and(|values| values.iter().any(|value| *value != 0)) {
                return Err(node.refuse("scans backwards, or along other axes than the first one"));
            }
        }
        let count = usize::try_from(node.attributes.int("num_scan_inputs")?.unwrap_or(0)).unwrap_or(0);
        let first = states.len().checked_sub(count).filter(|_| count > 0);
        let scanned = states.split_off(first.ok_or_else(|| node.refuse("scans nothing"))?);
        let constant = |input: MaybeStacked| match input {
            MaybeStacked::Rows(tensor) if !tensor.by_row && !tensor.shape.is_empty() => Some(tensor),
            _ => None,
        };
        let scanned: Option<Vec<Rc<Tensor>>> = scanned.into_iter().map(constant).collect();
        let scanned = scanned
            .ok_or_else(|| node.refuse("scans rows, so the result of a row would depend on other rows"))?;
        let length = scanned[0].shape[0];
        if length == 0 || scanned.iter().any(|tensor| tensor.shape[0] != length) {
            return Err(node.refuse("scans inputs of different lengths, or empty ones"));
        }
        Ok(Scan { body: body(message)?, states, scanned, length })
    }

    /// The entries of the scanned constants at position `at`.
    pub fn entries(&self, at: usize) -> Vec<MaybeStacked> {
        let entry = |tensor: &Rc<Tensor>| {
            let shape = tensor.shape[1..].to_vec();
            let width = tensor.cells.len() / self.length;
            let cells = tensor.cells.at(&(at * width..(at + 1) * width).collect::<Vec<_>>());
            MaybeStacked::Rows(Rc::new(Tensor { by_row: false, shape, element: tensor.element, cells }))
        };
        self.scanned.iter().map(entry).collect()
    }
}

/// The graph of a node's attribute `body`; an empty one if it has none.
fn body(node: Message<'_>) -> Result<Message<'_>, ModelError> {
    for attribute in node.all(field::NODE_ATTRIBUTE) {
        let attribute = attribute?;
        if attribute.text(field::ATTRIBUTE_NAME)? == "body" {
            return attribute.child(field::ATTRIBUTE_GRAPH);
        }
    }
    Ok(Message::new(&[]))
}

/// The results of all entries, stacked along a new first axis.
///
/// # Errors
/// `M0040` for results of different shapes or types.
pub(super) fn stacked(
    node: &GraphNode,
    builder: &mut GraphColumns,
    results: &[MaybeStacked],
) -> Result<MaybeStacked, ModelError> {
    let refuse = || node.refuse("has results of different shapes or types");
    let tensor = |result: &MaybeStacked| match result {
        MaybeStacked::Rows(tensor) => Some(Rc::clone(tensor)),
        MaybeStacked::Stacked(_) => None,
    };
    let tensors: Vec<Rc<Tensor>> = results.iter().map(tensor).collect::<Option<_>>().ok_or_else(refuse)?;
    let first = tensors.first().ok_or_else(refuse)?;
    let mut cells = Vec::new();
    for tensor in &tensors {
        if (tensor.by_row, &tensor.shape, tensor.element) != (first.by_row, &first.shape, first.element) {
            return Err(refuse());
        }
        cells.extend_from_slice(node.numbers(tensor)?);
    }
    let shape = [&[tensors.len()], first.shape.as_slice()].concat();
    builder.count_cells(size(&shape))?;
    let tensor = Tensor::numbers(first.by_row, shape, first.element, cells);
    Ok(Stacked::arranged(tensor, usize::from(first.by_row)))
}
