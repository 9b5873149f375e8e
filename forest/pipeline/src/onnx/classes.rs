//! The classes of a row, from an output of labels: class numbers, and the labels that they stand for.

use super::builder::GraphColumns;
use super::tensor::{Cells, Tensor, TensorElement, TextCell};
use sched_columns::{Binary, CategoryTable, ColumnId, ColumnType, ColumnValue, Columns, Expr, Unary};
use sched_forest::{Label, ModelError, codes};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Maximum number of labels of an output whose labels are numbers that can be negative.
const MOST_CLASSES: i64 = 1 << 12;

/// Numbers of at least this magnitude are no classes, since class numbers are 32-bit integers.
const CLASS_NUMBER_END: f64 = 2_147_483_648.0;

/// The classes of a row: one, or one for each of several targets.
pub(super) struct RowClasses {
    /// The columns of the class numbers, which are integers.
    pub numbers: Vec<ColumnId>,
    /// The labels of classes; empty if the label of a class is its number.
    pub labels: Vec<Label>,
    /// The number of labels of each target, if there are several targets.
    pub targets: Vec<usize>,
}

/// The class of one target.
struct RowClass {
    number: ColumnId,
    /// The smallest and the largest number that the column can have.
    range: (i64, i64),
    /// The labels, from number 0 on; `None` if the label is the number.
    labels: Option<Vec<Label>>,
}

impl RowClasses {
    /// The classes of an output. `None` for numbers that are no classes: numbers that the graph does not
    /// list, and several numbers of an output that is not called `label`.
    ///
    /// # Errors
    /// `M0040` for several texts of an output that is not called `label`.
    pub fn of(
        name: &str,
        tensor: &Tensor,
        builder: &mut GraphColumns,
    ) -> Result<Option<RowClasses>, ModelError> {
        let classes: Option<Vec<RowClass>> = match &tensor.cells {
            Cells::Texts(cells) if cells.len() > 1 && !is_label(name) => {
                let message = format!("the output `{name}` has several texts for each row");
                return Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, message)
                    .at("graph.output")
                    .help("name the output `label` if each text is the class of a target"));
            }
            Cells::Texts(cells) => {
                let classes = cells.iter().map(|text| of_text(text, builder));
                Some(classes.collect::<Result<_, _>>()?)
            }
            Cells::Numbers(cells) if cells.len() > 1 && !is_label(name) => None,
            Cells::Numbers(cells) => {
                let classes = cells.iter().map(|cell| of_number(*cell, builder));
                classes.collect::<Result<_, _>>()?
            }
        };
        match classes {
            None => Ok(None),
            Some(mut classes) if classes.len() == 1 => classes.remove(0).alone(builder),
            Some(classes) => RowClasses::of_targets(classes, builder),
        }
    }

    /// The classes of several targets. Numbers are positions in the list of all labels, target after target.
    fn of_targets(
        classes: Vec<RowClass>,
        builder: &mut GraphColumns,
    ) -> Result<Option<RowClasses>, ModelError> {
        let mut all = RowClasses { numbers: Vec::new(), labels: Vec::new(), targets: Vec::new() };
        for RowClass { number, range: (first, last), labels } in classes {
            let (start, labels) = match labels {
                Some(labels) => (0, labels),
                None if last - first < MOST_CLASSES => (first, (first..=last).map(Label::Integer).collect()),
                None => return Ok(None),
            };
            let shift = all.labels.len() as i64 - start;
            all.numbers.push(match shift {
                0 => number,
                _ => {
                    let shift = builder.columns.constant(ColumnValue::I64(shift));
                    builder.add(Expr::Binary(Binary::Add, number, shift))?
                }
            });
            all.targets.push(labels.len());
            all.labels.extend(labels);
        }
        Ok(Some(all))
    }
}

impl RowClass {
    /// The classes of a model with one target.
    fn alone(self, builder: &mut GraphColumns) -> Result<Option<RowClasses>, ModelError> {
        let RowClass { number, range: (first, last), labels } = self;
        let (number, labels) = match labels {
            Some(labels) => (number, labels),
            None if first >= 0 => (number, Vec::new()),
            None if last - first < MOST_CLASSES => {
                let start = builder.columns.constant(ColumnValue::I64(first));
                let number = builder.add(Expr::Binary(Binary::Subtract, number, start))?;
                (number, (first..=last).map(Label::Integer).collect())
            }
            None => return Ok(None),
        };
        Ok(Some(RowClasses { numbers: vec![number], labels, targets: Vec::new() }))
    }
}

/// Whether exporters use this name for an output of labels.
fn is_label(name: &str) -> bool {
    // Exporters add the prefix `output.` if an input has the same name.
    matches!(name.trim_start_matches("output."), "label" | "output_label")
}

