//! Code of a stage of sums whose loops a schedule arranges.
//!
//! Loops around the first loop over terms become loops of LIR, or are unrolled. Inside it, the sums of all
//! rows and units are in registers if there are at most `MOST_KEPT`, and in memory otherwise. Terms are added
//! in order, and each operation is rounded, as in [`super::sums`], so that both have the same results bit by
//! bit.

use super::arrangement::{Arrangement, StageLoop};
use super::stored::StoredColumns;
use super::sums::{OneLayer, SumCode};
use super::value::Lanes;
use crate::lir::{Address, Build, Builder, Keep, Value};
use sched_nest::Axis;
use std::collections::HashMap;

/// Largest number of sums, or of vectors of sums, that loops over terms keep in registers.
const MOST_KEPT: usize = 32;

/// Stores the sums of a group of rows that begins with `row`, or of a single row if it is `None`, by arranged
/// loops.
pub(super) fn emit(b: &mut Builder, sums: SumCode<'_>, arrangement: &Arrangement, row: Option<Value>) {
    sums.each_layer(b, |b, layer| ArrangedCode { sums, arrangement, layer, row }.emit(b));
}

/// Code of an arranged stage.
#[derive(Clone, Copy)]
struct ArrangedCode<'a> {
    /// Code that loads operands and constants and makes terms.
    sums: SumCode<'a>,
    /// The loops of the stage.
    arrangement: &'a Arrangement,
    /// The layer.
    layer: OneLayer,
    /// The first row of the group; `None` for a single row.
    row: Option<Value>,
}

/// The current iteration of all enclosing loops. The value of an axis is a sum: a value that loops of LIR
/// have, plus a constant of unrolled loops.
#[derive(Clone)]
struct Point {
    /// For rows, units and terms, the sum of the values of loops of LIR; 0 if `None`.
    at: [Option<Value>; 3],
    /// For rows, units and terms, the constants that unrolled loops add.
    plus: [i64; 3],
    /// The exclusive bounds of partial tiles that remain inside the enclosing loops.
    left: Vec<i64>,
}

const ROW: usize = 0;
const UNIT: usize = 1;
const TERM: usize = 2;

/// The sums in registers, by their row and unit relative to the point where the loops over terms begin.
struct RegisterSums<'p> {
    places: HashMap<(i64, i64), usize>,
    points: &'p [(i64, i64)],
    /// For each unit, the index of its first constant, as an index and a distance that is added.
    constants: HashMap<i64, (Value, i64)>,
}

/// Operands of one term by row, and its constants by unit, as far as they are loaded.
#[derive(Default)]
struct Loaded {
    operands: HashMap<i64, Value>,
    constants: HashMap<i64, Value>,
}

impl Point {
    fn moved(
        &self,
        this: &StageLoop,
        at: Option<Value>,
        plus: i64,
        left: Vec<i64>,
        b: &mut Builder,
    ) -> Point {
        let mut point = Point { left, ..self.clone() };
        let axis = axis_number(this.axis);
        if let Some(value) = at {
            point.at[axis] = Some(match point.at[axis] {
                Some(outer) => b.add(outer, value),
                None => value,
            });
        }
        point.plus[axis] += plus;
        point
    }

    /// The value of an axis as a value of LIR.
    fn value(&self, b: &mut Builder, axis: usize) -> Value {
        match self.at[axis] {
            Some(value) => b.add_int(value, self.plus[axis]),
            None => b.int(self.plus[axis]),
        }
    }
}

fn axis_number(axis: Axis) -> usize {
    match axis {
        Axis::Row => ROW,
        Axis::Unit | Axis::Tree => UNIT,
        Axis::Feature => TERM,
    }
}

