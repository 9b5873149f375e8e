//! Functions of the C library, and their replacements in launches.

use super::device::Device;
use super::exp::{Exponential, PowerBase};
use super::ir::IrBuilder;
use super::types;
use crate::error::LlvmError;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::values::{BasicValueEnum, FunctionValue};
use sched_ir::lir::{Math, Scalar, Ty};

impl<'ctx> IrBuilder<'_, 'ctx> {
    /// Applies a function of the C library to each lane. The host calls the function; devices lack the
    /// library, so code for them has the operations inline.
    pub(super) fn math(
        &self,
        device: Option<&dyn Device>,
        math: Math,
        (argument, ty): (BasicValueEnum<'ctx>, Ty),
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let base = match math {
            Math::Exp => PowerBase::E,
            Math::PowerOfTwo => PowerBase::Two,
        };
        let call = |argument: BasicValueEnum<'ctx>| match device {
            Some(device) => Exponential { base, ir: self, tables: device.global_space() }.power(argument),
            None => self.call_library(math, ty.scalar, argument),
        };
        let BasicValueEnum::VectorValue(vector) = argument else { return call(argument) };
        let mut result = vector;
        for lane in 0..ty.lanes {
            let lane = self.context.i32_type().const_int(lane.into(), false);
            let one = call(self.builder.build_extract_element(vector, lane, "")?)?;
            result = self.builder.build_insert_element(result, one, lane, "")?;
        }
        Ok(result.into())
    }

    fn call_library(
        &self,
        math: Math,
        scalar: Scalar,
        argument: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let call =
            self.builder.build_call(self.declare_library_function(math, scalar)?, &[argument.into()], "")?;
        call.try_as_basic_value().basic().ok_or_else(|| LlvmError::ill_formed("a function returns nothing"))
    }

    /// Declares a function of the C library. Its attributes tell LLVM that the result depends on the argument
    /// alone.
    fn declare_library_function(&self, math: Math, scalar: Scalar) -> Result<FunctionValue<'ctx>, LlvmError> {
        let name = match (math, scalar) {
            (Math::Exp, Scalar::F32) => "expf",
            (Math::Exp, _) => "exp",
            (Math::PowerOfTwo, Scalar::F32) => "exp2f",
            (Math::PowerOfTwo, _) => "exp2",
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
