//! Code of layers: tiles of sums, which loop over the terms.
//!
//! A tile keeps its sums in registers. With rows in lanes, each loaded vector of operands serves all sums of
//! the tile, and constants are splats. With sums in lanes, an operand is a splat, and constants are vectors.
//! Terms are added in order, and the square or product is rounded before it is added.

use super::layers::{LayerRun, OperandPlaces, SumTerm};
use super::numbers::index_of;
use super::pools::PoolTables;
use super::share::{Share, rounded_up};
use super::stored::StoredColumns;
use super::value::Lanes;
use crate::lir::{Address, Bin, BufferId, BuildStmts, Builder, Scalar, Ty, Value};

/// Number of registers for the sums of a tile. An addition waits 4 cycles for the previous one to the same
/// sum, and processors begin 2 operations in a cycle. So fewer sums would leave them idle. More sums, with
/// operands and constants, would spill on processors with 16 vector registers.
const TILE_REGISTERS: u32 = 8;

/// Fewest sums of a layer for which the sums of one row are computed in lanes.
const LEAST_LANE_SUMS: i64 = 4;

/// Code of a run of layers.
#[derive(Clone, Copy)]
pub(super) struct SumCode<'a> {
    /// The layers.
    pub run: &'a LayerRun,
    /// Buffers of the parameters of all columns, one for each type.
    pub pools: &'a PoolTables<BufferId>,
    /// Memory of operands and sums.
    pub stored: StoredColumns,
    /// Bytes of a vector register; `None` if the sums of a row must not be in lanes.
    pub register_bytes: Option<u32>,
}

/// A layer of a run.
#[derive(Clone, Copy)]
pub(super) struct OneLayer {
    /// Index of the first constant.
    pub constants: Value,
    /// Index of the first summand of its first sum.
    pub starts: Value,
    /// Place of the first operand, or position of the list of operands' places in the pool of integers.
    pub operands: Value,
    /// Place of the first sum.
    pub to: Value,
}

/// The sums of a tile.
#[derive(Clone, Copy)]
struct SumTile {
    /// Meaning of the lanes.
    lanes: Lanes,
    /// Number of vectors of sums.
    vectors: i64,
    /// Number of sums from a vector to the next one.
    step: i64,
    /// Number of constants from a vector to the next one.
    constants: i64,
}

impl SumTile {
    /// The tile with fewer vectors, if `units` sums would otherwise be fewer tiles than there are `parts` of
    /// the work.
    fn for_parts(self, units: i64, parts: i64) -> SumTile {
        let mut vectors = self.vectors;
        while vectors > 1 && rounded_up(units, vectors * self.step) < parts {
            vectors /= 2;
        }
        SumTile { vectors, ..self }
    }
}