impl ArrangedCode<'_> {
    /// Stores the sums of a group of rows.
    fn emit(&self, b: &mut Builder) {
        let left = self.arrangement.bounds_left();
        let point = Point { at: [None; 3], plus: [0; 3], left };
        self.outside(b, 0, &point);
    }

    /// Emits the loops from position `at` on, down to the first loop over terms.
    fn outside(&self, b: &mut Builder, at: usize, point: &Point) {
        if at == self.arrangement.first_of_terms() {
            return self.inside(b, at, point);
        }
        self.each(b, at, point, &mut |b, point| self.outside(b, at + 1, point));
    }

    /// Calls `body` for the values of a loop: in loops of LIR, shared by threads or not, or unrolled.
    fn each(&self, b: &mut Builder, at: usize, point: &Point, body: &mut dyn FnMut(&mut Builder, &Point)) {
        let this = self.arrangement.loops[at];
        for range in self.arrangement.ranges(at, &point.left) {
            if range.count == 1 || this.unroll {
                for nth in 0..range.count {
                    let value = range.first + nth * this.step;
                    let inner = point.moved(&this, None, value, range.left.clone(), b);
                    body(b, &inner);
                }
                continue;
            }
            if this.parallel {
                let trip = b.int(range.count);
                b.parallel(trip, |b, iteration| {
                    let value = b.mul_int(iteration, this.step);
                    let value = b.add_int(value, range.first);
                    let inner = point.moved(&this, Some(value), 0, range.left.clone(), b);
                    body(b, &inner);
                });
                continue;
            }
            let (first, end) = (b.int(range.first), b.int(range.first + range.count * this.step));
            b.for_loop((first, end, this.step), &[], |b, value, _| {
                let inner = point.moved(&this, Some(value), 0, range.left.clone(), b);
                body(b, &inner);
                Vec::new()
            });
        }
    }

    /// Computes and stores the sums of all rows and units that the loops from position `at` on go through.
    fn inside(&self, b: &mut Builder, at: usize, point: &Point) {
        let Some(points) = self.arrangement.points(at, &point.left, MOST_KEPT) else {
            self.each_sum(b, at, point, &mut |b, point| {
                let start = self.start(b, point, (0, 0));
                self.store(b, point, (0, 0), start);
            });
            return self.in_memory(b, at, point);
        };
        let constants = self.first_constants(b, at, point, &points);
        let places = points.iter().copied().enumerate().map(|(place, point)| (point, place)).collect();
        let kept = RegisterSums { places, points: &points, constants };
        let starts: Vec<Value> = points.iter().map(|beside| self.start(b, point, *beside)).collect();
        let sums = self.in_registers(b, at, point, (&kept, (0, 0)), &mut Loaded::default(), starts);
        for (beside, sum) in kept.points.iter().zip(sums) {
            self.store(b, point, *beside, sum);
        }
    }

    /// Calls `body` for each combination of rows and units of the loops from position `at` on.
    fn each_sum(
        &self,
        b: &mut Builder,
        at: usize,
        point: &Point,
        body: &mut dyn FnMut(&mut Builder, &Point),
    ) {
        let Some(this) = self.arrangement.loops.get(at) else { return body(b, point) };
        if this.axis == Axis::Feature {
            return self.each_sum(b, at + 1, point, body);
        }
        self.each(b, at, point, &mut |b, point| self.each_sum(b, at + 1, point, body));
    }

    /// Adds the terms of the loops from position `at` on to sums in memory.
    fn in_memory(&self, b: &mut Builder, at: usize, point: &Point) {
        if at < self.arrangement.loops.len() {
            return self.each(b, at, point, &mut |b, point| self.in_memory(b, at + 1, point));
        }
        let unit = point.value(b, UNIT);
        let first = self.sums.first_constant(b, &self.layer, unit);
        let term = self.term_of(b, point, (0, (first, 0)), 0, &mut Loaded::default());
        let sum = self.load(b, point);
        let sum = b.add(sum, term);
        self.store(b, point, (0, 0), sum);
    }

    /// Adds the terms of the loops from position `at` on to sums in registers. `beside` is the row and unit
    /// relative to the point where the loops over terms begin.
    fn in_registers(
        &self,
        b: &mut Builder,
        at: usize,
        point: &Point,
        (kept, beside): (&RegisterSums, (i64, i64)),
        loaded: &mut Loaded,
        mut sums: Vec<Value>,
    ) -> Vec<Value> {
        let Some(this) = self.arrangement.loops.get(at) else {
            let Some(place) = kept.places.get(&beside).copied() else { return sums };
            let Some(constant) = kept.constants.get(&beside.1).copied() else { return sums };
            let term = self.term_of(b, point, (beside.0, constant), beside.1, loaded);
            sums[place] = b.add(sums[place], term);
            return sums;
        };
        for range in self.arrangement.ranges(at, &point.left) {
            if this.axis == Axis::Feature && range.count > 1 && !this.unroll {
                let (first, end) = (b.int(range.first), b.int(range.first + range.count * this.step));
                sums = b.for_loop((first, end, this.step), &sums, |b, value, sums| {
                    let inner = point.moved(this, Some(value), 0, range.left.clone(), b);
                    let mut loaded = Loaded::default();
                    self.in_registers(b, at + 1, &inner, (kept, beside), &mut loaded, sums.to_vec())
                });
                continue;
            }
            for nth in 0..range.count {
                let value = range.first + nth * this.step;
                let (inner, beside) = match this.axis {
                    Axis::Feature => (point.moved(this, None, value, range.left.clone(), b), beside),
                    _ => (Point { left: range.left.clone(), ..point.clone() }, this.moved(beside, value)),
                };
                let mut fresh = Loaded::default();
                let loaded = if this.axis == Axis::Feature { &mut fresh } else { &mut *loaded };
                sums = self.in_registers(b, at + 1, &inner, (kept, beside), loaded, sums);
            }
        }
        sums
    }

    /// A term of a sum, whose row and unit are `row` and `unit` relative to the point. `first` and `further`
    /// add up to the index of the unit's first constant.
    fn term_of(
        &self,
        b: &mut Builder,
        point: &Point,
        (row, (first, further)): (i64, (Value, i64)),
        unit: i64,
        loaded: &mut Loaded,
    ) -> Value {
        let (sums, lanes) = (&self.sums, self.lanes());
        let operand = loaded.operands.get(&row).copied().unwrap_or_else(|| {
            let term = point.value(b, TERM);
            let from = self.stored(b, point);
            sums.operand(b, &from, &self.layer, term, (lanes, point.plus[ROW] + row))
        });
        loaded.operands.insert(row, operand);
        let constant = loaded.constants.get(&unit).copied().unwrap_or_else(|| {
            let term = point.value(b, TERM);
            let before = b.mul_int(term, sums.run.panel);
            let index = b.add(first, before);
            sums.constant(b, index, further, lanes)
        });
        loaded.constants.insert(unit, constant);
        sums.term(b, operand, constant)
    }

    /// The index of the first constant of each unit. If the units are in one panel, or begin with a panel,
    /// only the first index is computed; the others are at constant distances.
    fn first_constants(
        &self,
        b: &mut Builder,
        at: usize,
        point: &Point,
        points: &[(i64, i64)],
    ) -> HashMap<i64, (Value, i64)> {
        let (run, step) = (self.sums.run, self.arrangement.unit_step(at));
        let units = points.iter().map(|(_, unit)| *unit);
        let largest = units.clone().max().unwrap_or(0);
        let in_one_panel = step > 0 && run.panel % step == 0 && largest < step;
        let is_aligned = (step == 0 || step % run.panel == 0) && point.plus[UNIT] % run.panel == 0;
        let unit = point.value(b, UNIT);
        if in_one_panel || is_aligned {
            let first = self.sums.first_constant(b, &self.layer, unit);
            let distance = |unit: i64| unit / run.panel * run.panel * run.terms + unit % run.panel;
            return units.map(|unit| (unit, (first, distance(unit)))).collect();
        }
        let mut constants = HashMap::new();
        for beside in units {
            constants.entry(beside).or_insert_with(|| {
                let unit = b.add_int(unit, beside);
                (self.sums.first_constant(b, &self.layer, unit), 0)
            });
        }
        constants
    }

    /// The lanes of vectors: rows, units, or none.
    fn lanes(&self) -> Lanes {
        let (rows, units) = (self.arrangement.lanes(Axis::Row), self.arrangement.lanes(Axis::Unit));
        match (rows, units) {
            (1, 1) => Lanes::One,
            (1, units) => Lanes::Columns(units),
            (rows, _) => Lanes::Rows(rows),
        }
    }

    /// The stored columns of the rows from the point's row on.
    fn stored(&self, b: &mut Builder, point: &Point) -> StoredColumns {
        let row = match (self.row, point.at[ROW]) {
            (Some(first), Some(row)) => Some(b.add(first, row)),
            (first, row) => first.or(row),
        };
        row.map_or(self.sums.stored, |row| self.sums.stored.of_row(row))
    }

    /// The first summand of a sum, whose row and unit are relative to the point.
    fn start(&self, b: &mut Builder, point: &Point, (_, unit): (i64, i64)) -> Value {
        let (sums, ty) = (&self.sums, self.lanes().of(self.sums.run.element));
        if sums.run.starts.is_none() {
            return b.float(ty, 0.0);
        }
        let own = point.value(b, UNIT);
        let index = b.add(self.layer.starts, own);
        sums.constant(b, index, unit, self.lanes())
    }

    /// The stored sum of a point.
    fn load(&self, b: &mut Builder, point: &Point) -> Value {
        let element = self.sums.run.element;
        let (stored, place) = (self.stored(b, point), self.place(b, point, 0));
        if let Lanes::Columns(units) = self.lanes() {
            return stored.load_columns(b, element, (place, point.plus[ROW]), units);
        }
        let address = self.address(b, &stored, (place, point.plus[ROW]));
        b.load_and(Keep::UntilReload, self.lanes().of(element), address)
    }

    /// Stores a sum, whose row and unit are relative to the point.
    fn store(&self, b: &mut Builder, point: &Point, (row, unit): (i64, i64), sum: Value) {
        let (stored, place) = (self.stored(b, point), self.place(b, point, unit));
        let further = point.plus[ROW] + row;
        if let Lanes::Columns(_) = self.lanes() {
            return stored.store_columns(b, self.sums.run.element, (place, further), sum);
        }
        let address = self.address(b, &stored, (place, further));
        b.store(address, sum);
    }

    /// The place of the sum of a unit, which is relative to the point.
    fn place(&self, b: &mut Builder, point: &Point, unit: i64) -> Value {
        let own = point.value(b, UNIT);
        let place = b.add(self.layer.to, own);
        b.add_int(place, unit)
    }

    /// The address of the sum at a place, for the row `further` rows after the first.
    fn address(&self, b: &mut Builder, stored: &StoredColumns, (place, further): (Value, i64)) -> Address {
        let element = self.sums.run.element;
        let index = stored.index(b, place);
        b.beyond(Address::element(stored.buffer(element), index, element), further)
    }
}
