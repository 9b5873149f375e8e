//! Calls on rows that live in slices, checked to fit.

use crate::column::{Column, RawColumn};
use crate::runtime::{Call, Dtype, Kind};
use std::ptr;

/// Rows of a call, one after the other.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// 64-bit floats.
    F64(&'a [f64]),
    /// One feature after the other.
    Columns(&'a [Column<'a>]),
}

impl Rows<'_> {
    /// Whether the type of some values holds more than 32-bit floats do.
    pub fn need_doubles(&self) -> bool {
        match self {
            Rows::F32(_) => false,
            Rows::F64(_) => true,
            Rows::Columns(columns) => columns.iter().any(Column::needs_doubles),
        }
    }
}

/// The output of a call, packed.
#[derive(Debug)]
pub enum Output<'a> {
    /// Of [`Kind::Class`], and of [`Kind::Value`] and [`Kind::Raw`] as the model's result type says.
    F32(&'a mut [f32]),
    /// Of [`Kind::Value`] and [`Kind::Raw`] as the model's result type says.
    F64(&'a mut [f64]),
    /// Of [`Kind::Leaf`].
    I32(&'a mut [i32]),
}

/// What a call can say beside rows and output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras<'a> {
    /// At most this many threads; 0 leaves the number to the runtime.
    pub threads: i32,
    /// Values from the start of one row to the next; 0: they are packed.
    pub stride: usize,
    /// What sums begin with, packed, one number for each margin of each row, of the type of raw output.
    pub base_margin: Option<Rows<'a>>,
}

/// Columns of the rows of a call, and columns and element of its output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    pub features: usize,
    pub outputs: usize,
    pub element: Dtype,
    pub margins: usize,
}

/// Columns as C has them, if there is one for each of so many features with a value for each row.
pub(crate) fn raw_columns(rows: Rows<'_>, features: usize, n_rows: usize) -> Option<Vec<RawColumn>> {
    match rows {
        Rows::Columns(columns) if columns.len() >= features => {
            columns.iter().map(|column| column.raw(n_rows)).collect()
        }
        _ => None,
    }
}

/// The call on `n_rows` rows, whose columns are those of [`raw_columns`]. Slices that are too short, or an output of the
/// wrong type, make a call that every entry point refuses with the right status.
pub(crate) fn packed_call(
    columns: Columns,
    kind: Kind,
    (rows, raw): (Rows<'_>, Option<&[RawColumn]>),
    n_rows: usize,
    output: Output<'_>,
    extras: Extras<'_>,
) -> Call {
    let (data, dtype, have) = match rows {
        Rows::F32(rows) => (rows.as_ptr().cast(), Dtype::F32, rows.len()),
        Rows::F64(rows) => (rows.as_ptr().cast(), Dtype::F64, rows.len()),
        Rows::Columns(_) => (ptr::null(), Dtype::F32, if raw.is_some() { usize::MAX } else { 0 }),
    };
    let (out, room, element) = match output {
        Output::F32(out) => (out.as_mut_ptr().cast(), out.len(), Dtype::F32),
        Output::F64(out) => (out.as_mut_ptr().cast(), out.len(), Dtype::F64),
        Output::I32(out) => (out.as_mut_ptr().cast(), out.len(), Dtype::I32),
    };
    let stride = extras.stride;
    let apart = if stride == 0 { columns.features } else { stride };
    let values = match n_rows {
        0 => Some(0),
        _ => apart.checked_mul(n_rows - 1).and_then(|before| before.checked_add(columns.features)),
    };
    let known = raw.is_some() || !matches!(rows, Rows::Columns(_));
    let enough = known
        && values.is_some_and(|n| n <= have)
        && columns.outputs.checked_mul(n_rows).is_some_and(|n| n <= room);
    let row_stride = i64::try_from(stride).unwrap_or(-1);
    let (base_margin, begun): (*const std::ffi::c_void, _) = match extras.base_margin {
        None => (ptr::null(), true),
        Some(Rows::F32(base)) => (base.as_ptr().cast(), columns.begins(n_rows, base.len(), Dtype::F32)),
        Some(Rows::F64(base)) => (base.as_ptr().cast(), columns.begins(n_rows, base.len(), Dtype::F64)),
        Some(Rows::Columns(_)) => (ptr::null(), false),
    };
    // A count below zero is an argument that the entry points refuse.
    let n_rows =
        if enough && begun && element == columns.element { i64::try_from(n_rows).unwrap_or(-1) } else { -1 };
    let columns = raw.map_or(ptr::null(), <[RawColumn]>::as_ptr);
    Call {
        threads: extras.threads,
        row_stride,
        base_margin,
        columns,
        ..Call::new(kind, dtype, data, n_rows, out)
    }
}

impl Columns {
    /// Whether so many numbers of a type are what sums of so many rows can begin with. The output of a call that takes
    /// them may be classes, but results have the type of single precision then, as all models that take them have.
    fn begins(&self, n_rows: usize, have: usize, dtype: Dtype) -> bool {
        dtype == self.element && self.margins.checked_mul(n_rows).is_some_and(|n| n <= have)
    }
}
