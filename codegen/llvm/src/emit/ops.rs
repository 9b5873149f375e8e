//! Operations.

use super::function::Emitter;
use super::isa::Portable;
use super::predicate::{Predicate, predicate};
use super::types;
use crate::error::LlvmError;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::types::{BasicTypeEnum, VectorType};
use inkwell::values::{BasicValueEnum, FunctionValue};
use sched_ir::lir::{Bin, Cast, Cmp, Math, Op, Scalar, Ty, Value};

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

impl<'ctx> Emitter<'_, 'ctx> {
    /// The result of an operation.
    pub(super) fn op(&mut self, result: Value, op: &Op) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let mut isa = std::mem::replace(&mut self.isa, Box::new(Portable));
        let own = isa.operation(self, result, op);
        self.isa = isa;
        if let Some(own) = own? {
            return Ok(own);
        }
        let ty = self.ty(result)?;
        match op {
            Op::Int(n) => self.int(ty, *n),
            Op::Float(x) => self.float(ty, *x),
            Op::Rows => self.rows(),
            Op::Id(dimension) => {
                let id = self.device()?.id(self, *dimension)?;
                let id = self.after_first_block(*dimension, id)?;
                self.resized(id, Ty::of(Scalar::I32), ty)
            }
            Op::Bin(bin, a, b) => self.bin(*bin, ty.scalar, *a, *b),
            Op::Cmp(cmp, a, b) => self.compare(*cmp, self.ty(*a)?.scalar, *a, *b),
            Op::Select(cond, a, b) => {
                self.select(self.frame.value(*cond)?, self.frame.value(*a)?, self.frame.value(*b)?)
            }
            Op::Cast(cast, value) => self.cast(*cast, *value, ty),
            Op::Math(math, value) => self.math(*math, *value, ty),
            Op::Load(at, keep) => self.load(ty, at, *keep),
            Op::LoadMasked(at, mask) => self.load_masked(ty, at, *mask),
            Op::Gather(gather) => self.gather(ty, gather),
            Op::Splat(scalar) => self.splat(ty, *scalar),
            Op::Iota => self.iota(ty),
            Op::Extract(vector, lane) => self.extract(*vector, *lane),
            Op::ExtractHalf(vector, number) => self.extract_half(*vector, *number),
            Op::BitcastNarrow(vector) => {
                let to = types::basic(self.context, ty)?;
                Ok(self.builder.build_bit_cast(self.frame.value(*vector)?, to, "")?)
            }
            Op::Concat(a, b) => self.concat(ty, *a, *b),
            Op::TransposeStep(a, b, size, number) => self.transpose_step(ty, (*a, *b), (*size, *number)),
            Op::LaneShift(vector, distance) => self.lane_shift(*vector, *distance),
            Op::Lookup(table, index) => self.lookup(ty, *table, *index),
            Op::Any(mask) => self.any(*mask),
            Op::PopCount(bits) => self.count_ones(*bits),
            Op::MaskBits(mask) => self.mask_bits(*mask),
        }
    }

    pub(super) fn int(&self, ty: Ty, n: i64) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let element = types::int(self.context, ty.scalar);
        let element =
            element.ok_or_else(|| LlvmError::ill_formed(format_args!("an integer constant of {ty}")))?;
        let value = element.const_int(n as u64, true);
        Ok(match ty.lanes {
            1 => value.into(),
            lanes => VectorType::const_vector(&vec![value; lanes.into()]).into(),
        })
    }

    fn float(&self, ty: Ty, x: f64) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let element = types::float(self.context, ty.scalar);
        let element =
            element.ok_or_else(|| LlvmError::ill_formed(format_args!("a float constant of {ty}")))?;
        let value = element.const_float(x);
        Ok(match ty.lanes {
            1 => value.into(),
            lanes => VectorType::const_vector(&vec![value; lanes.into()]).into(),
        })
    }

    fn bin(&self, bin: Bin, scalar: Scalar, a: Value, b: Value) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (x, y) = (self.frame.value(a)?, self.frame.value(b)?);
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
            Bin::Shr if !float => match (x, self.distance(y, self.ty(b)?)?) {
                (IntValue(x), IntValue(y)) => self.builder.build_right_shift(x, y, false, "")?.into(),
                (VectorValue(x), VectorValue(y)) => self.builder.build_right_shift(x, y, false, "")?.into(),
                _ => return Err(LlvmError::ill_formed("integers expected")),
            },
            // Of floats, the comparison is false on NaN and chooses the second operand.
            Bin::Min => {
                let less = self.compare(if float { Cmp::OLt } else { Cmp::Lt }, scalar, a, b)?;
                self.select(less, x, y)?
            }
            Bin::Max => {
                let greater = self.compare(if float { Cmp::OLt } else { Cmp::Lt }, scalar, b, a)?;
                self.select(greater, x, y)?
            }
            Bin::Div | Bin::IDiv | Bin::And | Bin::Or | Bin::Xor | Bin::Shr => {
                return Err(LlvmError::ill_formed(format_args!("{bin:?} of {scalar}")));
            }
        })
    }

    /// The distance of a shift, below the width: LLVM has no result for others.
    fn distance(&self, distance: BasicValueEnum<'ctx>, ty: Ty) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let most = self.int(ty, i64::from(8 * ty.scalar.bytes()) - 1)?;
        Ok(of_ints!(self, distance, most, build_and))
    }

    fn compare(
        &self,
        cmp: Cmp,
        scalar: Scalar,
        a: Value,
        b: Value,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (a, b) = (self.frame.value(a)?, self.frame.value(b)?);
        match predicate(cmp) {
            Predicate::Int(p) if !scalar.is_float() => Ok(of_ints!(self, a, b, build_int_compare, p)),
            Predicate::Float(p) if scalar.is_float() => Ok(of_floats!(self, a, b, build_float_compare, p)),
            _ => Err(LlvmError::ill_formed(format_args!("comparison {cmp:?} of {scalar}"))),
        }
    }

    fn select(
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

    fn cast(&self, cast: Cast, value: Value, ty: Ty) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let widens = self.ty(value)?.scalar.bytes() < ty.scalar.bytes();
        let value = self.frame.value(value)?;
        let to = types::basic(self.context, ty)?;
        Ok(match cast {
            Cast::ZExt => convert!(self, value, to, IntValue -> IntType, build_int_z_extend),
            Cast::SExt => convert!(self, value, to, IntValue -> IntType, build_int_s_extend),
            Cast::Trunc => convert!(self, value, to, IntValue -> IntType, build_int_truncate),
            Cast::Float if widens => convert!(self, value, to, FloatValue -> FloatType, build_float_ext),
            Cast::Float => convert!(self, value, to, FloatValue -> FloatType, build_float_trunc),
            Cast::IntToFloat => convert!(self, value, to, IntValue -> FloatType, build_signed_int_to_float),
            Cast::Bits => self.builder.build_bit_cast(value, to, "")?,
        })
    }

    /// A function of the C library, lane by lane: a call of it, or in launches, where there is none, the same in
    /// operations.
    fn math(&self, math: Math, value: Value, ty: Ty) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let call = |argument: BasicValueEnum<'ctx>| match (&self.device, math) {
            (Some(device), Math::Exp) => self.exp(device.global(), argument),
            (Some(_), _) => Err(LlvmError::ill_formed(format_args!("{math:?} in a launch"))),
            (None, _) => self.call_of_library(math, ty.scalar, argument),
        };
        let vector = match self.frame.value(value)? {
            VectorValue(vector) => vector,
            scalar => return call(scalar),
        };
        let mut result = vector;
        for lane in 0..ty.lanes {
            let lane = self.context.i32_type().const_int(lane.into(), false);
            let one = call(self.builder.build_extract_element(vector, lane, "")?)?;
            result = self.builder.build_insert_element(result, one, lane, "")?;
        }
        Ok(result.into())
    }

    fn call_of_library(
        &self,
        math: Math,
        scalar: Scalar,
        argument: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let call = self.builder.build_call(self.library(math, scalar)?, &[argument.into()], "")?;
        call.try_as_basic_value().basic().ok_or_else(|| LlvmError::ill_formed("a function returns nothing"))
    }

    /// Declares a function of the C library; it depends on nothing but its argument.
    fn library(&self, math: Math, scalar: Scalar) -> Result<FunctionValue<'ctx>, LlvmError> {
        let name = match (math, scalar) {
            (Math::Exp, Scalar::F32) => "expf",
            (Math::Exp, _) => "exp",
            (Math::Log, Scalar::F32) => "logf",
            (Math::Log, _) => "log",
            (Math::LogOnePlus, Scalar::F32) => "log1pf",
            (Math::LogOnePlus, _) => "log1p",
            (Math::PowerOfTwo, Scalar::F32) => "exp2f",
            (Math::PowerOfTwo, _) => "exp2",
            (Math::Sqrt, Scalar::F32) => "sqrtf",
            (Math::Sqrt, _) => "sqrt",
        };
        if let Some(declared) = self.module.get_function(name) {
            return Ok(declared);
        }
        let float = types::float(self.context, scalar);
        let float = float.ok_or_else(|| LlvmError::ill_formed(format_args!("{math:?} of {scalar}")))?;
        let function = self.module.add_function(name, float.fn_type(&[float.into()], false), None);
        for attribute in ["nounwind", "willreturn", "memory"] {
            let kind = Attribute::get_named_enum_kind_id(attribute);
            function.add_attribute(AttributeLoc::Function, self.context.create_enum_attribute(kind, 0));
        }
        Ok(function)
    }
}
