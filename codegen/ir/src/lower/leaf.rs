//! Use of the leaves: their values are added to sums, or their indices stored.

use super::group::Group;
use super::kernel_builder::KernelBuilder;
use super::linear;
use super::ports::Results;
use super::sum_target::{SumTarget, SummedMargins};
use super::walk::{WalkContext, WalkLane};
use crate::lir::{Address, Bin, BufferId, BuildStmts, Gather, Scalar, Ty, Value};
use crate::repr::{LeafValue, WalkEnd, margin_pieces};
use sched_forest::LeafResult;
use sched_nest::Axis;

/// Largest number of margins whose additions are written out; more are added in a loop.
const MOST_UNROLLED_MARGINS: i64 = 4;

/// Fewest lanes of vectors of rows whose results are stored in a loop. Stores of 64 lanes, written out, take
/// more code than the walk.
const LEAST_LOOPED_LANES: u16 = 8;

/// Use of the leaves of a lane: of one walk, or of a vector of walks.
enum LeafAction {
    /// Stores the leaf index or the leaf value of each walk, in kernels without sums.
    Store,
    /// Adds leaf vectors to the sums of a vector of rows, which are stored margin by margin.
    AddMargins { sums: SumTarget, vectors: BufferId },
    /// Adds a vector of values to contiguous sums of a vector of rows.
    AddVector { sums: SumTarget },
    /// Adds a vector of values to the carried sums of a vector of rows.
    CarryVector { sums: SumTarget, sum: Value },
    /// Adds the leaves of the walks to a carried sum, one after the other.
    CarryInOrder { sums: SumTarget, sum: Value },
    /// Adds the leaf of each walk to a sum in memory, one after the other.
    AddEach { sums: SumTarget },
}

/// Value that a leaf adds, or values that the leaves of a vector of walks add.
enum Addend {
    /// One value for one margin.
    Number(Value),
    /// A vector of values for all margins: its index in the table of leaf vectors.
    Vector(Value),
}

/// A single walk at its leaf.
#[derive(Clone, Copy)]
struct EndedWalk {
    /// Number of the walk in its lane.
    walk: u16,
    /// Number of the row.
    row_number: Value,
    tree: Value,
    /// Index of the row among the rows whose sums the thread keeps, if known.
    kept_row: Option<i64>,
}

impl LeafAction {
    /// Action for a lane. `sum` is the sum that is carried in a register, if there is one.
    fn of(k: &KernelBuilder, context: &WalkContext, lane: &WalkLane, sum: Option<Value>) -> LeafAction {
        let Some(sums) = context.sums else { return LeafAction::Store };
        let rows_together = lane.walk.width > 1 && context.has_contiguous_sums();
        match (rows_together, k.ports.vectors, sum) {
            (true, Some(vectors), _) => LeafAction::AddMargins { sums, vectors },
            (true, None, None) => LeafAction::AddVector { sums },
            (true, None, Some(sum)) => LeafAction::CarryVector { sums, sum },
            (false, _, Some(sum)) => LeafAction::CarryInOrder { sums, sum },
            (false, _, None) => LeafAction::AddEach { sums },
        }
    }
}

