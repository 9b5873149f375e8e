//! Use of the leaves: their values are added to sums, or their indices stored.

use super::kernel_builder::KernelBuilder;
use super::ports::Results;
use super::sum_target::SumTarget;
use super::walk::{Lane, WalkContext};
use crate::lir::{Address, BufferId, Build, Gather, Scalar, Ty, Value};
use crate::plan::SumAccess;
use crate::repr::{LeafValue, WalkEnd, add_pieces};
use sched_nest::Axis;

/// Most margins whose additions are written out; more run in a loop.
const WRITTEN_OUT: i64 = 4;

/// A single walk at its leaf.
#[derive(Clone, Copy)]
struct EndedWalk {
    /// Number of the row.
    number: Value,
    tree: Value,
    /// Index of the row among those whose sums the thread keeps.
    place: Option<i64>,
}

impl KernelBuilder<'_> {
    /// Uses the leaves of a lane. `sum` is the sum that is carried in a register, if there is one: that
    /// of a row, or a vector of those of the lane's rows. Returns the next carried sum.
    pub(super) fn use_leaf(
        &mut self,
        context: &WalkContext,
        lane: &Lane,
        node: Value,
        sum: Option<Value>,
    ) -> Option<Value> {
        let end = WalkEnd { node, steps: context.plan.steps.to_leaf() };
        let state = &lane.walk.state;
        let Some(sums) = context.sums else {
            let found = match self.ports.results {
                Results::TreeValues => self.leaf_value(context, lane, end),
                _ => context.layout.leaf_index(&mut self.b, context.buffers, state, end),
            };
            self.each(context, lane, found, |k, ended, found| k.store_of_tree(ended, found));
            return None;
        };
        let rows_together = lane.walk.width > 1 && context.plan.sums == SumAccess::Vector;
        if let Some(vectors) = self.ports.vectors.filter(|_| rows_together) {
            self.add_by_margin(context, (&sums, vectors), lane, end);
            return None;
        }
        let leaf = match context.layout.leaf(&mut self.b, context.buffers, state, end) {
            LeafValue::Linear(leaf) => LeafValue::Scalar(self.linear_value(context, lane, leaf)),
            value => value,
        };
        match (leaf, sum) {
            (LeafValue::Scalar(value), None) if rows_together => {
                let index = sums.column(&mut self.b, lane.number, lane.tree);
                sums.add_vector(&mut self.b, index, value, lane.mask);
            }
            (LeafValue::Scalar(value), Some(sum)) if rows_together => {
                return Some(sums.sum(&mut self.b, sum, value));
            }
            (LeafValue::Scalar(value), None) => self.each(context, lane, value, |k, ended, value| {
                let index = sums.margin(&mut k.b, ended.number, ended.tree, ended.place);
                sums.add(&mut k.b, index, value);
            }),
            (LeafValue::Vector(place), None) => self.each(context, lane, place, |k, ended, place| {
                let place = k.b.to_index(place);
                k.add_leaf_vector(&sums, ended, place);
            }),
            (LeafValue::Linear(_), None) => {}
            (
                LeafValue::Scalar(values) | LeafValue::Vector(values) | LeafValue::Linear(values),
                Some(mut sum),
            ) => {
                // In order, so that the sum is bit-equal to that of walks one after the other.
                for walk in 0..lane.count {
                    let mut value = self.walk_of(lane, values, walk);
                    if matches!(leaf, LeafValue::Vector(_)) {
                        let (place, lanes) = (self.b.to_index(value), self.b.ty(sum).lanes);
                        value = self.vector_elements(place, lanes);
                    }
                    sum = sums.sum(&mut self.b, sum, value);
                }
                return Some(sum);
            }
        }
        None
    }

    /// Values of leaves that have one value each.
    fn leaf_value(&mut self, context: &WalkContext, lane: &Lane, end: WalkEnd) -> Value {
        match context.layout.leaf(&mut self.b, context.buffers, &lane.walk.state, end) {
            LeafValue::Linear(leaf) => self.linear_value(context, lane, leaf),
            LeafValue::Scalar(value) | LeafValue::Vector(value) => value,
        }
    }

    /// One walk's part of a lane's value.
    fn walk_of(&mut self, lane: &Lane, value: Value, walk: u16) -> Value {
        if lane.walk.width > 1 { self.b.extract(value, walk) } else { value }
    }

    /// Calls `body` for each walk of a lane in order.
    fn each(
        &mut self,
        context: &WalkContext,
        lane: &Lane,
        value: Value,
        mut body: impl FnMut(&mut Self, EndedWalk, Value),
    ) {
        for walk in 0..lane.count {
            let value = self.walk_of(lane, value, walk);
            let ahead = context.walks.iter.step * i64::from(walk);
            let (rows, trees) = if context.walks.over == Axis::Row { (ahead, 0) } else { (0, ahead) };
            let ended = EndedWalk {
                number: self.b.add_int(lane.number, rows),
                tree: self.b.add_int(lane.tree, trees),
                place: lane.place.map(|place| place + rows),
            };
            match lane.mask {
                None => body(self, ended, value),
                Some(mask) => {
                    let exists = self.b.extract(mask, walk);
                    self.when(exists, |k| body(k, ended, value));
                }
            }
        }
    }

    /// Loads consecutive elements of the table of leaf vectors.
    fn vector_elements(&mut self, index: Value, lanes: u16) -> Value {
        let ty = Ty::vector(self.ports.accumulator, lanes);
        match self.ports.vectors {
            Some(vectors) => self.b.load(ty, Address::element(vectors, index, ty.scalar)),
            None => self.b.float(ty, 0.0),
        }
    }

    /// Adds a leaf vector to all margins of the row: in pieces as wide as registers, or one by one if
    /// additions are atomic or a GPU's thread adds them.
    fn add_leaf_vector(&mut self, sums: &SumTarget, ended: EndedWalk, first: Value) {
        let to = sums.row(&mut self.b, ended.number, ended.place);
        if sums.atomic || self.on_device {
            let (zero, end) = (self.b.int(0), self.b.int(sums.margins));
            self.for_loop((zero, end, 1), &[], |k, margin, _| {
                let source = k.b.add(first, margin);
                let value = k.vector_elements(source, 1);
                let index = k.b.add(to, margin);
                sums.add(&mut k.b, index, value);
                Vec::new()
            });
            return;
        }
        for (margin, lanes) in add_pieces(sums.margins, sums.element.bytes()) {
            let source = self.b.add_int(first, margin);
            let value = self.vector_elements(source, lanes);
            let index = self.b.add_int(to, margin);
            sums.add_vector(&mut self.b, index, value, None);
        }
    }

    /// Adds the leaf vectors of a vector of rows, whose sums are stored margin by margin.
    fn add_by_margin(
        &mut self,
        context: &WalkContext,
        (sums, vectors): (&SumTarget, BufferId),
        lane: &Lane,
        end: WalkEnd,
    ) {
        let first = sums.column(&mut self.b, lane.number, lane.tree);
        let rows = i64::from(sums.block.unwrap_or(1));
        let one = |k: &mut Self, margin: Value| {
            let state = &lane.walk.state;
            let found = context.layout.leaf_margin(&mut k.b, context.buffers, state, end, margin);
            let value = found.unwrap_or_else(|| k.gathered_margin(context, vectors, lane, end, margin));
            let ahead = k.b.mul_int(margin, rows);
            let index = k.b.add(first, ahead);
            sums.add_vector(&mut k.b, index, value, lane.mask);
        };
        // Several margins per iteration, which share the computations on leaf indices.
        let several = sums.margins / WRITTEN_OUT * WRITTEN_OUT;
        let looped = if several > WRITTEN_OUT { several } else { 0 };
        if looped > 0 {
            let (zero, end) = (self.b.int(0), self.b.int(looped));
            self.for_loop((zero, end, WRITTEN_OUT), &[], |k, first, _| {
                for ahead in 0..WRITTEN_OUT {
                    let margin = k.b.add_int(first, ahead);
                    one(k, margin);
                }
                Vec::new()
            });
        }
        for margin in looped..sums.margins {
            let margin = self.b.int(margin);
            one(self, margin);
        }
    }

    /// Gathers one margin of the leaf vectors of a vector of walks from the table of all leaf vectors.
    fn gathered_margin(
        &mut self,
        context: &WalkContext,
        vectors: BufferId,
        lane: &Lane,
        end: WalkEnd,
        margin: Value,
    ) -> Value {
        match context.layout.leaf(&mut self.b, context.buffers, &lane.walk.state, end) {
            // A forest has either leaf vectors or linear leaves.
            LeafValue::Scalar(value) | LeafValue::Linear(value) => value,
            LeafValue::Vector(index) => {
                let element = self.ports.accumulator;
                let from = Gather {
                    buffer: vectors,
                    base: margin,
                    index,
                    stride: element.bytes(),
                    offset: 0,
                    mask: None,
                };
                self.b.gather(element, from)
            }
        }
    }

    /// Stores the result of a tree's leaf, in the model's order of trees.
    fn store_of_tree(&mut self, ended: EndedWalk, found: Value) {
        let trees = self.ports.lowering.hir.forest.trees.len() as i64;
        let column = match self.ports.sources {
            Some(sources) => {
                self.b.load_index(Scalar::I32, Address::element(sources, ended.tree, Scalar::I32))
            }
            None => ended.tree,
        };
        let row = self.b.mul_int(ended.number, trees);
        let index = self.b.add(row, column);
        let element = self.b.ty(found).scalar;
        self.b.store(Address::element(self.ports.out, index, element), found);
    }
}
