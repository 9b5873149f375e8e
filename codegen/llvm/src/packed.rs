//! Calls on rows that live in slices, checked to fit.

use crate::runtime::{Call, Dtype, Kind};

/// Rows of a call, one after the other.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// 64-bit floats.
    F64(&'a [f64]),
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

/// Columns of the rows of a call, and columns and element of its output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    pub features: usize,
    pub outputs: usize,
    pub element: Dtype,
}

/// The call on `n_rows` rows with at most `threads` threads. Rows begin `stride` values apart; 0: they are packed. Slices that are too short, or an output of the
/// wrong type, make a call that every entry point refuses with the right status.
pub(crate) fn packed_call(
    columns: Columns,
    kind: Kind,
    (rows, stride): (Rows<'_>, usize),
    n_rows: usize,
    output: Output<'_>,
    threads: i32,
) -> Call {
    let (data, dtype, have) = match rows {
        Rows::F32(rows) => (rows.as_ptr().cast(), Dtype::F32, rows.len()),
        Rows::F64(rows) => (rows.as_ptr().cast(), Dtype::F64, rows.len()),
    };
    let (out, room, element) = match output {
        Output::F32(out) => (out.as_mut_ptr().cast(), out.len(), Dtype::F32),
        Output::F64(out) => (out.as_mut_ptr().cast(), out.len(), Dtype::F64),
        Output::I32(out) => (out.as_mut_ptr().cast(), out.len(), Dtype::I32),
    };
    let apart = if stride == 0 { columns.features } else { stride };
    let values = match n_rows {
        0 => Some(0),
        _ => apart.checked_mul(n_rows - 1).and_then(|before| before.checked_add(columns.features)),
    };
    let enough =
        values.is_some_and(|n| n <= have) && columns.outputs.checked_mul(n_rows).is_some_and(|n| n <= room);
    // A count below zero is an argument that the entry points refuse.
    let n_rows = if enough && element == columns.element { i64::try_from(n_rows).unwrap_or(-1) } else { -1 };
    let row_stride = i64::try_from(stride).unwrap_or(-1);
    Call { threads, row_stride, ..Call::new(kind, dtype, data, n_rows, out) }
}
