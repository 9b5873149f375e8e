//! LLVM's intrinsic functions for every machine; those for one machine are in its folder. Names and operands
//! may change with LLVM's version, so all of them are here.

use super::ir::IrBuilder;
use crate::error::LlvmError;
use inkwell::intrinsics::Intrinsic;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, CallSiteValue, PointerValue, VectorValue};
use sched_ir::lir::Rounding;

impl<'ctx> IrBuilder<'_, 'ctx> {
    /// Calls an intrinsic function; `overload` has the types that select one of several with this name.
    pub(super) fn intrinsic(
        &self,
        name: &str,
        overload: &[BasicTypeEnum<'ctx>],
        arguments: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        let declared = Intrinsic::find(name).and_then(|i| i.get_declaration(self.module, overload));
        let function = declared.ok_or_else(|| LlvmError::ill_formed(format_args!("LLVM has no {name}")))?;
        Ok(self.builder.build_call(function, arguments, "")?)
    }

    /// A load of the active lanes; inactive lanes come from `otherwise`.
    pub(super) fn masked_load(
        &self,
        from: PointerValue<'ctx>,
        alignment: u32,
        mask: VectorValue<'ctx>,
        otherwise: VectorValue<'ctx>,
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        self.masked("llvm.masked.load", from.into(), alignment, (mask, otherwise))
    }

    /// A store of the active lanes.
    pub(super) fn masked_store(
        &self,
        value: VectorValue<'ctx>,
        to: PointerValue<'ctx>,
        alignment: u32,
        mask: VectorValue<'ctx>,
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        let alignment = self.context.i32_type().const_int(alignment.into(), false);
        let overload = [value.get_type().into(), to.get_type().into()];
        self.intrinsic(
            "llvm.masked.store",
            &overload,
            &[value.into(), to.into(), alignment.into(), mask.into()],
        )
    }

    /// A load from each pointer of an active lane; inactive lanes come from `otherwise`.
    pub(super) fn masked_gather(
        &self,
        from: VectorValue<'ctx>,
        alignment: u32,
        mask: VectorValue<'ctx>,
        otherwise: VectorValue<'ctx>,
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        self.masked("llvm.masked.gather", from.into(), alignment, (mask, otherwise))
    }

    fn masked(
        &self,
        name: &str,
        from: BasicValueEnum<'ctx>,
        alignment: u32,
        (mask, otherwise): (VectorValue<'ctx>, VectorValue<'ctx>),
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        let alignment = self.context.i32_type().const_int(alignment.into(), false);
        let overload = [otherwise.get_type().into(), from.get_type()];
        let arguments = [from.into(), alignment.into(), mask.into(), otherwise.into()];
        self.intrinsic(name, &overload, &arguments)
    }

    /// The number of bits of an integer that are set.
    pub(super) fn count_ones(&self, bits: BasicValueEnum<'ctx>) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        self.unary_intrinsic("llvm.ctpop", &[bits.get_type()], bits)
    }

    /// A float, or each lane of a vector, rounded to a whole number.
    pub(super) fn round(
        &self,
        rounding: Rounding,
        x: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let name = match rounding {
            Rounding::Down => "llvm.floor",
            Rounding::Up => "llvm.ceil",
            Rounding::Nearest => "llvm.roundeven",
        };
        self.unary_intrinsic(name, &[x.get_type()], x)
    }

    /// `a * b + c` of floats or vectors, rounded once. Processors without such an instruction call `fma` or
    /// `fmaf` of the C library, which has the same results.
    pub(super) fn fma(
        &self,
        a: BasicValueEnum<'ctx>,
        b: BasicValueEnum<'ctx>,
        c: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let call = self.intrinsic("llvm.fma", &[a.get_type()], &[a.into(), b.into(), c.into()])?;
        let value = call.try_as_basic_value().basic();
        value.ok_or_else(|| LlvmError::ill_formed("llvm.fma returns nothing"))
    }

    /// The square root of a float or of each lane of a vector, rounded to nearest on every machine.
    pub(super) fn square_root(&self, x: BasicValueEnum<'ctx>) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        self.unary_intrinsic("llvm.sqrt", &[x.get_type()], x)
    }

    /// A float, or each lane of a vector, as an integer: the nearest representable one, and 0 for NaN.
    pub(super) fn to_int_saturating(
        &self,
        x: BasicValueEnum<'ctx>,
        to: BasicTypeEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        self.unary_intrinsic("llvm.fptosi.sat", &[to, x.get_type()], x)
    }

    /// The value of an intrinsic function of one operand.
    fn unary_intrinsic(
        &self,
        name: &str,
        overload: &[BasicTypeEnum<'ctx>],
        x: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let call = self.intrinsic(name, overload, &[x.into()])?;
        let value = call.try_as_basic_value().basic();
        value.ok_or_else(|| LlvmError::ill_formed(format_args!("{name} returns nothing")))
    }

    /// Prefetches the cache line of an address for reading, into all levels of the caches.
    pub(super) fn prefetch(&self, at: PointerValue<'ctx>) -> Result<(), LlvmError> {
        let number = |n| self.context.i32_type().const_int(n, false).into();
        let (read, keep, data) = (number(0), number(3), number(1));
        let overload = [at.get_type().into()];
        self.intrinsic("llvm.prefetch", &overload, &[at.into(), read, keep, data])?;
        Ok(())
    }
}

/// Returns the vector that a call returns.
pub(super) fn vector_of<'ctx>(call: CallSiteValue<'ctx>) -> Result<VectorValue<'ctx>, LlvmError> {
    match call.try_as_basic_value().basic() {
        Some(BasicValueEnum::VectorValue(vector)) => Ok(vector),
        _ => Err(LlvmError::ill_formed("a vector function returns no vector")),
    }
}
