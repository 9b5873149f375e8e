//! Code of a stage of columns whose loops a schedule arranges.
//!
//! Loops around the first loop over terms become loops of LIR, or are unrolled. Inside it, the sums of all
//! rows and units are in registers if there are at most `MOST_REGISTER_SUMS`, and in memory otherwise. Each
//! operation is rounded, and terms are added in order, as in [`super::sums`], so that both have the same
//! results bit by bit. The exception is a loop over terms with vectors, each lane of which has a sum of its
//! own.

use super::arrangement::Arrangement;
use super::iteration::{CurrentIteration, ROW, TERM, UNIT};
use super::share::Share;
use super::stored::StoredColumns;
use super::sums::{OneLayer, SumCode};
use super::value::Lanes;
use crate::lir::{Address, BuildStmts, Builder, Keep, Ty, Value};
use sched_nest::Axis;
use std::collections::HashMap;

/// Largest number of sums, or of vectors of sums, that loops over terms keep in registers.
const MOST_REGISTER_SUMS: usize = 32;

/// Stores the sums of a group of rows that begins with `row`, or of a single row if it is `None`, by arranged
/// loops.
pub(super) fn emit(b: &mut Builder, sums: SumCode<'_>, arrangement: &Arrangement, row: Option<Value>) {
    sums.each_layer(b, Share::Whole, |b, layer| ArrangedCode { sums, arrangement, layer, row }.emit(b));
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

/// The sums in registers, by their row and unit relative to the point where the loops over terms begin.
struct RegisterSums<'p> {
    places: HashMap<(i64, i64), usize>,
    points: &'p [(i64, i64)],
    /// For each unit, the index of its first constant, as an index and a distance that is added.
    constants: HashMap<i64, (Value, i64)>,
}

/// Operands of one term by row, and its constants by unit, as far as they are loaded.
#[derive(Default)]
struct LoadedOperands {
    operands: HashMap<i64, Value>,
    constants: HashMap<i64, Value>,
}

