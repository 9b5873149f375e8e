//! Forests of single linear leaves: all walks of a group add a term before any of them adds the next one.
//!
//! The sums of a group stay in registers. A coefficient that is loaded serves all rows of a group, and the
//! value of a column serves all its trees. Each sum begins with the constant of its leaf and adds its terms
//! in order, each operation rounded, so that it has the bits of a single walk.

use super::kernel_builder::KernelBuilder;
use super::linear::{add_product, features_of, load_from_records, takes_leaf_value, ty_of};
use super::linear_tables::LinearTables;
use super::row_source::distances;
use super::walk::{WalkContext, WalkLane};
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, BuildStmts, Cast, Cmp, Gather, Scalar, Ty, Value};
use crate::repr::traverse::Traversal;
use crate::rows::RowAddress;
use sched_nest::Axis;
use std::ops::Range;

/// Largest number of terms of a range of columns whose additions are written out. More terms are added in a
/// loop, which takes less code.
const MOST_UNROLLED_TERMS: u32 = 32;

/// Terms that an iteration of such a loop adds, so that the instructions of the loop itself hardly count.
const TERMS_PER_ITERATION: u32 = 4;

impl WalkContext<'_> {
    /// Values of the leaves of some walks, which may be of several trees.
    pub(super) fn sums_of_terms(&self, k: &mut KernelBuilder, lanes: &[&WalkLane]) -> Vec<Value> {
        let (Traversal::Dense { columns }, Some(tables)) = (&self.plan.traversal, k.ports.linear) else {
            return Vec::new();
        };
        match columns {
            Some(columns) => {
                let group = DenseGroup::new(self, tables, lanes);
                let sums = group.open(k);
                let sums = group.add_shared_terms(k, columns, sums);
                group.close(k, sums)
            }
            None => {
                let mut values = Vec::with_capacity(lanes.len());
                for of_tree in lanes.chunk_by(|one, next| one.tree == next.tree) {
                    let group = DenseGroup::new(self, tables, of_tree);
                    let sums = group.open(k);
                    let sums = group.add_listed_terms(k, sums);
                    values.extend(group.close(k, sums));
                }
                values
            }
        }
    }
}

/// Walks that add each term together.
struct DenseGroup<'g> {
    context: &'g WalkContext<'g>,
    tables: LinearTables<BufferId>,
    lanes: &'g [&'g WalkLane],
}

/// Sums of walks in progress, as values that loops carry.
struct Sums {
    /// The sum of each lane.
    sums: Vec<Value>,
    /// For each lane, whether a term's value was missing. Empty unless leaves with missing values add their
    /// leaf value instead of the sum.
    missing: Vec<Value>,
}

/// A term that all walks of a group add.
#[derive(Clone, Copy)]
struct DenseTerm {
    /// Number of the term in its tree, an index.
    number: Value,
    /// Column of its values, an index.
    column: Value,
    /// Whether values are multiplied by coefficients.
    is_multiplied: bool,
}

/// Consecutive terms whose columns are adjacent.
#[derive(Clone, Debug)]
struct TermRange {
    /// Number of the first term.
    term: u32,
    /// The columns.
    columns: Range<u32>,
    /// Whether values are multiplied by coefficients. If all coefficients are 1, as those of table entries,
    /// they are not.
    is_multiplied: bool,
}

/// Fewest consecutive terms with coefficients of 1 that get code, or a loop, without products.
const LEAST_UNMULTIPLIED_TERMS: usize = 4;

