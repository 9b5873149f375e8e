//! Walks of a leaf loop: groups of walks that are interleaved from the root to the leaves.

use super::group::{Group, VectorShape};
use super::kernel_builder::KernelBuilder;
use super::row_source::{RowBuffer, RowRequest, RowSource, RowTableSource};
use super::scope::InScope;
use super::sum_target::SumTarget;
use crate::fault::{Fault, seeded};
use crate::lir::{Scalar, Task, Ty, Value};
use crate::mir::{WalkedRows, Walks};
use crate::plan::{SumAccess, WalkPlan};
use crate::repr::traverse::speculate::NodeTest;
use crate::repr::traverse::{self, Traversal, WalkEmitter};
use crate::repr::{Buffers, Representation, TreeLanes, TreeState, WalkShape};
use crate::rows::{RowPlacement, lanes_below};
use sched_nest::Axis;

/// One walk of a group, or one vector of walks.
pub(super) struct WalkLane {
    /// Row and tree of the lane, as traversals take them.
    pub(super) walk: traverse::Lane,
    /// Number of the (first) row.
    pub(super) row_number: Value,
    /// Number of the (first) tree.
    pub(super) tree: Value,
    /// Index of the (first) row among the rows whose sums the thread keeps in registers, if it is known at
    /// compile time.
    pub(super) kept_row: Option<i64>,
    /// Number of lanes with a walk, from the first lane on, as far as it is known at compile time. `mask` can
    /// switch off more.
    pub(super) count: u16,
    /// Mask of the lanes that have a walk; `None` if all have one.
    pub(super) mask: Option<Value>,
}

/// Values that all walks of a leaf loop share.
pub(super) struct WalkContext<'w> {
    pub(super) walks: &'w Walks,
    pub(super) plan: &'w WalkPlan,
    pub(super) layout: &'w (dyn Representation + Send + Sync),
    pub(super) buffers: &'w Buffers,
    /// Source of the rows.
    pub(super) rows: RowSource,
    /// Target of leaf values; `None` in kernels without sums.
    pub(super) sums: Option<SumTarget>,
    walk_emitter: WalkEmitter<'w>,
    /// The tree, if the loop is over rows.
    tree: Option<SharedTree>,
}

/// A tree that all rows of a loop walk.
struct SharedTree {
    number: Value,
    state: TreeState,
    top: Vec<NodeTest>,
}

/// Tables that a leaf loop reads, or the copies that replace them.
pub(super) fn tables_of(k: &KernelBuilder, walks: &Walks) -> Option<Buffers> {
    let storage = k.ports.lowering.plan.walks.get(&walks.id)?.storage;
    k.scope().trees(storage).or_else(|| k.ports.tables.get(&storage)).cloned()
}

