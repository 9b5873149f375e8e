//! The sums of a stage: trees in place of a sum, or before the other products of a sum.

use super::begun::{WeightedColumns, begun_sums};
use super::group::LeafSum;
use super::leaves::{LeafColumns, LeafTree};
use super::trees::forest_tree;
use crate::pipeline::PipelineStage;
use sched_columns::{ColumnId, ColumnValue, Columns, OperandTypeError, Ties};
use sched_forest::{
    Comparison, Float, Forest, ForestParts, LinearLeaf, LinearMissing, ModelError, Tree, TreeTarget, codes,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Replaces sums of a stage by trees, and returns the features that the stage no longer reads.
///
/// # Errors
/// A [`ModelError`] if the forest with the new trees is not valid.
pub(super) fn with_trees(
    stage: &mut PipelineStage,
    columns: &mut Columns,
    leaf_columns: &LeafColumns,
) -> Result<HashSet<u32>, ModelError> {
    let PipelineStage::Forest { forest, tested, .. } = stage;
    if !forest.has_linear_leaves() || forest.linear_missing != LinearMissing::Nan {
        return Ok(HashSet::new());
    }
    let before = added_features(forest);
    let mut features = Features::new(tested);
    let mut parts = forest.as_ref().clone().into_parts();
    let sums = sums_of(&parts, tested, (columns, leaf_columns));
    if let Some(form) = ForestForm::of(&parts, &sums, columns) {
        form.apply(&mut parts);
        let numbers = features.of_tests(&sums, parts.types.input, columns)?;
        add_trees(&mut parts, sums, (columns, &numbers))?;
    }
    begin_sums(&mut parts, (columns, leaf_columns), &mut features)?;
    *tested = features.tested;
    parts.num_features = parts.num_features.max(tested.len());
    **forest = Forest::new(parts)?;
    Ok(before.difference(&added_features(forest)).copied().collect())
}

/// The features that sums read.
fn added_features(forest: &Forest) -> HashSet<u32> {
    forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms).map(|(feature, _)| *feature).collect()
}

/// The features of a forest, and the columns that hold them.
struct Features {
    tested: Vec<ColumnId>,
    places: HashMap<ColumnId, u32>,
}

impl Features {
    fn new(tested: &[ColumnId]) -> Features {
        let places = tested.iter().copied().zip(0..).collect();
        Features { tested: tested.to_vec(), places }
    }

    /// The feature that holds a column, converted to the type of rows.
    fn of(&mut self, column: ColumnId, rows: Float, columns: &mut Columns) -> Result<u32, ModelError> {
        let column = columns.cast(column, rows.into()).map_err(impossible)?;
        Ok(*self.places.entry(column).or_insert_with(|| {
            self.tested.push(column);
            self.tested.len() as u32 - 1
        }))
    }

    /// The feature that holds each column which the trees of some sums test.
    fn of_tests(
        &mut self,
        sums: &BTreeMap<usize, LeafSum>,
        rows: Float,
        columns: &mut Columns,
    ) -> Result<HashMap<ColumnId, u32>, ModelError> {
        let trees = sums.values().flat_map(LeafSum::trees).filter_map(|tree| LeafTree::of(columns, tree));
        let tested: BTreeSet<ColumnId> = trees.flat_map(|tree| tree.tested().collect::<Vec<_>>()).collect();
        tested.into_iter().map(|column| Ok((column, self.of(column, rows, columns)?))).collect()
    }
}

/// The sums of a forest that trees can replace, by the indices of the trees that add them.
fn sums_of(
    parts: &ForestParts,
    tested: &[ColumnId],
    of: (&Columns, &LeafColumns),
) -> BTreeMap<usize, LeafSum> {
    let mut begun = vec![false; parts.num_margins];
    let mut sums = BTreeMap::new();
    for (number, tree) in parts.trees.iter().enumerate() {
        let TreeTarget::One(margin) = tree.target else {
            begun.fill(true);
            continue;
        };
        // The trees add to the margin one by one, so that it must be 0 before them.
        let is_first = !std::mem::replace(&mut begun[margin as usize], true);
        let Some([leaf]) = parts.linear.get(number).map(Vec::as_slice) else { continue };
        if is_first && parts.base[margin as usize] == 0.0 {
            let terms = columns_of(leaf, tested);
            let sum = LeafSum::of(&terms, of, parts.types.accumulator).filter(|sum| sum.after == 0);
            sums.extend(sum.map(|sum| (number, sum)));
        }
    }
    sums
}

/// The columns that a linear leaf adds, with their weights.
fn columns_of(leaf: &LinearLeaf, tested: &[ColumnId]) -> Vec<(ColumnId, f64)> {
    leaf.terms.iter().map(|(feature, weight)| (tested[*feature as usize], *weight)).collect()
}

/// The comparison and the types of a forest with the trees of its sums.
struct ForestForm {
    comparison: Comparison,
    input: Float,
    threshold: Float,
}

