//! Calls on rows in slices, whose lengths are checked.

use crate::column::{Column, RawColumn};
use crate::runtime::{Call, Dtype, OutputKind};
use std::ptr;

/// Rows of a call.
#[derive(Clone, Copy, Debug)]
pub enum PackedRows<'a> {
    /// Rows of 32-bit floats, one after the other.
    F32(&'a [f32]),
    /// Rows of 64-bit floats, one after the other.
    F64(&'a [f64]),
    /// A column for each feature.
    Columns(&'a [Column<'a>]),
}

impl PackedRows<'_> {
    /// Whether values have a type whose numbers 32-bit floats do not all represent exactly.
    pub fn need_doubles(&self) -> bool {
        match self {
            PackedRows::F32(_) => false,
            PackedRows::F64(_) => true,
            PackedRows::Columns(columns) => columns.iter().any(Column::needs_doubles),
        }
    }
}

/// The results of a call, packed.
#[derive(Debug)]
pub enum PackedResults<'a> {
    /// Output of [`OutputKind::Class`], and of all kinds except [`OutputKind::Leaf`] if the model's type is
    /// 32-bit floats.
    F32(&'a mut [f32]),
    /// Output of all kinds except [`OutputKind::Class`] and [`OutputKind::Leaf`], if the model's type is
    /// 64-bit floats.
    F64(&'a mut [f64]),
    /// Output of [`OutputKind::Leaf`].
    I32(&'a mut [i32]),
}

/// Options of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct PredictOptions<'a> {
    /// Largest number of threads; 0 leaves the number to the runtime.
    pub threads: i32,
    /// Values from the start of one row to the next; 0 if rows are packed.
    pub stride: usize,
    /// Initial values of the sums, packed: one for each margin of each row, of the type of raw output.
    pub base_margin: Option<PackedRows<'a>>,
}

/// Compiled code that predicts: in memory ([`Jit`](crate::Jit)) or in a library
/// ([`Library`](crate::Library)).
pub trait CompiledCode {
    /// The reason for which a call fails.
    type Error;

    /// Returns the number of features of a row.
    fn num_features(&self) -> usize;

    /// Returns the number of values per row of an output; 0 if the model has no output of this kind.
    fn num_outputs(&self, kind: OutputKind) -> usize;

    /// Returns the type of an output's elements.
    fn output_type(&self, kind: OutputKind) -> Dtype;

    /// Whether a GPU computes the results. Always false for libraries, which do not report it.
    fn is_for_gpu(&self) -> bool {
        false
    }

    /// Makes a call.
    ///
    /// # Errors
    /// When the entry point refuses the call, or cannot finish it.
    ///
    /// # Safety
    /// The pointers of the call point to memory as `codegen/llvm/runtime/api.h` describes it.
    unsafe fn call(&self, call: &Call) -> Result<(), Self::Error>;

    /// Predicts `n_rows` packed rows with at most `threads` threads; 0 leaves the number to the runtime.
    ///
    /// # Errors
    /// When a slice is too short for the number of rows, an output has the wrong type, or the call fails.
    fn predict(
        &self,
        kind: OutputKind,
        rows: PackedRows<'_>,
        n_rows: usize,
        output: PackedResults<'_>,
        threads: i32,
    ) -> Result<(), Self::Error> {
        self.predict_with(kind, rows, n_rows, output, PredictOptions { threads, ..PredictOptions::default() })
    }

    /// Predicts `n_rows` rows with all options of a call. Libraries of early releases refuse options that
    /// they do not know.
    ///
    /// # Errors
    /// As for [`CompiledCode::predict`].
    fn predict_with(
        &self,
        kind: OutputKind,
        rows: PackedRows<'_>,
        n_rows: usize,
        output: PackedResults<'_>,
        extras: PredictOptions<'_>,
    ) -> Result<(), Self::Error> {
        let widths = Widths {
            features: self.num_features(),
            outputs: self.num_outputs(kind),
            element: self.output_type(kind),
            margins: self.num_outputs(OutputKind::Raw),
        };
        let columns = raw_columns(rows, widths.features, n_rows);
        let call = packed_call(widths, kind, (rows, columns.as_deref()), n_rows, output, extras);
        // SAFETY: the slices were checked to be long enough, and a mutable one overlaps no other.
        unsafe { self.call(&call) }
    }
}

/// Columns of a call's rows, and columns and element type of its output.
#[derive(Clone, Copy, Debug)]
struct Widths {
    /// Features of a row.
    features: usize,
    /// Values per row of the output.
    outputs: usize,
    /// Type of the output's elements.
    element: Dtype,
    /// Values per row of raw output.
    margins: usize,
}

/// Returns the columns in the form of the C interface; none if there are too few columns, or too few values
/// in a column.
fn raw_columns(rows: PackedRows<'_>, features: usize, n_rows: usize) -> Option<Vec<RawColumn>> {
    match rows {
        PackedRows::Columns(columns) if columns.len() >= features => {
            columns.iter().map(|column| column.raw(n_rows)).collect()
        }
        _ => None,
    }
}

/// Returns the call on `n_rows` rows, whose columns come from [`raw_columns`]. Slices that are too short, or
/// an output of the wrong type, make a call that every entry point refuses with the right status.
fn packed_call(
    widths: Widths,
    kind: OutputKind,
    (rows, columns): (PackedRows<'_>, Option<&[RawColumn]>),
    n_rows: usize,
    output: PackedResults<'_>,
    extras: PredictOptions<'_>,
) -> Call {
    let (data, dtype, available) = match rows {
        PackedRows::F32(rows) => (rows.as_ptr().cast(), Dtype::F32, rows.len()),
        PackedRows::F64(rows) => (rows.as_ptr().cast(), Dtype::F64, rows.len()),
        PackedRows::Columns(_) => (ptr::null(), Dtype::F32, if columns.is_some() { usize::MAX } else { 0 }),
    };
    let (out, room, element) = match output {
        PackedResults::F32(out) => (out.as_mut_ptr().cast(), out.len(), Dtype::F32),
        PackedResults::F64(out) => (out.as_mut_ptr().cast(), out.len(), Dtype::F64),
        PackedResults::I32(out) => (out.as_mut_ptr().cast(), out.len(), Dtype::I32),
    };
    let stride = extras.stride;
    let row_elements = if stride == 0 { widths.features } else { stride };
    let values = match n_rows {
        0 => Some(0),
        _ => row_elements.checked_mul(n_rows - 1).and_then(|before| before.checked_add(widths.features)),
    };
    let has_rows = columns.is_some() || !matches!(rows, PackedRows::Columns(_));
    let fits = has_rows
        && values.is_some_and(|n| n <= available)
        && widths.outputs.checked_mul(n_rows).is_some_and(|n| n <= room);
    let (base_margin, base_fits): (*const std::ffi::c_void, _) = match extras.base_margin {
        None => (ptr::null(), true),
        Some(PackedRows::F32(base)) => {
            (base.as_ptr().cast(), widths.base_fits(n_rows, base.len(), Dtype::F32))
        }
        Some(PackedRows::F64(base)) => {
            (base.as_ptr().cast(), widths.base_fits(n_rows, base.len(), Dtype::F64))
        }
        Some(PackedRows::Columns(_)) => (ptr::null(), false),
    };
    let is_valid = fits && base_fits && element == widths.element;
    // Entry points refuse a negative number of rows.
    let n_rows = if is_valid { i64::try_from(n_rows).unwrap_or(-1) } else { -1 };
    Call {
        threads: extras.threads,
        row_stride: i64::try_from(stride).unwrap_or(-1),
        base_margin,
        columns: columns.map_or(ptr::null(), <[RawColumn]>::as_ptr),
        ..Call::new(kind, dtype, data, n_rows, out)
    }
}

impl Widths {
    /// Whether a base margin has the type of raw output and at least `n_rows * margins` elements. The type is
    /// compared with that of the call's output. This is also right for classes, which are 32-bit floats,
    /// since raw output has that type in all models that accept a base margin.
    fn base_fits(&self, n_rows: usize, available: usize, dtype: Dtype) -> bool {
        dtype == self.element && self.margins.checked_mul(n_rows).is_some_and(|n| n <= available)
    }
}
