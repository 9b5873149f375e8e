//! Merges the parts of a compound model, forests and weighted sums over the same rows, into one forest.
//!
//! The forest has the margins of all parts. It has the trees of all parts, each of which adds to a margin of
//! its part. For each weighted sum it has a tree of one leaf.

use super::builder::GraphColumns;
use super::linear::WeightedSum;
use super::margins::{ReadMargins, margin_input, reads_margins};
use super::tensor::{Tensor, TensorElement};
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, OperandTypeError};
use sched_forest::{
    CategorySet, Comparison, Float, Forest, ForestParts, Inner, Leaf, LinearLeaf, LinearMissing, ModelError,
    NodeRef, Predicate, Transform, Tree, TreeTarget, Types, codes,
};
use std::collections::HashMap;

/// A forest of a graph: the only one, or one of several parts.
pub(super) struct PartForest {
    /// The name of its step; empty if it has none.
    pub name: String,
    pub forest: Forest,
    /// For each feature of its trees, the column that holds its value.
    pub tested: Vec<ColumnId>,
}

/// A merged model: trees and sums over columns.
pub(super) struct MergedParts {
    pub forest: Forest,
    /// For each feature of the forest, the column that holds its value.
    pub tested: Vec<ColumnId>,
}

/// Merges forests and sums. The margins of the forests that results read come first, in order, then those of
/// the columns `sums`. `results` are the columns that are computed from the margins.
///
/// # Errors
/// `M0040` if forests have different category rules.
pub(super) fn merge(
    parts: &[PartForest],
    read: &ReadMargins,
    (sums, results): (&[ColumnId], &[ColumnId]),
    columns: &mut Columns,
) -> Result<MergedParts, ModelError> {
    let types = common_types(parts, sums, results, columns);
    let margins = read.count + sums.len();
    let mut merging = Merging {
        out: ForestParts {
            num_margins: margins,
            base: Vec::with_capacity(margins),
            comparison: Comparison::LessOrEqual,
            types,
            linear_missing: LinearMissing::Nan,
            objective: String::from("combined"),
            ..ForestParts::default()
        },
        places: HashMap::new(),
        tested: Vec::new(),
        columns,
    };
    let mut first = 0;
    for part in parts {
        let own = first..first + part.forest.num_margins;
        first = own.end;
        let margins: Vec<Option<u32>> = own.map(|margin| read.number(margin)).collect();
        if margins.iter().any(Option::is_some) {
            merging.add_forest(part, &margins)?;
        }
    }
    for sum in sums {
        merging.add_sum(*sum)?;
    }
    let Merging { mut out, tested, .. } = merging;
    out.num_features = tested.len().max(1);
    out.iteration_starts = vec![0, out.trees.len()];
    Ok(MergedParts { forest: Forest::new(out)?, tested })
}

/// Types that can represent the numbers of all parts. Sums are in double precision if those of some part or
/// the results are; sums of parts in single precision then become single margins.
fn common_types(parts: &[PartForest], sums: &[ColumnId], results: &[ColumnId], columns: &Columns) -> Types {
    let is_double = |column: &ColumnId| columns.column_type(*column) != ColumnType::F32;
    let float = |is_double: bool| if is_double { Float::F64 } else { Float::F32 };
    let any = |of: fn(&Types) -> Float| parts.iter().any(|part| of(&part.forest.types) == Float::F64);
    let has_double_sums = sums.iter().any(is_double);
    let accumulator =
        float(any(|types| types.accumulator) || has_double_sums || results.iter().any(is_double));
    Types {
        input: float(any(|types| types.input) || has_double_sums),
        threshold: float(any(|types| types.threshold)),
        accumulator,
        output: accumulator,
    }
}

/// A forest under construction.
struct Merging<'a> {
    out: ForestParts,
    places: HashMap<ColumnId, u32>,
    tested: Vec<ColumnId>,
    columns: &'a mut Columns,
}

