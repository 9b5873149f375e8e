//! Structures of the C interface for a call. `codegen/llvm/runtime/api.h` documents the fields; a test of
//! `sched-llvm` compares the layout with that of the C compiler.

use crate::Kind;
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
    /// 32-bit integers: leaf indices.
    I32 = 2,
}

impl Dtype {
    /// The type with this number; [`Dtype::F32`] for numbers that no type has.
    pub fn of(number: i32) -> Dtype {
        [Dtype::F64, Dtype::I32].into_iter().find(|dtype| *dtype as i32 == number).unwrap_or(Dtype::F32)
    }
}

/// [`Call::size`] of this build. An older library knows a shorter structure; it takes a longer one whose
/// further fields are zero.
const CALL_SIZE: u32 = size_of::<Call>() as u32;

/// One prediction call, `schedc_call` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Bytes of this structure.
    pub size: u32,
    /// A [`Kind`].
    pub kind: i32,
    /// The rows; may be null when there are none.
    pub rows: *const c_void,
    /// Number of rows.
    pub n_rows: i64,
    /// Packed output; may be null when there are no rows.
    pub out: *mut c_void,
    /// A [`Dtype`].
    pub dtype: i32,
    /// At most this many threads; 0: `SCHEDC_NUM_THREADS`, else the usable cores.
    pub threads: i32,
    /// Elements from one row to the next; 0: packed.
    pub row_stride: i64,
    /// Memory that the call may use instead of allocating; null: none.
    pub scratch: *mut c_void,
    /// Bytes of `scratch`.
    pub scratch_size: i64,
    /// Memory of `rows` and `out`: 0 for the host, 1 for a device.
    pub memory: i32,
    /// The number of the device, for models that are compiled for one.
    pub device: i32,
    /// The stream that a call in device memory is put into, without waiting for it.
    pub stream: *mut c_void,
    /// Values that are equal to it are missing, too; null: as the model says.
    pub missing: *const f64,
    /// Margins that sums begin with, packed, of the type of raw output; null: the model's own base values.
    pub base_margin: *const c_void,
    /// The rows column by column, one for each feature; null: they are `rows`.
    pub columns: *const RawColumn,
}

impl Call {
    /// A call on packed rows with default threads and no scratch.
    pub fn new(kind: Kind, dtype: Dtype, rows: *const c_void, n_rows: i64, out: *mut c_void) -> Call {
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

/// The type of a column's values. The numbers are those of the C interface.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
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
    /// 8-bit integers without a sign.
    U8 = 6,
    /// 16-bit integers without a sign.
    U16 = 7,
    /// 32-bit integers without a sign.
    U32 = 8,
    /// 64-bit integers without a sign.
    U64 = 9,
    /// Truth values of a byte.
    Bool = 10,
    /// Truth values of a bit.
    Bit = 11,
}

/// The values of one feature, `schedc_column` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RawColumn {
    /// At any address; null: the feature is missing in all rows.
    pub values: *const c_void,
    /// A bit for each row, the least significant first: 1 where there is a value; null: everywhere.
    pub validity: *const u8,
    /// The first bit of it.
    pub validity_offset: i64,
    /// Bytes from one value to the next; 0: packed.
    pub stride: i64,
    /// The number that each value stands for, where values are places in it; null: values are numbers.
    pub dictionary: *const f64,
    /// Entries of it. A value that is not below is missing.
    pub dictionary_size: i64,
    /// A [`ColumnType`].
    pub kind: i32,
    /// Of bits: the first one in `values`.
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
        kind: ColumnType::F32 as i32,
        values_offset: 0,
    };

    /// Values of a type, `stride` bytes from each other; 0: packed.
    pub fn of(values: *const c_void, kind: ColumnType, stride: i64) -> RawColumn {
        RawColumn { values, stride, kind: kind as i32, ..RawColumn::ABSENT }
    }
}
