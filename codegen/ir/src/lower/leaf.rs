//! What happens with the leaves that walks end in: their values are added up, or their numbers stored.

use super::scope::Kernel;
use super::sums::Sums;
use super::walk::{Around, Lane};
use crate::lir::{Address, Build, Cast, Scalar, Ty, Value};
use crate::plan::SumAccess;
use crate::repr::LeafValue;
use sched_lang::nest::Sort;

/// A single walk at its end.
#[derive(Clone, Copy)]
struct Ended {
    /// The row's number.
    number: Value,
    tree: Value,
}

impl Kernel<'_> {
    /// Uses the leaves of a lane. `sum` is the sum carried in a register, if there is one.
    pub(super) fn use_leaf(
        &mut self,
        around: &Around,
        lane: &Lane,
        node: Value,
        sum: Option<Value>,
    ) -> Option<Value> {
        let steps = around.plan.steps.to_leaf();
        let state = &lane.walk.state;
        let Some(sums) = around.sums else {
            let number = around.layout.leaf_number(&mut self.b, around.buffers, state, node, steps);
            self.each(around, lane, number, |k, ended, number| k.store_leaf_number(ended, number));
            return None;
        };
        let leaf = around.layout.leaf(&mut self.b, around.buffers, state, node, steps);
        match (leaf, sum) {
            (LeafValue::Scalar(value), None)
                if lane.walk.width > 1 && around.plan.sums == SumAccess::Vector =>
            {
                self.add_side_by_side(&sums, lane, value);
            }
            (LeafValue::Scalar(value), None) => self.each(around, lane, value, |k, ended, value| {
                let index = k.margin_of(&sums, ended);
                k.add_to(&sums, index, value);
            }),
            (LeafValue::Vector(place), None) => self.each(around, lane, place, |k, ended, place| {
                let place = k.b.cast(Cast::ZExt, place, Ty::I64);
                k.add_vector(&sums, ended, place);
            }),
            (LeafValue::Scalar(values) | LeafValue::Vector(values), Some(mut sum)) => {
                // In order, so that the sum is the one that a single walk after the other makes.
                for walk in 0..lane.count {
                    let mut value = self.walk_of(lane, values, walk);
                    if matches!(leaf, LeafValue::Vector(_)) {
                        let place = self.b.cast(Cast::ZExt, value, Ty::I64);
                        value = self.vector_element(place);
                    }
                    sum = self.b.add(sum, value);
                }
                return Some(sum);
            }
        }
        None
    }

    /// One walk's part of a lane's value.
    fn walk_of(&mut self, lane: &Lane, value: Value, walk: u16) -> Value {
        if lane.walk.width > 1 { self.b.extract(value, walk) } else { value }
    }

    /// Uses the walks of a lane one after the other.
    fn each(
        &mut self,
        around: &Around,
        lane: &Lane,
        value: Value,
        mut body: impl FnMut(&mut Self, Ended, Value),
    ) {
        for walk in 0..lane.count {
            let value = self.walk_of(lane, value, walk);
            let ahead = around.walks.iter.step * i64::from(walk);
            let (rows, trees) = if around.walks.over == Sort::Row { (ahead, 0) } else { (0, ahead) };
            let ended =
                Ended { number: self.b.add_int(lane.number, rows), tree: self.b.add_int(lane.tree, trees) };
            match lane.mask {
                None => body(self, ended, value),
                Some(mask) => {
                    let exists = self.b.extract(mask, walk);
                    self.when(exists, |k| body(k, ended, value));
                }
            }
        }
    }

    /// Adds a vector of leaf values to the sums of rows that lie side by side.
    fn add_side_by_side(&mut self, sums: &Sums, lane: &Lane, value: Value) {
        let index = self.sums_of(sums, lane);
        let at = Address::element(sums.buffer, index, self.accumulator);
        let ty = self.b.ty(value);
        match lane.mask {
            None => {
                let old = self.b.load(ty, at);
                let sum = self.b.add(old, value);
                self.b.store(at, sum);
            }
            Some(mask) => {
                let old = self.b.load_masked(ty, at, mask);
                let sum = self.b.add(old, value);
                self.b.store_masked(at, sum, mask);
            }
        }
    }

    /// The sums that a vector of rows adds to, one after the other.
    fn sums_of(&mut self, sums: &Sums, lane: &Lane) -> Value {
        let row = self.b.mul_int(lane.number, self.margins_per_row());
        let first = self.b.add(sums.origin, row);
        let (Some(block), Some((buffer, width))) = (sums.block, self.targets) else { return first };
        let margin = self.b.load_index(width, Address::element(buffer, lane.tree, width));
        let column = self.b.mul_int(margin, i64::from(block));
        self.b.add(first, column)
    }

    /// The accumulator of the margin that the walk's tree adds to.
    fn margin_of(&mut self, sums: &Sums, ended: Ended) -> Value {
        let margins = self.margins_per_row();
        let row = self.b.mul_int(ended.number, margins);
        let first = self.b.add(sums.origin, row);
        match self.targets {
            None => first,
            Some((buffer, width)) => {
                let margin = self.b.load_index(width, Address::element(buffer, ended.tree, width));
                self.b.add(first, margin)
            }
        }
    }

    fn vector_element(&mut self, index: Value) -> Value {
        match self.vectors {
            Some(vectors) => {
                let at = Address::element(vectors, index, self.accumulator);
                self.b.load(Ty::of(self.accumulator), at)
            }
            None => self.b.float(Ty::of(self.accumulator), 0.0),
        }
    }

    /// Adds a leaf's vector to all margins of the row.
    fn add_vector(&mut self, sums: &Sums, ended: Ended, first: Value) {
        let margins = self.margins_per_row();
        let row = self.b.mul_int(ended.number, margins);
        let to = self.b.add(sums.origin, row);
        let (zero, end) = (self.b.int(0), self.b.int(margins));
        self.for_loop((zero, end, 1), &[], |k, margin, _| {
            let source = k.b.add(first, margin);
            let value = k.vector_element(source);
            let index = k.b.add(to, margin);
            k.add_to(sums, index, value);
            Vec::new()
        });
    }

    /// Stores the leaf's number in the model's order of trees.
    fn store_leaf_number(&mut self, ended: Ended, number: Value) {
        let trees = self.lowering.hir.forest.trees.len() as i64;
        let column = match self.sources {
            Some(sources) => {
                self.b.load_index(Scalar::I32, Address::element(sources, ended.tree, Scalar::I32))
            }
            None => ended.tree,
        };
        let row = self.b.mul_int(ended.number, trees);
        let index = self.b.add(row, column);
        self.b.store(Address::element(self.out, index, Scalar::I32), number);
    }
}
