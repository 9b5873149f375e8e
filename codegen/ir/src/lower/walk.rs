//! Leaf loops: groups of walks advanced together, and what happens with the leaves.

use super::nest::address;
use super::scope::{InScope, Kernel, Results};
use super::sums::Sums;
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, BufferId, Build, Scalar, Ty, Value};
use crate::mir::{Plan, Rows, Walks};
use crate::repr::{LeafValue, Representation, Row, TreeState};
use sched_lang::nest::Sort;

/// One walk of a group.
struct Lane {
    state: TreeState,
    row: Row,
    /// The row's number.
    number: Value,
    tree: Value,
}

/// What a leaf loop needs in every group.
struct Around<'w, 'k> {
    walks: &'w Walks,
    representation: &'k (dyn Representation + Send + Sync),
    buffers: Vec<BufferId>,
    /// Rows are read from here, and the number of the row that the buffer starts with.
    rows: (BufferId, Value),
    /// The tree, if the loop is over rows.
    tree: Option<(Value, TreeState)>,
    /// Where leaf values are added; none when leaf numbers are wanted.
    sums: Option<Sums>,
}

impl<'k> Kernel<'k> {
    /// A leaf loop: whole groups, then smaller ones for what is left.
    pub(super) fn walks(&mut self, walks: &Walks) {
        let around = self.around(walks);
        let stop = self.stop(&walks.iter);
        let mut at = self.b.int(walks.iter.start);
        let mut sum = self.open_sum(&around);
        let mut group = i64::from(walks.group);
        loop {
            let span = walks.iter.step * group;
            let end = self.b.add_int(stop, walks.iter.step * (1 - group));
            let first: Vec<Value> = [Some(at), sum].into_iter().flatten().collect();
            let after = self.for_loop((at, end, span), &first, |k, value, inside| {
                let sum = k.group(&around, value, group, inside.get(1).copied());
                [Some(k.b.add_int(value, span)), sum].into_iter().flatten().collect()
            });
            at = after[0];
            sum = after.get(1).copied();
            if group == 1 || seeded(Fault::RemainderDropped) {
                break;
            }
            group /= 2;
        }
        self.close_sum(&around, sum);
    }

