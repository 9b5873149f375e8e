//! Code of trees whose results are columns: walks of rows, or of vectors of rows, in arranged loops.

use super::arrangement::{Arrangement, StageLoop};
use super::iteration::{CurrentIteration, ROW, UNIT};
use super::numbers::{ParameterSource, index_of};
use super::pools::PoolTables;
use super::stored::StoredColumns;
use super::trees::{INTERLEAVED_TREES, MissingSide, NodeForm, TreesRun};
use super::value::Lanes;
use crate::lir::{Address, Bin, BufferId, BuildStmts, Builder, Cast, Cmp, Gather, Scalar, Ty, Value};
use sched_columns::Ties;
use sched_nest::Axis;

/// Largest number of interleaved walks. Larger groups are walked in pieces.
const MOST_INTERLEAVED_WALKS: usize = 16;

/// Code of trees whose results are columns.
#[derive(Clone, Copy)]
pub(super) struct TreesCode<'a> {
    /// The trees.
    pub run: &'a TreesRun,
    /// The pools of nodes.
    pub pools: &'a PoolTables<BufferId>,
    /// Memory of operands and sums.
    pub stored: StoredColumns,
}

/// Rows and trees whose walks are interleaved, each pair relative to the point where a group begins.
struct InterleavedWalks<'p> {
    point: &'p CurrentIteration,
    pairs: &'p [(i64, i64)],
    lanes: Lanes,
}

impl TreesCode<'_> {
    /// Stores the results for a row, or for a vector of rows. The walks of adjacent trees are interleaved.
    pub fn emit(&self, b: &mut Builder, lanes: Lanes) {
        self.emit_arranged(b, &self.in_groups_of_trees(lanes), None);
    }

    /// Loops over whole groups of trees whose walks are interleaved, for a row or a vector of rows.
    fn in_groups_of_trees(&self, lanes: Lanes) -> Arrangement {
        let (trees, group) = (self.run.trees as usize, INTERLEAVED_TREES);
        let stop = trees.next_multiple_of(group) as i64;
        let groups = StageLoop::over(Axis::Tree, stop, group as i64);
        let trees = StageLoop { interleaved: true, ..StageLoop::over(Axis::Tree, group as i64, 1) };
        let rows = match lanes {
            Lanes::Rows(rows) => {
                Some(StageLoop { lanes: rows, ..StageLoop::over(Axis::Row, rows.into(), rows.into()) })
            }
            Lanes::One | Lanes::Columns(_) => None,
        };
        Arrangement::new(rows.into_iter().chain([groups, trees]).collect(), Vec::new())
    }

    /// Stores the results of a group of rows that begins with `row`, or of a single row if it is `None`, by
    /// arranged loops.
    pub fn emit_arranged(&self, b: &mut Builder, arrangement: &Arrangement, row: Option<Value>) {
        let trees = ArrangedTrees { trees: *self, arrangement, row };
        let rows = arrangement.for_axes(&[Axis::Row]);
        let starts = ArrangedTrees { arrangement: &rows, ..trees };
        starts.each_group(b, 0, &rows.before_loops(), &mut |b, group| starts.start_sums(b, group));
        trees.each_group(b, 0, &arrangement.before_loops(), &mut |b, group| trees.walk(b, group));
    }
}

/// Trees whose loops are arranged.
#[derive(Clone, Copy)]
struct ArrangedTrees<'a> {
    trees: TreesCode<'a>,
    arrangement: &'a Arrangement,
    /// The first row; `None` for a single row.
    row: Option<Value>,
}

