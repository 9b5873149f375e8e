//! The pass *tables*: products of weights with encoded columns become table entries.
//!
//! A linear model adds weights times columns. Of the columns that one-hot encode a feature, one is 1 and the
//! others are 0, so that their products add one weight. The pass replaces the products of such a group by one
//! column, a table of the feature's values ([entries]), which is added without a product.
//!
//! A sum keeps its bits. Products of a group are adjacent, at most one of them is not 0 for any value, and
//! adding 0 rounds nothing. Only -0 + 0 changes a bit, so that an entry is -0 if all products are.

mod entries;
mod group;
mod steps;

use crate::pieces::domain::FeatureDomain;
use crate::pipeline::{Pipeline, Stage};
use entries::{Entries, longest_chain};
use group::FeatureTerms;
use sched_columns::{ColumnId, Columns, TypeMismatch};
use sched_forest::{Float, Forest, LinearLeaf, LinearMissing, ModelError, codes};
use std::collections::HashSet;
use steps::StepColumns;

/// A pipeline after the pass, with the columns that tables replace.
#[derive(Clone, Debug, PartialEq)]
pub struct Tabulation {
    /// The pipeline. Each stage has its columns, and then those that are tables.
    pub pipeline: Pipeline,
    /// For each stage the features whose products are entries of tables, and which no node reads.
    pub replaced: Vec<HashSet<u32>>,
}

/// Replaces products of weights with columns that are constant in pieces of one feature.
///
/// # Errors
/// A [`ModelError`] if a forest with the new sums is not valid.
pub fn tables(pipeline: Pipeline) -> Result<Tabulation, ModelError> {
    let rows = pipeline.row_type();
    let Pipeline { inputs, mut columns, stages } = pipeline;
    let domains: Vec<FeatureDomain> = inputs.iter().map(|input| FeatureDomain::of(input, rows)).collect();
    let (mut tabulated, mut replaced) = (Vec::new(), Vec::new());
    for stage in stages {
        let Stage::Forest { name, forest, tested } = stage;
        if !adds_columns(&forest) {
            tabulated.push(Stage::Forest { name, forest, tested });
            replaced.push(HashSet::new());
            continue;
        }
        let mut search = StepColumns::new(&columns, &domains);
        let sums = forest.linear.iter().flatten().filter(|leaf| !leaf.terms.is_empty()).count();
        let accumulator = forest.types.accumulator;
        let kind = SumKind { accumulator, rows, sums };
        let leaf_parts = |leaf: &LinearLeaf| parts_of(leaf, &tested, &mut search, kind);
        let leaves: Vec<Vec<SumPart>> = forest.linear.iter().flatten().map(leaf_parts).collect();
        let float = if rows == Float::F32 { accumulator } else { rows };
        let (stage, of_stage) = with_tables(name, *forest, tested, (leaves, float, rows), &mut columns)?;
        tabulated.push(stage);
        replaced.push(of_stage);
    }
    Ok(Tabulation { pipeline: Pipeline { inputs, columns, stages: tabulated }, replaced })
}

/// Whether the pass applies to a forest: its sums are NaN for missing values, and its rows hold all sums.
fn adds_columns(forest: &Forest) -> bool {
    let types = forest.types;
    let is_narrow = types.input == Float::F32 && types.accumulator == Float::F64;
    forest.has_linear_leaves() && forest.linear_missing == LinearMissing::Nan && !is_narrow
}

/// The sums of a forest.
#[derive(Clone, Copy)]
struct SumKind {
    /// The type of sums.
    accumulator: Float,
    /// The type of rows.
    rows: Float,
    /// Number of sums that add columns.
    sums: usize,
}

/// A part of a sum.
enum SumPart {
    /// A product, of a feature with a weight.
    Product(u32, f64),
    /// The entry of a table.
    Table(Entries),
}

/// The parts of a leaf's sum. Adjacent terms of one feature form groups.
fn parts_of(leaf: &LinearLeaf, tested: &[ColumnId], search: &mut StepColumns, kind: SumKind) -> Vec<SumPart> {
    let mut parts = Vec::new();
    let mut open: Option<FeatureTerms> = None;
    for &(feature, weight) in &leaf.terms {
        let column = tested[feature as usize];
        let Some(steps) = search.of(column) else {
            close(&mut parts, open.take(), search, kind);
            parts.push(SumPart::Product(feature, weight));
            continue;
        };
        let term = (feature, weight, column);
        let is_added = open.as_mut().is_some_and(|group| group.add(term, &steps));
        if !is_added {
            close(&mut parts, open.take(), search, kind);
            open = FeatureTerms::new(term, &steps, kind.accumulator);
            if open.is_none() {
                parts.push(SumPart::Product(feature, weight));
            }
        }
    }
    close(&mut parts, open, search, kind);
    parts
}

/// Adds a group to the parts of a sum: as a table, if that takes less work than its products.
fn close(parts: &mut Vec<SumPart>, group: Option<FeatureTerms>, search: &StepColumns, kind: SumKind) {
    let Some(group) = group else { return };
    let entries = group.entries(kind.rows);
    match entries.filter(|entries| group.is_worth(entries, search.columns, kind.sums)) {
        Some(entries) => parts.push(SumPart::Table(entries)),
        None => {
            let products = group.terms.iter().map(|(feature, weight, _)| SumPart::Product(*feature, *weight));
            parts.extend(products);
        }
    }
}

/// A stage whose sums have these parts, and the features that it reads no longer.
fn with_tables(
    name: String,
    forest: Forest,
    mut tested: Vec<ColumnId>,
    (leaves, float, rows): (Vec<Vec<SumPart>>, Float, Float),
    columns: &mut Columns,
) -> Result<(Stage, HashSet<u32>), ModelError> {
    let before = read_features(&forest);
    let all = leaves.iter().flatten().filter_map(|part| match part {
        SumPart::Table(entries) => Some(entries),
        SumPart::Product(..) => None,
    });
    let chain = longest_chain(all);
    let mut parts = forest.into_parts();
    for (leaf, of_sum) in parts.linear.iter_mut().flatten().zip(leaves) {
        leaf.terms.clear();
        for part in of_sum {
            leaf.terms.push(match part {
                SumPart::Product(feature, weight) => (feature, weight),
                SumPart::Table(entries) => {
                    // Comparisons have as many lanes as the numbers that they choose.
                    let x = columns.input(entries.feature, rows);
                    let x = columns.cast(x, float.into()).map_err(impossible)?;
                    let column = entries.column(columns, x, (float, chain)).map_err(impossible)?;
                    tested.push(column);
                    (tested.len() as u32 - 1, 1.0)
                }
            });
        }
    }
    parts.num_features = parts.num_features.max(tested.len());
    let forest = Box::new(Forest::new(parts)?);
    let after = read_features(&forest);
    let replaced = before.difference(&after).copied().collect();
    Ok((Stage::Forest { name, forest, tested }, replaced))
}

/// The features that nodes test or sums read.
fn read_features(forest: &Forest) -> HashSet<u32> {
    let of_nodes = forest.trees.iter().flat_map(|tree| &tree.inner).map(|inner| inner.feature);
    let of_sums = forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms).map(|(feature, _)| *feature);
    of_nodes.chain(of_sums).collect()
}

fn impossible(error: TypeMismatch) -> ModelError {
    ModelError::new(codes::ONNX_TYPE, error.to_string())
}
