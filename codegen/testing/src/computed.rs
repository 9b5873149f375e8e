//! Random computed columns: those that trees test, and those that are computed from margins.

use crate::column_trees::column_trees;
use crate::forests::grid_value;
use crate::schedules::Rng;
use sched_columns::{
    Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, OperandTypeError, SharedTreeProperties, Term,
    Ties, Unary,
};
use sched_forest::{
    ClassRule, ComputedColumns, Float, Forest, LinearLeaf, Output, OutputColumns, Sigmoid, Softmax, Transform,
};
use std::sync::Arc;

/// The forest, in some cases with tests of computed columns in place of some tests of features. Most linear
/// models read computed columns, in some cases sums alone, as the last layer of a net does. The random
/// choices depend on `seed` alone, so that the other generators' cases stay unchanged.
pub fn with_computed_columns(seed: u64, forest: Forest) -> Forest {
    let rng = &mut Rng(seed.wrapping_mul(0x9fb2_1c65_1e98_df25));
    let is_linear = forest.has_linear_leaves() && forest.trees.iter().all(|tree| tree.inner.is_empty());
    if rng.one_in(4) == is_linear {
        return forest;
    }
    let forms: &[usize] = if is_linear && rng.one_in(2) { &SUMS } else { &FORMS };
    let mut parts = forest.into_parts();
    let features = parts.num_features;
    let mut drawn = ColumnGenerator { rng, columns: Columns::default(), features, float: parts.types.input };
    let count = 1 + drawn.rng.below(12);
    let read = drawn.columns_of_forms(count, forms).expect("operations on one type");
    let ColumnGenerator { rng, columns, .. } = drawn;
    parts.computed = ComputedColumns { columns, read_by_trees: read };
    for inner in parts.trees.iter_mut().flat_map(|tree| &mut tree.inner) {
        if rng.one_in(2) {
            inner.feature = (features + rng.below(count)) as u32;
        }
    }
    for (feature, _) in parts.linear.iter_mut().flatten().flat_map(|leaf| &mut leaf.terms) {
        if rng.one_in(2) {
            *feature = (features + rng.below(count)) as u32;
        }
    }
    if is_linear && rng.one_in(2) {
        share_columns(&mut parts.linear);
    }
    Forest::new(parts).expect("the generator keeps the promises of a forest")
}

/// Makes all leaves with as many terms as the first one add the columns of the first one.
fn share_columns(leaves: &mut [Vec<LinearLeaf>]) {
    let Some((first, rest)) = leaves.split_first_mut() else { return };
    let Some(first) = first.first() else { return };
    for leaf in rest.iter_mut().flatten().filter(|leaf| leaf.terms.len() == first.terms.len()) {
        for (term, shared) in leaf.terms.iter_mut().zip(&first.terms) {
            term.0 = shared.0;
        }
    }
}