impl ForestForm {
    /// The form of a forest whose sums become trees. `None` if there are no sums, or if the tests of all
    /// trees and the products that remain have no form in common.
    fn of(parts: &ForestParts, sums: &BTreeMap<usize, LeafSum>, columns: &Columns) -> Option<ForestForm> {
        let mut all = sums.values().flat_map(LeafSum::trees);
        let tests_of = |tree: ColumnId| LeafTree::of(columns, tree).map(|tree| tree.tests());
        let tests = tests_of(all.next()?)?;
        if !all.all(|tree| tests_of(tree) == Some(tests)) {
            return None;
        }
        let comparison = match tests.ties {
            Ties::Above => Comparison::Less,
            Ties::Below => Comparison::LessOrEqual,
        };
        let types = parts.types;
        let is_wider = tests.operand_type == Float::F64 && types.input == Float::F32;
        let has_tests = parts.trees.iter().any(|tree| !tree.inner.is_empty());
        let adds = |(number, leaves): (usize, &Vec<LinearLeaf>)| match sums.get(&number) {
            Some(sum) => sum.before > 0,
            None => leaves.iter().any(|leaf| !leaf.terms.is_empty()),
        };
        let has_products = parts.linear.iter().enumerate().any(adds);
        let fits =
            (comparison == parts.comparison || !has_tests) && !(is_wider && (has_tests || has_products));
        let is_whole = parts.iteration_starts == [0, parts.trees.len()];
        let input = if is_wider { Float::F64 } else { types.input };
        let threshold = if tests.operand_type == Float::F64 { Float::F64 } else { types.threshold };
        (fits && is_whole).then_some(ForestForm { comparison, input, threshold })
    }

    fn apply(&self, parts: &mut ForestParts) {
        parts.comparison = self.comparison;
        parts.types.input = self.input;
        parts.types.threshold = self.threshold;
    }
}

/// Puts trees in the places of sums. Of adjacent sums over the same trees, equal trees follow each other, so
/// that the pass *leaf vectors* can merge them.
fn add_trees(
    parts: &mut ForestParts,
    mut sums: BTreeMap<usize, LeafSum>,
    of: (&Columns, &HashMap<ColumnId, u32>),
) -> Result<(), ModelError> {
    let old = std::mem::take(&mut parts.trees);
    let mut linear = std::mem::take(&mut parts.linear);
    linear.resize(old.len(), Vec::new());
    let mut run: Vec<(TreeTarget, LeafSum)> = Vec::new();
    for (number, (tree, mut leaves)) in old.into_iter().zip(linear).enumerate() {
        let sum = sums.remove(&number);
        let is_next = |sum: &LeafSum| run.last().is_none_or(|(_, before)| before.trees() == sum.trees());
        if !sum.as_ref().is_some_and(is_next) {
            add_run(parts, std::mem::take(&mut run), of)?;
        }
        let target = tree.target;
        match (target, &sum) {
            (TreeTarget::One(margin), Some(sum)) if sum.before == 0 => {
                parts.base[margin as usize] += leaves.iter().map(|leaf| leaf.constant).sum::<f64>();
            }
            _ => {
                let before = sum.as_ref().map_or(usize::MAX, |sum| sum.before);
                leaves.iter_mut().for_each(|leaf| leaf.terms.truncate(before));
                add_tree(parts, tree, leaves);
            }
        }
        run.extend(sum.map(|sum| (target, sum)));
    }
    add_run(parts, run, of)?;
    if parts.linear.iter().all(Vec::is_empty) {
        parts.linear.clear();
    }
    parts.iteration_starts = vec![0, parts.trees.len()];
    Ok(())
}

/// Adds the trees of sums over the same trees. `numbers` has the features that hold the tested columns.
fn add_run(
    parts: &mut ForestParts,
    run: Vec<(TreeTarget, LeafSum)>,
    (columns, numbers): (&Columns, &HashMap<ColumnId, u32>),
) -> Result<(), ModelError> {
    let trees = run.first().map(|(_, sum)| sum.trees()).unwrap_or_default();
    for (place, tree) in trees.into_iter().enumerate() {
        let Some(source) = LeafTree::of(columns, tree) else { continue };
        for (target, sum) in &run {
            let values = sum.groups[place].entries();
            add_tree(parts, forest_tree(source, *target, &values, numbers)?, Vec::new());
        }
    }
    Ok(())
}

fn add_tree(parts: &mut ForestParts, tree: Tree, linear: Vec<LinearLeaf>) {
    let source = parts.trees.len() as u32;
    parts.trees.push(Tree { source, ..tree });
    parts.linear.push(linear);
}

/// Replaces the groups that begin a linear leaf's sum by a column that trees add.
fn begin_sums(
    parts: &mut ForestParts,
    (columns, leaf_columns): (&mut Columns, &LeafColumns),
    features: &mut Features,
) -> Result<(), ModelError> {
    let types = parts.types;
    if types.input == Float::F32 && types.accumulator == Float::F64 {
        return Ok(());
    }
    let sum = |(key, leaves): (usize, &Vec<LinearLeaf>)| match leaves.as_slice() {
        [leaf] => {
            let terms = columns_of(leaf, &features.tested);
            Some(WeightedColumns { key, float: types.accumulator, terms })
        }
        _ => None,
    };
    let sums = parts.linear.iter().enumerate().filter_map(sum).collect();
    let begun = begun_sums(sums, (columns, leaf_columns));
    for (number, leaf) in
        parts.linear.iter_mut().enumerate().flat_map(|(at, of)| of.iter_mut().map(move |it| (at, it)))
    {
        let Some(begun) = begun.get(&number) else { continue };
        let start = ColumnValue::F64(leaf.constant).cast(types.accumulator.into());
        let trees = columns.add(begun.result(begun.of.clone(), start)).map_err(impossible)?;
        leaf.constant = -0.0;
        leaf.terms.splice(..begun.terms, [(features.of(trees, types.input, columns)?, 1.0)]);
    }
    Ok(())
}

pub(super) fn impossible(error: OperandTypeError) -> ModelError {
    ModelError::new(codes::ONNX_TYPE, error.to_string())
}
