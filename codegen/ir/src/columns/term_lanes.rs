//! Vectors of the terms of a sum: adjacent terms in lanes, each lane with a sum of its own.
//!
//! The sums of the lanes are added at the end, so the order of a sum's terms is another one. Only sums that
//! no later step [compares](super::compared) have such vectors.

use super::layers::OperandPlaces;
use super::stored::StoredColumns;
use super::sums::{OneLayer, SumCode};
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Builder, Gather, Keep, Scalar, Ty, Value};

impl SumCode<'_> {
    /// The operands of consecutive terms from number `term` on, one in each lane, for the row `further` rows
    /// after the first.
    pub(super) fn operands_of_terms(
        &self,
        b: &mut Builder,
        (stored, further): (&StoredColumns, i64),
        layer: &OneLayer,
        (term, lanes): (Value, u16),
    ) -> Value {
        let element = self.run.element;
        let place = b.add(layer.operands, term);
        match self.run.operands {
            OperandPlaces::Consecutive(_) => {
                stored.load_columns(b, (element, Keep::Invariant), (place, further), lanes)
            }
            OperandPlaces::Listed(_) => {
                let integers = Address::element(self.pools.buffer(Scalar::I32), place, Scalar::I32);
                let places = b.load(Ty::vector(Scalar::I32, lanes), integers);
                stored.of_row(b, element, (places, further))
            }
        }
    }

    /// The sum of the lanes of a vector of terms, or of a vector of their sums.
    pub(super) fn sum_of_terms(b: &mut Builder, vector: Value) -> Value {
        if seeded(Fault::TermLanesLost) { b.extract(vector, 0) } else { b.sum_of_lanes(vector) }
    }

    /// The constants of consecutive terms of a sum, one in each lane. The index of the first one is `index`
    /// plus `beyond`.
    pub(super) fn constants_of_terms(
        &self,
        b: &mut Builder,
        (index, beyond): (Value, i64),
        lanes: u16,
    ) -> Value {
        let (element, panel) = (self.run.element, self.run.panel);
        let buffer = self.pools.buffer(element);
        if panel == 1 {
            let address = b.address_after(Address::element(buffer, index, element), beyond);
            return b.load(Ty::vector(element, lanes), address);
        }
        // The constants of a term for all sums of a panel are adjacent.
        let base = b.add_int(index, beyond);
        let ty = b.number_type(lanes);
        let (lane, distance) = (b.iota(ty), b.int_of(ty, panel));
        let index = b.mul(lane, distance);
        b.gather(element, Gather { buffer, base, index, stride: element.bytes(), offset: 0, mask: None })
    }
}
