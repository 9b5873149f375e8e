//! Calls on columns instead of rows.

use super::{FEATURES, KINDS, expected, model};
use sched_llvm::column::{RawColumn, RawColumnType};
use sched_llvm::runtime::{self, Call, CallStatus, Dtype, ModelDescriptor, OutputKind};
use std::ptr;

const TYPES: [RawColumnType; 12] = [
    RawColumnType::F32,
    RawColumnType::F64,
    RawColumnType::I32,
    RawColumnType::I8,
    RawColumnType::I16,
    RawColumnType::I64,
    RawColumnType::U8,
    RawColumnType::U16,
    RawColumnType::U32,
    RawColumnType::U64,
    RawColumnType::Bool,
    RawColumnType::Bit,
];

fn is_whole(kind: RawColumnType) -> bool {
    !matches!(kind, RawColumnType::F32 | RawColumnType::F64 | RawColumnType::Bool | RawColumnType::Bit)
}

/// A column that owns its memory.
struct OwnedColumn {
    bytes: Vec<u8>,
    validity: Vec<u8>,
    dictionary: Vec<f64>,
    raw: RawColumn,
}

impl OwnedColumn {
    fn column(&self) -> RawColumn {
        let or_null = |is: bool, at: *const u8| if is { at } else { ptr::null() };
        let backwards =
            if self.raw.stride < 0 { self.bytes.len() as isize + self.raw.stride as isize } else { 0 };
        RawColumn {
            // One byte after the start, so that no value is aligned.
            values: if self.bytes.is_empty() {
                ptr::null()
            } else {
                unsafe { self.bytes.as_ptr().offset(if self.raw.stride < 0 { backwards } else { 1 }).cast() }
            },
            validity: or_null(!self.validity.is_empty(), self.validity.as_ptr()),
            dictionary: if self.dictionary.is_empty() { ptr::null() } else { self.dictionary.as_ptr() },
            ..self.raw
        }
    }
}

/// Options with which a test makes a column.
#[derive(Clone, Copy, Debug)]
struct ColumnOptions {
    kind: RawColumnType,
    validity: bool,
    dictionary: bool,
    absent: bool,
    /// Bytes between values.
    gap: usize,
    backwards: bool,
}

impl ColumnOptions {
    fn plain(kind: RawColumnType) -> ColumnOptions {
        ColumnOptions { kind, validity: false, dictionary: false, absent: false, gap: 0, backwards: false }
    }
}

fn write(kind: RawColumnType, x: f64) -> Vec<u8> {
    match kind {
        RawColumnType::F32 => (x as f32).to_ne_bytes().to_vec(),
        RawColumnType::F64 => x.to_ne_bytes().to_vec(),
        RawColumnType::I32 => (x as i32).to_ne_bytes().to_vec(),
        RawColumnType::I8 => (x as i8).to_ne_bytes().to_vec(),
        RawColumnType::I16 => (x as i16).to_ne_bytes().to_vec(),
        RawColumnType::I64 => (x as i64).to_ne_bytes().to_vec(),
        RawColumnType::U8 => (x as u8).to_ne_bytes().to_vec(),
        RawColumnType::U16 => (x as u16).to_ne_bytes().to_vec(),
        RawColumnType::U32 => (x as u32).to_ne_bytes().to_vec(),
        RawColumnType::U64 => (x as u64).to_ne_bytes().to_vec(),
        // Any byte but zero is true.
        RawColumnType::Bool => vec![if x == 0.0 { 0 } else { 0x82 }],
        RawColumnType::Bit => unreachable!("bits are packed"),
    }
}

fn pack(bits: impl Iterator<Item = bool>, offset: usize) -> Vec<u8> {
    let mut packed = Vec::new();
    for (i, bit) in std::iter::repeat_n(true, offset).chain(bits).enumerate() {
        if i % 8 == 0 {
            packed.push(0);
        }
        packed[i / 8] |= u8::from(bit) << (i % 8);
    }
    packed
}

