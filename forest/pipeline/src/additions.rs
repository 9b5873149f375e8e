//! Chains of additions, and the pass *sums*, which makes each long one a sum.
//!
//! A file can write a sum of columns as additions in turn: `((a + b) + c) + d`. Code of such an expression
//! grows with the columns, and the code of each column that reads it repeats it. As an [`Expr::Dot`] with
//! weights of 1 the sum is computed once for each row, by a loop. The mean of 120 kernels that
//! `KernelPCA` subtracts from each of them took LLVM minutes, and takes half a second as a sum. A chain that
//! one result reads stays: squares of differences from 20 means took 56 ns a row, and 76 as sums (Zen 4).
//!
//! A sum keeps the bits of its chain. It adds the same numbers in the same order, since a product with 1 and
//! a sum with -0 change no number. Additions that associate in another way stay.

use crate::fault::{PassFault, seeded};
use crate::pipeline::{Pipeline, Stage};
use sched_columns::{Binary, ColumnId, ColumnValue, Columns, Expr, Term, TypeMismatch};
use std::collections::{HashMap, HashSet};

/// Fewest additions of a chain that becomes a sum. Norms of 10 columns took 3 % longer as sums.
const FEWEST: usize = 16;

/// A left-leaning chain of additions: a first number, and columns that are added to it in turn.
pub(crate) struct Additions {
    /// The first number; -0 if the chain begins with a column.
    pub start: ColumnValue,
    /// The columns with their weights.
    pub terms: Vec<Term>,
    /// The partial sums, which the chain replaces.
    partial: Vec<ColumnId>,
}

impl Additions {
    /// The chain that ends with a column, if it is a sum of numbers. A partial sum that several columns read
    /// is the chain's first column.
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
            if readers.are_several(before) {
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
            Expr::Dot { start, terms } if !readers.are_several(first) => (*start, terms.to_vec()),
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

/// Number of readers of each column.
pub(crate) struct Readers {
    counts: Vec<u32>,
    /// Whether several results, or columns that they read, repeat the column's code.
    are_repeated: Vec<bool>,
}

impl Readers {
    /// The readers among the columns that some `results` depend on. Each result has one reader more.
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

    fn are_several(&self, column: ColumnId) -> bool {
        self.counts[column.index()] > 1
    }
}

/// Makes a sum of each long chain of additions whose code several columns would repeat, among the columns
/// that stages read. A partial sum that several columns read stays a column of its own.
///
/// # Errors
/// None if columns have the types that their readers take, as those of [`Columns::add`] have.
pub fn sums(pipeline: Pipeline) -> Result<Pipeline, TypeMismatch> {
    let old = &pipeline.columns;
    let tested: Vec<ColumnId> = pipeline.stages.iter().flat_map(Stage::tested).copied().collect();
    let readers = Readers::new(old, &tested);
    let needed = old.needed_for(&tested);
    let (mut chains, mut replaced) = (HashMap::new(), HashSet::new());
    for &column in needed.iter().rev() {
        if !replaced.contains(&column)
            && readers.are_repeated[column.index()]
            && let Some(Additions { start, terms, partial }) = Additions::of(old, column, &readers)
            && partial.len() + 1 >= FEWEST
        {
            chains.insert(column, Expr::Dot { start, terms: terms.into() });
            replaced.extend(partial);
        }
    }
    let mut columns = Columns::default();
    let mut numbers: HashMap<ColumnId, ColumnId> = HashMap::new();
    for column in needed.into_iter().filter(|column| !replaced.contains(column)) {
        let expr = chains.remove(&column).unwrap_or_else(|| old.expr(column).clone());
        numbers.insert(column, columns.add(expr.with_operands(|operand| numbers[&operand]))?);
    }
    let stages = pipeline.stages.into_iter().map(|stage| stage.with_tested(|column| numbers[&column]));
    Ok(Pipeline { stages: stages.collect(), columns, inputs: pipeline.inputs })
}
