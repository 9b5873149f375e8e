//! Compares code of layers of sums with the evaluation of columns: nets of several depths, distances, and
//! sums of other columns than those of the layer below.

use crate::columns::{
    FORMS, ResultPair, arranged_stages, check, check_arranged, check_results, function, of_columns,
};
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, Float, Term, Unary};
use sched_ir::columns::arrangement::{Arrangement, StageBound, StageLoop};
use sched_ir::columns::runs::ColumnRuns;
use sched_ir::fault::{Fault, with_fault};
use sched_nest::Axis;
use sched_pipeline::PreparedForest;
use sched_testing::Rng;
use std::cell::Cell;
use std::sync::Arc;

/// Features of a row.
const FEATURES: usize = 21;

/// Rows of a call.
const ROWS: usize = 13;

/// A number of the type, between -2 and 2, with a fraction that products round.
fn number(rng: &mut Rng, column_type: ColumnType) -> ColumnValue {
    let fraction = (rng.next_u64() >> 11) as f64 / (1_u64 << 51) as f64;
    ColumnValue::F64(fraction - 2.0).cast(column_type)
}

/// Random layers under construction.
struct Net<'a> {
    rng: &'a mut Rng,
    columns: Columns,
    float: Float,
}

impl Net<'_> {
    /// A sum over some columns: a squared distance or a weighted sum.
    fn sum(&mut self, of: &[ColumnId], is_distance: bool) -> ColumnId {
        let column_type = of.first().map_or(self.float.into(), |first| self.columns.column_type(*first));
        let mut constant = || number(self.rng, column_type);
        let expr = if is_distance && !of.is_empty() {
            Expr::SquaredDistance { of: of.into(), point: of.iter().map(|_| constant()).collect() }
        } else {
            let start = constant();
            let terms = of.iter().map(|column| Term { column: *column, weight: constant() });
            Expr::Dot { start, terms: terms.collect() }
        };
        self.columns.add(expr).unwrap()
    }

    /// The columns that a sum reads: those of the layer below, some of them, or some of all layers.
    fn operands(&mut self, below: &[ColumnId], all: &[ColumnId]) -> Vec<ColumnId> {
        let own = self.columns.column_type(below[0]);
        let alike = |columns: &[ColumnId]| -> Vec<ColumnId> {
            columns.iter().copied().filter(|column| self.columns.column_type(*column) == own).collect()
        };
        let (below, all) = (alike(below), alike(all));
        match self.rng.below(4) {
            0 | 1 => below,
            2 => below.into_iter().filter(|_| self.rng.one_in(2)).collect(),
            _ => (0..1 + self.rng.below(9)).map(|_| *self.rng.pick(&all).unwrap()).collect(),
        }
    }

    /// A layer of `units` columns.
    fn layer(&mut self, below: &[ColumnId], all: &[ColumnId], units: usize) -> Vec<ColumnId> {
        let (is_distance, activation) = (self.rng.one_in(4), self.rng.below(4));
        let (is_alike, is_cast) = (!self.rng.one_in(4), self.rng.one_in(5));
        let mut operands = self.operands(below, all);
        let mut layer = Vec::with_capacity(units);
        for _ in 0..units {
            if !is_alike {
                operands = self.operands(below, all);
            }
            let sum = self.sum(&operands, is_distance);
            let own = self.columns.column_type(sum);
            let zero = self.columns.constant(ColumnValue::F64(0.0).cast(own));
            let column = match activation {
                0 => sum,
                1 => self.columns.add(Expr::Unary(Unary::Tanh, sum)).unwrap(),
                _ => self.columns.add(Expr::Binary(Binary::Max, sum, zero)).unwrap(),
            };
            let other = if own == ColumnType::F32 { ColumnType::F64 } else { ColumnType::F32 };
            layer.push(if is_cast { self.columns.cast(column, other).unwrap() } else { column });
        }
        layer
    }
}

/// A net whose last layer is tested, with some columns of other layers.
fn net(rng: &mut Rng, float: Float) -> PreparedForest {
    let mut net = Net { rng, columns: Columns::default(), float };
    let features = 1 + net.rng.below(FEATURES);
    let mut below: Vec<ColumnId> = (0..features as u32).map(|x| net.columns.input(x, float)).collect();
    let mut all = below.clone();
    for _ in 0..1 + net.rng.below(4) {
        let units = *net.rng.pick(&[1, 2, 3, 5, 8, 9, 16, 17, 24, 37]).unwrap();
        below = net.layer(&below, &all, units);
        all.extend(&below);
    }
    let mut tested = below;
    for _ in 0..net.rng.below(6) {
        tested.push(*net.rng.pick(&all).unwrap());
    }
    let cast = |column: ColumnId| net.columns.cast(column, float.into()).unwrap();
    let tested = tested.into_iter().map(cast).collect();
    of_columns(net.columns, tested, float)
}

