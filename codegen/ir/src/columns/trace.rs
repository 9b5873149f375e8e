//! The shape of an expression, apart from its parameters.

use super::layers::{Places, is_sum};
use super::numbers::Parameter;
use super::pools::Pools;
use crate::bytes::scalar;
use crate::lir::Scalar;
use crate::rows::features::FeatureSubset;
use sched_columns::{
    Binary, CategoryTable, ColumnId, ColumnType, ColumnValue, Columns, Edges, Expr, Ties, Unary,
};
use sched_forest::CategoryRule;
use std::collections::HashMap;
use std::sync::Arc;

/// An operation without its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum ShapeOp {
    /// The value of a feature. Parameters: the feature, and its place in transposed rows.
    Input,
    /// A stored column. Parameter: its place.
    Stored,
    /// A constant. Parameter: the constant.
    Const,
    /// An operation on one value.
    Unary(Unary),
    /// An operation on two values.
    Binary(Binary),
    /// The second or third value, by the first one.
    Select,
    /// The number of edges that a value reaches. Parameters: the first edge in its pool, and the number of
    /// edges.
    Step(Ties),
    /// The entry of a table by category, where entries follow those of other and of missing values.
    /// Parameters: the first entry in its pool, and the number of categories.
    Table(Bounds),
    /// The constant at an index. Parameters: the first constant in its pool, and the last index.
    Pick {
        /// Whether an index may be beyond the constants.
        is_clamped: bool,
    },
    /// A bit of an integer. Parameter: the number of the bit.
    Bit,
}

/// The values that have a category, besides the number of categories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Whether values between -1 and 0 have the category 0.
    pub takes_negative_zero: bool,
    /// Whether values with a fraction have none.
    pub is_whole: bool,
    /// The first value that is too large, if it may be below the number of categories.
    pub below: Option<f64>,
}

/// An operation of a shape, with its operands before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
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
    pub nodes: Vec<Node>,
    /// The parameters of each operation.
    pub parameters: Vec<Vec<Parameter>>,
    /// The column that each operation computes.
    pub columns: Vec<ColumnId>,
}

impl Trace {
    /// Adds an operation, its type and its parameters, and returns its place.
    fn push(
        &mut self,
        column: ColumnId,
        (op, ty, parameters): (ShapeOp, Scalar, Vec<Parameter>),
        operands: Vec<usize>,
    ) -> usize {
        self.nodes.push(Node { op, operands, ty });
        self.parameters.push(parameters);
        self.columns.push(column);
        self.nodes.len() - 1
    }
}

/// Takes expressions apart. Tables go to the pools, each once.
pub struct Tracer<'a> {
    /// The expressions.
    pub columns: &'a Columns,
    /// The features in transposed rows.
    pub inputs: &'a FeatureSubset,
    /// The pools.
    pub pools: Pools,
    /// Position of each table, by the address of its contents, and its type.
    pub positions: HashMap<usize, i64>,
    /// Places of the stored columns so far.
    pub(super) places: Places,
}

/// Most categories of a table: singles count as far.
const MOST_CATEGORIES: f64 = 16_777_216.0;

