//! Arithmetic, comparisons, selections and conversions of values of LLVM.

use super::ir::IrBuilder;
use super::predicate::{CmpPredicate, predicate};
use super::types;
use super::vector::as_vector;
use crate::error::LlvmError;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, VectorValue as Vector};
use sched_ir::lir::{Bin, Cast, Cmp, Ty};

use BasicValueEnum::{FloatValue, IntValue, VectorValue};

/// Calls a builder's method on two integers or two vectors.
macro_rules! of_ints {
    ($self:ident, $a:expr, $b:expr, $method:ident $(, $first:expr)?) => {
        match ($a, $b) {
            (IntValue(a), IntValue(b)) => $self.builder.$method($($first,)? a, b, "")?.into(),
            (VectorValue(a), VectorValue(b)) => $self.builder.$method($($first,)? a, b, "")?.into(),
            _ => return Err(LlvmError::ill_formed("integers expected")),
        }
    };
}

/// Calls a builder's method on two floats or two vectors.
macro_rules! of_floats {
    ($self:ident, $a:expr, $b:expr, $method:ident $(, $first:expr)?) => {
        match ($a, $b) {
            (FloatValue(a), FloatValue(b)) => $self.builder.$method($($first,)? a, b, "")?.into(),
            (VectorValue(a), VectorValue(b)) => $self.builder.$method($($first,)? a, b, "")?.into(),
            _ => return Err(LlvmError::ill_formed("floats expected")),
        }
    };
}

/// Calls a builder's conversion from one class to another, on scalars or vectors.
macro_rules! convert {
    ($self:ident, $value:expr, $ty:expr, $from:ident -> $to:ident, $method:ident) => {
        match ($value, $ty) {
            ($from(v), BasicTypeEnum::$to(ty)) => $self.builder.$method(v, ty, "")?.into(),
            (VectorValue(v), BasicTypeEnum::VectorType(ty)) => $self.builder.$method(v, ty, "")?.into(),
            _ => return Err(LlvmError::ill_formed("a conversion between scalars and vectors")),
        }
    };
}

