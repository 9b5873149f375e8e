//! Linear leaves, which add a constant and, term by term, a coefficient times the value of a feature.
//!
//! Walks end with the index of a leaf. The leaf's terms are added in their order, each operation rounded.
//! Values are loaded from the input of the call, since copies may hold bins, or only the features that nodes
//! test. Leaves that add computed columns read the row of the walk instead, which has all columns. A vector
//! of walks adds one term per round, for as many rounds as the longest leaf has terms. Lanes with shorter
//! leaves keep their sums.

use super::kernel_builder::KernelBuilder;
use super::linear_tables::LinearTables;
use super::row_source::distances;
use super::walk::{WalkContext, WalkLane};
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, BuildStmts, Builder, Cast, Cmp, Gather, Scalar, Ty, Value};
use crate::rows::{RowAddress, RowLanes};
use sched_forest::LinearMissing;
use sched_nest::Axis;

/// Values of leaves given by their indices, for a single walk or for a vector of walks.
pub(super) fn values(k: &mut KernelBuilder, context: &WalkContext, lane: &WalkLane, leaf: Value) -> Value {
    let width = lane.walk.width;
    let sums = k.ports.accumulator;
    let Some(tables) = k.ports.linear else { return k.b.float(ty_of(sums, width), 0.0) };
    let b = &mut k.b;
    let first = load_from_records(b, tables.terms, Scalar::I32, (8, 0), leaf);
    let count = load_from_records(b, tables.terms, Scalar::I32, (8, 4), leaf);
    let bytes = sums.bytes();
    let constant = load_from_records(b, tables.values, sums, (2 * bytes, 0), leaf);
    let plain = load_from_records(b, tables.values, sums, (2 * bytes, bytes), leaf);
    let rounds = most_terms_of_lane(k, context, lane, count, tables.most_terms);
    let row = match k.ports.linear_leaves_read_walked_rows {
        true => RowAddress { table: None, ..lane.walk.row },
        false => row_of_call(k, context, lane),
    };
    let features = features_of(k, context, &tables);
    let number = k.b.number_type(width);
    let none_missing = k.b.int_of(number.with(Scalar::I1), 0);
    let zero = k.b.int(0);
    let ended = k.for_loop((zero, rounds, 1), &[constant, none_missing], |k, round, inside| {
        let (sum, missing) = (inside[0], inside[1]);
        let b = &mut k.b;
        let (at, exists) = term(b, round, first, count);
        let feature = load_from_records(b, features, Scalar::I32, (4, 0), at);
        let coefficient = load_from_records(b, tables.coefficients, sums, (bytes, 0), at);
        let value = row.load(b, feature);
        let is_missing = b.cmp(Cmp::Uno, value, value);
        let next = add_product(b, sum, coefficient, value);
        match exists {
            None => vec![next, b.bin(Bin::Or, missing, is_missing)],
            Some(exists) => {
                let is_missing = b.bin(Bin::And, is_missing, exists);
                vec![b.select(exists, next, sum), b.bin(Bin::Or, missing, is_missing)]
            }
        }
    });
    if takes_leaf_value(k) { k.b.select(ended[1], plain, ended[0]) } else { ended[0] }
}

/// Sums of the terms of leaves whose constants are in leaf vectors; -0.0 for leaves without terms.
pub(super) fn terms(
    k: &mut KernelBuilder,
    context: &WalkContext,
    lane: &WalkLane,
    (tables, leaf): (&LinearTables<BufferId>, Value),
) -> Value {
    let one_tree = context.walks.over == Axis::Row || lane.walk.width == 1;
    let b = &mut k.b;
    let count = match one_tree {
        true => b.load_index(Scalar::I32, Address::element(tables.most_terms, lane.tree, Scalar::I32)),
        false => load_from_records(b, tables.terms, Scalar::I32, (8, 4), leaf),
    };
    let zero = b.int_of(b.ty(count), 0);
    let has_terms = b.cmp(Cmp::Lt, zero, count);
    let any_has = b.any(has_terms);
    let nothing = ty_of(k.ports.accumulator, lane.walk.width);
    let sums =
        k.if_else(any_has, |k| vec![values(k, context, lane, leaf)], |k| vec![k.b.float(nothing, -0.0)]);
    sums[0]
}

