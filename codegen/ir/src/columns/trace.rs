//! Separates an expression into its shape and its parameters.

use super::layers::StoredPlaces;
use super::numbers::OperationParameter;
use super::pools::Pools;
use crate::bytes::scalar;
use crate::lir::Scalar;
use crate::rows::features::FeatureSubset;
use sched_columns::functions;
use sched_columns::{
    Binary, CategoryTable, ColumnId, ColumnType, ColumnValue, Columns, Edges, Expr, Ties, Unary,
};
use sched_forest::CategoryRule;
use std::collections::HashMap;
use std::sync::Arc;

/// An operation without its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum ShapeOp {
    /// The value of a feature. Parameters: the feature, and its column in transposed rows.
    Input,
    /// A stored column. Parameter: its place.
    Stored,
    /// A constant. Parameter: the constant.
    Const,
    /// An operation on one value.
    Unary(Unary),
    /// An operation on two values.
    Binary(Binary),
    /// The first operand, divided by the second one, a constant. Parameters: the two parts of the constant's
    /// [reciprocal](sched_columns::functions::reciprocal).
    Quotient,
    /// The second operand if the first is true, else the third.
    Select,
    /// The number of edges that a value reaches. Parameters: the position of the first edge in its pool, and
    /// the number of edges.
    Step(Ties),
    /// The entry of a value's category in a table. Two entries come before: for values without a category,
    /// and for missing values. Parameters: the position of the table in its pool, and the number of
    /// categories.
    Table(CategoryBounds),
    /// The constant at an index. Parameters: the position of the first constant in its pool, and the last
    /// index.
    Pick {
        /// Whether an index may be out of range, and is then limited to it.
        is_clamped: bool,
    },
    /// A bit of an integer. Parameter: the number of the bit.
    Bit,
}

/// Rule that decides which values are categories. A category is also below the number of categories, and not
/// negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CategoryBounds {
    /// Whether values between -1 and 0 have the category 0.
    pub takes_negative_zero: bool,
    /// Whether values with a fraction have no category.
    pub is_whole: bool,
    /// The first value that is too large, if it may be below the number of categories.
    pub below: Option<f64>,
}

/// An operation of a shape. Its operands are earlier operations.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeNode {
    /// The operation.
    pub op: ShapeOp,
    /// Indices of the operands.
    pub operands: Vec<usize>,
    /// Type of the result. Integers have 32 bits where their values are known to fit.
    pub ty: Scalar,
}

/// An expression as a shape and parameters.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The operations; the last one is the column.
    pub nodes: Vec<ShapeNode>,
    /// The parameters of each operation.
    pub parameters: Vec<Vec<OperationParameter>>,
    /// The column whose expression each operation computes.
    pub columns: Vec<ColumnId>,
}

impl Trace {
    /// Adds an operation, its type and its parameters. Returns the operation's index.
    fn push(
        &mut self,
        column: ColumnId,
        (op, ty, parameters): (ShapeOp, Scalar, Vec<OperationParameter>),
        operands: Vec<usize>,
    ) -> usize {
        self.nodes.push(ShapeNode { op, operands, ty });
        self.parameters.push(parameters);
        self.columns.push(column);
        self.nodes.len() - 1
    }
}

/// Separates expressions into shapes and parameters, and puts each table into the pools once.
pub struct Tracer<'a> {
    /// The expressions.
    pub columns: &'a Columns,
    /// The features in transposed rows.
    pub inputs: &'a FeatureSubset,
    /// Parameters of the columns so far, in one pool for each type.
    pub pools: Pools,
    /// Position in its pool of each table, by the address of its contents.
    pub table_positions: HashMap<usize, i64>,
    /// Places of the stored columns so far.
    pub(super) places: StoredPlaces,
}

/// Largest number of categories of a table: the numbers that single precision represents without gaps.
const MOST_CATEGORIES: f64 = 16_777_216.0;

