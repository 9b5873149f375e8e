//! Operations of LIR, each declared once.
//!
//! A line of the table below has an operation's name, its operands, its text and its type rule. The
//! type rule is an expression over the types of the result and of the operands. The operations
//! themselves, their text, the values and the buffer that they use, and the verifier's check follow
//! from the table. The interpreter and the back ends match all operations without a catch-all, so that
//! a missing one fails to compile. An operation has no effect; it reads memory exactly if it has an
//! address operand.

use super::fits::{
    OperandChecks, OperandType, bin_fits, bitcast_fits, cast_fits, cmp_fits, is_number, lookup_fits,
};
use super::{Address, Bin, BufferId, Cast, Cmp, Gather, Keep, Math, Rounding, Scalar, Ty, Value};
use sched_nest::GpuDimension;
use std::fmt::{Debug, Display};

/// Interface of operand kinds for the table.
trait OperandKind {
    /// Representation of the operand in type rules.
    type InRule;

    /// Returns the operand's representation in type rules. `ty` is the type of the operation's
    /// result; a gather must have its lanes.
    ///
    /// # Errors
    /// The reason why the operand is invalid.
    fn in_rule(&self, ty: Ty, rules: &impl OperandChecks) -> Result<Self::InRule, String>;

    /// Calls `visit` with each value that the operand uses.
    fn values(&self, _: &mut impl FnMut(Value)) {}

    /// Buffer that the operand accesses.
    fn buffer(&self) -> Option<BufferId> {
        None
    }

    /// Mutable buffer that the operand accesses.
    fn buffer_mut(&mut self) -> Option<&mut BufferId> {
        None
    }

    /// Text of the operand.
    fn text(&self, names: &impl OperandNames) -> String;
}

/// Names of values and addresses in a text.
pub(super) trait OperandNames {
    /// Name of a value.
    fn value(&self, value: Value) -> String;
    /// Text of an address.
    fn address(&self, address: &Address) -> String;
    /// Text of the addresses of a gather.
    fn gather(&self, gather: &Gather) -> String;
}

impl OperandKind for Value {
    type InRule = OperandType;

    fn in_rule(&self, _: Ty, rules: &impl OperandChecks) -> Result<OperandType, String> {
        rules.value(*self)
    }

    fn values(&self, visit: &mut impl FnMut(Value)) {
        visit(*self);
    }

    fn text(&self, names: &impl OperandNames) -> String {
        names.value(*self)
    }
}

impl OperandKind for Address {
    type InRule = ();

    fn in_rule(&self, _: Ty, rules: &impl OperandChecks) -> Result<(), String> {
        rules.address(self)
    }

    fn values(&self, visit: &mut impl FnMut(Value)) {
        visit(self.index);
    }

    fn buffer(&self) -> Option<BufferId> {
        Some(self.buffer)
    }

    fn buffer_mut(&mut self) -> Option<&mut BufferId> {
        Some(&mut self.buffer)
    }

    fn text(&self, names: &impl OperandNames) -> String {
        names.address(self)
    }
}

impl OperandKind for Gather {
    type InRule = ();

    fn in_rule(&self, ty: Ty, rules: &impl OperandChecks) -> Result<(), String> {
        rules.gather(self, ty.lanes)
    }

    fn values(&self, visit: &mut impl FnMut(Value)) {
        [self.base, self.index].into_iter().chain(self.mask).for_each(visit);
    }

    fn buffer(&self) -> Option<BufferId> {
        Some(self.buffer)
    }

    fn buffer_mut(&mut self) -> Option<&mut BufferId> {
        Some(&mut self.buffer)
    }

    fn text(&self, names: &impl OperandNames) -> String {
        names.gather(self)
    }
}

/// Implements operand kinds that are constants of the operation, not values.
macro_rules! immediate {
    ($($ty:ty => $text:expr;)*) => { $(
        impl OperandKind for $ty {
            type InRule = $ty;

            fn in_rule(&self, _: Ty, _: &impl OperandChecks) -> Result<$ty, String> {
                Ok(*self)
            }

            fn text(&self, _: &impl OperandNames) -> String {
                $text(self)
            }
        }
    )* };
}

fn display_text(value: &impl Display) -> String {
    value.to_string()
}

fn lowercase_name(value: &impl Debug) -> String {
    format!("{value:?}").to_lowercase()
}

immediate! {
    i64 => display_text;
    u16 => display_text;
    f64 => |value: &f64| format!("{value:?}");
    Bin => lowercase_name;
    Cmp => lowercase_name;
    Cast => lowercase_name;
    Math => lowercase_name;
    Rounding => lowercase_name;
    Keep => display_text;
    GpuDimension => display_text;
}

/// Avoids warnings for operands that a type rule does not mention.
macro_rules! used {
    ($($name:ident)*) => { $( let _ = &$name; )* };
}

