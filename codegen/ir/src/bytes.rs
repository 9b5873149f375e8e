//! Writes numbers as bytes of tables: little-endian, with the width of the table's element.

use crate::lir::Scalar;
use sched_forest::Float;

/// The element type of a float type.
pub fn scalar(float: Float) -> Scalar {
    match float {
        Float::F32 => Scalar::F32,
        Float::F64 => Scalar::F64,
    }
}

/// Narrowest unsigned integer that holds all numbers up to `most`.
pub fn narrowest_unsigned(most: u64) -> Option<Scalar> {
    [Scalar::I8, Scalar::I16, Scalar::I32].into_iter().find(|width| most < 1 << (8 * width.bytes()))
}

/// Writes an integer as an element of type `width`.
pub fn write_int(to: &mut [u8], width: Scalar, n: u64) {
    let bytes = width.bytes() as usize;
    to[..bytes].copy_from_slice(&n.to_le_bytes()[..bytes]);
}

/// Writes a float as an element of type `width`.
pub fn write_float(to: &mut [u8], width: Scalar, x: f64) {
    match width {
        Scalar::F64 => to[..8].copy_from_slice(&x.to_le_bytes()),
        _ => to[..4].copy_from_slice(&(x as f32).to_le_bytes()),
    }
}

/// A table of floats.
pub fn float_table(values: &[f64], element: Scalar) -> Vec<u8> {
    let size = element.bytes() as usize;
    let mut bytes = vec![0; values.len() * size];
    for (at, value) in bytes.chunks_exact_mut(size).zip(values) {
        write_float(at, element, *value);
    }
    bytes
}

/// A table of integers.
pub fn int_table(values: impl Iterator<Item = u64>, width: Scalar) -> Vec<u8> {
    values
        .flat_map(|value| {
            let mut bytes = [0; 8];
            write_int(&mut bytes, width, value);
            bytes.into_iter().take(width.bytes() as usize)
        })
        .collect()
}