impl ArrangedTrees<'_> {
    /// Emits the loops from position `at` on, and calls `body` for each group of interleaved walks.
    fn each_group(
        &self,
        b: &mut Builder,
        at: usize,
        point: &CurrentIteration,
        body: &mut dyn FnMut(&mut Builder, InterleavedWalks<'_>),
    ) {
        if at < self.arrangement.first_interleaved_loop() {
            return self.arrangement.for_each_value(b, at, point, &mut |b, point| {
                self.each_group(b, at + 1, point, body);
            });
        }
        let lanes = match self.arrangement.lanes(Axis::Row) {
            1 => Lanes::One,
            rows => Lanes::Rows(rows),
        };
        let pairs = self.arrangement.points(at, &point.remaining_bounds, usize::MAX).unwrap_or_default();
        for pairs in pairs.chunks(MOST_INTERLEAVED_WALKS) {
            body(b, InterleavedWalks { point, pairs, lanes });
        }
    }

    /// Stores the first summands of a group's rows.
    fn start_sums(&self, b: &mut Builder, group: InterleavedWalks<'_>) {
        let trees = &self.trees;
        trees.each_unit(b, |b, unit| {
            let start = trees.entry(b, (trees.run.sum_element, trees.run.starts), unit);
            let start = splat(b, start, group.lanes);
            for (row, _) in group.pairs {
                let stored = self.stored(b, group.point, *row);
                trees.store(b, &stored, unit, start);
            }
        });
    }

    /// Adds the leaf values of a group's trees to the sums of its rows.
    fn walk(&self, b: &mut Builder, group: InterleavedWalks<'_>) {
        let (trees, first) = (&self.trees, group.point.value(b, UNIT));
        let stored: Vec<StoredColumns> =
            group.pairs.iter().map(|(row, _)| self.stored(b, group.point, *row)).collect();
        let roots: Vec<Value> = group
            .pairs
            .iter()
            .map(|(_, tree)| {
                let root = trees.entry(b, (Scalar::I32, trees.run.roots + tree), first);
                splat(b, root, group.lanes)
            })
            .collect();
        let (zero, steps) = (b.int(0), self.steps(b, first, group.pairs));
        let leaves = b.for_loop((zero, steps, 1), &roots, |b, _, nodes| {
            let walks = nodes.iter().zip(&stored);
            walks.map(|(node, stored)| trees.step(b, stored, *node, group.lanes)).collect()
        });
        trees.each_unit(b, |b, unit| {
            let walks: Vec<_> = group.pairs.iter().zip(&stored).zip(leaves).collect();
            // Walks of one row, in the order of its trees.
            let mut rows: Vec<i64> = group.pairs.iter().map(|(row, _)| *row).collect();
            rows.sort_unstable();
            rows.dedup();
            for row in rows {
                let own = walks.iter().filter(|(((of, _), _), _)| *of == row);
                let Some(((_, stored), _)) = own.clone().next() else { continue };
                let mut sum = trees.sum(b, stored, unit, group.lanes);
                for (_, leaf) in own {
                    let value = trees.value(b, *leaf, unit);
                    sum = b.add(sum, value);
                }
                trees.store(b, stored, unit, sum);
            }
        });
    }

    /// The steps of the deepest tree of a group, whose first tree is `first`.
    fn steps(&self, b: &mut Builder, first: Value, pairs: &[(i64, i64)]) -> Value {
        let TreesCode { run, pools, .. } = self.trees;
        let mut trees: Vec<i64> = pairs.iter().map(|(_, tree)| *tree).collect();
        trees.sort_unstable();
        trees.dedup();
        if let ParameterSource::Same(_) = run.steps {
            trees.truncate(1);
        }
        let zero = b.int(0);
        trees.into_iter().fold(zero, |most, tree| {
            let tree = b.add_int(first, tree);
            let steps = index_of(b, pools, run.steps, tree);
            if most == zero { steps } else { b.max(most, steps) }
        })
    }

    /// The stored columns from a row on, which is `row` rows after the point.
    fn stored(&self, b: &mut Builder, point: &CurrentIteration, row: i64) -> StoredColumns {
        let further = point.plus[ROW] + row;
        let first = match (point.row_from(b, self.row), further) {
            (first, 0) => first,
            (Some(first), _) => Some(b.add_int(first, further)),
            (None, _) => Some(b.int(further)),
        };
        first.map_or(self.trees.stored, |first| self.trees.stored.from_row(first))
    }
}