impl WalkContext<'_> {
    /// Uses the leaves of a lane. `sum` is the sum that is carried in a register, if there is one: of a row,
    /// or a vector with the sums of the lane's rows. Returns the next carried sum.
    pub(super) fn use_leaf(
        &self,
        k: &mut KernelBuilder,
        lane: &WalkLane,
        node: Value,
        sum: Option<Value>,
    ) -> Option<Value> {
        let end = WalkEnd { node, steps: self.plan.steps.to_leaf() };
        match LeafAction::of(k, self, lane, sum) {
            LeafAction::Store => {
                let result = self.result(k, lane, end);
                self.each_walk(k, lane, result, store_of_tree);
                None
            }
            LeafAction::AddMargins { sums, vectors } => {
                self.add_margins(k, (&sums, vectors), lane, end);
                if let Some(terms) = self.terms(k, lane, end) {
                    let index = sums.margin_of_rows(&mut k.b, lane.row_number, lane.tree);
                    sums.add_vector(&mut k.b, (index, SummedMargins::OfTree(lane.tree)), terms, lane.mask);
                }
                None
            }
            LeafAction::AddVector { sums } => {
                let value = self.addend(k, lane, end).value();
                let index = sums.margin_of_rows(&mut k.b, lane.row_number, lane.tree);
                sums.add_vector(&mut k.b, (index, SummedMargins::OfTree(lane.tree)), value, lane.mask);
                None
            }
            LeafAction::CarryVector { sums, sum } => {
                let value = self.addend(k, lane, end).value();
                Some(sums.sum(&mut k.b, sum, value, SummedMargins::OfTree(lane.tree)))
            }
            LeafAction::CarryInOrder { sums, sum } => Some(self.carry_in_order(k, &sums, lane, end, sum)),
            LeafAction::AddEach { sums } => {
                match self.addend(k, lane, end) {
                    Addend::Number(value) => self.each_walk(k, lane, value, |k, ended, value| {
                        add_number(k, &sums, ended, value);
                    }),
                    Addend::Vector(place) => {
                        let terms = self.terms(k, lane, end);
                        self.each_walk(k, lane, place, |k, ended, place| {
                            let place = k.b.to_index(place);
                            add_leaf_vector(k, &sums, ended, place);
                            if let Some(terms) = terms {
                                let value = walk_of(k, lane, terms, ended.walk);
                                add_number(k, &sums, ended, value);
                            }
                        });
                    }
                }
                None
            }
        }
    }

    /// Whether the results of a group's lanes are stored in a loop: in kernels without sums, for adjacent
    /// rows in wide vectors of which no lane is known to be idle.
    pub(super) fn stores_results_in_loop(&self, lanes: &[WalkLane]) -> bool {
        let are_rows = self.walks.over == Axis::Row && self.walks.iter.step == 1;
        let is_wide =
            |lane: &WalkLane| lane.walk.width >= LEAST_LOOPED_LANES && lane.count == lane.walk.width;
        !self.adds_leaf_values() && are_rows && lanes.iter().all(is_wide)
    }

    /// Stores the results of a group's lanes in a loop over rows, through temporary memory. `nodes` has the
    /// leaf of each lane.
    pub(super) fn store_results_in_loop(
        &self,
        k: &mut KernelBuilder,
        lanes: &[WalkLane],
        nodes: &[Value],
        group: Group,
    ) {
        let steps = self.plan.steps.to_leaf();
        let results: Vec<Value> = lanes
            .iter()
            .zip(nodes)
            .map(|(lane, node)| self.result(k, lane, WalkEnd { node: *node, steps }))
            .collect();
        let (Some(first), Some(result)) = (lanes.first(), results.first()) else { return };
        let ty = k.b.ty(*result);
        let rows = group.vectors * i64::from(group.width);
        let rows = k.b.int(rows);
        let end = match group.end {
            None => rows,
            Some(below) => {
                let current = k.variable(self.walks.iter.var);
                let left = k.b.sub(below, current);
                k.b.bin(Bin::Min, left, rows)
            }
        };
        let bytes = k.b.int(group.vectors * i64::from(ty.bytes()));
        k.alloc("leaves", ty.scalar, bytes, |k, buffer| {
            for (vector, result) in (0..).zip(&results) {
                let place = k.b.int(vector * i64::from(group.width));
                k.b.store(Address::element(buffer, place, ty.scalar), *result);
            }
            let zero = k.b.int(0);
            k.for_loop((zero, end, 1), &[], |k, ahead, _| {
                let result = k.b.load(Ty::of(ty.scalar), Address::element(buffer, ahead, ty.scalar));
                let row_number = k.b.add(first.row_number, ahead);
                store_of_tree(k, EndedWalk { walk: 0, row_number, tree: first.tree, kept_row: None }, result);
                Vec::new()
            });
        });
    }

    /// The results of a lane's walks in a kernel without sums: indices of leaves, or their values.
    fn result(&self, k: &mut KernelBuilder, lane: &WalkLane, end: WalkEnd) -> Value {
        match k.ports.results {
            Results::OfTrees(LeafResult::Value) => self.addend(k, lane, end).value(),
            _ => self.layout.leaf_index(&mut k.b, self.buffers, &lane.walk.state, end),
        }
    }

    /// Loads what a lane's leaves add, and evaluates linear leaves.
    fn addend(&self, k: &mut KernelBuilder, lane: &WalkLane, end: WalkEnd) -> Addend {
        if self.returns_leaf_values(k) {
            return Addend::Number(end.node);
        }
        match self.layout.leaf(&mut k.b, self.buffers, &lane.walk.state, end) {
            LeafValue::Scalar(value) => Addend::Number(value),
            LeafValue::Index(leaf) if k.ports.vectors.is_some() => {
                let outputs = k.b.int_of(k.b.ty(leaf), k.ports.margins());
                Addend::Vector(k.b.mul(leaf, outputs))
            }
            LeafValue::Index(leaf) => Addend::Number(linear::values(k, self, lane, leaf)),
        }
    }

    /// Adds the leaves of a lane's walks to a carried sum, in order, so that it is bit-equal to the sum
    /// of single walks.
    fn carry_in_order(
        &self,
        k: &mut KernelBuilder,
        sums: &SumTarget,
        lane: &WalkLane,
        end: WalkEnd,
        mut sum: Value,
    ) -> Value {
        let addend = self.addend(k, lane, end);
        for walk in 0..lane.count {
            let value = match &addend {
                Addend::Number(values) => walk_of(k, lane, *values, walk),
                Addend::Vector(places) => {
                    let place = walk_of(k, lane, *places, walk);
                    let (place, lanes) = (k.b.to_index(place), k.b.ty(sum).lanes);
                    vector_elements(k, place, lanes)
                }
            };
            let first = k.b.int(0);
            sum = sums.sum(&mut k.b, sum, value, SummedMargins::AdjacentFrom(first));
        }
        sum
    }

    /// Calls `body` for each walk of a lane in order.
    fn each_walk<'a>(
        &self,
        k: &mut KernelBuilder<'a>,
        lane: &WalkLane,
        value: Value,
        mut body: impl FnMut(&mut KernelBuilder<'a>, EndedWalk, Value),
    ) {
        for walk in 0..lane.count {
            let value = walk_of(k, lane, value, walk);
            let ahead = self.walks.iter.step * i64::from(walk);
            let (rows, trees) = if self.walks.over == Axis::Row { (ahead, 0) } else { (0, ahead) };
            let ended = EndedWalk {
                walk,
                row_number: k.b.add_int(lane.row_number, rows),
                tree: k.b.add_int(lane.tree, trees),
                kept_row: lane.kept_row.map(|row| row + rows),
            };
            match lane.mask {
                None => body(k, ended, value),
                Some(mask) => {
                    let exists = k.b.extract(mask, walk);
                    k.when(exists, |k| body(k, ended, value));
                }
            }
        }
    }

    /// Adds the leaf vectors of a vector of rows, whose sums are stored margin by margin.
    fn add_margins(
        &self,
        k: &mut KernelBuilder,
        (sums, vectors): (&SumTarget, BufferId),
        lane: &WalkLane,
        end: WalkEnd,
    ) {
        let first = sums.first_margin(&mut k.b, lane.row_number, None);
        let rows = i64::from(sums.block_rows.unwrap_or(1));
        let one = |k: &mut KernelBuilder, margin: Value| {
            let state = &lane.walk.state;
            let found = self.layout.leaf_margin(&mut k.b, self.buffers, state, end, margin);
            let value = found.unwrap_or_else(|| self.gathered_margin(k, vectors, lane, end, margin));
            let ahead = k.b.mul_int(margin, rows);
            let index = k.b.add(first, ahead);
            sums.add_vector(&mut k.b, (index, SummedMargins::Margin(margin)), value, lane.mask);
        };
        // Several margins per iteration, which share the computations on leaf indices.
        let several = sums.margins / MOST_UNROLLED_MARGINS * MOST_UNROLLED_MARGINS;
        let looped = if several > MOST_UNROLLED_MARGINS { several } else { 0 };
        if looped > 0 {
            let (zero, end) = (k.b.int(0), k.b.int(looped));
            k.for_loop((zero, end, MOST_UNROLLED_MARGINS), &[], |k, first, _| {
                for ahead in 0..MOST_UNROLLED_MARGINS {
                    let margin = k.b.add_int(first, ahead);
                    one(k, margin);
                }
                Vec::new()
            });
        }
        for margin in looped..sums.margins {
            let margin = k.b.int(margin);
            one(k, margin);
        }
    }

    /// Sums of the terms of linear leaves whose constants are in leaf vectors; `None` without linear leaves.
    fn terms(&self, k: &mut KernelBuilder, lane: &WalkLane, end: WalkEnd) -> Option<Value> {
        let tables = k.ports.linear?;
        match self.layout.leaf(&mut k.b, self.buffers, &lane.walk.state, end) {
            LeafValue::Index(leaf) => Some(linear::terms(k, self, lane, (&tables, leaf))),
            LeafValue::Scalar(_) => None,
        }
    }

    /// Gathers one margin of the leaf vectors of a vector of walks from the table of all leaf vectors.
    fn gathered_margin(
        &self,
        k: &mut KernelBuilder,
        vectors: BufferId,
        lane: &WalkLane,
        end: WalkEnd,
        margin: Value,
    ) -> Value {
        match self.addend(k, lane, end) {
            Addend::Number(value) => value,
            Addend::Vector(index) => {
                let element = k.ports.accumulator;
                let (buffer, base, stride) = (vectors, margin, element.bytes());
                k.b.gather(element, Gather { buffer, base, index, stride, offset: 0, mask: None })
            }
        }
    }
}

