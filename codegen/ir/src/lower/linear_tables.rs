//! Tables of linear leaves: a constant and terms for each leaf of the forest.

use crate::bytes::{float_table, int_table, scalar};
use crate::hir::Hir;
use crate::lir::{BufferId, Builder, Scalar, Space};
use crate::rows::features::FeatureSubset;
use sched_forest::{Leaf, LinearLeaf};

/// Tables of linear leaves: as their bytes, as table numbers or as buffers.
#[derive(Clone, Copy, Debug)]
pub struct LinearTables<T> {
    /// For each leaf, the index of its first term and its number of terms: two `i32`.
    pub terms: T,
    /// For each leaf, the constant, and the value that it adds if a term's value is missing. Leaves that are
    /// not linear have their leaf value twice, or -0.0 twice if a leaf vector holds it.
    pub values: T,
    /// For each term, the position of its value in rows that are not transposed, an `i32`.
    pub features: T,
    /// For each term, the column of its value in transposed rows, an `i32`.
    pub columns: T,
    /// Coefficient of each term.
    pub coefficients: T,
    /// Largest number of terms of each tree's leaves, an `i32`.
    pub most_terms: T,
    /// Coefficients of single linear leaves that add the same columns: the first coefficient of all trees,
    /// then the second of all trees, and so on. The end has padding for loads of vectors of trees.
    pub by_term: T,
}

/// Largest number of lanes of a vector of trees.
const LANES: usize = 64;

impl LinearTables<(&'static str, Scalar, Vec<u8>)> {
    /// Tables of a forest: names, elements and bytes. `transposed` has the features of transposed rows, if
    /// there are some.
    pub fn of(hir: &Hir, transposed: Option<&FeatureSubset>) -> Self {
        let forest = &hir.forest;
        let (mut terms, mut values, mut most_terms) = (Vec::new(), Vec::new(), Vec::new());
        let (mut features, mut coefficients) = (Vec::new(), Vec::new());
        let none = LinearLeaf::default();
        let read_walked_rows = hir.linear_leaves_read_walked_rows();
        let is_in_vector = |leaf: &LinearLeaf| forest.has_leaf_vectors() && leaf.terms.is_empty();
        for (number, tree) in forest.trees.iter().enumerate() {
            let linear = forest.linear.get(number);
            let of_leaf = |at: usize| linear.and_then(|leaves| leaves.get(at));
            let lengths = (0..tree.leaves.len()).filter_map(|at| Some(of_leaf(at)?.terms.len() as u64));
            most_terms.push(lengths.max().unwrap_or(0));
            for (at, leaf) in tree.leaves.iter().enumerate() {
                let plain = plain_value(leaf);
                let constant = of_leaf(at).map_or(plain, |leaf| leaf.constant);
                let leaf = of_leaf(at).unwrap_or(&none);
                terms.extend([features.len() as u64, leaf.terms.len() as u64]);
                values.extend(if is_in_vector(leaf) { [-0.0; 2] } else { [constant, plain] });
                features.extend(
                    leaf.terms
                        .iter()
                        .map(|(feature, _)| u64::from(feature_of_row(hir, read_walked_rows, *feature))),
                );
                coefficients.extend(leaf.terms.iter().map(|(_, coefficient)| *coefficient));
            }
        }
        // Lanes without a term read term 0.
        if features.is_empty() {
            (features, coefficients) = (vec![0], vec![0.0]);
        }
        let column = |feature: &u64| match transposed.filter(|_| read_walked_rows) {
            Some(subset) => subset.column(*feature as u32).into(),
            None => *feature,
        };
        let sums = scalar(forest.types.accumulator);
        LinearTables {
            terms: ("linear_terms", Scalar::I32, int_table(terms.into_iter(), Scalar::I32)),
            values: ("linear_values", sums, float_table(&values, sums)),
            columns: ("linear_columns", Scalar::I32, int_table(features.iter().map(column), Scalar::I32)),
            features: ("linear_features", Scalar::I32, int_table(features.iter().copied(), Scalar::I32)),
            coefficients: ("linear_coefficients", sums, float_table(&coefficients, sums)),
            most_terms: ("linear_most", Scalar::I32, int_table(most_terms.into_iter(), Scalar::I32)),
            by_term: ("linear_by_term", sums, float_table(&by_term(hir), sums)),
        }
    }
}

impl<T> LinearTables<T> {
    /// Applies a function to each table.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> LinearTables<U> {
        LinearTables {
            terms: f(self.terms),
            values: f(self.values),
            features: f(self.features),
            columns: f(self.columns),
            coefficients: f(self.coefficients),
            most_terms: f(self.most_terms),
            by_term: f(self.by_term),
        }
    }
}

impl LinearTables<u32> {
    /// Declares the tables as buffers of a kernel.
    pub fn declare(self, b: &mut Builder, sums: Scalar) -> LinearTables<BufferId> {
        let mut table = |name, number, element| b.buffer(name, Space::ModelTable(number), element);
        LinearTables {
            terms: table("linear_terms", self.terms, Scalar::I32),
            values: table("linear_values", self.values, sums),
            features: table("linear_features", self.features, Scalar::I32),
            columns: table("linear_columns", self.columns, Scalar::I32),
            coefficients: table("linear_coefficients", self.coefficients, sums),
            most_terms: table("linear_most", self.most_terms, Scalar::I32),
            by_term: table("linear_by_term", self.by_term, sums),
        }
    }
}

/// The position of a term's value in the row that leaves read. In rows of the call, a column that copies a
/// feature is read as that feature.
fn feature_of_row(hir: &Hir, read_walked_rows: bool, feature: u32) -> u32 {
    let values =
        hir.columns.as_ref().filter(|_| !read_walked_rows).map(|columns| columns.column_features.as_slice());
    values.and_then(|values| values.get(feature as usize).copied().flatten()).unwrap_or(feature)
}

/// The coefficients of single linear leaves, term by term, if all trees add the same columns.
fn by_term(hir: &Hir) -> Vec<f64> {
    let Some(features) = hir.shared_term_features().filter(|_| hir.is_linear_model()) else {
        return Vec::new();
    };
    let trees = 0..hir.forest.trees.len();
    let of_term = |term: usize| trees.clone().map(move |tree| hir.linear_terms(tree)[term].1);
    (0..features.len()).flat_map(of_term).chain([0.0; LANES]).collect()
}

fn plain_value(leaf: &Leaf) -> f64 {
    leaf.values.first().copied().unwrap_or(0.0)
}
