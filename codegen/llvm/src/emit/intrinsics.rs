//! LLVM's intrinsic functions of every machine. Their names and operands belong to one version of LLVM, so
//! all of them are here; those of one machine are in its folder.

use super::function::Emitter;
use crate::error::LlvmError;
use inkwell::intrinsics::Intrinsic;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, CallSiteValue, PointerValue, VectorValue};
use sched_ir::lir::Value;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Calls an intrinsic function; `overload` picks among those of one name.
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

    /// A load of the active lanes; the others are those of `otherwise`.
    pub(super) fn masked_load(
        &self,
        from: PointerValue<'ctx>,
        alignment: u32,
        mask: VectorValue<'ctx>,
        otherwise: VectorValue<'ctx>,
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        let alignment = self.context.i32_type().const_int(alignment.into(), false);
        let overload = [otherwise.get_type().into(), from.get_type().into()];
        let arguments = [from.into(), alignment.into(), mask.into(), otherwise.into()];
        self.intrinsic("llvm.masked.load", &overload, &arguments)
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

    /// Loads from a vector of pointers.
    pub(super) fn masked_gather(
        &self,
        from: VectorValue<'ctx>,
        alignment: u32,
        mask: VectorValue<'ctx>,
        otherwise: VectorValue<'ctx>,
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        let alignment = self.context.i32_type().const_int(alignment.into(), false);
        let overload = [otherwise.get_type().into(), from.get_type().into()];
        let arguments = [from.into(), alignment.into(), mask.into(), otherwise.into()];
        self.intrinsic("llvm.masked.gather", &overload, &arguments)
    }

    /// How many bits of an integer are set.
    pub(super) fn count_ones(&self, bits: Value) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let bits = self.frame.value(bits)?;
        let call = self.intrinsic("llvm.ctpop", &[bits.get_type()], &[bits.into()])?;
        call.try_as_basic_value().basic().ok_or_else(|| LlvmError::ill_formed("llvm.ctpop returns nothing"))
    }

    /// A hint to the cache: for reading, to be kept in all levels.
    pub(super) fn prefetch_intrinsic(&self, at: PointerValue<'ctx>) -> Result<(), LlvmError> {
        let number = |n| self.context.i32_type().const_int(n, false).into();
        let (read, keep, data) = (number(0), number(3), number(1));
        let overload = [at.get_type().into()];
        self.intrinsic("llvm.prefetch", &overload, &[at.into(), read, keep, data])?;
        Ok(())
    }
}

/// The vector that a call returns.
pub(super) fn returned<'ctx>(call: CallSiteValue<'ctx>) -> Result<VectorValue<'ctx>, LlvmError> {
    match call.try_as_basic_value().basic() {
        Some(BasicValueEnum::VectorValue(vector)) => Ok(vector),
        _ => Err(LlvmError::ill_formed("a vector function returns no vector")),
    }
}
