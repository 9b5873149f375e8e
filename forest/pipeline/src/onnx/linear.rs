//! Weighted sums: products with constant matrices, and linear models.

use super::builder::GraphColumns;
use super::node::GraphNode;
use super::normalize;
use super::reduce::index_of_largest;
use super::tensor::{Cells, Outputs, Tensor, TensorElement};
use sched_columns::{Binary, ColumnId, ColumnValue, Columns, Expr, Term, Unary};
use sched_forest::{
    Comparison, Float, Forest, ForestParts, Leaf, LinearLeaf, LinearMissing, ModelError, NodeRef, Tree,
    TreeTarget, Types,
};
use std::collections::HashMap;

/// A weighted sum: a number, and products that are added to it.
pub(super) struct WeightedSum {
    pub start: f64,
    /// Columns with their weights.
    pub terms: Vec<(ColumnId, f64)>,
}

/// A linear model with these scores: a forest whose trees are single leaves, each with a weighted sum, and
/// the columns that the sums read. `None` if the scores are no floating-point numbers.
///
/// # Errors
/// If a weight is not a number.
pub(super) fn linear_model(
    scores: &Tensor,
    columns: &Columns,
) -> Result<Option<(Forest, Vec<ColumnId>)>, ModelError> {
    let Cells::Numbers(cells) = &scores.cells else { return Ok(None) };
    let float = match scores.element {
        TensorElement::F32 => Float::F32,
        TensorElement::F64 => Float::F64,
        _ => return Ok(None),
    };
    let mut places: HashMap<ColumnId, u32> = HashMap::new();
    let mut read = Vec::new();
    let mut place = |column: ColumnId| {
        *places.entry(column).or_insert_with(|| {
            read.push(column);
            read.len() as u32 - 1
        })
    };
    let (mut trees, mut linear) = (Vec::new(), Vec::new());
    for (number, cell) in (0..).zip(cells) {
        let WeightedSum { start, terms } = WeightedSum::of(columns, *cell);
        let terms = terms.into_iter().map(|(column, weight)| (place(column), weight)).collect();
        linear.push(vec![LinearLeaf { constant: start, terms }]);
        trees.push(Tree {
            root: NodeRef::Leaf(0),
            inner: Vec::new(),
            leaves: vec![Leaf { source: 0, values: [0.0].into() }],
            target: TreeTarget::One(number),
            source: number,
        });
    }
    let forest = Forest::new(ForestParts {
        num_features: read.len().max(1),
        num_margins: trees.len(),
        base: vec![0.0; trees.len()],
        iteration_starts: vec![0, trees.len()],
        comparison: Comparison::LessOrEqual,
        types: Types::all(float),
        objective: String::from("linear"),
        trees,
        linear,
        linear_missing: LinearMissing::Nan,
        ..ForestParts::default()
    })?;
    Ok(Some((forest, read)))
}

impl WeightedSum {
    /// The column as a weighted sum. If it is computed in another way, it is the only term, with the weight
    /// 1.
    pub fn of(columns: &Columns, column: ColumnId) -> WeightedSum {
        let (sum, added) = match columns.expr(column) {
            Expr::Binary(Binary::Add, x, y) => match (columns.constant_value(*x), columns.constant_value(*y))
            {
                (Some(added), _) => (*y, added.to_f64()),
                (_, Some(added)) => (*x, added.to_f64()),
                _ => (column, NEUTRAL_SUMMAND),
            },
            Expr::Binary(Binary::Subtract, x, y) => match columns.constant_value(*y) {
                Some(taken) => (*x, -taken.to_f64()),
                _ => (column, NEUTRAL_SUMMAND),
            },
            _ => (column, NEUTRAL_SUMMAND),
        };
        match columns.expr(sum) {
            Expr::Dot { start, terms } => WeightedSum {
                start: Binary::Add.apply(*start, ColumnValue::F64(added).cast(start.column_type())).to_f64(),
                terms: terms.iter().map(|term| (term.column, term.weight.to_f64())).collect(),
            },
            _ => WeightedSum::of_column(column),
        }
    }