/// The class that a text names.
fn of_text(text: &TextCell, builder: &mut GraphColumns) -> Result<RowClass, ModelError> {
    let label = |name: &str| Label::Text(name.to_string());
    let (number, labels) = match text {
        TextCell::Known(text) => (builder.columns.constant(ColumnValue::I64(0)), vec![label(text)]),
        TextCell::ByCode(code) => match of_listed_texts(*code, builder)? {
            Some(listed) => (listed.number, listed.texts.iter().map(|name| label(name)).collect()),
            None => {
                let labels = builder.names(*code).iter().map(|name| label(name)).collect();
                (builder.cast(&[*code], TensorElement::I64)?[0], labels)
            }
        },
    };
    Ok(RowClass { number, range: (0, 0), labels: Some(labels) })
}

/// A text that a table selects for each row.
struct ListedText {
    /// The column of its number, an integer.
    number: ColumnId,
    /// The listed texts, from number 0 on.
    texts: Vec<Rc<str>>,
}

/// The text that a table selects, if the table lists the empty text. `None` otherwise: then every text has a
/// code.
fn of_listed_texts(code: ColumnId, builder: &mut GraphColumns) -> Result<Option<ListedText>, ModelError> {
    let Expr::Table { of, table } = builder.columns.expr(code).clone() else { return Ok(None) };
    if !table.values.iter().any(|value| value.to_f64().is_nan()) {
        return Ok(None);
    }
    let mut texts: Vec<Rc<str>> = Vec::new();
    let names = builder.names(code).to_vec();
    let mut place = |value: &ColumnValue| {
        let name = names.get(value.to_f64() as usize).filter(|_| !value.to_f64().is_nan());
        let name = name.cloned().unwrap_or_default();
        let known = texts.iter().position(|one| *one == name);
        ColumnValue::F64(known.unwrap_or_else(|| {
            texts.push(name);
            texts.len() - 1
        }) as f64)
    };
    let values = table.values.iter().map(&mut place).collect();
    let (other, missing) = (place(&table.other), place(&table.missing));
    let places = CategoryTable { rule: table.rule, values, other, missing };
    let number = builder.add(Expr::Table { of, table: Arc::new(places) })?;
    Ok(Some(ListedText { number: builder.cast(&[number], TensorElement::I64)?[0], texts }))
}

/// The class that a number is, or that it selects from a list; `None` for numbers that the graph does not
/// list.
fn of_number(cell: ColumnId, builder: &mut GraphColumns) -> Result<Option<RowClass>, ModelError> {
    if let Expr::Pick { of, values } = builder.columns.expr(cell) {
        let label = |value: &ColumnValue| match value {
            ColumnValue::Bool(value) => Label::Truth(*value),
            value => Label::Integer(value.to_i64()),
        };
        let labels = Some(values.iter().map(label).collect());
        return Ok(Some(RowClass { number: *of, range: (0, 0), labels }));
    }
    let number = builder.cast(&[cell], TensorElement::I64)?[0];
    let range = range_of(&builder.columns, number);
    Ok(range.map(|range| RowClass { number, range, labels: None }))
}

/// The smallest and the largest number that a column of integers can have, if it is computed by choices of
/// constants.
fn range_of(columns: &Columns, column: ColumnId) -> Option<(i64, i64)> {
    let mut known: HashMap<ColumnId, Option<(f64, f64)>> = HashMap::new();
    for needed in columns.needed_for(&[column]) {
        let of = |operand: &ColumnId| known.get(operand).copied().flatten();
        let constant = columns.constant_value(needed).map(ColumnValue::to_f64);
        let range = match columns.expr(needed) {
            _ if constant.is_some() => constant.zip(constant),
            Expr::Pick { values, .. } => {
                let number = |value: &ColumnValue| value.to_f64();
                let least = values.iter().map(number).reduce(f64::min);
                least.zip(values.iter().map(number).reduce(f64::max))
            }
            Expr::Select { then, otherwise, .. } => {
                of(then).zip(of(otherwise)).map(|(x, y)| (x.0.min(y.0), x.1.max(y.1)))
            }
            Expr::Unary(Unary::Cast(_), x) => of(x),
            Expr::Unary(Unary::Negate, x) => of(x).map(|(least, greatest)| (-greatest, -least)),
            _ if columns.column_type(needed) == ColumnType::Bool => Some((0.0, 1.0)),
            _ => None,
        };
        known.insert(needed, range);
    }
    let (least, greatest) = known.remove(&column).flatten()?;
    let is_small = |number: f64| number.abs() < CLASS_NUMBER_END;
    (is_small(least) && is_small(greatest)).then_some((least as i64, greatest as i64))
}