impl ArrangedCode<'_> {
    /// Stores the sums of a group of rows.
    fn emit(&self, b: &mut Builder) {
        self.emit_outer_loops(b, 0, &self.arrangement.before_loops());
    }

    /// Emits the loops from position `at` on, down to the first loop over terms.
    fn emit_outer_loops(&self, b: &mut Builder, at: usize, point: &CurrentIteration) {
        if at == self.arrangement.first_term_loop() {
            return self.emit_sums(b, at, point);
        }
        self.arrangement
            .for_each_value(b, at, point, &mut |b, point| self.emit_outer_loops(b, at + 1, point));
    }

    /// Computes and stores the sums of all rows and units that the loops from position `at` on go through.
    fn emit_sums(&self, b: &mut Builder, at: usize, point: &CurrentIteration) {
        let Some(points) = self.arrangement.points(at, &point.remaining_bounds, MOST_REGISTER_SUMS) else {
            self.each_sum(b, at, point, &mut |b, point| {
                let start = self.first_summand(b, point, (0, 0));
                self.store(b, point, (0, 0), start);
            });
            return self.add_in_memory(b, at, point);
        };
        let constants = self.first_constants(b, at, point, &points);
        let places = points.iter().copied().enumerate().map(|(place, point)| (point, place)).collect();
        let kept = RegisterSums { places, points: &points, constants };
        let mut starts: Vec<Value> =
            points.iter().map(|beside| self.first_summand(b, point, *beside)).collect();
        let lanes = self.arrangement.lanes(Axis::Feature);
        if lanes > 1 {
            let ty = Ty::vector(self.sums.run.element, lanes);
            starts.extend(points.iter().map(|_| b.float(ty, 0.0)));
        }
        let mut sums =
            self.add_in_registers(b, at, point, (&kept, (0, 0)), &mut LoadedOperands::default(), starts);
        let of_lanes = sums.split_off(points.len());
        for (sum, lanes) in sums.iter_mut().zip(of_lanes) {
            let in_lanes = SumCode::sum_of_terms(b, lanes);
            *sum = b.add(*sum, in_lanes);
        }
        for (beside, sum) in kept.points.iter().zip(sums) {
            self.store(b, point, *beside, sum);
        }
    }

    /// Calls `body` for each combination of rows and units of the loops from position `at` on.
    fn each_sum(
        &self,
        b: &mut Builder,
        at: usize,
        point: &CurrentIteration,
        body: &mut dyn FnMut(&mut Builder, &CurrentIteration),
    ) {
        let Some(this) = self.arrangement.loops.get(at) else { return body(b, point) };
        if this.axis == Axis::Feature {
            return self.each_sum(b, at + 1, point, body);
        }
        self.arrangement.for_each_value(b, at, point, &mut |b, point| self.each_sum(b, at + 1, point, body));
    }

    /// Adds the terms of the loops from position `at` on to sums in memory.
    fn add_in_memory(&self, b: &mut Builder, at: usize, point: &CurrentIteration) {
        if at < self.arrangement.loops.len() {
            return self
                .arrangement
                .for_each_value(b, at, point, &mut |b, point| self.add_in_memory(b, at + 1, point));
        }
        let unit = point.value(b, UNIT);
        let first = self.sums.first_constant(b, &self.layer, unit);
        let mut term = self.term_of(b, point, (0, (first, 0)), 0, &mut LoadedOperands::default());
        if point.term_lanes > 1 {
            term = SumCode::sum_of_terms(b, term);
        }
        let sum = self.load(b, point);
        let sum = b.add(sum, term);
        self.store(b, point, (0, 0), sum);
    }

    /// Adds the terms of the loops from position `at` on to sums in registers. `beside` is the row and unit
    /// relative to the point where the loops over terms begin.
    fn add_in_registers(
        &self,
        b: &mut Builder,
        at: usize,
        point: &CurrentIteration,
        (kept, beside): (&RegisterSums, (i64, i64)),
        loaded: &mut LoadedOperands,
        mut sums: Vec<Value>,
    ) -> Vec<Value> {
        let Some(this) = self.arrangement.loops.get(at) else {
            let Some(place) = kept.places.get(&beside).copied() else { return sums };
            let Some(constant) = kept.constants.get(&beside.1).copied() else { return sums };
            let term = self.term_of(b, point, (beside.0, constant), beside.1, loaded);
            // The vectors of sums come after the others.
            let place = if point.term_lanes > 1 { kept.points.len() + place } else { place };
            sums[place] = b.add(sums[place], term);
            return sums;
        };
        for range in self.arrangement.ranges(at, &point.remaining_bounds) {
            if this.axis == Axis::Feature && range.count > 1 && !this.unroll {
                let (first, end) = (b.int(range.first), b.int(range.first + range.count * range.step));
                sums = b.for_loop((first, end, range.step), &sums, |b, value, sums| {
                    let inner = point.moved(this, &range, (Some(value), 0), b);
                    let mut loaded = LoadedOperands::default();
                    self.add_in_registers(b, at + 1, &inner, (kept, beside), &mut loaded, sums.to_vec())
                });
                continue;
            }
            for nth in 0..range.count {
                let value = range.first + nth * range.step;
                let (inner, beside) = match this.axis {
                    Axis::Feature => (point.moved(this, &range, (None, value), b), beside),
                    _ => (point.inside(this, &range), this.moved(beside, value)),
                };
                let mut fresh = LoadedOperands::default();
                let loaded = if this.axis == Axis::Feature { &mut fresh } else { &mut *loaded };
                sums = self.add_in_registers(b, at + 1, &inner, (kept, beside), loaded, sums);
            }
        }
        sums
    }

    /// A term of a sum, whose row and unit are `row` and `unit` relative to the point. `first` and `further`
    /// add up to the index of the unit's first constant.
    fn term_of(
        &self,
        b: &mut Builder,
        point: &CurrentIteration,
        (row, (first, further)): (i64, (Value, i64)),
        unit: i64,
        loaded: &mut LoadedOperands,
    ) -> Value {
        let (sums, lanes) = (&self.sums, self.lanes());
        let operand = loaded.operands.get(&row).copied().unwrap_or_else(|| {
            let term = point.value(b, TERM);
            let (from, further) = (self.stored(b, point), point.plus[ROW] + row);
            match point.term_lanes {
                1 => sums.operand(b, &from, &self.layer, term, (lanes, further)),
                terms => sums.operands_of_terms(b, (&from, further), &self.layer, (term, terms)),
            }
        });
        loaded.operands.insert(row, operand);
        let constant = loaded.constants.get(&unit).copied().unwrap_or_else(|| {
            let term = point.value(b, TERM);
            let before = b.mul_int(term, sums.run.panel);
            let index = b.add(first, before);
            match point.term_lanes {
                1 => sums.constant(b, index, further, lanes),
                terms => sums.constants_of_terms(b, (index, further), terms),
            }
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
        point: &CurrentIteration,
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

    /// The lanes of vectors: rows, units, or none. Vectors of terms are sums without lanes.
    fn lanes(&self) -> Lanes {
        let (rows, units) = (self.arrangement.lanes(Axis::Row), self.arrangement.lanes(Axis::Unit));
        match (rows, units) {
            (1, 1) => Lanes::One,
            (1, units) => Lanes::Columns(units),
            (rows, _) => Lanes::Rows(rows),
        }
    }

    /// The stored columns of the rows from the point's row on.
    fn stored(&self, b: &mut Builder, point: &CurrentIteration) -> StoredColumns {
        let row = point.row_from(b, self.row);
        row.map_or(self.sums.stored, |row| self.sums.stored.from_row(row))
    }

    /// The first summand of a sum, whose row and unit are relative to the point.
    fn first_summand(&self, b: &mut Builder, point: &CurrentIteration, (_, unit): (i64, i64)) -> Value {
        let (sums, ty) = (&self.sums, self.lanes().type_of(self.sums.run.element));
        if sums.run.starts.is_none() {
            return b.float(ty, 0.0);
        }
        let own = point.value(b, UNIT);
        let index = b.add(self.layer.starts, own);
        sums.constant(b, index, unit, self.lanes())
    }

    /// The stored sum of a point.
    fn load(&self, b: &mut Builder, point: &CurrentIteration) -> Value {
        let element = self.sums.run.element;
        let (stored, place) = (self.stored(b, point), self.place(b, point, 0));
        if let Lanes::Columns(units) = self.lanes() {
            return stored.load_columns(b, (element, Keep::UntilReload), (place, point.plus[ROW]), units);
        }
        let address = self.address(b, &stored, (place, point.plus[ROW]));
        b.load_with_reuse(Keep::UntilReload, self.lanes().type_of(element), address)
    }

    /// Stores a sum, whose row and unit are relative to the point.
    fn store(&self, b: &mut Builder, point: &CurrentIteration, (row, unit): (i64, i64), sum: Value) {
        let (stored, place) = (self.stored(b, point), self.place(b, point, unit));
        let further = point.plus[ROW] + row;
        if let Lanes::Columns(_) = self.lanes() {
            return stored.store_columns(b, self.sums.run.element, (place, further), sum);
        }
        let address = self.address(b, &stored, (place, further));
        b.store(address, sum);
    }

    /// The place of the sum of a unit, which is relative to the point.
    fn place(&self, b: &mut Builder, point: &CurrentIteration, unit: i64) -> Value {
        let own = point.value(b, UNIT);
        let place = b.add(self.layer.to, own);
        b.add_int(place, unit)
    }

    /// The address of the sum at a place, for the row `further` rows after the first.
    fn address(&self, b: &mut Builder, stored: &StoredColumns, (place, further): (Value, i64)) -> Address {
        let element = self.sums.run.element;
        let index = stored.index(b, place);
        b.address_after(Address::element(stored.buffer(element), index, element), further)
    }
}
