//! The class of a row: the number of a label, as an output of the file has it.

use super::builder::GraphColumns;
use super::tensor::{Cells, Element, Tensor, Text};
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, Unary};
use sched_forest::{Label, ModelError, codes};
use std::collections::HashMap;

/// Most labels of an output whose numbers can be negative.
const MOST_CLASSES: i64 = 1 << 12;

/// Numbers of this size and more are no classes. Rows have their classes as integers of 32 bits.
const LARGEST_CLASS: f64 = 2_147_483_648.0;

/// The class of a row.
pub(super) struct RowClass {
    /// Its number, an integer.
    pub number: ColumnId,
    /// The names of classes; none if a class is its number.
    pub labels: Vec<Label>,
}

impl RowClass {
    /// The class that an output has, by the number that picks its name. None for whole numbers that are no
    /// classes: they are several of a row, or one of numbers that the graph does not list.
    ///
    /// # Errors
    /// `M0040` for several texts of a row.
    pub fn of(
        name: &str,
        tensor: &Tensor,
        builder: &mut GraphColumns,
    ) -> Result<Option<RowClass>, ModelError> {
        let cells = match &tensor.cells {
            Cells::Numbers(cells) => cells,
            Cells::Texts(cells) => {
                let [Text::ByCode(code)] = cells.as_slice() else {
                    let message = format!("the output `{name}` has several classes of a row");
                    return Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, message)
                        .at("graph.output")
                        .help("make a model of each class"));
                };
                let labels = builder.names(*code).iter().map(|name| Label::Text(name.to_string())).collect();
                let number = builder.cast(&[*code], Element::I64)?;
                return Ok(Some(RowClass { number: number[0], labels }));
            }
        };
        let [cell] = cells.as_slice() else { return Ok(None) };
        if let Expr::Pick { of, values } = builder.columns.expr(*cell) {
            let label = |value: &ColumnValue| match value {
                ColumnValue::Bool(value) => Label::Truth(*value),
                value => Label::Integer(value.to_i64()),
            };
            return Ok(Some(RowClass { number: *of, labels: values.iter().map(label).collect() }));
        }
        let number = builder.cast(&[*cell], Element::I64)?[0];
        match range_of(&builder.columns, number) {
            Some((first, last)) if first < 0 && last - first < MOST_CLASSES => {
                let first_number = builder.columns.constant(ColumnValue::I64(first));
                let number = builder.add(Expr::Binary(Binary::Subtract, number, first_number))?;
                Ok(Some(RowClass { number, labels: (first..=last).map(Label::Integer).collect() }))
            }
            Some((0.., _)) => Ok(Some(RowClass { number, labels: Vec::new() })),
            _ => Ok(None),
        }
    }
}

/// The least and the greatest number that a column of integers can have, if its expressions are choices of
/// constants.
fn range_of(columns: &Columns, column: ColumnId) -> Option<(i64, i64)> {
    let mut known: HashMap<ColumnId, Option<(f64, f64)>> = HashMap::new();
    for needed in columns.needed_for(&[column]) {
        let of = |operand: &ColumnId| known.get(operand).copied().flatten();
        let range = match columns.expr(needed) {
            Expr::Const(value) => Some((value.to_f64(), value.to_f64())),
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
    let is_small = |number: f64| number.abs() < LARGEST_CLASS;
    (is_small(least) && is_small(greatest)).then_some((least as i64, greatest as i64))
}
