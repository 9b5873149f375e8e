//! Layers: sums that read the same columns with other constants.
//!
//! Sums add products with constants ([`Expr::Dot`]), squared differences from constants
//! ([`Expr::SquaredDistance`]), or leaf values of trees ([`Expr::Trees`]). Sums and their operands are
//! *stored*: computed once for each row, in memory beside the copy. Expressions load stored columns, so code
//! for a second layer does not repeat the first. Other [shared columns](super::shared) are stored, too.
//!
//! Stored columns have *levels*: a column of a level reads only stored columns of levels below. A stored
//! column's *place* is its number among the stored columns of its type. The operands of a sum have
//! consecutive places where possible.

use super::numbers::{OperationParameter, ParameterSource};
use super::pools::Pools;
use super::shared::shared_columns;
use crate::bytes::scalar;
use crate::fault::{Fault, seeded};
use crate::lir::{Scalar, TILE};
use sched_columns::{ColumnId, ColumnType, ColumnValue, Columns, Expr};
use sched_forest::Float;
use sched_nest::{MOST_FREE_SINGLES, StageKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Largest number of bytes of the sums of a panel: the longest vector registers.
const PANEL_BYTES: i64 = 64;

/// Fewest sums of a layer with panels. With fewer, a vector would have few lanes. The constants of a sum are
/// then adjacent, so that a vector can have several terms.
const LEAST_PANEL: usize = 3;

/// A term of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SumTerm {
    /// The product of a column with a constant.
    Product,
    /// The square of the difference between a column and a constant.
    SquaredDifference,
}

impl SumTerm {
    /// The kind of stage that adds such terms.
    pub fn stage(self) -> StageKind {
        match self {
            SumTerm::Product => StageKind::Products,
            SumTerm::SquaredDifference => StageKind::Distances,
        }
    }
}

/// Consecutive layers of one shape.
#[derive(Clone, Debug)]
pub(super) struct LayerRun {
    /// The kind of its stage.
    pub stage: StageKind,
    /// The names of the steps of the model's pipeline whose sums the layers have.
    pub pipeline_steps: Vec<Arc<str>>,
    /// The terms of the sums.
    pub term: SumTerm,
    /// Element type of the sums and of their operands.
    pub element: Scalar,
    /// Number of layers.
    pub layers: i64,
    /// Number of sums of a layer.
    pub units: i64,
    /// Number of terms of a sum.
    pub terms: i64,
    /// Number of sums whose constants are adjacent, a power of two. The constants of a panel are those of the
    /// first term of all its sums, then those of the second term, and so on. 1 if the constants of each sum
    /// are adjacent.
    pub panel: i64,
    /// Position of the first layer's constants in the pool of the element type. Panels are padded.
    pub constants: i64,
    /// Position, in the pool of the element type, of the first layer's first summands. `None` if all layers
    /// start with 0.
    pub starts: Option<i64>,
    /// The operands of each layer.
    pub operands: OperandPlaces,
    /// Place of the first sum of the first layer.
    pub to: i64,
    /// Whether the sums must add their terms in order: a later step [compares](super::compared) some of them,
    /// or there are more than [`MOST_FREE_SINGLES`] terms in single precision.
    pub is_ordered: bool,
}

impl LayerRun {
    /// Number of sums of a layer, with padding.
    pub fn padded_units(&self) -> i64 {
        padded_units(self.units, self.panel)
    }

    /// Whether tensor cores can compute the sums: products in double precision, whose constants are in
    /// panels of a tile's units.
    pub fn fits_tiles(&self) -> bool {
        (self.term, self.element, self.panel) == (SumTerm::Product, Scalar::F64, TILE)
    }

    /// Number of constants of a layer, with padding.
    pub fn layer_constants(&self) -> i64 {
        self.padded_units() * self.terms
    }
}

/// Places of each layer's operands, by the number of the layer.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperandPlaces {
    /// Consecutive stored columns: the place of the first.
    Consecutive(ParameterSource),
    /// Stored columns: the position of their places in the pool of integers.
    Listed(ParameterSource),
}

/// Places of stored columns, for each type of column.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredPlaces {
    places: HashMap<ColumnId, i64>,
    counts: HashMap<Float, i64>,
}

impl StoredPlaces {
    /// The place of a column, if it is stored.
    pub fn get(&self, column: ColumnId) -> Option<i64> {
        self.places.get(&column).copied()
    }

    /// Number of places of columns of a type.
    pub fn count(&self, element: Scalar) -> i64 {
        let has_element = |(float, _): &(&Float, &i64)| scalar(**float) == element;
        self.counts.iter().find(has_element).map_or(0, |(_, count)| *count)
    }