/// Makes a column of `n` rows; also returns its values.
fn column(made: ColumnOptions, n: usize, seed: usize) -> (OwnedColumn, Vec<f64>) {
    let noise = |i: usize| (i * 7919 + seed * 104_729) % 1009;
    let dictionary: Vec<f64> = (0..5).map(|i| f64::from(i) * 3.0 - 4.0).collect();
    let signed = |i: usize, kind| match kind {
        RawColumnType::Bool | RawColumnType::Bit => (noise(i) % 2) as f64,
        RawColumnType::U8 | RawColumnType::U16 | RawColumnType::U32 | RawColumnType::U64 => {
            (noise(i) % 200) as f64
        }
        RawColumnType::F32 | RawColumnType::F64 if noise(i) % 9 == 0 => f64::NAN,
        _ => (noise(i) % 200) as f64 - 100.0,
    };
    // Some indices are beyond the dictionary, and some of signed types are negative.
    let place = |i: usize, kind| match kind {
        RawColumnType::U8 | RawColumnType::U16 | RawColumnType::U32 | RawColumnType::U64 => {
            (noise(i) % 7) as f64
        }
        _ => (noise(i) % 8) as f64 - 1.0,
    };
    let given: Vec<f64> =
        (0..n).map(|i| if made.dictionary { place(i, made.kind) } else { signed(i, made.kind) }).collect();
    let there = |i: usize| !made.validity || noise(i + 3) % 4 != 0;
    let means = |x: f64| match made.dictionary {
        true if x >= 0.0 => dictionary.get(x as usize).copied().unwrap_or(f64::NAN),
        true => f64::NAN,
        false => x,
    };
    let numbers = given
        .iter()
        .enumerate()
        .map(|(i, x)| if made.absent || !there(i) { f64::NAN } else { means(*x) })
        .collect();

    let mut raw = RawColumn { kind: made.kind as i32, ..RawColumn::ABSENT };
    let mut bytes = Vec::new();
    if made.kind == RawColumnType::Bit {
        // The byte that `column` skips, and some bits.
        raw.values_offset = 11;
        bytes = vec![0xff];
        bytes.extend(pack(given.iter().map(|x| *x != 0.0), 11));
    } else {
        let mut values: Vec<Vec<u8>> = given.iter().map(|x| write(made.kind, *x)).collect();
        let size = write(made.kind, 0.0).len();
        values.iter_mut().for_each(|value| value.resize(size + made.gap, 0xaa));
        raw.stride = if made.gap > 0 || made.backwards { (size + made.gap) as i64 } else { 0 };
        bytes.push(0x55);
        if made.backwards {
            raw.stride = -raw.stride;
            values.reverse();
        }
        bytes.extend(values.concat());
    }
    if made.absent {
        bytes.clear();
    }
    let validity = if made.validity {
        raw.validity_offset = 5;
        pack((0..n).map(there), 5)
    } else {
        Vec::new()
    };
    let dictionary = if made.dictionary { dictionary } else { Vec::new() };
    raw.dictionary_size = dictionary.len() as i64;
    (OwnedColumn { bytes, validity, dictionary, raw }, numbers)
}

/// Options with which a test calls a model.
#[derive(Clone, Copy, Debug)]
struct CallOptions {
    kind: OutputKind,
    threads: i32,
    scratch: usize,
    missing: Option<f64>,
}

