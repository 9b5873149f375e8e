//! Random directives for the stages of columns before the last trees: layers, and trees that others read.

use super::ScheduleGenerator;
use sched_nest::{StageInfo, StageKind};

/// Sizes of tiles of units and terms. The last is the largest one.
const TILE_SIZES: &[usize] = &[1, 2, 3, 4, 5, 6, 8, 16, 30, 1 << 28];
/// Lanes of vectors.
const VECTOR_LANES: &[usize] = &[2, 4, 8, 16];

impl ScheduleGenerator<'_> {
    /// Adds directives for some stages of columns of the model.
    pub(super) fn stages(&mut self) {
        let stages = self.options.model.as_ref().map_or_else(Vec::new, |model| model.stages.clone());
        let of_columns = |stage: &&StageInfo| stage.kind != StageKind::Trees;
        for stage in stages.iter().filter(of_columns).take(4) {
            if self.rng.one_in(3) {
                continue;
            }
            let mut loops: Vec<String> =
                stage.kind.loops().iter().map(|(name, _)| format!("{}.{name}", stage.name)).collect();
            if self.rng.one_in(2) {
                // The rows of the nest of trees, which a stage's nest has until a directive of the stage
                // changes them.
                loops.extend(self.rows_of_nest().into_iter().map(|row| format!("{}.{row}", stage.name)));
            }
            let lines = 1 + self.rng.below(6);
            for _ in 0..lines {
                self.stage_line(&stage.name, &mut loops);
            }
            // These are usually legal, and few of the lines above have them: units or terms in lanes, units
            // shared by threads, interleaved trees.
            if stage.kind == StageKind::ColumnTrees {
                let group = 2 + self.rng.below(7);
                self.keep_if_legal(format!("interleave({}.tree, {group})\n", stage.name));
                continue;
            }
            let lanes = self.rng.pick(VECTOR_LANES).copied().unwrap_or(4);
            if !stage.is_ordered && !self.rng.one_in(3) {
                self.keep_if_legal(format!("vectorize({}.feature, {lanes})\n", stage.name));
            } else if self.rng.one_in(2) {
                self.keep_if_legal(format!("vectorize({}.unit, {lanes})\n", stage.name));
            }
            if self.rng.one_in(2) {
                self.keep_if_legal(format!("parallel({}.unit)\n", stage.name));
            }
        }
    }

    /// Adds one random directive for the stage, if it is legal.
    fn stage_line(&mut self, stage: &str, loops: &mut Vec<String>) {
        let Some(v) = self.rng.pick(loops).cloned() else { return };
        match self.rng.below(9) {
            0..=2 => {
                let size = self.rng.pick(TILE_SIZES).copied().unwrap_or(2);
                self.names += 2;
                let (outer, inner) = (format!("s{}", self.names - 1), format!("s{}", self.names));
                if self.keep_if_legal(format!("tile({v}, {outer}, {inner}, {size})\n")) {
                    loops.retain(|known| *known != v);
                    loops.extend([outer, inner].map(|name| format!("{stage}.{name}")));
                }
            }
            3..=4 => {
                let mut order = loops.clone();
                for at in (1..order.len()).rev() {
                    let other = self.rng.below(at + 1);
                    order.swap(at, other);
                }
                let count = if self.rng.one_in(2) { order.len() } else { 2 + self.rng.below(2) };
                order.truncate(count);
                self.keep_if_legal(format!("reorder({})\n", order.join(", ")));
            }
            5 => {
                let lanes = self.rng.pick(VECTOR_LANES).copied().filter(|lanes| *lanes > 2);
                // Without a number, the compiler chooses.
                let lanes = lanes.map_or_else(String::new, |lanes| format!(", {lanes}"));
                self.keep_if_legal(format!("vectorize({v}{lanes})\n"));
            }
            6 => {
                let group = 2 + self.rng.below(3);
                self.keep_if_legal(format!("interleave({v}, {group})\n"));
            }
            7 => {
                self.keep_if_legal(format!("parallel({v})\n"));
            }
            _ => {
                self.keep_if_legal(format!("unroll({v})\n"));
            }
        }
    }

    /// Names of the loops over rows of the nest of trees.
    fn rows_of_nest(&self) -> Vec<String> {
        let loops = self.nest.iter().flat_map(|nest| &nest.loops);
        let rows = loops.filter(|this| this.axis == sched_nest::Axis::Row);
        let mut names: Vec<String> = rows.map(|this| super::bare_name(&this.name).to_owned()).collect();
        names.dedup();
        names
    }
}
