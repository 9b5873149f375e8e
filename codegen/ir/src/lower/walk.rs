//! Leaf loops: groups of walks advanced together, and what happens with the leaves.

use super::coding::CODES_END;
use super::nest::address;
use super::scope::{CachedRows, InScope, Kernel, Results};
use super::sums::Sums;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, Build, Builder, Cmp, Scalar, Ty, Value};
use crate::mir::{Affine, Bound, Limit, Plan, Rows, Walks};
use crate::repr::{Node, Representation, Row, RowLanes, TreeLanes, TreeState};
use sched_nest::Sort;

/// One walk of a group, or one vector of walks.
pub(super) struct Lane {
    pub(super) state: TreeState,
    /// The nodes that are all evaluated.
    pub(super) top: Vec<Node>,
    pub(super) row: Row,
    /// The number of the (first) row.
    pub(super) number: Value,
    /// The (first) tree.
    pub(super) tree: Value,
    /// Walks side by side.
    pub(super) width: u16,
    /// How many of them there are, from the first on, as far as that is known at compile time.
    pub(super) count: u16,
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
    tree: Option<(Value, TreeState, Vec<Node>)>,
    /// The row as a table, if the loop is over vectors of trees and the row is short.
    pub(super) row_table: Option<Value>,
    /// Where leaf values are added; none when leaf numbers are wanted.
    pub(super) sums: Option<Sums>,
}

/// Iterations taken together: so many vectors of so many.
#[derive(Clone, Copy)]
pub(super) struct Group {
    vectors: i64,
    width: u16,
    /// The last vector is not full: it has so many iterations.
    last: u16,
    /// Only iterations below this number exist.
    below: Option<Value>,
}

impl Group {
    pub(super) fn full((vectors, width): (i64, u16)) -> Group {
        Group { vectors, width, last: width, below: None }
    }

    pub(super) fn below(self, stop: Value) -> Group {
        Group { below: Some(stop), ..self }
    }

    /// How many lanes a vector has, and how many of them are iterations. The last one is no wider than it needs to be if
    /// vectors may have several widths.
    fn shape(self, vector: i64, narrows: bool) -> (u16, u16) {
        let Group { vectors, width, last, .. } = self;
        if vector < vectors - 1 {
            return (width, width);
        }
        (if narrows { last.next_power_of_two().max(2).min(width) } else { width }, last)
    }
}

impl Around<'_, '_> {
    /// Hops to the leaf, where all walks take the same number.
    pub(super) fn hops(&self) -> Option<u32> {
        let Plan { straight, checked, open, .. } = self.walks.plan;
        (checked == 0 && !open).then_some(straight)
    }
}

impl<'k> Kernel<'k> {
    /// A leaf loop.
    pub(super) fn walks(&mut self, walks: &Walks) {
        let around = self.around(walks);
        let sum = self.open_sum(&around);
        match known_trips(walks) {
            Some(trips) => self.known(&around, trips, sum),
            None => self.unknown(&around, sum),
        }
    }

    /// A leaf loop over trees whose number is known: whole groups, then one with the rest.
    fn known(&mut self, around: &Around, trips: i64, mut sum: Option<Value>) {
        let (start, step, width) =
            (around.walks.iter.start, around.walks.iter.step, i64::from(around.walks.lanes));
        let per_group = width * i64::from(around.walks.group);
        let end = start + trips / per_group * per_group * step;
        let (group, lanes) = (i64::from(around.walks.group), around.walks.lanes as u16);
        if trips >= per_group {
            let first: Vec<Value> = sum.into_iter().collect();
            let range = (self.b.int(start), self.b.int(end), per_group * step);
            let after = self.for_loop(range, &first, |k, value, inside| {
                let whole = Group::full((group, lanes));
                k.group(around, value, whole, inside.first().copied()).into_iter().collect()
            });
            sum = after.first().copied();
        }
        let rest = trips % per_group;
        if rest > 0 && !seeded(Fault::RemainderDropped) {
            let vectors = (rest + width - 1) / width;
            let last = (rest - (vectors - 1) * width) as u16;
            let at = self.b.int(end);
            sum = self.group(around, at, Group { vectors, width: lanes, last, below: None }, sum);
        }
        self.close_sum(around, sum);
    }