    /// A weighted sum whose only term is this column, with the weight 1.
    pub fn of_column(column: ColumnId) -> WeightedSum {
        WeightedSum { start: NEUTRAL_SUMMAND, terms: vec![(column, 1.0)] }
    }
}

/// Whether a column is a weighted sum, or a weighted sum plus or minus a constant.
pub(super) fn is_weighted_sum(columns: &Columns, column: ColumnId) -> bool {
    let is = |column: ColumnId| matches!(columns.expr(column), Expr::Dot { .. });
    let is_constant = |column: ColumnId| columns.constant_value(column).is_some();
    match columns.expr(column) {
        Expr::Dot { .. } => true,
        Expr::Binary(Binary::Add, x, y) => (is(*x) && is_constant(*y)) || (is_constant(*x) && is(*y)),
        Expr::Binary(Binary::Subtract, x, y) => is(*x) && is_constant(*y),
        _ => false,
    }
}

/// A matrix of constants.
struct Matrix {
    rows: usize,
    columns: usize,
    /// The entries, row by row.
    entries: Vec<f64>,
}

impl Matrix {
    fn column(&self, at: usize) -> impl Iterator<Item = f64> + '_ {
        (0..self.rows).map(move |row| self.entries[row * self.columns + at])
    }

    fn transposed(&self) -> Matrix {
        let entries = (0..self.columns).flat_map(|at| self.column(at).collect::<Vec<_>>()).collect();
        Matrix { rows: self.columns, columns: self.rows, entries }
    }
}

/// The neutral element of addition: adding -0 changes no number, not even -0.
const NEUTRAL_SUMMAND: f64 = -0.0;

/// `MatMul` of rows and a constant matrix, or of constants.
pub(super) fn mat_mul(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let matrix = constant_matrix(node, builder, 1)?;
    let mut sums = sums(node, builder, &matrix)?;
    // If the matrix is a vector, the result has no axis of columns.
    if node.input(1)?.shape.len() == 1 {
        sums.shape.pop();
    }
    Ok(vec![sums.tensor(builder)?])
}

/// `Gemm`: `alpha A B + beta C`.
pub(super) fn gemm(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let float = |name| Ok::<f64, ModelError>(node.attributes.float(name)?.map_or(1.0, f64::from));
    let (alpha, beta) = (float("alpha")?, float("beta")?);
    if node.attributes.int("transA")?.unwrap_or(0) != 0 {
        return Err(node.refuse("transposes the rows, so the result of a row would depend on other rows"));
    }
    let matrix = constant_matrix(node, builder, 1)?;
    let is_transposed = node.attributes.int("transB")?.unwrap_or(0) != 0;
    let mut matrix = if is_transposed { matrix.transposed() } else { matrix };
    if alpha != 1.0 {
        let is_single = node.input(0)?.element == TensorElement::F32;
        let round = |x: f64| if is_single { f64::from(x as f32) } else { x };
        matrix.entries.iter_mut().for_each(|entry| *entry = round(*entry * alpha));
    }
    let mut sums = sums(node, builder, &matrix)?;
    if let Some(added) = node.optional(2).filter(|added| added.by_row) {
        return plus_rows(node, builder, sums, added, beta);
    }
    if let Some(added) = node.optional(2) {
        let added = std::rc::Rc::clone(added);
        let numbers = numbers(node, builder, &added)?;
        let place = |at: usize| match numbers.len() {
            1 => Some(0),
            count => (count == matrix.columns).then_some(at),
        };
        for (at, sum) in sums.sums.iter_mut().enumerate() {
            let place = place(at).ok_or_else(|| node.refuse("adds a matrix whose shape does not match"))?;
            sum.start = numbers[place] * beta;
        }
    }
    Ok(vec![sums.tensor(builder)?])
}

