//! The launches of a nest: which loops over rows and trees are blocks, threads, lanes or serial.

use super::coverage::{AxisLoops, Extent};
use super::figures;
use super::margins::{is_thread_loop, margins_of_slots};
use super::trees::{margins, selects_class};
use sched_nest::sym::{Property, Sym};
use sched_nest::{Axis, Body, GpuAxis, GpuLevel, Layout, Loop, LoopId, ModelInfo, Nest, Operands, Reduce};

/// A launch, or the part of it that one path of loops describes.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchMapping {
    /// Layout of the trees.
    pub layout: Layout,
    /// Rows of a block.
    pub rows_per_block: u64,
    /// Threads of a block among which its rows are divided.
    pub row_threads: u64,
    /// Rows of a thread whose bins share a word, so that one test serves all of them.
    pub lanes: u64,
    /// Adjacent rows of a thread.
    pub adjacent_rows: u64,
    /// Number of blocks among which the trees are divided.
    pub tree_blocks: u64,
    /// Whether blocks with other trees run after those with all rows of the call: their trees are in a
    /// dimension of the grid that is slower than that of rows.
    pub has_trees_in_slow_dimension: bool,
    /// Threads of a block among which its trees are divided.
    pub tree_threads: u64,
    /// Trees that a thread walks.
    pub thread_trees: u64,
    /// Whether consecutive threads of a warp walk different trees, and not different rows.
    pub trees_in_lanes: bool,
    /// Walks of a thread that are interleaved.
    pub interleaved_walks: u64,
    /// Number of times that a block adds up slots in shared memory; 0 without such slots.
    pub folds: u64,
    /// Number of times that a thread moves its sums to slots: once for each iteration of serial loops over
    /// trees outside of the mapped ones.
    pub slot_rounds: u64,
    /// Number of slots in the device's memory; 0 without such slots.
    pub device_slots: u64,
    /// Margins of a slot that threads fill: all, or one, if all its trees add to that one.
    pub margins_of_slot: u64,
    /// Whether a block copies its rows.
    pub copies_rows: bool,
    /// Trees that a block copies at a time; 0 if it copies none.
    pub copied_trees: u64,
    /// Number of times that a block copies each of its trees: once for each iteration of serial loops over
    /// rows outside of the copies.
    pub copy_rounds: u64,
    /// Whether each row is copied in one block and once, so that the block can compute its columns.
    pub copies_each_row_once: bool,
}

impl LaunchMapping {
    /// A launch of one block and one thread, which walks one tree with all rows. Slots would have `margins`
    /// margins.
    pub fn of_rows(layout: Layout, rows: u64, margins: u64) -> LaunchMapping {
        LaunchMapping {
            layout,
            rows_per_block: rows,
            row_threads: 1,
            lanes: 1,
            adjacent_rows: rows,
            tree_blocks: 1,
            has_trees_in_slow_dimension: false,
            tree_threads: 1,
            thread_trees: 1,
            trees_in_lanes: false,
            interleaved_walks: 1,
            folds: 0,
            slot_rounds: 1,
            device_slots: 0,
            margins_of_slot: margins,
            copies_rows: false,
            copied_trees: 0,
            copy_rounds: 1,
            copies_each_row_once: false,
        }
    }

    /// Threads of a block.
    pub fn threads(&self) -> u64 {
        self.row_threads * self.tree_threads
    }

    /// Walks of a thread that are interleaved, at most the number of its trees.
    pub fn walks_in_flight(&self) -> u64 {
        self.interleaved_walks.min(self.thread_trees).max(1)
    }

    /// Rows of a thread.
    pub fn rows_of_a_thread(&self) -> u64 {
        self.rows_per_block.div_ceil(self.row_threads).max(1)
    }

    /// Whether a slot has the sums of one of several margins.
    pub fn has_one_margin(&self, model: &ModelInfo) -> bool {
        self.margins_of_slot < margins(model)
    }

    /// Whether a thread selects a sum by the class of each tree. Otherwise a thread has sums of one class, or
    /// each tree adds to all sums.
    pub fn selects_class(&self, model: &ModelInfo) -> bool {
        selects_class(model) && !self.has_one_margin(model)
    }

    /// Slots that a fold adds up for each sum, of `slots` slots.
    pub fn slots_of_sum(&self, model: &ModelInfo, slots: u64) -> u64 {
        if self.has_one_margin(model) { slots.div_ceil(margins(model)) } else { slots }
    }

