//! Leaf loops: groups of walks that advance together, and the use of their leaves.

use super::kernel_builder::KernelBuilder;
use super::row_source::{RowCopy, RowSource, RowTableSource, RowsWanted};
use super::scope::InScope;
use super::sum_target::SumTarget;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Build, Cmp, Scalar, Task, Ty, Value};
use crate::mir::{Affine, Bound, Iter, Limit, Rows, Walks};
use crate::plan::{SumAccess, WalkPlan};
use crate::repr::traverse::speculate::NodeTest;
use crate::repr::traverse::{self, Traversal, Walker};
use crate::repr::{Buffers, Representation, TreeLanes, TreeState, WalkShape};
use crate::rows::{RowPlacement, lanes_below};
use sched_nest::Axis;

/// Most rows of a thread that are walked without a loop.
const MOST_FEW: i64 = 8;
/// Most groups of rows that are walked without a loop.
const FEW_GROUPS: i64 = 4;

/// One walk of a group, or one vector of walks.
pub(super) struct Lane {
    /// The lane for the traversal.
    pub(super) walk: traverse::Lane,
    /// Number of the (first) row.
    pub(super) number: Value,
    /// Number of the (first) tree.
    pub(super) tree: Value,
    /// Index of the (first) row among those whose sums the thread keeps, if it is known at compile
    /// time.
    pub(super) place: Option<i64>,
    /// Number of walks from the first lane on, as far as it is known at compile time.
    pub(super) count: u16,
    /// Mask of the lanes that have a walk; `None` if all have one.
    pub(super) mask: Option<Value>,
}

/// Context of a leaf loop that all its groups share.
pub(super) struct WalkContext<'w> {
    pub(super) walks: &'w Walks,
    pub(super) plan: &'w WalkPlan,
    pub(super) layout: &'w (dyn Representation + Send + Sync),
    pub(super) walker: Walker<'w>,
    pub(super) buffers: &'w Buffers,
    /// Source of the rows.
    pub(super) rows: RowSource,
    /// The tree, if the loop is over rows.
    tree: Option<LoopTree>,
    /// Target of leaf values; `None` in kernels without sums.
    pub(super) sums: Option<SumTarget>,
}

/// A tree that all rows of a loop walk.
struct LoopTree {
    number: Value,
    state: TreeState,
    top: Vec<NodeTest>,
}

/// Iterations that run together: `vectors` vectors of `width` lanes.
#[derive(Clone, Copy)]
pub(super) struct Group {
    vectors: i64,
    width: u16,
    /// Iterations of the last vector, which may have fewer than `width`.
    last: u16,
    /// Exclusive end of the iterations, if the group may reach beyond it.
    below: Option<Value>,
}

/// Lanes of a vector, and the number of iterations in its first lanes.
#[derive(Clone, Copy)]
struct VectorShape {
    width: u16,
    count: u16,
}

impl Group {
    pub(super) fn full(vectors: i64, width: u16) -> Group {
        Group { vectors, width, last: width, below: None }
    }

    pub(super) fn below(self, stop: Value) -> Group {
        Group { below: Some(stop), ..self }
    }

    /// Shape of a vector. The last one is no wider than its iterations need, if vectors may have
    /// several widths.
    fn shape(self, vector: i64, narrows: bool) -> VectorShape {
        let Group { vectors, width, last, .. } = self;
        if vector < vectors - 1 {
            return VectorShape { width, count: width };
        }
        let least = last.next_power_of_two().max(2).min(width);
        VectorShape { width: if narrows { least } else { width }, count: last }
    }
}

impl WalkContext<'_> {
    /// Emits the walks of all lanes from the root to the leaf.
    pub(super) fn advance<'l>(
        &self,
        kernel: &mut KernelBuilder,
        lanes: impl IntoIterator<Item = &'l Lane>,
    ) -> Vec<Value> {
        let lanes: Vec<&traverse::Lane> = lanes.into_iter().map(|lane| &lane.walk).collect();
        self.walker.walk(&mut kernel.b, &lanes, self.rows.loaded_table())
    }
}

