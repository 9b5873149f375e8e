//! The element types of arrays, and their values as floats.

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::Float16Type;

use crate::read::arrow::RowFloat;
use crate::read::expect::Precision;

/// A float of 2 bytes.
type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NpyType {
    kind: NpyKind,
    big_endian: bool,
    /// The precision to which whole numbers of 4 and 8 bytes are rounded.
    whole: Precision,
}

/// Kind and size of a type's numbers, without their byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NpyKind {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

impl NpyType {
    /// The type that a `descr` such as `<f4` stands for, if its values are real numbers.
    pub(super) fn parse(descr: &str) -> Option<Self> {
        let (order, kind) = descr.split_at_checked(1)?;
        let kind = match kind {
            "b1" => NpyKind::Bool,
            "i1" => NpyKind::I8,
            "u1" => NpyKind::U8,
            "i2" => NpyKind::I16,
            "u2" => NpyKind::U16,
            "i4" => NpyKind::I32,
            "u4" => NpyKind::U32,
            "i8" => NpyKind::I64,
            "u8" => NpyKind::U64,
            "f2" => NpyKind::F16,
            "f4" => NpyKind::F32,
            "f8" => NpyKind::F64,
            _ => return None,
        };
        let element = NpyType { kind, big_endian: order == ">", whole: Precision::Double };
        let ordered = match order {
            "<" | ">" => true,
            // "Not applicable": only single bytes have no order.
            "|" => element.bytes() == 1,
            _ => false,
        };
        ordered.then_some(element)
    }

    /// The type whose whole numbers are rounded to this precision.
    pub(super) fn with_whole(self, whole: Precision) -> Self {
        NpyType { whole, ..self }
    }

    /// The size of an element in bytes.
    pub(super) fn bytes(self) -> usize {
        match self.kind {
            NpyKind::Bool | NpyKind::I8 | NpyKind::U8 => 1,
            NpyKind::I16 | NpyKind::U16 | NpyKind::F16 => 2,
            NpyKind::I32 | NpyKind::U32 | NpyKind::F32 => 4,
            NpyKind::I64 | NpyKind::U64 | NpyKind::F64 => 8,
        }
    }

    /// The precision of the decoded values.
    pub(super) fn precision(self) -> Precision {
        match self.kind {
            NpyKind::F64 => Precision::Double,
            NpyKind::I32 | NpyKind::U32 | NpyKind::I64 | NpyKind::U64 => self.whole,
            _ => Precision::Single,
        }
    }

    /// Appends the values of the elements in `bytes`. Types whose [`precision`](Self::precision) is double
    /// need `f64` values.
    pub(super) fn decode<T: RowFloat>(self, bytes: &[u8], values: &mut Vec<T>) {
        macro_rules! whole_numbers {
            ($type:ty) => {
                match self.whole {
                    Precision::Single => {
                        self.each(bytes, values, |raw| T::of_single(<$type>::from_le_bytes(raw) as f32))
                    }
                    Precision::Double => {
                        self.each(bytes, values, |raw| T::of(<$type>::from_le_bytes(raw) as f64))
                    }
                }
            };
        }
        match self.kind {
            NpyKind::Bool => self.each(bytes, values, |[byte]| T::of_single(f32::from(u8::from(byte != 0)))),
            NpyKind::I8 => self.each(bytes, values, |raw| T::of_single(i8::from_le_bytes(raw).into())),
            NpyKind::U8 => self.each(bytes, values, |raw| T::of_single(u8::from_le_bytes(raw).into())),
            NpyKind::I16 => self.each(bytes, values, |raw| T::of_single(i16::from_le_bytes(raw).into())),
            NpyKind::U16 => self.each(bytes, values, |raw| T::of_single(u16::from_le_bytes(raw).into())),
            NpyKind::F16 => self.each(bytes, values, |raw| T::of_single(Half::from_le_bytes(raw).to_f32())),
            NpyKind::F32 => self.each(bytes, values, |raw| T::of_single(f32::from_le_bytes(raw))),
            NpyKind::F64 => self.each(bytes, values, |raw| T::of(f64::from_le_bytes(raw))),
            NpyKind::I32 => whole_numbers!(i32),
            NpyKind::U32 => whole_numbers!(u32),
            NpyKind::I64 => whole_numbers!(i64),
            NpyKind::U64 => whole_numbers!(u64),
        }
    }

    /// Appends `value` of each element's bytes, in little-endian order.
    fn each<T, const N: usize>(self, bytes: &[u8], values: &mut Vec<T>, value: impl Fn([u8; N]) -> T) {
        let (elements, _) = bytes.as_chunks::<N>();
        // Two loops: the common one is then a plain copy.
        match self.big_endian {
            false => values.extend(elements.iter().map(|&raw| value(raw))),
            true => values.extend(elements.iter().map(|&raw| {
                let mut raw = raw;
                raw.reverse();
                value(raw)
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_widen() {
        let cases = [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0400, 6.103_515_6e-5),
            (0x0001, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
        ];
        let bytes: Vec<u8> = cases.iter().flat_map(|(bits, _): &(u16, _)| bits.to_le_bytes()).collect();
        let (half, mut values) = (NpyType::parse("<f2").unwrap(), Vec::new());
        half.decode::<f32>(&bytes, &mut values);
        assert_eq!(values, cases.map(|(_, value)| value));
        half.decode(&[0x00, 0x7e, 0x00, 0x80], &mut values);
        let [.., missing, zero] = values.as_slice() else { panic!("{values:?}") };
        assert!(missing.is_nan() && zero.is_sign_negative());
    }
}
