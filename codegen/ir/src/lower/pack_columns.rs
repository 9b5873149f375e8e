//! The kernel of GPUs that packs input columns in device memory into rows, which the other kernels read.
//!
//! [`Space::InputOrder`] has words about each column, which the runtime computes (`runtime/pack.c`). The host
//! passes them to launches as numbers. A launch packs [`COLUMNS_AT_ONCE`] columns, with a thread for each
//! row.

use super::elements::launch_over;
use super::lowering::Lowering;
use crate::bytes::scalar;
use crate::lir::{
    Address, Bin, BufferId, BuildStmts, Builder, Cast, Cmp, Function, Scalar, Space, Ty, Value,
};
use std::array;

/// Columns of a launch. Their values of a row in single precision fill a sector of memory, and a few columns
/// need no more launches than one.
const COLUMNS_AT_ONCE: i64 = 8;

/// Words of a column in [`Space::InputOrder`].
const WORDS: usize = 9;

/// A column, as its words describe it. Places count from the start of [`Space::Input`].
#[derive(Clone, Copy)]
struct DescribedColumn {
    /// Place of the first row's value, in values of the size: in bytes for a size of 1, in bits for bits.
    first: Value,
    /// Distance of consecutive rows' values, in values of the size.
    step: Value,
    /// Bytes of a value; -1 for bits, and 0 if the feature is missing in all rows.
    size: Value,
    /// Whether values are floats.
    is_float: Value,
    /// The sign bit of signed integers; 0 for others.
    sign: Value,
    /// Upper bound of integers: 1 for truth values.
    largest: Value,
    /// Place of the first row's bit of validity, in bits; negative if all rows have values.
    validity: Value,
    /// Place of the dictionary, in doubles; negative if values are numbers.
    dictionary: Value,
    /// Numbers in the dictionary.
    dictionary_size: Value,
}

/// The kernel from columns to rows of the forest's type.
pub(super) fn pack_columns(lowering: &Lowering) -> Function {
    let element = scalar(lowering.hir.forest.types.input);
    let features = lowering.hir.row_features() as i64;
    let mut b = Builder::with_index("pack", Scalar::I64);
    let input = b.buffer("columns", Space::Input, Scalar::I8);
    let order = b.buffer("order", Space::InputOrder, Scalar::I64);
    let out = b.buffer("rows", Space::Output, element);
    let width = features.clamp(1, COLUMNS_AT_ONCE);
    let (zero, end, last) = (b.int(0), b.int(features), b.int(features - width));
    b.for_loop((zero, end, width), &[], |b, start, _| {
        // The last launch packs some columns again if `width` does not divide their number.
        let start = b.min(start, last);
        let columns: Vec<DescribedColumn> = (0..width)
            .map(|number| {
                let feature = b.add_int(start, number);
                DescribedColumn::load(b, order, feature)
            })
            .collect();
        let rows = b.n_rows();
        launch_over(b, "columns", rows, |b, row| {
            let before = b.mul_int(row, features);
            let before = b.add(before, start);
            for (column, number) in columns.iter().zip(0..) {
                let value = column.value(b, input, (row, element));
                let place = b.add_int(before, number);
                b.store(Address::element(out, place, element), value);
            }
        });
        Vec::new()
    });
    b.finish()
}

impl DescribedColumn {
    fn load(b: &mut Builder, order: BufferId, feature: Value) -> DescribedColumn {
        let before = b.mul_int(feature, WORDS as i64);
        let words: [Value; WORDS] = array::from_fn(|number| {
            let place = b.add_int(before, number as i64);
            b.load(Ty::I64, Address::element(order, place, Scalar::I64))
        });
        let [first, step, size, is_float, sign, largest, validity, dictionary, dictionary_size] = words;
        DescribedColumn { first, step, size, is_float, sign, largest, validity, dictionary, dictionary_size }
    }

    /// The value in a row, in the rows' type; NaN if it is missing.
    fn value(&self, b: &mut Builder, input: BufferId, (row, element): (Value, Scalar)) -> Value {
        let nan = b.float(Ty::of(element), f64::NAN);
        let (zero, one) = (b.int(0), b.int(1));
        let has_validity = b.cmp(Cmp::Le, zero, self.validity);
        let valid = b.if_else(
            has_validity,
            |b| {
                let place = b.add(self.validity, row);
                vec![bit(b, input, place)]
            },
            |_| vec![one],
        );
        let is_valid = b.cmp(Cmp::Eq, valid[0], one);
        let is_missing = b.cmp(Cmp::Eq, self.size, zero);
        let absent = b.int_of(Ty::I1, 0);
        let is_there = b.select(is_missing, absent, is_valid);
        let value = b.if_else(
            is_there,
            |b| {
                let word = self.word(b, input, row);
                vec![self.number(b, input, word, element)]
            },
            |_| vec![nan],
        );
        value[0]
    }

