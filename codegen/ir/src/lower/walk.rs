//! Leaf loops: groups of walks advanced together, and what happens with the leaves.

use super::nest::address;
use super::scope::{CachedRows, InScope, Kernel, Results};
use super::sums::Sums;
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, BufferId, Build, Cmp, Scalar, Ty, Value};
use crate::mir::{Plan, Rows, Walks};
use crate::repr::{Hop, Representation, Row, RowLanes, TreeState};
use sched_lang::nest::Sort;

/// One walk of a group, or one vector of walks.
pub(super) struct Lane {
    pub(super) state: TreeState,
    row: Row,
    /// The number of the (first) row.
    pub(super) number: Value,
    /// The (first) tree.
    pub(super) tree: Value,
    /// Walks side by side.
    pub(super) width: u16,
    /// Which of them there are; all, if there is none.
    pub(super) mask: Option<Value>,
}

/// What a leaf loop needs in every group.
pub(super) struct Around<'w, 'k> {
    pub(super) walks: &'w Walks,
    pub(super) representation: &'k (dyn Representation + Send + Sync),
    pub(super) buffers: Vec<BufferId>,
    /// Rows are read from here.
    rows: CachedRows,
    /// The tree, if the loop is over rows.
    tree: Option<(Value, TreeState)>,
    /// Where leaf values are added; none when leaf numbers are wanted.
    pub(super) sums: Option<Sums>,
}

/// Iterations taken together: so many vectors of so many.
#[derive(Clone, Copy)]
struct Group {
    vectors: i64,
    width: u16,
    /// The last vector is not full: iterations below this number exist.
    below: Option<Value>,
}

impl<'k> Kernel<'k> {
    /// A leaf loop: whole groups, then smaller ones for what is left.
    pub(super) fn walks(&mut self, walks: &Walks) {
        let around = self.around(walks);
        let stop = self.stop(&walks.iter);
        let mut at = self.b.int(walks.iter.start);
        let mut sum = self.open_sum(&around);
        for (vectors, width) in groups(walks) {
            let group = Group { vectors, width, below: None };
            let span = walks.iter.step * vectors * i64::from(width);
            let end = self.b.add_int(stop, walks.iter.step - span);
            let first: Vec<Value> = [Some(at), sum].into_iter().flatten().collect();
            let after = self.for_loop((at, end, span), &first, |k, value, inside| {
                let sum = k.group(&around, value, group, inside.get(1).copied());
                [Some(k.b.add_int(value, span)), sum].into_iter().flatten().collect()
            });
            at = after[0];
            sum = after.get(1).copied();
            if seeded(Fault::RemainderDropped) {
                break;
            }
        }
        if self.masks_rest(&around) {
            let group = Group { vectors: 1, width: walks.lanes as u16, below: Some(stop) };
            let some = self.b.cmp(Cmp::Lt, at, stop);
            self.when(some, |k| {
                k.group(&around, at, group, None);
            });
        }
        self.close_sum(&around, sum);
    }

    /// Whether what is left of a leaf loop is one vector with a mask: rows that lie side by side, as their sums do.
    fn masks_rest(&self, around: &Around) -> bool {
        around.walks.lanes > 1 && self.adds_vectors(around)
    }

    /// Whether the sums of a vector of rows are one piece of memory.
    pub(super) fn adds_vectors(&self, around: &Around) -> bool {
        let Walks { over, iter, .. } = around.walks;
        let plain = around.sums.is_some_and(|sums| !sums.atomic) && self.vectors.is_none();
        plain && *over == Sort::Row && iter.step == 1 && self.margins_per_row() == 1
    }

