//! Lowers the operations of columns to LIR, one after the other: for one row, for several columns of a row,
//! or for several rows.

use super::functions;
use super::numbers::{OperationParameter, ParameterSource, index_of};
use super::operations::{at_most_cmp, binary, is_set, unary, widened};
use super::pools::PoolTables;
use super::runs::{ColumnPart, ColumnRun, RunNode};
use super::stored::StoredColumns;
use super::trace::{CategoryBounds, ShapeOp};
use crate::lir::{Address, Bin, BufferId, BuildStmts, Builder, Cast, Cmp, Gather, Scalar, Ty, Value};
use crate::rows::input::InputColumns;
use sched_columns::{Binary, ColumnValue, Ties};
use sched_forest::Float;

/// Source of the values of features.
#[derive(Clone, Copy, Debug)]
pub enum FeatureSource {
    /// A row of a buffer: consecutive elements from this index on.
    OfRow(BufferId, Value),
    /// The row with this number, in input columns.
    OfColumns(InputColumns, Value),
    /// A transposed block in a buffer: the index of the first row's first feature, and the number of rows of
    /// the block.
    OfBlock(BufferId, Value, u32),
}

/// Meaning of the lanes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// One column of one row.
    One,
    /// Adjacent columns of one row.
    Columns(u16),
    /// One column of adjacent rows.
    Rows(u16),
}

impl Lanes {
    /// The type of a value with these lanes.
    pub fn type_of(self, scalar: Scalar) -> Ty {
        match self {
            Lanes::One | Lanes::Columns(1) | Lanes::Rows(1) => Ty::of(scalar),
            Lanes::Columns(lanes) | Lanes::Rows(lanes) => Ty::vector(scalar, lanes),
        }
    }
}

/// Lowers the operations of a run for the columns of one group.
#[derive(Clone)]
pub(super) struct RunEvaluator<'a> {
    /// Buffers of the parameters of all columns, one for each type.
    pub pools: &'a PoolTables<BufferId>,
    /// The run.
    pub run: &'a ColumnRun,
    /// Element type of rows.
    pub element: Scalar,
    /// The values of features.
    pub features: FeatureSource,
    /// The stored columns.
    pub stored: StoredColumns,
    /// Whether the processor multiplies and adds in one instruction.
    pub has_fma: bool,
    /// The results of the operations of the head.
    pub values: Vec<Option<Value>>,
}

/// The group or column that an operation is lowered for: its number in the run, and the lanes of its values.
#[derive(Clone, Copy)]
struct At {
    place: Value,
    lanes: Lanes,
}

impl<'a> RunEvaluator<'a> {
    /// Computes the head of the group with this number.
    pub fn head(&mut self, b: &mut Builder, group: Value, lanes: Lanes) {
        self.part(b, ColumnPart::Head, At { place: group, lanes });
    }

    /// The values of the column with this number in the run, or of several columns from there on.
    pub fn tail(&self, b: &mut Builder, column: Value, lanes: Lanes) -> Value {
        let mut own = self.clone();
        own.part(b, ColumnPart::Tail, At { place: column, lanes });
        let last = self.run.nodes.len().saturating_sub(1);
        own.value(b, last, lanes)
    }

    fn part(&mut self, b: &mut Builder, part: ColumnPart, at: At) {
        let run = self.run;
        for (place, of) in run.nodes.iter().enumerate().filter(|(_, of)| of.part == part) {
            let value = self.operation(b, of, at);
            if let Some(result) = self.values.get_mut(place) {
                *result = Some(value);
            }
        }
    }

    /// The result of an operation, with all lanes.
    fn value(&self, b: &mut Builder, place: usize, lanes: Lanes) -> Value {
        let value = self.values.get(place).copied().flatten().unwrap_or_else(|| b.int(0));
        match lanes {
            Lanes::Columns(width) if b.ty(value).lanes == 1 => b.splat(value, width),
            _ => value,
        }
    }

