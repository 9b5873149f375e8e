//! Weighted sums that are columns, such as the units of a net's layer.

use super::begun::{BegunSum, WeightedColumns, begun_sums};
use super::leaves::LeafColumns;
use sched_columns::{ColumnId, ColumnValue, Columns, Expr, OperandTypeError, Term};
use std::collections::HashMap;

/// Adds columns in which trees begin the sums that columns are, and returns the number of the new column for
/// each of the `tested` columns and each column that they depend on.
///
/// # Errors
/// Never, if columns have types that their readers accept, as [`Columns::add`] ensures.
pub(super) fn with_trees(
    tested: &[ColumnId],
    columns: &mut Columns,
    leaf_columns: &LeafColumns,
) -> Result<HashMap<ColumnId, ColumnId>, OperandTypeError> {
    let needed = columns.needed_for(tested);
    let sum = |key: &ColumnId| match columns.expr(*key) {
        Expr::Dot { start, terms } => {
            let float = Option::from(start.column_type())?;
            let terms = terms.iter().map(|term| (term.column, term.weight.to_f64())).collect();
            Some(WeightedColumns { key: *key, float, terms })
        }
        _ => None,
    };
    let sums = needed.iter().filter_map(sum).collect();
    let begun = begun_sums(sums, (columns, leaf_columns));
    let mut numbers = HashMap::new();
    for old in needed {
        let first = columns.len();
        let new = match (begun.get(&old), columns.expr(old).clone()) {
            (Some(begun), Expr::Dot { start, terms }) => {
                with_begun(begun, (start, &terms), columns, &numbers)?
            }
            (_, expr) => columns.add(expr.with_operands(|operand| numbers[&operand]))?,
        };
        if let Some(step) = columns.step(old).cloned() {
            columns.name_sums(first, &step);
        }
        numbers.insert(old, new);
    }
    Ok(numbers)
}

/// The sum that trees begin. `numbers` has the new columns of operands.
fn with_begun(
    begun: &BegunSum,
    (start, terms): (ColumnValue, &[Term]),
    columns: &mut Columns,
    numbers: &HashMap<ColumnId, ColumnId>,
) -> Result<ColumnId, OperandTypeError> {
    let of = begun.of.iter().map(|operand| numbers[operand]).collect();
    let trees = columns.add(begun.result(of, start))?;
    let after = &terms[begun.terms..];
    if after.is_empty() {
        return Ok(trees);
    }
    let number = |value: f64| ColumnValue::F64(value).cast(start.column_type());
    let after = after.iter().map(|term| Term { column: numbers[&term.column], ..*term });
    let terms = [Term { column: trees, weight: number(1.0) }].into_iter().chain(after).collect();
    columns.add(Expr::Dot { start: number(-0.0), terms })
}