impl<'k> KernelBuilder<'k> {
    /// Emits a leaf loop. The plan has an entry for every leaf loop of the nest.
    pub(super) fn walks(&mut self, walks: &Walks) {
        let Some(buffers) = self.tables_of(walks) else { return };
        let Some(context) = self.context(walks, &buffers) else { return };
        let sum = self.open_sum(&context);
        match (known_trips(walks), self.rows_at_once(walks)) {
            (Some(trips), _) => self.known(&context, trips, sum),
            (None, Some(rows)) => self.few(&context, rows),
            (None, None) => self.unknown(&context, sum),
        }
    }

    /// Largest number of rows of a thread's leaf loop, if the loop should be written out: one group, or
    /// a few groups whose sums the thread keeps.
    fn rows_at_once(&self, walks: &Walks) -> Option<i64> {
        let (start, step, group) = (walks.iter.start, walks.iter.step, i64::from(walks.group));
        let rows = (self.ports.most(&walks.iter)? - start + step - 1) / step;
        let kept = self.scope.kept_sums.as_ref().is_some_and(|kept| kept.of == walks.target.accumulator);
        let few = kept && rows <= MOST_FEW && rows <= FEW_GROUPS * group;
        let one_group = self.on_device && group > 1 && rows <= group;
        let single = walks.over == Axis::Row && walks.lanes == 1;
        (single && rows > 0 && (few || one_group)).then_some(rows)
    }

    /// Emits a leaf loop over few rows without a loop. Row numbers relative to the thread's are
    /// constants, so the thread's sums can be in registers. If some rows are missing, each row is
    /// walked alone.
    fn few(&mut self, context: &WalkContext, rows: i64) {
        let Iter { start, step, .. } = context.walks.iter;
        let stop = self.scope.stop(&mut self.b, &context.walks.iter);
        let at = |k: &mut Self, row: i64| k.b.int(start + row * step);
        let last = at(self, rows - 1);
        let all = self.b.cmp(Cmp::Lt, last, stop);
        let whole = |k: &mut Self| {
            let mut done = 0;
            while done < rows {
                let together = i64::from(context.walks.group).min(rows - done);
                let first = at(k, done);
                k.group(context, first, Group::full(together, 1), None);
                done += together;
            }
            Vec::new()
        };
        let rest = |k: &mut Self| {
            let left = if seeded(Fault::RemainderDropped) { 0 } else { rows };
            for row in 0..left {
                let value = at(k, row);
                let exists = k.b.cmp(Cmp::Lt, value, stop);
                k.when(exists, |k| {
                    k.group(context, value, Group::full(1, 1), None);
                });
            }
            Vec::new()
        };
        self.if_else(all, whole, rest);
    }

    /// Emits a leaf loop with a constant number of trees: whole groups, then one smaller group.
    fn known(&mut self, context: &WalkContext, trips: i64, mut sum: Option<Value>) {
        let (start, step, width) =
            (context.walks.iter.start, context.walks.iter.step, i64::from(context.walks.lanes));
        let per_group = width * i64::from(context.walks.group);
        let end = start + trips / per_group * per_group * step;
        let (group, lanes) = (i64::from(context.walks.group), context.walks.lanes as u16);
        if trips >= per_group {
            let first: Vec<Value> = sum.into_iter().collect();
            let range = (self.b.int(start), self.b.int(end), per_group * step);
            let after = self.for_loop(range, &first, |k, value, inside| {
                let whole = Group::full(group, lanes);
                k.group(context, value, whole, inside.first().copied()).into_iter().collect()
            });
            sum = after.first().copied();
        }
        let rest = trips % per_group;
        if rest > 0 && !seeded(Fault::RemainderDropped) {
            let vectors = (rest + width - 1) / width;
            let last = (rest - (vectors - 1) * width) as u16;
            let at = self.b.int(end);
            sum = self.group(context, at, Group { vectors, width: lanes, last, below: None }, sum);
        }
        self.close_sum(context, sum);
    }

