//! Memory of stored columns: a buffer for each element.

use super::layers::StoredPlaces;
use crate::lir::{Address, BufferId, BuildStmts, Builder, Cast, Gather, Keep, Scalar, Space, Ty, Value};

/// Number of stored columns of a row, for each type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredCounts {
    singles: i64,
    doubles: i64,
}

/// Stored columns of a row or of several rows, in buffers.
#[derive(Clone, Copy, Debug)]
pub struct StoredColumns {
    singles: Option<BufferId>,
    doubles: Option<BufferId>,
    /// Number of the first row in the memory of a column; 0 if `None`.
    row: Option<Value>,
    /// Elements from a column to the next one.
    stride: Stride,
}

/// A number of elements.
#[derive(Clone, Copy, Debug)]
enum Stride {
    Constant(i64),
    Value(Value),
}

impl StoredCounts {
    pub(super) fn new(places: &StoredPlaces) -> StoredCounts {
        StoredCounts { singles: places.count(Scalar::F32), doubles: places.count(Scalar::F64) }
    }

    /// Bytes of the stored columns of a row.
    pub fn row_bytes(self) -> usize {
        self.singles as usize * Scalar::F32.bytes() as usize
            + self.doubles as usize * Scalar::F64.bytes() as usize
    }

    /// The larger of the numbers of stored columns of the two types.
    pub fn largest_count(self) -> usize {
        self.singles.max(self.doubles) as usize
    }

    /// Runs `body` with memory for the stored columns of `rows` rows.
    pub fn with_memory<B: BuildStmts>(self, b: &mut B, rows: u32, body: impl FnOnce(&mut B, StoredColumns)) {
        let rows = i64::from(rows);
        let n_rows = b.builder().int(rows);
        self.alloc(b, (Space::Private, n_rows), |b, columns| {
            body(b, StoredColumns { stride: Stride::Constant(rows), ..columns })
        });
    }

    /// Runs `body` with shared memory for the stored columns of the rows of a GPU's block, column by column.
    pub(super) fn with_shared_memory(
        self,
        b: &mut Builder,
        rows: i64,
        body: impl FnOnce(&mut Builder, StoredColumns),
    ) {
        let n_rows = b.int(rows);
        self.alloc(b, (Space::Shared, n_rows), |b, columns| {
            body(b, StoredColumns { stride: Stride::Constant(rows), ..columns })
        });
    }

    /// Runs `body` with memory for the stored columns of all rows of a call, column by column.
    pub fn with_memory_of_call<B: BuildStmts>(
        self,
        b: &mut B,
        n_rows: Value,
        body: impl FnOnce(&mut B, StoredColumns),
    ) {
        self.alloc(b, (Space::Private, n_rows), body);
    }

    fn alloc<B: BuildStmts>(
        self,
        b: &mut B,
        (space, rows): (Space, Value),
        body: impl FnOnce(&mut B, StoredColumns),
    ) {
        let none = StoredColumns { singles: None, doubles: None, row: None, stride: Stride::Value(rows) };
        let doubles = |b: &mut B, columns: StoredColumns| {
            with_buffer(b, (space, "stored_doubles", Scalar::F64), (rows, self.doubles), |b, doubles| {
                body(b, StoredColumns { doubles, ..columns });
            });
        };
        with_buffer(b, (space, "stored_singles", Scalar::F32), (rows, self.singles), |b, singles| {
            doubles(b, StoredColumns { singles, ..none });
        });
    }
}

impl StoredColumns {
    /// The stored columns, with number `row` as the first row.
    #[must_use]
    pub fn from_row(self, row: Value) -> StoredColumns {
        StoredColumns { row: Some(row), ..self }
    }

    /// The buffer of the stored columns of a type.
    pub(super) fn buffer(&self, element: Scalar) -> BufferId {
        let buffer = if element == Scalar::F32 { self.singles } else { self.doubles };
        // Code reads and stores only types that some stored column has.
        buffer.unwrap_or(BufferId(0))
    }

    /// Values of the columns at some places: in lane `i`, the value of row `i` in the column at place
    /// `places[i]`. Lanes are rows of a block, whose elements have 32-bit indices.
    pub(super) fn of_rows(&self, b: &mut Builder, element: Scalar, places: Value) -> Value {
        let ty = b.ty(places);
        let stride = self.stride_of(b, ty);
        let (base, lane) = (self.row.unwrap_or_else(|| b.int(0)), b.iota(ty));
        let index = b.mul(places, stride);
        let index = b.add(index, lane);
        let (buffer, stride) = (self.buffer(element), element.bytes());
        b.gather(element, Gather { buffer, base, index, stride, offset: 0, mask: None })
    }

