//! Constants and instructions of LLVM at one position of a module, built from values of LLVM: nothing here
//! knows LIR's values, its buffers or the machine.
//!
//! This file has the position, constants and addresses. `arithmetic.rs`, `vector.rs`, `intrinsics.rs`,
//! `imports.rs` and `annotations.rs` add one family of instructions each.

use super::types;
use crate::error::LlvmError;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::VectorType;
use inkwell::values::{BasicValueEnum, FunctionValue, PointerValue};
use sched_ir::lir::Ty;

/// Builds constants and instructions at one position of a module.
pub(super) struct IrBuilder<'a, 'ctx> {
    pub(super) context: &'ctx Context,
    pub(super) module: &'a Module<'ctx>,
    pub(super) builder: Builder<'ctx>,
}

impl<'a, 'ctx> IrBuilder<'a, 'ctx> {
    /// Makes a builder without a position.
    pub(super) fn new(context: &'ctx Context, module: &'a Module<'ctx>) -> IrBuilder<'a, 'ctx> {
        IrBuilder { context, module, builder: context.create_builder() }
    }

    /// Builds in the same module, at the position of another builder.
    pub(super) fn at(&self, builder: Builder<'ctx>) -> IrBuilder<'a, 'ctx> {
        IrBuilder { context: self.context, module: self.module, builder }
    }

    /// Returns the block at whose end instructions are added.
    pub(super) fn current_block(&self) -> Result<BasicBlock<'ctx>, LlvmError> {
        self.builder.get_insert_block().ok_or_else(|| LlvmError::ill_formed("code outside a block"))
    }

    /// Returns the function that instructions are added to.
    pub(super) fn function(&self) -> Result<FunctionValue<'ctx>, LlvmError> {
        self.current_block()?.get_parent().ok_or_else(|| LlvmError::ill_formed("a block outside a function"))
    }

    /// An integer constant, in every lane of the type.
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

    /// A float constant, in every lane of the type.
    pub(super) fn float(&self, ty: Ty, x: f64) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let element = types::float(self.context, ty.scalar);
        let element =
            element.ok_or_else(|| LlvmError::ill_formed(format_args!("a float constant of {ty}")))?;
        let value = element.const_float(x);
        Ok(match ty.lanes {
            1 => value.into(),
            lanes => VectorType::const_vector(&vec![value; lanes.into()]).into(),
        })
    }

    /// The address of element `number` of an array of pointer-sized elements.
    pub(super) fn element_address(
        &self,
        base: PointerValue<'ctx>,
        number: u32,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let index = self.context.i64_type().const_int(number.into(), false);
        let word = self.context.i64_type();
        // SAFETY: a run's context and its list of tables have such an element.
        Ok(unsafe { self.builder.build_in_bounds_gep(word, base, &[index], "")? })
    }

    /// Loads pointer-sized element `number`, which does not change during a run.
    pub(super) fn load_pointer(
        &self,
        base: PointerValue<'ctx>,
        number: u32,
        name: &str,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let at = self.element_address(base, number)?;
        let loaded = self.builder.build_load(types::pointer(self.context), at, name)?;
        self.mark_invariant(loaded)?;
        match loaded {
            BasicValueEnum::PointerValue(pointer) => Ok(pointer),
            _ => Err(LlvmError::ill_formed("a pointer is loaded as something else")),
        }
    }
}