    /// Registers of a thread. Each interleaved walk has its node and the node's fields in registers; a
    /// straight-line walk has just its node's number, unless the sums are selected by class.
    pub fn registers(&self, model: &ModelInfo) -> u64 {
        let selects = self.selects_class(model);
        let of_walk = match self.layout.operands() {
            _ if self.layout.has_straight_line_walks() && !selects => 0,
            Operands::Bins => figures::PREORDER_WALK_REGISTERS,
            Operands::Values => u64::from(model.value_bytes.max(4)),
        };
        let further = self.walks_in_flight().saturating_sub(2);
        let of_classes = if selects && !self.layout.compares_bins() { figures::CLASS_REGISTERS } else { 0 };
        (figures::THREAD_REGISTERS + of_classes + further * of_walk).next_multiple_of(figures::REGISTER_UNIT)
    }

    /// Whether threads take trees in rounds, and some threads have no tree in the last round.
    pub fn has_partial_round(&self, model: &ModelInfo) -> bool {
        let in_turns = self.folds > 1 || (self.device_slots > 0 && self.tree_threads > 1);
        in_turns && !u64::from(model.num_trees.max(1)).is_multiple_of(self.tree_threads)
    }
}

/// Launches of a nest in a call of `rows` rows: an entry for each path of loops to a leaf loop. `None` if a
/// path has no mapped loop, or if an extent is unknown.
pub fn launches(nest: &Nest, model: &ModelInfo, rows: u64) -> Option<Vec<LaunchMapping>> {
    let mut paths = Vec::new();
    for root in &nest.roots {
        paths_below(nest, *root, &mut Vec::new(), &mut paths);
    }
    let launches: Option<Vec<LaunchMapping>> =
        paths.iter().map(|path| PathReader::new(nest, model, rows, path)?.read(model)).collect();
    launches.filter(|launches| !launches.is_empty())
}

/// Adds the paths from a loop to the leaf loops inside it.
fn paths_below(nest: &Nest, id: LoopId, path: &mut Vec<LoopId>, paths: &mut Vec<Vec<LoopId>>) {
    path.push(id);
    match &nest.get(id).body {
        Body::Walk => paths.push(path.clone()),
        Body::Seq(list) => list.iter().for_each(|inner| paths_below(nest, *inner, path, paths)),
        // The cases of a specialized loop are alike, so only the first is read.
        Body::Cases(cases) => {
            cases.iter().take(1).flatten().for_each(|inner| paths_below(nest, *inner, path, paths));
        }
    }
    path.pop();
}

/// Reads a path of loops from the outermost to the walks.
struct PathReader<'a> {
    nest: &'a Nest,
    path: &'a [LoopId],
    rows: AxisLoops,
    trees: AxisLoops,
    mapping: LaunchMapping,
    /// Whether vectors of rows share words of bins.
    has_byte_bins: bool,
    /// Iterations of serial loops over trees that are outside of all loops over threads.
    pieces: u64,
    /// Iterations of serial loops over rows so far, inside the launch.
    row_rounds: u64,
    /// The slowest dimension of the grid that has rows.
    row_grid: Option<GpuAxis>,
    /// The slowest dimension of the grid that has trees.
    tree_grid: Option<GpuAxis>,
    is_mapped: bool,
    has_threads: bool,
    is_shared: bool,
}

