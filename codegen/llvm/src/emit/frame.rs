//! What is known inside one LLVM function: the kernel itself, or the body of one of its parallel loops.

use crate::error::LlvmError;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::values::{BasicValueEnum, FunctionValue, PointerValue, VectorValue};
use sched_ir::lir::{BufferId, Function, Scalar, Ty, Value};
use std::collections::HashMap;

/// Bytes of stack that the temporary memory of one LLVM function may take.
const STACK_BYTES: u32 = 16 * 1024;

/// The state of one LLVM function under construction.
pub(super) struct Frame<'ctx> {
    /// The function.
    pub(super) llvm: FunctionValue<'ctx>,
    /// The run's context.
    pub(super) ctx: PointerValue<'ctx>,
    /// LLVM's value for each LIR value that is defined so far and can be used here.
    values: Vec<Option<BasicValueEnum<'ctx>>>,
    /// The start of each buffer that can be used here.
    buffers: Vec<Option<PointerValue<'ctx>>>,
    /// Where stack memory is reserved, so that none is reserved in a loop.
    entry: BasicBlock<'ctx>,
    stack_left: u32,
    /// Numbers that the optimiser does not see through, by type.
    pub(super) opaque_ones: HashMap<Ty, VectorValue<'ctx>>,
    /// Masks whose lanes all hold, which the optimiser does not see through, by their number of lanes.
    pub(super) opaque_lanes: HashMap<u16, VectorValue<'ctx>>,
    /// Tables that are in memory because they do not fit in registers, by their element there.
    pub(super) stored: HashMap<(Value, Scalar), PointerValue<'ctx>>,
    /// Where tables lie that were loaded from memory that does not change.
    pub(super) loaded: HashMap<BasicValueEnum<'ctx>, PointerValue<'ctx>>,
    /// Memory for such tables where there is no room for each of them.
    pub(super) scratch: Option<PointerValue<'ctx>>,
}

impl<'ctx> Frame<'ctx> {
    /// A frame in which nothing is defined. The builder is left in the function's entry block, which is to be
    /// finished by [`Frame::leave_entry`].
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
            opaque_lanes: HashMap::new(),
            stored: HashMap::new(),
            loaded: HashMap::new(),
            scratch: None,
        }
    }

    /// Ends the entry block and puts the builder behind it.
    pub(super) fn leave_entry(
        &self,
        context: &'ctx Context,
        builder: &Builder<'ctx>,
    ) -> Result<(), LlvmError> {
        let body = context.append_basic_block(self.llvm, "body");
        builder.build_unconditional_branch(body)?;
        builder.position_at_end(body);
        Ok(())
    }

    /// Takes over the constants of the function around: they are the same everywhere.
    pub(super) fn inherit_constants(&mut self, outer: &Frame<'ctx>) {
        let constant = |v: &Option<BasicValueEnum<'ctx>>| v.filter(is_constant);
        self.values = outer.values.iter().map(constant).collect();
    }

    fn get(&self, value: Value) -> Option<BasicValueEnum<'ctx>> {
        self.values.get(value.0 as usize).copied().flatten()
    }

    /// The value, if it is defined here and not the same everywhere.
    pub(super) fn variable(&self, value: Value) -> Option<BasicValueEnum<'ctx>> {
        self.get(value).filter(|llvm| !is_constant(llvm))
    }

    /// The value.
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

    /// The start of a buffer.
    pub(super) fn buffer(&self, id: BufferId) -> Result<PointerValue<'ctx>, LlvmError> {
        let base = self.buffers.get(id.0 as usize).copied().flatten();
        base.ok_or_else(|| LlvmError::ill_formed(format_args!("buffer {} is used outside its alloc", id.0)))
    }

    /// Says where a buffer starts.
    pub(super) fn place(&mut self, id: BufferId, base: PointerValue<'ctx>) -> Result<(), LlvmError> {
        match self.buffers.get_mut(id.0 as usize) {
            Some(slot) => {
                *slot = Some(base);
                Ok(())
            }
            None => Err(LlvmError::ill_formed(format_args!("there is no buffer {}", id.0))),
        }
    }

    /// Whether that many bytes of temporary memory still fit on the stack; takes them if so.
    pub(super) fn take_stack(&mut self, bytes: u64) -> bool {
        let Some(left) = u32::try_from(bytes).ok().and_then(|bytes| self.stack_left.checked_sub(bytes))
        else {
            return false;
        };
        self.stack_left = left;
        true
    }

    /// A builder at the start of the entry block, for stack memory.
    pub(super) fn at_entry(&self, context: &'ctx Context) -> Builder<'ctx> {
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
