//! The element types of arrays, and their values as floats.

use crate::read::Precision;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    kind: Kind,
    big_endian: bool,
    /// The precision to which whole numbers of 4 and 8 bytes are rounded.
    whole: Precision,
}

/// A type apart from its byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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

impl Element {
    /// The type that a `descr` such as `<f4` stands for, if its values are real numbers.
    pub(super) fn parse(descr: &str) -> Option<Self> {
        let (order, kind) = descr.split_at_checked(1)?;
        let kind = match kind {
            "b1" => Kind::Bool,
            "i1" => Kind::I8,
            "u1" => Kind::U8,
            "i2" => Kind::I16,
            "u2" => Kind::U16,
            "i4" => Kind::I32,
            "u4" => Kind::U32,
            "i8" => Kind::I64,
            "u8" => Kind::U64,
            "f2" => Kind::F16,
            "f4" => Kind::F32,
            "f8" => Kind::F64,
            _ => return None,
        };
        let element = Element { kind, big_endian: order == ">", whole: Precision::Double };
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
        Element { whole, ..self }
    }

    /// The size of an element in bytes.
    pub(super) fn bytes(self) -> usize {
        match self.kind {
            Kind::Bool | Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 | Kind::F16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
        }
    }

    /// Whether values are given in double precision.
    pub(super) fn wide(self) -> bool {
        match self.kind {
            Kind::F64 => true,
            Kind::I32 | Kind::U32 | Kind::I64 | Kind::U64 => self.whole == Precision::Double,
            _ => false,
        }
    }

    /// Appends the values of whole elements of a type that is not [`wide`](Self::wide); appends nothing for
    /// wide types.
    pub(super) fn decode_f32(self, bytes: &[u8], values: &mut Vec<f32>) {
        match self.kind {
            Kind::Bool => values.extend(bytes.iter().map(|&byte| f32::from(u8::from(byte != 0)))),
            Kind::I8 => self.each(bytes, values, |raw| f32::from(i8::from_le_bytes(raw))),
            Kind::U8 => self.each(bytes, values, |raw| f32::from(u8::from_le_bytes(raw))),
            Kind::I16 => self.each(bytes, values, |raw| f32::from(i16::from_le_bytes(raw))),
            Kind::U16 => self.each(bytes, values, |raw| f32::from(u16::from_le_bytes(raw))),
            Kind::F16 => self.each(bytes, values, |raw| widen_half(u16::from_le_bytes(raw))),
            Kind::F32 => self.each(bytes, values, f32::from_le_bytes),
            Kind::I32 => self.each(bytes, values, |raw| i32::from_le_bytes(raw) as f32),
            Kind::U32 => self.each(bytes, values, |raw| u32::from_le_bytes(raw) as f32),
            Kind::I64 => self.each(bytes, values, |raw| i64::from_le_bytes(raw) as f32),
            Kind::U64 => self.each(bytes, values, |raw| u64::from_le_bytes(raw) as f32),
            Kind::F64 => {}
        }
    }

    /// Appends the values of whole elements. For types that are [`wide`](Self::wide); others give nothing.
    pub(super) fn decode_f64(self, bytes: &[u8], values: &mut Vec<f64>) {
        match self.kind {
            Kind::I32 => self.each(bytes, values, |raw| f64::from(i32::from_le_bytes(raw))),
            Kind::U32 => self.each(bytes, values, |raw| f64::from(u32::from_le_bytes(raw))),
            Kind::I64 => self.each(bytes, values, |raw| i64::from_le_bytes(raw) as f64),
            Kind::U64 => self.each(bytes, values, |raw| u64::from_le_bytes(raw) as f64),
            Kind::F64 => self.each(bytes, values, f64::from_le_bytes),
            Kind::Bool | Kind::I8 | Kind::U8 | Kind::I16 | Kind::U16 | Kind::F16 | Kind::F32 => {}
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

/// The value of an IEEE half-precision float given by its bits.
fn widen_half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f32::from(bits & 0x3ff);
    match (exponent, bits & 0x3ff) {
        (0x1f, 0) => sign * f32::INFINITY,
        (0x1f, _) => f32::NAN,
        (0, _) => sign * fraction * 2f32.powi(-24),
        _ => sign * (fraction + 1024.0) * 2f32.powi(exponent - 25),
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
        for (bits, value) in cases {
            assert_eq!(widen_half(bits), value, "{bits:#06x}");
        }
        assert!(widen_half(0x7e00).is_nan());
        assert!(widen_half(0x8000).is_sign_negative());
    }
}
