//! The pass *tables*: products of weights with encoded columns become table entries.
//!
//! A linear model adds products of weights and columns. Of the columns that one-hot encode a feature, one is
//! 1 and all others are 0, so their products add a single weight. The pass replaces such a group of products
//! by one column, a table over the feature's values ([entries]), which is added without a product.
//!
//! Several sums over the same columns become trees instead ([trees]). One walk then finds the entries of all
//! sums.
//!
//! A sum keeps its bits. Products of a group are adjacent, for each value at most one is not 0, and adding 0
//! rounds nothing. Only -0 + 0 changes a bit, so an entry is -0 if all products of the group are -0.

mod entries;
mod group;
mod steps;
mod trees;

use crate::additions::{Additions, Readers};
use crate::pieces::domain::FeatureDomain;
use crate::pipeline::{Pipeline, PipelineStage};
use entries::{Entries, longest_chain};
pub(crate) use group::product;
use group::{FeatureTerms, TermGroup};
use sched_columns::{ColumnId, Columns, Expr, OperandTypeError};
use sched_forest::{Float, Forest, LinearLeaf, LinearMissing, ModelError, codes};
use std::collections::HashSet;
use steps::StepSearch;
use trees::{VectorTable, forest_of, vector_tables};

/// A pipeline after the pass, with the features that tables replace.
#[derive(Clone, Debug, PartialEq)]
pub struct Tabulation {
    /// The pipeline. Each stage has its old columns, and then columns of tables.
    pub pipeline: Pipeline,
    /// For each stage, the features that it no longer reads, since tables or trees replace them.
    pub replaced: Vec<HashSet<u32>>,
}

/// Replaces products of weights and columns that are constant on pieces of one feature's values.
///
/// # Errors
/// A [`ModelError`] if a forest with the new sums is not valid.
pub fn tabulate(pipeline: Pipeline) -> Result<Tabulation, ModelError> {
    let rows = pipeline.row_type();
    let Pipeline { inputs, mut columns, stages } = pipeline;
    let domains: Vec<FeatureDomain> = inputs.iter().map(|input| FeatureDomain::of(input, rows)).collect();
    let (mut tabulated, mut replaced) = (Vec::new(), Vec::new());
    for stage in stages {
        let (stage, of_stage) = stage_with_tables(stage, (&domains, rows), &mut columns)?;
        tabulated.push(stage);
        replaced.push(of_stage);
    }
    Ok(Tabulation { pipeline: Pipeline { inputs, columns, stages: tabulated }, replaced })
}

/// The stage with tables or trees for its sums, and the features that it no longer reads.
fn stage_with_tables(
    stage: PipelineStage,
    (domains, rows): (&[FeatureDomain], Float),
    columns: &mut Columns,
) -> Result<(PipelineStage, HashSet<u32>), ModelError> {
    let PipelineStage::Forest { name, forest, tested } = stage;
    if !adds_columns(&forest) {
        return Ok((PipelineStage::Forest { name, forest, tested }, HashSet::new()));
    }
    let before = read_features(&forest);
    if let Some((forest, tested)) = with_added_terms(&forest, &tested, columns)? {
        let groups = groups_of_sums(&forest, &tested, &mut StepSearch::new(columns, domains));
        if let Some(found) = vector_tables(&forest, &groups, rows, columns) {
            return with_trees(name, forest, tested, (found, rows), (columns, &before));
        }
    }
    let mut search = StepSearch::new(columns, domains);
    let sums = forest.linear.iter().flatten().filter(|leaf| !leaf.terms.is_empty()).count();
    let accumulator = forest.types.accumulator;
    let groups = groups_of_sums(&forest, &tested, &mut search);
    if let Some(found) = vector_tables(&forest, &groups, rows, columns) {
        return with_trees(name, *forest, tested, (found, rows), (columns, &before));
    }
    let parts = |groups: Vec<TermGroup>| -> Vec<SumPart> {
        groups.into_iter().flat_map(|group| parts_of(group, columns, (rows, sums))).collect()
    };
    let leaves: Vec<Vec<SumPart>> = groups.into_iter().map(parts).collect();
    let float = if rows == Float::F32 { accumulator } else { rows };
    with_tables(name, *forest, tested, (leaves, float, rows), columns)
}

/// Whether the pass applies to a forest: its sums become NaN for missing values, and the type of rows can
/// hold its sums.
fn adds_columns(forest: &Forest) -> bool {
    let types = forest.types;
    let is_narrow = types.input == Float::F32 && types.accumulator == Float::F64;
    forest.has_linear_leaves() && forest.linear_missing == LinearMissing::Nan && !is_narrow
}

/// A part of a sum.
enum SumPart {
    /// A product of a feature and a weight.
    Product(u32, f64),
    /// The entry of a table.
    Table(Entries),
}

