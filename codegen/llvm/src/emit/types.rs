//! Types of LIR as types of LLVM.

use crate::error::LlvmError;
use inkwell::AddressSpace;
use inkwell::context::Context;
use inkwell::types::{BasicType, BasicTypeEnum, FloatType, IntType, PointerType};
use sched_ir::lir::{Scalar, Ty};

/// The integer type of a scalar; none for floats.
pub(super) fn int(context: &Context, scalar: Scalar) -> Option<IntType<'_>> {
    match scalar {
        Scalar::I1 => Some(context.bool_type()),
        Scalar::I8 => Some(context.i8_type()),
        Scalar::I16 => Some(context.i16_type()),
        Scalar::I32 => Some(context.i32_type()),
        Scalar::I64 => Some(context.i64_type()),
        Scalar::F32 | Scalar::F64 => None,
    }
}

/// The float type of a scalar; none for integers.
pub(super) fn float(context: &Context, scalar: Scalar) -> Option<FloatType<'_>> {
    match scalar {
        Scalar::F32 => Some(context.f32_type()),
        Scalar::F64 => Some(context.f64_type()),
        _ => None,
    }
}

/// The type of a value: a scalar if it has one lane, else a vector.
pub(super) fn basic(context: &Context, ty: Ty) -> Result<BasicTypeEnum<'_>, LlvmError> {
    let element: BasicTypeEnum = match (int(context, ty.scalar), float(context, ty.scalar)) {
        (Some(int), _) => int.into(),
        (None, Some(float)) => float.into(),
        (None, None) => return Err(LlvmError::ill_formed(format_args!("no type for {ty}"))),
    };
    match (ty.lanes, element) {
        (0, _) => Err(LlvmError::ill_formed("a vector without lanes")),
        (1, element) => Ok(element),
        (lanes, BasicTypeEnum::IntType(element)) => Ok(element.vec_type(lanes.into()).as_basic_type_enum()),
        (lanes, BasicTypeEnum::FloatType(element)) => Ok(element.vec_type(lanes.into()).as_basic_type_enum()),
        _ => Err(LlvmError::ill_formed(format_args!("no type for {ty}"))),
    }
}

/// The pointer type of the default address space.
pub(super) fn pointer(context: &Context) -> PointerType<'_> {
    context.ptr_type(AddressSpace::default())
}