/// Calls a model on columns and compares every number of the output.
fn check(model: &ModelDescriptor, made: [ColumnOptions; FEATURES], n: usize, how: CallOptions) {
    let (held, numbers): (Vec<OwnedColumn>, Vec<Vec<f64>>) =
        made.into_iter().enumerate().map(|(i, made)| column(made, n, i + n)).unzip();
    let raw: Vec<RawColumn> = held.iter().map(OwnedColumn::column).collect();
    let outputs = runtime::num_outputs(model, how.kind) as usize;
    let element = runtime::output_type(model, how.kind);
    let mut out = vec![0u64; n * outputs + 1];
    let mut scratch = vec![0u8; how.scratch];
    let mut call = Call::new(how.kind, Dtype::F32, ptr::null(), n as i64, out.as_mut_ptr().cast());
    call.columns = raw.as_ptr();
    call.threads = how.threads;
    call.scratch = scratch.as_mut_ptr().cast();
    call.scratch_size = how.scratch as i64;
    call.missing = how.missing.as_ref().map_or(ptr::null(), ptr::from_ref);
    assert_eq!(unsafe { runtime::call(model, &call) }, Ok(()), "{made:?} {how:?}");
    for row in 0..n {
        let known = |x: f64| if Some(x) == how.missing { f64::NAN } else { x };
        let values: Vec<f64> = numbers.iter().map(|column| known(column[row])).collect();
        for (column, want) in expected(model, how.kind, &values).into_iter().enumerate() {
            let place = row * outputs + column;
            // SAFETY: the output has `size` elements of this type.
            let got = unsafe {
                match element {
                    Dtype::F32 => f64::from(*out.as_ptr().cast::<f32>().add(place)),
                    Dtype::F64 => *out.as_ptr().cast::<f64>().add(place),
                    Dtype::I32 => f64::from(*out.as_ptr().cast::<i32>().add(place)),
                }
            };
            assert_eq!(got, want, "{made:?} {how:?} {n} rows: row {row}, {values:?}");
        }
    }
}

fn plain(kind: OutputKind) -> CallOptions {
    CallOptions { kind, threads: 1, scratch: 0, missing: None }
}

/// Options for columns of each type, several for each.
fn ways() -> Vec<ColumnOptions> {
    let mut all = Vec::new();
    for kind in TYPES {
        let of = ColumnOptions::plain(kind);
        all.extend([of, ColumnOptions { validity: true, ..of }, ColumnOptions { absent: true, ..of }]);
        if kind != RawColumnType::Bit {
            all.extend([
                ColumnOptions { gap: 3, validity: true, ..of },
                ColumnOptions { backwards: true, ..of },
            ]);
            all.push(ColumnOptions { backwards: true, gap: 5, ..of });
        }
        if is_whole(kind) {
            all.extend([
                ColumnOptions { dictionary: true, ..of },
                ColumnOptions { dictionary: true, validity: true, gap: 1, ..of },
            ]);
        }
    }
    all
}

#[test]
fn columns_of_every_type() {
    let models = [model::<f32, f32, f32>(), model::<f64, f64, f64>(), model::<f32, f64, f32>()];
    let ways = ways();
    for (i, first) in ways.iter().enumerate() {
        let others = [ways[(i * 5 + 1) % ways.len()], ways[(i * 11 + 2) % ways.len()]];
        for model in &models {
            for (kind, n) in KINDS.into_iter().zip([1, 16, 100, 33]) {
                check(model, [*first, others[0], others[1]], n, plain(kind));
            }
            check(model, [others[1], *first, *first], 0, plain(OutputKind::Value));
        }
    }
}

#[test]
fn columns_in_runs_and_scratch_and_threads() {
    let ways = ways();
    for (i, model) in [model::<f32, f32, f32>(), model::<f64, f64, f32>()].into_iter().enumerate() {
        for (j, rows_per_run) in [1, 13, 64, i64::MAX].into_iter().enumerate() {
            for (k, scratch) in [0, 200, 1 << 15, 1 << 20].into_iter().enumerate() {
                let made = [0, 1, 2].map(|n| ways[(i * 3 + j * 17 + k * 7 + n * 29) % ways.len()]);
                let how = CallOptions { threads: [1, 4][k % 2], scratch, ..plain(KINDS[(i + j + k) % 4]) };
                let model = ModelDescriptor { rows_per_run, ..model };
                for n in [1, 70, 3000] {
                    check(&model, made, n, how);
                }
            }
        }
    }
    let model = model::<f32, f32, f32>();
    let made = [RawColumnType::F32, RawColumnType::F64, RawColumnType::U8].map(ColumnOptions::plain);
    check(&model, made, 30_000, CallOptions { threads: 4, ..plain(OutputKind::Value) });
}

