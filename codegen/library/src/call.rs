//! A call of the C interface. `codegen/llvm/runtime/api.h` documents the fields; a test of that crate
//! compares the layout with the C compiler's.

use crate::OutputKind;
use std::ffi::c_void;
use std::ptr;

/// Element type of rows, margins and results.
#[repr(i32)]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// 32-bit floats.
    #[default]
    F32 = 0,
    /// 64-bit floats.
    F64 = 1,
    /// 32-bit integers, for leaf indices.
    I32 = 2,
}

impl Dtype {
    /// Returns the type with this number; [`Dtype::F32`] if there is none.
    pub fn of(number: i32) -> Dtype {
        [Dtype::F64, Dtype::I32].into_iter().find(|dtype| *dtype as i32 == number).unwrap_or(Dtype::F32)
    }
}

/// [`Call::size`] of this build. Older libraries know a shorter structure. They accept a longer one if all
/// bytes that they do not know are zero.
const CALL_SIZE: u32 = size_of::<Call>() as u32;

/// One prediction call, `schedc_call` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Bytes of this structure.
    pub size: u32,
    /// A [`OutputKind`].
    pub kind: i32,
    /// Rows; may be null if there are none.
    pub rows: *const c_void,
    /// Number of rows.
    pub n_rows: i64,
    /// Packed output; may be null if there are no rows.
    pub out: *mut c_void,
    /// A [`Dtype`].
    pub dtype: i32,
    /// Largest number of threads; 0: `SCHEDC_NUM_THREADS`, else the usable cores.
    pub threads: i32,
    /// Elements from one row to the next; 0: packed.
    pub row_stride: i64,
    /// Memory that the call uses instead of allocating; null: none.
    pub scratch: *mut c_void,
    /// Bytes of `scratch`.
    pub scratch_size: i64,
    /// Memory of `rows` and `out`; 0: the host's, 1: a device's.
    pub memory: i32,
    /// Number of the device, for models with code for GPUs.
    pub device: i32,
    /// Stream of a call in device memory; the call does not wait for it.
    pub stream: *mut c_void,
    /// A value that counts as missing, in addition to NaN; null: the model's own.
    pub missing: *const f64,
    /// Initial values of the margins, packed, of the type of raw output; null: the model's own base values.
    pub base_margin: *const c_void,
    /// The values of each feature in all rows, one column for each; null: rows are in `rows`.
    pub columns: *const RawColumn,
}

impl Call {
    /// Describes a call on packed rows with default threads and no scratch; makes no call.
    pub fn new(kind: OutputKind, dtype: Dtype, rows: *const c_void, n_rows: i64, out: *mut c_void) -> Call {
        Call {
            size: CALL_SIZE,
            kind: kind as i32,
            rows,
            n_rows,
            out,
            dtype: dtype as i32,
            threads: 0,
            row_stride: 0,
            scratch: ptr::null_mut(),
            scratch_size: 0,
            memory: 0,
            device: 0,
            stream: ptr::null_mut(),
            missing: ptr::null(),
            base_margin: ptr::null(),
            columns: ptr::null(),
        }
    }
}

/// Type of a column's values, with its number in the C interface.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawColumnType {
    /// 32-bit floats.
    F32 = 0,
    /// 64-bit floats.
    F64 = 1,
    /// 32-bit integers.
    I32 = 2,
    /// 8-bit integers.
    I8 = 3,
    /// 16-bit integers.
    I16 = 4,
    /// 64-bit integers.
    I64 = 5,
    /// Unsigned 8-bit integers.
    U8 = 6,
    /// Unsigned 16-bit integers.
    U16 = 7,
    /// Unsigned 32-bit integers.
    U32 = 8,
    /// Unsigned 64-bit integers.
    U64 = 9,
    /// Truth values of a byte each.
    Bool = 10,
    /// Truth values of a bit each.
    Bit = 11,
}

/// Values of one feature, `schedc_column` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RawColumn {
    /// Address of the values, with any alignment; null: the feature is missing in all rows.
    pub values: *const c_void,
    /// Bits of the rows that have a value, the least significant bit first; null: all rows have one.
    pub validity: *const u8,
    /// Index of row 0 in `validity`.
    pub validity_offset: i64,
    /// Bytes from one value to the next; 0: packed.
    pub stride: i64,
    /// Numbers to which the values are indices; null: the values are numbers.
    pub dictionary: *const f64,
    /// Length of `dictionary`. An index that is not below this length is a missing value.
    pub dictionary_size: i64,
    /// A [`RawColumnType`].
    pub kind: i32,
    /// For bits, index of row 0 in `values`.
    pub values_offset: i32,
}

impl RawColumn {
    /// A feature that is missing in all rows.
    pub const ABSENT: RawColumn = RawColumn {
        values: ptr::null(),
        validity: ptr::null(),
        validity_offset: 0,
        stride: 0,
        dictionary: ptr::null(),
        dictionary_size: 0,
        kind: RawColumnType::F32 as i32,
        values_offset: 0,
    };

    /// A column of values of a type, `stride` bytes from each other; 0: packed.
    pub fn of(values: *const c_void, kind: RawColumnType, stride: i64) -> RawColumn {
        RawColumn { values, stride, kind: kind as i32, ..RawColumn::ABSENT }
    }
}
