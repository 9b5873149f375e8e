//! Support vector machines of `ai.onnx.ml`: weighted sums of kernel values of a row and constant vectors.
//!
//! Rows are in single precision, as the operators define. Kernels and sums are in double precision, since
//! sums of terms with both signs lose digits. Results are rounded to single precision.

use super::builder::GraphColumns;
use super::formula::Formula;
use super::linear::class_label;
use super::node::GraphNode;
use super::reduce::index_of_largest;
use super::tensor::{Outputs, Tensor, TensorElement};
use sched_columns::{Binary, ColumnId, ColumnValue, Expr, Term, Unary};
use sched_forest::ModelError;

/// Largest degree up to which a polynomial kernel is computed by repeated multiplication.
const MOST_FACTORS: f64 = 16.0;

/// A kernel: a function of a row and a vector.
#[derive(Clone, Copy)]
enum Kernel {
    /// The dot product of row and vector.
    Linear,
    /// `(gamma product + coef0)^degree`
    Polynomial { gamma: f64, coef0: f64, degree: f64 },
    /// `exp(-gamma distance)`, with the squared distance.
    Radial { gamma: f64 },
    /// `tanh(gamma product + coef0)`
    Sigmoid { gamma: f64, coef0: f64 },
}

impl Kernel {
    /// The kernel that attributes describe.
    fn read(node: &GraphNode) -> Result<Kernel, ModelError> {
        let name = node.attributes.text("kernel_type")?;
        if matches!(name, "" | "LINEAR") {
            return Ok(Kernel::Linear);
        }
        let [gamma, coef0, degree] = *node.attributes.floats("kernel_params")? else {
            return Err(node.refuse("lacks the parameters of its kernel"));
        };
        match name {
            "POLY" => Ok(Kernel::Polynomial { gamma, coef0, degree }),
            "RBF" => Ok(Kernel::Radial { gamma }),
            "SIGMOID" => Ok(Kernel::Sigmoid { gamma, coef0 }),
            other => Err(node.refuse(&format!("has the unknown kernel `{other}`"))),
        }
    }

    /// The column of the kernel's value for a row and a vector.
    fn column(
        self,
        builder: &mut GraphColumns,
        row: &[ColumnId],
        vector: &[f64],
    ) -> Result<ColumnId, ModelError> {
        if let Kernel::Radial { gamma } = self {
            let point = vector.iter().map(|at| ColumnValue::F64(*at)).collect();
            let distance = builder.add(Expr::SquaredDistance { of: row.into(), point })?;
            let mut formula = Formula { builder, element: TensorElement::F64 };
            let exponent = formula.with(Binary::Multiply, distance, -gamma)?;
            return formula.unary(Unary::Exp, exponent);
        }
        let product = weighted(builder, 0.0, row.iter().copied().zip(vector.iter().copied()))?;
        let mut formula = Formula { builder, element: TensorElement::F64 };
        let mut moved = |gamma, coef0| {
            let scaled = formula.with(Binary::Multiply, product, gamma)?;
            formula.with(Binary::Add, scaled, coef0)
        };
        match self {
            Kernel::Linear | Kernel::Radial { .. } => Ok(product),
            Kernel::Sigmoid { gamma, coef0 } => {
                let moved = moved(gamma, coef0)?;
                formula.unary(Unary::Tanh, moved)
            }
            Kernel::Polynomial { gamma, coef0, degree } => {
                let moved = moved(gamma, coef0)?;
                if degree.fract() != 0.0 || !(1.0..=MOST_FACTORS).contains(&degree) {
                    return formula.with(Binary::Power, moved, degree);
                }
                (1..degree as usize)
                    .try_fold(moved, |power, _| formula.binary(Binary::Multiply, power, moved))
            }
        }
    }
}

/// A weighted sum of columns of doubles.
fn weighted(
    builder: &mut GraphColumns,
    start: f64,
    terms: impl Iterator<Item = (ColumnId, f64)>,
) -> Result<ColumnId, ModelError> {
    let term = |(column, weight)| Term { column, weight: ColumnValue::F64(weight) };
    builder.add(Expr::Dot { start: ColumnValue::F64(start), terms: terms.map(term).collect() })
}

