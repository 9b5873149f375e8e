//! Code of trees whose results are columns: walks of a row, or of a vector of rows.

use super::numbers::index_of;
use super::pools::PoolTables;
use super::stored::StoredColumns;
use super::trees::{INTERLEAVED_TREES, MissingSide, NodeForm, TreesRun};
use super::value::Lanes;
use crate::lir::{Address, Bin, BufferId, BuildStmts, Builder, Cast, Cmp, Gather, Scalar, Ty, Value};
use sched_columns::Ties;

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

impl TreesCode<'_> {
    /// Stores the results for a row, or for a vector of rows.
    pub fn emit(&self, b: &mut Builder, lanes: Lanes) {
        let (run, zero) = (self.run, b.int(0));
        self.each_unit(b, |b, unit| {
            let start = self.entry(b, (run.sum_element, run.starts), unit);
            let start = splat(b, start, lanes);
            self.store(b, unit, start);
        });
        let end = b.int(run.groups);
        b.for_loop((zero, end, 1), &[], |b, group, _| {
            let leaves = self.leaves(b, group, lanes);
            self.each_unit(b, |b, unit| {
                let mut sum = self.sum(b, unit, lanes);
                for leaf in &leaves {
                    let value = self.value(b, *leaf, unit);
                    sum = b.add(sum, value);
                }
                self.store(b, unit, sum);
            });
            Vec::new()
        });
    }

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

    /// The leaves of a group's trees in which the rows end.
    fn leaves(&self, b: &mut Builder, group: Value, lanes: Lanes) -> Vec<Value> {
        let first = b.mul_int(group, INTERLEAVED_TREES as i64);
        let roots: Vec<Value> = (0..INTERLEAVED_TREES as i64)
            .map(|nth| {
                let root = self.entry(b, (Scalar::I32, self.run.roots + nth), first);
                splat(b, root, lanes)
            })
            .collect();
        let (zero, steps) = (b.int(0), index_of(b, self.pools, self.run.steps, group));
        b.for_loop((zero, steps, 1), &roots, |b, _, nodes| {
            nodes.iter().map(|node| self.step(b, *node, lanes)).collect()
        })
    }

    /// The child of a node to which the row goes.
    fn step(&self, b: &mut Builder, node: Value, lanes: Lanes) -> Value {
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
        let value = self.operand(b, place, lanes);
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
    fn operand(&self, b: &mut Builder, place: Value, lanes: Lanes) -> Value {
        let element = self.run.operand_element;
        match lanes {
            Lanes::Rows(2..) => self.stored.of_rows(b, element, place),
            _ => {
                let place = b.to_index(place);
                let index = self.stored.index(b, place);
                b.load(Ty::of(element), Address::element(self.stored.buffer(element), index, element))
            }
        }
    }

    /// The address of a column's sum.
    fn address(&self, b: &mut Builder, unit: Value) -> Address {
        let place = b.add_int(unit, self.run.to);
        let index = self.stored.index(b, place);
        Address::element(self.stored.buffer(self.run.sum_element), index, self.run.sum_element)
    }

    fn sum(&self, b: &mut Builder, unit: Value, lanes: Lanes) -> Value {
        let address = self.address(b, unit);
        b.load(lanes.type_of(self.run.sum_element), address)
    }

    fn store(&self, b: &mut Builder, unit: Value, sum: Value) {
        let address = self.address(b, unit);
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