impl TreesCode<'_> {
    /// Calls `body` for each column.
    fn each_unit(&self, b: &mut Builder, body: impl FnOnce(&mut Builder, Value)) {
        let (zero, end) = (b.int(0), b.int(self.run.units));
        if self.run.units == 1 {
            return body(b, zero);
        }
        b.for_loop((zero, end, 1), &[], |b, unit, _| {
            body(b, unit);
            Vec::new()
        });
    }

    /// The child of a node to which the row goes.
    fn step(&self, b: &mut Builder, stored: &StoredColumns, node: Value, lanes: Lanes) -> Value {
        let (run, ty) = (self.run, b.ty(node));
        let whole = self.entry(b, (Scalar::I64, run.nodes), node);
        let [low, high] = halves(b, whole);
        let (number, distance, threshold) = match run.form {
            NodeForm::PackedThreshold(bits) => {
                let (number, distance) =
                    (b.extract_bits(high, 0, bits), b.extract_bits(high, bits, 32 - bits));
                (number, distance, b.cast(Cast::Bits, low, ty.with(run.operand_element)))
            }
            NodeForm::SeparateThreshold(thresholds) => {
                (low, high, self.entry(b, (run.operand_element, thresholds), node))
            }
        };
        let place = match run.missing {
            MissingSide::Either => b.extract_bits(number, 1, 31),
            MissingSide::Left | MissingSide::Right => number,
        };
        let value = self.operand(b, stored, place, lanes);
        let decision = match (run.missing, run.ties) {
            (MissingSide::Right, Ties::Above) => b.cmp(Cmp::OLt, value, threshold),
            (MissingSide::Right, Ties::Below) => b.cmp(Cmp::OLe, value, threshold),
            (_, Ties::Above) => b.cmp(Cmp::OLe, threshold, value),
            (_, Ties::Below) => b.cmp(Cmp::OLt, threshold, value),
        };
        let mut decision = b.cast(Cast::ZExt, decision, ty);
        if run.missing == MissingSide::Either {
            let is_missing = b.cmp(Cmp::Uno, value, value);
            let is_missing = b.cast(Cast::ZExt, is_missing, ty);
            let goes_right = b.bin(Bin::And, number, is_missing);
            decision = b.bin(Bin::Or, decision, goes_right);
        }
        let child = b.add(node, distance);
        b.add(child, decision)
    }

    /// The value of a leaf for a column.
    fn value(&self, b: &mut Builder, leaf: Value, unit: Value) -> Value {
        let run = self.run;
        let (ty, units) = (b.ty(leaf), b.int_of(b.ty(leaf), run.units));
        let index = b.mul(leaf, units);
        let unit = b.cast(Cast::Trunc, unit, Ty::of(Scalar::I32));
        let unit = if ty.lanes > 1 { b.splat(unit, ty.lanes) } else { unit };
        let index = b.add(index, unit);
        self.entry(b, (run.sum_element, run.values), index)
    }

    /// Entries of a pool, one for each lane: `distance` entries after position `first`.
    fn entry(&self, b: &mut Builder, (element, first): (Scalar, i64), distance: Value) -> Value {
        let buffer = self.pools.buffer(element);
        match b.ty(distance).lanes {
            1 => {
                let distance = b.to_index(distance);
                let address = Address::element(buffer, distance, element);
                let address = b.address_after(address, first);
                b.load(Ty::of(element), address)
            }
            _ => {
                let (base, stride) = (b.int(first), element.bytes());
                b.gather(element, Gather { buffer, base, index: distance, stride, offset: 0, mask: None })
            }
        }
    }

    /// The operand of each lane: the stored column at the lane's place.
    fn operand(&self, b: &mut Builder, stored: &StoredColumns, place: Value, lanes: Lanes) -> Value {
        let element = self.run.operand_element;
        match lanes {
            Lanes::Rows(2..) => stored.of_rows(b, element, place),
            _ => {
                let place = b.to_index(place);
                let index = stored.index(b, place);
                b.load(Ty::of(element), Address::element(stored.buffer(element), index, element))
            }
        }
    }

    /// The address of a column's sum.
    fn address(&self, b: &mut Builder, stored: &StoredColumns, unit: Value) -> Address {
        let place = b.add_int(unit, self.run.to);
        let index = stored.index(b, place);
        Address::element(stored.buffer(self.run.sum_element), index, self.run.sum_element)
    }

    fn sum(&self, b: &mut Builder, stored: &StoredColumns, unit: Value, lanes: Lanes) -> Value {
        let address = self.address(b, stored, unit);
        b.load(lanes.type_of(self.run.sum_element), address)
    }

    fn store(&self, b: &mut Builder, stored: &StoredColumns, unit: Value, sum: Value) {
        let address = self.address(b, stored, unit);
        b.store(address, sum);
    }
}

/// A value in all lanes.
fn splat(b: &mut Builder, value: Value, lanes: Lanes) -> Value {
    match lanes {
        Lanes::Rows(rows @ 2..) => b.splat(value, rows),
        _ => value,
    }
}

/// The low and the high 32 bits.
fn halves(b: &mut Builder, whole: Value) -> [Value; 2] {
    match b.ty(whole).lanes {
        1 => {
            let high = b.extract_bits(whole, 32, 32);
            [whole, high].map(|half| b.cast(Cast::Trunc, half, Ty::of(Scalar::I32)))
        }
        _ => [0, 1].map(|half| b.extract_half(whole, half)),
    }
}