    /// Gives columns of one type the next places, and leaves `padding` places after them unused. Returns the
    /// first place.
    pub fn add(&mut self, columns: &[ColumnId], float: Float, padding: i64) -> i64 {
        let next = self.counts.entry(float).or_default();
        let first = *next;
        self.places.extend(columns.iter().copied().zip(first..));
        *next += columns.len() as i64 + padding;
        first
    }
}

/// The stored columns of one level.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredLevel {
    /// Operands of sums that are no sums, in the order in which sums name them, then
    /// [other shared columns](super::shared), by type.
    pub values: BTreeMap<ColumnType, Vec<ColumnId>>,
    /// Sums of products or squared differences.
    sums: Vec<ColumnId>,
    /// Sums of trees.
    pub trees: Vec<ColumnId>,
}

/// Sums of one layer.
#[derive(Clone, Debug)]
struct Layer {
    term: SumTerm,
    float: Float,
    operands: Vec<ColumnId>,
    sums: Vec<ColumnId>,
}

impl Layer {
    /// Properties that the layers of a run share.
    fn shape(&self) -> (SumTerm, Scalar, usize, usize) {
        (self.term, scalar(self.float), self.operands.len(), self.sums.len())
    }

    /// The key by which layers are sorted, so that layers of one shape are consecutive.
    fn key(&self) -> (SumTerm, u32, usize, usize) {
        let (term, element, terms, units) = self.shape();
        (term, element.bytes(), terms, units)
    }
}

/// The stored columns that some columns depend on, level by level.
pub(super) fn stored_levels(columns: &Columns, tested: &[ColumnId]) -> Vec<StoredLevel> {
    let needed = columns.needed_for(tested);
    let sums: Vec<ColumnId> =
        needed.iter().copied().filter(|column| columns.expr(*column).is_sum()).collect();
    let operands: Vec<ColumnId> = sums.iter().flat_map(|sum| columns.expr(*sum).operands()).collect();
    let written: Vec<ColumnId> = tested.iter().chain(&operands).copied().collect();
    let shared = shared_columns(columns, &needed, &written);
    let is_stored: HashSet<ColumnId> = [&shared, &operands, &sums].into_iter().flatten().copied().collect();
    let mut level_of: HashMap<ColumnId, usize> = HashMap::new();
    for column in needed {
        let read = columns.expr(column).operands().map(|operand| {
            let level = level_of.get(&operand).copied().unwrap_or(0);
            level + usize::from(is_stored.contains(&operand))
        });
        let level = read.max().unwrap_or(0);
        level_of.insert(column, level);
    }
    let mut levels: Vec<StoredLevel> = Vec::new();
    let mut seen = HashSet::new();
    // Operands of sums come first, so that those of a sum are consecutive.
    let of_sums = sums.iter().flat_map(|sum| columns.expr(*sum).operands().chain([*sum]));
    for column in of_sums.chain(shared).filter(|column| seen.insert(*column)) {
        let at = level_of.get(&column).copied().unwrap_or(0);
        levels.resize(levels.len().max(at + 1), StoredLevel::default());
        match columns.expr(column) {
            Expr::Trees { .. } => levels[at].trees.push(column),
            expr if expr.is_sum() => levels[at].sums.push(column),
            _ => levels[at].values.entry(columns.column_type(column)).or_default().push(column),
        }
    }
    levels
}

impl StoredLevel {
    /// Gives values of one type places. Returns the first place.
    pub fn place_values(places: &mut StoredPlaces, column_type: ColumnType, columns: &[ColumnId]) -> i64 {
        // Stored columns are floating-point numbers.
        let float = Option::from(column_type).unwrap_or(Float::F64);
        places.add(columns, float, 0)
    }

    /// The layers of the level, as runs. Gives their sums places.
    /// `compared` are the columns that later steps compare.
    pub fn layers(
        &self,
        (columns, compared): (&Columns, &HashSet<ColumnId>),
        places: &mut StoredPlaces,
        pools: &mut Pools,
    ) -> Vec<LayerRun> {
        let mut layers: Vec<Layer> = Vec::new();
        let mut numbers: HashMap<(SumTerm, Vec<ColumnId>), usize> = HashMap::new();
        for sum in &self.sums {
            let (expr, float) = (columns.expr(*sum), Option::from(columns.column_type(*sum)));
            let term = match expr {
                Expr::SquaredDistance { .. } => SumTerm::SquaredDifference,
                _ => SumTerm::Product,
            };
            let operands: Vec<ColumnId> = expr.operands().collect();
            let next = layers.len();
            let number = *numbers.entry((term, operands.clone())).or_insert(next);
            if number == next {
                let float = float.unwrap_or(Float::F64);
                layers.push(Layer { term, float, operands, sums: Vec::new() });
            }
            layers[number].sums.push(*sum);
        }
        layers.sort_by_key(Layer::key);
        let runs = layers.chunk_by(|a, b| a.shape() == b.shape());
        let new = |run: &[Layer]| {
            let is_compared = run.iter().flat_map(|layer| &layer.sums).any(|sum| compared.contains(sum));
            let run = LayerRun::new(columns, run, places, pools)?;
            let is_long = run.element == Scalar::F32 && run.terms > i64::from(MOST_FREE_SINGLES);
            Some(LayerRun { is_ordered: is_compared || is_long, ..run })
        };
        runs.filter_map(new).collect()
    }
}

