//! Leaf loops: groups of walks advanced together, and what happens with the leaves.

use super::scope::{CachedRows, InScope, Kernel, Results, Tables};
use super::sums::Sums;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, Build, Cmp, Scalar, Ty, Value};
use crate::mir::{Affine, Bound, Limit, Rows, Walks};
use crate::plan::{RowTable, SumAccess, WalkPlan};
use crate::repr::traverse::speculate::Node;
use crate::repr::traverse::{self, Traversal, Walker};
use crate::repr::{Representation, TreeLanes, TreeState, WalkShape};
use crate::rows::{Row, RowLanes, lanes_below};
use sched_lang::nest::Sort;
use std::rc::Rc;

/// One walk of a group, or one vector of walks.
pub(super) struct Lane {
    /// What its traversal needs.
    pub(super) walk: traverse::Lane,
    /// The number of the (first) row.
    pub(super) number: Value,
    /// The (first) tree.
    pub(super) tree: Value,
    /// How many walks there are, from the first lane on, as far as that is known at compile time.
    pub(super) count: u16,
    /// Which lanes have a walk; all, if there is none.
    pub(super) mask: Option<Value>,
}

/// What a leaf loop needs in every group.
pub(super) struct Around<'w> {
    pub(super) walks: &'w Walks,
    pub(super) plan: &'w WalkPlan,
    pub(super) layout: &'w (dyn Representation + Send + Sync),
    pub(super) walker: Walker<'w>,
    pub(super) buffers: &'w [BufferId],
    /// Rows are read from here.
    rows: CachedRows,
    /// The tree, if the loop is over rows.
    tree: Option<Tree>,
    /// The row as a table, if all walks of a vector, or all tests of a walk, look it up.
    row_table: Option<Value>,
    /// Where leaf values are added; none when leaf numbers are wanted.
    pub(super) sums: Option<Sums>,
}

/// A tree that is walked by all rows of a loop.
struct Tree {
    number: Value,
    state: TreeState,
    top: Vec<Node>,
}

/// Iterations taken together: `vectors` vectors of `width`.
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

impl Around<'_> {
    /// Takes every lane from the root to its leaf.
    pub(super) fn advance<'l>(
        &self,
        kernel: &mut Kernel,
        lanes: impl IntoIterator<Item = &'l Lane>,
    ) -> Vec<Value> {
        let lanes: Vec<&traverse::Lane> = lanes.into_iter().map(|lane| &lane.walk).collect();
        self.walker.walk(&mut kernel.b, &lanes, self.row_table)
    }
}

impl<'k> Kernel<'k> {
    /// A leaf loop. The plan has every leaf loop of the nest.
    pub(super) fn walks(&mut self, walks: &Walks) {
        let tables = Rc::clone(&self.tables);
        let Some(around) = self.around(walks, &tables) else { return };
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
        let masked = walks.lanes > 1 && adds_vectors(around);
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

    /// What a leaf loop needs in every group, with the tables of all storages.
    pub(super) fn around<'w>(&mut self, walks: &'w Walks, tables: &'w Tables) -> Option<Around<'w>>
    where
        'k: 'w,
    {
        let whole = self.lowering.plan;
        let plan = whole.walks.get(&walks.id)?;
        let (stored, buffers) = (whole.storages.get(&plan.storage)?, tables.get(&plan.storage)?);
        let layout = stored.layout.representation();
        let walker = Walker::new(&stored.layout, buffers, &plan.traversal, plan.steps)?;
        let cached = match walks.rows {
            Rows::Cached(id) => self.caches.get(&id).copied(),
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
            let number = self.affine(&walks.tree);
            let shape = WalkShape { lanes: walks.lanes as u16, steps: plan.steps.straight };
            let state = layout.load_tree(&mut self.b, buffers, number, shape);
            let top = walker.top(&mut self.b, &state);
            Tree { number, state, top }
        });
        let sums = (self.results == Results::Margins).then(|| self.sums(&walks.target));
        let row_table = plan.row_table.filter(|_| plan.traversal != Traversal::NodeTiles).map(|table| {
            let row = self.affine(&walks.row);
            let row = self.b.sub(row, rows.first_row);
            let index = self.b.mul_int(row, rows.columns);
            self.table_of(rows, table, Address::element(rows.buffer, index, rows.element))
        });
        Some(Around { walks, plan, layout, walker, buffers, rows, tree, row_table, sums })
    }