#[test]
fn a_number_that_means_missing_is_missing_in_columns() {
    for model in [model::<f32, f32, f32>(), model::<f64, f64, f32>()] {
        for kind in TYPES {
            let how = CallOptions { missing: Some(1.0), ..plain(OutputKind::Raw) };
            let other = ColumnOptions { dictionary: true, ..ColumnOptions::plain(RawColumnType::U16) };
            check(
                &model,
                [
                    ColumnOptions::plain(kind),
                    ColumnOptions { validity: true, ..ColumnOptions::plain(kind) },
                    other,
                ],
                100,
                how,
            );
        }
    }
}

/// Returns the second margin of a row whose first feature is `number`, and whose other features are missing.
fn second_margin<T>(model: &ModelDescriptor, kind: RawColumnType, number: T) -> Result<f64, CallStatus> {
    let raw = RawColumn { values: ptr::from_ref(&number).cast(), kind: kind as i32, ..RawColumn::ABSENT };
    let columns = [raw, RawColumn::ABSENT, RawColumn::ABSENT];
    let mut out = [0f64; 2];
    let mut call = Call::new(OutputKind::Raw, Dtype::F32, ptr::null(), 1, out.as_mut_ptr().cast());
    call.columns = columns.as_ptr();
    unsafe { runtime::call(model, &call) }.map(|()| out[1])
}

#[test]
fn whole_numbers_are_rounded_once() {
    let (floats, doubles) = (model::<f32, f64, f64>(), model::<f64, f64, f64>());
    // Converted through a double, this number is halfway between two floats, and would be rounded down.
    let number: i64 = (1 << 60) + (1 << 36) + 1;
    assert_ne!(f64::from(number as f32), f64::from(number as f64 as f32));
    assert_eq!(second_margin(&floats, RawColumnType::I64, number), Ok(f64::from(number as f32)));
    assert_eq!(second_margin(&doubles, RawColumnType::I64, number), Ok(number as f64));
    assert_eq!(second_margin(&floats, RawColumnType::U64, u64::MAX), Ok(f64::from(u64::MAX as f32)));
    assert_eq!(second_margin(&floats, RawColumnType::I32, 16_777_217), Ok(16_777_216.0));
    assert_eq!(second_margin(&floats, RawColumnType::F64, 16_777_217.0f64), Ok(16_777_216.0));
}

/// Columns of types with values that 32-bit floats do not represent need code for doubles, and are refused if
/// there is none.
#[test]
fn columns_choose_the_type_of_rows() {
    let own_row_type = Dtype::F64 as i64;
    let narrow = ModelDescriptor { own_row_type, ..model::<f32, f64, f64>() };
    let both = ModelDescriptor { other_rows: &raw const narrow, ..model::<f64, f64, f64>() };
    let is_wide = |kind| {
        matches!(
            kind,
            RawColumnType::F64
                | RawColumnType::I32
                | RawColumnType::I64
                | RawColumnType::U32
                | RawColumnType::U64
        )
    };
    for kind in TYPES {
        let zeros = 0u64;
        let got = second_margin(&narrow, kind, zeros).map_err(CallStatus::code);
        assert_eq!(got, if is_wide(kind) { Err(CallStatus::ROWS) } else { Ok(0.0) }, "{kind:?}");
        assert_eq!(second_margin(&both, kind, zeros), Ok(0.0));
    }
    assert_eq!(second_margin(&both, RawColumnType::F64, 0.1f64), Ok(0.1));
    assert_eq!(second_margin(&both, RawColumnType::F32, 0.1f32), Ok(f64::from(0.1f32)));
    // With a dictionary, its numbers decide.
    for (number, want) in [(0.5, Ok(0.5)), (f64::NAN, Ok(0.0)), (0.1, Err(CallStatus::ROWS))] {
        let (place, dictionary) = (0i64, [number]);
        let raw = RawColumn {
            values: ptr::from_ref(&place).cast(),
            kind: RawColumnType::I64 as i32,
            dictionary: dictionary.as_ptr(),
            dictionary_size: 1,
            ..RawColumn::ABSENT
        };
        let columns = [raw, RawColumn::ABSENT, RawColumn::ABSENT];
        let mut out = [0f64; 2];
        let mut call = Call::new(OutputKind::Raw, Dtype::F32, ptr::null(), 1, out.as_mut_ptr().cast());
        call.columns = columns.as_ptr();
        let got = unsafe { runtime::call(&narrow, &call) }.map(|()| out[1]).map_err(CallStatus::code);
        assert_eq!(got, want);
    }
}

