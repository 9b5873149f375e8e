//! Models whose results are computed by arithmetic from several forests and sums.
//!
//! While a graph is read, the margins of its forests are inputs after the features of a row. A result is then
//! an expression over these inputs and over columns of the row. The columns that it needs become margins,
//! too, so that the result is an expression over margins alone.

use super::linear::is_weighted_sum;
use super::margins::ReadMargins;
use super::parts::{MergedParts, PartForest, merge};
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, OperandTypeError, Unary};
use sched_forest::{Float, ModelError, codes};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A model and expressions over its margins.
pub(super) struct Combined {
    pub parts: MergedParts,
    /// The columns over features of a row, which the parts read.
    pub row_columns: Columns,
    /// Expressions over margins, in which input `k` is margin `k`.
    pub columns: Columns,
    /// The results among these expressions, in the order of the parameter `results`.
    pub results: Vec<ColumnId>,
    /// The name of the step that computes all margins of sums, if there is one such step.
    pub step: Option<Arc<str>>,
}

/// Combines forests, and the columns that `results` need, to one model. Margins of forests that no result
/// reads are left out. The columns of `first` come first among the sums, if they depend on no margins.
///
/// # Errors
/// `M0040` if forests cannot be merged.
pub(super) fn combine(
    parts: &[PartForest],
    mut columns: Columns,
    num_features: usize,
    results: &[ColumnId],
    first: &[ColumnId],
) -> Result<Combined, ModelError> {
    let marks = ColumnMarks::of(&columns, num_features);
    let mut sums: Vec<ColumnId> = first.iter().copied().filter(|column| marks.is_sum(*column)).collect();
    let (mut seen, mut inside) = (HashSet::new(), Vec::new());
    let mut open: Vec<ColumnId> = results.iter().rev().copied().collect();
    while let Some(column) = open.pop() {
        if !seen.insert(column) || marks.is_constant[column.index()] {
            continue;
        }
        if marks.is_source(&columns, column) || sums.contains(&column) {
            if !sums.contains(&column) {
                sums.push(column);
            }
            continue;
        }
        inside.push(column);
        let operands: Vec<ColumnId> = columns.expr(column).operands().collect();
        open.extend(operands.into_iter().rev());
    }
    let of_forests: usize = parts.iter().map(|part| part.forest.num_margins).sum();
    let read = ReadMargins::of(&columns, &inside, num_features, of_forests);
    let merged = merge(parts, &read, (&sums, results), &mut columns)?;
    let mut out = MarginRewriting {
        from: &columns,
        out: Columns::default(),
        numbers: HashMap::new(),
        num_features,
        read: &read,
        accumulator: merged.forest.types.accumulator,
    };
    for (margin, sum) in (read.count..).zip(&sums) {
        out.margin(*sum, margin)?;
    }
    inside.sort_unstable();
    for column in inside {
        out.rewrite(column)?;
    }
    let results = results.iter().map(|column| out.number(*column)).collect::<Result<Vec<_>, _>>()?;
    let expressions = out.out;
    let step = common_step(&columns, &sums);
    Ok(Combined { parts: merged, row_columns: columns, columns: expressions, results, step })
}

/// The step that computes all of some sums, or sums that only a constant is added to.
fn common_step(columns: &Columns, sums: &[ColumnId]) -> Option<Arc<str>> {
    let step_of = |sum: &ColumnId| {
        let operands = columns.expr(*sum).operands();
        [*sum].into_iter().chain(operands).find_map(|column| columns.step(column))
    };
    let first = step_of(sums.first()?)?;
    sums.iter().all(|sum| step_of(sum) == Some(first)).then(|| Arc::clone(first))
}

/// Properties of columns.
struct ColumnMarks {
    /// Whether a column is the same for all rows.
    is_constant: Vec<bool>,
    /// Whether it depends on margins.
    reads_margins: Vec<bool>,
    /// Whether it is a weighted sum, or depends on a weighted sum.
    has_sums: Vec<bool>,
}

impl ColumnMarks {
    fn of(columns: &Columns, num_features: usize) -> ColumnMarks {
        let mut marks =
            ColumnMarks { is_constant: Vec::new(), reads_margins: Vec::new(), has_sums: Vec::new() };
        for column in columns.all() {
            let expr = columns.expr(column);
            let operands: Vec<usize> = expr.operands().map(ColumnId::index).collect();
            let any = |of: &[bool]| operands.iter().any(|operand| of[*operand]);
            let reads_margins = match expr {
                Expr::Input { feature, .. } => *feature as usize >= num_features,
                _ => any(&marks.reads_margins),
            };
            let is_constant = match expr {
                Expr::Input { .. } => false,
                _ => operands.iter().all(|operand| marks.is_constant[*operand]),
            };
            let has_sums = matches!(expr, Expr::Dot { .. }) || any(&marks.has_sums);
            marks.reads_margins.push(reads_margins);
            marks.is_constant.push(is_constant);
            marks.has_sums.push(has_sums);
        }
        marks
    }

