//! Groups: adjacent products of a sum whose columns depend on the leaf of one tree.

use super::leaves::{LeafColumn, LeafColumns, LeafTree};
use crate::fault::{PassFault, seeded};
use crate::tables::product;
use sched_columns::{ColumnId, Columns};
use sched_forest::Float;

/// Largest factor by which values in leaves may exceed the number of products that they replace. A tree of
/// which a sum reads few leaves has values of 0 in all others.
const MOST_GROWTH: usize = 32;

/// Adjacent products of columns that depend on the leaf of one tree. In each leaf at most one product is not
/// 0.
pub(super) struct LeafGroup {
    /// The column that holds the leaf index.
    pub tree: ColumnId,
    /// For each leaf, the product that is not 0.
    values: Vec<Option<f64>>,
    /// The number of products that are 0, not -0, in leaves where their columns are off.
    positive: isize,
    /// For each leaf, the difference to `positive`.
    change: Vec<isize>,
}

/// A weighted sum with a run of groups.
pub(super) struct LeafSum {
    /// The number of products before the groups.
    pub before: usize,
    /// The groups, at least one.
    pub groups: Vec<LeafGroup>,
    /// The number of products after the groups.
    pub after: usize,
}

impl LeafGroup {
    fn new(tree: ColumnId, leaves: usize) -> LeafGroup {
        LeafGroup { tree, values: vec![None; leaves], positive: 0, change: vec![0; leaves] }
    }

    /// Adds a product and returns true, if at most one product stays different from 0 in each leaf.
    fn add(&mut self, column: &LeafColumn, weight: f64, accumulator: Float) -> bool {
        let [on, off] = [column.on, column.off].map(|value| product(weight, value.to_f64(), accumulator));
        if column.tree != self.tree || off != 0.0 || !on.is_finite() {
            return false;
        }
        let places = || column.leaves.iter().map(|leaf| *leaf as usize);
        if on != 0.0 && places().any(|leaf| self.values[leaf].is_some()) {
            return false;
        }
        let is_positive = |product: f64| isize::from(product == 0.0 && product.is_sign_positive());
        self.positive += is_positive(off);
        for leaf in places() {
            self.change[leaf] += is_positive(on) - is_positive(off);
            if on != 0.0 {
                self.values[leaf] = Some(on);
            }
        }
        true
    }

    /// The sum of the products in each leaf. It is -0 if all products are.
    pub fn entries(&self) -> Vec<f64> {
        let zero = |change: isize| if self.positive + change > 0 { 0.0 } else { -0.0 };
        let entry = |(value, change): (&Option<f64>, &isize)| value.unwrap_or_else(|| zero(*change));
        let mut entries: Vec<f64> = self.values.iter().zip(&self.change).map(entry).collect();
        if seeded(PassFault::LeafEntriesSwapped) && entries.len() > 1 {
            entries.swap(0, 1);
        }
        entries
    }
}

impl LeafSum {
    /// The first groups of a sum of these products whose trees have the same kind of tests. `None` if no
    /// product is in a group, or if the leaves would hold many more values than there are products.
    pub fn of(
        terms: &[(ColumnId, f64)],
        (columns, leaf_columns): (&Columns, &LeafColumns),
        accumulator: Float,
    ) -> Option<LeafSum> {
        let before = terms.iter().position(|(column, _)| leaf_columns.get(*column).is_some())?;
        let (mut groups, mut count): (Vec<LeafGroup>, usize) = (Vec::new(), 0);
        let mut tests = None;
        for &(column, weight) in &terms[before..] {
            let Some(leaf) = leaf_columns.get(column) else { break };
            let is_added = groups.last_mut().is_some_and(|group| group.add(leaf, weight, accumulator));
            if !is_added {
                let tree = LeafTree::of(columns, leaf.tree)?;
                let mut group = LeafGroup::new(leaf.tree, tree.leaves());
                let is_alike = *tests.get_or_insert(tree.tests()) == tree.tests();
                if !is_alike || !group.add(leaf, weight, accumulator) {
                    break;
                }
                groups.push(group);
            }
            count += 1;
        }
        let leaves: usize = groups.iter().map(|group| group.values.len()).sum();
        let is_small = leaves <= count.saturating_mul(MOST_GROWTH);
        let after = terms.len() - before - count;
        (count > 0 && is_small).then_some(LeafSum { before, groups, after })
    }

    /// The columns that hold the leaf indices, in order.
    pub fn trees(&self) -> Vec<ColumnId> {
        self.groups.iter().map(|group| group.tree).collect()
    }
}