macro_rules! operations {
    (|$ty:ident, $rules:ident| $(
        $(#[$doc:meta])*
        $name:ident $(($($operand:ident: $kind:ty),*))? => $text:literal if $fits:expr;
    )*) => {
        /// Operation that defines a value.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Op {
            $( $(#[$doc])* $name $(($($kind),*))?, )*
        }

        impl Op {
            /// Name of the operation.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Op::$name $(($(operations!(@ignore $operand)),*))? => stringify!($name), )*
                }
            }

            /// Calls `visit` with each value that the operation uses.
            pub fn for_each_value(&self, mut visit: impl FnMut(Value)) {
                // Avoids a warning in operations without operands.
                let _ = &mut visit;
                match self {
                    $( Op::$name $(($($operand),*))? => {
                        $($( OperandKind::values($operand, &mut visit); )*)?
                    } )*
                }
            }

            /// Buffer that the operation reads; it has no other effect.
            pub fn buffer(&self) -> Option<BufferId> {
                let none: Option<BufferId> = None;
                match self {
                    $( Op::$name $(($($operand),*))? => none$($(.or(OperandKind::buffer($operand)))*)?, )*
                }
            }

            /// Mutable buffer that the operation reads.
            pub(super) fn buffer_mut(&mut self) -> Option<&mut BufferId> {
                let none: Option<&mut BufferId> = None;
                match self {
                    $( Op::$name $(($($operand),*))? => {
                        none$($(.or(OperandKind::buffer_mut($operand)))*)?
                    } )*
                }
            }

            /// Text of the operation.
            pub(super) fn text(&self, names: &impl OperandNames) -> String {
                match self {
                    $( Op::$name $(($($operand),*))? => {
                        $($( let $operand = OperandKind::text($operand, names); )*)?
                        format!($text)
                    } )*
                }
            }

            /// Whether the operation's type rule allows the result type. Fails with the reason if an operand
            /// is invalid.
            pub(crate) fn fits(&self, $ty: Ty, $rules: &impl OperandChecks) -> Result<bool, String> {
                Ok(match self {
                    $( Op::$name $(($($operand),*))? => {
                        $(
                            $( let $operand = OperandKind::in_rule($operand, $ty, $rules)?; )*
                            used!($($operand)*);
                        )?
                        $fits
                    } )*
                })
            }
        }
    };
    (@ignore $operand:ident) => { _ };
}