    /// A leaf loop of any length: whole groups, then smaller ones for what is left. Where the last rest is one vector with a
    /// mask, so is each single vector: the same code serves both.
    fn unknown(&mut self, around: &Around, mut sum: Option<Value>) {
        let walks = around.walks;
        let stop = self.stop(&walks.iter);
        let mut at = self.b.int(walks.iter.start);
        let masked = self.masks_rest(around);
        let most = self.most(&walks.iter).map(|end| end - walks.iter.start);
        for (vectors, width) in groups(walks, masked) {
            let group = Group::full((vectors, width));
            let span = walks.iter.step * vectors * i64::from(width);
            // The last walk of a group begins one step before its end.
            if most.is_some_and(|most| most <= span - walks.iter.step) {
                continue;
            }
            let end = self.b.add_int(stop, walks.iter.step - span);
            let first: Vec<Value> = [Some(at), sum].into_iter().flatten().collect();
            let after = self.for_loop((at, end, span), &first, |k, value, inside| {
                let sum = k.group(around, value, group, inside.get(1).copied());
                [Some(k.b.add_int(value, span)), sum].into_iter().flatten().collect()
            });
            at = after[0];
            sum = after.get(1).copied();
            if seeded(Fault::RemainderDropped) {
                break;
            }
        }
        if masked {
            let group = Group::full((1, walks.lanes as u16)).below(stop);
            self.for_loop((at, stop, walks.lanes.into()), &[], |k, value, _| {
                k.group(around, value, group, None);
                Vec::new()
            });
        }
        self.close_sum(around, sum);
    }

    /// Whether what is left of a leaf loop is one vector with a mask: rows that lie side by side, as their sums do.
    fn masks_rest(&self, around: &Around) -> bool {
        around.walks.lanes > 1 && self.adds_vectors(around)
    }

    /// Whether the sums of a vector of rows are one piece of memory.
    pub(super) fn adds_vectors(&self, around: &Around) -> bool {
        let Walks { over, iter, .. } = around.walks;
        let plain = around.sums.is_some_and(|sums| !sums.atomic) && self.vectors.is_none();
        let in_columns = around.sums.is_some_and(|sums| sums.block.is_some());
        plain && *over == Sort::Row && iter.step == 1 && (in_columns || self.margins_per_row() == 1)
    }

