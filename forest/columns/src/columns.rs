//! The set of columns: each expression once, with its type.

use crate::expr::{Binary, ColumnId, Expr, Term, Unary};
use crate::float::Float;
use crate::value::{ColumnType, ColumnValue};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// The error for an operation that does not accept the types of its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandTypeError {
    /// The operation in words, such as `Add of f32 and f64`.
    pub operation: String,
}

impl fmt::Display for OperandTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {}", self.operation)
    }
}

impl std::error::Error for OperandTypeError {}

/// Maximum number of wanted columns for which [`Columns::needed_for`] follows operands one by one. For more,
/// one pass over all columns is faster. A pipeline of 10,000 one-hot columns makes a query for each column:
/// reading it takes 0.3 seconds, and 3.4 seconds if each query is a pass.
const FEW_COLUMNS: usize = 4;

/// A list of distinct expressions, each of which reads only earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    exprs: Vec<(Expr, ColumnType)>,
    numbers: HashMap<Expr, ColumnId>,
    /// The names of the steps that compute sums, as far as the model's file has them.
    steps: HashMap<ColumnId, Arc<str>>,
}

impl Columns {
    /// Gives the sums from column number `first` on the name of the step of the model that computes them.
    pub fn name_sums(&mut self, first: usize, step: &Arc<str>) {
        let sums = (first..self.exprs.len()).filter(|index| self.exprs[*index].0.is_sum());
        self.steps.extend(sums.map(|index| (ColumnId::at(index), Arc::clone(step))));
    }

    /// The name of the step that computes a sum, if the model's file has one.
    pub fn step(&self, column: ColumnId) -> Option<&Arc<str>> {
        self.steps.get(&column)
    }

    /// Gives a column the step of the column `old` of another set.
    pub fn copy_step(&mut self, column: ColumnId, (from, old): (&Columns, ColumnId)) {
        if let Some(step) = from.step(old) {
            self.steps.entry(column).or_insert_with(|| Arc::clone(step));
        }
    }

    /// Adds a column, or finds the column with the same expression.
    ///
    /// # Errors
    /// If the operation does not take the types of its columns.
    ///
    /// # Panics
    /// If the expression reads a column whose number this set does not have.
    pub fn add(&mut self, expr: Expr) -> Result<ColumnId, OperandTypeError> {
        if let Some(number) = self.numbers.get(&expr) {
            return Ok(*number);
        }
        let column_type = self.typed(&expr)?;
        let number = ColumnId(self.exprs.len() as u32);
        self.exprs.push((expr.clone(), column_type));
        self.numbers.insert(expr, number);
        Ok(number)
    }

    /// The value of a feature as a column.
    pub fn input(&mut self, feature: u32, float: Float) -> ColumnId {
        self.insert(Expr::Input { feature, float }, float.into())
    }

    /// A column with one value in all rows.
    pub fn constant(&mut self, value: ColumnValue) -> ColumnId {
        self.insert(Expr::Const(value), value.column_type())
    }

    /// Adds an expression of a known type.
    pub fn insert(&mut self, expr: Expr, column_type: ColumnType) -> ColumnId {
        let next = ColumnId(self.exprs.len() as u32);
        *self.numbers.entry(expr).or_insert_with_key(|expr| {
            self.exprs.push((expr.clone(), column_type));
            next
        })
    }

    /// The expression of a column.
    pub fn expr(&self, column: ColumnId) -> &Expr {
        &self.exprs[column.index()].0
    }

