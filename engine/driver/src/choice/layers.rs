//! Arrangements of layers of sums, as data.
//!
//! A tile of sums of several rows is in registers while its terms are added. Rows or sums are in the lanes.

use sched_cost::Machine;
use sched_nest::{ModelInfo, StageInfo, StageKind};

/// Most rows of a tile. They are the block that a layer computes at once, in at most 4 vectors.
const MOST_ROWS: u32 = 64;
/// Most sums, or vectors of sums, in the registers of a tile.
const MOST_REGISTERS: u32 = 32;

/// Bytes of the registers of processors that have 32 of them. The compiler's own tiles suit these.
const MANY_REGISTERS_BYTES: u32 = 64;
/// Registers for sums of a tile of many rows on processors with 16 registers: three others hold a term's
/// operand, a constant and a product. On AVX2, a neural net of 256 sums of 50 terms took 0.86 of the time of
/// the compiler's own tiles, which use 8, and 1.17 with 16.
const SUM_REGISTERS: u32 = 12;

/// Registers for sums of a tile of few rows. With fewer, each addition would wait for the one before.
const FEW_ROWS_REGISTERS: u32 = 8;
/// Fewest rows whose tiles have one vector of sums on AVX-512. A product there broadcasts its operand for
/// free; a second product with the same operand would need another broadcast. On Zen 4, tiles of 4 rows
/// by one vector took 0.75 to 0.81 of the time of tiles with two.
const BROADCAST_ROWS: u32 = 4;

/// Most sums of a layer whose terms are tried in lanes: the compiler keeps the constants of so few sums
/// adjacent.
const MOST_SUMS_OF_TERMS: u32 = 2;

/// The values in the lanes of a layer's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayerLanes {
    /// One sum of adjacent rows.
    Rows,
    /// Adjacent sums of a row.
    Sums,
    /// Adjacent terms of a sum of a row. These lanes suit layers with few sums, and change the order of
    /// accumulation.
    Terms,
}

/// The tile of sums that the terms of a layer are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayerTile {
    /// The values in lanes.
    pub lanes_hold: LayerLanes,
    /// Number of lanes.
    pub lanes: u32,
    /// Rows of the tile.
    pub rows: u32,
    /// Sums of each row.
    pub sums: u32,
}

impl LayerTile {
    /// The tile for calls of `rows` rows: registers of adjacent sums, whose constants serve all rows.
    pub fn of_few_rows(rows: u32, model: &ModelInfo, machine: &Machine) -> LayerTile {
        let lanes = lanes(model, machine);
        let vectors = match machine.register_bits / 8 >= MANY_REGISTERS_BYTES && rows >= BROADCAST_ROWS {
            true => 1,
            false => (FEW_ROWS_REGISTERS / rows.max(1)).max(1),
        };
        LayerTile { lanes_hold: LayerLanes::Sums, lanes, rows, sums: lanes * vectors }
    }

    /// A tile with vectors of `rows` rows; `None` on machines for which the compiler's own tiles use all
    /// registers.
    pub fn of_many_rows(rows: u32, model: &ModelInfo, machine: &Machine) -> Option<LayerTile> {
        let bytes = machine.register_bits / 8;
        let registers = (rows * model.value_bytes).div_ceil(bytes.max(1)).max(1);
        let sums = SUM_REGISTERS / registers;
        let tile = LayerTile { lanes_hold: LayerLanes::Rows, lanes: rows, rows, sums };
        (rows > 1 && sums > 1 && bytes < MANY_REGISTERS_BYTES).then_some(tile)
    }

    /// Tiles that a search tries around one, or around the compiler's own (`None`). Vectors of
    /// the trees beside the layers have `vector_rows` rows, if they have rows.
    pub fn around(
        now: Option<LayerTile>,
        vector_rows: Option<u32>,
        model: &ModelInfo,
        machine: &Machine,
    ) -> Vec<Option<LayerTile>> {
        let width = lanes(model, machine);
        let tile = |of, lanes, rows, sums| LayerTile { lanes_hold: of, lanes, rows, sums };
        let (own, tiles) = match (now, vector_rows) {
            (Some(tile), _) => (Some(None), tile.neighbours()),
            (None, Some(lanes)) if lanes > 1 => {
                let rows = [6, 8].map(|sums| tile(LayerLanes::Rows, lanes, lanes, sums));
                let sums = [(2, 4), (4, 1), (8, 1)];
                let sums = sums
                    .map(|(rows, vectors)| tile(LayerLanes::Sums, width, lanes.min(rows), width * vectors));
                (None, [&rows[..], &sums[..]].concat())
            }
            (None, _) => {
                let sums = [4, 8].map(|sums| tile(LayerLanes::Sums, width, 1, width * sums));
                (None, sums.into_iter().chain([tile(LayerLanes::Terms, width, 1, width)]).collect())
            }
        };
        let tiles = tiles.into_iter().filter(|tile| tile.suits(&model.stages)).map(Some);
        own.into_iter().chain(tiles).collect()
    }