/// The values of the node's row, rounded to single precision and widened.
fn row_of(node: &GraphNode, builder: &mut GraphColumns) -> Result<Vec<ColumnId>, ModelError> {
    let rows = node.input(0)?;
    if !rows.by_row || rows.shape.len() > 1 {
        return Err(node.refuse("needs rows of numbers as its input"));
    }
    let singles = builder.cast(node.numbers(rows)?, TensorElement::F32)?;
    builder.cast(&singles, TensorElement::F64)
}

/// Support vectors, and their kernel values with the row.
struct Vectors {
    row: Vec<ColumnId>,
    kernel: Kernel,
    /// The vectors, one after the other.
    entries: Vec<f64>,
    /// The column of each vector's kernel value. Empty for a linear kernel, for which vectors are combined
    /// beforehand.
    columns: Vec<ColumnId>,
}

impl Vectors {
    /// Reads the `count` vectors of a node.
    fn read(node: &GraphNode, builder: &mut GraphColumns, count: usize) -> Result<Vectors, ModelError> {
        let row = row_of(node, builder)?;
        let kernel = Kernel::read(node)?;
        let entries = node.attributes.floats("support_vectors")?;
        if row.is_empty() || Some(entries.len()) != row.len().checked_mul(count) {
            return Err(node.refuse("has support vectors whose length does not match its columns"));
        }
        builder.count_cells(Some(entries.len()))?;
        let columns = match kernel {
            Kernel::Linear => Vec::new(),
            _ => {
                let column = |vector: &[f64]| kernel.column(builder, &row, vector);
                entries.chunks(row.len()).map(column).collect::<Result<_, _>>()?
            }
        };
        Ok(Vectors { row, kernel, entries, columns })
    }

    /// A number plus the weighted kernel values of some vectors.
    fn sum(
        &self,
        builder: &mut GraphColumns,
        start: f64,
        weights: &[(usize, f64)],
    ) -> Result<ColumnId, ModelError> {
        if !matches!(self.kernel, Kernel::Linear) {
            let terms = weights.iter().filter(|(_, weight)| *weight != 0.0);
            return weighted(builder, start, terms.map(|(vector, weight)| (self.columns[*vector], *weight)));
        }
        let width = self.row.len();
        let mut sums = vec![0.0; width];
        for (vector, weight) in weights {
            let entries = &self.entries[vector * width..][..width];
            sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += weight * entry);
        }
        weighted(builder, start, self.row.iter().copied().zip(sums))
    }
}

/// Refuses a post-transform.
fn refuse_step(node: &GraphNode) -> Result<(), ModelError> {
    match node.attributes.text("post_transform")? {
        "" | "NONE" => Ok(()),
        other => Err(node.refuse(&format!("has the post-transform {other}, which is not supported"))),
    }
}

/// `SVMRegressor`: a weighted sum of kernel values or, without vectors, of the row. A one-class machine
/// returns the sign of the sum.
pub(super) fn svm_regressor(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    refuse_step(node)?;
    let coefficients = node.attributes.floats("coefficients")?;
    let rho = node.attributes.floats("rho")?;
    let start = *rho.first().ok_or_else(|| node.refuse("lacks the constant of its sum (rho)"))?;
    let count = node.attributes.int("n_supports")?.unwrap_or(0);
    let sum = match usize::try_from(count) {
        Ok(count) if count > 0 => {
            if coefficients.len() != count {
                return Err(node.refuse("has different numbers of coefficients and support vectors"));
            }
            let vectors = Vectors::read(node, builder, count)?;
            let weights: Vec<(usize, f64)> = coefficients.into_iter().enumerate().collect();
            vectors.sum(builder, start, &weights)?
        }
        _ => {
            let row = row_of(node, builder)?;
            if coefficients.len() != row.len() {
                return Err(node.refuse("has a number of coefficients that does not match its columns"));
            }
            weighted(builder, start, row.into_iter().zip(coefficients))?
        }
    };
    let result = builder.cast(&[sum], TensorElement::F32)?[0];
    let result = match node.attributes.int("one_class")?.unwrap_or(0) {
        0 => result,
        _ => {
            let mut formula = Formula { builder, element: TensorElement::F32 };
            let [zero, one, minus] = [0.0, 1.0, -1.0].map(|number| formula.number(number));
            let condition = formula.binary(Binary::Less, zero?, result)?;
            builder.add(Expr::Select { condition, then: one?, otherwise: minus? })?
        }
    };
    Ok(vec![Tensor::numbers(true, vec![1], TensorElement::F32, vec![result])])
}