impl<'a> PathReader<'a> {
    /// `None` if an extent is unknown.
    fn new(nest: &'a Nest, model: &ModelInfo, rows: u64, path: &'a [LoopId]) -> Option<PathReader<'a>> {
        let layout = nest.representation.unwrap_or(Layout::Array);
        let extents = |over_rows: bool| -> Option<Vec<Extent>> {
            let loops = path.iter().filter(|id| (nest.get(**id).axis == Axis::Row) == over_rows);
            loops.map(|id| extent(*id, nest.get(*id), rows)).collect()
        };
        Some(PathReader {
            nest,
            path,
            rows: AxisLoops::of(extents(true)?, rows, false),
            trees: AxisLoops::of(extents(false)?, u64::from(model.num_trees.max(1)), true),
            mapping: LaunchMapping::of_rows(layout, rows, margins(model)),
            has_byte_bins: model.has_byte_bins(),
            pieces: 1,
            row_rounds: 1,
            row_grid: None,
            tree_grid: None,
            is_mapped: false,
            has_threads: false,
            is_shared: false,
        })
    }

    fn read(mut self, model: &ModelInfo) -> Option<LaunchMapping> {
        for (at, id) in self.path.iter().enumerate() {
            self.enter(at, self.nest.get(*id));
        }
        if !self.is_mapped {
            return None;
        }
        let mapping = &mut self.mapping;
        mapping.rows_per_block = mapping.rows_per_block.max(1);
        if self.is_shared {
            mapping.folds = self.pieces;
        }
        mapping.has_trees_in_slow_dimension = self.row_grid.is_some() && self.tree_grid > self.row_grid;
        mapping.copies_each_row_once &= mapping.tree_blocks == 1 && mapping.copied_trees == 0;
        mapping.adjacent_rows = mapping.adjacent_rows.min(mapping.rows_of_a_thread());
        mapping.margins_of_slot = margins_of_slots((self.nest, model), self.path, &self.trees);
        Some(self.mapping)
    }

    fn enter(&mut self, at: usize, this: &Loop) {
        let annotations = &this.annotations;
        if let Some(layout) = annotations.representation {
            self.mapping.layout = layout;
        }
        match this.axis {
            Axis::Row => self.row_loop(at, this),
            Axis::Tree | Axis::Unit | Axis::Feature => self.tree_loop(at, this),
        }
        self.is_mapped |= annotations.gpu_dimension.is_some();
        if let Some(walks) = annotations.interleave {
            self.mapping.interleaved_walks = u64::from(walks.max(1));
        }
        if let (Some(lanes), Axis::Row) = (annotations.vectorize, this.axis) {
            let lanes = u64::from(lanes.max(1));
            if self.has_byte_bins {
                self.mapping.lanes = lanes;
            } else {
                // The rows of a vector do not share a word, so their walks are interleaved.
                self.mapping.interleaved_walks *= lanes;
            }
        }
    }

    fn row_loop(&mut self, at: usize, this: &Loop) {
        let trips = self.rows.trips(self.path[at]);
        let dimension = this.annotations.gpu_dimension;
        if dimension.is_some() {
            self.mapping.adjacent_rows = self.mapping.adjacent_rows.min(self.rows.step(self.path[at]));
        }
        match dimension.map(|dimension| dimension.level) {
            Some(GpuLevel::Grid) => {
                self.row_grid = self.row_grid.max(dimension.map(|dimension| dimension.axis));
                let inner = &self.path[at + 1..];
                self.mapping.rows_per_block = self.rows.covered(|id| inner.contains(&id));
            }
            Some(GpuLevel::Block) => {
                self.mapping.row_threads *= trips;
                self.has_threads = true;
            }
            None if self.is_mapped => self.row_rounds *= trips,
            None => {}
        }
        self.mapping.copies_rows |= this.annotations.cache;
        let inner = &self.path[at..];
        let has_all_trees = self.path.iter().all(|id| self.trees.trips(*id) == 1 || inner.contains(id));
        self.mapping.copies_each_row_once |= this.annotations.cache && has_all_trees;
    }

    fn tree_loop(&mut self, at: usize, this: &Loop) {
        let trips = self.trees.trips(self.path[at]);
        let mapping = &mut self.mapping;
        let is_shared = this.annotations.reduce == Some(Reduce::Shared);
        match this.annotations.gpu_dimension {
            Some(dimension) => {
                if dimension.level == GpuLevel::Grid {
                    mapping.tree_blocks *= trips;
                    self.tree_grid = self.tree_grid.max(Some(dimension.axis));
                } else {
                    mapping.tree_threads *= trips;
                    mapping.trees_in_lanes |= dimension.axis == GpuAxis::X;
                    self.has_threads = true;
                }
                if !is_shared && this.annotations.reduce != Some(Reduce::Atomic) {
                    mapping.device_slots = mapping.device_slots.max(1) * trips;
                }
            }
            None => {
                mapping.thread_trees *= trips;
                if mapping.tree_threads == 1 {
                    mapping.slot_rounds *= trips;
                }
                if !self.has_threads {
                    self.pieces *= trips;
                }
            }
        }
        if this.annotations.cache {
            // A block copies the trees of all its threads, also those of loops over threads outside.
            let (nest, inner) = (self.nest, &self.path[at + 1..]);
            let is_copied = |id: LoopId| inner.contains(&id) || is_thread_loop(nest.get(id));
            mapping.copied_trees = self.trees.covered(is_copied);
            mapping.copy_rounds = self.row_rounds;
        }
        self.is_shared |= is_shared;
    }
}

