//! The outputs of a graph with several parts: predictions and classes as expressions over margins.

use super::builder::GraphColumns;
use super::classes::RowClasses;
use super::combine::combine;
use super::margins::reads_margins;
use super::parts::PartForest;
use super::tensor::{Cells, Tensor, TensorElement};
use sched_columns::ColumnId;
use sched_forest::{
    ClassRule, Classes, DecisionValues, Forest, ForestParts, ModelError, Note, Output, OutputColumns,
    Transform, codes,
};
use std::rc::Rc;
use std::sync::Arc;

/// Whether an output of this name has the decision values of a classifier. Exporters add the prefix `output.`
/// if an input has the same name.
pub(super) fn is_margins(name: &str) -> bool {
    matches!(name.trim_start_matches("output."), "margins" | "decision_function")
}

/// The model of a graph with these outputs.
///
/// # Errors
/// `M0040` if one model cannot have these outputs.
///
/// The numbers of the output `margins` come first among the margins, if they are sums of the row. The first
/// other output of numbers has the predictions. Further outputs of numbers are left out, with a note.
pub(super) fn compound(
    parts: &[PartForest],
    (builder, notes): (&mut GraphColumns, &mut Vec<Note>),
    num_features: usize,
    outputs: &[(&str, Rc<Tensor>)],
) -> Result<PartForest, ModelError> {
    let numbers = |tensor: &Tensor| match &tensor.cells {
        Cells::Numbers(cells) if tensor.by_row && tensor.element.is_float() && !cells.is_empty() => {
            Some(cells.clone())
        }
        _ => None,
    };
    let floats = || outputs.iter().filter_map(|(name, tensor)| Some((*name, numbers(tensor)?)));
    let margins = floats().find(|(name, _)| is_margins(name)).map(|(_, cells)| cells).unwrap_or_default();
    let value = floats().find(|(name, _)| !is_margins(name)).map(|(_, cells)| cells);
    let value_name = floats().find(|(name, _)| !is_margins(name)).map(|(name, _)| name);
    // Margins of forests come before those of sums.
    let are_sums = parts.is_empty() && !reads_margins(&builder.columns, &margins, num_features);
    for (name, _) in floats() {
        let is_known = Some(name) == value_name || (is_margins(name) && (are_sums || value_name.is_none()));
        if !is_known {
            notes.push(Note(format!("the output `{name}` of the file is left out")));
        }
    }
    let others = || outputs.iter().filter(|(_, tensor)| !tensor.element.is_float() && tensor.by_row);
    let classes =
        others().next().map(|(name, tensor)| RowClasses::of(name, tensor, builder)).transpose()?.flatten();
    let whole = others().find_map(|(_, tensor)| match &tensor.cells {
        Cells::Numbers(cells) => Some(cells.clone()),
        Cells::Texts(_) => None,
    });
    let has_floats = value.is_some() || !margins.is_empty();
    let is_read = usize::from(classes.is_some() || (!has_floats && whole.is_some()));
    for (name, _) in others().skip(is_read) {
        notes.push(Note(format!("the output `{name}` of the file is left out")));
    }
    let mut values = match (value, whole, &classes) {
        (Some(cells), ..) => cells,
        (None, ..) if has_floats => margins.clone(),
        (None, Some(cells), _) => builder.cast(&cells, TensorElement::F64)?,
        (None, None, Some(classes)) => builder.cast(&classes.numbers, TensorElement::F64)?,
        (None, None, None) => {
            return Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, "no output of the graph is numeric")
                .at("graph.output")
                .help("convert the model with a numeric output"));
        }
    };
    let is_constant = |column: &ColumnId| builder.constant(*column).is_some();
    if values.iter().chain(&margins).all(is_constant) {
        return Err(ModelError::new(
            codes::UNSUPPORTED_OPERATOR,
            "the model has the same result for all rows",
        )
        .at("graph.output")
        .help("use that result itself, which needs no compiled code"));
    }
    let decision_values = match are_sums && !margins.is_empty() {
        true => Some(DecisionValues::Margins(margins.len())),
        false => (!margins.is_empty() && value_name.is_none()).then_some(DecisionValues::Predictions),
    };
    let count = values.len();
    values.extend(classes.iter().flat_map(|classes| &classes.numbers));
    let columns = std::mem::take(&mut builder.columns);
    let combined = combine(parts, columns, num_features, &values, &margins)?;
    builder.columns = combined.row_columns;
    let expressions = Arc::new(combined.columns);
    let of = |results: &[ColumnId]| {
        Arc::new(OutputColumns { columns: Arc::clone(&expressions), results: results.to_vec() })
    };
    let (predicted, numbers) = combined.results.split_at(count);
    let classes = classes.map(|RowClasses { labels, targets, .. }| Classes {
        targets,
        decision_values,
        ..Classes::new(ClassRule::Computed(of(numbers)), labels)
    });
    let output = Output { value: vec![Transform::Columns(of(predicted))], classes, ..Output::default() };
    let merged = combined.parts.forest.into_parts();
    let forest = Forest::new(ForestParts { output, ..merged })?;
    let name = match parts {
        [] => combined.step.map_or_else(String::new, |step| step.to_string()),
        [only] if only.forest.trees.len() == forest.trees.len() => only.name.clone(),
        _ => String::new(),
    };
    Ok(PartForest { name, forest, tested: combined.parts.tested })
}