    /// The code of an operation.
    fn operation(&self, b: &mut Builder, of: &RunNode, at: At) -> Value {
        let ty = at.lanes.type_of(of.node.ty);
        let operands: Vec<Value> =
            of.node.operands.iter().map(|place| self.value(b, *place, at.lanes)).collect();
        let parameters = of.parameters.as_slice();
        match (&of.node.op, operands.as_slice(), parameters) {
            (ShapeOp::Input, [], [feature, place]) => {
                let value = self.input(b, *feature, *place, at);
                // Expressions may read features in single precision from rows in double precision.
                b.cast(Cast::Float, value, ty)
            }
            (ShapeOp::Stored, [], [place]) => self.stored(b, *place, of.node.ty, at),
            (ShapeOp::Const, [], [constant]) => self.constant(b, *constant, ty, at),
            (ShapeOp::Unary(op), [x], []) => unary(b, *op, *x, ty),
            (ShapeOp::Binary(op), [x, y], []) => binary(b, *op, *x, *y),
            (ShapeOp::Quotient, [x, by], _) if !self.has_fma || ty.lanes == 1 => {
                binary(b, Binary::Divide, *x, *by)
            }
            (ShapeOp::Quotient, [x, by], [high, low]) => {
                let [high, low] = [high, low].map(|part| self.constant(b, *part, ty, at));
                functions::quotient(b, *x, *by, [high, low])
            }
            (ShapeOp::Select, [condition, then, otherwise], []) => {
                let [then, otherwise] = [then, otherwise].map(|x| widened(b, *x, ty.scalar));
                b.select(*condition, then, otherwise)
            }
            (ShapeOp::Step(ties), [x], [first, count]) => self.step(b, *ties, *x, (*first, *count), at),
            (ShapeOp::Table(bounds), [x], [first, categories]) => {
                let categories = self.number(b, *categories, at);
                let entry = entry_of_category(b, *bounds, *x, categories);
                self.entry(b, *first, entry, of.node.ty, at)
            }
            (ShapeOp::Pick { is_clamped }, [x], [first, last]) => {
                let index = if *is_clamped {
                    let scalar = b.ty(*x).scalar;
                    let last = self.number(b, *last, at);
                    let last = widened(b, last, scalar);
                    let zero = b.int_of(b.ty(*x), 0);
                    let index = b.max(*x, zero);
                    b.min(index, last)
                } else {
                    *x
                };
                let index = narrowed(b, index);
                self.entry(b, *first, index, of.node.ty, at)
            }
            (ShapeOp::Bit, [x], [bit]) => {
                let bit = self.number(b, *bit, at);
                let bit = widened(b, bit, b.ty(*x).scalar);
                let shifted = b.bin(Bin::Shr, *x, bit);
                let [one, zero] = [1, 0].map(|n| b.int_of(b.ty(*x), n));
                let lowest = b.bin(Bin::And, shifted, one);
                b.cmp(Cmp::Ne, lowest, zero)
            }
            // Not reached: traces give each operation its operands and parameters.
            _ => b.int_of(at.lanes.type_of(Scalar::I32), 0),
        }
    }

    /// Loads the value of a feature.
    fn input(&self, b: &mut Builder, feature: ParameterSource, place: ParameterSource, at: At) -> Value {
        let element = self.element;
        let ty = at.lanes.type_of(element);
        match (self.features, at.lanes) {
            (FeatureSource::OfRow(buffer, first), Lanes::Columns(_)) if !self.run.is_consecutive => {
                let index = self.number(b, feature, at);
                let gather =
                    Gather { buffer, base: first, index, stride: element.bytes(), offset: 0, mask: None };
                b.gather(element, gather)
            }
            (FeatureSource::OfRow(buffer, first), _) => {
                let feature = self.index(b, feature, at.place);
                let index = b.add(first, feature);
                b.load(ty, Address::element(buffer, index, element))
            }
            (FeatureSource::OfColumns(columns, row), _) => {
                let feature = self.index(b, feature, at.place);
                let start = columns.feature_start(b, feature);
                let index = b.add(start, row);
                b.load(Ty::of(element), Address::element(columns.values, index, element))
            }
            (FeatureSource::OfBlock(buffer, first, rows), _) => {
                let place = self.index(b, place, at.place);
                let before = b.mul_int(place, rows.into());
                let index = b.add(first, before);
                b.load(ty, Address::element(buffer, index, element))
            }
        }
    }