    /// Emits a leaf loop of unknown length: whole groups, then smaller groups for the remainder. With
    /// masks, the last vector of each group may be partial.
    fn unknown(&mut self, context: &WalkContext, mut sum: Option<Value>) {
        let walks = context.walks;
        let stop = self.scope.stop(&mut self.b, &walks.iter);
        let mut at = self.b.int(walks.iter.start);
        let masked = match adds_vectors(context) {
            _ if walks.lanes == 1 => Masked::Never,
            true => Masked::Groups,
            // A sum in a register cannot skip the results of unused lanes. Masks count consecutive
            // rows.
            false if walks.over == Axis::Row && walks.iter.step == 1 && sum.is_none() => Masked::LastVector,
            false => Masked::Never,
        };
        let most = self.ports.most(&walks.iter).map(|end| end - walks.iter.start);
        for Piece { vectors, width, is_masked } in pieces(walks, masked) {
            let group = Group::full(vectors, width);
            let span = walks.iter.step * vectors * i64::from(width);
            // With masks, the last vector needs one row; without any row, it would be beyond the copy.
            let least = if is_masked { span - walks.iter.step * (i64::from(width) - 1) } else { span };
            // The last walk of a group begins one step before the group's end.
            if most.is_some_and(|most| most <= least - walks.iter.step) {
                continue;
            }
            let end = self.b.add_int(stop, walks.iter.step - least);
            let first: Vec<Value> = [Some(at), sum].into_iter().flatten().collect();
            let group = if is_masked { group.below(stop) } else { group };
            let after = self.for_loop((at, end, span), &first, |k, value, inside| {
                let sum = k.group(context, value, group, inside.get(1).copied());
                [Some(k.b.add_int(value, span)), sum].into_iter().flatten().collect()
            });
            at = after[0];
            sum = after.get(1).copied();
            if seeded(Fault::RemainderDropped) {
                break;
            }
        }
        self.close_sum(context, sum);
    }

    /// Tables that a leaf loop reads, or the copies that replace them.
    pub(super) fn tables_of(&self, walks: &Walks) -> Option<Buffers> {
        let storage = self.ports.lowering.plan.walks.get(&walks.id)?.storage;
        self.scope.trees.get(&storage).or_else(|| self.ports.tables.get(&storage)).cloned()
    }

    /// Context of a leaf loop. The plan has an entry for every leaf loop of the nest.
    pub(super) fn context<'w>(&mut self, walks: &'w Walks, buffers: &'w Buffers) -> Option<WalkContext<'w>>
    where
        'k: 'w,
    {
        let (ports, b) = (self.ports, &mut self.b);
        let whole = ports.lowering.plan;
        let plan = whole.walks.get(&walks.id)?;
        let stored = whole.storages.get(&plan.storage)?;
        let layout = &*stored.layout;
        let walker = Walker::new(layout, buffers, &plan.traversal, plan.steps)?;
        let copy = match walks.rows {
            Rows::Cached(id) => self.scope.copies.get(&id).copied(),
            Rows::Input => None,
        };
        let copy = copy.unwrap_or(RowCopy {
            buffer: ports.rows,
            first_row: b.int(0),
            blocks: None,
            element: ports.input,
            columns: ports.features(),
            single_block: false,
            places: RowPlacement::IN_ORDER,
        });
        let tree = (walks.over == Axis::Row).then(|| {
            let number = self.scope.affine(b, &walks.tree);
            let shape = WalkShape { lanes: walks.lanes as u16, steps: plan.steps.straight };
            let state = layout.load_tree(b, buffers, number, shape);
            let top = walker.top(b, &state);
            LoopTree { number, state, top }
        });
        let sums = ports.results.are_sums().then(|| self.scope.sums(b, ports, &walks.target));
        let table = match plan.row_table {
            None => RowTableSource::None,
            // The tests of a tile look up several features of one row.
            Some(table) if plan.traversal == Traversal::NodeTiles => RowTableSource::OfRow(table),
            Some(table) => {
                let row = self.scope.affine(b, &walks.row);
                RowTableSource::Loaded(copy.table_of(b, table, row))
            }
        };
        let step = (walks.over == Axis::Row).then_some(walks.iter.step);
        let rows = RowSource { copy, step, table };
        Some(WalkContext { walks, plan, layout, walker, buffers, rows, tree, sums })
    }