#[test]
fn wrong_columns_are_refused() {
    type Change = fn(&mut Call, &mut RawColumn);
    const DICTIONARY: [f64; 2] = [1.0, 2.0];
    let wrong: [(Change, i32); 25] = [
        (|_, _| (), 0),
        (|c, _| c.rows = c.columns.cast(), CallStatus::ARGUMENT),
        (|c, _| c.dtype = 1, CallStatus::ARGUMENT),
        (|c, _| c.row_stride = 3, CallStatus::ARGUMENT),
        (|c, _| c.out = ptr::null_mut(), CallStatus::ARGUMENT),
        (|c, _| c.out = c.out.wrapping_byte_add(1), CallStatus::ARGUMENT),
        (|c, _| c.n_rows = -1, CallStatus::ARGUMENT),
        (|c, _| c.n_rows = i64::MAX / 2, CallStatus::ARGUMENT),
        (|c, _| c.memory = 1, CallStatus::UNSUPPORTED),
        (|c, _| c.memory = 2, CallStatus::ARGUMENT),
        (|_, k| k.kind = 12, CallStatus::ARGUMENT),
        (|_, k| k.kind = -1, CallStatus::ARGUMENT),
        (|_, k| (k.kind, k.values) = (12, ptr::null()), 0),
        (|_, k| k.stride = 3, CallStatus::ARGUMENT),
        (|_, k| k.stride = -3, CallStatus::ARGUMENT),
        (|_, k| k.stride = i64::MAX / 2 + 1, CallStatus::ARGUMENT),
        (|_, k| k.stride = i64::MIN, CallStatus::ARGUMENT),
        (|_, k| k.values_offset = 1, CallStatus::ARGUMENT),
        (|_, k| (k.kind, k.values_offset) = (RawColumnType::Bit as i32, -1), CallStatus::ARGUMENT),
        (|_, k| (k.validity, k.validity_offset) = (k.values.cast(), -1), CallStatus::ARGUMENT),
        (|_, k| (k.validity, k.validity_offset) = (k.values.cast(), i64::MAX), CallStatus::ARGUMENT),
        (|_, k| k.dictionary_size = 1, CallStatus::ARGUMENT),
        (|_, k| (k.dictionary, k.dictionary_size) = (DICTIONARY.as_ptr(), 2), CallStatus::ARGUMENT),
        (
            |_, k| (k.kind, k.dictionary, k.dictionary_size) = (3, DICTIONARY.as_ptr(), -1),
            CallStatus::ARGUMENT,
        ),
        (|_, k| (k.kind, k.dictionary, k.dictionary_size) = (3, DICTIONARY.as_ptr(), 2), 0),
    ];
    let model = model::<f32, f32, f32>();
    let values = [1f32; 4];
    for (i, (change, want)) in wrong.into_iter().enumerate() {
        let mut columns = [RawColumn { values: values.as_ptr().cast(), ..RawColumn::ABSENT }; FEATURES];
        let mut out = [0f32; 4];
        let mut call = Call::new(OutputKind::Value, Dtype::F32, ptr::null(), 2, out.as_mut_ptr().cast());
        let mut last = columns[2];
        call.columns = columns.as_ptr();
        change(&mut call, &mut last);
        columns[2] = last;
        call.columns = columns.as_ptr();
        let got = unsafe { runtime::call(&model, &call) }.map_or_else(CallStatus::code, |()| 0);
        assert_eq!(got, want, "call {i}");
    }
}
