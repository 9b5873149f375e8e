//! The inputs of a graph: features of rows.

use super::builder::GraphColumns;
use super::field;
use super::tensor::{Cells, Tensor, TensorElement, TextCell, size};
use crate::pipeline::{InputKind, PipelineInput};
use sched_columns::{ColumnId, ColumnType, Expr, Unary};
use sched_forest::onnx::{Message, element};
use sched_forest::{Float, Label, ModelError, Names, codes};
use std::collections::HashSet;
use std::ops::Range;

/// Maximum number of axes of an input, including the axis of rows.
const MOST_AXES: usize = 8;

/// The features of rows, in the order of the inputs.
#[derive(Default)]
pub(super) struct GraphInputs {
    features: Vec<PipelineInput>,
    /// For each input of the graph, its name and the indices of its features.
    of_inputs: Vec<(String, Range<usize>)>,
    /// Features that are texts: their indices and columns.
    texts: Vec<(usize, ColumnId)>,
    /// The name of the first input with a fixed number of rows, and that number.
    fixed: Option<(String, usize)>,
}

impl GraphInputs {
    /// The number of features.
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Reads an input. Its first axis counts rows, and each cell of a row is a feature.
    ///
    /// # Errors
    /// `M0042` if the number of features is unknown or their type unsupported. Also `M0042` if the file fixes
    /// different numbers of rows for two inputs.
    pub fn add(
        &mut self,
        name: &str,
        input: Message<'_>,
        builder: &mut GraphColumns,
    ) -> Result<Tensor, ModelError> {
        let tensor = input.child(field::VALUE_TYPE)?.child(field::TYPE_TENSOR)?;
        let code = tensor.integer(field::TENSOR_ELEMENT)?.unwrap_or(0);
        let mut sizes = Vec::new();
        for dimension in tensor.child(field::TENSOR_SHAPE)?.all(field::SHAPE_DIMENSION).take(MOST_AXES + 1) {
            let size = dimension?.integer(field::DIMENSION_SIZE)?;
            sizes.push(size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size > 0));
        }
        let refuse = |message: String, help: &str| {
            Err(ModelError::new(codes::ONNX_TYPE, message).at("graph.input").help(help))
        };
        let columns = sizes.get(1..).filter(|_| sizes.len() <= MOST_AXES);
        let shape: Option<Vec<usize>> = columns.and_then(|columns| columns.iter().copied().collect());
        let Some(shape) = shape else {
            let message = format!("the input `{name}` has no known number of columns");
            return refuse(message, "convert the model with inputs of the shape [None, columns]");
        };
        if let Some(n_rows) = sizes[0] {
            let (first, fixed) = self.fixed.get_or_insert_with(|| (name.to_owned(), n_rows));
            if *fixed != n_rows {
                let message =
                    format!("the inputs `{first}` and `{name}` have {fixed} and {n_rows} rows in each call");
                return refuse(message, "convert the model with inputs of the shape [None, columns]");
            }
        }
        let Some(element) = TensorElement::of_code(code) else {
            let message =
                format!("the input `{name}` has the type {}, which is not supported", element::name(code));
            let help = "schedc reads inputs of float, double, int32, int64, bool and string";
            return refuse(message, help);
        };
        let count = builder.count_cells(size(&shape))?;
        let first = self.features.len();
        let (mut columns, mut texts) = (Vec::new(), Vec::new());
        for cell in 0..count {
            let own = if count == 1 { name.to_owned() } else { format!("{name}[{cell}]") };
            let column = self.feature(own, element, builder)?;
            match element {
                TensorElement::Text => texts.push(TextCell::ByCode(column)),
                _ => columns.push(column),
            }
        }
        self.of_inputs.push((name.to_owned(), first..self.features.len()));
        let cells =
            if element == TensorElement::Text { Cells::Texts(texts) } else { Cells::Numbers(columns) };
        Ok(Tensor { by_row: true, shape, element, cells })
    }

    /// Adds a feature, and returns its column.
    fn feature(
        &mut self,
        name: String,
        element: TensorElement,
        builder: &mut GraphColumns,
    ) -> Result<ColumnId, ModelError> {
        let feature = self.features.len() as u32;
        let (kind, names) = match element {
            TensorElement::F32 => (InputKind::Float(Float::F32), Names::default()),
            TensorElement::F64 => (InputKind::Float(Float::F64), Names::default()),
            TensorElement::I32 | TensorElement::I64 => (InputKind::Integer, Names::default()),
            TensorElement::Bool => {
                (InputKind::Truth, Names::listed(vec![Label::Truth(false), Label::Truth(true)]))
            }
            TensorElement::Text => (InputKind::Text, Names::default()),
        };
        self.features.push(PipelineInput { name, kind, names });
        let float = if element == TensorElement::F32 { Float::F32 } else { Float::F64 };
        let column = builder.columns.input(feature, float);
        match element.column_type() {
            None => {
                builder.name_codes(column);
                self.texts.push((feature as usize, column));
                Ok(column)
            }
            Some(column_type @ (ColumnType::I64 | ColumnType::Bool)) => {
                builder.add(Expr::Unary(Unary::Cast(column_type), column))
            }
            Some(_) => Ok(column),
        }
    }

    /// The features, with the names of texts that the nodes have collected. `read` has the names of the
    /// inputs that some node or output reads.
    pub fn finish(mut self, builder: &GraphColumns, read: &HashSet<&str>) -> Vec<PipelineInput> {
        for (feature, column) in &self.texts {
            let names = builder.names(*column);
            let labels = names.iter().map(|name| Label::Text(name.to_string()));
            self.features[*feature].names = match names.is_empty() {
                true => names_of_any_text(),
                false => Names::texts(labels.collect()),
            };
        }
        for (_, own) in self.of_inputs.iter().filter(|(name, _)| !read.contains(name.as_str())) {
            self.features[own.clone()].iter_mut().for_each(|feature| feature.names = Names::unread());
        }
        self.features
    }
}

/// Names for a feature of texts that a step reads without comparing it with texts. Every text and every
/// number in rows is then an unknown category.
fn names_of_any_text() -> Names {
    Names::texts(vec![Label::Text("any text".into()), Label::Integer(-1)])
}
