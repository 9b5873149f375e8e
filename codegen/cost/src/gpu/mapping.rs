//! The launches of a nest: which loops over rows and trees are blocks, threads, lanes or serial.

use super::figures;
use super::trees::selects_class;
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
    /// Number of blocks among which the trees are divided.
    pub tree_blocks: u64,
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
    /// Whether a block copies its rows.
    pub copies_rows: bool,
    /// Trees that a block copies at a time; 0 if it copies none.
    pub copied_trees: u64,
    /// Whether each row is copied in one block and once, so that the block can compute its columns.
    pub copies_each_row_once: bool,
}

impl LaunchMapping {
    /// A launch of one block and one thread, which walks one tree with all rows.
    pub fn of_rows(layout: Layout, rows: u64) -> LaunchMapping {
        LaunchMapping {
            layout,
            rows_per_block: rows,
            row_threads: 1,
            lanes: 1,
            tree_blocks: 1,
            tree_threads: 1,
            thread_trees: 1,
            trees_in_lanes: false,
            interleaved_walks: 1,
            folds: 0,
            slot_rounds: 1,
            device_slots: 0,
            copies_rows: false,
            copied_trees: 0,
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

    /// Registers of a thread. Each interleaved walk has its node and the node's fields in registers; a
    /// straight-line walk has just its node's number, unless the sums are selected by class.
    pub fn registers(&self, model: &ModelInfo) -> u64 {
        let selects = selects_class(model);
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
        paths.iter().map(|path| PathReader::new(nest, model, rows).read(path)).collect();
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
    rows: u64,
    /// Rows of one iteration of the loops read so far.
    row_extent: u64,
    /// Trees of one iteration of the loops read so far.
    tree_extent: u64,
    /// Trees of the model.
    trees: u64,
    mapping: LaunchMapping,
    /// Whether vectors of rows share words of bins.
    has_byte_bins: bool,
    /// Iterations of serial loops over trees that are outside of all loops over threads.
    pieces: u64,
    is_mapped: bool,
    has_threads: bool,
    is_shared: bool,
}

impl<'a> PathReader<'a> {
    fn new(nest: &'a Nest, model: &ModelInfo, rows: u64) -> PathReader<'a> {
        let layout = nest.representation.unwrap_or(Layout::Array);
        PathReader {
            nest,
            rows,
            row_extent: rows,
            tree_extent: u64::from(model.num_trees.max(1)),
            trees: u64::from(model.num_trees.max(1)),
            mapping: LaunchMapping::of_rows(layout, rows),
            has_byte_bins: model.has_byte_bins(),
            pieces: 1,
            is_mapped: false,
            has_threads: false,
            is_shared: false,
        }
    }

    fn read(mut self, path: &[LoopId]) -> Option<LaunchMapping> {
        for id in path {
            self.enter(self.nest.get(*id))?;
        }
        if !self.is_mapped {
            return None;
        }
        let mapping = &mut self.mapping;
        mapping.rows_per_block = mapping.rows_per_block.max(1);
        if self.is_shared {
            mapping.folds = self.pieces;
        }
        mapping.copies_each_row_once &= mapping.tree_blocks == 1 && mapping.copied_trees == 0;
        Some(self.mapping)
    }

    fn enter(&mut self, this: &Loop) -> Option<()> {
        let step = self.value(&this.step)?.max(1);
        let extent = match this.axis {
            Axis::Row => self.row_extent,
            Axis::Tree | Axis::Unit | Axis::Feature => self.tree_extent,
        };
        // The constraints of tiles shorten only the last iterations, so the extent bounds the length of each.
        let length = (self.value(&this.stop)? - self.value(&this.start)?).max(0);
        let trips = u64::try_from(length).ok()?.min(extent).div_ceil(u64::try_from(step).ok()?).max(1);
        let inside = match this.axis {
            // Blocks have all their threads, even if the call has fewer rows.
            Axis::Row => u64::try_from(step).ok()?,
            Axis::Tree | Axis::Unit | Axis::Feature => u64::try_from(step).ok()?.min(extent),
        };
        let annotations = &this.annotations;
        if let Some(layout) = annotations.representation {
            self.mapping.layout = layout;
        }
        match this.axis {
            Axis::Row => self.row_loop(this, trips, inside),
            Axis::Tree | Axis::Unit | Axis::Feature => self.tree_loop(this, trips, inside),
        }
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
        Some(())
    }

    fn row_loop(&mut self, this: &Loop, trips: u64, inside: u64) {
        match this.annotations.gpu_dimension.map(|dimension| dimension.level) {
            Some(GpuLevel::Grid) => self.mapping.rows_per_block = inside,
            Some(GpuLevel::Block) => {
                if !self.is_mapped {
                    self.mapping.rows_per_block = self.rows;
                }
                self.mapping.row_threads *= trips;
                self.has_threads = true;
            }
            None => {}
        }
        self.is_mapped |= this.annotations.gpu_dimension.is_some();
        self.mapping.copies_rows |= this.annotations.cache;
        self.mapping.copies_each_row_once |= this.annotations.cache && self.tree_extent == self.trees;
        self.row_extent = inside;
    }

    fn tree_loop(&mut self, this: &Loop, trips: u64, inside: u64) {
        let mapping = &mut self.mapping;
        let is_shared = this.annotations.reduce == Some(Reduce::Shared);
        match this.annotations.gpu_dimension {
            Some(dimension) => {
                if dimension.level == GpuLevel::Grid {
                    mapping.tree_blocks *= trips;
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
            mapping.copied_trees = inside;
        }
        self.is_mapped |= this.annotations.gpu_dimension.is_some();
        self.is_shared |= is_shared;
        self.tree_extent = inside;
    }

    /// The value of an expression. `None` if it depends on an unknown property.
    fn value(&self, sym: &Sym) -> Option<i64> {
        let rows = i64::try_from(self.rows).ok()?;
        sym.substitute(&|property| (property == Property::Rows).then_some(rows)).ok()?.as_int()
    }
}