    /// Loads the sum that the loop carries in a register: a row's sum, or all margins in the first
    /// lanes of a vector. Atomic targets start from 0.0 and get one addition at the end.
    fn open_sum(&mut self, context: &WalkContext) -> Option<Value> {
        let sums = context.sums.filter(|_| context.plan.sums == SumAccess::Register)?;
        let lanes = sums.margins.max(1).unsigned_abs().next_power_of_two() as u16;
        let ty = Ty::vector(sums.element, lanes);
        if sums.atomic {
            return Some(self.b.float(ty, 0.0));
        }
        let at = self.sum_of_row(context, &sums);
        let from = Address::element(sums.buffer, at, sums.element);
        let beyond = sums.margins < i64::from(lanes);
        let mask = beyond.then(|| self.margins_in(lanes, sums.margins));
        Some(match mask {
            Some(mask) => self.b.load_masked(ty, from, mask),
            None => self.b.load(ty, from),
        })
    }

    fn close_sum(&mut self, context: &WalkContext, sum: Option<Value>) {
        let (Some(sums), Some(sum)) = (context.sums, sum) else { return };
        let index = self.sum_of_row(context, &sums);
        let lanes = self.b.ty(sum).lanes;
        let at = Address::element(sums.buffer, index, sums.element);
        if sums.atomic {
            for margin in 0..sums.margins {
                let sum = if lanes == 1 { sum } else { self.b.extract(sum, margin as u16) };
                let at = self.b.beyond(at, margin);
                self.b.atomic_add(at, sum);
            }
        } else if sums.margins < i64::from(lanes) {
            let mask = self.margins_in(lanes, sums.margins);
            self.b.store_masked(at, sum, mask);
        } else {
            self.b.store(at, sum);
        }
    }

    /// Mask of the lanes that hold margins.
    fn margins_in(&mut self, lanes: u16, margins: i64) -> Value {
        let margins = self.b.int(margins);
        lanes_below(&mut self.b, margins, lanes)
    }

    fn sum_of_row(&mut self, context: &WalkContext, sums: &SumTarget) -> Value {
        let row = self.scope.affine(&mut self.b, &context.walks.row);
        let place = self.scope.place_of_row(&self.b, context.walks.target.accumulator);
        sums.row(&mut self.b, row, place)
    }

    /// Walks the iterations of a group from `value` on and uses their leaves in order. Returns the next
    /// carried sum.
    pub(super) fn group(
        &mut self,
        context: &WalkContext,
        value: Value,
        group: Group,
        sum: Option<Value>,
    ) -> Option<Value> {
        let mut result = sum;
        self.with_var(context.walks.iter.var, InScope::value(value), |k| {
            let lanes = k.lanes(context, group);
            let nodes = context.advance(k, &lanes);
            for (lane, node) in lanes.iter().zip(nodes) {
                result = k.doing(Task::Sums, |k| k.use_leaf(context, lane, node, result));
            }
        });
        result
    }

    /// Lanes of a group of iterations from the current one of the leaf loop on.
    pub(super) fn lanes(&mut self, context: &WalkContext, group: Group) -> Vec<Lane> {
        let walks = context.walks;
        let first_row = self.scope.affine(&mut self.b, &walks.row);
        let first_tree = match &context.tree {
            Some(tree) => tree.number,
            None => self.scope.affine(&mut self.b, &walks.tree),
        };
        let place = self.scope.place_of_row(&self.b, walks.target.accumulator);
        let mut lanes = Vec::new();
        for vector in 0..group.vectors {
            let ahead = vector * i64::from(group.width) * walks.iter.step;
            let (rows, trees) = if walks.over == Axis::Row { (ahead, 0) } else { (0, ahead) };
            let tree = self.b.add_int(first_tree, trees);
            let shape = group.shape(vector, context.plan.steps.to_leaf().is_some());
            let VectorShape { width, count } = shape;
            let (state, top) = match &context.tree {
                Some(tree) => (tree.state, tree.top.clone()),
                None => self.tree_state(context, tree, shape),
            };
            let mask = group.below.map(|below| {
                let current = self.scope.value(&mut self.b, walks.iter.var);
                let left = self.b.sub(below, current);
                let left = self.b.add_int(left, -ahead);
                lanes_below(&mut self.b, left, width)
            });
            let wrong = vector > 0 && vector == group.vectors - 1 && seeded(Fault::LaneReadsWrongRow);
            let ahead = if wrong { 0 } else { rows };
            let row = context.rows.row(&mut self.b, RowsWanted { first: first_row, ahead, width, mask });
            let number = self.b.add_int(first_row, rows);
            let walk = traverse::Lane { state, top, row, width };
            let place = place.map(|place| place + rows);
            lanes.push(Lane { walk, number, tree, place, count, mask });
        }
        lanes
    }