fn random_net(seed: u64) -> (PreparedForest, Vec<f64>) {
    let mut rng = Rng(seed);
    let float = if rng.one_in(2) { Float::F32 } else { Float::F64 };
    let prepared = net(&mut rng, float);
    let number = |rng: &mut Rng| match rng.below(400) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        _ => number(rng, float.into()).to_f64(),
    };
    (prepared, (0..ROWS * FEATURES).map(|_| number(&mut rng)).collect())
}

#[test]
fn layers_have_the_bits_that_the_evaluation_defines() {
    for seed in 0..300 {
        let (prepared, rows) = random_net(seed);
        check(&prepared, &rows, FEATURES, seed);
    }
}

/// The loops of a tile: over the tiles of some numbers, and over the numbers of a tile, `lanes` at a time.
pub(crate) fn tile(rng: &mut Rng, axis: Axis, stop: i64, lanes: u16) -> [StageLoop; 2] {
    let size = i64::from(lanes) * rng.pick(&[1, 2, 3, 8]).copied().unwrap_or(1);
    let unroll = rng.one_in(2);
    let inner = StageLoop { lanes, unroll, ..StageLoop::over(axis, size, lanes.into()) };
    [StageLoop::over(axis, stop, size), inner]
}

/// The loops of tiles in random order, the outer loop of each tile before its inner one, with the bounds of
/// partial tiles. Each tile has the end of its numbers.
pub(crate) fn in_any_order(
    rng: &mut Rng,
    tiles: &[(i64, [StageLoop; 2])],
) -> (Vec<StageLoop>, Vec<StageBound>) {
    let mut loops = Vec::new();
    let mut bounds: Vec<StageBound> =
        tiles.iter().map(|(bound, _)| StageBound { loops: Vec::new(), bound: *bound }).collect();
    while loops.len() < 2 * tiles.len() {
        let at = rng.below(tiles.len());
        let placed = bounds[at].loops.len();
        if let Some(this) = tiles[at].1.get(placed) {
            bounds[at].loops.push(loops.len());
            loops.push(*this);
        }
    }
    (loops, bounds)
}

/// A random arrangement of a layer: tiles of rows, units and terms in any order, with rows or units in lanes.
fn arrangement(rng: &mut Rng, sizes: (u32, u32), panel: u16) -> Arrangement {
    let rows = *rng.pick(&[1, 2, 4, 8, 16]).unwrap();
    let most = [1, rows.min(8) as u16, panel][rng.below(3)];
    let lanes = *rng.pick(&[most, most.min(2), most.min(4)]).unwrap();
    let is_of_rows = rng.one_in(2) && i64::from(lanes) <= rows;
    let (of_rows, of_units) = if is_of_rows { (lanes, 1) } else { (1, lanes.min(panel)) };
    tiled(rng, (rows, sizes), (of_rows, of_units, 1))
}

/// Tiles of rows, units and terms in any order. `lanes` are the rows, units and terms of a vector.
fn tiled(rng: &mut Rng, (rows, (units, terms)): (i64, (u32, u32)), lanes: (u16, u16, u16)) -> Arrangement {
    let tiles = [
        (rows, tile(rng, Axis::Row, rows, lanes.0)),
        (units.into(), tile(rng, Axis::Unit, units.into(), lanes.1)),
        (terms.into(), tile(rng, Axis::Feature, terms.into(), lanes.2)),
    ];
    let (mut loops, bounds) = in_any_order(rng, &tiles);
    // Threads share units outside of the loops over terms.
    let outside = loops.iter_mut().take_while(|this| this.axis != Axis::Feature);
    for this in outside.filter(|this| this.axis == Axis::Unit) {
        this.parallel = rng.one_in(3);
    }
    Arrangement::new(loops, bounds)
}

#[test]
fn arranged_layers_have_the_bits_that_the_evaluation_defines() {
    for seed in 0..400 {
        let (prepared, rows) = random_net(seed);
        let runs = ColumnRuns::new(&prepared, FEATURES);
        let mut rng = Rng(seed + 1000);
        let stages = arranged_stages(&runs, |at, stage| {
            (!rng.one_in(4)).then(|| arrangement(&mut rng, (stage.units, stage.terms), runs.panel(at)))
        });
        check_arranged(&prepared, &rows, (&runs, &stages), seed);
    }
}