impl Merging<'_> {
    /// The index of the feature that holds a column, converted to the type of rows.
    fn feature(&mut self, column: ColumnId) -> Result<u32, ModelError> {
        let column = self.columns.cast(column, self.out.types.input.into()).map_err(impossible)?;
        let next = self.tested.len() as u32;
        let place = *self.places.entry(column).or_insert(next);
        if place == next {
            self.tested.push(column);
        }
        Ok(place)
    }

    /// Adds the trees of a forest. `margins` has the numbers of its margins in the merged forest; `None` for
    /// margins that are left out.
    fn add_forest(&mut self, part: &PartForest, margins: &[Option<u32>]) -> Result<(), ModelError> {
        let forest = &part.forest;
        let first_set = self.out.sets.len() as u32;
        if !forest.sets.is_empty() {
            if first_set > 0 && forest.category_rule != self.out.category_rule {
                return Err(refused("tree ensembles with different rules for categories"));
            }
            self.out.category_rule = forest.category_rule;
            self.out.sets.extend(forest.sets.iter().cloned());
        }
        let features = part.tested.iter().map(|column| self.feature(*column));
        let features = features.collect::<Result<Vec<u32>, _>>()?;
        let is_read = forest.base.iter().zip(margins).filter(|(_, margin)| margin.is_some());
        self.out.base.extend(is_read.map(|(base, _)| base));
        let is_rounded = forest.types.accumulator != self.out.types.accumulator;
        self.out.single_margins.resize(self.out.base.len(), is_rounded);
        for tree in &forest.trees {
            let own: Vec<(usize, u32)> = match tree.target {
                TreeTarget::One(margin) => {
                    margins[margin as usize].map(|margin| (0, margin)).into_iter().collect()
                }
                TreeTarget::All => margins
                    .iter()
                    .copied()
                    .enumerate()
                    .filter_map(|(at, margin)| Some((at, margin?)))
                    .collect(),
            };
            if own.is_empty() {
                continue;
            }
            let mut inner = tree.inner.clone();
            for node in &mut inner {
                node.feature = features[node.feature as usize];
                self.rewrite(node, forest, first_set);
            }
            for (value, margin) in own {
                let leaf = |leaf: &Leaf| Leaf { source: leaf.source, values: [leaf.values[value]].into() };
                self.add_tree(Tree {
                    root: tree.root,
                    inner: inner.clone(),
                    leaves: tree.leaves.iter().map(leaf).collect(),
                    target: TreeTarget::One(margin),
                    source: 0,
                });
            }
        }
        Ok(())
    }

    /// Rewrites a test with `<` to one with `<=`, and shifts the index of a set by the number of earlier
    /// sets.
    fn rewrite(&mut self, node: &mut Inner, forest: &Forest, first_set: u32) {
        let below = |threshold: f64| match forest.types.threshold {
            Float::F32 => f64::from((threshold as f32).next_down()),
            Float::F64 => threshold.next_down(),
        };
        match &mut node.predicate {
            Predicate::Member { set } => *set += first_set,
            Predicate::Equal { .. } => {}
            Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold } => {
                match forest.comparison {
                    Comparison::LessOrEqual => {}
                    // No number is below minus infinity, so the test becomes membership in an empty set.
                    Comparison::Less if *threshold == f64::NEG_INFINITY => {
                        self.out.sets.push(CategorySet::default());
                        let set = self.out.sets.len() as u32 - 1;
                        node.predicate = Predicate::Member { set };
                    }
                    Comparison::Less => *threshold = below(*threshold),
                }
            }
        }
    }

    /// Adds a weighted sum as a tree of one leaf.
    fn add_sum(&mut self, column: ColumnId) -> Result<(), ModelError> {
        let accumulator = ColumnType::from(self.out.types.accumulator);
        let sum = match self.columns.column_type(column) == accumulator {
            true => WeightedSum::of(self.columns, column),
            false => WeightedSum::of_column(column),
        };
        let margin = self.out.base.len() as u32;
        self.out.base.push(0.0);
        self.out.single_margins.push(false);
        let mut terms = Vec::with_capacity(sum.terms.len());
        for (column, weight) in sum.terms {
            terms.push((self.feature(column)?, weight));
        }
        self.out.linear.resize(self.out.trees.len(), Vec::new());
        self.out.linear.push(vec![LinearLeaf { constant: sum.start, terms }]);
        self.add_tree(Tree {
            root: NodeRef::Leaf(0),
            inner: Vec::new(),
            leaves: vec![Leaf { source: 0, values: [0.0].into() }],
            target: TreeTarget::One(margin),
            source: 0,
        });
        Ok(())
    }

    fn add_tree(&mut self, tree: Tree) {
        let source = self.out.trees.len() as u32;
        self.out.trees.push(Tree { source, ..tree });
    }
}