    /// The type of a column.
    pub fn column_type(&self, column: ColumnId) -> ColumnType {
        self.exprs[column.index()].1
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// Whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }

    /// The `wanted` columns and all columns that they depend on, ascending. Each comes after the columns that
    /// it reads.
    pub fn needed_for(&self, wanted: &[ColumnId]) -> Vec<ColumnId> {
        match wanted.len() <= FEW_COLUMNS {
            true => self.needed_for_few(wanted),
            false => self.needed_for_many(wanted),
        }
    }

    /// [`Columns::needed_for`] by following operands, in time proportional to the result.
    fn needed_for_few(&self, wanted: &[ColumnId]) -> Vec<ColumnId> {
        let (mut needed, mut seen, mut open) = (Vec::new(), HashSet::new(), wanted.to_vec());
        while let Some(column) = open.pop() {
            if seen.insert(column) {
                needed.push(column);
                open.extend(self.expr(column).operands());
            }
        }
        needed.sort_unstable();
        needed
    }

    /// [`Columns::needed_for`] in one pass over all columns.
    fn needed_for_many(&self, wanted: &[ColumnId]) -> Vec<ColumnId> {
        let mut is_needed = vec![false; self.exprs.len()];
        for column in wanted {
            is_needed[column.index()] = true;
        }
        for index in (0..self.exprs.len()).rev() {
            if is_needed[index] {
                self.exprs[index].0.operands().for_each(|operand| is_needed[operand.index()] = true);
            }
        }
        let numbers = (0..).map(ColumnId).zip(is_needed);
        numbers.filter_map(|(column, is_needed)| is_needed.then_some(column)).collect()
    }

    /// All columns, each after those that it reads.
    pub fn all(&self) -> impl Iterator<Item = ColumnId> + use<> {
        (0..self.exprs.len() as u32).map(ColumnId)
    }

    /// Checks that an operation takes the types of its columns.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(&self, expr: &Expr) -> Result<(), OperandTypeError> {
        self.typed(expr).map(|_| ())
    }

    /// The type of an expression's values.
    fn typed(&self, expr: &Expr) -> Result<ColumnType, OperandTypeError> {
        let of = |column: &ColumnId| self.column_type(*column);
        match expr {
            Expr::Input { float, .. } => Ok((*float).into()),
            Expr::Const(value) => Ok(value.column_type()),
            Expr::Unary(op, x) => op.typed(of(x)),
            Expr::Binary(op, x, y) => op.typed(of(x), of(y)),
            Expr::Select { condition, then, otherwise } => {
                let (condition, then, otherwise) = (of(condition), of(then), of(otherwise));
                let fits = condition == ColumnType::Bool && then == otherwise;
                fits.then_some(then)
                    .ok_or_else(|| operand_type_error("Select", &[condition, then, otherwise]))
            }
            Expr::Step { of: x, .. } => {
                let x = of(x);
                x.is_float().then_some(ColumnType::I64).ok_or_else(|| operand_type_error("Step", &[x]))
            }
            Expr::Table { of: x, table } => {
                let x = of(x);
                let entries = table.column_type().filter(|_| x.is_float());
                entries.ok_or_else(|| operand_type_error("Table", &[x]))
            }
            Expr::Pick { of: x, values } => {
                let x = of(x);
                let first = values.first().map(|value| value.column_type());
                let is_one_type = values.iter().all(|value| Some(value.column_type()) == first);
                let picked = first.filter(|_| is_one_type && x == ColumnType::I64);
                picked.ok_or_else(|| operand_type_error("Pick", &[x]))
            }
            Expr::Dot { start, terms } => {
                let result = start.column_type();
                let is_alike =
                    |term: &Term| of(&term.column) == result && term.weight.column_type() == result;
                let fits = result.is_float() && terms.iter().all(is_alike);
                let types = || terms.iter().map(|term| of(&term.column)).chain([result]).collect::<Vec<_>>();
                fits.then_some(result).ok_or_else(|| operand_type_error("Dot", &types()))
            }
            Expr::SquaredDistance { of: columns, point } => {
                let columns: Vec<ColumnType> = columns.iter().map(of).collect();
                let result = columns.first().copied().filter(|first| first.is_float());
                let points = point.iter().map(|value| value.column_type());
                let mut all = columns.iter().copied().chain(points);
                let fits = columns.len() == point.len() && all.all(|one| Some(one) == result);
                result.filter(|_| fits).ok_or_else(|| operand_type_error("SquaredDistance", &columns))
            }
            Expr::Trees { of: operands, start, trees, result } => {
                let shared = trees.shared_properties();
                let is_compared = |operand| of(operand) == shared.operand_type.into();
                let fits = operands.len() == shared.operands as usize
                    && operands.iter().all(is_compared)
                    && start.column_type() == shared.sum_type.into()
                    && *result < shared.results;
                let types = || operands.iter().map(of).chain([start.column_type()]).collect::<Vec<_>>();
                fits.then(|| shared.sum_type.into()).ok_or_else(|| operand_type_error("Trees", &types()))
            }
            Expr::Bit { of: x, bit } => {
                let x = of(x);
                let fits = x == ColumnType::I64 && *bit < 64;
                fits.then_some(ColumnType::Bool).ok_or_else(|| operand_type_error("Bit", &[x]))
            }
        }
    }
}