/// Divides the terms of a range of columns into ranges with and without products. `first` is the number of
/// the first term.
fn term_ranges(k: &KernelBuilder, first: u32, columns: &Range<u32>) -> Vec<TermRange> {
    let hir = &k.ports.lowering.hir;
    let is_added =
        |term: usize| (0..hir.forest.trees.len()).all(|tree| hir.linear_terms(tree)[term].1 == 1.0);
    let added: Vec<bool> = (first as usize..).take(columns.len()).map(is_added).collect();
    let mut ranges: Vec<TermRange> = Vec::new();
    let mut start = 0;
    for run in added.chunk_by(|one, next| one == next) {
        let is_multiplied = !run[0] || run.len() < LEAST_UNMULTIPLIED_TERMS;
        let end = start + run.len() as u32;
        match ranges.last_mut().filter(|before| before.is_multiplied == is_multiplied) {
            Some(before) => before.columns.end = columns.start + end,
            None => ranges.push(TermRange {
                term: first + start,
                columns: columns.start + start..columns.start + end,
                is_multiplied,
            }),
        }
        start = end;
    }
    ranges
}

impl Sums {
    fn carried(&self) -> Vec<Value> {
        self.sums.iter().chain(&self.missing).copied().collect()
    }

    fn of_carried(carried: &[Value], lanes: usize) -> Sums {
        let (sums, missing) = carried.split_at(lanes);
        Sums { sums: sums.to_vec(), missing: missing.to_vec() }
    }
}

