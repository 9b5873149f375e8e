//! Chains of additions, and the pass *sums*, which turns long chains into weighted sums.
//!
//! A file can write a sum of columns as a chain of additions: `((a + b) + c) + d`. The code of a chain grows
//! with the columns, and each column that reads the chain repeats its code. As an [`Expr::Dot`] with weights
//! of 1, the sum is computed once for each row, by a loop. `KernelPCA` subtracts the mean of its kernels from
//! each of them: for 120 kernels LLVM took minutes for the chain, and half a second for the sum. A chain that
//! only one result reads is kept: squares of differences from 20 means took 56 ns a row as chains, and 76 ns
//! as sums (Zen 4).
//!
//! A sum has the same bits as its chain. It adds the same numbers in the same order, and multiplying by 1 or
//! adding -0 changes no number. Additions with other parentheses are kept.

use crate::fault::{PassFault, seeded};
use crate::pipeline::{Pipeline, PipelineStage};
use sched_columns::{Binary, ColumnId, ColumnValue, Columns, Expr, OperandTypeError, Term};
use std::collections::{HashMap, HashSet};

/// Smallest number of additions of a chain that becomes a sum. Norms of 10 columns took 3 % longer as sums.
const FEWEST_ADDITIONS: usize = 16;

/// A left-leaning chain of additions: a first number, and columns that are added to it one after the other.
pub(crate) struct Additions {
    /// The first number; -0 if the chain begins with a column.
    pub start: ColumnValue,
    /// The columns with their weights.
    pub terms: Vec<Term>,
    /// The columns of partial sums, which are not needed once the chain becomes a sum.
    partial: Vec<ColumnId>,
}

impl Additions {
    /// The chain whose last addition is `column`; `None` if that is no addition of floating-point numbers.
    /// The chain begins at the latest partial sum that several columns read, which stays a column.
    pub fn of(columns: &Columns, column: ColumnId, readers: &Readers) -> Option<Additions> {
        if !columns.column_type(column).is_float() {
            return None;
        }
        let (mut added, mut partial, mut first) = (Vec::new(), Vec::new(), column);
        while let Some((before, last)) = addition(columns, first) {
            if first != column {
                partial.push(first);
            }
            added.push(last);
            first = before;
            if readers.is_read_repeatedly(before) {
                break;
            }
        }
        if added.is_empty() {
            return None;
        }
        let number = |value: f64| ColumnValue::F64(value).cast(columns.column_type(column));
        let term = |column| Term { column, weight: number(1.0) };
        let (start, mut terms) = match columns.expr(first) {
            Expr::Const(value) => (*value, Vec::new()),
            Expr::Dot { start, terms } if !readers.is_read_repeatedly(first) => (*start, terms.to_vec()),
            _ => (number(-0.0), vec![term(first)]),
        };
        terms.extend(added.into_iter().rev().map(term));
        if seeded(PassFault::SumLosesColumn) {
            terms.pop();
        }
        Some(Additions { start, terms, partial })
    }
}

/// The operands of an addition: the chain so far, and the number that is added to it.
fn addition(columns: &Columns, column: ColumnId) -> Option<(ColumnId, ColumnId)> {
    let is_addition = |column: ColumnId| matches!(columns.expr(column), Expr::Binary(Binary::Add, ..));
    match columns.expr(column) {
        Expr::Binary(Binary::Add, x, y) if !is_addition(*x) && is_addition(*y) => Some((*y, *x)),
        Expr::Binary(Binary::Add, x, y) => Some((*x, *y)),
        _ => None,
    }
}

/// The number of columns that read each column.
pub(crate) struct Readers {
    counts: Vec<u32>,
    /// Whether several results, or columns that they read, repeat the column's code.
    are_repeated: Vec<bool>,
}

impl Readers {
    /// Counts readers among the columns on which some `results` depend. Each result counts as read once more.
    pub fn new(columns: &Columns, results: &[ColumnId]) -> Readers {
        let (mut counts, mut are_repeated) = (vec![0; columns.len()], vec![false; columns.len()]);
        results.iter().for_each(|column| counts[column.index()] += 1);
        for column in columns.needed_for(results).into_iter().rev() {
            are_repeated[column.index()] |= counts[column.index()] > 1;
            for operand in columns.expr(column).operands() {
                counts[operand.index()] += 1;
                are_repeated[operand.index()] |= are_repeated[column.index()];
            }
        }
        Readers { counts, are_repeated }
    }

    fn is_read_repeatedly(&self, column: ColumnId) -> bool {
        self.counts[column.index()] > 1
    }
}

/// Turns each long chain of additions into a sum, if several columns that stages need would repeat its code.
/// A partial sum that several columns read stays a separate column.
///
/// # Errors
/// Never, if columns have types that their readers accept, as [`Columns::add`] ensures.
pub fn sum_chains(pipeline: Pipeline) -> Result<Pipeline, OperandTypeError> {
    let old = &pipeline.columns;
    let tested: Vec<ColumnId> = pipeline.stages.iter().flat_map(PipelineStage::tested).copied().collect();
    let readers = Readers::new(old, &tested);
    let needed = old.needed_for(&tested);
    let (mut chains, mut replaced) = (HashMap::new(), HashSet::new());
    for &column in needed.iter().rev() {
        if !replaced.contains(&column)
            && readers.are_repeated[column.index()]
            && let Some(Additions { start, terms, partial }) = Additions::of(old, column, &readers)
            && partial.len() + 1 >= FEWEST_ADDITIONS
        {
            chains.insert(column, Expr::Dot { start, terms: terms.into() });
            replaced.extend(partial);
        }
    }
    let mut columns = Columns::default();
    let mut numbers: HashMap<ColumnId, ColumnId> = HashMap::new();
    for column in needed.into_iter().filter(|column| !replaced.contains(column)) {
        let expr = chains.remove(&column).unwrap_or_else(|| old.expr(column).clone());
        let new = columns.add(expr.with_operands(|operand| numbers[&operand]))?;
        columns.copy_step(new, (old, column));
        numbers.insert(column, new);
    }
    let stages = pipeline.stages.into_iter().map(|stage| stage.with_tested(|column| numbers[&column]));
    Ok(Pipeline { stages: stages.collect(), columns, inputs: pipeline.inputs })
}