impl Tracer<'_> {
    /// The shape and the parameters of a column.
    pub fn trace(&mut self, column: ColumnId) -> Trace {
        let mut trace = Trace::default();
        let mut places: HashMap<ColumnId, usize> = HashMap::new();
        // Operands first, in the order in which the expression names them. The other way round for choices:
        // in a chain of them, each condition then stands beside its choice, and few masks wait.
        let mut open = vec![(column, false)];
        while let Some((next, is_ready)) = open.pop() {
            if places.contains_key(&next) {
                continue;
            }
            if let Some(place) = self.stored(next, column) {
                let ty = element(self.columns.column_type(next));
                let place =
                    trace.push(next, (ShapeOp::Stored, ty, vec![Parameter::Number(place)]), Vec::new());
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
            // Each use of a constant is an operation of its own: constants that happen to be equal change no
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

    /// The place of a stored column that the trace of `traced` loads. Values of features are loaded from the
    /// row.
    fn stored(&self, column: ColumnId, traced: ColumnId) -> Option<i64> {
        let is_loaded = match self.columns.expr(column) {
            Expr::Input { .. } => false,
            expr => is_sum(expr) || column != traced,
        };
        self.places.get(column).filter(|_| is_loaded)
    }

    fn is_constant(&self, column: ColumnId) -> bool {
        matches!(self.columns.expr(column), Expr::Const(_))
    }

    /// Adds the operation of a column to a trace, and returns its place.
    fn push(&mut self, trace: &mut Trace, column: ColumnId, operands: Vec<usize>) -> usize {
        let types: Vec<Scalar> = operands.iter().map(|at| trace.nodes[*at].ty).collect();
        let operation = self.operation(column, &types);
        trace.push(column, operation, operands)
    }

    /// An operation, the type of its result and its parameters.
    fn operation(&mut self, column: ColumnId, operands: &[Scalar]) -> (ShapeOp, Scalar, Vec<Parameter>) {
        let own = element(self.columns.column_type(column));
        let number = |n: usize| Parameter::Number(n as i64);
        match self.columns.expr(column) {
            Expr::Input { feature, float } => {
                let place = self.inputs.column(*feature);
                let parameters = vec![Parameter::Number((*feature).into()), Parameter::Number(place.into())];
                (ShapeOp::Input, scalar(*float), parameters)
            }
            Expr::Const(value) => {
                let ty = narrowest_type(std::slice::from_ref(value));
                (ShapeOp::Const, ty, vec![Parameter::Constant(*value)])
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
            Expr::Binary(op, ..) => (ShapeOp::Binary(*op), own, Vec::new()),
            Expr::Select { .. } => {
                let is_narrow = own == Scalar::I64 && !operands.contains(&Scalar::I64);
                let ty = if is_narrow { Scalar::I32 } else { own };
                (ShapeOp::Select, ty, Vec::new())
            }
            Expr::Step { edges, .. } => {
                let first = self.edges(edges);
                let parameters = vec![Parameter::Number(first), number(edges.at.len())];
                (ShapeOp::Step(edges.ties), Scalar::I32, parameters)
            }
            Expr::Table { table, .. } => {
                let (first, ty) = self.table(table);
                let parameters = vec![Parameter::Number(first), number(table.values.len().max(1))];
                (ShapeOp::Table(bounds(table.rule)), ty, parameters)
            }
            Expr::Pick { of, values } => {
                let (first, ty) = self.constants(values);
                let is_clamped = !self.is_below(*of, values.len());
                let parameters = vec![Parameter::Number(first), number(values.len().saturating_sub(1))];
                (ShapeOp::Pick { is_clamped }, ty, parameters)
            }
            // Sums are stored.
            Expr::Dot { .. } | Expr::SquaredDistance { .. } | Expr::Trees { .. } => {
                let place = self.places.get(column).unwrap_or(0);
                (ShapeOp::Stored, own, vec![Parameter::Number(place)])
            }
            Expr::Bit { bit, .. } => {
                // All bits from the sign on are equal.
                let sign = if operands == [Scalar::I64] { 63 } else { 31 };
                (ShapeOp::Bit, Scalar::I1, vec![Parameter::Number(i64::from(*bit).min(sign))])
            }
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
        // At least one category, since values between -1 and 0 may have the first one.
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

    /// Position of some values in the pool of their type.
    fn entries<'v>(
        &mut self,
        address: usize,
        ty: Scalar,
        values: impl Iterator<Item = &'v ColumnValue>,
    ) -> i64 {
        let first = self.pools.len(ty) as i64;
        if let Some(position) = self.positions.get(&address) {
            return *position;
        }
        self.positions.insert(address, first);
        for value in values {
            match value {
                ColumnValue::F32(_) | ColumnValue::F64(_) => self.pools.push_float(ty, value.to_f64()),
                ColumnValue::I64(_) | ColumnValue::Bool(_) => self.pools.push_integer(ty, value.to_i64()),
            }
        }
        first
    }
}

/// The element that holds all values of a type.
fn element(column_type: ColumnType) -> Scalar {
    match column_type {
        ColumnType::F32 => Scalar::F32,
        ColumnType::F64 => Scalar::F64,
        ColumnType::I64 => Scalar::I64,
        ColumnType::Bool => Scalar::I1,
    }
}

/// The narrowest element that holds some values of one type.
fn narrowest_type(values: &[ColumnValue]) -> Scalar {
    let own = values.first().map_or(Scalar::I64, |value| element(value.column_type()));
    let is_narrow = || values.iter().all(|value| i32::try_from(value.to_i64()).is_ok());
    if own == Scalar::I64 && is_narrow() { Scalar::I32 } else { own }
}

/// The values that a rule turns into categories.
fn bounds(rule: CategoryRule) -> Bounds {
    let all = Bounds { takes_negative_zero: false, is_whole: false, below: None };
    match rule {
        CategoryRule::Truncated => Bounds { takes_negative_zero: true, ..all },
        CategoryRule::Positive { below } => {
            Bounds { below: Some(below).filter(|below| *below < MOST_CATEGORIES), ..all }
        }
        CategoryRule::Whole => Bounds { is_whole: true, ..all },
    }
}