    /// The value of a stored column.
    fn stored(&self, b: &mut Builder, place: ParameterSource, element: Scalar, at: At) -> Value {
        let buffer = self.stored.buffer(element);
        let is_counted = matches!(place, ParameterSource::Consecutive(_));
        if matches!(at.lanes, Lanes::Columns(_)) && !is_counted {
            // The stored columns of a single row are consecutive.
            let (base, index) = (b.int(0), self.number(b, place, at));
            let gather = Gather { buffer, base, index, stride: element.bytes(), offset: 0, mask: None };
            return b.gather(element, gather);
        }
        let place = self.index(b, place, at.place);
        let index = self.stored.index(b, place);
        b.load(at.lanes.type_of(element), Address::element(buffer, index, element))
    }

    fn constant(&self, b: &mut Builder, constant: ParameterSource, ty: Ty, at: At) -> Value {
        match constant {
            ParameterSource::Same(OperationParameter::Constant(value)) => match value {
                ColumnValue::F32(_) | ColumnValue::F64(_) => b.float(ty, value.to_f64()),
                ColumnValue::I64(_) | ColumnValue::Bool(_) => b.int_of(ty, value.to_i64()),
            },
            ParameterSource::Same(OperationParameter::Number(n)) => b.int_of(ty, n),
            ParameterSource::Consecutive(_) => self.number(b, constant, at),
            ParameterSource::Pooled(scalar, first) => {
                let value = self.pooled(b, scalar, first, at);
                if ty.scalar == Scalar::I1 { is_set(b, value) } else { value }
            }
        }
    }

    /// The number of edges that a value reaches.
    fn step(
        &self,
        b: &mut Builder,
        ties: Ties,
        x: Value,
        (first, count): (ParameterSource, ParameterSource),
        at: At,
    ) -> Value {
        let x = b.cast(Cast::Float, x, b.ty(x).with(Scalar::F64));
        let ty = b.ty(x);
        let (first, count) = (self.index(b, first, at.place), self.index(b, count, at.place));
        let buffer = self.pools.buffer(Scalar::F64);
        let none = b.int_of(ty.with(Scalar::I32), 0);
        let zero = b.int(0);
        let reached = b.for_loop((zero, count, 1), &[none], |b, number, inside| {
            let index = b.add(first, number);
            let edge = b.load(Ty::of(Scalar::F64), Address::element(buffer, index, Scalar::F64));
            let edge = if ty.lanes > 1 { b.splat(edge, ty.lanes) } else { edge };
            let reaches = match ties {
                Ties::Above => b.cmp(at_most_cmp(), edge, x),
                Ties::Below => b.cmp(Cmp::OLt, edge, x),
            };
            let one = b.cast(Cast::ZExt, reaches, ty.with(Scalar::I32));
            vec![b.add(inside[0], one)]
        });
        reached[0]
    }

    /// An entry of a pool, `distance` entries after `first`.
    fn entry(
        &self,
        b: &mut Builder,
        first: ParameterSource,
        distance: Value,
        scalar: Scalar,
        at: At,
    ) -> Value {
        let stored = if scalar == Scalar::I1 { Scalar::I32 } else { scalar };
        let buffer = self.pools.buffer(stored);
        let (stride, offset, mask) = (stored.bytes(), 0, None);
        let value = match at.lanes {
            Lanes::One => {
                let first = self.index(b, first, at.place);
                let distance = b.to_index(distance);
                let index = b.add(first, distance);
                b.load(Ty::of(stored), Address::element(buffer, index, stored))
            }
            Lanes::Rows(_) => {
                let base = self.index(b, first, at.place);
                b.gather(stored, Gather { buffer, base, index: distance, stride, offset, mask })
            }
            Lanes::Columns(_) => {
                let (base, first) = (b.int(0), self.number(b, first, at));
                let index = b.add(first, distance);
                b.gather(stored, Gather { buffer, base, index, stride, offset, mask })
            }
        };
        if scalar == Scalar::I1 { is_set(b, value) } else { value }
    }

    /// A parameter as an index, for a single group or column.
    fn index(&self, b: &mut Builder, number: ParameterSource, place: Value) -> Value {
        index_of(b, self.pools, number, place)
    }