    /// Whether the tile arranges some stage.
    pub fn suits(&self, stages: &[StageInfo]) -> bool {
        stages.iter().any(|stage| !self.directives(stage).is_empty())
    }

    /// The directives that arrange a layer. None for trees, for layers that have fewer sums than lanes of
    /// sums, and for lanes of terms in all others. Only lanes of terms arrange scores, since the last trees
    /// already add all scores of a row together.
    pub fn directives(&self, stage: &StageInfo) -> Vec<String> {
        let StageInfo { name, kind, units, .. } = stage;
        if self.lanes_hold == LayerLanes::Terms {
            return self.directives_of_terms(stage);
        }
        let in_sums = self.lanes_hold == LayerLanes::Sums;
        let keeps = *kind == StageKind::Scores || (in_sums && *units < self.lanes);
        let (false, [(unit, _), (term, _)]) = (keeps, kind.loops()) else {
            return Vec::new();
        };
        let sums = match in_sums {
            true => self.sums.min(units - units % self.lanes),
            false => self.sums.min(*units),
        };
        let mut lines = Vec::new();
        let (mut outer, mut inner) = (vec!["batch".to_owned()], Vec::new());
        if self.rows > 1 {
            lines.push(format!("tile({name}.batch, r0, r1, {})", self.rows));
            (outer, inner) = (vec!["r0".to_owned()], vec!["r1".to_owned()]);
        }
        lines.push(format!("tile({name}.{unit}, u0, u1, {sums})"));
        outer.push("u0".to_owned());
        inner.insert(if in_sums { inner.len() } else { 0 }, "u1".to_owned());
        let order = [outer, vec![format!("{name}.{term}")], inner].concat();
        lines.push(format!("reorder({})", order.join(", ")));
        let vector = if in_sums { "u1" } else { "r1" };
        lines.push(format!("vectorize({name}.{vector}, {})", self.lanes));
        lines
    }

    /// The directives that put the terms of a layer with few sums into lanes. All sums are in registers.
    fn directives_of_terms(&self, stage: &StageInfo) -> Vec<String> {
        let StageInfo { name, kind, units, terms, is_ordered, .. } = stage;
        let has_few_sums = *units <= MOST_SUMS_OF_TERMS && *terms >= self.lanes;
        match kind.loops() {
            [(unit, _), (term, _)] if has_few_sums && !is_ordered => vec![
                format!("reorder({name}.{term}, {name}.{unit})"),
                format!("vectorize({name}.{term}, {})", self.lanes),
            ],
            _ => Vec::new(),
        }
    }

    /// Tiles that differ in one number.
    pub fn neighbours(&self) -> Vec<LayerTile> {
        if self.lanes_hold == LayerLanes::Terms {
            let lanes = [self.lanes / 2, self.lanes * 2].into_iter().filter(|lanes| *lanes > 1);
            return lanes.map(|lanes| LayerTile { lanes, ..*self }).collect();
        }
        let in_sums = self.lanes_hold == LayerLanes::Sums;
        let (least_rows, least_sums) = if in_sums { (1, self.lanes) } else { (self.lanes, 1) };
        let others = |n: u32, least: u32| {
            let all = [n / 2, n + n / 2, n * 2];
            all.into_iter().filter(move |other| *other >= least && other % least == 0)
        };
        let rows = others(self.rows, least_rows).map(|rows| LayerTile { rows, ..*self });
        let sums = others(self.sums, least_sums).map(|sums| LayerTile { sums, ..*self });
        let fits = |tile: &LayerTile| {
            tile.rows <= MOST_ROWS && tile.rows * tile.sums / tile.lanes.max(1) <= MOST_REGISTERS
        };
        rows.chain(sums).filter(|tile| fits(tile) && tile != self).collect()
    }
}

/// The name of the stage of trees in a model that has layers of sums.
pub fn trees_beside_layers(stages: &[StageInfo]) -> Option<&str> {
    let trees = stages.iter().find(|stage| stage.kind == StageKind::Trees)?;
    let is_layer = |stage: &StageInfo| matches!(stage.kind, StageKind::Products | StageKind::Distances);
    stages.iter().any(is_layer).then_some(trees.name.as_str())
}

/// Sums that a register holds.
fn lanes(model: &ModelInfo, machine: &Machine) -> u32 {
    (machine.register_bits / 8 / model.value_bytes.max(1)).max(2)
}