impl<'g> DenseGroup<'g> {
    fn new(
        context: &'g WalkContext<'g>,
        tables: LinearTables<BufferId>,
        lanes: &'g [&'g WalkLane],
    ) -> DenseGroup<'g> {
        DenseGroup { context, tables, lanes }
    }

    /// Whether a lane is a vector of trees, which all add values of one row.
    fn has_trees(&self, lane: &WalkLane) -> bool {
        lane.walk.width > 1 && self.context.walks.over == Axis::Tree
    }

    /// The sums before the first term.
    fn open(&self, k: &mut KernelBuilder) -> Sums {
        let constants = self.load_leaf_values(k, 0);
        let missing = takes_leaf_value(k).then(|| {
            let none = |lane: &&WalkLane| k.b.int_of(ty_of(Scalar::I1, lane.walk.width), 0);
            self.lanes.iter().map(none).collect()
        });
        Sums { sums: constants, missing: missing.unwrap_or_default() }
    }

    /// The values of the leaves, from the sums after the last term.
    fn close(&self, k: &mut KernelBuilder, ended: Sums) -> Vec<Value> {
        if ended.missing.is_empty() {
            return ended.sums;
        }
        let plain = self.load_leaf_values(k, 1);
        let ended = ended.sums.into_iter().zip(ended.missing).zip(plain);
        ended.map(|((sum, missing), plain)| k.b.select(missing, plain, sum)).collect()
    }

    /// For each lane, loads a number of its trees' leaves: with `number` 0 the constant, with 1 the value
    /// that replaces the sum if a term's value is missing.
    fn load_leaf_values(&self, k: &mut KernelBuilder, number: u32) -> Vec<Value> {
        let element = k.ports.accumulator;
        let bytes = element.bytes();
        let place = (2 * bytes, number * bytes);
        let mut values: Vec<Value> = Vec::with_capacity(self.lanes.len());
        let mut loaded: Vec<(Value, Value)> = Vec::new();
        for lane in self.lanes {
            let width = lane.walk.width;
            if self.has_trees(lane) {
                let index = self.tree_distances(k, lane, 2);
                let (buffer, base) = (self.tables.values, k.b.mul_int(lane.tree, 2));
                let gather =
                    Gather { buffer, base, index, stride: bytes, offset: number * bytes, mask: None };
                values.push(k.b.gather(element, gather));
                continue;
            }
            let known = loaded.iter().find(|(tree, _)| *tree == lane.tree).map(|(_, value)| *value);
            let value = known.unwrap_or_else(|| {
                load_from_records(&mut k.b, self.tables.values, element, place, lane.tree)
            });
            loaded.push((lane.tree, value));
            values.push(k.b.splat(value, width));
        }
        values
    }

    /// Distances from a lane's first tree to each of its trees, in elements of a table with `elements`
    /// elements for each tree. Lanes beyond the last tree have the last tree's distance.
    fn tree_distances(&self, k: &mut KernelBuilder, lane: &WalkLane, elements: i64) -> Value {
        let width = lane.walk.width;
        let step = self.context.walks.iter.step * elements;
        let distance = distances(&mut k.b, step, width);
        let last = k.b.int_of(Ty::vector(Scalar::I32, width), step * (i64::from(lane.count) - 1));
        if lane.count < width { k.b.min(distance, last) } else { distance }
    }

    /// Adds the terms of trees that add the values of the same columns.
    fn add_shared_terms(&self, k: &mut KernelBuilder, columns: &[Range<u32>], mut sums: Sums) -> Sums {
        let mut term = 0;
        for (number, range) in columns.iter().enumerate() {
            let dropped = number + 1 == columns.len() && seeded(Fault::DenseStopsShort);
            let range = range.start..range.end - u32::from(dropped);
            for part in term_ranges(k, term, &range) {
                sums = self.add_range(k, &part, sums);
            }
            term += range.len() as u32;
        }
        sums
    }

    /// Adds the terms of adjacent columns.
    fn add_range(&self, k: &mut KernelBuilder, range: &TermRange, mut sums: Sums) -> Sums {
        let TermRange { columns, is_multiplied, .. } = range;
        let (term, is_multiplied) = (i64::from(range.term), *is_multiplied);
        let whole = if columns.len() as u32 > MOST_UNROLLED_TERMS {
            columns.len() as u32 / TERMS_PER_ITERATION
        } else {
            0
        };
        let looped = columns.start..columns.start + whole * TERMS_PER_ITERATION;
        if whole > 0 {
            let (zero, end) = (k.b.int(0), k.b.int(looped.len() as i64));
            let after =
                k.for_loop((zero, end, TERMS_PER_ITERATION.into()), &sums.carried(), |k, at, inside| {
                    let mut sums = Sums::of_carried(inside, self.lanes.len());
                    for ahead in 0..i64::from(TERMS_PER_ITERATION) {
                        let number = k.b.add_int(at, term + ahead);
                        let column = k.b.add_int(at, i64::from(columns.start) + ahead);
                        self.add(k, DenseTerm { number, column, is_multiplied }, &mut sums, None);
                    }
                    sums.carried()
                });
            sums = Sums::of_carried(&after, self.lanes.len());
        }
        for column in looped.end..columns.end {
            let number = k.b.int(term + i64::from(column - columns.start));
            let column = k.b.int(column.into());
            self.add(k, DenseTerm { number, column, is_multiplied }, &mut sums, None);
        }
        sums
    }

    /// Adds the terms of one tree, whose column numbers are read from a table.
    fn add_listed_terms(&self, k: &mut KernelBuilder, sums: Sums) -> Sums {
        let Some(lane) = self.lanes.first() else { return sums };
        let first = load_from_records(&mut k.b, self.tables.terms, Scalar::I32, (8, 0), lane.tree);
        let mut count = load_from_records(&mut k.b, self.tables.terms, Scalar::I32, (8, 4), lane.tree);
        if seeded(Fault::DenseStopsShort) {
            count = k.b.add_int(count, -1);
        }
        let columns = features_of(k, self.context, &self.tables);
        let zero = k.b.int(0);
        let after = k.for_loop((zero, count, 1), &sums.carried(), |k, number, inside| {
            let mut sums = Sums::of_carried(inside, self.lanes.len());
            let at = k.b.add(first, number);
            let column = k.b.load_index(Scalar::I32, Address::element(columns, at, Scalar::I32));
            self.add(k, DenseTerm { number, column, is_multiplied: true }, &mut sums, Some(at));
            sums.carried()
        });
        Sums::of_carried(&after, self.lanes.len())
    }

    /// Adds a term to all sums. `at` is the term's index in the table of coefficients, if trees add different
    /// columns.
    fn add(&self, k: &mut KernelBuilder, term: DenseTerm, sums: &mut Sums, at: Option<Value>) {
        let mut loaded: Vec<(Value, Value)> = Vec::new();
        let mut row_value: Option<Value> = None;
        for (number, lane) in self.lanes.iter().enumerate() {
            let coefficient = term.is_multiplied.then(|| match self.has_trees(lane) {
                true => self.coefficients(k, lane, term.number),
                false => {
                    let known = loaded.iter().find(|(tree, _)| *tree == lane.tree);
                    let one = known
                        .map(|(_, value)| *value)
                        .unwrap_or_else(|| self.coefficient(k, lane, term.number, at));
                    loaded.push((lane.tree, one));
                    k.b.splat(one, lane.walk.width)
                }
            });
            // A loop over trees walks a single row, whose value is loaded once.
            let shared = row_value.filter(|_| self.context.walks.over == Axis::Tree);
            let one = shared.unwrap_or_else(|| self.value(k, lane, term.column));
            row_value = Some(one);
            let value = if k.b.ty(one).lanes == 1 { k.b.splat(one, lane.walk.width) } else { one };
            let sum = sums.sums[number];
            sums.sums[number] = match coefficient {
                Some(coefficient) => add_product(&mut k.b, sum, coefficient, value),
                None => {
                    let value = k.b.cast(Cast::Float, value, k.b.ty(sum));
                    k.b.add(sum, value)
                }
            };
            if let Some(missing) = sums.missing.get_mut(number) {
                let is_missing = k.b.cmp(Cmp::Uno, value, value);
                *missing = k.b.bin(Bin::Or, *missing, is_missing);
            }
        }
    }

    /// The value of a column for a lane's row, or for its rows, in the type of products.
    fn value(&self, k: &mut KernelBuilder, lane: &WalkLane, column: Value) -> Value {
        let (row, width) = (lane.walk.row, lane.walk.width);
        let value = if width == 1 || self.has_trees(lane) {
            RowAddress { lanes: None, table: None, ..row }.load(&mut k.b, column)
        } else if row.is_adjacent() {
            row.load_column(&mut k.b, column, width)
        } else {
            let column = k.b.cast(Cast::Trunc, column, Ty::of(Scalar::I32));
            let column = k.b.splat(column, width);
            row.load(&mut k.b, column)
        };
        self.widen(k, value)
    }

    /// The coefficient of a term of a lane's tree, in the type of products.
    fn coefficient(&self, k: &mut KernelBuilder, lane: &WalkLane, term: Value, at: Option<Value>) -> Value {
        let element = k.ports.accumulator;
        let at = at.unwrap_or_else(|| {
            let terms = k.ports.lowering.hir.linear_terms(0).len() as i64;
            let first = k.b.mul_int(lane.tree, terms);
            k.b.add(first, term)
        });
        let value = k.b.load(Ty::of(element), Address::element(self.tables.coefficients, at, element));
        self.widen(k, value)
    }

    /// The coefficients of a term of a vector of trees, in the type of products.
    fn coefficients(&self, k: &mut KernelBuilder, lane: &WalkLane, term: Value) -> Value {
        let (element, width) = (k.ports.accumulator, lane.walk.width);
        let buffer = self.tables.by_term;
        let first = k.b.mul_int(term, k.ports.lowering.hir.forest.trees.len() as i64);
        let first = k.b.add(first, lane.tree);
        let value = if self.context.walks.iter.step == 1 {
            k.b.load(Ty::vector(element, width), Address::element(buffer, first, element))
        } else {
            let index = self.tree_distances(k, lane, 1);
            let stride = element.bytes();
            k.b.gather(element, Gather { buffer, base: first, index, stride, offset: 0, mask: None })
        };
        self.widen(k, value)
    }

    /// A factor in the type of products: the wider type of both factors.
    fn widen(&self, k: &mut KernelBuilder, value: Value) -> Value {
        let wide = if k.ports.input == Scalar::F64 { Scalar::F64 } else { k.ports.accumulator };
        let ty = k.b.ty(value).with(wide);
        k.b.cast(Cast::Float, value, ty)
    }
}