fn impossible(error: OperandTypeError) -> ModelError {
    ModelError::new(codes::ONNX_TYPE, error.to_string())
}

fn refused(what: &str) -> ModelError {
    ModelError::new(codes::UNSUPPORTED_OPERATOR, format!("the graph has {what}"))
        .at("graph")
        .help("convert each part of the graph to a model of its own")
}

impl PartForest {
    /// The scores of the forest's node: its margins, as inputs after `num_features` features and `first`
    /// other margins, with the node's own steps applied.
    ///
    /// # Errors
    /// `M0040` for trees that read results of other trees, and for steps that mix margins.
    pub fn scores(
        &self,
        builder: &mut GraphColumns,
        (num_features, first): (usize, usize),
        label: &str,
    ) -> Result<Tensor, ModelError> {
        if reads_margins(&builder.columns, &self.tested, num_features) {
            return Err(refused(&format!("the operator {label}, which reads results of other trees")));
        }
        let float = self.forest.types.accumulator;
        let margins = first..first + self.forest.num_margins;
        let mut cells = Vec::with_capacity(margins.len());
        for margin in margins {
            cells.push(builder.add(margin_input(num_features, margin, float))?);
        }
        let steps = self.forest.output.raw.iter().chain(&self.forest.output.value);
        let cells = self.after(steps, cells, builder, label)?;
        Ok(self.tensor(cells))
    }

    /// Results as a tensor.
    pub fn tensor(&self, cells: Vec<ColumnId>) -> Tensor {
        Tensor::numbers(true, vec![cells.len()], self.element(), cells)
    }

    fn element(&self) -> TensorElement {
        if self.forest.types.accumulator == Float::F32 { TensorElement::F32 } else { TensorElement::F64 }
    }

    /// Cells with some steps of the forest's node applied.
    ///
    /// # Errors
    /// `M0040` for steps that mix margins.
    pub fn after<'s>(
        &self,
        steps: impl IntoIterator<Item = &'s Transform>,
        mut cells: Vec<ColumnId>,
        builder: &mut GraphColumns,
        label: &str,
    ) -> Result<Vec<ColumnId>, ModelError> {
        for step in steps {
            cells = applied(step, cells, builder, self.element())?.ok_or_else(|| {
                refused(&format!(
                    "other trees beside the operator {label}, whose post-transform is not supported there"
                ))
            })?;
        }
        Ok(cells)
    }
}

/// The cells with a step applied; `None` for steps that are not supported here.
fn applied(
    step: &Transform,
    cells: Vec<ColumnId>,
    builder: &mut GraphColumns,
    element: TensorElement,
) -> Result<Option<Vec<ColumnId>>, ModelError> {
    let number = |builder: &mut GraphColumns, x: f64| {
        builder.columns.constant(match element {
            TensorElement::F32 => ColumnValue::F32(x as f32),
            _ => ColumnValue::F64(x),
        })
    };
    let mut out = Vec::with_capacity(cells.len());
    match step {
        Transform::Divide { by } => {
            let by = number(builder, *by);
            for cell in cells {
                out.push(builder.add(Expr::Binary(Binary::Divide, cell, by))?);
            }
        }
        Transform::Complement => {
            let one = number(builder, 1.0);
            for cell in cells {
                out.extend([builder.add(Expr::Binary(Binary::Subtract, one, cell))?, cell]);
            }
        }
        _ => return Ok(None),
    }
    Ok(Some(out))
}