    /// State of a tree, or of `count` trees in a vector of `width`; further lanes walk the last tree
    /// again.
    fn tree_state(
        &mut self,
        context: &WalkContext,
        tree: Value,
        shape: VectorShape,
    ) -> (TreeState, Vec<NodeTest>) {
        let state = self.load_trees(context, tree, shape);
        (state, context.walker.top(&mut self.b, &state))
    }

    fn load_trees(&mut self, context: &WalkContext, tree: Value, shape: VectorShape) -> TreeState {
        let VectorShape { width, count } = shape;
        let WalkContext { layout, buffers, walks, plan, .. } = context;
        if width == 1 {
            let shape = WalkShape { lanes: 1, steps: plan.steps.straight };
            return layout.load_tree(&mut self.b, buffers, tree, shape);
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
        layout.load_trees(&mut self.b, buffers, tree, lanes)
    }
}

/// Whether the sums of a vector of rows are contiguous.
fn adds_vectors(context: &WalkContext) -> bool {
    context.sums.is_some() && context.plan.sums == SumAccess::Vector
}

/// Constant number of iterations of a leaf loop over trees.
fn known_trips(walks: &Walks) -> Option<i64> {
    let iter = &walks.iter;
    let [Bound { limit: Limit::Const(stop), less: Affine { vars, plus } }] = iter.stops.as_slice() else {
        return None;
    };
    let trees = walks.over == Axis::Tree && vars.is_empty();
    trees.then(|| ((stop - plus - iter.start + iter.step - 1) / iter.step).max(0))
}

/// Groups of one size, which a leaf loop runs while enough iterations remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    vectors: i64,
    width: u16,
    /// Whether the last vector may have lanes without iteration.
    is_masked: bool,
}

/// Vectors that may have lanes without iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Masked {
    /// The last vector of each remainder group. Masks cost nothing if a vector of sums is added at
    /// once.
    Groups,
    /// The very last vector. Its walks are used one by one under a test, which is much code.
    LastVector,
    /// No vector.
    Never,
}

/// The groups of a leaf loop in order: full groups, then the remainder. [`Masked::Groups`]: masked
/// groups of full, half, quarter size. [`Masked::LastVector`]: halves, then one masked vector.
/// [`Masked::Never`]: halves, then single walks.
fn pieces(walks: &Walks, masked: Masked) -> Vec<Piece> {
    let halves = |first: u32| std::iter::successors(Some(i64::from(first)), |n| (*n > 1).then_some(n / 2));
    let lanes = walks.lanes as u16;
    let piece = |vectors, width, is_masked| Piece { vectors, width, is_masked };
    if masked != Masked::Groups {
        let last = if masked == Masked::LastVector { piece(1, lanes, true) } else { piece(1, 1, false) };
        let last = (lanes > 1).then_some(last);
        return halves(walks.group).map(|vectors| piece(vectors, lanes, false)).chain(last).collect();
    }
    // Between a group and its half there is a group of three quarters, since two groups take twice as
    // long as one.
    let whole = piece(walks.group.into(), lanes, false);
    let smaller = halves(walks.group).flat_map(|vectors| {
        let between = (vectors > 2 && vectors % 4 == 0).then_some(vectors / 4 * 3);
        [Some(vectors), between].into_iter().flatten()
    });
    std::iter::once(whole).chain(smaller.map(|vectors| piece(vectors, lanes, true))).collect()
}