    fn around<'w>(&mut self, walks: &'w Walks) -> Around<'w, 'k> {
        let lowering = self.lowering;
        let representation = &*lowering.layouts[&walks.layout].representation;
        let buffers = self.tables[&walks.layout].clone();
        let cached = match walks.rows {
            Rows::Cached(id) => self.caches.get(&id).copied(),
            Rows::Input => None,
        };
        let rows = match cached {
            Some(cached) => (cached.buffer, cached.first_row),
            None => (self.rows, self.b.int(0)),
        };
        let tree = (walks.over == Sort::Row).then(|| {
            let tree = self.affine(&walks.tree);
            (tree, representation.load_tree(&mut self.b, &buffers, tree))
        });
        let sums = (self.results == Results::Margins).then(|| self.sums(&walks.target));
        Around { walks, representation, buffers, rows, tree, sums }
    }

    /// Whether one register can carry the sum through the loop: one row, one margin.
    fn in_register(&self, around: &Around) -> bool {
        around.walks.over == Sort::Tree && around.sums.is_some() && self.margins_per_row() == 1
    }

    /// The sum so far. Atomic targets get what the loop added in one step at its end.
    fn open_sum(&mut self, around: &Around) -> Option<Value> {
        let sums = around.sums.filter(|_| self.in_register(around))?;
        let ty = Ty::of(self.accumulator);
        if sums.atomic {
            return Some(self.b.float(ty, 0.0));
        }
        let at = self.sum_of_row(around, &sums);
        Some(self.b.load(ty, address(sums.buffer, at, self.accumulator.bytes())))
    }

    fn close_sum(&mut self, around: &Around, sum: Option<Value>) {
        let (Some(sums), Some(sum)) = (around.sums, sum) else { return };
        let index = self.sum_of_row(around, &sums);
        let at = address(sums.buffer, index, self.accumulator.bytes());
        if sums.atomic {
            self.b.atomic_add(at, sum);
        } else {
            self.b.store(at, sum);
        }
    }

    fn sum_of_row(&mut self, around: &Around, sums: &Sums) -> Value {
        let row = self.affine(&around.walks.row);
        self.b.add(sums.origin, row)
    }

    /// Walks `group` iterations from `value` on and uses their leaves in order. Returns the sum carried on.
    fn group(&mut self, around: &Around, value: Value, group: i64, sum: Option<Value>) -> Option<Value> {
        let mut result = sum;
        self.with_var(around.walks.iter.var, InScope { value, iteration: None }, |k| {
            let lanes = k.lanes(around, group);
            let nodes = k.advance(around, &lanes);
            for (lane, node) in lanes.iter().zip(nodes) {
                result = k.use_leaf(around, lane, node, result);
            }
        });
        result
    }

    fn lanes(&mut self, around: &Around, group: i64) -> Vec<Lane> {
        let walks = around.walks;
        let first_row = self.affine(&walks.row);
        let first_tree = around.tree.map_or_else(|| self.affine(&walks.tree), |(tree, _)| tree);
        let mut lanes = Vec::new();
        for lane in 0..group {
            let ahead = lane * walks.iter.step;
            let (rows, trees) = if walks.over == Sort::Row { (ahead, 0) } else { (0, ahead) };
            let tree = self.b.add_int(first_tree, trees);
            let state = match around.tree {
                Some((_, state)) => state,
                None => around.representation.load_tree(&mut self.b, &around.buffers, tree),
            };
            let wrong = lane > 0 && lane == group - 1 && seeded(Fault::LaneReadsWrongRow);
            let row = self.row(around, first_row, if wrong { 0 } else { rows });
            lanes.push(Lane { state, row, number: self.b.add_int(first_row, rows), tree });
        }
        lanes
    }

    /// The place of the row `ahead` rows after `first`. Constant distances become offsets, so that the lanes of a
    /// group share one base address.
    fn row(&mut self, around: &Around, first: Value, ahead: i64) -> Row {
        let (buffer, origin) = around.rows;
        let features = self.features();
        let bytes = ahead.checked_mul(features).and_then(|n| n.checked_mul(i64::from(self.input.bytes())));
        let offset = bytes.and_then(|bytes| u32::try_from(bytes).ok());
        let mut relative = self.b.sub(first, origin);
        if offset.is_none() {
            relative = self.b.add_int(relative, ahead);
        }
        let index = self.b.mul_int(relative, features);
        Row { buffer, index, offset: offset.unwrap_or(0), element: self.input }
    }

    /// Takes every lane from the root to its leaf.
    fn advance(&mut self, around: &Around, lanes: &[Lane]) -> Vec<Value> {
        let Plan { straight, checked, open } = around.walks.plan;
        let root = around.representation.root(&mut self.b);
        let mut nodes = vec![root; lanes.len()];
        for _ in u32::from(seeded(Fault::WalkStopsEarly))..straight {
            nodes = self.step(around, lanes, &nodes, false);
        }
        self.checked(around, lanes, nodes, checked, open)
    }

    /// Hops with an early exit when every lane has arrived, then a loop if leaves may be deeper.
    fn checked(
        &mut self,
        around: &Around,
        lanes: &[Lane],
        nodes: Vec<Value>,
        hops: u32,
        open: bool,
    ) -> Vec<Value> {
        let hold = lanes.len() > 1;
        if hops == 0 && !open {
            return nodes;
        }
        if hops == 0 {
            return self.while_loop(
                &nodes,
                |k, nodes| k.any_on_its_way(around, lanes, nodes),
                |k, nodes| k.step(around, lanes, nodes, hold),
            );
        }
        let go_on = self.any_on_its_way(around, lanes, &nodes);
        let arrived = nodes.clone();
        self.if_else(
            go_on,
            |k| {
                let nodes = k.step(around, lanes, &nodes, hold);
                k.checked(around, lanes, nodes, hops - 1, open)
            },
            |_| arrived,
        )
    }

    /// One hop of every lane. With `hold`, lanes that have arrived stay where they are.
    fn step(&mut self, around: &Around, lanes: &[Lane], nodes: &[Value], hold: bool) -> Vec<Value> {
        let mut next = Vec::with_capacity(lanes.len());
        for (lane, node) in lanes.iter().zip(nodes) {
            let Lane { state, row, .. } = lane;
            let b = &mut self.b;
            next.push(around.representation.step(b, &around.buffers, state, row, *node, hold));
        }
        next
    }

    fn any_on_its_way(&mut self, around: &Around, lanes: &[Lane], nodes: &[Value]) -> Value {
        let mut all_done = None;
        for (lane, node) in lanes.iter().zip(nodes) {
            let done = around.representation.done(&mut self.b, &around.buffers, &lane.state, *node);
            all_done = Some(match all_done {
                None => done,
                Some(others) => self.b.bin(Bin::And, others, done),
            });
        }
        let one = self.b.int_of(Ty::I1, 1);
        let all_done = all_done.unwrap_or(one);
        self.b.bin(Bin::Xor, all_done, one)
    }

    fn use_leaf(&mut self, around: &Around, lane: &Lane, node: Value, sum: Option<Value>) -> Option<Value> {
        let Some(sums) = around.sums else {
            self.store_leaf_number(around, lane, node);
            return None;
        };
        let leaf = around.representation.leaf(&mut self.b, &around.buffers, &lane.state, node);
        match (leaf, sum) {
            (LeafValue::Scalar(value), Some(sum)) => return Some(self.b.add(sum, value)),
            (LeafValue::Vector(first), Some(sum)) => {
                let value = self.vector_element(first);
                return Some(self.b.add(sum, value));
            }
            (LeafValue::Scalar(value), None) => {
                let index = self.margin_of(&sums, lane);
                self.add_to(&sums, index, value);
            }
            (LeafValue::Vector(first), None) => self.add_vector(&sums, lane, first),
        }
        None
    }

    /// The accumulator of the margin that the lane's tree adds to.
    fn margin_of(&mut self, sums: &Sums, lane: &Lane) -> Value {
        let margins = self.margins_per_row();
        let row = self.b.mul_int(lane.number, margins);
        let first = self.b.add(sums.origin, row);
        match self.targets {
            None => first,
            Some((buffer, width)) => {
                let margin = self.b.load_index(width, address(buffer, lane.tree, width.bytes()));
                self.b.add(first, margin)
            }
        }
    }

    fn vector_element(&mut self, index: Value) -> Value {
        match self.vectors {
            Some(vectors) => {
                let at = address(vectors, index, self.accumulator.bytes());
                self.b.load(Ty::of(self.accumulator), at)
            }
            None => self.b.float(Ty::of(self.accumulator), 0.0),
        }
    }

    /// Adds a leaf's vector to all margins of the row.
    fn add_vector(&mut self, sums: &Sums, lane: &Lane, first: Value) {
        let margins = self.margins_per_row();
        let row = self.b.mul_int(lane.number, margins);
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
    fn store_leaf_number(&mut self, around: &Around, lane: &Lane, node: Value) {
        let trees = self.lowering.hir.forest.trees.len() as i64;
        let number = around.representation.leaf_number(&mut self.b, &around.buffers, &lane.state, node);
        let column = match self.sources {
            Some(sources) => self.b.load_index(Scalar::I32, address(sources, lane.tree, 4)),
            None => lane.tree,
        };
        let row = self.b.mul_int(lane.number, trees);
        let index = self.b.add(row, column);
        self.b.store(address(self.out, index, 4), number);
    }
}