    /// The bits of the value in a row, without its sign extension.
    fn word(&self, b: &mut Builder, input: BufferId, row: Value) -> Value {
        let distance = b.mul(row, self.step);
        let place = b.add(self.first, distance);
        let load = |scalar: Scalar| {
            move |b: &mut Builder| vec![b.load_index(scalar, Address::element(input, place, scalar))]
        };
        let is = |b: &mut Builder, bytes: i64| {
            let bytes = b.int(bytes);
            b.cmp(Cmp::Eq, self.size, bytes)
        };
        let (of_four, of_eight) = (is(b, 4), is(b, 8));
        let (of_one, of_two) = (is(b, 1), is(b, 2));
        let word = b.if_else(of_four, load(Scalar::I32), |b| {
            b.if_else(of_eight, load(Scalar::I64), |b| {
                b.if_else(of_one, load(Scalar::I8), |b| {
                    b.if_else(of_two, load(Scalar::I16), |b| vec![bit(b, input, place)])
                })
            })
        });
        word[0]
    }

    /// The number that a word stands for, rounded once to the rows' type.
    fn number(&self, b: &mut Builder, input: BufferId, word: Value, element: Scalar) -> Value {
        let ty = Ty::of(element);
        let zero = b.int(0);
        let single = b.cast(Cast::Trunc, word, Ty::of(Scalar::I32));
        let single = b.cast(Cast::Bits, single, Ty::of(Scalar::F32));
        let single = b.cast(Cast::Float, single, ty);
        let double = b.cast(Cast::Bits, word, Ty::of(Scalar::F64));
        let double = b.cast(Cast::Float, double, ty);
        let four = b.int(4);
        let is_single = b.cmp(Cmp::Eq, self.size, four);
        let float = b.select(is_single, single, double);
        let flipped = b.bin(Bin::Xor, word, self.sign);
        let whole = b.sub(flipped, self.sign);
        let whole = b.min(whole, self.largest);
        let integer = self.integer(b, whole, ty);
        let is_float = b.cmp(Cmp::Ne, self.is_float, zero);
        let number = b.select(is_float, float, integer);
        let has_dictionary = b.cmp(Cmp::Le, zero, self.dictionary);
        let number = b.if_else(has_dictionary, |b| vec![self.look_up(b, input, whole, ty)], |_| vec![number]);
        number[0]
    }

    /// An integer as a float. Only unsigned ones of 64 bits look negative here.
    fn integer(&self, b: &mut Builder, whole: Value, ty: Ty) -> Value {
        let (zero, one) = (b.int(0), b.int(1));
        let signed = b.cast(Cast::IntToFloat, whole, ty);
        // Half of the number fits a signed integer. The lost bit only matters for ties.
        let (half, lost) = (b.bin(Bin::Shr, whole, one), b.bin(Bin::And, whole, one));
        let half = b.bin(Bin::Or, half, lost);
        let half = b.cast(Cast::IntToFloat, half, ty);
        let unsigned = b.add(half, half);
        let (looks_negative, is_unsigned) = (b.cmp(Cmp::Lt, whole, zero), b.cmp(Cmp::Eq, self.sign, zero));
        let is_large = b.bin(Bin::And, looks_negative, is_unsigned);
        b.select(is_large, unsigned, signed)
    }

    /// The number of an index in the dictionary; NaN for an index outside.
    fn look_up(&self, b: &mut Builder, input: BufferId, index: Value, ty: Ty) -> Value {
        let nan = b.float(ty, f64::NAN);
        let is_inside = b.cmp(Cmp::UnsignedLt, index, self.dictionary_size);
        let number = b.if_else(
            is_inside,
            |b| {
                let place = b.add(self.dictionary, index);
                let number = b.load(Ty::of(Scalar::F64), Address::element(input, place, Scalar::F64));
                vec![b.cast(Cast::Float, number, ty)]
            },
            |_| vec![nan],
        );
        number[0]
    }
}

/// A bit of the input, as an integer.
fn bit(b: &mut Builder, input: BufferId, place: Value) -> Value {
    let (three, seven, one) = (b.int(3), b.int(7), b.int(1));
    let byte = b.bin(Bin::Shr, place, three);
    let bits = b.load_index(Scalar::I8, Address::element(input, byte, Scalar::I8));
    let number = b.bin(Bin::And, place, seven);
    let bit = b.bin(Bin::Shr, bits, number);
    b.bin(Bin::And, bit, one)
}