/// `SVMClassifier` with vectors: a sum for each pair of classes, and the class that wins most pairs, the
/// first one if several do. Scores are the sums; for two classes, the negated sum and the sum.
pub(super) fn svm_classifier(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    refuse_step(node)?;
    if !node.attributes.floats("prob_a")?.is_empty() {
        return Err(
            node.refuse("computes probabilities from pairs of classes (prob_a), which is not supported")
        );
    }
    let counts = node.ints("vectors_per_class")?.unwrap_or_default();
    let counts: Option<Vec<usize>> = counts.into_iter().map(|count| usize::try_from(count).ok()).collect();
    let total = |counts: &[usize]| counts.iter().try_fold(0_usize, |sum, count| sum.checked_add(*count));
    let fits = |counts: &Vec<usize>| counts.len() >= 2 && total(counts).is_some_and(|total| total > 0);
    let counts = counts.filter(fits).ok_or_else(|| node.refuse("has no support vectors for its classes"))?;
    let classes = counts.len();
    let (n_vectors, n_pairs) = (total(&counts).unwrap_or(0), classes * (classes - 1) / 2);
    let coefficients = node.attributes.floats("coefficients")?;
    let rho = node.attributes.floats("rho")?;
    let has_all = n_vectors.checked_mul(classes - 1) == Some(coefficients.len()) && rho.len() == n_pairs;
    if !has_all {
        return Err(node.refuse(
            "has a number of coefficients or constants (rho) that does not match its vectors and classes",
        ));
    }
    let vectors = Vectors::read(node, builder, n_vectors)?;
    let starts: Vec<usize> = (0..classes).map(|class| counts[..class].iter().sum()).collect();
    let (zero, one) = {
        let number = |number| builder.columns.constant(ColumnValue::I64(number));
        let [zero, one] = [0, 1].map(number);
        (zero, one)
    };
    let (mut sums, mut votes) = (Vec::with_capacity(n_pairs), vec![zero; classes]);
    for first in 0..classes {
        for second in first + 1..classes {
            // Row `k` of the coefficients has the coefficients of a class against the `k`th other class.
            let of = |class: usize, row: usize| {
                let own = starts[class]..starts[class] + counts[class];
                let coefficients = &coefficients;
                own.map(move |vector| (vector, coefficients[row * n_vectors + vector]))
            };
            let weights: Vec<(usize, f64)> = of(first, second - 1).chain(of(second, first)).collect();
            let sum = vectors.sum(builder, rho[sums.len()], &weights)?;
            sums.push(sum);
            let mut formula = Formula { builder, element: TensorElement::F64 };
            let none = formula.number(0.0)?;
            let condition = formula.binary(Binary::Less, none, sum)?;
            for (class, then, otherwise) in [(first, one, zero), (second, zero, one)] {
                let vote = builder.add(Expr::Select { condition, then, otherwise })?;
                votes[class] = builder.add(Expr::Binary(Binary::Add, votes[class], vote))?;
            }
        }
    }
    let best = index_of_largest(builder, &votes)?;
    let label = class_label(node, builder, best, classes)?;
    let mut scores = builder.cast(&sums, TensorElement::F32)?;
    if let [score] = *scores {
        scores = vec![builder.add(Expr::Unary(Unary::Negate, score))?, score];
    }
    Ok(vec![label, Tensor::numbers(true, vec![scores.len()], TensorElement::F32, scores)])
}