    /// Whether a column can be a margin: it depends on the features of the row alone, and is no constant.
    fn is_sum(&self, column: ColumnId) -> bool {
        !self.is_constant[column.index()] && !self.reads_margins[column.index()]
    }

    /// Whether a column becomes a margin: a weighted sum of features, or an expression over features without
    /// weighted sums.
    fn is_source(&self, columns: &Columns, column: ColumnId) -> bool {
        self.is_sum(column) && (is_weighted_sum(columns, column) || !self.has_sums[column.index()])
    }
}

/// The state while columns are rewritten to expressions over margins.
struct MarginRewriting<'a> {
    from: &'a Columns,
    out: Columns,
    numbers: HashMap<ColumnId, ColumnId>,
    num_features: usize,
    read: &'a ReadMargins,
    accumulator: Float,
}

impl MarginRewriting<'_> {
    /// Replaces a column by a margin.
    fn margin(&mut self, column: ColumnId, margin: usize) -> Result<(), ModelError> {
        let input = self.out.input(margin as u32, self.accumulator);
        let value = self.out.cast(input, self.from.column_type(column)).map_err(impossible)?;
        self.numbers.insert(column, value);
        Ok(())
    }

    /// Rewrites a column whose operands are rewritten or constant.
    fn rewrite(&mut self, column: ColumnId) -> Result<(), ModelError> {
        let expr = match self.from.expr(column) {
            Expr::Input { feature, float } => {
                let margin = self.read.number((*feature as usize).saturating_sub(self.num_features));
                let input = self.out.input(margin.unwrap_or(0), self.accumulator);
                let value = self.out.cast(input, (*float).into()).map_err(impossible)?;
                self.numbers.insert(column, value);
                return Ok(());
            }
            Expr::Unary(op @ (Unary::Exp | Unary::Logistic), of)
                if self.from.column_type(column) == ColumnType::F32 =>
            {
                let of = self.number(*of)?;
                let value = self.rounded_once(*op, of).map_err(impossible)?;
                self.numbers.insert(column, value);
                return Ok(());
            }
            expr => {
                let operands: Vec<ColumnId> = expr.operands().collect();
                let numbers = operands.iter().map(|operand| self.number(*operand));
                let mut numbers = numbers.collect::<Result<Vec<_>, _>>()?.into_iter();
                expr.clone().with_operands(|operand| numbers.next().unwrap_or(operand))
            }
        };
        let number = self.out.add_folded(expr).map_err(impossible)?;
        self.numbers.insert(column, number);
        Ok(())
    }

    /// The exponential or the logistic function of a column of single precision. The exponential is computed
    /// in double precision and rounded once, as `expf` of the C library is for nearly all numbers: XGBoost's
    /// probabilities then have the bits of XGBoost.
    fn rounded_once(&mut self, op: Unary, of: ColumnId) -> Result<ColumnId, OperandTypeError> {
        let out = &mut self.out;
        if op == Unary::Exp {
            let wide = out.cast(of, ColumnType::F64)?;
            let power = out.add_folded(Expr::Unary(Unary::Exp, wide))?;
            return out.cast(power, ColumnType::F32);
        }
        let negative = out.add_folded(Expr::Unary(Unary::Negate, of))?;
        let power = self.rounded_once(Unary::Exp, negative)?;
        let one = self.out.constant(ColumnValue::F32(1.0));
        let sum = self.out.add_folded(Expr::Binary(Binary::Add, power, one))?;
        self.out.add_folded(Expr::Binary(Binary::Divide, one, sum))
    }

    /// The rewritten column. Constants are copied when they are first read.
    fn number(&mut self, column: ColumnId) -> Result<ColumnId, ModelError> {
        if let Some(number) = self.numbers.get(&column) {
            return Ok(*number);
        }
        for needed in self.from.needed_for(&[column]) {
            if !self.numbers.contains_key(&needed) {
                let expr = self.from.expr(needed).clone().with_operands(|operand| self.numbers[&operand]);
                let number = self.out.add_folded(expr).map_err(impossible)?;
                self.numbers.insert(needed, number);
            }
        }
        Ok(self.numbers[&column])
    }
}

fn impossible(error: OperandTypeError) -> ModelError {
    ModelError::new(codes::ONNX_TYPE, error.to_string())
}