impl LayerRun {
    fn new(
        columns: &Columns,
        layers: &[Layer],
        places: &mut StoredPlaces,
        pools: &mut Pools,
    ) -> Option<LayerRun> {
        let first = layers.first()?;
        let (term, element, terms, units) = first.shape();
        let widest = PANEL_BYTES / i64::from(element.bytes());
        let panel = if units < LEAST_PANEL { 1 } else { units.next_power_of_two() as i64 }.min(widest);
        let padding = padded_units(units as i64, panel) - units as i64;
        let all = || layers.iter().flat_map(|layer| &layer.sums);
        let starts = |sum: &ColumnId| match columns.expr(*sum) {
            Expr::Dot { start, .. } => start.to_f64(),
            _ => 0.0,
        };
        let has_starts = all().any(|sum| starts(sum).to_bits() != 0);
        let run = LayerRun {
            stage: term.stage(),
            pipeline_steps: steps_of(columns, all()),
            term,
            element,
            layers: layers.len() as i64,
            units: units as i64,
            terms: terms as i64,
            panel,
            constants: pools.len(element) as i64,
            starts: None,
            operands: operands(layers, places, pools),
            to: places.count(element),
            is_ordered: false,
        };
        for layer in layers {
            for panel in layer.sums.chunks(panel as usize) {
                for at in 0..terms {
                    let own = panel.iter().map(|sum| constant(columns.expr(*sum), at));
                    push_padded(pools, element, own, run.panel);
                }
            }
            places.add(&layer.sums, layer.float, padding);
        }
        let at = pools.len(element) as i64;
        if has_starts {
            for layer in layers {
                push_padded(pools, element, layer.sums.iter().map(starts), run.padded_units());
            }
        }
        Some(LayerRun { starts: has_starts.then_some(at), ..run })
    }
}

/// The names of the steps of a pipeline that compute some sums, each once.
pub(super) fn steps_of<'a>(columns: &Columns, sums: impl Iterator<Item = &'a ColumnId>) -> Vec<Arc<str>> {
    let mut steps: Vec<Arc<str>> = Vec::new();
    for step in sums.filter_map(|sum| columns.step(*sum)) {
        if !steps.contains(step) {
            steps.push(Arc::clone(step));
        }
    }
    steps
}

/// The operands of the layers of a run.
fn operands(layers: &[Layer], places: &StoredPlaces, pools: &mut Pools) -> OperandPlaces {
    let places_of = |layer: &Layer| -> Vec<i64> {
        layer.operands.iter().map(|operand| places.get(*operand).unwrap_or(0)).collect()
    };
    let all: Vec<Vec<i64>> = layers.iter().map(places_of).collect();
    let is_consecutive = |places: &Vec<i64>| places.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let numbers = |of: Vec<i64>| of.into_iter().map(OperationParameter::Number).collect::<Vec<_>>();
    if all.iter().all(is_consecutive) {
        let firsts = all.iter().map(|places| places.first().copied().unwrap_or(0)).collect();
        return OperandPlaces::Consecutive(ParameterSource::new(&numbers(firsts), Scalar::I32, pools));
    }
    let mut positions = Vec::with_capacity(all.len());
    for places in &all {
        positions.push(pools.len(Scalar::I32) as i64);
        places.iter().for_each(|place| pools.push_integer(Scalar::I32, *place));
    }
    OperandPlaces::Listed(ParameterSource::new(&numbers(positions), Scalar::I32, pools))
}

/// Adds numbers to a pool, then zeros, `entries` entries in all.
fn push_padded(pools: &mut Pools, element: Scalar, numbers: impl Iterator<Item = f64>, entries: i64) {
    let end = pools.len(element) + entries as usize;
    numbers.for_each(|number| pools.push_float(element, number));
    while pools.len(element) < end {
        pools.push_float(element, 0.0);
    }
}

/// The constant of term number `term` of a sum.
fn constant(sum: &Expr, term: usize) -> f64 {
    let value = match sum {
        Expr::Dot { terms, .. } if seeded(Fault::TermsShareWeight) => terms.first().map(|term| term.weight),
        Expr::Dot { terms, .. } => terms.get(term).map(|term| term.weight),
        Expr::SquaredDistance { point, .. } => point.get(term).copied(),
        _ => None,
    };
    value.map_or(0.0, ColumnValue::to_f64)
}

fn padded_units(units: i64, panel: i64) -> i64 {
    units.unsigned_abs().next_multiple_of(panel.unsigned_abs().max(1)) as i64
}
