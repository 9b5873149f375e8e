//! Magnitudes of a row's sums, which bound the rounding errors of sums in any order.

use crate::forest::{Forest, Leaf, Tree, TreeTarget};
use crate::real::Real;

/// Magnitudes of a row's sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowMagnitudes {
    /// For each margin, the sum of the magnitudes of the leaves that the row reaches, without the base value.
    pub margins: Vec<f64>,
    /// For each tree, the magnitude of the reached leaf; none if leaves hold vectors.
    pub trees: Vec<f64>,
}

impl Forest {
    /// The magnitudes of the sums of a row. The magnitude of a linear leaf is that of its terms, where
    /// computed columns have the [magnitudes](sched_columns::Columns::magnitudes) of their own sums.
    pub fn magnitudes<X: Real>(&self, row: &[X]) -> RowMagnitudes {
        let values = self.row_values(row);
        let of_values = self.value_magnitudes(row);
        let mut found = RowMagnitudes { margins: vec![0.0; self.num_margins], trees: Vec::new() };
        for (number, tree) in self.trees.iter().enumerate() {
            let leaf = self.leaf(tree, &values);
            match tree.target {
                TreeTarget::One(margin) => {
                    let terms = self.linear_magnitude((number, tree), leaf, &of_values);
                    let magnitude = terms.unwrap_or_else(|| leaf.values[0].abs());
                    found.margins[margin as usize] += magnitude;
                    found.trees.push(magnitude);
                }
                TreeTarget::All => {
                    let values = found.margins.iter_mut().zip(&leaf.values);
                    values.for_each(|(sum, value)| *sum += value.abs());
                }
            }
        }
        if self.num_tree_values() == 0 {
            found.trees.clear();
        }
        found
    }

    /// The magnitude of a linear leaf's terms; `None` if the leaf is not linear or a feature is missing.
    fn linear_magnitude(
        &self,
        (number, tree): (usize, &Tree),
        leaf: &Leaf,
        of_values: &[f64],
    ) -> Option<f64> {
        let at = tree.leaves.iter().position(|other| std::ptr::eq(leaf, other))?;
        let linear = self.linear.get(number)?.get(at)?;
        let of = |number: u32| of_values.get(number as usize).copied().unwrap_or(f64::NAN);
        let terms = linear.terms.iter().map(|(value, factor)| factor.abs() * of(*value));
        Some(linear.constant.abs() + terms.sum::<f64>()).filter(|sum| !sum.is_nan())
    }

    /// The magnitudes of the values that trees can read: of the features of a row, then of its computed
    /// columns.
    fn value_magnitudes<X: Real>(&self, row: &[X]) -> Vec<f64> {
        let row: Vec<f64> = row.iter().map(|value| value.widen()).collect();
        let computed = match self.computed.read_by_trees.is_empty() {
            true => Vec::new(),
            false => self.computed.columns.magnitudes(&self.computed.read_by_trees, &row),
        };
        row.iter().map(|value| value.abs()).chain(computed).collect()
    }
}