    pub(super) fn around<'w>(&mut self, walks: &'w Walks) -> Around<'w, 'k> {
        let lowering = self.lowering;
        let representation = &*lowering.storages[&walks.storage()].representation;
        let buffers = self.tables[&walks.storage()].clone();
        let cached = match walks.rows {
            Rows::Cached(id) | Rows::Columns(id) => self.caches.get(&id).copied(),
            Rows::Input => None,
        };
        let rows = cached.unwrap_or(CachedRows {
            buffer: self.rows,
            first_row: self.b.int(0),
            blocks: None,
            element: self.input,
            columns: self.features(),
        });
        let tree = (walks.over == Sort::Row).then(|| {
            let tree = self.affine(&walks.tree);
            let shape = (walks.lanes as u16, walks.plan.straight);
            let state = representation.load_tree(&mut self.b, &buffers, tree, shape);
            let top = top(&mut self.b, representation, &buffers, &state, walks);
            (tree, state, top)
        });
        let sums = (self.results == Results::Margins).then(|| self.sums(&walks.target));
        let row_table = if walks.over == Sort::Tree { self.row_table(walks, rows) } else { None };
        Around { walks, representation, buffers, rows, tree, row_table, sums }
    }

    /// The row that vectors of trees walk as a table to look up, if it is short enough to pay.
    fn row_table(&mut self, walks: &Walks, rows: CachedRows) -> Option<Value> {
        let coded = walks.layout.is_coded() && rows.element == Scalar::I8;
        let looked_up = walks.lanes > 1 || coded && rows.columns <= CODES_TABLE;
        if !looked_up || rows.blocks.is_some() {
            return None;
        }
        let row = self.affine(&walks.row);
        let row = self.b.sub(row, rows.first_row);
        let index = self.b.mul_int(row, rows.columns);
        self.table_of(rows, address(rows.buffer, index, rows.element.bytes()))
    }

    /// The row at an address as a table to look up, if it is short enough to pay.
    fn table_of(&mut self, rows: CachedRows, at: Address) -> Option<Value> {
        let (features, element) = (rows.columns, rows.element);
        let length = (features.max(2) as u64).next_power_of_two() as i64;
        if length * i64::from(element.bytes()) > ROW_TABLE {
            return None;
        }
        let ty = Ty::vector(element, length as u16);
        // Codes can be read beyond the row's end.
        if length == features || element == Scalar::I8 && length <= CODES_END {
            return Some(self.b.load(ty, at));
        }
        let numbers = self.b.iota(ty.with(Scalar::I32));
        let end = self.b.int_of(ty.with(Scalar::I32), features);
        let mask = self.b.cmp(Cmp::Lt, numbers, end);
        Some(self.b.load_masked(ty, at, mask))
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
            let lanes = k.lanes(around, group);
            let nodes = k.advance(around, &lanes);
            for (lane, node) in lanes.iter().zip(nodes) {
                result = k.use_leaf(around, lane, node, result);
            }
        });
        result
    }

    /// The lanes of a group of iterations from the current one of the leaf loop on.
    pub(super) fn lanes(&mut self, around: &Around, group: Group) -> Vec<Lane> {
        let walks = around.walks;
        let first_row = self.affine(&walks.row);
        let first_tree = match &around.tree {
            Some((tree, ..)) => *tree,
            None => self.affine(&walks.tree),
        };
        let mut lanes = Vec::new();
        for vector in 0..group.vectors {
            let ahead = vector * i64::from(group.width) * walks.iter.step;
            let (rows, trees) = if walks.over == Sort::Row { (ahead, 0) } else { (0, ahead) };
            let tree = self.b.add_int(first_tree, trees);
            let (width, count) = group.shape(vector, around.hops().is_some());
            let (state, top) = match &around.tree {
                Some((_, state, top)) => (state.clone(), top.clone()),
                None => self.tree_state(around, tree, (width, count)),
            };
            let mask = group.below.map(|below| {
                let current = self.value(walks.iter.var);
                let left = self.b.sub(below, current);
                let left = self.b.add_int(left, -ahead);
                self.lanes_below(left, width)
            });
            let wrong = vector > 0 && vector == group.vectors - 1 && seeded(Fault::LaneReadsWrongRow);
            let row = self.row(around, first_row, if wrong { 0 } else { rows }, width, mask);
            let number = self.b.add_int(first_row, rows);
            lanes.push(Lane { state, top, row, number, tree, width, count, mask });
        }
        lanes
    }

    /// A tree, or `count` trees in a vector of `width`; lanes beyond walk the last tree again.
    fn tree_state(&mut self, around: &Around, tree: Value, shape: (u16, u16)) -> (TreeState, Vec<Node>) {
        let Around { representation, buffers, walks, .. } = around;
        let state = self.load_trees(around, tree, shape);
        let top = top(&mut self.b, *representation, buffers, &state, walks);
        (state, top)
    }

    fn load_trees(&mut self, around: &Around, tree: Value, (width, count): (u16, u16)) -> TreeState {
        let Around { representation, buffers, walks, .. } = around;
        if width == 1 {
            return representation.load_tree(&mut self.b, buffers, tree, (1, walks.plan.straight));
        }
        let ty = Ty::vector(Scalar::I32, width);
        let mut numbers = self.b.iota(ty);
        if count < width {
            let last = self.b.int_of(ty, i64::from(count) - 1);
            numbers = self.b.min(numbers, last);
        }
        let step = self.b.int_of(ty, walks.iter.step);
        let distance = self.b.mul(numbers, step);
        let lanes = TreeLanes { distance, aligned: walks.aligned };
        representation.load_trees(&mut self.b, buffers, tree, lanes)
    }

    /// `0, step, 2 * step` and so on, a vector of `i32`.
    fn distances(&mut self, step: i64, width: u16) -> Value {
        let ty = Ty::vector(Scalar::I32, width);
        let numbers = self.b.iota(ty);
        let step = self.b.int_of(ty, step);
        self.b.mul(numbers, step)
    }

    /// The place of the row `ahead` rows after `first`, and for a vector over rows of those behind it. Constant distances
    /// become offsets, so that the lanes of a group share one base address.
    fn row(&mut self, around: &Around, first: Value, ahead: i64, width: u16, mask: Option<Value>) -> Row {
        let CachedRows { buffer, first_row, blocks, element, columns: features } = around.rows;
        let bytes = ahead.checked_mul(features).and_then(|n| n.checked_mul(i64::from(element.bytes())));
        let offset = bytes.and_then(|bytes| u32::try_from(bytes).ok());
        let over_rows = around.walks.over == Sort::Row;
        let mut relative = self.b.sub(first, first_row);
        let block = blocks.filter(|_| over_rows);
        if offset.is_none() || block.is_some_and(|block| block != u32::from(width)) {
            relative = self.b.add_int(relative, ahead);
        }
        let offset = offset.unwrap_or(0);
        if let Some(block) = block {
            return self.row_of_block(around, relative, offset, block, width);
        }
        let index = self.b.mul_int(relative, features);
        let lanes = (width > 1).then(|| {
            let step = around.walks.iter.step * features;
            let distance = over_rows.then(|| self.distances(step, width));
            RowLanes { distance, adjacent: false, mask }
        });
        let stride = element.bytes();
        let table = match around.row_table.filter(|_| width > 1) {
            // A tile's tests look up several features of the one row.
            None if around.walks.tile > 1 => {
                self.table_of(around.rows, Address { buffer, index, stride, offset })
            }
            table => table,
        };
        Row { buffer, index, offset, element, stride: 1, lanes, table }
    }

    /// A row of a copy in blocks. A vector of walks is one block, `offset` bytes further; a single walk finds its block and
    /// its place in it.
    fn row_of_block(&mut self, around: &Around, relative: Value, offset: u32, block: u32, width: u16) -> Row {
        let CachedRows { element, columns, .. } = around.rows;
        let row = Row {
            buffer: around.rows.buffer,
            index: relative,
            offset: 0,
            element,
            stride: block,
            lanes: None,
            table: None,
        };
        if u32::from(width) == block {
            let index = self.b.mul_int(relative, columns);
            let lanes = RowLanes { distance: Some(self.distances(1, width)), adjacent: true, mask: None };
            return Row { index, offset, lanes: Some(lanes), ..row };
        }
        let size = self.b.int(i64::from(block));
        let number = self.b.bin(Bin::IDiv, relative, size);
        let start = self.b.mul(number, size);
        let place = self.b.sub(relative, start);
        let start = self.b.mul_int(start, columns);
        Row { index: self.b.add(start, place), ..row }
    }
}