/// The forest in which chains of additions become terms of its sums, and the columns that it then reads.
/// `None` if no sum is a chain.
///
/// # Errors
/// A [`ModelError`] if the forest with the new sums is not valid.
fn with_added_terms(
    forest: &Forest,
    tested: &[ColumnId],
    columns: &Columns,
) -> Result<Option<(Forest, Vec<ColumnId>)>, ModelError> {
    let of_sums: Vec<ColumnId> = read_features(forest).into_iter().map(|it| tested[it as usize]).collect();
    let readers = Readers::new(columns, &of_sums);
    let (mut parts, mut tested, mut is_changed) = (forest.clone().into_parts(), tested.to_vec(), false);
    for leaf in parts.linear.iter_mut().flatten() {
        let &[(feature, 1.0)] = leaf.terms.as_slice() else { continue };
        let column = tested[feature as usize];
        let is_alike = columns.column_type(column) == forest.types.accumulator.into();
        let chain = Additions::of(columns, column, &readers);
        if let Some(chain) = chain.filter(|_| is_alike && leaf.constant.to_bits() == (-0.0_f64).to_bits()) {
            leaf.constant = chain.start.to_f64();
            let first = tested.len() as u32;
            tested.extend(chain.terms.iter().map(|term| term.column));
            let weights = chain.terms.iter().map(|term| term.weight.to_f64());
            leaf.terms = (first..).zip(weights).collect();
            is_changed = true;
        }
    }
    parts.num_features = parts.num_features.max(tested.len());
    Ok(if is_changed { Some((Forest::new(parts)?, tested)) } else { None })
}

/// The terms of the sums of a forest, in groups.
fn groups_of_sums(forest: &Forest, tested: &[ColumnId], search: &mut StepSearch) -> Vec<Vec<TermGroup>> {
    let accumulator = forest.types.accumulator;
    let groups = |leaf: &LinearLeaf| groups_of(leaf, tested, search, accumulator);
    forest.linear.iter().flatten().map(groups).collect()
}

/// The terms of a leaf's sum. Adjacent terms of one feature form groups.
fn groups_of(
    leaf: &LinearLeaf,
    tested: &[ColumnId],
    search: &mut StepSearch,
    accumulator: Float,
) -> Vec<TermGroup> {
    let mut groups = Vec::new();
    for &(feature, weight) in &leaf.terms {
        let column = tested[feature as usize];
        if let Expr::Const(value) = search.columns.expr(column) {
            let value = product(weight, value.to_f64(), accumulator);
            groups.push(TermGroup::Constant(feature, weight, value));
            continue;
        }
        let Some(steps) = search.of(column) else {
            groups.push(TermGroup::Product(feature, weight));
            continue;
        };
        let term = (feature, weight, column);
        let is_added = match groups.last_mut() {
            Some(TermGroup::Steps(group)) => group.add(term, &steps),
            _ => false,
        };
        if !is_added {
            let own = FeatureTerms::new(term, &steps, accumulator);
            groups.push(own.map_or(TermGroup::Product(feature, weight), TermGroup::Steps));
        }
    }
    groups
}

/// The parts of a sum for one group of terms: a table if that takes less work than the products. `sums` is
/// the number of sums.
fn parts_of(group: TermGroup, columns: &Columns, (rows, sums): (Float, usize)) -> Vec<SumPart> {
    let group = match group {
        TermGroup::Product(feature, weight) | TermGroup::Constant(feature, weight, _) => {
            return vec![SumPart::Product(feature, weight)];
        }
        TermGroup::Steps(group) => group,
    };
    let entries = group.entries(rows);
    match entries.filter(|entries| group.is_worth(entries, columns, sums)) {
        Some(entries) => vec![SumPart::Table(entries)],
        None => group.terms.iter().map(|(feature, weight, _)| SumPart::Product(*feature, *weight)).collect(),
    }
}

/// The stage with these tables as trees, and the features of `before` that it no longer reads.
fn with_trees(
    name: String,
    forest: Forest,
    mut tested: Vec<ColumnId>,
    (tables, rows): (Vec<VectorTable>, Float),
    (columns, before): (&mut Columns, &HashSet<u32>),
) -> Result<(PipelineStage, HashSet<u32>), ModelError> {
    let forest = Box::new(forest_of(forest, &mut tested, (tables, rows), columns)?);
    let replaced = before.difference(&read_features(&forest)).copied().collect();
    Ok((PipelineStage::Forest { name, forest, tested }, replaced))
}

/// The stage whose sums have these parts, and the features that it no longer reads.
fn with_tables(
    name: String,
    forest: Forest,
    mut tested: Vec<ColumnId>,
    (leaves, float, rows): (Vec<Vec<SumPart>>, Float, Float),
    columns: &mut Columns,
) -> Result<(PipelineStage, HashSet<u32>), ModelError> {
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
                    // The compared values are cast to the type of the numbers, so that comparisons and
                    // selects have the same number of lanes.
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
    Ok((PipelineStage::Forest { name, forest, tested }, replaced))
}

/// The features that nodes test or sums read.
fn read_features(forest: &Forest) -> HashSet<u32> {
    let of_nodes = forest.trees.iter().flat_map(|tree| &tree.inner).map(|inner| inner.feature);
    let of_sums = forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms).map(|(feature, _)| *feature);
    of_nodes.chain(of_sums).collect()
}

fn impossible(error: OperandTypeError) -> ModelError {
    ModelError::new(codes::ONNX_TYPE, error.to_string())
}