impl Addend {
    /// The leaf value, or the index of its leaf vector.
    fn value(self) -> Value {
        match self {
            Addend::Number(value) | Addend::Vector(value) => value,
        }
    }
}

/// One walk's part of a lane's value.
fn walk_of(k: &mut KernelBuilder, lane: &WalkLane, value: Value, walk: u16) -> Value {
    if lane.walk.width > 1 { k.b.extract(value, walk) } else { value }
}

/// Loads consecutive elements of the table of leaf vectors.
fn vector_elements(k: &mut KernelBuilder, index: Value, lanes: u16) -> Value {
    let ty = Ty::vector(k.ports.accumulator, lanes);
    match k.ports.vectors {
        Some(vectors) => k.b.load(ty, Address::element(vectors, index, ty.scalar)),
        None => k.b.float(ty, 0.0),
    }
}

/// Adds a value to the margin that the walk's tree adds to.
fn add_number(k: &mut KernelBuilder, sums: &SumTarget, ended: EndedWalk, value: Value) {
    let index = sums.margin(&mut k.b, ended.row_number, ended.tree, ended.kept_row);
    sums.add(&mut k.b, index, value, SummedMargins::OfTree(ended.tree));
}

/// Adds a leaf vector to all margins of the row, in pieces as wide as registers. Atomic additions, and
/// those of a GPU's threads, are one by one.
fn add_leaf_vector(k: &mut KernelBuilder, sums: &SumTarget, ended: EndedWalk, first: Value) {
    let to = sums.first_margin(&mut k.b, ended.row_number, ended.kept_row);
    if sums.atomic || k.is_on_device() {
        let (zero, end) = (k.b.int(0), k.b.int(sums.margins));
        k.for_loop((zero, end, 1), &[], |k, margin, _| {
            let source = k.b.add(first, margin);
            let value = vector_elements(k, source, 1);
            let index = sums.margin_after(&mut k.b, to, margin);
            sums.add(&mut k.b, index, value, SummedMargins::Margin(margin));
            Vec::new()
        });
        return;
    }
    for (margin, lanes) in margin_pieces(sums.margins, sums.element.bytes()) {
        let source = k.b.add_int(first, margin);
        let value = vector_elements(k, source, lanes);
        let index = k.b.add_int(to, margin);
        let summed = SummedMargins::AdjacentFrom(k.b.int(margin));
        sums.add_vector(&mut k.b, (index, summed), value, None);
    }
}

/// Stores the result of a walk. Results of a row are in the model's order of trees.
fn store_of_tree(k: &mut KernelBuilder, ended: EndedWalk, result: Value) {
    let trees = k.ports.lowering.hir.forest.trees.len() as i64;
    let column = match k.ports.tree_numbers {
        Some(tree_numbers) => {
            k.b.load_index(Scalar::I32, Address::element(tree_numbers, ended.tree, Scalar::I32))
        }
        None => ended.tree,
    };
    let row = k.b.mul_int(ended.row_number, trees);
    let index = k.b.add(row, column);
    let element = k.b.ty(result).scalar;
    k.b.store(Address::element(k.ports.out, index, element), result);
}