operations! { |ty, rules|
    /// An integer constant (all lanes).
    Int(n: i64) => "{n}" if !ty.scalar.is_float();
    /// A float constant (all lanes), rounded to the type.
    Float(x: f64) => "{x}" if ty.scalar.is_float();
    /// Number of rows of the call, an index.
    RowCount => "n_rows" if ty == rules.index();
    /// Number of the block in its grid or of the thread in its block, from 0, an index. Inside a
    /// launch.
    Id(dimension: GpuDimension) => "id {dimension}" if ty == rules.index() && rules.in_launch();
    /// Arithmetic.
    Bin(op: Bin, a: Value, b: Value) => "{op} {a}, {b}"
        if [a.ty, b.ty] == [ty; 2] && bin_fits(op, ty.scalar, b);
    /// Comparison; the result has element `i1`.
    Cmp(op: Cmp, a: Value, b: Value) => "cmp.{op} {a}, {b}"
        if a.ty == b.ty && ty == a.ty.with(Scalar::I1) && cmp_fits(op, a.ty.scalar);
    /// `cond ? a : b`, lane by lane or for a scalar condition as a whole.
    Select(cond: Value, a: Value, b: Value) => "select {cond}, {a}, {b}"
        if (cond.ty == Ty::I1 || cond.ty == ty.with(Scalar::I1)) && [a.ty, b.ty] == [ty; 2];
    /// Conversion to the result's type.
    Cast(cast: Cast, v: Value) => "{cast} {v}"
        if v.ty.lanes == ty.lanes && cast_fits(cast, v.ty.scalar, ty.scalar);
    /// A function of the C library.
    Math(math: Math, v: Value) => "{math} {v}" if v.ty == ty && ty.scalar.is_float();
    /// `a * b + c` of floats, rounded once.
    Fma(a: Value, b: Value, c: Value) => "fma {a}, {b}, {c}"
        if [a.ty, b.ty, c.ty] == [ty; 3] && ty.scalar.is_float();
    /// The square root of a float, rounded to nearest.
    SquareRoot(v: Value) => "sqrt {v}" if v.ty == ty && ty.scalar.is_float();
    /// A float as a whole number of its type.
    Round(rounding: Rounding, v: Value) => "round {rounding} {v}" if v.ty == ty && ty.scalar.is_float();
    /// A load of the result's type; a vector comes from consecutive bytes.
    Load(at: Address, keep: Keep) => "load {at}{keep}" if true;
    /// A load of the lanes that the mask selects; the others are zero.
    LoadMasked(at: Address, mask: Value) => "load {at} where {mask}"
        if ty.lanes > 1 && mask.ty == ty.with(Scalar::I1);
    /// One load per lane.
    Gather(gather: Gather) => "gather {gather}" if ty.lanes > 1;
    /// The scalar in every lane.
    Splat(v: Value) => "splat {v}" if ty.lanes > 1 && v.ty == Ty::of(ty.scalar);
    /// The numbers of the lanes: 0, 1, 2 and so on.
    Iota => "iota" if ty.lanes > 1 && is_number(ty.scalar);
    /// One lane of a vector.
    Extract(v: Value, lane: u16) => "lane {lane} of {v}"
        if v.ty.lanes > 1 && lane < v.ty.lanes && ty == Ty::of(v.ty.scalar);
    /// The low (0) or the high (1) 32 bits of each lane of a vector of 64-bit integers.
    ExtractHalf(v: Value, number: u16) => "half {number} of {v}"
        if v.ty.lanes > 1 && v.ty.scalar == Scalar::I64 && number < 2 && ty == v.ty.with(Scalar::I32);
    /// The bytes of a vector of integers as narrower integers, lowest bits first.
    BitcastNarrow(v: Value) => "bitcast {v}" if bitcast_fits(v.ty, ty);
    /// The lanes of one vector or scalar, then those of another of the same type.
    Concat(a: Value, b: Value) => "concat {a}, {b}"
        if a.ty == b.ty && ty.scalar == a.ty.scalar && u32::from(ty.lanes) == 2 * u32::from(a.ty.lanes);
    /// A transpose step. Vectors are divided into blocks of `size` lanes; the result has the even (`number`
    /// 0) or the odd (1) blocks of `a` and `b`, alternating.
    TransposeStep(a: Value, b: Value, size: u16, number: u16)
        => "transpose {a}, {b}: part {number} in blocks of {size}"
        if [a.ty, b.ty] == [ty; 2] && size.is_power_of_two() && number < 2
            && u32::from(ty.lanes).is_multiple_of(2 * u32::from(size));
    /// The lanes of a vector of integers, shifted down by `distance` lanes; the highest ones are 0.
    LaneShift(v: Value, distance: u16) => "shift lanes of {v} down by {distance}"
        if v.ty == ty && is_number(ty.scalar) && distance < ty.lanes;
    /// `table[index mod length]` for each lane of an integer vector. The table is a vector whose length
    /// is a power of two; the result has the lanes of the index. Elements of an integer table are
    /// zero-extended to the index's element, others keep their type.
    Lookup(table: Value, index: Value) => "lookup {table}, {index}" if lookup_fits(ty, table.ty, index.ty);
    /// Whether any lane of a mask holds, an `i1`.
    Any(mask: Value) => "any {mask}" if ty == Ty::I1 && mask.ty.scalar == Scalar::I1 && mask.ty.lanes > 1;
    /// Number of set bits of an `i64`, an `i64`.
    PopCount(bits: Value) => "popcount {bits}" if [bits.ty, ty] == [Ty::I64; 2];
    /// The lanes of a mask, at most 64, as the bits of an `i64`: lane 0 is the lowest bit, and unused
    /// bits are 0.
    MaskBits(mask: Value) => "bits of {mask}"
        if ty == Ty::I64 && mask.ty.scalar == Scalar::I1 && (2..=64).contains(&mask.ty.lanes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_follow_from_the_table() {
        let at = Address { buffer: BufferId(7), index: Value(1), stride: 4, offset: 0 };
        let gather = Gather {
            buffer: BufferId(8),
            base: Value(1),
            index: Value(2),
            stride: 4,
            offset: 0,
            mask: Some(Value(3)),
        };
        let cases: [(Op, &[u32], Option<u32>); 7] = [
            (Op::Iota, &[], None),
            (Op::Int(3), &[], None),
            (Op::Select(Value(4), Value(5), Value(6)), &[4, 5, 6], None),
            (Op::Extract(Value(2), 3), &[2], None),
            (Op::Load(at, Keep::Invariant), &[1], Some(7)),
            (Op::LoadMasked(at, Value(9)), &[1, 9], Some(7)),
            (Op::Gather(gather), &[1, 2, 3], Some(8)),
        ];
        for (op, values, buffer) in cases {
            let mut found = Vec::new();
            op.for_each_value(|value| found.push(value.0));
            assert_eq!(found, values, "{}", op.name());
            assert_eq!(op.buffer().map(|buffer| buffer.0), buffer, "{}", op.name());
        }
    }
}