/// The forms of expressions, by their numbers in [`ColumnGenerator::column`].
const FORMS: [usize; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

/// The forms that are sums.
const SUMS: [usize; 3] = [6, 7, 8];

/// The forms whose results are finite for finite values.
const FINITE_FORMS: [usize; 10] = [0, 1, 3, 4, 5, 6, 7, 8, 10, 11];

/// The forest, in some cases with expressions over margins in the steps from margins to predictions, and with
/// expressions that compute classes. The random choices depend on `seed` alone, so that the other generators'
/// cases stay unchanged.
pub fn with_output_expressions(seed: u64, forest: Forest) -> Forest {
    let rng = &mut Rng(seed.wrapping_mul(0xc2b2_ae3d_27d4_eb4f) ^ 0x1656_67b1);
    if !rng.one_in(4) {
        return forest;
    }
    let mut parts = forest.into_parts();
    let (margins, float) = (parts.num_margins, parts.types.accumulator);
    let mut value = Vec::new();
    let mut n_values = margins;
    for _ in 0..1 + rng.below(2) {
        if rng.one_in(3) {
            value.push(Transform::Divide { by: 3.0 });
        }
        let of = finite_expressions(rng, n_values, float).expect("operations on one type");
        n_values = of.results.len();
        value.push(Transform::Columns(of));
    }
    match rng.below(5) {
        0 if n_values > 1 => value.push(Transform::Softmax(Softmax::Plain)),
        0 => value.push(Transform::Complement),
        1 => value.push(Transform::ArgMax),
        2 => value.push(Transform::Sigmoid(Sigmoid::Plain { slope: 1.0 })),
        _ => {}
    }
    parts.output = Output { value, ..parts.output };
    let rule = match rng.below(3) {
        0 => ClassRule::LargestValue,
        _ => ClassRule::Computed(class_numbers(rng, margins, float).expect("operations on one type")),
    };
    if rng.one_in(2) {
        parts.output = parts.output.with_classes(rule);
    }
    Forest::new(parts).expect("the generator keeps the promises of a forest")
}

/// Expressions over the values of a row, whose results are finite. Some results are probabilities.
fn finite_expressions(
    rng: &mut Rng,
    n_values: usize,
    float: Float,
) -> Result<Arc<OutputColumns>, OperandTypeError> {
    let count = 1 + rng.below(12);
    let mut drawn = ColumnGenerator { rng, columns: Columns::default(), features: n_values, float };
    let mut results = drawn.columns_of_forms(count, &FINITE_FORMS)?;
    let ColumnGenerator { rng, mut columns, .. } = drawn;
    if rng.one_in(3) {
        for result in &mut results {
            *result = columns.add(Expr::Unary(Unary::Logistic, *result))?;
        }
    }
    Ok(Arc::new(OutputColumns { columns: Arc::new(columns), results }))
}

/// Expressions for the class numbers of up to three targets; some numbers are negative.
fn class_numbers(
    rng: &mut Rng,
    margins: usize,
    float: Float,
) -> Result<Arc<OutputColumns>, OperandTypeError> {
    let mut drawn = ColumnGenerator { rng, columns: Columns::default(), features: margins, float };
    let count = 1 + drawn.rng.below(3);
    let numbers = drawn.columns_of_forms(count, &FINITE_FORMS)?;
    let mut columns = drawn.columns;
    let results = numbers.into_iter().map(|number| columns.cast(number, ColumnType::I64));
    let results = results.collect::<Result<_, _>>()?;
    Ok(Arc::new(OutputColumns { columns: Arc::new(columns), results }))
}

/// The state while random columns are made.
struct ColumnGenerator<'a> {
    rng: &'a mut Rng,
    columns: Columns,
    features: usize,
    float: Float,
}

