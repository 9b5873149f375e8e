//! State of one LLVM function: a kernel, or the body of one of its parallel loops.

use crate::error::LlvmError;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::values::{BasicValueEnum, FunctionValue, PointerValue, VectorValue};
use sched_ir::lir::{BufferId, Function, Scalar, Ty, Value};
use std::collections::HashMap;

/// Bytes of the stack for the temporary memory of one LLVM function; the runtime's allocator serves the rest.
const STACK_BYTES: u32 = 16 * 1024;

/// The state of one LLVM function under construction.
pub(super) struct Frame<'ctx> {
    /// The function.
    pub(super) llvm: FunctionValue<'ctx>,
    /// The run's context.
    pub(super) ctx: PointerValue<'ctx>,
    /// For each LIR value that is defined and visible, its LLVM value.
    values: Vec<Option<BasicValueEnum<'ctx>>>,
    /// For each buffer that is visible, its address.
    buffers: Vec<Option<PointerValue<'ctx>>>,
    /// The entry block, which reserves stack memory, so that loops reserve none.
    entry: BasicBlock<'ctx>,
    stack_left: u32,
    /// Vectors of ones whose value is hidden from the optimiser, by type.
    pub(super) opaque_ones: HashMap<Ty, VectorValue<'ctx>>,
    /// Masks with all lanes active whose value is hidden from the optimiser, by number of lanes.
    pub(super) opaque_masks: HashMap<u16, VectorValue<'ctx>>,
    /// Copies of tables on the stack, by table and element.
    pub(super) table_copies: HashMap<(Value, Scalar), PointerValue<'ctx>>,
    /// Addresses from which tables were loaded, by loaded value.
    pub(super) table_addresses: HashMap<BasicValueEnum<'ctx>, PointerValue<'ctx>>,
    /// Memory for a copy of one table at a time, used if the stack has no room for a copy of each.
    pub(super) scratch: Option<PointerValue<'ctx>>,
}

impl<'ctx> Frame<'ctx> {
    /// Makes a frame in which nothing is defined. The builder is then positioned in the function's entry
    /// block, which [`Frame::end_entry_block`] ends.
    pub(super) fn enter(
        context: &'ctx Context,
        builder: &Builder<'ctx>,
        llvm: FunctionValue<'ctx>,
        ctx: PointerValue<'ctx>,
        source: &Function,
    ) -> Frame<'ctx> {
        let entry = context.append_basic_block(llvm, "entry");
        builder.position_at_end(entry);
        Frame {
            llvm,
            ctx,
            values: vec![None; source.types.len()],
            buffers: vec![None; source.buffers.len()],
            entry,
            stack_left: STACK_BYTES,
            opaque_ones: HashMap::new(),
            opaque_masks: HashMap::new(),
            table_copies: HashMap::new(),
            table_addresses: HashMap::new(),
            scratch: None,
        }
    }

    /// Ends the entry block, and moves the builder to the next block.
    pub(super) fn end_entry_block(
        &self,
        context: &'ctx Context,
        builder: &Builder<'ctx>,
    ) -> Result<(), LlvmError> {
        let body = context.append_basic_block(self.llvm, "body");
        builder.build_unconditional_branch(body)?;
        builder.position_at_end(body);
        Ok(())
    }

    /// Takes over the constants of the surrounding function.
    pub(super) fn inherit_constants(&mut self, outer: &Frame<'ctx>) {
        let constant = |v: &Option<BasicValueEnum<'ctx>>| v.filter(is_constant);
        self.values = outer.values.iter().map(constant).collect();
    }

    fn get(&self, value: Value) -> Option<BasicValueEnum<'ctx>> {
        self.values.get(value.0 as usize).copied().flatten()
    }

    /// A value that is defined in this function and is no constant.
    pub(super) fn variable(&self, value: Value) -> Option<BasicValueEnum<'ctx>> {
        self.get(value).filter(|llvm| !is_constant(llvm))
    }

    /// A value.
    pub(super) fn value(&self, value: Value) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        self.get(value)
            .ok_or_else(|| LlvmError::ill_formed(format_args!("%{} is used before its definition", value.0)))
    }

    /// Defines a value.
    pub(super) fn define(&mut self, value: Value, llvm: BasicValueEnum<'ctx>) -> Result<(), LlvmError> {
        match self.values.get_mut(value.0 as usize) {
            Some(slot @ None) => {
                *slot = Some(llvm);
                Ok(())
            }
            _ => Err(LlvmError::ill_formed(format_args!("%{} is defined twice or has no type", value.0))),
        }
    }

    /// The address of a buffer.
    pub(super) fn buffer(&self, id: BufferId) -> Result<PointerValue<'ctx>, LlvmError> {
        let base = self.buffers.get(id.0 as usize).copied().flatten();
        base.ok_or_else(|| LlvmError::ill_formed(format_args!("buffer {} is used outside its alloc", id.0)))
    }

    /// Sets the address of a buffer.
    pub(super) fn set_buffer(&mut self, id: BufferId, base: PointerValue<'ctx>) -> Result<(), LlvmError> {
        match self.buffers.get_mut(id.0 as usize) {
            Some(slot) => {
                *slot = Some(base);
                Ok(())
            }
            None => Err(LlvmError::ill_formed(format_args!("there is no buffer {}", id.0))),
        }
    }

    /// Reserves `bytes` bytes of the function's stack memory; returns whether enough was left.
    pub(super) fn take_stack(&mut self, bytes: u64) -> bool {
        let Some(left) = u32::try_from(bytes).ok().and_then(|bytes| self.stack_left.checked_sub(bytes))
        else {
            return false;
        };
        self.stack_left = left;
        true
    }

    /// A builder at the start of the entry block, for stack memory.
    pub(super) fn entry_builder(&self, context: &'ctx Context) -> Builder<'ctx> {
        let builder = context.create_builder();
        match self.entry.get_first_instruction() {
            Some(first) => builder.position_before(&first),
            None => builder.position_at_end(self.entry),
        }
        builder
    }
}

fn is_constant(value: &BasicValueEnum) -> bool {
    match value {
        BasicValueEnum::IntValue(v) => v.is_const(),
        BasicValueEnum::FloatValue(v) => v.is_const(),
        BasicValueEnum::VectorValue(v) => v.is_const(),
        _ => false,
    }
}