#[test]
#[should_panic(expected = "column")]
fn lost_terms_of_arrangements_are_seen() {
    with_fault(Fault::ArrangedTermsLost, arranged_layers_have_the_bits_that_the_evaluation_defines);
}

#[test]
fn terms_in_lanes_differ_from_the_evaluation_by_rounding_alone() {
    let mut in_another_order = 0;
    for seed in 0..300 {
        let (prepared, mut rows) = random_net(seed);
        // A sum of infinite terms is NaN in each order if their signs differ, but not a part of the sum.
        rows.iter_mut().filter(|value| value.is_infinite()).for_each(|value| *value = 1.5);
        let runs = ColumnRuns::new(&prepared, FEATURES);
        let mut rng = Rng(seed + 2000);
        let stages = arranged_stages(&runs, |_, stage| {
            let rows = *rng.pick(&[1, 1, 4, 8]).unwrap();
            let lanes = *rng.pick(&[2, 4, 8, 16]).unwrap();
            Some(tiled(&mut rng, (rows, (stage.units, stage.terms)), (1, 1, lanes)))
        });
        let columns = &prepared.columns;
        let is_single = columns.all().any(|column| columns.column_type(column) == ColumnType::F32);
        let error = if is_single { 1e-5 } else { 1e-13 };
        let of_row = |row| columns.magnitudes(&prepared.tested, row);
        let magnitudes: Vec<Vec<f64>> = rows.chunks(FEATURES).map(of_row).collect();
        let differs = Cell::new(false);
        let is_close = |pair: ResultPair| {
            let most = error * magnitudes[pair.row][pair.column];
            let is_same = pair.has_same_bits();
            differs.set(differs.get() || !is_same);
            is_same || (pair.found - pair.expected).abs() <= most
        };
        check_results(&prepared, &rows, (&runs, &stages), (seed, &is_close));
        in_another_order += u32::from(differs.get());
    }
    assert!(in_another_order > 100, "{in_another_order} nets of 300");
}

#[test]
#[should_panic(expected = "column")]
fn lost_lanes_of_terms_are_seen() {
    with_fault(Fault::TermLanesLost, terms_in_lanes_differ_from_the_evaluation_by_rounding_alone);
}

#[test]
#[should_panic(expected = "column")]
fn shared_weights_are_seen() {
    with_fault(Fault::TermsShareWeight, layers_have_the_bits_that_the_evaluation_defines);
}

/// A net of dense layers with a maximum after each but the last.
fn dense(float: Float, widths: &[usize]) -> PreparedForest {
    let mut rng = Rng(7);
    let mut net = Net { rng: &mut rng, columns: Columns::default(), float };
    let mut below: Vec<ColumnId> = (0..widths[0] as u32).map(|x| net.columns.input(x, float)).collect();
    for (at, width) in widths.iter().enumerate().skip(1) {
        let sums: Vec<ColumnId> = (0..*width).map(|_| net.sum(&below, false)).collect();
        let zero = net.columns.constant(ColumnValue::F64(0.0).cast(float.into()));
        let mut activated = |sum| net.columns.add(Expr::Binary(Binary::Max, sum, zero)).unwrap();
        below = if at + 1 == widths.len() { sums } else { sums.into_iter().map(&mut activated).collect() };
    }
    of_columns(net.columns, below, float)
}

/// Distances from `points` points.
fn distances(points: usize) -> PreparedForest {
    let mut rng = Rng(8);
    let mut net = Net { rng: &mut rng, columns: Columns::default(), float: Float::F64 };
    let of: Vec<ColumnId> = (0..20).map(|x| net.columns.input(x, Float::F64)).collect();
    let of: Arc<[ColumnId]> = of.into();
    let tested = (0..points).map(|_| net.sum(&of, true)).collect();
    of_columns(net.columns, tested, Float::F64)
}

#[test]
fn code_does_not_grow_with_units() {
    let statements = |prepared: &PreparedForest, form| {
        let features = prepared.columns.all().count();
        let runs = ColumnRuns::new(prepared, features);
        function((&runs, &[]), form, Some(64), &mut Vec::new()).to_string().lines().count()
    };
    for form in FORMS {
        let nets = [[20, 8, 16, 8], [20, 128, 128, 128], [20, 512, 256, 128]]
            .map(|widths| dense(Float::F32, &widths));
        let [small, medium, large] = nets.map(|net| statements(&net, form));
        // Small layers have fewer vectors than a full tile.
        assert!(medium < 600 && small <= medium && medium == large, "{small}, {medium}, {large} in {form:?}");
        let [few, many] = [16, 1728].map(|points| statements(&distances(points), form));
        assert!(few <= many && many < 300, "{few}, {many} in {form:?}");
    }
}
