//! Tree ensembles whose results other trees read, or one-hot encoders of leaf indices. Their results become
//! columns.

use super::builder::GraphColumns;
use super::parts::PartForest;
use super::reduce::index_of_largest;
use super::tensor::{Cells, Outputs, Tensor, TensorElement};
use crate::leaf_vectors::merged;
use crate::prepared::{PreparedForest, SetTests};
use sched_columns::{
    Binary, ColumnId, ColumnTree, ColumnTrees, ColumnType, ColumnValue, Columns, Expr, SharedTreeProperties,
    Ties, TreeNode, TreeTest, Unary,
};
use sched_forest::{
    ClassRule, Classes, Comparison, Float, Forest, Inner, Label, ModelError, NodeRef, Output, Predicate,
    Tree, TreeTarget, codes,
};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The results of a forest's node as columns: the label if it is a classifier, and then the numbers.
///
/// # Errors
/// `M0019` for trees that are too large, and `M0040` for post-transforms that mix margins.
pub(super) fn results_as_columns(part: &PartForest, builder: &mut GraphColumns, label: &str) -> Outputs {
    let Output { raw, value, classes } = &part.forest.output;
    let sums = tree_columns(part, builder)?;
    let margins = part.after(raw, sums, builder, label)?;
    let by_value = value.iter().take_while(|step| step.is_by_value()).count();
    let scores = part.after(&value[..by_value], margins.clone(), builder, label)?;
    let values = part.after(&value[by_value..], scores.clone(), builder, label)?;
    // A node of trees has classes of one target only.
    let Some(Classes { rule, labels, .. }) = classes else { return Ok(vec![part.tensor(values)]) };
    let number = match rule {
        ClassRule::LargestMargin => index_of_largest(builder, &margins)?,
        ClassRule::LargestValue | ClassRule::Computed(_) => index_of_largest(builder, &values)?,
        ClassRule::MarginAbove(bound) => above(builder, &margins, *bound)?,
        ClassRule::ValueAbove(bound) => above(builder, &scores, *bound)?,
    };
    Ok(vec![label_of(builder, number, labels)?, part.tensor(values)])
}

/// The class number by a threshold: 1 if the single score is above the bound, else 0.
fn above(builder: &mut GraphColumns, scores: &[ColumnId], bound: f64) -> Result<ColumnId, ModelError> {
    let score = builder.cast(&scores[..1], TensorElement::F64)?[0];
    let bound = builder.columns.constant(ColumnValue::F64(bound));
    let is_above = builder.add(Expr::Binary(Binary::Less, bound, score))?;
    builder.add(Expr::Unary(Unary::Cast(ColumnType::I64), is_above))
}

/// The label of a class by its number. Labels are whole numbers or texts.
fn label_of(builder: &mut GraphColumns, number: ColumnId, labels: &[Label]) -> Result<Tensor, ModelError> {
    let (by_row, shape) = (true, Vec::new());
    let whole = labels.iter().map(|label| match label {
        Label::Integer(label) => Some(ColumnValue::I64(*label)),
        Label::Number(_) | Label::Truth(_) | Label::Text(_) => None,
    });
    if let Some(values) = whole.collect::<Option<Vec<_>>>().filter(|values| !values.is_empty()) {
        let label = builder.add(Expr::Pick { of: number, values: values.into() })?;
        return Ok(Tensor::numbers(by_row, shape, TensorElement::I64, vec![label]));
    }
    let texts: Vec<String> = labels.iter().map(ToString::to_string).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let place = builder.cast(&[number], TensorElement::F64)?[0];
    let cells = Cells::Texts(vec![builder.texts_of(place, &texts, "")?]);
    Ok(Tensor { by_row, shape, element: TensorElement::Text, cells })
}

/// The margins of a forest as columns.
///
/// # Errors
/// `M0019` for trees that are too large.
fn tree_columns(part: &PartForest, builder: &mut GraphColumns) -> Result<Vec<ColumnId>, ModelError> {
    let (forest, tested) = numeric_tests(merged(part.forest.clone())?, &part.tested, builder)?;
    let (forest, tested) = in_single_precision(forest, tested, &builder.columns);
    let read: BTreeSet<u32> = forest.trees.iter().flat_map(|tree| &tree.inner).map(|it| it.feature).collect();
    let compared = match (forest.types.input, forest.types.threshold) {
        (Float::F32, Float::F32) => Float::F32,
        _ => Float::F64,
    };
    let mut of = Vec::with_capacity(read.len());
    for feature in &read {
        // Values are rounded to the type of rows, and compared in the wider of this type and that of
        // thresholds.
        let rounded = builder.add(cast(tested[*feature as usize], forest.types.input))?;
        of.push(builder.add(cast(rounded, compared))?);
    }
    let of: Arc<[ColumnId]> = of.into();
    let operands = read.into_iter().zip(0..).collect();
    let making = TreesConversion { forest: &forest, operands, compared };
    let mut columns = Vec::with_capacity(forest.num_margins);
    for (start, (trees, result)) in forest.base.iter().zip(making.all_margins()?) {
        let start = ColumnValue::F64(*start).cast(forest.types.accumulator.into());
        columns.push(builder.add(Expr::Trees { of: Arc::clone(&of), start, trees, result })?);
    }
    Ok(columns)
}