impl ColumnGenerator<'_> {
    /// Random columns of the given forms, in the type of rows. Runs of up to five columns have the same form
    /// and differ in features and constants.
    fn columns_of_forms(&mut self, count: usize, forms: &[usize]) -> Result<Vec<ColumnId>, OperandTypeError> {
        let mut read = Vec::with_capacity(count);
        while read.len() < count {
            let (form, alike) = (forms[self.rng.below(forms.len())], 1 + self.rng.below(5));
            let below = self.operand_columns(form)?;
            for _ in 0..alike.min(count - read.len()) {
                let column = self.column(form, &below)?;
                read.push(self.columns.cast(column, self.float.into())?);
            }
        }
        Ok(read)
    }

    /// The columns that an expression of a form reads: values of features, a layer of sums, or all results of
    /// the same trees. Empty for forms that read features directly.
    fn operand_columns(&mut self, form: usize) -> Result<Vec<ColumnId>, OperandTypeError> {
        if form < 6 {
            return Ok(Vec::new());
        }
        let count = 1 + self.rng.below(self.features);
        let features = (0..count).map(|_| self.rng.below(self.features) as u32);
        let inputs: Vec<u32> = features.collect();
        let inputs: Vec<ColumnId> =
            inputs.into_iter().map(|feature| self.columns.input(feature, self.float)).collect();
        match form {
            6 | 7 => return Ok(inputs),
            10 => return self.trees(&inputs),
            11 => {
                let below = self.trees(&inputs)?;
                return self.trees(&below);
            }
            _ => {}
        }
        let zero = self.columns.constant(ColumnValue::F64(0.0).cast(self.float.into()));
        let layer = (0..1 + self.rng.below(20)).map(|_| {
            let sum = self.sum(&inputs)?;
            self.columns.add(Expr::Binary(Binary::Max, sum, zero))
        });
        layer.collect()
    }

    /// All results of random trees over the columns `of`, in the type of rows.
    fn trees(&mut self, of: &[ColumnId]) -> Result<Vec<ColumnId>, OperandTypeError> {
        let other = if self.float == Float::F32 { Float::F64 } else { Float::F32 };
        let form = SharedTreeProperties {
            operands: of.len() as u32,
            results: 1 + self.rng.below(4) as u32,
            operand_type: self.float,
            sum_type: if self.rng.one_in(2) { other } else { self.float },
            ties: if self.rng.one_in(2) { Ties::Above } else { Ties::Below },
        };
        let (of, trees) = (Arc::from(of), Arc::new(column_trees(self.rng, form)));
        let columns = (0..form.results).map(|result| {
            let start = ColumnValue::F64(grid_value(self.rng, form.sum_type)).cast(form.sum_type.into());
            let (of, trees) = (Arc::clone(&of), Arc::clone(&trees));
            let sum = self.columns.add(Expr::Trees { of, start, trees, result })?;
            self.columns.cast(sum, self.float.into())
        });
        columns.collect()
    }

    fn number(&mut self) -> ColumnValue {
        ColumnValue::F64(grid_value(self.rng, self.float)).cast(self.float.into())
    }

    fn sum(&mut self, of: &[ColumnId]) -> Result<ColumnId, OperandTypeError> {
        let start = self.number();
        let terms = of.iter().map(|column| Term { column: *column, weight: self.number() }).collect();
        self.columns.add(Expr::Dot { start, terms })
    }

    fn column(&mut self, form: usize, below: &[ColumnId]) -> Result<ColumnId, OperandTypeError> {
        let [x, y] = [(); 2].map(|()| self.rng.below(self.features) as u32);
        let [x, y] = [x, y].map(|feature| self.columns.input(feature, self.float));
        let number = self.number();
        let constant = self.columns.constant(number);
        let binary = |op, x, y| Expr::Binary(op, x, y);
        match form {
            0 => self.columns.add(binary(Binary::Multiply, x, y)),
            1 => self.columns.add(binary(Binary::Add, x, y)),
            2 => {
                let offset = self.columns.add(binary(Binary::Subtract, x, constant))?;
                self.columns.add(binary(Binary::Divide, offset, y))
            }
            3 => {
                let is_missing = self.columns.add(Expr::Unary(Unary::IsNan, x))?;
                self.columns.add(Expr::Select { condition: is_missing, then: constant, otherwise: y })
            }
            4 => {
                let wide = self.columns.cast(x, ColumnType::F64)?;
                let op = if number.to_f64() < 0.0 { Unary::Sin } else { Unary::Abs };
                let wide = self.columns.add(Expr::Unary(op, wide))?;
                self.columns.add(Expr::Unary(Unary::Floor, wide))
            }
            5 => self.columns.add(binary(Binary::Max, x, constant)),
            6 => {
                let point = below.iter().map(|_| self.number()).collect();
                self.columns.add(Expr::SquaredDistance { of: below.into(), point })
            }
            9 => {
                // Some columns of rows in double precision round a feature to single precision first.
                let feature = self.rng.below(self.features) as u32;
                let single = self.columns.input(feature, Float::F32);
                let wide = self.columns.cast(single, ColumnType::F64)?;
                let other = self.columns.cast(y, ColumnType::F64)?;
                self.columns.add(binary(Binary::Multiply, wide, other))
            }
            10 | 11 => Ok(*self.rng.pick(below).unwrap_or(&x)),
            _ => self.sum(below),
        }
    }
}