impl SumCode<'_> {
    /// Stores the sums of a row, or of a vector of rows. Threads share the layers or, if there are fewer of
    /// these, the sums of each.
    pub fn emit(&self, b: &mut Builder, lanes: Lanes, share: Share) {
        let (of_layers, of_sums) =
            if self.shares_layers() { (share, Share::Whole) } else { (Share::Whole, share) };
        self.each_layer(b, of_layers, |b, layer| self.layer(b, &layer, lanes, of_sums));
    }

    fn shares_layers(&self) -> bool {
        self.run.layers > self.run.units
    }

    /// Number of pieces of a row's work: layers, or tiles of sums. There are at least `wanted` tiles if there
    /// are enough sums.
    pub fn pieces(&self, wanted: i64) -> i64 {
        if self.shares_layers() {
            return self.run.layers;
        }
        let tile = self.tile(Lanes::One).for_parts(self.run.units, wanted);
        rounded_up(self.run.units, tile.vectors)
    }

    /// Calls `body` for each layer of a share.
    pub fn each_layer(&self, b: &mut Builder, share: Share, body: impl FnOnce(&mut Builder, OneLayer)) {
        let (zero, end) = (b.int(0), b.int(self.run.layers));
        if self.run.layers == 1 {
            let layer = self.one_layer(b, zero);
            return body(b, layer);
        }
        share.for_each(b, end, 1, |b, number| {
            let layer = self.one_layer(b, number);
            body(b, layer);
        });
    }

    fn one_layer(&self, b: &mut Builder, number: Value) -> OneLayer {
        let run = self.run;
        let mut nth = |first: i64, each: i64| {
            let before = b.mul_int(number, each);
            b.add_int(before, first)
        };
        let constants = nth(run.constants, run.layer_constants());
        let (starts, to) =
            (nth(run.starts.unwrap_or(0), run.padded_units()), nth(run.to, run.padded_units()));
        let (OperandPlaces::Consecutive(operands) | OperandPlaces::Listed(operands)) = run.operands;
        let operands = index_of(b, self.pools, operands, number);
        OneLayer { constants, starts, operands, to }
    }

    fn layer(&self, b: &mut Builder, layer: &OneLayer, lanes: Lanes, share: Share) {
        let run = self.run;
        let tile = self.tile(lanes).for_parts(run.units, share.parts());
        // Constants and places of sums have padding, so that whole vectors of sums fit.
        let units = if matches!(tile.lanes, Lanes::Columns(_)) { run.padded_units() } else { run.units };
        let whole = units - units % (tile.vectors * tile.step);
        let end = b.int(whole);
        share.for_each(b, end, tile.vectors * tile.step, |b, unit| self.sums(b, layer, unit, tile));
        if whole < units {
            let rest = SumTile { vectors: (units - whole) / tile.step, ..tile };
            share.if_last(b, |b| self.sums(b, layer, end, rest));
        }
    }

    /// The tile that fills the registers for sums.
    fn tile(&self, lanes: Lanes) -> SumTile {
        let run = self.run;
        let vectors = |lanes: i64, most: i64| {
            let bytes = lanes as u32 * run.element.bytes();
            let registers = bytes.div_ceil(self.register_bytes.unwrap_or(bytes).max(1));
            i64::from((TILE_REGISTERS / registers.max(1)).max(1)).min(most)
        };
        // The sums of a tile are in one panel, or have adjacent constants.
        let (most, constants) = if run.panel == 1 { (run.units, run.terms) } else { (run.panel, 1) };
        match lanes {
            Lanes::One if self.register_bytes.is_some() && run.panel >= LEAST_LANE_SUMS => {
                let (panels, constants) = (run.padded_units() / run.panel, run.panel * run.terms);
                let vectors = vectors(run.panel, panels);
                SumTile { lanes: Lanes::Columns(run.panel as u16), vectors, step: run.panel, constants }
            }
            Lanes::Rows(rows) => SumTile { lanes, vectors: vectors(rows.into(), most), step: 1, constants },
            _ => SumTile { lanes: Lanes::One, vectors: vectors(1, most), step: 1, constants },
        }
    }

    /// Computes and stores the sums of a tile, from number `unit` on.
    fn sums(&self, b: &mut Builder, layer: &OneLayer, unit: Value, tile: SumTile) {
        let run = self.run;
        let ty = tile.lanes.type_of(run.element);
        let first: Vec<Value> = (0..tile.vectors)
            .map(|vector| match run.starts {
                None => b.float(ty, 0.0),
                Some(_) => {
                    let index = b.add(layer.starts, unit);
                    self.constant(b, index, vector * tile.step, tile.lanes)
                }
            })
            .collect();
        let constants = self.first_constant(b, layer, unit);
        let (zero, terms) = (b.int(0), b.int(run.terms));
        let sums = b.for_loop((zero, terms, 1), &first, |b, term, sums| {
            let operand = self.operand(b, &self.stored, layer, term, (tile.lanes, 0));
            let before = b.mul_int(term, run.panel);
            let index = b.add(constants, before);
            let added = (0..).zip(sums).map(|(vector, sum)| {
                let constant = self.constant(b, index, vector * tile.constants, tile.lanes);
                let term = self.term(b, operand, constant);
                b.add(*sum, term)
            });
            added.collect()
        });
        for (vector, sum) in (0..).zip(sums) {
            let place = b.add(layer.to, unit);
            let place = b.add_int(place, vector * tile.step);
            let index = self.stored.index(b, place);
            b.store(Address::element(self.stored.buffer(run.element), index, run.element), sum);
        }
    }

    /// Index of the constant of the first term of a sum.
    pub(super) fn first_constant(&self, b: &mut Builder, layer: &OneLayer, unit: Value) -> Value {
        let run = self.run;
        let (within, panels) = (b.int(run.panel - 1), b.int(-run.panel));
        let (within, panel) = (b.bin(Bin::And, unit, within), b.bin(Bin::And, unit, panels));
        let before = b.mul_int(panel, run.terms);
        let index = b.add(layer.constants, before);
        b.add(index, within)
    }

    /// The constants for the lanes of a vector, `beyond` entries after an index.
    pub(super) fn constant(&self, b: &mut Builder, index: Value, beyond: i64, lanes: Lanes) -> Value {
        let element = self.run.element;
        let address = Address::element(self.pools.buffer(element), index, element);
        let address = b.address_after(address, beyond);
        match lanes {
            Lanes::Columns(_) => b.load(lanes.type_of(element), address),
            Lanes::One => b.load(Ty::of(element), address),
            Lanes::Rows(rows) => {
                let constant = b.load(Ty::of(element), address);
                b.splat(constant, rows)
            }
        }
    }

    /// The operand of a term, which is a stored column: for the row `further` rows after the first, or a
    /// vector of rows from there on.
    pub(super) fn operand(
        &self,
        b: &mut Builder,
        stored: &StoredColumns,
        layer: &OneLayer,
        term: Value,
        (lanes, further): (Lanes, i64),
    ) -> Value {
        let element = self.run.element;
        let place = b.add(layer.operands, term);
        let place = match self.run.operands {
            OperandPlaces::Consecutive(_) => place,
            OperandPlaces::Listed(_) => {
                let integers = self.pools.buffer(Scalar::I32);
                b.load_index(Scalar::I32, Address::element(integers, place, Scalar::I32))
            }
        };
        let index = stored.index(b, place);
        let address = Address::element(stored.buffer(element), index, element);
        let address = b.address_after(address, further);
        match lanes {
            Lanes::Columns(width) => {
                let operand = b.load(Ty::of(element), address);
                b.splat(operand, width)
            }
            Lanes::One | Lanes::Rows(_) => b.load(lanes.type_of(element), address),
        }
    }

    /// A term of a sum.
    pub(super) fn term(&self, b: &mut Builder, operand: Value, constant: Value) -> Value {
        match self.run.term {
            SumTerm::Product => b.mul(operand, constant),
            SumTerm::SquaredDifference => {
                let difference = b.sub(operand, constant);
                b.mul(difference, difference)
            }
        }
    }
}