impl<'ctx> IrBuilder<'_, 'ctx> {
    /// An operation with two operands of type `ty`.
    pub(super) fn binary(
        &self,
        bin: Bin,
        ty: Ty,
        (x, y): (BasicValueEnum<'ctx>, BasicValueEnum<'ctx>),
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let scalar = ty.scalar;
        let float = scalar.is_float();
        Ok(match bin {
            Bin::Add if float => of_floats!(self, x, y, build_float_add),
            Bin::Sub if float => of_floats!(self, x, y, build_float_sub),
            Bin::Mul if float => of_floats!(self, x, y, build_float_mul),
            Bin::Div if float => of_floats!(self, x, y, build_float_div),
            Bin::Add => of_ints!(self, x, y, build_int_add),
            Bin::Sub => of_ints!(self, x, y, build_int_sub),
            Bin::Mul => of_ints!(self, x, y, build_int_mul),
            Bin::IDiv if !float => of_ints!(self, x, y, build_int_signed_div),
            Bin::And if !float => of_ints!(self, x, y, build_and),
            Bin::Or if !float => of_ints!(self, x, y, build_or),
            Bin::Xor if !float => of_ints!(self, x, y, build_xor),
            Bin::Shr if !float => match (x, self.shift_distance(y, ty)?) {
                (IntValue(x), IntValue(y)) => self.builder.build_right_shift(x, y, false, "")?.into(),
                (VectorValue(x), VectorValue(y)) => self.builder.build_right_shift(x, y, false, "")?.into(),
                _ => return Err(LlvmError::ill_formed("integers expected")),
            },
            // With a NaN, the comparison of floats is false and selects the second operand.
            Bin::Min => {
                let less = self.compare(if float { Cmp::OLt } else { Cmp::Lt }, ty, (x, y))?;
                self.select(less, x, y)?
            }
            Bin::Max => {
                let greater = self.compare(if float { Cmp::OLt } else { Cmp::Lt }, ty, (y, x))?;
                self.select(greater, x, y)?
            }
            Bin::Div | Bin::IDiv | Bin::And | Bin::Or | Bin::Xor | Bin::Shr => {
                return Err(LlvmError::ill_formed(format_args!("{bin:?} of {scalar}")));
            }
        })
    }

    /// The distance of a shift modulo the width: LLVM defines no result for longer shifts.
    fn shift_distance(
        &self,
        distance: BasicValueEnum<'ctx>,
        ty: Ty,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let last = self.int(ty, i64::from(8 * ty.scalar.bytes()) - 1)?;
        Ok(of_ints!(self, distance, last, build_and))
    }

    /// A comparison of two operands of type `ty`.
    pub(super) fn compare(
        &self,
        cmp: Cmp,
        ty: Ty,
        (a, b): (BasicValueEnum<'ctx>, BasicValueEnum<'ctx>),
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let scalar = ty.scalar;
        match predicate(cmp) {
            CmpPredicate::Int(p) if !scalar.is_float() => Ok(of_ints!(self, a, b, build_int_compare, p)),
            CmpPredicate::Float(p) if scalar.is_float() => Ok(of_floats!(self, a, b, build_float_compare, p)),
            _ => Err(LlvmError::ill_formed(format_args!("comparison {cmp:?} of {scalar}"))),
        }
    }

    /// `a` where the condition holds, else `b`.
    pub(super) fn select(
        &self,
        cond: BasicValueEnum<'ctx>,
        a: BasicValueEnum<'ctx>,
        b: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        match cond {
            IntValue(cond) => Ok(self.builder.build_select(cond, a, b, "")?),
            VectorValue(cond) => Ok(self.builder.build_select(cond, a, b, "")?),
            _ => Err(LlvmError::ill_formed("a condition is no truth value")),
        }
    }

    /// A conversion of a value of type `from`.
    pub(super) fn cast(
        &self,
        cast: Cast,
        (value, from): (BasicValueEnum<'ctx>, Ty),
        ty: Ty,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let widens = from.scalar.bytes() < ty.scalar.bytes();
        let to = types::basic(self.context, ty)?;
        Ok(match cast {
            Cast::ZExt => convert!(self, value, to, IntValue -> IntType, build_int_z_extend),
            Cast::SExt => convert!(self, value, to, IntValue -> IntType, build_int_s_extend),
            Cast::Trunc => convert!(self, value, to, IntValue -> IntType, build_int_truncate),
            Cast::Float if widens => convert!(self, value, to, FloatValue -> FloatType, build_float_ext),
            Cast::Float => convert!(self, value, to, FloatValue -> FloatType, build_float_trunc),
            Cast::IntToFloat => convert!(self, value, to, IntValue -> FloatType, build_signed_int_to_float),
            Cast::FloatToInt => self.to_int_saturating(value, to)?,
            Cast::Bits => self.builder.build_bit_cast(value, to, "")?,
        })
    }

    /// An integer of another width, truncated or extended with zeros; a float unchanged.
    pub(super) fn resize(
        &self,
        value: BasicValueEnum<'ctx>,
        from: Ty,
        to: Ty,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        if from.scalar.is_float() || from == to {
            return Ok(value);
        }
        let widens = from.scalar.bytes() < to.scalar.bytes();
        Ok(match (value, types::basic(self.context, to)?) {
            (BasicValueEnum::IntValue(v), BasicTypeEnum::IntType(to)) => match widens {
                true => self.builder.build_int_z_extend(v, to, "")?.into(),
                false => self.builder.build_int_truncate(v, to, "")?.into(),
            },
            (BasicValueEnum::VectorValue(v), BasicTypeEnum::VectorType(to)) => match widens {
                true => self.builder.build_int_z_extend(v, to, "")?.into(),
                false => self.builder.build_int_truncate(v, to, "")?.into(),
            },
            _ => return Err(LlvmError::ill_formed("an integer is resized to something else")),
        })
    }

    /// A vector of integers of another width, as [`IrBuilder::resize`] makes them.
    pub(super) fn resize_vector(
        &self,
        value: Vector<'ctx>,
        from: Ty,
        to: Ty,
    ) -> Result<Vector<'ctx>, LlvmError> {
        as_vector(self.resize(value.into(), from, to)?)
    }
}