    fn around<'w>(&mut self, walks: &'w Walks) -> Around<'w, 'k> {
        let lowering = self.lowering;
        let representation = &*lowering.layouts[&walks.layout].representation;
        let buffers = self.tables[&walks.layout].clone();
        let cached = match walks.rows {
            Rows::Cached(id) => self.caches.get(&id).copied(),
            Rows::Input => None,
        };
        let rows = cached.unwrap_or(CachedRows { buffer: self.rows, first_row: self.b.int(0), blocks: None });
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

    /// Walks the iterations of a group from `value` on and uses their leaves in order. Returns the sum carried on.
    fn group(&mut self, around: &Around, value: Value, group: Group, sum: Option<Value>) -> Option<Value> {
        let mut result = sum;
        self.with_var(around.walks.iter.var, InScope { value, iteration: None }, |k| {
            let mask = group.below.map(|below| {
                let left = k.b.sub(below, value);
                k.lanes_below(left, group.width)
            });
            let lanes = k.lanes(around, group, mask);
            let nodes = k.advance(around, &lanes);
            for (lane, node) in lanes.iter().zip(nodes) {
                result = k.use_leaf(around, lane, node, result);
            }
        });
        result
    }

    fn lanes(&mut self, around: &Around, group: Group, mask: Option<Value>) -> Vec<Lane> {
        let walks = around.walks;
        let first_row = self.affine(&walks.row);
        let first_tree = around.tree.map_or_else(|| self.affine(&walks.tree), |(tree, _)| tree);
        let mut lanes = Vec::new();
        for vector in 0..group.vectors {
            let ahead = vector * i64::from(group.width) * walks.iter.step;
            let (rows, trees) = if walks.over == Sort::Row { (ahead, 0) } else { (0, ahead) };
            let tree = self.b.add_int(first_tree, trees);
            let state = match around.tree {
                Some((_, state)) => state,
                None => self.tree_state(around, tree, group.width),
            };
            let wrong = vector > 0 && vector == group.vectors - 1 && seeded(Fault::LaneReadsWrongRow);
            let row = self.row(around, first_row, if wrong { 0 } else { rows }, group.width, mask);
            let number = self.b.add_int(first_row, rows);
            lanes.push(Lane { state, row, number, tree, width: group.width, mask });
        }
        lanes
    }

    fn tree_state(&mut self, around: &Around, tree: Value, width: u16) -> TreeState {
        let Around { representation, buffers, walks, .. } = around;
        if width == 1 {
            return representation.load_tree(&mut self.b, buffers, tree);
        }
        let distance = self.distances(walks.iter.step, width);
        representation.load_trees(&mut self.b, buffers, tree, distance)
    }

    /// `0, step, 2 * step` and so on, a vector of `i32`.
    fn distances(&mut self, step: i64, width: u16) -> Value {
        let ty = Ty::vector(Scalar::I32, width);
        let numbers = self.b.lanes(ty);
        let step = self.b.int_of(ty, step);
        self.b.mul(numbers, step)
    }

    /// The place of the row `ahead` rows after `first`, and for a vector over rows of those behind it. Constant distances
    /// become offsets, so that the lanes of a group share one base address.
    fn row(&mut self, around: &Around, first: Value, ahead: i64, width: u16, mask: Option<Value>) -> Row {
        let CachedRows { buffer, first_row, blocks } = around.rows;
        let (features, element) = (self.features(), self.input);
        let bytes = ahead.checked_mul(features).and_then(|n| n.checked_mul(i64::from(element.bytes())));
        let offset = bytes.and_then(|bytes| u32::try_from(bytes).ok());
        let mut relative = self.b.sub(first, first_row);
        if offset.is_none() {
            relative = self.b.add_int(relative, ahead);
        }
        let offset = offset.unwrap_or(0);
        let over_rows = around.walks.over == Sort::Row;
        if let Some(block) = blocks.filter(|_| over_rows) {
            return self.row_of_block(around, relative, ahead, block, width);
        }
        let index = self.b.mul_int(relative, features);
        let lanes = (width > 1).then(|| {
            let step = if over_rows { around.walks.iter.step * features } else { 0 };
            RowLanes { distance: self.distances(step, width), adjacent: false, mask }
        });
        Row { buffer, index, offset, element, stride: 1, lanes }
    }

    /// A row of a copy in blocks. A vector of walks is one block; a single walk finds its block and its place in it.
    fn row_of_block(&mut self, around: &Around, relative: Value, ahead: i64, block: u32, width: u16) -> Row {
        let (features, element) = (self.features(), self.input);
        let relative = self.b.add_int(relative, ahead);
        let row = Row {
            buffer: around.rows.buffer,
            index: relative,
            offset: 0,
            element,
            stride: block,
            lanes: None,
        };
        if u32::from(width) == block {
            let index = self.b.mul_int(relative, features);
            let lanes = RowLanes { distance: self.distances(1, width), adjacent: true, mask: None };
            return Row { index, lanes: Some(lanes), ..row };
        }
        let size = self.b.int(i64::from(block));
        let number = self.b.bin(Bin::IDiv, relative, size);
        let start = self.b.mul(number, size);
        let place = self.b.sub(relative, start);
        let start = self.b.mul_int(start, features);
        Row { index: self.b.add(start, place), ..row }
    }

    /// Takes every lane from the root to its leaf.
    fn advance(&mut self, around: &Around, lanes: &[Lane]) -> Vec<Value> {
        let Plan { straight, checked, open } = around.walks.plan;
        let width = lanes.first().map_or(1, |lane| lane.width);
        let root = around.representation.root(&mut self.b, width);
        let mut nodes = vec![root; lanes.len()];
        for hop in 0..straight.saturating_sub(u32::from(seeded(Fault::WalkStopsEarly))) {
            nodes = self.step(around, lanes, &nodes, Hop::Number(hop));
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
        let several = lanes.len() > 1 || lanes.iter().any(|lane| lane.width > 1);
        let hop = if several { Hop::Hold } else { Hop::Open };
        if hops == 0 && !open {
            return nodes;
        }
        if hops == 0 {
            return self.while_loop(
                &nodes,
                |k, nodes| k.any_on_its_way(around, lanes, nodes),
                |k, nodes| k.step(around, lanes, nodes, hop),
            );
        }
        let go_on = self.any_on_its_way(around, lanes, &nodes);
        let arrived = nodes.clone();
        self.if_else(
            go_on,
            |k| {
                let nodes = k.step(around, lanes, &nodes, hop);
                k.checked(around, lanes, nodes, hops - 1, open)
            },
            |_| arrived,
        )
    }

    /// One hop of every lane.
    fn step(&mut self, around: &Around, lanes: &[Lane], nodes: &[Value], hop: Hop) -> Vec<Value> {
        let mut next = Vec::with_capacity(lanes.len());
        for (lane, node) in lanes.iter().zip(nodes) {
            let Lane { state, row, .. } = lane;
            let b = &mut self.b;
            next.push(around.representation.step(b, &around.buffers, state, row, *node, hop));
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
        let all_done = all_done.unwrap_or_else(|| self.b.int_of(Ty::I1, 1));
        let one = self.b.int_of(self.b.ty(all_done), 1);
        let on_its_way = self.b.bin(Bin::Xor, all_done, one);
        self.b.any(on_its_way)
    }
}

/// The sizes of the groups of a leaf loop: as asked, then ever smaller ones for what is left.
fn groups(walks: &Walks) -> Vec<(i64, u16)> {
    let halves = |first: u32| std::iter::successors(Some(i64::from(first)), |n| (*n > 1).then_some(n / 2));
    let lanes = walks.lanes as u16;
    let mut groups: Vec<(i64, u16)> = halves(walks.group).map(|vectors| (vectors, lanes)).collect();
    if lanes > 1 {
        groups.push((1, 1));
    }
    groups
}