impl Expr {
    /// Whether the expression is a sum of products, of squared differences, or of leaf values of trees.
    pub fn is_sum(&self) -> bool {
        matches!(self, Expr::Dot { .. } | Expr::SquaredDistance { .. } | Expr::Trees { .. })
    }

    /// The expression with other columns as operands.
    #[must_use]
    pub fn with_operands(self, mut map: impl FnMut(ColumnId) -> ColumnId) -> Expr {
        match self {
            Expr::Input { .. } | Expr::Const(_) => self,
            Expr::Unary(op, x) => Expr::Unary(op, map(x)),
            Expr::Binary(op, x, y) => Expr::Binary(op, map(x), map(y)),
            Expr::Select { condition, then, otherwise } => {
                Expr::Select { condition: map(condition), then: map(then), otherwise: map(otherwise) }
            }
            Expr::Step { of, edges } => Expr::Step { of: map(of), edges },
            Expr::Table { of, table } => Expr::Table { of: map(of), table },
            Expr::Pick { of, values } => Expr::Pick { of: map(of), values },
            Expr::Bit { of, bit } => Expr::Bit { of: map(of), bit },
            Expr::Dot { start, terms } => {
                let term = |term: &Term| Term { column: map(term.column), weight: term.weight };
                Expr::Dot { start, terms: terms.iter().map(term).collect() }
            }
            Expr::SquaredDistance { of, point } => {
                Expr::SquaredDistance { of: of.iter().map(|column| map(*column)).collect(), point }
            }
            Expr::Trees { of, start, trees, result } => {
                let of = of.iter().map(|column| map(*column)).collect();
                Expr::Trees { of, start, trees, result }
            }
        }
    }

    /// The columns that the expression reads.
    pub fn operands(&self) -> impl Iterator<Item = ColumnId> + use<> {
        let (terms, of) = match self {
            Expr::Dot { terms, .. } => (Arc::clone(terms), Arc::default()),
            Expr::SquaredDistance { of, .. } | Expr::Trees { of, .. } => (Arc::default(), Arc::clone(of)),
            _ => Default::default(),
        };
        let of_terms = (0..terms.len()).map(move |at| terms[at].column);
        let of_list = (0..of.len()).map(move |at| of[at]);
        let columns = match *self {
            Expr::Input { .. }
            | Expr::Const(_)
            | Expr::Dot { .. }
            | Expr::SquaredDistance { .. }
            | Expr::Trees { .. } => [None; 3],
            Expr::Unary(_, x) => [Some(x), None, None],
            Expr::Step { of, .. } | Expr::Table { of, .. } | Expr::Pick { of, .. } | Expr::Bit { of, .. } => {
                [Some(of), None, None]
            }
            Expr::Binary(_, x, y) => [Some(x), Some(y), None],
            Expr::Select { condition, then, otherwise } => [Some(condition), Some(then), Some(otherwise)],
        };
        columns.into_iter().flatten().chain(of_terms).chain(of_list)
    }
}