    /// The row at an address as a table to look up.
    fn table_of(&mut self, rows: CachedRows, table: RowTable, at: Address) -> Value {
        let ty = Ty::vector(rows.element, table.length);
        if !table.masked {
            return self.b.load(ty, at);
        }
        let numbers = self.b.lanes(ty.with(Scalar::I32));
        let end = self.b.int_of(ty.with(Scalar::I32), rows.columns);
        let mask = self.b.cmp(Cmp::Lt, numbers, end);
        self.b.load_masked(ty, at, mask)
    }

    /// The sum so far. Atomic targets get what the loop added in one step at its end.
    fn open_sum(&mut self, around: &Around) -> Option<Value> {
        let sums = around.sums.filter(|_| around.plan.sums == SumAccess::Register)?;
        let ty = Ty::of(self.accumulator);
        if sums.atomic {
            return Some(self.b.float(ty, 0.0));
        }
        let at = self.sum_of_row(around, &sums);
        Some(self.b.load(ty, Address::element(sums.buffer, at, self.accumulator)))
    }

    fn close_sum(&mut self, around: &Around, sum: Option<Value>) {
        let (Some(sums), Some(sum)) = (around.sums, sum) else { return };
        let index = self.sum_of_row(around, &sums);
        let at = Address::element(sums.buffer, index, self.accumulator);
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
            let nodes = around.advance(k, &lanes);
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
            Some(tree) => tree.number,
            None => self.affine(&walks.tree),
        };
        let mut lanes = Vec::new();
        for vector in 0..group.vectors {
            let ahead = vector * i64::from(group.width) * walks.iter.step;
            let (rows, trees) = if walks.over == Sort::Row { (ahead, 0) } else { (0, ahead) };
            let tree = self.b.add_int(first_tree, trees);
            let (width, count) = group.shape(vector, around.plan.steps.to_leaf().is_some());
            let (state, top) = match &around.tree {
                Some(tree) => (tree.state, tree.top.clone()),
                None => self.tree_state(around, tree, (width, count)),
            };
            let mask = group.below.map(|below| {
                let current = self.value(walks.iter.var);
                let left = self.b.sub(below, current);
                let left = self.b.add_int(left, -ahead);
                lanes_below(&mut self.b, left, width)
            });
            let wrong = vector > 0 && vector == group.vectors - 1 && seeded(Fault::LaneReadsWrongRow);
            let row = self.row(around, first_row, if wrong { 0 } else { rows }, width, mask);
            let number = self.b.add_int(first_row, rows);
            let walk = traverse::Lane { state, top, row, width };
            lanes.push(Lane { walk, number, tree, count, mask });
        }
        lanes
    }

    /// A tree, or `count` trees in a vector of `width`; lanes beyond walk the last tree again.
    fn tree_state(&mut self, around: &Around, tree: Value, shape: (u16, u16)) -> (TreeState, Vec<Node>) {
        let state = self.load_trees(around, tree, shape);
        (state, around.walker.top(&mut self.b, &state))
    }

    fn load_trees(&mut self, around: &Around, tree: Value, (width, count): (u16, u16)) -> TreeState {
        let Around { layout, buffers, walks, plan, .. } = around;
        if width == 1 {
            let shape = WalkShape { lanes: 1, steps: plan.steps.straight };
            return layout.load_tree(&mut self.b, buffers, tree, shape);
        }
        let ty = Ty::vector(Scalar::I32, width);
        let mut numbers = self.b.lanes(ty);
        if count < width {
            let last = self.b.int_of(ty, i64::from(count) - 1);
            numbers = self.b.min(numbers, last);
        }
        let step = self.b.int_of(ty, walks.iter.step);
        let distance = self.b.mul(numbers, step);
        let lanes = TreeLanes { distance, aligned: walks.aligned };
        layout.load_trees(&mut self.b, buffers, tree, lanes)
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
        let table = match around.plan.row_table {
            // A tile's tests look up several features of the one row.
            Some(table) if around.plan.traversal == Traversal::NodeTiles => {
                Some(self.table_of(around.rows, table, Address { buffer, index, stride, offset }))
            }
            _ => around.row_table.filter(|_| width > 1),
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

/// Whether the sums of a vector of rows are one piece of memory.
fn adds_vectors(around: &Around) -> bool {
    around.sums.is_some() && around.plan.sums == SumAccess::Vector
}

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
