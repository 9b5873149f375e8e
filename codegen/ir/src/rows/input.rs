//! Rows that a call passes as input columns, whose positions are known only at run time.

use super::lanes_below;
use crate::lir::{Address, BufferId, Builder, Cmp, Scalar, Ty, Value};

/// Distance, in features, between the feature that is read and the one that is prefetched. A copy reads too
/// few cache lines of each feature for the hardware prefetcher.
pub const FEATURES_AHEAD: i64 = 4;
/// Bytes of a cache line.
const LINE: u32 = 64;

/// Input columns of a call.
#[derive(Clone, Copy, Debug)]
pub struct InputColumns {
    /// Buffer of the values of all features.
    pub values: BufferId,
    /// Positions of the features in `values`, a buffer of
    /// [`Space::InputOrder`](crate::lir::Space::InputOrder).
    pub order: BufferId,
    /// Element type of the values.
    pub element: Scalar,
}

/// Consecutive rows of a call, the last of which may be beyond the call's end.
#[derive(Clone, Copy, Debug)]
pub struct RowRange {
    /// Index of the first row.
    pub first: Value,
    /// Number of rows up to the call's end; 0 or less means no rows. `None` if no row is beyond the end.
    pub count: Option<Value>,
}

impl InputColumns {
    /// Whether the call passes columns instead of rows.
    pub fn are_passed(self, b: &mut Builder) -> Value {
        let zero = b.int(0);
        let order = b.load_index(Scalar::I64, Address::element(self.order, zero, Scalar::I64));
        b.cmp(Cmp::Ne, order, zero)
    }

    /// Index of a feature's value in row 0. `feature` is a scalar of the index type.
    pub fn feature_start(self, b: &mut Builder, feature: Value) -> Value {
        let number = b.add_int(feature, 1);
        b.load_index(Scalar::I64, Address::element(self.order, number, Scalar::I64))
    }

    /// Loads `lanes` rows of a feature; lanes without a row are zero.
    pub fn load_rows(self, b: &mut Builder, start: Value, rows: RowRange, lanes: u16) -> Value {
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

    /// Prefetches some rows of a feature.
    pub fn prefetch_rows(self, b: &mut Builder, start: Value, row: Value, rows: u32) {
        let index = b.add(start, row);
        let first = Address::element(self.values, index, self.element);
        for line in (0..rows).step_by((LINE / self.element.bytes()) as usize) {
            let at = b.address_after(first, line.into());
            b.prefetch(at);
        }
    }
}
