//! The call's rows where they are columns: which order they have is known when the call is made.

use super::lanes_below;
use crate::lir::{Address, BufferId, Builder, Cmp, Scalar, Ty, Value};

/// Features between one whose values are read and one whose values are brought near: a copy reads a few lines of each feature,
/// which are too few for a processor to see where it goes on.
pub const FEATURES_AHEAD: i64 = 4;
/// Bytes of a cache line.
const LINE: u32 = 64;

/// The columns of a call.
#[derive(Clone, Copy, Debug)]
pub struct InputColumns {
    /// The values of all features.
    pub values: BufferId,
    /// Where they lie there, a buffer of [`Space::Order`](crate::lir::Space::Order).
    pub order: BufferId,
    /// The element of values.
    pub element: Scalar,
}

/// Rows from one on, of which some exist.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// The number of the first row.
    pub first: Value,
    /// How many there are, or none if it is below 1; if this is nothing, as many as are wanted.
    pub count: Option<Value>,
}

impl InputColumns {
    /// Whether the call has columns, and not rows.
    pub fn given(self, b: &mut Builder) -> Value {
        let zero = b.int(0);
        let order = b.load_index(Scalar::I64, Address::element(self.order, zero, Scalar::I64));
        b.cmp(Cmp::Ne, order, zero)
    }

    /// The element of a feature's value in row 0. The feature is an index.
    pub fn start(self, b: &mut Builder, feature: Value) -> Value {
        let number = b.add_int(feature, 1);
        b.load_index(Scalar::I64, Address::element(self.order, number, Scalar::I64))
    }

    /// The values of a feature in as many rows as there are lanes; zeros where there is no row.
    pub fn rows(self, b: &mut Builder, start: Value, rows: Left, lanes: u16) -> Value {
        let index = b.add(start, rows.first);
        let at = Address::element(self.values, index, self.element);
        let ty = Ty::vector(self.element, lanes);
        match rows.count {
            None => b.load(ty, at),
            Some(count) => {
                let mask = lanes_below(b, count, lanes);
                b.load_masked(ty, at, mask)
            }
        }
    }

    /// Brings a feature's values in some rows near.
    pub fn prefetch(self, b: &mut Builder, start: Value, row: Value, rows: u32) {
        let index = b.add(start, row);
        let first = Address::element(self.values, index, self.element);
        for line in (0..rows).step_by((LINE / self.element.bytes()) as usize) {
            let at = b.beyond(first, line.into());
            b.prefetch(at);
        }
    }
}
