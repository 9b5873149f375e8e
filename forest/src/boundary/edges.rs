//! Values on the edges of computed columns: the numbers that expressions compare a feature with, and the
//! numbers next to these. The thresholds of trees that test computed columns count as such numbers, too.

use super::keys::{KeyRange, OrderKey, key};
use super::tested_features::RowKind;
use crate::forest::{Forest, Predicate, Tree};
use sched_columns::{Binary, ColumnId, Columns, Expr, Unary};
use std::collections::BTreeSet;

/// Maximum number of edge values of a feature. Of more, evenly spaced ones are kept.
const MOST_EDGES: usize = 2048;

/// For each feature, the keys of its values on edges of computed columns and of trees that test these,
/// ascending.
pub(super) fn edges(forest: &Forest, rows: RowKind) -> Vec<Vec<OrderKey>> {
    let mut edges: Vec<BTreeSet<OrderKey>> = vec![BTreeSet::new(); forest.num_features];
    let columns = &forest.computed.columns;
    for column in columns.all() {
        for (compared, numbers) in comparisons(columns, columns.expr(column)) {
            let of_feature = feature(columns, compared).and_then(|feature| edges.get_mut(feature));
            let Some(of_feature) = of_feature else { continue };
            for number in numbers.into_iter().filter(|number| !number.is_nan()) {
                let key = key(rows.float, number);
                of_feature.extend([key - 1, key, key + 1]);
            }
        }
    }
    for node in forest.trees.iter().filter(|tree| tests_columns(forest, tree)).flat_map(|tree| &tree.inner) {
        let (Predicate::Numeric { threshold: number }
        | Predicate::NumericNotZero { threshold: number }
        | Predicate::Equal { value: number }) = node.predicate
        else {
            continue;
        };
        if let Some(of_feature) = edges.get_mut(node.feature as usize) {
            let key = key(rows.float, number);
            of_feature.extend([key - 1, key, key + 1]);
        }
    }
    let all = KeyRange::all(rows.float, rows.finite);
    let in_rows = |keys: BTreeSet<OrderKey>| {
        let keys: Vec<OrderKey> = keys.into_iter().filter(|key| all.contains(*key)).collect();
        let step = keys.len().div_ceil(MOST_EDGES).max(1);
        keys.into_iter().step_by(step).collect()
    };
    edges.into_iter().map(in_rows).collect()
}

/// Whether some node of a tree tests a computed column.
fn tests_columns(forest: &Forest, tree: &Tree) -> bool {
    tree.inner.iter().any(|node| node.feature as usize >= forest.num_features)
}

/// The columns that an expression compares, each with the numbers that it compares it with.
fn comparisons(columns: &Columns, expr: &Expr) -> Vec<(ColumnId, Vec<f64>)> {
    let constant = |column: ColumnId| match columns.expr(column) {
        Expr::Const(value) => Some(vec![value.to_f64()]),
        _ => None,
    };
    let one = match expr {
        Expr::Binary(Binary::Less | Binary::LessOrEqual | Binary::Equal, x, y) => {
            constant(*y).map(|number| (*x, number)).or_else(|| Some((*y, constant(*x)?)))
        }
        Expr::Step { of, edges } => Some((*of, edges.at.clone())),
        Expr::Table { of, table } => Some((*of, (0..=table.values.len()).map(|at| at as f64).collect())),
        // All results of a set of trees come from the same tests, so the first result is enough.
        Expr::Trees { of, trees, result: 0, .. } => {
            let mut compared: Vec<_> = of.iter().map(|operand| (*operand, Vec::new())).collect();
            for test in trees.trees().iter().flat_map(|tree| &tree.tests) {
                compared[test.operand as usize].1.push(test.threshold);
            }
            return compared;
        }
        _ => None,
    };
    one.into_iter().collect()
}

/// The feature whose value a column holds, apart from rounding and from values that replace missing ones.
fn feature(columns: &Columns, mut column: ColumnId) -> Option<usize> {
    loop {
        column = match columns.expr(column) {
            Expr::Input { feature, .. } => return Some(*feature as usize),
            Expr::Unary(Unary::Cast(_), of) => *of,
            Expr::Select { otherwise, .. } => *otherwise,
            _ => return None,
        };
    }
}