/// The extent of a loop in a call of `rows` rows. `None` if it depends on an unknown property.
fn extent(id: LoopId, this: &Loop, rows: u64) -> Option<Extent> {
    let rows = i64::try_from(rows).ok()?;
    let value =
        |sym: &Sym| sym.substitute(&|property| (property == Property::Rows).then_some(rows)).ok()?.as_int();
    let length = (value(&this.stop)? - value(&this.start)?).max(0);
    let step = value(&this.step)?.max(1);
    Some(Extent { id, length: u64::try_from(length).ok()?, step: u64::try_from(step).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_lang::{CheckOptions, CheckPurpose, check};
    use sched_nest::Depths;
    use std::sync::Arc;

    /// A model of 100 trees.
    fn model() -> ModelInfo {
        ModelInfo {
            num_trees: 100,
            num_features: 10,
            tested_features: 10,
            num_classes: 1,
            depths: Depths::from(vec![6; 100]),
            value_bytes: 4,
            sum_bytes: 4,
            bin_bytes: 1,
            bins_per_row: 10,
            ..ModelInfo::default()
        }
    }

    /// The launch of a schedule for 100 trees, in a call of 1,000 rows.
    fn launch(directives: &str) -> LaunchMapping {
        launch_of(&model(), directives)
    }

    /// The launch of a schedule for a model, in a call of 1,000 rows.
    fn launch_of(model: &ModelInfo, directives: &str) -> LaunchMapping {
        let schedule = format!("target gpu\n{directives}");
        let options = CheckOptions {
            model: Some(Arc::new(model.clone())),
            target: "gpu(sm_90)".parse().ok(),
            purpose: CheckPurpose::Compile,
            ..CheckOptions::default()
        };
        let nest = check(&schedule, &options).nests.expect(&schedule).into_for_rows(1000);
        let mut all = launches(&nest, model, 1000).expect(&schedule);
        assert_eq!(all.len(), 1, "{schedule}");
        all.remove(0)
    }

    /// A launch of blocks of 64 rows, with a row for each thread.
    fn launch_of_rows(loops: &str, directives: &str) -> LaunchMapping {
        let rows = "gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";
        launch(&format!("tile(batch, b0, b1, 64)\n{loops}\n{rows}{directives}"))
    }

    /// Threads over trees, trees of a thread, folds, and moves of a sum to slots.
    fn of_trees(launch: &LaunchMapping) -> [u64; 4] {
        [launch.tree_threads, launch.thread_trees, launch.folds, launch.slot_rounds]
    }

    /// Threads that share trees, with slots in shared memory.
    const TREE_THREADS: &str = "gpuDimension(t1, block.y)\nsharedReduce(t1)\n";

    #[test]
    fn each_thread_walks_its_trees_in_any_order_of_loops() {
        let of =
            |order: &str| launch_of_rows(&format!("tile(tree, t0, t1, 16)\nreorder({order})"), TREE_THREADS);
        let [own, threads, rounds] = ["b0, b1, t1, t0", "b0, b1, t0, t1", "b0, t0, b1, t1"].map(of);
        assert_eq!(of_trees(&own), [16, 7, 1, 1], "a thread moves its sum once");
        assert_eq!(of_trees(&threads), [16, 7, 1, 7]);
        assert_eq!(of_trees(&rounds), [16, 7, 7, 7], "the block folds the trees of each round");
        for launch in [own, threads, rounds] {
            assert_eq!((launch.rows_per_block, launch.row_threads), (64, 64));
        }
    }

    #[test]
    fn three_loops_divide_the_trees_in_any_order() {
        let tiles = "tile(tree, t0, t, 20)\ntile(t, t1, t2, 4)\n";
        for order in ["t0, t1, t2", "t1, t0, t2", "t1, t2, t0", "t2, t1, t0", "t0, t2, t1"] {
            let launch = launch_of_rows(&format!("{tiles}reorder(b0, b1, {order})"), TREE_THREADS);
            assert_eq!(of_trees(&launch)[..3], [5, 20, 1], "{order}");
        }
    }

    #[test]
    fn serial_loops_over_rows_divide_them_in_any_order() {
        let mapped = "gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";
        for (tile, order) in [("b1, b2, 4", "b0, b1, b2"), ("b2, b1, 16", "b0, b1, b2")] {
            let text = format!("tile(batch, b0, r, 64)\ntile(r, {tile})\nreorder({order}, tree)\n{mapped}");
            let launch = launch(&text);
            assert_eq!((launch.rows_per_block, launch.row_threads), (64, 16), "{tile}");
        }
    }

    #[test]
    fn blocks_copy_the_trees_of_all_their_threads() {
        let copied = |launch: LaunchMapping| (launch.tree_blocks, launch.copied_trees, launch.copy_rounds);
        let pieces = "gpuDimension(t0, grid.y)\ncache(t0)\n";
        let of_blocks = launch_of_rows("tile(tree, t0, t1, 8)\nreorder(b0, t0, b1, t1)", pieces);
        assert!(of_blocks.has_trees_in_slow_dimension);
        assert_eq!(copied(of_blocks), (13, 8, 1));
        let strided = format!("{TREE_THREADS}cache(t0)\n");
        let of_threads = launch_of_rows("tile(tree, t0, t1, 8)\nreorder(b0, b1, t1, t0)", &strided);
        assert_eq!(copied(of_threads), (1, 8, 1));
        let of_rounds = "tile(batch, b0, r, 256)\ntile(r, b2, b1, 64)\ntile(tree, t0, t1, 8)\n\
                         reorder(b0, b2, t0, b1, t1)\ngpuDimension(b0, grid.x)\n\
                         gpuDimension(b1, block.x)\ncache(t0)\n";
        assert_eq!(copied(launch(of_rounds)), (1, 8, 4), "four times 64 rows");
    }

    #[test]
    fn threads_have_adjacent_rows_if_their_loop_is_inside() {
        let of = |tile: &str, order| {
            let mapped = "gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";
            let tiles = format!("tile(batch, b0, r, 64)\ntile(r, {tile})\n");
            launch(&format!("{tiles}reorder({order}, tree)\n{mapped}")).adjacent_rows
        };
        assert_eq!(of("b1, b2, 4", "b0, b1, b2"), 4);
        assert_eq!(of("b2, b1, 16", "b0, b1, b2"), 1);
        assert_eq!(launch("gpuDimension(batch, grid.x)\ngpuDimension(tree, block.x)\n").adjacent_rows, 1);
    }

    /// Margins of the slots of a schedule, for 104 trees that add to some margins in turn.
    fn margins_of_slots(classes: u32, directives: &str) -> u64 {
        let depths = Depths::from(vec![6; 104]);
        let in_turn = ModelInfo { num_trees: 104, depths, num_classes: classes, ..model() };
        let in_turn = ModelInfo { takes_margins_in_turn: true, ..in_turn };
        let vectors = ModelInfo { takes_margins_in_turn: false, has_leaf_vectors: true, ..in_turn.clone() };
        let all = u64::from(classes);
        assert_eq!(launch_of(&vectors, directives).margins_of_slot, all, "{directives}");
        launch_of(&in_turn, directives).margins_of_slot
    }

    const ROWS: &str = "tile(batch, b0, b1, 32)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";

    #[test]
    fn slots_have_one_margin_if_their_trees_are_multiples_of_the_classes_apart() {
        let of = |classes, threads| {
            let trees = format!("tile(tree, t0, t1, {threads})\nreorder(b0, t0, b1, t1)\n");
            margins_of_slots(classes, &format!("{ROWS}{trees}{TREE_THREADS}"))
        };
        assert_eq!([of(8, 8), of(8, 16), of(8, 32), of(1, 12)], [1; 4]);
        assert_eq!([of(8, 12), of(8, 4), of(8, 26)], [8; 3]);
        assert_eq!([of(7, 14), of(7, 16)], [1, 7]);
        // Adjacent trees, which add to all margins.
        let adjacent = "tile(tree, t1, t0, 8)\nreorder(b0, b1, t1, t0)\n";
        assert_eq!(margins_of_slots(8, &format!("{ROWS}{adjacent}{TREE_THREADS}")), 8);
        assert_eq!(margins_of_slots(8, ROWS), 8, "it has no slots");
        let sorted = "sortTrees(depth)\ntile(tree, t0, t1, 8)\n";
        let order = "reorder(b0, t0, b1, t1)\n";
        assert_eq!(margins_of_slots(8, &format!("{sorted}{ROWS}{order}{TREE_THREADS}")), 1, "equal depths");
        let together = format!("{ROWS}tile(tree, t0, t1, 16)\n{order}{TREE_THREADS}interleave(t1, 2)\n");
        assert_eq!(margins_of_slots(8, &together), 8, "a thread walks two trees");
    }

    #[test]
    fn slots_of_blocks_and_threads_are_in_the_order_of_trees() {
        let of = |threads, reduce| {
            let trees = format!("tile(tree, t0, t1, {threads})\nreorder(b0, t0, b1, t1)\n");
            let mapped = "gpuDimension(t0, grid.y)\ngpuDimension(t1, block.y)\n";
            margins_of_slots(8, &format!("{ROWS}{trees}{mapped}{reduce}"))
        };
        assert_eq!([of(8, ""), of(12, "")], [1, 1], "all trees have slots in the device's memory");
        assert_eq!([of(8, "sharedReduce(t1)"), of(12, "sharedReduce(t1)")], [1, 8]);
        assert_eq!([of(8, "atomicReduce(t1)"), of(12, "atomicReduce(t1)")], [8, 8], "slots of 8 or 12 trees");
        assert_eq!(of(8, "atomicReduce(t0)\natomicReduce(t1)"), 8, "no loop has slots");
    }
}
