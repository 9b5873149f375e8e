//! Figures of the cost model for GPUs that are fitted to times of an H100: one half of those of twelve models
//! in calls of 1 to 1,000,000 rows (`tests/h100.json`). `tests/fit.rs` fits them, and says how.
//!
//! Several figures include effects that the model does not count one by one, so they differ from a data
//! sheet's figures for a single access.

use super::figures::TICKET_ACCESSES;
use sched_nest::{Layout, StepFigures};

/// Number of layouts.
const LAYOUTS: usize = Layout::ALL.len();

/// Declares the figures, each with the value at which the fit starts and the fitted one.
macro_rules! fitted_figures {
    ($($(#[$doc:meta])* $name:ident: $start:literal => $fit:literal,)*) => {
        /// The figures of the cost model that are fitted to times of an H100. Cycles and instructions are
        /// those of a warp.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct FittedFigures {
            $($(#[$doc])* pub $name: f64,)*
            /// Steps of a walk, by layout.
            steps: [StepFigures; LAYOUTS],
        }

        impl FittedFigures {
            /// The figures at which the fit starts: counts, latencies, figures of data sheets, and for shares
            /// one half or nearly all.
            pub fn start() -> FittedFigures {
                let mut steps = fitted_steps();
                for (layout, step) in START_STEPS {
                    steps[layout as usize] = step;
                }
                FittedFigures { $($name: $start,)* steps }
            }

            /// The figures that the fit found.
            pub fn fit() -> FittedFigures {
                FittedFigures { $($name: $fit,)* steps: fitted_steps() }
            }

            /// The figures with their names, for the fit.
            pub fn values(&mut self) -> Vec<(String, &mut f64)> {
                let mut all = vec![$((stringify!($name).to_owned(), &mut self.$name)),*];
                for (layout, step) in Layout::ALL.iter().zip(&mut self.steps) {
                    if START_STEPS.iter().any(|(fitted, _)| fitted == layout) {
                        all.push((format!("{} step instructions", layout.word()), &mut step.instructions));
                        all.push((format!("{} step cycles", layout.word()), &mut step.cycles));
                        if *layout == Layout::Preorder {
                            all.push((format!("{} step miss_factor", layout.word()), &mut step.miss_factor));
                        }
                    }
                }
                all
            }
        }
    };
}

/// Steps of the timed layouts at which the fit starts. The instructions were counted. The cycles are
/// estimates for two loads from the first-level cache or shared memory and the instructions between them.
const START_STEPS: [(Layout, StepFigures); 5] = [
    (Layout::Array, StepFigures::new(13.0, 110.0, 1.0)),
    (Layout::Sparse, StepFigures::new(17.0, 120.0, 1.0)),
    (Layout::Quantized, StepFigures::new(7.0, 90.0, 1.0)),
    (Layout::Preorder, StepFigures::new(17.0, 120.0, 1.0)),
    (Layout::Reorg, StepFigures::new(13.0, 110.0, 1.0)),
];

/// The fitted steps of all layouts, from the table of layouts.
fn fitted_steps() -> [StepFigures; LAYOUTS] {
    let mut steps = [StepFigures::new(0.0, 0.0, 0.0); LAYOUTS];
    for (step, layout) in steps.iter_mut().zip(Layout::ALL) {
        *step = layout.gpu_step();
    }
    steps
}

impl FittedFigures {
    /// The step of a walk.
    pub fn step(&self, layout: Layout) -> StepFigures {
        self.steps[layout as usize]
    }

    /// The step over the top levels, if these are stored apart; else any step.
    pub fn top_step(&self, layout: Layout) -> StepFigures {
        if layout.has_top_levels() { self.step(Layout::Quantized) } else { self.step(layout) }
    }

    /// The step of four rows whose bins share a word.
    pub fn packed_step(&self) -> StepFigures {
        StepFigures::new(self.packed_instructions, self.packed_cycles, 1.0)
    }

    /// Cycles from the last store of a block to its first load of slots, if it is the last block of its
    /// group.
    pub fn ticket_cycles(&self) -> f64 {
        TICKET_ACCESSES * self.miss_cycles
    }
}

fitted_figures! {
    /// Weight, from 0 to 1, of the assumption that all leaves have equally many rows. The rest is the weight
    /// of the assumption that each test sends half of the rows to each side.
    leaf_share: 0.5 => 0.868,
    /// Exponent of the p-norm that combines the parts of a launch: 1 means no overlap, infinity perfect
    /// overlap.
    overlap_exponent: 2.0 => 1.39,
    /// Bandwidth of the second-level cache, as a multiple of the data sheet's.
    second_cache_factor: 1.0 => 1.84,
    /// Bytes of trees or rows that the first-level cache keeps, as a share of its size.
    kept_share: 0.9 => 0.869,
    /// Drift of the warps of a multiprocessor in a loop over trees: 0 if all walk the same trees at a time, 1
    /// if each walks a tree of its own.
    drift: 0.5 => 0.237,
    /// Cycles that a miss of the first-level cache adds to a step.
    miss_cycles: 270.0 => 401.0,
    /// Cycles that each sector adds to a step that misses the first-level cache.
    sector_cycles: 1.0 => 9.48,
    /// Cycles that reading a row in the device's memory adds to a step if the first-level cache lacks the
    /// row.
    row_miss_cycles: 270.0 => 487.0,
    /// Cycles before and after the steps of a walk.
    walk_cycles: 30.0 => 25.7,
    /// Cycles of each further walk of a thread, as a share of the first one's: it begins before the previous
    /// walk ends.
    next_walk_share: 0.9 => 0.564,
    /// Share of the latency of each further walk that overlaps, if walks are interleaved.
    interleaving_overlap: 0.5 => 0.32,
    /// Cycles that selecting the sum of a tree's class adds to a walk.
    class_cycles: 70.0 => 381.0,
    /// Instructions that selecting the sum of a tree's class adds to a walk.
    class_instructions: 6.0 => 4.99,
    /// Instructions for moving a sum to a slot, or for adding the value of a leaf vector.
    sum_instructions: 2.0 => 1.69,
    /// Cycles for moving a sum to a slot, or for adding the value of a leaf vector.
    sum_cycles: 4.0 => 4.08,
    /// Instructions and cycles of a block, in addition to those for its rows, trees and sums.
    block_overhead: 100.0 => 173.0,
    /// Cycles of a barrier.
    barrier_cycles: 30.0 => 34.4,
    /// Instructions to find the bin of a value, without the steps of the search.
    bin_instructions: 22.0 => 99.3,
    /// Cycles to find the bin of a value, without the steps of the search.
    bin_cycles: 270.0 => 287.0,
    /// Instructions of a step of the search for a bin.
    search_instructions: 7.0 => 5.7,
    /// Cycles of a step of the search for a bin.
    search_cycles: 40.0 => 191.0,
    /// Instructions for copying a value.
    copy_instructions: 22.0 => 74.9,
    /// Cycles for copying a value, or 16 bytes of a tree.
    copy_cycles: 30.0 => 97.2,
    /// Instructions for adding up a slot in shared memory.
    fold_instructions: 3.0 => 4.87,
    /// Cycles for adding up a slot in shared memory.
    fold_cycles: 4.0 => 3.26,
    /// Instructions for clearing a sum of a slot.
    fill_instructions: 2.0 => 15.6,
    /// Cycles for clearing a sum of a slot.
    fill_cycles: 4.0 => 4.22,
    /// Cycles for adding up a slot in the device's memory.
    device_fold_cycles: 30.0 => 28.6,
    /// Traffic of the second-level cache for each byte of slots that is written or read.
    slot_traffic: 1.0 => 2.06,
    /// Cost of reading a value of a row from the device's memory, as a multiple of reading a copied one.
    uncopied_row_factor: 1.0 => 1.2,
    /// Wavefronts (passes through the first-level cache) of a load in which the threads of a warp read 32
    /// different rows.
    row_wavefronts: 1.0 => 0.211,
    /// Wavefronts (passes through the first-level cache) of a load in which the threads of a warp read nodes
    /// of one line.
    line_wavefronts: 1.0 => 0.32,
    /// Instructions of a step of four rows whose bins share a word.
    packed_instructions: 28.0 => 19.2,
    /// Cycles of a step of four rows whose bins share a word.
    packed_cycles: 150.0 => 119.0,
}
