//! Type rules: predicates that the table of operations uses.

use super::{Address, Bin, Cast, Cmp, Gather, Scalar, Ty, Value};

/// Largest number of elements of a look-up table. An 8-bit index reaches them all, and registers hold them.
pub const MAX_LOOKUP: u16 = 256;

/// Type of an operand value, and its number if it is an integer constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperandType {
    /// Type of the value.
    pub(crate) ty: Ty,
    /// Value of an integer constant.
    pub(crate) constant: Option<i64>,
}

/// Checks of operands that depend on the operation's position in the function.
pub(crate) trait OperandChecks {
    /// Type of indices.
    fn index(&self) -> Ty;
    /// Whether the operation is in a launch.
    fn in_launch(&self) -> bool;
    /// Looks up a value that the operation uses.
    fn value(&self, value: Value) -> Result<OperandType, String>;
    /// Checks an address that the operation reads.
    fn address(&self, address: &Address) -> Result<(), String>;
    /// Checks the addresses that a gather of `lanes` lanes reads.
    fn gather(&self, gather: &Gather, lanes: u16) -> Result<(), String>;
}

/// Width of a scalar in bits.
pub(crate) fn bit_width(scalar: Scalar) -> u32 {
    if scalar == Scalar::I1 { 1 } else { scalar.bytes() * 8 }
}

/// Whether a scalar is an integer type with arithmetic.
pub(crate) fn is_number(scalar: Scalar) -> bool {
    !scalar.is_float() && scalar != Scalar::I1
}

pub(super) fn lookup_fits(ty: Ty, table: Ty, index: Ty) -> bool {
    let length = table.lanes.is_power_of_two() && table.lanes <= MAX_LOOKUP;
    let element = match table.scalar {
        Scalar::F32 | Scalar::F64 => table.scalar,
        Scalar::I1 => return false,
        _ if bit_width(table.scalar) > bit_width(index.scalar) => return false,
        _ => index.scalar,
    };
    length && is_number(index.scalar) && index.lanes > 1 && ty == index.with(element)
}

/// Whether an operation accepts an element type; truth values have no arithmetic and no order. `b` is
/// the second operand.
pub(super) fn bin_fits(op: Bin, scalar: Scalar, b: OperandType) -> bool {
    match op {
        Bin::Add | Bin::Sub | Bin::Mul | Bin::Min | Bin::Max => scalar != Scalar::I1,
        Bin::Div => scalar.is_float(),
        Bin::IDiv => is_number(scalar) && b.constant.is_some_and(|n| n > 0),
        Bin::Shr => is_number(scalar),
        Bin::And | Bin::Or | Bin::Xor => !scalar.is_float(),
    }
}

pub(super) fn cmp_fits(op: Cmp, scalar: Scalar) -> bool {
    match op {
        Cmp::Eq | Cmp::Ne => !scalar.is_float(),
        Cmp::Lt | Cmp::Le | Cmp::UnsignedLt => is_number(scalar),
        Cmp::OLt | Cmp::OLe | Cmp::ULt | Cmp::ULe | Cmp::Uno => scalar.is_float(),
    }
}

pub(super) fn cast_fits(cast: Cast, from: Scalar, to: Scalar) -> bool {
    let integers = !from.is_float() && !to.is_float();
    match cast {
        Cast::ZExt | Cast::SExt => integers && bit_width(from) < bit_width(to),
        Cast::Trunc => integers && bit_width(from) > bit_width(to),
        Cast::Float => from.is_float() && to.is_float() && from != to,
        // Excludes truth values, since a true one would become -1.
        Cast::IntToFloat => is_number(from) && to.is_float(),
        Cast::FloatToInt => from.is_float() && matches!(to, Scalar::I32 | Scalar::I64),
        Cast::Bits => bit_width(from) == bit_width(to) && from != to,
    }
}

pub(super) fn bitcast_fits(from: Ty, to: Ty) -> bool {
    let narrower = is_number(from.scalar) && is_number(to.scalar) && to.scalar.bytes() < from.scalar.bytes();
    narrower && from.lanes > 1 && from.bytes() == to.bytes()
}
