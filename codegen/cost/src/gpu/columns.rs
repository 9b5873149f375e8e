//! Work of columns that are computed from features, and the launch that computes them for all rows.

use super::figures;
use super::machine::GpuMachine;
use super::trees::row_bytes;
use sched_nest::{ModelInfo, StageInfo, StageKind};

/// Threads of a block in the launch that computes columns, each with one row.
const LAUNCH_THREADS: u64 = 128;
/// Sums of a tile, which share each load of an operand.
const TILE_SUMS: f64 = 8.0;
/// Terms of a sum that take as many instructions as a step of a walk.
const TERMS_OF_A_STEP: f64 = 4.0;
/// Loads and stores of a column that is no sum.
const LOADS_OF_A_COLUMN: f64 = 4.0;
/// Columns that a thread computes one after the other, if several threads share a row.
const COLUMNS_OF_A_PART: f64 = 16.0;
/// Steps from the root of a tree whose results are columns to a leaf: stages do not tell the depths.
const TREE_STEPS: f64 = 6.0;

/// The columns that a row needs.
#[derive(Clone, Copy, Debug)]
pub struct ColumnWork<'a> {
    stages: &'a [StageInfo],
    /// Number of columns that are no sums of a stage.
    others: f64,
    value_bytes: u64,
}

impl<'a> ColumnWork<'a> {
    /// The columns of a model; `None` if it has none that are computed.
    pub fn of(model: &'a ModelInfo) -> Option<ColumnWork<'a>> {
        // The last trees stand for scores.
        let is_last = |stage: &StageInfo| matches!(stage.kind, StageKind::Scores | StageKind::Trees);
        let columns = model.stages.iter().position(is_last).unwrap_or(model.stages.len());
        let stages = &model.stages[..columns];
        (model.computed_columns > 0).then(|| ColumnWork {
            stages,
            others: f64::from(model.computed_columns)
                + stages.iter().map(|stage| f64::from(stage.units)).sum::<f64>(),
            value_bytes: u64::from(model.value_bytes.max(4)),
        })
    }

    /// Bytes of the columns of a row: those that trees test, sums, and the operands of the first stage.
    pub fn row_bytes(&self) -> u64 {
        let operands = self.stages.first().map_or(0, |stage| u64::from(stage.terms));
        (self.others as u64 + operands) * self.value_bytes
    }

    /// Instructions of a thread that computes all columns of a row.
    pub fn instructions(&self) -> f64 {
        self.terms() * figures::TERM_INSTRUCTIONS + self.others * figures::COLUMN_INSTRUCTIONS
    }

    /// Terms of all sums of a row. A step of a walk counts as as many terms as take its time.
    fn terms(&self) -> f64 {
        let of_stage = |stage: &StageInfo| {
            let (units, terms) = (f64::from(stage.units), f64::from(stage.terms));
            match stage.kind {
                StageKind::ColumnTrees => terms * (TREE_STEPS * TERMS_OF_A_STEP + units),
                _ => units * terms,
            }
        };
        self.stages.iter().map(of_stage).sum()
    }

    /// Wavefronts of the first-level cache and of shared memory in a block of `rows` rows. A warp loads the
    /// constants of a sum at once for up to 32 rows. Threads that share a row load those of different sums.
    pub fn wavefronts(&self, rows: f64) -> f64 {
        let loads = self.terms() * (1.0 + TILE_SUMS.recip()) + self.others * LOADS_OF_A_COLUMN;
        loads * (rows / figures::WALKS_OF_A_WARP).max(1.0)
    }

    /// Cycles until all columns of a row are computed, if `parts` threads share the row.
    pub fn chain(&self, gpu: &GpuMachine, parts: f64) -> f64 {
        let rounds = |pieces: f64| (pieces / parts.max(1.0)).ceil();
        let of_stage = |stage: &StageInfo| {
            let (units, terms) = (f64::from(stage.units), f64::from(stage.terms));
            let cycles = match stage.kind {
                // One thread walks all trees of a row.
                StageKind::ColumnTrees => terms / 4.0 * TREE_STEPS * figures::COLUMN_CYCLES,
                _ => terms * rounds(units / TILE_SUMS) * figures::TERM_CYCLES,
            };
            cycles + gpu.fitted.barrier_cycles
        };
        let columns = rounds(self.others / COLUMNS_OF_A_PART) * COLUMNS_OF_A_PART.min(self.others);
        self.stages.iter().map(of_stage).sum::<f64>() + columns * figures::COLUMN_CYCLES
    }

    /// Microseconds of a launch that computes the columns of `rows` rows, before the launches that read them.
    pub fn launch_us(&self, gpu: &GpuMachine, model: &ModelInfo, rows: u64) -> f64 {
        let blocks = rows.div_ceil(LAUNCH_THREADS) as f64;
        let busiest = (blocks / gpu.multiprocessors()).ceil();
        let warps = (LAUNCH_THREADS.min(rows) as f64 / f64::from(gpu.kind.warp)).ceil();
        let issue = gpu.us(busiest * warps * self.instructions() / gpu.sheet.issue);
        let first_cache = gpu.us(busiest * self.wavefronts(LAUNCH_THREADS as f64));
        let resident = gpu.resident_blocks((LAUNCH_THREADS, figures::THREAD_REGISTERS), 0) as f64;
        let latency = gpu.us((busiest / resident).ceil() * self.chain(gpu, 1.0));
        let bytes = row_bytes(model) + 2.0 * self.row_bytes() as f64;
        let memory = bytes * rows as f64 / (figures::MEMORY_SHARE * gpu.sheet.dram_gb_s) / 1000.0;
        figures::LAUNCH_US + issue.max(latency).max(memory).max(first_cache)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net() -> ModelInfo {
        let layer = |name: &str, units, terms| StageInfo {
            name: name.to_owned(),
            steps: Vec::new(),
            kind: StageKind::Products,
            units,
            terms,
            is_ordered: false,
            in_doubles: true,
        };
        let last = StageInfo { name: "net".to_owned(), kind: StageKind::Trees, ..layer("", 3, 0) };
        ModelInfo {
            num_features: 32,
            computed_columns: 32,
            value_bytes: 8,
            stages: vec![layer("layer1", 64, 20), layer("layer2", 32, 64), last],
            ..ModelInfo::default()
        }
    }

    #[test]
    fn threads_that_share_a_row_wait_less() {
        let (model, gpu) = (net(), GpuMachine::named("sm_90").expect("it is known"));
        let work = ColumnWork::of(&model).expect("it has columns");
        assert!(work.chain(&gpu, 32.0) * 3.0 < work.chain(&gpu, 1.0));
        assert!(work.instructions() > 4.0 * (64.0 * 20.0 + 32.0 * 64.0));
        assert!(ColumnWork::of(&ModelInfo::default()).is_none());
        assert_eq!(work.wavefronts(4.0), work.wavefronts(32.0), "blocks of few rows load as many constants");
        assert_eq!(work.wavefronts(128.0), 4.0 * work.wavefronts(32.0));
    }

    #[test]
    fn a_launch_of_many_rows_takes_as_long_as_its_instructions() {
        let (model, gpu) = (net(), GpuMachine::named("sm_90").expect("it is known"));
        let work = ColumnWork::of(&model).expect("it has columns");
        let us = |rows| work.launch_us(&gpu, &model, rows);
        assert!(us(1) > us(0) && us(1) == us(32), "one warp has 32 rows");
        assert!((us(1 << 22) - figures::LAUNCH_US) / (us(1 << 20) - figures::LAUNCH_US) > 3.5);
    }
}