    /// The distance of columns in all lanes of a vector of 32-bit integers.
    fn stride_of(&self, b: &mut Builder, ty: Ty) -> Value {
        match self.stride {
            Stride::Constant(stride) => b.int_of(ty, stride),
            Stride::Value(stride) => {
                let stride = b.cast(Cast::Trunc, stride, Ty::of(Scalar::I32));
                b.splat(stride, ty.lanes)
            }
        }
    }

    /// Values of one row, the row `further` rows after the first: in lane `i`, that of the column at place
    /// `places[i]`.
    pub(super) fn of_row(&self, b: &mut Builder, element: Scalar, (places, further): (Value, i64)) -> Value {
        let ty = b.ty(places);
        let stride = self.stride_of(b, ty);
        let row = self.row.unwrap_or_else(|| b.int(0));
        let (base, index) = (b.add_int(row, further), b.mul(places, stride));
        let (buffer, stride) = (self.buffer(element), element.bytes());
        b.gather(element, Gather { buffer, base, index, stride, offset: 0, mask: None })
    }

    /// Loads the values of one row in consecutive columns: `lanes` of them from `place` on, for the row
    /// `further` rows after the first. `keep` says whether other code may have stored them meanwhile.
    pub(super) fn load_columns(
        &self,
        b: &mut Builder,
        (element, keep): (Scalar, Keep),
        (place, further): (Value, i64),
        lanes: u16,
    ) -> Value {
        let index = self.index(b, place);
        let address = b.address_after(Address::element(self.buffer(element), index, element), further);
        match self.stride {
            Stride::Constant(1) => b.load_with_reuse(keep, Ty::vector(element, lanes), address),
            _ => {
                let base = b.add_int(index, further);
                let index_type = b.number_type(lanes);
                let (lane, stride) = (b.iota(index_type), self.stride_of(b, index_type));
                let index = b.mul(lane, stride);
                let (buffer, stride) = (self.buffer(element), element.bytes());
                b.gather(element, Gather { buffer, base, index, stride, offset: 0, mask: None })
            }
        }
    }

    /// Stores the sums of one row in consecutive columns from `place` on, for the row `further` rows after
    /// the first.
    pub(super) fn store_columns(
        &self,
        b: &mut Builder,
        element: Scalar,
        (place, further): (Value, i64),
        sums: Value,
    ) {
        let lanes = b.ty(sums).lanes;
        if matches!(self.stride, Stride::Constant(1)) {
            let index = self.index(b, place);
            let address = b.address_after(Address::element(self.buffer(element), index, element), further);
            return b.store(address, sums);
        }
        for lane in 0..lanes {
            let place = b.add_int(place, lane.into());
            let index = self.index(b, place);
            let address = b.address_after(Address::element(self.buffer(element), index, element), further);
            let sum = b.extract(sums, lane);
            b.store(address, sum);
        }
    }

    /// Elements from a column to the next one.
    pub(super) fn distance(&self, b: &mut Builder) -> Value {
        match self.stride {
            Stride::Constant(stride) => b.int(stride),
            Stride::Value(stride) => stride,
        }
    }

    /// Index of the first row's element in the column at a place.
    pub(super) fn index(&self, b: &mut Builder, place: Value) -> Value {
        let index = match self.stride {
            Stride::Constant(stride) => b.mul_int(place, stride),
            Stride::Value(stride) => b.mul(place, stride),
        };
        match self.row {
            Some(row) => b.add(index, row),
            None => index,
        }
    }
}

/// Runs `body` with memory for some columns of `rows` rows, if there are some.
fn with_buffer<B: BuildStmts>(
    b: &mut B,
    (space, name, element): (Space, &str, Scalar),
    (rows, columns): (Value, i64),
    body: impl FnOnce(&mut B, Option<BufferId>),
) {
    if columns == 0 {
        return body(b, None);
    }
    let bytes = b.builder().mul_int(rows, columns * i64::from(element.bytes()));
    b.alloc_in(space, name, element, bytes, |b, buffer| body(b, Some(buffer)));
}