/// `LinearRegressor`: a weighted sum for each target, in single precision.
pub(super) fn linear_regressor(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let scores = model_scores(node, builder)?;
    match node.attributes.text("post_transform")? {
        "" | "NONE" => Ok(vec![scores]),
        other => Err(node.refuse(&format!("has the post-transform {other}, which is not supported"))),
    }
}

/// `LinearClassifier`: the class of the largest weighted sum, and the sums after the post-transform.
pub(super) fn linear_classifier(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let scores = model_scores(node, builder)?;
    let Cells::Numbers(cells) = &scores.cells else { return Err(node.refuse("computes with texts")) };
    if cells.len() < 2 {
        return Err(node.refuse("has only one sum for two classes"));
    }
    let best = index_of_largest(builder, cells)?;
    let label = class_label(node, builder, best, cells.len())?;
    let values = match node.attributes.text("post_transform")? {
        "" | "NONE" => cells.clone(),
        "LOGISTIC" => {
            let logistic = cells.iter().map(|cell| builder.add(Expr::Unary(Unary::Logistic, *cell)));
            logistic.collect::<Result<_, _>>()?
        }
        "SOFTMAX" => normalize::softmax_of(builder, scores.element, cells)?,
        other => return Err(node.refuse(&format!("has the post-transform {other}, which is not supported"))),
    };
    Ok(vec![label, Tensor::numbers(true, scores.shape.clone(), scores.element, values)])
}

/// The label of a class by its number, as a tensor.
pub(super) fn class_label(
    node: &GraphNode,
    builder: &mut GraphColumns,
    number: ColumnId,
    classes: usize,
) -> Result<Tensor, ModelError> {
    let mut names: Vec<String> = Vec::new();
    for name in node.attributes.texts("classlabels_strings")? {
        names.push(name?.as_text()?.to_owned());
    }
    if names.len() == classes {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let place = builder.cast(&[number], TensorElement::F64)?;
        let cells = Cells::Texts(vec![builder.texts_of(place[0], &names, "")?]);
        return Ok(Tensor { by_row: true, shape: Vec::new(), element: TensorElement::Text, cells });
    }
    let labels = node.ints("classlabels_ints")?.unwrap_or_default();
    if labels.len() != classes {
        return Err(node.refuse("has different numbers of classes and sums"));
    }
    let values = labels.into_iter().map(ColumnValue::I64).collect();
    let label = builder.add(Expr::Pick { of: number, values })?;
    Ok(Tensor::numbers(true, Vec::new(), TensorElement::I64, vec![label]))
}

/// The weighted sums of the attributes `coefficients` and `intercepts`.
fn model_scores(node: &GraphNode, builder: &mut GraphColumns) -> Result<Tensor, ModelError> {
    let rows = node.input(0)?;
    if !rows.by_row || rows.shape.len() > 1 {
        return Err(node.refuse("needs rows of numbers as its input"));
    }
    let cells = builder.cast(node.numbers(rows)?, TensorElement::F32)?;
    let coefficients = node.attributes.floats("coefficients")?;
    let targets = coefficients.len().checked_div(cells.len()).unwrap_or(0);
    if targets == 0 || coefficients.len() != targets * cells.len() {
        return Err(node.refuse("has a number of coefficients that does not match its columns"));
    }
    let intercepts = node.attributes.floats("intercepts")?;
    if !intercepts.is_empty() && intercepts.len() != targets {
        return Err(node.refuse("has different numbers of intercepts and sums"));
    }
    builder.count_cells(Some(coefficients.len()))?;
    let sum = |(at, row): (usize, &[f64])| WeightedSum {
        start: intercepts.get(at).copied().unwrap_or(NEUTRAL_SUMMAND),
        terms: cells.iter().copied().zip(row.iter().copied()).collect(),
    };
    let sums = coefficients.chunks(cells.len()).enumerate().map(sum).collect();
    SumTensor { element: TensorElement::F32, shape: vec![targets], sums }.tensor(builder)
}

