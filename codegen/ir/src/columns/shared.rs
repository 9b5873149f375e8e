//! Columns that are stored since several expressions read them and they take long to compute.
//!
//! A row's polynomial terms are products of its scaled values: without storing them, each term would divide
//! again. Adjacent columns that read a value share it as [the head of their group](super::runs), which needs
//! no memory.

use sched_columns::{Binary, ColumnId, Columns, Expr, Float, functions};
use std::collections::{HashMap, HashSet};

/// The columns to store among the `needed` ones, beside sums and their operands. `roots` are the columns
/// whose values code writes: those that trees test, and the operands of sums.
pub(super) fn shared_columns(columns: &Columns, needed: &[ColumnId], roots: &[ColumnId]) -> Vec<ColumnId> {
    let takes_long = long_columns(columns, needed);
    if takes_long.is_empty() {
        return Vec::new();
    }
    let stretches = stretches(columns, roots, &takes_long);
    let readers = readers(columns, needed, roots);
    let is_at_least_two =
        |counts: &HashMap<ColumnId, usize>, column| counts.get(column).is_some_and(|n| *n > 1);
    let mut shared: Vec<ColumnId> = Vec::new();
    // Columns whose computation takes long although shared columns are loaded.
    let mut still_long: HashSet<ColumnId> = HashSet::new();
    for column in needed.iter().filter(|column| takes_long.contains(column)) {
        let expr = columns.expr(*column);
        let is_long = is_long_operation(expr) || expr.operands().any(|operand| still_long.contains(&operand));
        if !is_long {
            continue;
        }
        let is_float = columns.column_type(*column).is_float();
        if is_float && is_at_least_two(&stretches, column) && is_at_least_two(&readers, column) {
            shared.push(*column);
        } else {
            still_long.insert(*column);
        }
    }
    shared
}

/// The columns, no sums, whose computation includes an operation that takes long. Sums are stored anyway.
fn long_columns(columns: &Columns, needed: &[ColumnId]) -> HashSet<ColumnId> {
    let mut long = HashSet::new();
    for column in needed {
        let expr = columns.expr(*column);
        let is_long = is_long_operation(expr) || expr.operands().any(|operand| long.contains(&operand));
        if is_long && !expr.is_sum() {
            long.insert(*column);
        }
    }
    long
}

/// Whether an operation takes longer than a load and a store.
fn is_long_operation(expr: &Expr) -> bool {
    match expr {
        Expr::Unary(op, _) => functions::unary(*op, Float::F64, 1.0).is_some(),
        Expr::Binary(op, ..) => matches!(op, Binary::Divide | Binary::Power),
        Expr::Table { .. } | Expr::Step { .. } => true,
        Expr::Input { .. }
        | Expr::Const(_)
        | Expr::Select { .. }
        | Expr::Pick { .. }
        | Expr::Dot { .. }
        | Expr::SquaredDistance { .. }
        | Expr::Trees { .. }
        | Expr::Bit { .. } => false,
    }
}

/// For each of the `counted` columns, the number of stretches of adjacent roots that compute it.
fn stretches(columns: &Columns, roots: &[ColumnId], counted: &HashSet<ColumnId>) -> HashMap<ColumnId, usize> {
    let mut stretches: HashMap<ColumnId, usize> = HashMap::new();
    let mut last_root: HashMap<ColumnId, usize> = HashMap::new();
    for (place, root) in roots.iter().enumerate() {
        let mut open = vec![*root];
        while let Some(column) = open.pop() {
            if !counted.contains(&column) || last_root.get(&column) == Some(&place) {
                continue;
            }
            let before = last_root.insert(column, place);
            let is_adjacent = before.is_some_and(|before| before + 1 == place);
            *stretches.entry(column).or_default() += usize::from(!is_adjacent);
            open.extend(columns.expr(column).operands());
        }
    }
    stretches
}

/// The number of expressions that read each column. Code that writes a root counts as one.
fn readers(columns: &Columns, needed: &[ColumnId], roots: &[ColumnId]) -> HashMap<ColumnId, usize> {
    let mut readers: HashMap<ColumnId, usize> = HashMap::new();
    for column in needed {
        let operands: HashSet<ColumnId> = columns.expr(*column).operands().collect();
        operands.into_iter().for_each(|operand| *readers.entry(operand).or_default() += 1);
    }
    roots.iter().for_each(|root| *readers.entry(*root).or_default() += 1);
    readers
}