impl Unary {
    /// The type of the result for this type of value.
    fn typed(self, of: ColumnType) -> Result<ColumnType, OperandTypeError> {
        let (fits, result) = match self {
            Unary::Cast(to) => (true, to),
            Unary::Negate | Unary::Abs => (of != ColumnType::Bool, of),
            Unary::SquareRoot
            | Unary::Exp
            | Unary::ExpMinusOne
            | Unary::Log
            | Unary::LogOnePlus
            | Unary::Tanh
            | Unary::Logistic
            | Unary::Erf
            | Unary::Sin
            | Unary::Cos
            | Unary::Floor
            | Unary::Ceil
            | Unary::Round => (of.is_float(), of),
            Unary::IsNan => (of.is_float(), ColumnType::Bool),
            Unary::Not => (of == ColumnType::Bool, of),
        };
        fits.then_some(result).ok_or_else(|| operand_type_error(&format!("{self:?}"), &[of]))
    }
}

impl Binary {
    /// The type of the result for values of these types.
    fn typed(self, x: ColumnType, y: ColumnType) -> Result<ColumnType, OperandTypeError> {
        let is_number = x != ColumnType::Bool;
        let (fits, result) = match self {
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Min | Binary::Max => (is_number, x),
            Binary::Divide | Binary::Power => (x.is_float(), x),
            Binary::Less | Binary::LessOrEqual => (is_number, ColumnType::Bool),
            Binary::Equal => (true, ColumnType::Bool),
            Binary::And | Binary::Or => (!is_number, ColumnType::Bool),
        };
        (fits && x == y).then_some(result).ok_or_else(|| operand_type_error(&format!("{self:?}"), &[x, y]))
    }
}

impl From<Float> for ColumnType {
    fn from(float: Float) -> ColumnType {
        match float {
            Float::F32 => ColumnType::F32,
            Float::F64 => ColumnType::F64,
        }
    }
}

impl From<ColumnType> for Option<Float> {
    fn from(column_type: ColumnType) -> Option<Float> {
        match column_type {
            ColumnType::F32 => Some(Float::F32),
            ColumnType::F64 => Some(Float::F64),
            ColumnType::I64 | ColumnType::Bool => None,
        }
    }
}

fn operand_type_error(operation: &str, of: &[ColumnType]) -> OperandTypeError {
    let of: Vec<_> = of.iter().map(|column_type| column_type.word()).collect();
    OperandTypeError { operation: format!("{operation} of {}", of.join(" and ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_expressions_are_one_column() {
        let mut columns = Columns::default();
        let (x, y) = (columns.input(0, Float::F64), columns.input(0, Float::F64));
        assert_eq!(x, y);
        let half = columns.constant(ColumnValue::F64(0.5));
        let sums = [0, 1].map(|_| columns.add(Expr::Binary(Binary::Add, x, half)).expect("two doubles"));
        assert_eq!((sums[0], columns.len()), (sums[1], 3));
    }

    #[test]
    fn operations_have_types() {
        let mut columns = Columns::default();
        let (single, double) = (columns.input(0, Float::F32), columns.input(0, Float::F64));
        let error = columns.add(Expr::Binary(Binary::Add, single, double)).expect_err("two types");
        assert_eq!(error.to_string(), "there is no Add of f32 and f64");
        let is_nan = columns.add(Expr::Unary(Unary::IsNan, single)).expect("a number");
        assert_eq!(columns.column_type(is_nan), ColumnType::Bool);
        assert!(columns.add(Expr::Unary(Unary::Negate, is_nan)).is_err());
        let select = Expr::Select { condition: is_nan, then: single, otherwise: double };
        assert!(columns.add(select).is_err());
    }

    #[test]
    fn columns_come_before_their_readers() {
        let mut columns = Columns::default();
        let (x, y) = (columns.input(0, Float::F64), columns.input(1, Float::F64));
        let sum = columns.add(Expr::Binary(Binary::Add, x, x)).expect("two doubles");
        let root = columns.add(Expr::Unary(Unary::SquareRoot, sum)).expect("a double");
        assert_eq!(columns.needed_for(&[root]), [x, sum, root]);
        assert_eq!(columns.needed_for(&[y]), [y]);
        let wanted = [root, y, root, sum, y];
        assert_eq!(columns.needed_for(&wanted), columns.needed_for_few(&wanted));
    }
}