/// The sum of `sums` and `added` times `beta`, where both depend on the row.
fn plus_rows(
    node: &GraphNode,
    builder: &mut GraphColumns,
    sums: SumTensor,
    added: &Tensor,
    beta: f64,
) -> Outputs {
    let sums = sums.tensor(builder)?;
    let factor = match sums.element {
        TensorElement::F32 => ColumnValue::F32(beta as f32),
        _ => ColumnValue::F64(beta),
    };
    let factor = builder.columns.constant(factor);
    let plus = node.elementwise(builder, &[&sums, added], sums.element, |builder, cells| {
        let added = match beta == 1.0 {
            true => cells[1],
            false => builder.add(Expr::Binary(Binary::Multiply, cells[1], factor))?,
        };
        builder.add(Expr::Binary(Binary::Add, cells[0], added))
    });
    Ok(vec![plus?])
}

/// A tensor whose cells are weighted sums.
struct SumTensor {
    element: TensorElement,
    shape: Vec<usize>,
    sums: Vec<WeightedSum>,
}

impl SumTensor {
    fn tensor(self, builder: &mut GraphColumns) -> Result<Tensor, ModelError> {
        let value = |x: f64| match self.element {
            TensorElement::F32 => ColumnValue::F32(x as f32),
            _ => ColumnValue::F64(x),
        };
        let mut cells = Vec::with_capacity(self.sums.len());
        for sum in &self.sums {
            let term = |(column, weight): &(ColumnId, f64)| Term { column: *column, weight: value(*weight) };
            let terms = sum.terms.iter().map(term).collect();
            cells.push(builder.add(Expr::Dot { start: value(sum.start), terms })?);
        }
        Ok(Tensor::numbers(true, self.shape, self.element, cells))
    }
}

/// The sums of the products of the rows of input 0 with the columns of a matrix.
fn sums(node: &GraphNode, builder: &mut GraphColumns, matrix: &Matrix) -> Result<SumTensor, ModelError> {
    let rows = node.input(0)?;
    let cells = node.numbers(rows)?;
    if !rows.element.is_float() {
        return Err(node.refuse("multiplies matrices of whole numbers"));
    }
    let Some((width, outer)) = rows.shape.split_last().filter(|_| rows.by_row) else {
        let why = "multiplies a matrix by the rows, so the result of a row would depend on other rows";
        return Err(node.refuse(why));
    };
    if *width != matrix.rows || *width == 0 {
        return Err(node.refuse("multiplies matrices whose shapes do not fit"));
    }
    builder.count_cells(cells.len().checked_mul(matrix.columns))?;
    let row_sums = |row: &[ColumnId]| {
        let sum = |at| WeightedSum {
            start: NEUTRAL_SUMMAND,
            terms: row.iter().copied().zip(matrix.column(at)).collect(),
        };
        (0..matrix.columns).map(sum).collect::<Vec<_>>()
    };
    let sums = cells.chunks(*width).flat_map(row_sums).collect();
    let shape = outer.iter().copied().chain([matrix.columns]).collect();
    Ok(SumTensor { element: rows.element, shape, sums })
}

/// An input as a matrix of constants. A vector counts as a matrix of one column.
fn constant_matrix(node: &GraphNode, builder: &GraphColumns, input: usize) -> Result<Matrix, ModelError> {
    let tensor = std::rc::Rc::clone(node.input(input)?);
    let entries = numbers(node, builder, &tensor)?;
    match *tensor.shape.as_slice() {
        [rows] => Ok(Matrix { rows, columns: 1, entries }),
        [rows, columns] => Ok(Matrix { rows, columns, entries }),
        _ => Err(node.refuse("multiplies by a tensor of more than two axes")),
    }
}

/// The numbers of a tensor of constants.
fn numbers(node: &GraphNode, builder: &GraphColumns, tensor: &Tensor) -> Result<Vec<f64>, ModelError> {
    if tensor.by_row {
        return Err(node.refuse("multiplies two values of a row; one factor must be constant"));
    }
    Ok(node.constants(builder, tensor)?.into_iter().map(ColumnValue::to_f64).collect())
}