impl<'w> WalkContext<'w> {
    /// Context of a leaf loop. The plan has an entry for every leaf loop of the nest.
    pub(super) fn new<'k: 'w>(
        k: &mut KernelBuilder<'k>,
        walks: &'w Walks,
        buffers: &'w Buffers,
    ) -> Option<WalkContext<'w>> {
        let ports = k.ports;
        let whole = ports.lowering.plan;
        let plan = whole.walks.get(&walks.id)?;
        let stored = whole.storages.get(&plan.storage)?;
        let layout = &*stored.layout;
        let walk_emitter = WalkEmitter::new(layout, buffers, &plan.traversal, plan.steps)?;
        let copy = match walks.rows {
            WalkedRows::Cached(id) => k.scope().copy(id),
            WalkedRows::Input => None,
        };
        let copy = copy.unwrap_or(input_rows(k));
        let tree = (walks.over == Axis::Row).then(|| {
            let number = k.affine(&walks.tree);
            let shape = WalkShape { lanes: walks.lanes as u16, steps: plan.steps.straight };
            let state = match ports.adds_terms(plan) {
                true => TreeState::at(number),
                false => layout.load_tree(&mut k.b, buffers, number, shape),
            };
            let top = walk_emitter.load_top_nodes(&mut k.b, &state);
            SharedTree { number, state, top }
        });
        let sums = ports.results.are_sums().then(|| k.sums(&walks.target));
        let table = match plan.row_table {
            None => RowTableSource::None,
            // The tests of a tile look up several features of one row.
            Some(table) if plan.traversal == Traversal::NodeTiles => RowTableSource::OfRow(table),
            Some(table) => {
                let row = k.affine(&walks.row);
                RowTableSource::Loaded(copy.table_of(&mut k.b, table, row))
            }
        };
        let step = (walks.over == Axis::Row).then_some(walks.iter.step);
        let rows = RowSource { buffer: copy, step, table };
        Some(WalkContext { walks, plan, layout, walk_emitter, buffers, rows, tree, sums })
    }

    /// Whether leaf values are added.
    pub(super) fn adds_leaf_values(&self) -> bool {
        self.sums.is_some()
    }

    /// Whether the sums of a vector of rows are contiguous.
    pub(super) fn has_contiguous_sums(&self) -> bool {
        self.sums.is_some() && self.plan.sums == SumAccess::RowVector
    }

    /// Whether walks return the values of leaves instead of their node numbers.
    pub(super) fn returns_leaf_values(&self, k: &KernelBuilder) -> bool {
        k.ports.adds_terms(self.plan)
    }

    /// Emits the walks of all lanes from the root to the leaf, and returns the leaves' node numbers. Walks of
    /// single linear leaves return the leaves' values instead, unless the kernel stores leaf indices.
    pub(super) fn walk_to_leaves<'l>(
        &self,
        k: &mut KernelBuilder,
        lanes: impl IntoIterator<Item = &'l WalkLane>,
    ) -> Vec<Value> {
        if self.returns_leaf_values(k) {
            return self.sums_of_terms(k, &lanes.into_iter().collect::<Vec<_>>());
        }
        let lanes: Vec<&traverse::Lane> = lanes.into_iter().map(|lane| &lane.walk).collect();
        self.walk_emitter.walk(&mut k.b, &lanes, self.rows.loaded_table())
    }

    /// Walks the iterations of a group from `value` on and uses their leaves in order. Returns the next
    /// carried sum.
    pub(super) fn walk_group(
        &self,
        k: &mut KernelBuilder,
        value: Value,
        group: Group,
        sum: Option<Value>,
    ) -> Option<Value> {
        let mut result = sum;
        k.with_var(self.walks.iter.var, InScope::value(value), |k| {
            let lanes = self.lanes(k, group);
            let nodes = self.walk_to_leaves(k, &lanes);
            if self.stores_results_in_loop(&lanes) {
                return k
                    .attribute_to_task(Task::Sums, |k| self.store_results_in_loop(k, &lanes, &nodes, group));
            }
            for (lane, node) in lanes.iter().zip(nodes) {
                result = k.attribute_to_task(Task::Sums, |k| self.use_leaf(k, lane, node, result));
            }
        });
        result
    }

    /// Lanes of a group of iterations, the first of which is the current iteration of the leaf loop.
    pub(super) fn lanes(&self, k: &mut KernelBuilder, group: Group) -> Vec<WalkLane> {
        let walks = self.walks;
        let first_row = k.affine(&walks.row);
        let first_tree = match &self.tree {
            Some(tree) => tree.number,
            None => k.affine(&walks.tree),
        };
        let kept_row = k.kept_row(walks.target.accumulator);
        let mut lanes = Vec::new();
        for vector in 0..group.vectors {
            let ahead = vector * i64::from(group.width) * walks.iter.step;
            let (rows, trees) = if walks.over == Axis::Row { (ahead, 0) } else { (0, ahead) };
            let tree = k.b.add_int(first_tree, trees);
            let shape = group.shape(vector, self.plan.steps.to_leaf().is_some());
            let VectorShape { width, count } = shape;
            let (state, top) = match &self.tree {
                Some(tree) => (tree.state, tree.top.clone()),
                None => self.tree_state(k, tree, shape),
            };
            let mask = group.end.map(|end| {
                let current = k.variable(walks.iter.var);
                let left = k.b.sub(end, current);
                let left = k.b.add_int(left, -ahead);
                lanes_below(&mut k.b, left, width)
            });
            let wrong = vector > 0 && vector == group.vectors - 1 && seeded(Fault::LaneReadsWrongRow);
            let ahead = if wrong { 0 } else { rows };
            let row = self.rows.row(&mut k.b, RowRequest { first: first_row, ahead, width, mask });
            let row_number = k.b.add_int(first_row, rows);
            let walk = traverse::Lane { state, top, row, width };
            let kept_row = kept_row.map(|row| row + rows);
            lanes.push(WalkLane { walk, row_number, tree, kept_row, count, mask });
        }
        lanes
    }

    /// State and speculated nodes of a tree, or of `count` trees in a vector of `width` lanes. The other
    /// lanes walk the last tree again.
    fn tree_state(
        &self,
        k: &mut KernelBuilder,
        tree: Value,
        shape: VectorShape,
    ) -> (TreeState, Vec<NodeTest>) {
        let state = self.load_trees(k, tree, shape);
        (state, self.walk_emitter.load_top_nodes(&mut k.b, &state))
    }

    fn load_trees(&self, k: &mut KernelBuilder, tree: Value, shape: VectorShape) -> TreeState {
        let VectorShape { width, count } = shape;
        if self.returns_leaf_values(k) {
            return TreeState::at(tree);
        }
        if width == 1 {
            let shape = WalkShape { lanes: 1, steps: self.plan.steps.straight };
            return self.layout.load_tree(&mut k.b, self.buffers, tree, shape);
        }
        let ty = Ty::vector(Scalar::I32, width);
        let mut numbers = k.b.iota(ty);
        if count < width {
            let last = k.b.int_of(ty, i64::from(count) - 1);
            numbers = k.b.min(numbers, last);
        }
        let step = k.b.int_of(ty, self.walks.iter.step);
        let distance = k.b.mul(numbers, step);
        let lanes = TreeLanes { distance, aligned: self.walks.aligned };
        self.layout.load_trees(&mut k.b, self.buffers, tree, lanes)
    }
}

/// Rows of the call, or the columns that a separate launch has computed from them.
fn input_rows(k: &mut KernelBuilder) -> RowBuffer {
    let (buffer, columns) = k.input_rows();
    RowBuffer {
        buffer,
        first_row: k.b.int(0),
        block_rows: None,
        element: k.ports.input,
        columns,
        single_block: false,
        placement: RowPlacement::IN_ORDER,
    }
}