/// Whether linear leaves add their leaf value in place of their sum if the value of a term is missing.
pub(super) fn takes_leaf_value(k: &KernelBuilder) -> bool {
    let takes = k.ports.lowering.hir.forest.linear_missing == LinearMissing::LeafValue;
    takes && !seeded(Fault::LinearForgetsMissing)
}

/// The table with the positions of the terms' values in a row: features, or columns of a copy that does not
/// hold all features.
pub(super) fn features_of(
    k: &KernelBuilder,
    context: &WalkContext,
    tables: &LinearTables<BufferId>,
) -> BufferId {
    let reads_copy = k.ports.linear_leaves_read_walked_rows && context.plan.storage.names_columns;
    if reads_copy { tables.columns } else { tables.features }
}

/// Number of terms of the longest leaf of a lane.
fn most_terms_of_lane(
    k: &mut KernelBuilder,
    context: &WalkContext,
    lane: &WalkLane,
    count: Value,
    most_terms: BufferId,
) -> Value {
    if lane.walk.width == 1 {
        return count;
    }
    if context.walks.over == Axis::Row {
        return k.b.load_index(Scalar::I32, Address::element(most_terms, lane.tree, Scalar::I32));
    }
    let terms = k.ports.lowering.hir.forest.linear.iter().flatten().map(|leaf| leaf.terms.len());
    k.b.int(terms.max().unwrap_or(0) as i64)
}

/// Row of a walk, or rows of a vector of walks, in the input of the call.
fn row_of_call(k: &mut KernelBuilder, context: &WalkContext, lane: &WalkLane) -> RowAddress {
    let (columns, width) = (k.ports.features(), lane.walk.width);
    let index = k.b.mul_int(lane.row_number, columns);
    let lanes = (width > 1).then(|| {
        let distance = context.rows.step.map(|step| distances(&mut k.b, step * columns, width));
        RowLanes { distance, adjacent: false, mask: lane.mask }
    });
    let (buffer, element) = (k.ports.rows, k.ports.input);
    RowAddress { buffer, index, offset: 0, element, stride: 1, lanes, table: None }
}

pub(super) fn ty_of(scalar: Scalar, width: u16) -> Ty {
    if width == 1 { Ty::of(scalar) } else { Ty::vector(scalar, width) }
}

/// Loads numbers from records of a table, which have `stride` bytes and the number at `offset`.
/// Integers are converted to element numbers.
pub(super) fn load_from_records(
    b: &mut Builder,
    buffer: BufferId,
    scalar: Scalar,
    (stride, offset): (u32, u32),
    index: Value,
) -> Value {
    if b.ty(index).lanes > 1 {
        let base = b.int(0);
        return b.gather(scalar, Gather { buffer, base, index, stride, offset, mask: None });
    }
    let at = Address { buffer, index, stride, offset };
    if scalar.is_float() { b.load(Ty::of(scalar), at) } else { b.load_index(scalar, at) }
}

/// Indices of the terms of a round, and the mask of the lanes that have a term; other lanes read term 0. A
/// single walk has a term in each of its rounds, and no mask.
fn term(b: &mut Builder, round: Value, first: Value, count: Value) -> (Value, Option<Value>) {
    let ty = b.ty(first);
    if ty.lanes == 1 {
        return (b.add(first, round), None);
    }
    let round = b.cast(Cast::Trunc, round, Ty::of(Scalar::I32));
    let round = b.splat(round, ty.lanes);
    let exists = b.cmp(Cmp::Lt, round, count);
    let (at, zero) = (b.add(first, round), b.int_of(ty, 0));
    (b.select(exists, at, zero), Some(exists))
}

/// `sum + coefficient * value`, each operation rounded to the type of sums. Products are computed in
/// the wider type of both factors.
pub(super) fn add_product(b: &mut Builder, sum: Value, coefficient: Value, value: Value) -> Value {
    let sums = b.ty(sum);
    let wide = if b.ty(value).scalar == Scalar::F64 { b.ty(value) } else { sums };
    let (coefficient, value) = (b.cast(Cast::Float, coefficient, wide), b.cast(Cast::Float, value, wide));
    let product = b.mul(coefficient, value);
    let product = b.cast(Cast::Float, product, sums);
    b.add(sum, product)
}