impl Tracer<'_> {
    /// The shape and the parameters of a column. With `is_stored`, its code stores the column, and does not
    /// load it.
    pub(super) fn trace(&mut self, column: ColumnId, is_stored: bool) -> Trace {
        let computed = is_stored.then_some(column);
        let mut trace = Trace::default();
        let mut places: HashMap<ColumnId, usize> = HashMap::new();
        // Operands come first, in the order in which the expression names them. The operands of a select come
        // in reverse order. In a chain of selects, each condition is then computed just before its select, so
        // that fewer masks are live.
        let mut open = vec![(column, false)];
        while let Some((next, is_ready)) = open.pop() {
            if places.contains_key(&next) {
                continue;
            }
            if let Some(place) = self.stored(next).filter(|_| computed != Some(next)) {
                let ty = element(self.columns.column_type(next));
                let place = trace.push(
                    next,
                    (ShapeOp::Stored, ty, vec![OperationParameter::Number(place)]),
                    Vec::new(),
                );
                places.insert(next, place);
                continue;
            }
            let operands: Vec<ColumnId> = self.columns.expr(next).operands().collect();
            if !is_ready {
                open.push((next, true));
                let is_choice = matches!(self.columns.expr(next), Expr::Select { .. });
                let computed = operands.into_iter().filter(|operand| !self.is_constant(*operand));
                let first = open.len();
                open.extend(computed.map(|operand| (operand, false)));
                if !is_choice {
                    open[first..].reverse();
                }
                continue;
            }
            // Each use of a constant is a separate operation, so that equal constants do not change the
            // shape.
            let operands: Vec<usize> = operands
                .into_iter()
                .map(|operand| match places.get(&operand) {
                    Some(place) => *place,
                    None => self.push(&mut trace, operand, Vec::new()),
                })
                .collect();
            let place = self.push(&mut trace, next, operands);
            places.insert(next, place);
        }
        trace
    }

    /// The place from which code loads a stored column. Values of features are loaded from the row instead.
    fn stored(&self, column: ColumnId) -> Option<i64> {
        let is_input = matches!(self.columns.expr(column), Expr::Input { .. });
        self.places.get(column).filter(|_| !is_input)
    }

    fn is_constant(&self, column: ColumnId) -> bool {
        matches!(self.columns.expr(column), Expr::Const(_))
    }

    /// Adds the operation of a column to a trace. Returns the operation's index.
    fn push(&mut self, trace: &mut Trace, column: ColumnId, operands: Vec<usize>) -> usize {
        let types: Vec<Scalar> = operands.iter().map(|at| trace.nodes[*at].ty).collect();
        let operation = self.operation(column, &types);
        trace.push(column, operation, operands)
    }

    /// The operation of a column, the type of its result and its parameters.
    fn operation(
        &mut self,
        column: ColumnId,
        operands: &[Scalar],
    ) -> (ShapeOp, Scalar, Vec<OperationParameter>) {
        let own = element(self.columns.column_type(column));
        let number = |n: usize| OperationParameter::Number(n as i64);
        match self.columns.expr(column) {
            Expr::Input { feature, float } => {
                let place = self.inputs.column(*feature);
                let parameters = vec![
                    OperationParameter::Number((*feature).into()),
                    OperationParameter::Number(place.into()),
                ];
                (ShapeOp::Input, scalar(*float), parameters)
            }
            Expr::Const(value) => {
                let ty = narrowest_type(std::slice::from_ref(value));
                (ShapeOp::Const, ty, vec![OperationParameter::Constant(*value)])
            }
            Expr::Unary(op, _) => {
                let ty = match (op, operands) {
                    (Unary::Cast(ColumnType::I64), [from]) if !from.is_float() && *from != Scalar::I64 => {
                        Scalar::I32
                    }
                    _ => own,
                };
                (ShapeOp::Unary(*op), ty, Vec::new())
            }
            Expr::Binary(op, _, by) => match self.reciprocal(*op, *by) {
                Some(parts) => {
                    let part = |part| OperationParameter::Constant(ColumnValue::F64(part));
                    (ShapeOp::Quotient, own, parts.map(part).to_vec())
                }
                None => (ShapeOp::Binary(*op), own, Vec::new()),
            },
            Expr::Select { .. } => {
                let is_narrow = own == Scalar::I64 && !operands.contains(&Scalar::I64);
                let ty = if is_narrow { Scalar::I32 } else { own };
                (ShapeOp::Select, ty, Vec::new())
            }
            Expr::Step { edges, .. } => {
                let first = self.edges(edges);
                let parameters = vec![OperationParameter::Number(first), number(edges.at.len())];
                (ShapeOp::Step(edges.ties), Scalar::I32, parameters)
            }
            Expr::Table { table, .. } => {
                let (first, ty) = self.table(table);
                let parameters = vec![OperationParameter::Number(first), number(table.values.len().max(1))];
                (ShapeOp::Table(bounds(table.rule)), ty, parameters)
            }
            Expr::Pick { of, values } => {
                let (first, ty) = self.constants(values);
                let is_clamped = !self.is_below(*of, values.len());
                let parameters =
                    vec![OperationParameter::Number(first), number(values.len().saturating_sub(1))];
                (ShapeOp::Pick { is_clamped }, ty, parameters)
            }
            // Sums are stored columns.
            Expr::Dot { .. } | Expr::SquaredDistance { .. } | Expr::Trees { .. } => {
                let place = self.places.get(column).unwrap_or(0);
                (ShapeOp::Stored, own, vec![OperationParameter::Number(place)])
            }
            Expr::Bit { bit, .. } => {
                // Higher bits equal the sign bit.
                let sign = if operands == [Scalar::I64] { 63 } else { 31 };
                (ShapeOp::Bit, Scalar::I1, vec![OperationParameter::Number(i64::from(*bit).min(sign))])
            }
        }
    }

    /// The reciprocal of the second operand, if the operation divides doubles by a constant that has one.
    fn reciprocal(&self, op: Binary, by: ColumnId) -> Option<[f64; 2]> {
        match self.columns.expr(by) {
            Expr::Const(ColumnValue::F64(by)) if op == Binary::Divide => functions::reciprocal(*by),
            _ => None,
        }
    }

    /// Whether all values of a column of integers are indices below a length.
    fn is_below(&self, column: ColumnId, length: usize) -> bool {
        let Expr::Table { table, .. } = self.columns.expr(column) else { return false };
        let fits = |value: &ColumnValue| usize::try_from(value.to_i64()).is_ok_and(|n| n < length);
        table.values.iter().chain([&table.other, &table.missing]).all(fits)
    }

    fn edges(&mut self, edges: &Arc<Edges>) -> i64 {
        let values: Vec<ColumnValue> = edges.at.iter().copied().map(ColumnValue::F64).collect();
        self.entries(Arc::as_ptr(edges) as usize, Scalar::F64, values.iter())
    }

    fn table(&mut self, table: &Arc<CategoryTable>) -> (i64, Scalar) {
        // A table has at least one category, since values between -1 and 0 may have the first category.
        let first = table.values.is_empty().then_some(&table.other);
        let all = || [&table.other, &table.missing].into_iter().chain(&table.values).chain(first);
        let ty = all().map(|value| narrowest_type(std::slice::from_ref(value))).max_by_key(|ty| ty.bytes());
        let ty = ty.unwrap_or(Scalar::I32);
        (self.entries(Arc::as_ptr(table) as usize, ty, all()), ty)
    }

    fn constants(&mut self, values: &Arc<[ColumnValue]>) -> (i64, Scalar) {
        let ty = narrowest_type(values);
        (self.entries(Arc::as_ptr(values).cast::<u8>() as usize, ty, values.iter()), ty)
    }

    /// Position of some values in the pool of type `ty`. Adds them unless the values at `address` were added
    /// before.
    fn entries<'v>(
        &mut self,
        address: usize,
        ty: Scalar,
        values: impl Iterator<Item = &'v ColumnValue>,
    ) -> i64 {
        let first = self.pools.len(ty) as i64;
        if let Some(position) = self.table_positions.get(&address) {
            return *position;
        }
        self.table_positions.insert(address, first);
        for value in values {
            match value {
                ColumnValue::F32(_) | ColumnValue::F64(_) => self.pools.push_float(ty, value.to_f64()),
                ColumnValue::I64(_) | ColumnValue::Bool(_) => self.pools.push_integer(ty, value.to_i64()),
            }
        }
        first
    }
}

/// The element type that holds all values of a column type.
fn element(column_type: ColumnType) -> Scalar {
    match column_type {
        ColumnType::F32 => Scalar::F32,
        ColumnType::F64 => Scalar::F64,
        ColumnType::I64 => Scalar::I64,
        ColumnType::Bool => Scalar::I1,
    }
}

/// The narrowest element type that holds some values of one column type.
fn narrowest_type(values: &[ColumnValue]) -> Scalar {
    let own = values.first().map_or(Scalar::I64, |value| element(value.column_type()));
    let is_narrow = || values.iter().all(|value| i32::try_from(value.to_i64()).is_ok());
    if own == Scalar::I64 && is_narrow() { Scalar::I32 } else { own }
}

/// The values that a rule turns into categories.
fn bounds(rule: CategoryRule) -> CategoryBounds {
    let all = CategoryBounds { takes_negative_zero: false, is_whole: false, below: None };
    match rule {
        CategoryRule::Truncated => CategoryBounds { takes_negative_zero: true, ..all },
        CategoryRule::Positive { below } => {
            CategoryBounds { below: Some(below).filter(|below| *below < MOST_CATEGORIES), ..all }
        }
        CategoryRule::Whole => CategoryBounds { is_whole: true, ..all },
    }
}