fn cast(column: ColumnId, to: Float) -> Expr {
    Expr::Unary(Unary::Cast(to.into()), column)
}

/// The forest with numeric tests alone. Columns replace other tests.
fn numeric_tests(
    forest: Forest,
    tested: &[ColumnId],
    builder: &mut GraphColumns,
) -> Result<(Forest, Vec<ColumnId>), ModelError> {
    let prepared = PreparedForest::of(&forest, SetTests::OfColumns)
        .map_err(|error| ModelError::new(codes::TOO_LARGE, error.to_string()))?;
    let Some(prepared) = prepared else { return Ok((forest, tested.to_vec())) };
    let mut numbers: HashMap<ColumnId, ColumnId> = HashMap::new();
    for column in prepared.columns.needed_for(&prepared.tested) {
        let number = match prepared.columns.expr(column) {
            Expr::Input { feature, float } => builder.add(cast(tested[*feature as usize], *float))?,
            expr => builder.add(expr.clone().with_operands(|operand| numbers[&operand]))?,
        };
        numbers.insert(column, number);
    }
    let tested = prepared.tested.iter().map(|column| numbers[column]).collect();
    Ok((Arc::unwrap_or_clone(prepared.forest), tested))
}

/// The forest with tests in single precision, if all tested columns are widened singles.
fn in_single_precision(
    mut forest: Forest,
    tested: Vec<ColumnId>,
    columns: &Columns,
) -> (Forest, Vec<ColumnId>) {
    let narrow = |column: &ColumnId| match columns.expr(*column) {
        Expr::Unary(Unary::Cast(ColumnType::F64), of) if columns.column_type(*of) == ColumnType::F32 => {
            Some(*of)
        }
        _ => None,
    };
    match tested.iter().map(narrow).collect::<Option<Vec<_>>>() {
        Some(narrow) => {
            forest.types.input = Float::F32;
            (forest.with_narrow_thresholds(), narrow)
        }
        None => (forest.with_narrow_thresholds(), tested),
    }
}

/// The state while a forest is converted to [`ColumnTrees`].
struct TreesConversion<'a> {
    forest: &'a Forest,
    /// The operand that holds each feature's value.
    operands: HashMap<u32, u32>,
    compared: Float,
}

impl TreesConversion<'_> {
    /// The trees of each margin, and the index of its result in them. If all leaves hold a value for each
    /// margin, all margins share the same trees.
    fn all_margins(&self) -> Result<Vec<(Arc<ColumnTrees>, u32)>, ModelError> {
        let margins = self.forest.num_margins as u32;
        if self.forest.trees.iter().all(|tree| tree.target == TreeTarget::All) {
            let trees = Arc::new(self.trees(margins, |_| Some(None))?);
            return Ok((0..margins).map(|margin| (Arc::clone(&trees), margin)).collect());
        }
        let of_margin = |margin: u32| {
            let value = |tree: &Tree| match tree.target {
                TreeTarget::All => Some(Some(margin as usize)),
                TreeTarget::One(own) => (own == margin).then_some(Some(0)),
            };
            Ok((Arc::new(self.trees(1, value)?), 0))
        };
        (0..margins).map(of_margin).collect()
    }

    /// The trees that `value` selects. It returns `None` for other trees, else the index of the value to take
    /// from each leaf, or `Some(None)` for all values.
    fn trees(
        &self,
        results: u32,
        value: impl Fn(&Tree) -> Option<Option<usize>>,
    ) -> Result<ColumnTrees, ModelError> {
        let mut trees = Vec::with_capacity(self.forest.trees.len());
        for tree in &self.forest.trees {
            let Some(value) = value(tree) else { continue };
            let values = tree.leaves.iter().flat_map(|leaf| match value {
                Some(value) => &leaf.values[value..value + 1],
                None => &leaf.values[..],
            });
            let tests = tree.inner.iter().map(|inner| self.test(inner));
            trees.push(ColumnTree {
                root: node(tree.root),
                tests: tests.collect(),
                values: values.copied().collect(),
            });
        }
        let form = SharedTreeProperties {
            operands: self.operands.len() as u32,
            results,
            operand_type: self.compared,
            sum_type: self.forest.types.accumulator,
            ties: match self.forest.comparison {
                Comparison::Less => Ties::Above,
                Comparison::LessOrEqual => Ties::Below,
            },
        };
        ColumnTrees::new(form, trees).ok_or_else(|| {
            let message = "trees whose results other trees read have too many nodes";
            ModelError::new(codes::TOO_LARGE, message)
                .help("train smaller trees in the layers before the last one")
        })
    }

    fn test(&self, inner: &Inner) -> TreeTest {
        let threshold = match inner.predicate {
            Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold } => threshold,
            // Columns have replaced these tests, so they do not occur.
            Predicate::Equal { .. } | Predicate::Member { .. } => 0.0,
        };
        TreeTest {
            operand: self.operands.get(&inner.feature).copied().unwrap_or(0),
            threshold,
            missing_left: inner.missing_left,
            left: node(inner.left),
            right: node(inner.right),
        }
    }
}

fn node(node: NodeRef) -> TreeNode {
    match node {
        NodeRef::Inner(index) => TreeNode::Test(index),
        NodeRef::Leaf(index) => TreeNode::Leaf(index),
    }
}
