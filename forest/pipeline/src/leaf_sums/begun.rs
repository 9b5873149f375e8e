//! Sums that begin with groups: trees add the groups, and products follow.

use super::group::LeafSum;
use super::leaves::LeafColumns;
use super::trees::sum_trees;
use sched_columns::{ColumnId, ColumnTrees, ColumnValue, Columns, Expr};
use sched_forest::Float;
use std::collections::HashMap;
use std::sync::Arc;

/// A weighted sum of columns.
pub(super) struct WeightedColumns<K> {
    /// A name for the sum.
    pub key: K,
    /// The type of the sum.
    pub float: Float,
    /// The columns and their weights.
    pub terms: Vec<(ColumnId, f64)>,
}

/// The first terms of a sum as a result of trees.
pub(super) struct BegunSum {
    /// The columns that the trees test.
    pub of: Arc<[ColumnId]>,
    pub trees: Arc<ColumnTrees>,
    pub result: u32,
    /// The number of terms that the trees add.
    pub terms: usize,
}

impl BegunSum {
    /// The groups that are added to `start`, as a column. `of` has the columns that the trees test.
    pub fn result(&self, of: Arc<[ColumnId]>, start: ColumnValue) -> Expr {
        Expr::Trees { of, start, trees: Arc::clone(&self.trees), result: self.result }
    }
}

/// The sums that begin with groups, by their names. Sums over the same columns share their trees.
pub(super) fn begun_sums<K: Eq + std::hash::Hash>(
    sums: Vec<WeightedColumns<K>>,
    (columns, leaf_columns): (&Columns, &LeafColumns),
) -> HashMap<K, BegunSum> {
    let mut layers: HashMap<(Float, Vec<ColumnId>), Vec<WeightedColumns<K>>> = HashMap::new();
    for sum in sums.into_iter().filter(|sum| begins_with_leaves(sum, leaf_columns)) {
        let read = sum.terms.iter().map(|(column, _)| *column).collect();
        layers.entry((sum.float, read)).or_default().push(sum);
    }
    let mut begun = HashMap::new();
    for ((float, _), layer) in layers {
        let groups = |sum: &WeightedColumns<K>| LeafSum::of(&sum.terms, (columns, leaf_columns), float);
        let Some(found) = layer.iter().map(groups).collect::<Option<Vec<_>>>() else { continue };
        let form = |sum: &LeafSum| (sum.trees(), sum.after);
        if found.iter().any(|sum| form(sum) != form(&found[0])) {
            continue;
        }
        let Some((of, trees)) = sum_trees(columns, &found, float) else { continue };
        for ((result, sum), groups) in (0..).zip(layer).zip(found) {
            let (of, trees) = (Arc::clone(&of), Arc::clone(&trees));
            let terms = sum.terms.len() - groups.after;
            begun.insert(sum.key, BegunSum { of, trees, result, terms });
        }
    }
    begun
}

fn begins_with_leaves<K>(sum: &WeightedColumns<K>, leaf_columns: &LeafColumns) -> bool {
    sum.terms.first().is_some_and(|(column, _)| leaf_columns.get(*column).is_some())
}