/// The nodes that walks evaluate whatever way they take, level by level.
fn top(
    b: &mut Builder,
    representation: &dyn Representation,
    buffers: &[BufferId],
    state: &TreeState,
    walks: &Walks,
) -> Vec<Node> {
    let Some(layout) = representation.level_order() else { return Vec::new() };
    let end = 1u64 << walks.plan.speculated;
    (1..end).map(|number| layout.node(b, buffers, state, number)).collect()
}

/// Bytes of the longest row that is looked up as a table.
const ROW_TABLE: i64 = 256;

/// Codes of the longest row that single walks look up as a table: one register of bytes.
const CODES_TABLE: i64 = 64;

/// How often a leaf loop over trees runs, if that is known.
fn known_trips(walks: &Walks) -> Option<i64> {
    let iter = &walks.iter;
    let [Bound { limit: Limit::Const(stop), less: Affine { vars, plus } }] = iter.stops.as_slice() else {
        return None;
    };
    let trees = walks.over == Sort::Tree && vars.is_empty();
    trees.then(|| ((stop - plus - iter.start + iter.step - 1) / iter.step).max(0))
}

/// The sizes of the groups of a leaf loop: as asked, then ever smaller ones for what is left. Where the last rest is
/// `masked`, there are no single walks, and no single vectors beside several.
fn groups(walks: &Walks, masked: bool) -> Vec<(i64, u16)> {
    let halves = |first: u32| std::iter::successors(Some(i64::from(first)), |n| (*n > 1).then_some(n / 2));
    let lanes = walks.lanes as u16;
    let mut groups: Vec<(i64, u16)> = halves(walks.group).map(|vectors| (vectors, lanes)).collect();
    if masked && walks.group > 1 {
        groups.pop();
    } else if lanes > 1 && !masked {
        groups.push((1, 1));
    }
    groups
}