    /// A parameter in all lanes, as 32-bit integers.
    fn number(&self, b: &mut Builder, number: ParameterSource, at: At) -> Value {
        match number {
            ParameterSource::Same(OperationParameter::Number(n)) => {
                b.int_of(at.lanes.type_of(Scalar::I32), n)
            }
            ParameterSource::Same(OperationParameter::Constant(value)) => {
                b.int_of(at.lanes.type_of(Scalar::I32), value.to_i64())
            }
            ParameterSource::Consecutive(_) => {
                let first = self.index(b, number, at.place);
                let first = narrowed(b, first);
                match at.lanes {
                    Lanes::One | Lanes::Rows(_) => b.splat(first, at.lanes.type_of(Scalar::I32).lanes),
                    Lanes::Columns(width) => {
                        let (first, nth) = (b.splat(first, width), b.iota(at.lanes.type_of(Scalar::I32)));
                        b.add(first, nth)
                    }
                }
            }
            ParameterSource::Pooled(_, first) => self.pooled(b, Scalar::I32, first, at),
        }
    }

    /// An entry of a pool for each column from `at` on, or the same entry for all rows.
    fn pooled(&self, b: &mut Builder, scalar: Scalar, first: i64, at: At) -> Value {
        let scalar = if scalar == Scalar::I1 { Scalar::I32 } else { scalar };
        let start = Address::element(self.pools.buffer(scalar), at.place, scalar);
        let address = b.address_after(start, first);
        match at.lanes {
            Lanes::Columns(_) => b.load(at.lanes.type_of(scalar), address),
            Lanes::One => b.load(Ty::of(scalar), address),
            Lanes::Rows(lanes) => {
                let value = b.load(Ty::of(scalar), address);
                b.splat(value, lanes)
            }
        }
    }
}

/// The distance of a value's entry from the first entry of its table: 0 for values without an entry, 1 for
/// missing values, else 2 plus the category.
fn entry_of_category(b: &mut Builder, bounds: CategoryBounds, x: Value, categories: Value) -> Value {
    let ty = b.ty(x);
    let numbers = ty.with(Scalar::I32);
    let most = b.cast(Cast::IntToFloat, categories, ty);
    let zero = b.float(ty, 0.0);
    let mut has_entry = b.cmp(Cmp::OLt, x, most);
    let is_above = if bounds.takes_negative_zero {
        let least = b.float(ty, -1.0);
        b.cmp(Cmp::OLt, least, x)
    } else {
        b.cmp(Cmp::OLe, zero, x)
    };
    has_entry = b.bin(Bin::And, has_entry, is_above);
    if let Some(below) = bounds.below {
        let below = b.float(ty, not_below(below, ty.scalar));
        let is_below = b.cmp(Cmp::OLt, x, below);
        has_entry = b.bin(Bin::And, has_entry, is_below);
    }
    let inside = b.select(has_entry, x, zero);
    let category = b.cast(Cast::FloatToInt, inside, numbers);
    if bounds.is_whole {
        let whole = b.cast(Cast::IntToFloat, category, ty);
        let is_whole = b.cmp(Cmp::OLe, inside, whole);
        has_entry = b.bin(Bin::And, has_entry, is_whole);
    }
    let [none, missing, two] = [0, 1, 2].map(|n| b.int_of(numbers, n));
    let entry = b.add(category, two);
    let entry = b.select(has_entry, entry, none);
    let is_missing = b.cmp(Cmp::Uno, x, x);
    b.select(is_missing, missing, entry)
}

/// The least number of a type that is not below `x`.
fn not_below(x: f64, scalar: Scalar) -> f64 {
    let float = if scalar == Scalar::F32 { Float::F32 } else { Float::F64 };
    match float {
        Float::F64 => x,
        Float::F32 => {
            let near = x as f32;
            f64::from(if f64::from(near) < x { near.next_up() } else { near })
        }
    }
}

/// An integer that fits 32 bits, in 32 bits.
fn narrowed(b: &mut Builder, value: Value) -> Value {
    let ty = b.ty(value).with(Scalar::I32);
    b.cast(Cast::Trunc, value, ty)
}
