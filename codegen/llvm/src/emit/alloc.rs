//! Temporary memory: on the stack, on the heap, or shared by the threads of a block.

use super::annotations::{TABLE_ALIGNMENT, instruction};
use super::function::Emitter;
use super::memory::reserved_bytes;
use crate::error::LlvmError;
use inkwell::values::{BasicValueEnum, IntValue};
use sched_ir::lir::{Alloc, Space};

impl<'ctx> Emitter<'_, 'ctx> {
    /// Reserves memory for a block: on the stack if its size is a small constant, else from the runtime.
    pub(super) fn alloc(&mut self, alloc: &Alloc) -> Result<(), LlvmError> {
        let bytes = self.operands.index(alloc.bytes)?;
        if let (true, Some(size)) = (self.memory.in_launch, bytes.get_sign_extended_constant()) {
            return self.alloc_in_launch(alloc, reserved_bytes(size));
        }
        let buffer = self.operands.source.buffers.get(alloc.buffer.0 as usize);
        let may_be_on_stack = buffer.is_some_and(|buffer| buffer.space == Space::Private);
        let on_stack = bytes.get_sign_extended_constant().map(reserved_bytes).filter(|_| may_be_on_stack);
        match on_stack {
            Some(size) if self.operands.frame.take_stack(size) => self.alloc_on_stack(alloc, size),
            _ => self.alloc_on_heap(alloc, bytes),
        }
    }

    /// Reserves memory of each thread, or memory that the threads of a block share.
    fn alloc_in_launch(&mut self, alloc: &Alloc, bytes: u64) -> Result<(), LlvmError> {
        let buffer = self.operands.source.buffers.get(alloc.buffer.0 as usize);
        let Some(buffer) = buffer.filter(|buffer| buffer.space == Space::Shared) else {
            return self.alloc_on_stack(alloc, bytes);
        };
        let name = format!("{}.{}", self.name_prefix, buffer.name);
        let memory = self.device()?.reserve_shared(self.ir(), &name, bytes)?;
        self.operands.frame.set_buffer(alloc.buffer, memory)?;
        self.block(&alloc.body)
    }

    fn alloc_on_stack(&mut self, alloc: &Alloc, bytes: u64) -> Result<(), LlvmError> {
        let name =
            &self.operands.source.buffers.get(alloc.buffer.0 as usize).map_or("memory", |b| b.name.as_str());
        let array = self.ir().context.i8_type().array_type(bytes as u32);
        let memory = self.operands.reserve_stack(array, name)?;
        let aligned = instruction(memory.into())?.set_alignment(TABLE_ALIGNMENT);
        aligned.map_err(LlvmError::ill_formed)?;
        self.operands.frame.set_buffer(alloc.buffer, memory)?;
        self.block(&alloc.body)
    }

    /// Reserves memory of the runtime. The runtime itself keeps counters, since they are 0 when they are used
    /// again.
    fn alloc_on_heap(&mut self, alloc: &Alloc, bytes: IntValue<'ctx>) -> Result<(), LlvmError> {
        let ctx = self.operands.frame.ctx;
        let buffer = self.operands.source.buffers.get(alloc.buffer.0 as usize);
        let are_counters = buffer.is_some_and(|buffer| buffer.space == Space::Counters);
        let get = if are_counters { self.ir().runtime_counters() } else { self.ir().runtime_alloc() };
        let long = self.ir().context.i64_type();
        let bytes = self.ir().builder.build_int_s_extend_or_bit_cast(bytes, long, "")?;
        let call = self.ir().builder.build_call(get, &[ctx.into(), bytes.into()], "memory")?;
        let Some(BasicValueEnum::PointerValue(memory)) = call.try_as_basic_value().basic() else {
            return Err(LlvmError::ill_formed("an allocation returns a pointer"));
        };
        self.operands.frame.set_buffer(alloc.buffer, memory)?;
        let failed = self.ir().builder.build_is_null(memory, "failed")?;
        let (some, done) = (self.new_block("allocated"), self.new_block("freed"));
        self.ir().builder.build_conditional_branch(failed, done, some)?;
        self.ir().builder.position_at_end(some);
        self.block(&alloc.body)?;
        if !are_counters {
            self.ir().builder.build_call(self.ir().runtime_free(), &[ctx.into(), memory.into()], "")?;
        }
        self.ir().builder.build_unconditional_branch(done)?;
        self.ir().builder.position_at_end(done);
        Ok(())
    }
}
